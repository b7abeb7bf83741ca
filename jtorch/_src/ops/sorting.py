"""Sorting and its relatives whose results have a fixed shape."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts.errors import canonical_dim
from ._axes import put_along, take_along
from ._declare import Array, defvjp, op, reduction
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._numeric import is_complex
from ._order import argsort_along, leading, sort_along
from ._sizes import fewer, numbers


def _sortable(input: Array, dim: int) -> int:
    axis = canonical_dim(dim, input.ndim)
    if is_complex(input):
        raise RuntimeError(" Sort does not support complex dtypes on CPU")
    return axis


def _not_bool(name: str, argument: str, value: int) -> None:
    if isinstance(value, bool):
        raise TypeError(f"{name}(): argument '{argument}' must be int, not bool")


@op(
    out=True,
    saves=(),
    returns="sort",
    fields=("values", "indices"),
    aten="sort.stable",
    strides="preserve",
    out_dtype="expected",
    out_apart="partly",
    node=lambda made: f"SortBackward{1 if made.given('stable') else 0}",
)
@schemas(
    "(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices) ; "
    "=values:values,indices",
    ".stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, "
    "Tensor indices) ; =values_stable:values,indices",
)
def sort(
    input: Array, dim: int = -1, descending: bool = False, stable: bool | None = False
) -> tuple[Array, Array]:
    """The elements along ``dim`` in order, and the places they came from; NaN counts as largest.

    Always stable, so ``stable`` changes nothing. Gradient: to the places the elements came from.

    Args:
        input: the tensor.
        dim: the dimension to sort along.
        descending: from the largest to the smallest.
        stable: keep the order of equal elements.
        out: two tensors, for values and indices.

    Shapes: that of ``input``, twice.

    Dtypes: real ones and bool, kept; the indices are int64.

    Raises:
        IndexError: if ``dim`` is out of range.
        RuntimeError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.sort(torch.tensor([3, 1, 2]))
        torch.return_types.sort(
        values=tensor([1, 2, 3]),
        indices=tensor([1, 2, 0]))
        >>> torch.sort(torch.tensor([3, 1, 2]), descending=True).values
        tensor([3, 2, 1])
    """
    _not_bool("sort", "dim", dim)
    axis = _sortable(input, dim)
    if input.ndim == 0:
        return input, jnp.zeros((), np.int64)
    return sort_along(input, axis, descending)


@op(out=True, differentiable=False, aten="argsort.stable", strides="preserve", implicit=True)
@schemas(
    "(Tensor self, int dim=-1, bool descending=False) -> Tensor",
    ".stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor ; "
    "=stable_out",
)
def argsort(input: Array, dim: int = -1, descending: bool = False, stable: bool = False) -> Array:
    """The places of the elements along ``dim`` in sorted order. Always stable; see ``sort``.

    Args:
        input: the tensor.
        dim: the dimension to sort along.
        descending: from the largest to the smallest.
        stable: keep the order of equal elements.

    Shapes: that of ``input``.

    Dtypes: real ones and bool -> int64.

    Raises:
        IndexError: if ``dim`` is out of range.
        RuntimeError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.argsort(torch.tensor([[3, 1, 2]]))
        tensor([[1, 2, 0]])
    """
    _not_bool("argsort", "dim", dim)
    axis = _sortable(input, dim)
    return argsort_along(input, axis, descending) if input.ndim else jnp.zeros((), np.int64)


@reduction(
    saves=("input",),
    aten="msort",
    strides="preserve",
    out_dtype="expected",
    node="SortBackward0",
    dispatched="in parts",
    unchecked=("input",),
)
def msort(input: Array) -> Array:
    """Sorts along the first dimension.

    Shapes: that of ``input``.

    Dtypes: real ones and bool, kept.

    Raises:
        RuntimeError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.msort(torch.tensor([[3, 1], [2, 4]]))
        tensor([[2, 1],
                [3, 4]])
    """
    _sortable(input, 0)
    return sort_along(input, 0)[0] if input.ndim else input


@reduction(
    saves=(),
    returns="topk",
    fields=("values", "indices"),
    aten="topk",
    out_dtype="expected",
    out_apart="partly",
)
@schemas(
    "(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, "
    "Tensor indices) ; =values:values,indices",
)
def topk(
    input: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Array, Array]:
    """The ``k`` largest (or smallest) elements along ``dim`` in order, and where they stand; NaN
    counts as largest.

    The result is sorted whether or not ``sorted`` asks for it.

    Args:
        input: the tensor.
        k: how many elements.
        dim: the dimension along which to look.
        largest: the largest, else the smallest.
        sorted: in order; without it the order is unspecified.
        out: two tensors, for values and indices.

    Shapes: twice the input's, with size ``k`` at ``dim``.

    Dtypes: real ones, kept; the indices are int64.

    Raises:
        RuntimeError: if there are not ``k`` elements, or for bool and complex tensors.
        IndexError: if ``dim`` is out of range.

    Differs from torch: of equal elements the first are taken; torch leaves it open.

    Example:
        >>> import jtorch as torch
        >>> torch.topk(torch.tensor([1, 5, 3, 4]), 2)
        torch.return_types.topk(
        values=tensor([5, 4]),
        indices=tensor([1, 3]))
        >>> torch.topk(torch.tensor([1, 5, 3, 4]), 2, largest=False).indices
        tensor([0, 2])
    """
    axis = canonical_dim(dim, input.ndim)
    if not 0 <= k <= (input.shape[axis] if input.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if is_complex(input):
        raise RuntimeError(" topk does not support complex dtypes on CPU")
    if input.dtype == np.bool_:
        raise RuntimeError("topk does not support bool dtypes on CPU")
    if input.ndim == 0:
        return input, jnp.zeros((), np.int64)
    index = _top_places(input, k, axis, largest)
    return take_along(input, index, axis), index


def _top_places(x: Array, k: int, axis: int, largest: bool) -> Array:
    n = x.shape[axis]
    # XLA selects; beyond, sorting packed keys is faster
    if x.dtype == np.float32 and numbers(n) and k > 0 and not fewer(n // 8, k):
        key = jnp.moveaxis(x, axis, -1)
        key = jnp.where(key == 0, jnp.zeros((), key.dtype), key)  # XLA would put -0. below 0.
        key = key if largest else -key
        nan = lax.bitcast_convert_type(
            jnp.full((), 0x7FC00000 if largest else -0x400000, np.int32), np.float32
        )
        key = jnp.where(jnp.isnan(key), nan, key)
        return jnp.moveaxis(lax.top_k(key, k)[1].astype(np.int64), -1, axis)
    return leading(x, k, axis, largest)


def _placed(g: Array, index: Array, input: Array, dim: int) -> tuple[Array]:
    if input.ndim == 0:
        return (g,)
    axis = canonical_dim(dim, input.ndim)
    if input.shape[axis] == 1:
        return (g if g.shape == input.shape else jnp.zeros(input.shape, g.dtype),)
    if g.shape == input.shape:  # a permutation: gathering by its inverse is faster than scattering
        return (take_along(g, argsort_along(index.astype(np.int32), axis), axis),)
    return (put_along(g, index, axis, input.shape[axis]),)


def _sort_fwd(
    input: Array, dim: int = -1, descending: bool = False, stable: bool | None = False
) -> object:
    values, indices = sort(input, dim, descending, stable)
    return (values, indices), (indices,)


def _sort_rule(
    g: tuple[Array, object],
    residuals: tuple[Array],
    input: Array,
    dim: int = -1,
    descending: bool = False,
    stable: bool | None = False,
) -> tuple[Array]:
    return _placed(g[0], residuals[0], input, dim)


def _topk_fwd(
    input: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[object, ...]:
    values, indices = topk(input, k, dim, largest, sorted)
    return (values, indices), (indices,)


def _topk_rule(
    g: tuple[Array, object],
    residuals: tuple[Array],
    input: Array,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
) -> tuple[Array]:
    return _placed(g[0], residuals[0], input, dim)


defvjp(sort, _sort_rule, fwd=_sort_fwd, saves=(), shown=(1,))
derivative(
    A.sort,
    A.sort.stable,
    results=(0,),
    self=lambda g, self_, dim, result1: D.picked(g, self_, dim, result1, True),
)
defvjp(topk, _topk_rule, fwd=_topk_fwd, saves=(), shown=(1,))
derivative(
    A.topk, results=(0,), self=lambda g, self_, dim, result1: D.picked(g, self_, dim, result1, True)
)


def _msort_rule(g: Array, result: None, input: Array) -> tuple[Array]:
    return (g,) if input.ndim == 0 else _placed(g, argsort_along(input, 0), input, 0)


defvjp(msort, _msort_rule, saves=("input",))
