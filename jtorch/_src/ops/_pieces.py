"""Kernels with very many operands or results, run in pieces where they run by themselves.

XLA compiles every result of a program, and every operand that it joins, as code of its own: the
derivative of joining 500 tensors would take half a minute to compile once. By itself such a kernel
is therefore run as many calls of one small program with the position as an input. Inside a larger
program it is what it always was.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import lax

if TYPE_CHECKING:
    from ..facts.kinds import Operands, Row


#: Fewer operands or results than this are compiled together.
MANY = 24

#: Runs a kernel on arrays, or gives None where it has to be run whole:
#: ``piecewise(arrays, *static arguments)``.
Piecewise = Callable[..., Any]


class InPieces:
    """Stands in the place of a call's compiled kernel."""

    def __init__(self, whole: Any, piecewise: Piecewise, statics: Row) -> None:
        self.whole, self.piecewise, self.statics = whole, piecewise, statics
        self.eval_shape, self.trace, self.lower, self.clear_cache = (
            whole.eval_shape,
            whole.trace,
            whole.lower,
            whole.clear_cache,
        )

    def __call__(self, *arrays: object) -> Any:
        """The kernel's results."""
        found = self.pieces(arrays)
        return self.whole(*arrays) if found is None else found

    def pieces(self, arrays: tuple[object, ...]) -> Any:
        """The results computed piece by piece; None where the kernel has to be run whole."""
        return (
            None
            if any(isinstance(a, jax.core.Tracer) for a in arrays)
            else self.piecewise(arrays, *self.statics)
        )


@functools.partial(jax.jit, static_argnums=2)
def _element(x: Any, index: Any, dim: int) -> Any:
    return lax.dynamic_index_in_dim(x, index, dim, keepdims=False)


@functools.partial(jax.jit, static_argnums=(2, 3))
def _part(x: Any, start: Any, size: int, dim: int) -> Any:
    return lax.dynamic_slice_in_dim(x, start, size, dim)


@functools.partial(jax.jit, static_argnums=(1, 2))
def _joined(arrays: Sequence[Any], dim: int, stack: bool) -> Any:
    return jnp.stack(arrays, dim) if stack else jnp.concatenate(arrays, dim)


def elements(arrays: Operands, dim: int) -> tuple[object, ...] | None:
    """Every element of a dimension, which disappears."""
    (x,) = arrays
    dim %= x.ndim
    return (
        tuple([_element(x, i, dim) for i in range(x.shape[dim])]) if x.shape[dim] >= MANY else None
    )


def parts(arrays: Operands, sizes: Sequence[int], dim: int) -> Row | None:
    """Consecutive parts of a dimension. Parts of many different sizes would each need a program of
    their own."""
    if len(sizes) < MANY or len(set(sizes)) > MANY // 2:
        return None
    (x,) = arrays
    starts = itertools.accumulate(sizes, initial=0)
    return tuple(
        [_part(x, start, size, dim % x.ndim) for start, size in zip(starts, sizes, strict=False)]
    )


def joined(arrays: Operands, dim: int, stack: bool) -> Any:
    """Arrays of one shape and dtype, joined in groups, and these in groups again."""
    if len(arrays) < 2 * MANY or any(
        a.shape != arrays[0].shape or a.dtype != arrays[0].dtype for a in arrays
    ):
        return None
    dim %= arrays[0].ndim + stack
    found = [_joined(list(group), dim, stack) for group in _groups(arrays)]
    while len(found) > 1:
        found = [_joined(list(group), dim, False) for group in _groups(found)]
    return found[0]


def _groups(arrays: Sequence[object]) -> list[Sequence[object]]:
    return [arrays[i : i + MANY] for i in range(0, len(arrays), MANY)]


#: The forward kernels that run in pieces, by path, and derivatives: of the gradient of the result
#: alone, as (needed operands' shapes, ...).
FORWARD: dict[str, Piecewise] = {
    "_C._unbind": elements,
    "_C._split": parts,
    "stack": lambda arrays, dim: joined(arrays, dim, True),
    "cat": lambda arrays, dim: joined(arrays, dim, False),
}


def _split_join(arrays: Operands, avals: Sequence[Any], dim: int) -> tuple[object, ...] | None:
    (g,) = arrays
    if any(a.ndim != g.ndim or a.dtype != g.dtype for a in avals):
        return None
    return parts(arrays, [a.shape[dim % g.ndim] for a in avals], dim)


def _split_stack(arrays: Operands, avals: Sequence[Any], dim: int) -> tuple[object, ...] | None:
    return elements(arrays, dim) if all(a.dtype == arrays[0].dtype for a in avals) else None


#: Derivatives with respect to all operands, given the gradient of every result and nothing else:
#: ``(gradients, operands' avals, ...)``.
DERIVATIVES: dict[str, Piecewise] = {
    "stack": _split_stack,
    "cat": _split_join,
    "_C._unbind": lambda arrays, avals, dim: _single(joined(arrays, dim, True)),
    "_C._split": lambda arrays, avals, sizes, dim: _single(joined(arrays, dim, False)),
}


def _single(x: object) -> Any:
    return None if x is None else (x,)
