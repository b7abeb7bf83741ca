"""NumPy's and SciPy's functions without what they look for in arrays of other kinds, which in small calls takes as long as they do.

NumPy's public functions first ask each operand's type for a function of its own; SciPy's transforms ask which library is to compute. The
functions below them have no public names: where a version has none, the public ones are used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """What computes a function of NumPy written in C, for operands that are NumPy's own."""
    found = getattr(function, "_implementation", None)
    return function if found is None else found


def _count() -> Callable[..., Any]:
    for module in ("numpy._core.multiarray", "numpy.core.multiarray"):
        try:
            return importlib.import_module(module).count_nonzero
        except (ImportError, AttributeError):
            continue
    return np.count_nonzero


#: ``numpy.where`` of three operands, ``numpy.concatenate``, ``numpy.dot``, ``numpy.lexsort``, ``numpy.count_nonzero`` of all elements.
where, concatenate, dot, lexsort = plain(np.where), plain(np.concatenate), plain(np.dot), plain(np.lexsort)
count_nonzero = _count()


def pocketfft() -> Any:
    """The module of C functions behind ``scipy.fft``; None where it is not where it was."""
    try:
        module = importlib.import_module("scipy.fft._pocketfft.pypocketfft")
    except ImportError:
        return None
    return module if all(hasattr(module, name) for name in ("c2c", "r2c", "c2r")) else None


class Chosen:
    """One of two operands, as a number says, with a shape."""

    __slots__ = ("shape",)

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape

    def __call__(self, at: Any, no: Any, yes: Any) -> Any:
        """The second if ``at``, else the first; nothing is copied."""
        x = yes if at else no
        return x if x.shape == self.shape else np.broadcast_to(x, self.shape)

    @staticmethod
    def chosen(at: Any, no: Any, yes: Any) -> Any:
        """The same of operands that have the shape."""
        return yes if at else no
