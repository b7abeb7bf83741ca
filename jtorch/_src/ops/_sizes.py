"""Choosing how a kernel computes by how large its operands are, where sizes may be symbols that are
not known yet."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import InconclusiveDimensionOperation

from ..engine import supposing

if TYPE_CHECKING:
    from ..facts.kinds import Operand


def fewer(n: object, limit: int) -> bool:
    """Whether ``n < limit``; a size that is not known counts as large. Ask only where what is done
    for large sizes is right for all."""
    return n < limit if type(n) is int and type(limit) is int else supposing.is_fewer(n, limit)


def counted(n: object, dtype: np.dtype) -> Operand:
    """A size as a number of ``dtype``."""
    return dtype.type(n) if type(n) is int else jnp.asarray(n, dtype)


def surely(asked: Callable[[], object]) -> bool:
    """Whether a comparison holds, whatever the sizes in it may be.

    For what is refused: a program that was traced without the error asks again where it runs.
    """
    try:
        return bool(asked())
    except InconclusiveDimensionOperation:
        if supposing.is_supposing():  # what is traced for all sizes is not asked again
            raise
        return False


def numbers(*sizes: object) -> bool:
    """Whether all of them are known, or stand for some that are."""
    return supposing.is_supposing() or all(type(n) is int for n in sizes)


def counting(n: object) -> Operand:
    """``arange(n)``: of NumPy for a size that is known, else a value of the program."""
    return np.arange(n) if type(n) is int else lax.broadcasted_iota(np.int64, (n,), 0)


def scaled(n: Any, factor: float) -> Any:
    """``floor(n * factor)`` as floats give it."""
    if type(n) is int:
        return math.floor(n * factor)
    over, under = factor.as_integer_ratio()
    if under > 1 << 10:  # the product is rounded, perhaps across a whole number
        raise NotImplementedError(
            "a size that varies is multiplied by fractions whose denominator is a power of two, "
            f"not by {factor}"
        )
    return n * over // under
