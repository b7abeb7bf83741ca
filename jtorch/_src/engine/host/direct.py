"""NumPy's and SciPy's functions without what they look for in arrays of other kinds, which in small
calls takes as long as they do.

NumPy's public functions first ask each operand's type for a function of its own; SciPy's transforms
ask which library is to compute. The functions below them have no public names: where a version has
none, the public ones are used.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from types import ModuleType

    from ...facts.kinds import Function


def plain(function: Callable[..., object]) -> Function:
    """What computes a function of NumPy written in C, for operands that are NumPy's own."""
    found = getattr(function, "_implementation", None)
    return function if found is None else found


def _count() -> Callable[..., object]:
    for module in ("numpy._core.multiarray", "numpy.core.multiarray"):
        try:
            return importlib.import_module(module).count_nonzero
        except (ImportError, AttributeError):
            continue
    return np.count_nonzero


#: ``numpy.where`` of three operands, ``numpy.concatenate``, ``numpy.dot``, ``numpy.lexsort``,
#: ``numpy.count_nonzero`` of all elements.
where, concatenate, dot, lexsort = (
    plain(np.where),
    plain(np.concatenate),
    plain(np.dot),
    plain(np.lexsort),
)
count_nonzero = _count()


def pocketfft() -> ModuleType | None:
    """The module of C++ functions behind ``scipy.fft``, by its names in SciPy's versions; None
    where it has none of them."""
    for name in ("scipy.fft._pocketfft.pypocketfft", "scipy.fft._duccfft.pyduccfft"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        return module if all(hasattr(module, name) for name in ("c2c", "r2c", "c2r")) else None
    return None


@functools.cache
def special(*names: str) -> Function:
    """A function of ``scipy.special``, by the first of its names that there is.

    Most are in one of its modules of C++, which is loaded in 2 ms; the package with all that it
    imports takes 50 times as long. It stays as it is for who imports it later.
    """
    functions = None if "scipy.special" in sys.modules else _special_functions()
    for name in names:
        if (found := getattr(functions, name, None)) is not None:
            return found
    package = importlib.import_module("scipy.special")
    return getattr(package, next((name for name in names if hasattr(package, name)), names[0]))


@functools.cache
def _special_functions() -> ModuleType | None:
    """That module by itself; None where it is not where it was."""
    try:
        scipy = importlib.util.find_spec("scipy")
        folders = [
            os.path.join(folder, "special")
            for folder in (scipy and scipy.submodule_search_locations) or ()
        ]
        spec = PathFinder.find_spec("scipy.special._special_ufuncs", folders)
        if spec is None or spec.loader is None:
            return None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except Exception:  # it has come to need its package
        return None
    finally:
        if "scipy.special" not in sys.modules:
            # found without the package, it would not become its attribute
            sys.modules.pop("scipy.special._special_ufuncs", None)
    return module


@functools.cache
def add_at() -> Callable[[np.ndarray, np.ndarray, np.ndarray], None] | None:
    """What adds numbers at places of an array, one after another, in half the time of
    ``numpy.add.at``; None where it is not to be had.

    It is SciPy's product of a sparse matrix of one column with a vector:
    ``into[places] += numbers * 1``. All are of one dimension, with their elements side by side.
    """
    try:
        run = importlib.import_module("scipy.sparse._sparsetools").csc_matvec
    except (ImportError, AttributeError):
        return None

    def add(into: np.ndarray, places: np.ndarray, numbers: np.ndarray) -> None:
        run(
            into.size,
            1,
            np.array([0, places.size], places.dtype),
            places,
            numbers,
            np.ones(1, into.dtype),
            into,
        )

    into = np.arange(3.0)
    try:
        add(into, np.array([2, 0, 2]), np.array([1.0, 2.0, 3.0]))
    except (TypeError, ValueError):
        return None
    return add if into.tolist() == [2.0, 1.0, 6.0] else None


@functools.cache
def add_rows() -> Callable[[np.ndarray, np.ndarray, np.ndarray], None] | None:
    """As ``add_at`` for rows of a matrix: ``into[places] += rows``, a row after the other; None
    where it is not to be had."""
    try:
        run = importlib.import_module("scipy.sparse._sparsetools").csc_matvecs
    except (ImportError, AttributeError):
        return None

    def add(into: np.ndarray, places: np.ndarray, rows: np.ndarray) -> None:
        each, ones = (
            np.arange(len(places) + 1, dtype=places.dtype),
            np.ones(len(places), into.dtype),
        )
        run(
            len(into),
            len(places),
            into.shape[1],
            each,
            places,
            ones,
            rows.reshape(-1),
            into.reshape(-1),
        )

    into = np.zeros((3, 2))
    try:
        add(into, np.array([2, 0, 2]), np.arange(6.0).reshape(3, 2))
    except (TypeError, ValueError):
        return None
    return add if into.tolist() == [[2.0, 3.0], [0.0, 0.0], [4.0, 6.0]] else None


class Chosen:
    """One of two operands, as a number says, with a shape."""

    __slots__ = ("shape",)

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape

    def __call__(self, at: np.generic, no: np.ndarray, yes: np.ndarray) -> np.ndarray:
        """The second if ``at``, else the first; nothing is copied."""
        x = yes if at else no
        return x if x.shape == self.shape else np.broadcast_to(x, self.shape)

    @staticmethod
    def chosen(
        at: np.generic | np.ndarray, no: np.generic | np.ndarray, yes: np.generic | np.ndarray
    ) -> np.generic | np.ndarray:
        """The same of operands that have the shape."""
        return yes if at else no
