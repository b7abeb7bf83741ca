"""Numbers that may stand for sizes: Python's, or what stands for unknown sizes, which says itself
how it is computed with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bind.cores import composite
from ..facts.errors import not_offered
from ..ops._facts import schemas
from ..tensor.shape_env import visible

if TYPE_CHECKING:
    pass


_NUMBERS = (np.integer, np.floating, int, float)
_LARGEST = 2**63 - 1


@composite(operands=("a",), native=False)
def sym_float(a: Any) -> Any:
    """``float(a)``.

    Example:
        >>> import jtorch as torch
        >>> torch.sym_float(3)
        3.0
    """
    a = visible(a)
    return a.__sym_float__() if hasattr(a, "__sym_float__") else float(a)


@composite(operands=("a",), native=False, aliases=("nn.functional._sym_int",))
def sym_int(a: Any) -> Any:
    """``int(a)``: towards zero.

    Example:
        >>> import jtorch as torch
        >>> torch.sym_int(-2.5)
        -2
    """
    a = visible(a)
    if hasattr(a, "__sym_int__"):
        return a.__sym_int__()
    if isinstance(a, float):
        return math.floor(a) if a >= 0 else math.ceil(a)
    return int(a)


@composite(operands=("a",), native=False)
def sym_not(a: Any) -> Any:
    """``not a``.

    Example:
        >>> import jtorch as torch
        >>> torch.sym_not(True)
        False
    """
    return not a


def _extreme(choose: Any, a: Any, b: Any) -> object:
    a, b, name = visible(a), visible(b), f"__sym_{choose.__name__}__"
    for x, other in ((a, b), (b, a)):
        if hasattr(x, name) and type(other) is not float:
            return getattr(x, name)(other)
    for x in (a, b):
        if not isinstance(x, _NUMBERS):
            raise AssertionError(f"expected {_NUMBERS}, got {type(x)}")
    found = choose(a, b)
    return (
        float(found)
        if isinstance(a, (float, np.floating)) or isinstance(b, (float, np.floating))
        else found
    )


@composite(operands=("a", "b"), native=False)
def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers; a float if either is one.

    Example:
        >>> import jtorch as torch
        >>> torch.sym_max(1, 0.5)
        1.0
    """
    return _extreme(max, a, b)


@composite(operands=("a", "b"), native=False)
def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers; a float if either is one.

    Example:
        >>> import jtorch as torch
        >>> torch.sym_min(1, 2)
        1
    """
    return _extreme(min, a, b)


@composite(operands=("b",), native=False)
def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """``t if b else f``, for two values of one type.

    Raises:
        AssertionError: if their types differ.

    Example:
        >>> import jtorch as torch
        >>> torch.sym_ite(True, 1, 2)
        1
    """
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return t if b else f


@composite(operands=("args",), native=False)
def sym_sum(*args: Any) -> Any:
    """The sum of numbers, spread or in one sequence.

    Example:
        >>> import jtorch as torch
        >>> torch.sym_sum([1, 2, 3])
        6
    """
    return sum(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else sum(args)


@composite(operands=("a",), native=False, aliases=("_sym_sqrt",))
def sym_sqrt(a: Any) -> Any:
    """The square root of a number.

    Raises:
        ValueError: for negative numbers.

    Example:
        >>> import jtorch as torch
        >>> torch.sym_sqrt(4)
        2.0
    """
    a = visible(a)
    return a.__sym_sqrt__() if hasattr(a, "__sym_sqrt__") else math.sqrt(a)


@composite(ignored=True)
@schemas("(Scalar size, *, int? min=None, int? max=None) -> ()")
def sym_constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Checks that a size lies within bounds.

    Raises:
        RuntimeError: if it does not.

    Example:
        >>> import jtorch as torch
        >>> torch.sym_constrain_range(3, min=1)
    """
    _constrain(size, -_LARGEST - 1 if min is None else min, _LARGEST if max is None else max)


@composite(ignored=True)
@schemas("(Scalar size, *, int? min=None, int? max=None) -> ()")
def sym_constrain_range_for_size(
    size: Any, *, min: int | None = None, max: int | None = None
) -> None:
    """``sym_constrain_range`` with 0 as the least bound.

    Raises:
        RuntimeError: if it does not lie within them.

    Example:
        >>> import jtorch as torch
        >>> torch.sym_constrain_range_for_size(3)
    """
    low, high = 0 if min is None else min, _LARGEST if max is None else max
    if max is not None and max <= 2:
        raise RuntimeError(
            f"Max value to constrain_range_for_size must be greater than 2. got: {max}"
        )
    _constrain(size, low, high)


def _constrain(size: int, low: int, high: int) -> None:
    if not low <= size <= high:
        raise RuntimeError(f"Invalid value range for {size} between [{low}, {high}].")


@composite(native=False, ignored=True)
def sym_fresh_size(expr: Any) -> Any:
    """Not offered: there are no symbolic sizes.

    Raises:
        NotImplementedError: always.
    """
    raise not_offered("sym_fresh_size", "sizes are numbers here, while tracing too")
