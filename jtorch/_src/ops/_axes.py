"""What reductions, scans and sorts share: dtypes of results, dimensions, and selection along a
dimension by position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts import dtypes
from ..facts.errors import canonical_dim, canonical_dims
from ._declare import Array
from ._kernel import cast
from ._rows import elements_added
from ._sizes import fewer

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..facts.kinds import Function, Row


def category(dtype: object) -> int:
    """The category (``dtypes.BOOL`` to ``dtypes.COMPLEX``) of an array's dtype."""
    return dtypes.from_np(dtype).category


def to_dtype(x: Array, dtype: Any) -> Array:
    """``x`` converted as torch does: complex to real drops the imaginary part, anything to bool
    compares with zero."""
    return cast(x, np.dtype(dtype))


def accumulated(x: Array, dtype: object) -> Array:
    """``x`` in ``dtype`` or, without one, integers and bool in int64: what ``sum``, ``prod`` and
    the scans accumulate."""
    if dtype is not None:
        return to_dtype(x, dtype)
    return to_dtype(x, np.int64) if category(x.dtype) < dtypes.FLOATING else x


def restored(x: Array, dims: Sequence[int], keepdim: bool) -> Array:
    """A reduced array with its reduced ``dims`` as size 1 again, ready to broadcast over the
    input."""
    return x if keepdim else lax.expand_dims(x, tuple(d for d in dims))


def reduced_dims(x: Array, dim: int | tuple[int, ...] | None) -> tuple[int, ...]:
    return canonical_dims(dim, x.ndim)


def one_dim(x: Array, dim: int, name: str, *, nonzero: bool = True) -> tuple[Array, int]:
    """``x`` with at least one dimension, and the canonical dimension that ``name`` works along.

    Raises:
        IndexError: if ``dim`` is out of range, or empty where it must not be.
    """
    axis = canonical_dim(dim, x.ndim)
    if x.ndim == 0:
        return lax.expand_dims(x, (0,)), 0
    if nonzero and x.shape[axis] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
    return x, axis


def squeezed(x: Array, axis: int, ndim: int, keepdim: bool) -> Array:
    """``x``, whose ``axis`` has size 1, in the shape torch gives the reduction of an input of
    ``ndim`` dimensions."""
    return x if keepdim and ndim else lax.squeeze(x, (axis,))


def positions(x: Array, axis: int, dtype: type = np.int32) -> Array:
    """Each element's index along ``axis``."""
    if not fewer(x.shape[axis], np.iinfo(np.int32).max + 1):
        dtype = np.int64
    return lax.broadcasted_iota(dtype, x.shape, axis)


def take_along(x: Array, index: Array, axis: int) -> Array:
    """Gathers along ``axis`` at positions known to lie in range."""
    return jnp.take_along_axis(x, index, axis, mode="promise_in_bounds")


def put_along(g: Array, index: Array, axis: int, size: int) -> Array:
    """The transpose of ``take_along``: ``g`` added up at ``index`` in zeros of ``size`` along
    ``axis``."""
    shape = (*g.shape[:axis], size, *g.shape[axis + 1 :])
    if g.shape[axis] == 1:  # comparing vectorises, scattering does not
        where = lax.broadcasted_iota(index.dtype, shape, axis) == index
        return jnp.where(where, g, jnp.zeros((), g.dtype))
    grid = tuple(
        index if d == axis else lax.broadcasted_iota(index.dtype, g.shape, d) for d in range(g.ndim)
    )
    return elements_added(jnp.zeros(shape, g.dtype), grid, g)


def select_fwd(kernel: Function) -> Callable[..., object]:
    """The ``fwd`` of a kernel that returns (values, indices) of one dimension: it keeps the
    indices."""

    def fwd(*args: Array | int, **kwargs: Any) -> Row:
        values, indices = kernel(*args, **kwargs)
        return (values, indices), (indices,)

    return fwd


def select_grad(g: Array, index: Array, input: Array, dim: int, keepdim: bool) -> tuple[Array]:
    """The gradient of values chosen along one dimension: each goes to the element it was taken
    from."""
    if input.ndim == 0:
        return (lax.reshape(g, ()),)
    axis = canonical_dim(dim, input.ndim)
    return (
        put_along(
            restored(g, (axis,), keepdim),
            restored(index, (axis,), keepdim),
            axis,
            input.shape[axis],
        ),
    )
