"""Largest and smallest elements, nan where there is one.

XLA's own reduction of more than some thousand elements loses nan on the CPU (decision 0110). What
kernels with such a result take in its place looks for nan apart, by another reduction.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..engine.host.rules import Fixed, by_bytes
from ._declare import Array
from ._hosted import hosted


def _by_numpy(*, axes: tuple[int, ...], largest: bool) -> Fixed:
    ufunc = np.maximum if largest else np.minimum
    return Fixed(ufunc.reduce, (axes[0] if len(axes) == 1 else axes, None, None, True))


def _shape(x: Array, *, axes: tuple[int, ...], **_: object) -> tuple[int, ...]:
    return tuple([1 if d in axes else n for d, n in enumerate(x.shape)])


@hosted(_by_numpy, elementwise=False, cost=by_bytes(), shape=_shape)
def _extremum(x: Array, *, axes: tuple[int, ...], largest: bool) -> Array:
    found = (jnp.max if largest else jnp.min)(x, axes, keepdims=True)
    if jax.default_backend() != "cpu":
        return found
    nan = jnp.sum(jnp.where(x != x, x, jnp.zeros((), x.dtype)), axes, keepdims=True)
    return jnp.where(nan != nan, nan, found)


def extremum(
    x: Array, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False, largest: bool
) -> Array:
    """The largest, or smallest, elements along dimensions, of which none may be empty: nan where
    there is one."""
    given = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    axes = tuple([d % x.ndim for d in given])
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return (jnp.max if largest else jnp.min)(x, axes, keepdims=keepdims)
    if not axes:
        return x
    found = _extremum(x, axes=axes, largest=largest)
    return found if keepdims else found.squeeze(axes)
