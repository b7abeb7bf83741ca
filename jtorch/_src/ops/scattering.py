"""Writing by position: the ``scatter`` family, ``put``, and the kernel of ``t[index] = value``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts.errors import broadcast_shapes, canonical_dim
from ..facts.warned_once import warn_once
from ._added import added_along, can_be_added, grid
from ._declare import Array, Number, defvjp, shape
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._fitting import number_as
from ._nodes import by_operand
from ._numeric import conj, require, wide, zeros_and_ones
from ._rows import positions_of_rows, with_rows
from ._sizes import fewer
from .indexing import (
    _BOUNDS,
    along,
    as_vector,
    at_dim,
    fetch,
    fold,
    in_bounds,
    in_flat,
    index_parts,
    inner_dim,
    list_text,
    scalar_name,
)

if TYPE_CHECKING:
    from ...core import Tensor
    from ..facts.kinds import Arguments, Function, Operand, Row


def write(x: Array, index: Row, values: Array, how: str = "set") -> Array:
    """``x`` with ``values`` set, added, multiplied, or the larger or smaller taken, at positions
    known to lie in range."""
    if x.dtype == np.bool_ and how in ("add", "multiply"):
        how = "max" if how == "add" else "min"  # or, and
    dim = inner_dim(x, index)
    if dim is not None:
        positions = index[dim]
        folded, rows = fold(x, dim, positions)
        values = jnp.broadcast_to(values, (*x.shape[:dim], *positions.shape, *x.shape[dim + 1 :]))
        return write(folded, (rows,), values.reshape(rows.size, *x.shape[dim + 1 :]), how).reshape(
            x.shape
        )
    if len(index) == x.ndim > 1 and _counts_in_int32(x, index):
        # One number for each position, instead of a row of them: that takes half the time.
        at = index[0].astype(np.int32)
        for size, i in zip(x.shape[1:], index[1:], strict=True):
            at = at * np.int32(size) + i.astype(np.int32)
        return write(x.reshape(-1), (at,), values, how).reshape(x.shape)
    positions = positions_of_rows(x, index)
    if (
        positions is not None
        and values.dtype == x.dtype
        and values.shape == (*positions.shape, *x.shape[1:])
    ):
        return with_rows(x, positions, values, how)
    return getattr(x.at[index], how)(values, mode="promise_in_bounds", wrap_negative_indices=False)


def write_rounded_once(x: Array, index: tuple[object, ...], values: Array, how: str) -> Array:
    """As ``write``; what meets in half precision is added up, or multiplied, in single
    precision."""
    return write(wide(x), index, wide(values), how).astype(x.dtype)


def _counts_in_int32(x: Array, index: Row) -> bool:
    """Whether ``index`` names single elements by arrays of one rank, and 32 bits count those of
    ``x``."""
    if not fewer(x.size, np.iinfo(np.int32).max + 1):
        return False
    return not any(isinstance(i, slice) or i.ndim != index[0].ndim for i in index)


def _corner(x: Array, shape: tuple[int, ...]) -> Array:
    return x if x.shape == shape else lax.slice(x, (0,) * x.ndim, shape)


def _filled(x: Array, shape: tuple[int, ...]) -> Array:
    """``x`` in the front corner of an array of ``shape``, the rest zero: the transpose of
    ``_corner``."""
    return lax.pad(
        x,
        jnp.zeros((), x.dtype),
        [(0, full - size, 0) for size, full in zip(x.shape, shape, strict=True)],
    )


def _scatter_operands(
    input: Array, dim: int, index: Array, src: Array | None
) -> tuple[Array, int, Array, Array | None]:
    """``input``, canonical ``dim``, checked positions and ``src`` cut to their shape, 0-dim ones as
    vectors.

    Raises:
        RuntimeError: in torch's words, if the shapes or dtypes do not fit.
    """
    axis = canonical_dim(dim, input.ndim)
    if index.dtype not in (np.int32, np.int64):
        raise RuntimeError("scatter(): Expected dtype int32/int64 for index")
    if src is not None and src.dtype != input.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    x, i = as_vector(input), as_vector(index)
    s = None if src is None else as_vector(src)
    if index.size:
        if x.ndim != i.ndim:
            raise RuntimeError(
                "Index tensor must have the same number of dimensions as self tensor"
            )
        if s is not None and s.ndim != i.ndim:
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
        too_large = any(d != axis and i.shape[d] > x.shape[d] for d in range(x.ndim))
        if too_large or (s is not None and any(i.shape[d] > s.shape[d] for d in range(x.ndim))):
            tail = (
                f" and to be no larger size than src {list_text(src.shape)}"
                if src is not None
                else ""
            )
            raise RuntimeError(
                f"Expected index {list_text(index.shape)} to be no larger than self "
                f"{list_text(input.shape)} apart from dimension {axis}{tail}"
            )
        i = in_bounds(
            i, x.shape[axis], RuntimeError, _BOUNDS.format(dim=axis, size=x.shape[axis]), of=index
        )
        s = None if s is None else _corner(s, i.shape)
    return x, axis, i, s


_LEGACY_REDUCE = {None: "set", "add": "add", "multiply": "multiply"}


def _scatter_value(
    src: Array | Number | None, value: Number | None, index: Array
) -> tuple[Array | None, Array | None]:
    """``src`` as a tensor, or as the number that it is; the keyword ``value`` is the number too."""
    if (src is None) == (value is None):
        raise TypeError("scatter(): expected either src or value")
    if src is None:
        return None, jnp.asarray(value)
    made = jnp.asarray(src)
    if made.ndim == 0:
        return None, made
    return made, None


def _admit_source(given: dict[str, Array]) -> None:
    """Refuses tensors without dimensions as ``src`` where one element does not do: they are no
    numbers, and stand for one place."""
    src, index = given.get("src"), given["index"]
    if src is not None and not src.ndim:
        _scatter_operands(given["input"], 0, index, src)


def _warn_of_reduce(src: Any, reduce: str | None) -> None:
    if reduce is not None and hasattr(src, "ndim"):
        warn_once(
            "The reduce argument of torch.scatter with Tensor src is deprecated and will be "
            "removed in a future PyTorch release. Use torch.scatter_reduce instead for more "
            "reduction options."
        )


@shape(
    inplace=True,
    unshared=("index", "src"),
    out=True,
    saves=("index",),
    admits=_admit_source,
    aten="scatter.src",
    out_dtype="expected",
    out_apart="partly",
    node=by_operand("Scatter", "src", 0, 1),
    warns=_warn_of_reduce,
    unsaid=("reduce",),
)
@schemas(
    ".value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor ; _ =value_out",
    ".src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor ; _ =src_out",
    ".reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor ; _ "
    "=reduce_out",
    ".value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor ; _ "
    "=value_reduce_out",
)
def scatter(
    input: Array,
    dim: int,
    index: Array,
    src: Array | Number | None = None,
    *,
    reduce: str | None = None,
    value: Number | None = None,
) -> Array:
    """Writes ``src``, a tensor or one number, at positions along ``dim``:
    ``result[index[i][j]][j] = src[i][j]`` for ``dim=0``.

    ``reduce`` ``"add"`` or ``"multiply"`` combines with what is there. Where a position is written
    more than once, one of the values stays.

    Args:
        input: the tensor that is copied.
        dim: the dimension along which ``index`` counts.
        index: int64 indices, of as many dimensions as ``input``; its shape says how much is
            written.
        src: what is written: a tensor, at least as large as ``index``, or a number.
        reduce: ``"add"`` or ``"multiply"`` into what is there, instead of writing over it.
        value: a number to write, in place of ``src``.

    Shapes: ``index`` is not larger than ``input`` but in ``dim``, and not larger than ``src``.

    Dtypes: any, the same for ``input`` and a tensor ``src``, a number is cast; ``index`` int64 or
    int32.

    Gradient: ``src`` gets that at the written positions, even where another value has overwritten
    its own; none for ``reduce="multiply"``.

    Raises:
        RuntimeError: if shapes or dtypes do not fit, or a position is out of range or negative.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2, 3).scatter(0, torch.tensor([[0, 1, 0]]), torch.tensor([[1.0, 2.0, 3.0]]))
        tensor([[1., 0., 3.],
                [0., 2., 0.]])
        >>> torch.ones(3).scatter(0, torch.tensor([2]), 5.0, reduce="add")
        tensor([1., 1., 6.])
    """
    if reduce not in _LEGACY_REDUCE:
        raise RuntimeError("reduce argument must be either add or multiply.")
    tensor, number = _scatter_value(src, value, index)
    x, axis, i, s = _scatter_operands(input, dim, index, tensor)
    if index.size == 0:
        return input
    if s is None:
        assert number is not None
        s = jnp.broadcast_to(number_as(number, input.dtype), i.shape)
    how = _LEGACY_REDUCE[reduce]
    return (write if how == "set" else write_rounded_once)(x, grid(axis, i), s, how).reshape(
        input.shape
    )


def _scatter_rule(g, result, input, dim, index, src=None, *, reduce=None, value=None):
    if reduce == "multiply":
        raise NotImplementedError(
            "derivative for scatter with reduce='multiply' is not implemented; use scatter_reduce "
            "with 'prod'"
        )
    tensor, _ = _scatter_value(src, value, index)
    if index.size == 0:
        return (g, None, None)
    gx, axis, i, _ = _scatter_operands(g, dim, index, None)
    grad_input = (
        g
        if reduce == "add"
        else write(gx, grid(axis, i), jnp.zeros(i.shape, g.dtype)).reshape(g.shape)
    )
    taken = along(gx, axis, i)
    if tensor is None:
        return (grad_input, None, taken.sum())
    return (grad_input, None, _filled(taken, as_vector(tensor).shape).reshape(tensor.shape))


defvjp(scatter, _scatter_rule)
derivative(
    A.scatter.src,
    self=lambda g, dim, index: A.scatter.value(g, dim, index, 0),
    src=lambda g, dim, index: A.gather.default(g, dim, index),
)
derivative(A.scatter.value, self=lambda g, dim, index: A.scatter.value(g, dim, index, 0))


@shape(
    inplace=True,
    unshared=("index", "src"),
    out=True,
    saves=("index",),
    aten="scatter_add",
    out_dtype="expected",
    out_apart="partly",
    autocast="cuda widest",
    refused_as="name",
)
def scatter_add(input: Array, dim: int, index: Array, src: Array) -> Array:
    """Adds ``src`` at the positions ``index`` along ``dim``:
    ``result[index[i][j]][j] += src[i][j]`` for ``dim=0``.

    Args:
        input: the tensor that is copied.
        dim: the dimension along which ``index`` counts.
        index: int64 indices, of as many dimensions as ``input``; its shape says how much is
            written.
        src: what is added: a tensor, at least as large as ``index``.

    Shapes: ``index`` is not larger than ``input`` but in ``dim``, and not larger than ``src``.

    Dtypes: any, the same for ``input`` and ``src``; ``index`` int64 or int32. Half precision is
    added up in float32 and rounded once.

    Gradient: ``src`` gets that at the positions it was added to.

    Raises:
        RuntimeError: if shapes or dtypes do not fit, or a position is out of range or negative.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(3).scatter_add(0, torch.tensor([0, 0, 2]), torch.tensor([1.0, 2.0, 3.0]))
        tensor([3., 0., 3.])
    """
    x, axis, i, s = _scatter_operands(input, dim, index, src)
    if index.size == 0:
        return input
    assert s is not None
    if can_be_added(x, i):
        return added_along(x, as_vector(index), s, axis=axis).reshape(input.shape)
    return write_rounded_once(x, grid(axis, i), s, "add").reshape(input.shape)


def _scatter_add_rule(g, result, input, dim, index, src):
    if index.size == 0:
        return (g, None, jnp.zeros(src.shape, g.dtype))
    gx, axis, i, _ = _scatter_operands(g, dim, index, None)
    return (g, None, _filled(along(gx, axis, i), as_vector(src).shape).reshape(src.shape))


defvjp(scatter_add, _scatter_add_rule)


derivative(
    A.scatter_add, self=lambda g: g, src=lambda g, dim, index: A.gather.default(g, dim, index)
)

_HOW = {"sum": "add", "prod": "multiply", "mean": "add", "amax": "max", "amin": "min"}
# Other words for extrema that scatter_reduce computes with, though it has no derivative under them.
_ALSO = {"max": "amax", "min": "amin"}


def _identity(reduce: str, dtype: np.dtype) -> Operand:
    """What a reduction starts from where ``input`` itself does not count."""
    if reduce in ("sum", "mean"):
        return np.zeros((), dtype)
    if reduce == "prod":
        return np.ones((), dtype)
    if dtype == np.bool_:
        return np.bool_(reduce == "amin")
    if dtype.kind in "iu":
        info = jnp.iinfo(dtype)
        return np.array(info.min if reduce == "amax" else info.max, dtype)
    return np.array(-np.inf if reduce == "amax" else np.inf, dtype)


def _reduce_at(
    x: Array,
    at: tuple[Operand, ...],
    src: Array,
    reduce: str,
    include_self: bool,
    write_all: Function = write_rounded_once,
) -> Array:
    start = x if include_self else write(x, at, jnp.full(src.shape, _identity(reduce, x.dtype)))
    how = _HOW[reduce]
    made = (write_all if how in ("add", "multiply") else write)(start, at, src, how)
    if reduce != "mean":
        return made
    count = _counts(x, at, src.shape, include_self, write_all if x.ndim < 2 else write_rounded_once)
    return jnp.floor_divide(made, count) if x.dtype.kind in "iu" else made / count


def _counts(
    x: Array,
    at: tuple[object, ...],
    src_shape: tuple[int, ...],
    include_self: bool,
    write_all: Function = write_rounded_once,
) -> Array:
    """How many values meet in each element of ``x``, at least one."""
    start = jnp.full(x.shape, int(include_self), x.dtype)
    count = write_all(start, at, jnp.ones(src_shape, x.dtype), "add")
    return jnp.where(count == 0, jnp.ones((), x.dtype), count)


def _product_at(x: Array, at: tuple[Array, ...], src: Array) -> Array:
    """``x`` multiplied by the elements of ``src`` that meet at each position; differentiable more
    than once, unlike JAX's own.

    The derivative leaves out one factor: a product is divided by it, or computed anew without the
    zeros if it is one of them. Of two zeros that meet, each one's derivative is the other times the
    rest: zero, but not its own derivative.
    """
    parts = [None if isinstance(i, slice) else i for i in at]

    @jax.custom_jvp
    def product(x: Array, src: Array, positions: list[Array]) -> Array:
        return write_rounded_once(x, _with_slices(at, positions), src, "multiply")

    @product.defjvp
    def _(primals: Arguments, tangents: Arguments) -> tuple[Array, Array]:
        x, src, positions = primals
        dx, ds, _ = tangents
        index = _with_slices(at, positions)
        made = product(x, src, positions)
        zero, one, none = src == 0, jnp.ones((), x.dtype), jnp.zeros((), x.dtype)
        zeros = fetch(
            write(jnp.zeros(x.shape, np.int32), index, zero.astype(np.int32), "add"), index
        )
        rest = fetch(product(x, jnp.where(zero, one, src), positions), index)
        # What is added up is nothing but zeros: it stands for the other one where this is
        # differentiated.
        other = (
            fetch(write(jnp.zeros_like(x), index, jnp.where(zero, src, none), "add"), index) - src
        )
        divided = jnp.where(zero, none, fetch(made, index) / jnp.where(zero, one, src))
        others = jnp.where(
            zero & (zeros == 1), rest, jnp.where(zero & (zeros == 2), other * rest, divided)
        )
        return made, dx * product(jnp.ones_like(x), src, positions) + write(
            jnp.zeros_like(x), index, ds * others, "add"
        )

    return product(x, src, parts)


def _with_slices(at: tuple[Array, ...], positions: list[Array]) -> tuple[Array, ...]:
    return tuple(i if isinstance(i, slice) else p for i, p in zip(at, positions, strict=True))


def _reduce_gradients(
    g: Array,
    result: Array,
    x: Array,
    at: tuple[Operand, ...],
    src: Array,
    reduce: str,
    include_self: bool,
) -> tuple[Array, Array]:
    """Gradients of ``_reduce_at``: ties of amax and amin share theirs, and a product copes with
    zeros."""
    if reduce == "sum":
        gx, gs = g, fetch(g, at)
    elif reduce == "mean":
        share = g / _counts(x, at, src.shape, include_self)
        gx, gs = share, fetch(share, at)
    elif reduce == "prod":
        start = x if include_self else write(x, at, jnp.ones(src.shape, x.dtype))
        _, pull = jax.vjp(lambda x, src: _product_at(x, at, src), start, src)
        gx, gs = (conj(t) for t in pull(conj(g)))
    else:
        is_self = zeros_and_ones(x == result, g.dtype)
        is_src = zeros_and_ones(src == fetch(result, at), g.dtype)
        share = g / write_rounded_once(is_self, at, is_src, "add")
        gx, gs = is_self * share, is_src * fetch(share, at)
    if not include_self:
        gx = write(gx, at, jnp.zeros(src.shape, g.dtype))
    return gx, gs


@shape(
    inplace=True,
    unshared=("index", "src"),
    out=True,
    saves=("input", "index", "src", "result"),
    aten="scatter_reduce.two",
    out_apart="partly",
    refused_as="name",
)
def scatter_reduce(
    input: Array, dim: int, index: Array, src: Array, reduce: str, *, include_self: bool = True
) -> Array:
    """Reduces the elements of ``src`` that meet at the same position, and what ``input`` holds
    there unless ``include_self`` is False.

    ``reduce`` is ``"sum"``, ``"prod"``, ``"mean"``, ``"amax"`` (or ``"max"``) or ``"amin"`` (or
    ``"min"``). Elements that nothing is sent to keep their value.

    Shapes: ``index`` is not larger than ``input`` but in ``dim``, and not larger than ``src``.

    Dtypes: any, the same for ``input`` and ``src``; ``index`` int64 or int32. Half precision is
    reduced in float32 and rounded once.

    Gradient: equal maxima or minima share theirs; none under the names ``"max"`` and ``"min"``.

    Raises:
        RuntimeError: if ``reduce`` is unknown, shapes or dtypes do not fit, or a position is out of
            range or negative.
        NotImplementedError: for extrema of complex tensors, or the mean of bool ones.

    Example:
        >>> import jtorch as torch
        >>> x, where = torch.tensor([10.0, 20.0]), torch.tensor([0, 0, 1])
        >>> x.scatter_reduce(0, where, torch.tensor([1.0, 2.0, 30.0]), "amax")
        tensor([10., 30.])
        >>> x.scatter_reduce(0, where, torch.tensor([1.0, 2.0, 30.0]), "sum", include_self=False)
        tensor([ 3., 30.])
    """
    reduce = _ALSO.get(reduce, reduce)
    if reduce not in _HOW:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    if reduce == "mean" and input.dtype == np.bool_:
        raise NotImplementedError(
            "\"scatter_gather_tensor_cpu_reduce_mean\" not implemented for 'Bool'"
        )
    if reduce in ("amax", "amin"):
        require(f"scatter_gather_tensor_cpu_reduce_{reduce}", input, "bif")
    x, axis, i, s = _scatter_operands(input, dim, index, src)
    if index.size == 0:
        return input
    assert s is not None
    return _reduce_at(x, grid(axis, i), s, reduce, include_self).reshape(input.shape)


def _scatter_reduce_rule(g, result, input, dim, index, src, reduce, *, include_self=True):
    if reduce in _ALSO:
        raise RuntimeError(
            "Expected 'reduce' to be one of 'sum', 'prod', 'mean', 'amax', 'amin' but got "
            f"{reduce}."
        )
    x, axis, i, s = _scatter_operands(input, dim, index, src)
    if index.size == 0:
        return (g, None, jnp.zeros(src.shape, g.dtype))
    assert s is not None
    gx, gs = _reduce_gradients(
        g.reshape(x.shape), result.reshape(x.shape), x, grid(axis, i), s, reduce, include_self
    )
    return (gx.reshape(g.shape), None, _filled(gs, as_vector(src).shape).reshape(src.shape))


defvjp(scatter_reduce, _scatter_reduce_rule)


def _scatter_reduce(
    g: object,
    self: Tensor,
    dim: int,
    index: object,
    src: object,
    reduce: str,
    include_self: bool,
    result: object,
    grads: object,
    node: object,
) -> Any:
    if reduce == "sum":
        mine, theirs = g, A.gather.default(g, dim, index)
    elif reduce == "mean":
        count = A.ones_like.default(g) if include_self else A.zeros_like.default(g)
        count = A.scatter_add.default(count, dim, index, A.ones_like.default(src))
        count = A.masked_fill_.Scalar(count, A.eq.Scalar(count, 0), 1)
        mine = A.div.Tensor(g, count)
        share = A.gather.default(count, dim, index)
        theirs = A.div.Tensor(A.gather.default(g, dim, index), share)
    elif reduce in ("amax", "amin"):
        dtype = self._aval.torch_dtype
        value = A.gather.default(result, dim, index)
        is_mine = A._to_copy.default(A.eq.Tensor(self, result), dtype=dtype)
        is_theirs = A._to_copy.default(A.eq.Tensor(src, value), dtype=dtype)
        shared = A.div.Tensor(g, A.scatter_add.default(is_mine, dim, index, is_theirs))
        mine = A.mul.Tensor(A.eq.Tensor(self, result), shared)
        picked = A.gather.default(shared, dim, index)
        theirs = A.mul.Tensor(A.eq.Tensor(src, value), picked)
    else:
        return D.general(grads, node, self, dim, index, src, reduce, include_self)
    return (mine if include_self else A.scatter.value(mine, dim, index, 0)), theirs


def _scatter_reduce_operands_formula(
    g: object,
    self: Any,
    dim: int,
    index: object,
    src: object,
    reduce: str,
    include_self: bool,
    result: object,
    grads: object,
    node: object,
) -> object:
    found = _scatter_reduce(g, self, dim, index, src, reduce, include_self, result, grads, node)
    return found if len(found) == 2 else (found[0], found[2])


derivative(A.scatter_reduce.two, self__src=_scatter_reduce_operands_formula)


def _put_alert(input: Any, accumulate: bool) -> str | None:
    return None if accumulate or input.is_meta else "put_"


@shape(
    inplace=True,
    unshared=("index", "source"),
    saves=("index",),
    aten="put",
    strides="preserve",
    nondeterministic=_put_alert,
)
@schemas(". ; _ =out")
def put(input: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    """Writes (or adds, if ``accumulate``) the elements of ``source`` at the positions ``index`` of
    the flattened ``input``.

    Shapes: index and source with as many elements -> that of ``input``.

    Dtypes: any, the same for ``input`` and ``source``; ``index`` int64.

    Raises:
        RuntimeError: if the index is not int64 or the dtypes differ.
        IndexError: if a position is out of range, or there are not as many as elements of
            ``source``.

    Example:
        >>> import jtorch as torch
        >>> torch.put(torch.zeros(2, 2), torch.tensor([1, -1]), torch.tensor([5.0, 6.0]))
        tensor([[0., 5.],
                [0., 6.]])
    """
    if index.dtype != np.int64:
        raise RuntimeError(
            f"put_(): Expected a long tensor for index, but got {scalar_name(index)}"
        )
    if input.dtype != source.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, "
            f"but got self.dtype = {scalar_name(input)} and source.dtype = {scalar_name(source)}"
        )
    if index.size != source.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, "
            f"but got source.numel() = {source.size}, index.numel() = {index.size}"
        )
    if input.size == 0 and index.size:
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    at = (in_flat(index.reshape(-1), input.size),)
    return write(input.reshape(-1), at, source.reshape(-1), "add" if accumulate else "set").reshape(
        input.shape
    )


def _put_rule(g, result, input, index, source, accumulate=False):
    flat, at = g.reshape(-1), (in_flat(index.reshape(-1), g.size),)
    grad_input = (
        g if accumulate else write(flat, at, jnp.zeros(index.size, g.dtype)).reshape(g.shape)
    )
    return (grad_input, None, fetch(flat, at).reshape(source.shape))


defvjp(put, _put_rule)
derivative(
    A.put,
    self=lambda g, index, source_, accumulate: (
        g if accumulate else A.put.default(g, index, D.made_zeros(source_.shape, g))
    ),
    source=lambda g, index, source_: D.reshaped(A.take.default(g, index), source_.shape),
)


def _indexed_shape(input: Array, parts: Row) -> tuple[int, ...]:
    """The shape of ``input[parts]``."""
    arrays = [d for d, p in enumerate(parts) if not isinstance(p, slice)]
    common = broadcast_shapes(*(parts[d].shape for d in arrays))
    rest = [s for d, s in enumerate(input.shape) if d not in arrays]
    adjacent = bool(arrays) and arrays == list(range(arrays[0], arrays[-1] + 1))
    place = arrays[0] if adjacent else 0
    return (*rest[:place], *common, *rest[place:])


def _values_as(values: Array, full: tuple[int, ...]) -> Array:
    """``values`` with leading ones dropped or added to the rank of ``full``, which they must
    broadcast to."""
    sizes = values.shape
    while len(sizes) > len(full) and sizes[0] == 1:
        sizes = sizes[1:]
    sizes = (1,) * (len(full) - len(sizes)) + sizes
    if len(sizes) > len(full) or any(s not in (1, f) for s, f in zip(sizes, full, strict=True)):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list_text(values.shape)} cannot be broadcast "
            f"to indexing result of shape {list_text(full)}"
        )
    return values.reshape(sizes)


def _written(input: Array, values: Array | Number, full: tuple[int, ...]) -> Array:
    """``values`` for elements of a shape, in the dtype of ``input``: numbers are cast, tensors with
    dimensions must have it."""
    values = jnp.asarray(values)
    if values.ndim == 0:
        return jnp.broadcast_to(number_as(values, input.dtype), full)
    values = _values_as(values, full)
    if input.dtype != values.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {scalar_name(input)} "
            f"for the destination and {scalar_name(values)} for the source."
        )
    return jnp.broadcast_to(values, full)


@shape(namespace="_C", inplace=True, saves=("indices",), aten="index_put", strides="preserve")
def _index_put(
    input: Array, indices: list[Array | None], values: Array | Number, accumulate: bool = False
) -> Array:
    """``input[indices] = values`` for integer tensors, or ``+=`` that counts every repeated
    position if ``accumulate``.

    Raises:
        RuntimeError: if dtypes differ or ``values`` do not broadcast to the indexed shape.
        IndexError: if the indices do not fit.
    """
    parts = index_parts(input, indices)
    spread = _written(input, values, _indexed_shape(input, parts))
    if all(isinstance(p, slice) for p in parts):
        return input + spread if accumulate else spread
    return write(input, parts, spread, "add" if accumulate else "set")


def _index_put_rule(g, result, input, indices, values, accumulate=False):
    parts = index_parts(g, indices)
    nothing = [None for _ in indices]
    if all(isinstance(p, slice) for p in parts):
        taken = g
        grad_input = g if accumulate else jnp.zeros(g.shape, g.dtype)
    else:
        taken = fetch(g, parts)
        grad_input = g if accumulate else write(g, parts, jnp.zeros(taken.shape, g.dtype))
    values = jnp.asarray(values)
    return (
        grad_input,
        *nothing,
        _summed_to(taken, _values_as(values, taken.shape).shape).reshape(values.shape),
    )


def _summed_to(x: Array, sizes: tuple[int, ...]) -> Array:
    axes = tuple(
        d
        for d, (have, want) in enumerate(zip(x.shape, sizes, strict=True))
        if want == 1 and have != 1
    )
    return x.sum(axis=axes, keepdims=True) if axes else x


defvjp(_index_put, _index_put_rule)


@shape(
    namespace="_C",
    inplace=True,
    saves=("positions",),
    aten="index_put",
    strides="preserve",
    node="IndexPutBackward0",
)
def _index_put_flat(
    input: Array, positions: Array, values: Array | Number, start: int, count: int
) -> Array:
    """``input[:, ..., mask] = values``: writes at flat ``positions`` of the ``count`` dimensions
    from ``start``, as a mask selected."""
    merged, at = _merged(input, positions, start, count)
    full = (*merged.shape[:start], positions.size, *merged.shape[start + 1 :])
    return write(merged, at, _written(input, values, full)).reshape(input.shape)


def _merged(x: Array, positions: Array, start: int, count: int) -> tuple[Array, Row]:
    n = math.prod(x.shape[start : start + count])
    return x.reshape(*x.shape[:start], n, *x.shape[start + count :]), at_dim(start, positions)


def _index_put_flat_rule(g, result, input, positions, values, start, count):
    merged, at = _merged(g, positions, start, count)
    taken = fetch(merged, at)
    grad_input = write(merged, at, jnp.zeros(taken.shape, g.dtype)).reshape(g.shape)
    values = jnp.asarray(values)
    return (
        grad_input,
        None,
        _summed_to(taken, _values_as(values, taken.shape).shape).reshape(values.shape),
    )


defvjp(_index_put_flat, _index_put_flat_rule)
