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
from typing import TYPE_CHECKING, Any

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
    names = "scipy.fft._pocketfft.pypocketfft", "scipy.fft._duccfft.pyduccfft"
    for find in (compiled, _imported):
        for name in names:
            if (module := find(name)) is not None:
                whole = all(hasattr(module, function) for function in ("c2c", "r2c", "c2r"))
                return module if whole else None
    return None


@functools.cache
def compiled(name: str) -> ModuleType | None:
    """A module of SciPy's that is written in a compiled language, without the package around it;
    None where it is not to be had so.

    Such a module is loaded in 2 to 7 ms; a package with all that it imports takes some 50 times as
    long. It stays as it is for who imports it later.
    """
    package = name.rpartition(".")[0]
    if package in sys.modules:
        return _imported(name)
    try:
        scipy = importlib.util.find_spec("scipy")
        folders = [
            os.path.join(folder, *package.split(".")[1:])
            for folder in (scipy and scipy.submodule_search_locations) or ()
        ]
        spec = PathFinder.find_spec(name, folders)
        if spec is None or spec.loader is None:
            return None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except Exception:  # it has come to need its package
        return None
    finally:
        if package not in sys.modules:
            # found without the package, it would not become its attribute
            sys.modules.pop(name, None)
    return module


def _imported(name: str) -> ModuleType | None:
    """A module, or None where there is none of this name."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


@functools.cache
def special(*names: str) -> Function:
    """A function of ``scipy.special``, by the first of its names that there is; most are in one of
    its compiled modules."""
    functions = (
        None if "scipy.special" in sys.modules else compiled("scipy.special._special_ufuncs")
    )
    for name in names:
        if (found := getattr(functions, name, None)) is not None:
            return found
    package = importlib.import_module("scipy.special")
    return getattr(package, next((name for name in names if hasattr(package, name)), names[0]))


#: How the names of LAPACK's routines begin, by the code of their dtype.
_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}


@functools.cache
def routine(name: str, dtype: np.dtype) -> Any:
    """The routine of LAPACK or BLAS for a dtype, as ``scipy.linalg`` gives it to Python; None where
    there is none for it."""
    letter = _LETTERS.get(dtype.char)
    if letter is None:
        return None
    for module in ("_flapack", "_fblas"):
        found = getattr(compiled(f"scipy.linalg.{module}"), letter + name, None)
        if found is not None:
            return found
    package = importlib.import_module("scipy.linalg")
    return getattr(package.lapack, letter + name, None) or getattr(package.blas, letter + name)


def _sparsetools() -> ModuleType | None:
    name = "scipy.sparse._sparsetools"
    return compiled(name) or _imported(name)


@functools.cache
def add_at() -> Callable[[np.ndarray, np.ndarray, np.ndarray], None] | None:
    """What adds numbers at places of an array, one after another, in half the time of
    ``numpy.add.at``; None where it is not to be had.

    It is SciPy's product of a sparse matrix of one column with a vector:
    ``into[places] += numbers * 1``. All are of one dimension, with their elements side by side.
    """
    run = getattr(_sparsetools(), "csc_matvec", None)
    if run is None:
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
def weighted_rows() -> Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """What adds up rows of a table, ``factors[i] * table[indices[i]]`` for the ``i`` from
    ``ends[j]`` to ``ends[j + 1]`` one after another: SciPy's product of a sparse matrix by rows
    with a matrix. It does not look whether the indices are within the table."""
    run: Any = getattr(_sparsetools(), "csr_matvecs", None)

    def add(
        table: np.ndarray, indices: np.ndarray, ends: np.ndarray, factors: np.ndarray
    ) -> np.ndarray:
        out = np.zeros((len(ends) - 1, table.shape[1]), table.dtype)
        # of one type of integers, as SciPy has it
        ends = ends.astype(indices.dtype, copy=False)
        run(len(out), *table.shape, ends, indices, factors, table.ravel(), out.ravel())
        return out

    def by_matrix(
        table: np.ndarray, indices: np.ndarray, ends: np.ndarray, factors: np.ndarray
    ) -> np.ndarray:
        from scipy.sparse import csr_array

        return np.asarray(
            csr_array((factors, indices, ends), shape=(len(ends) - 1, len(table))) @ table
        )

    try:
        table = np.arange(6.0).reshape(3, 2)
        found = add(table, np.array([2, 0, 1]), np.array([0, 2, 3]), np.array([1.0, 2.0, 3.0]))
    except (TypeError, ValueError):
        return by_matrix
    return add if found.tolist() == [[4.0, 7.0], [6.0, 9.0]] else by_matrix


@functools.cache
def sorted_by_digit() -> Callable[[np.ndarray, int], np.ndarray]:
    """What gives the stable order of int32 numbers below a small bound: SciPy's way from a sparse
    matrix by rows, one element in each, to one by columns."""
    run: Any = getattr(_sparsetools(), "csr_tocsc", None)

    def order(digit: np.ndarray, bound: int) -> np.ndarray:
        n = digit.size
        nothing, rows = np.zeros(n, np.int8), np.empty(n, np.int32)
        counts, places = np.empty(bound + 1, np.int32), np.arange(n + 1, dtype=np.int32)
        run(n, bound, places, digit, nothing, counts, rows, np.empty(n, np.int8))
        return rows

    def by_matrix(digit: np.ndarray, bound: int) -> np.ndarray:
        from scipy.sparse import csr_array

        n = digit.size
        entries = np.zeros(n, np.int8), digit, np.arange(n + 1, dtype=np.int32)
        return csr_array(entries, shape=(n, bound)).tocsc().indices

    try:
        found = order(np.array([2, 0, 2, 1], np.int32), 3)
    except (TypeError, ValueError):
        return by_matrix
    return order if found.tolist() == [1, 3, 0, 2] else by_matrix


@functools.cache
def add_rows() -> Callable[[np.ndarray, np.ndarray, np.ndarray], None] | None:
    """As ``add_at`` for rows of a matrix: ``into[places] += rows``, a row after the other; None
    where it is not to be had."""
    run = getattr(_sparsetools(), "csc_matvecs", None)
    if run is None:
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
