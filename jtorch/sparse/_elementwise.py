"""Arithmetic on sparse tensors, element by element: functions that keep zero, sums, products and
quotients."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import jtorch

from .._src.bind.everything import _C, PUBLIC
from .._src.facts import layouts
from .._src.facts.errors import broadcast_shapes
from .._src.tensor.running import check_cast, converted, inplace
from .._src.tensor.writing import check_inplace
from ..core import Tensor
from ._make import (
    _unbatched,
    batch_dims,
    blocks_by_place,
    coalesce,
    compressed_to_coo,
    index_tensor,
    linear,
    rows_and_columns,
    to_compressed,
    to_dense,
)
from ._tensor import (
    BLOCKED,
    COMPRESSED,
    NAMES,
    SparseTensor,
    become,
    coo,
    could_not_run,
    host,
    like,
    nnz,
    sparse_dim,
    sparse_op,
)
from ._whole import following, through

if TYPE_CHECKING:
    from .._src.facts.kinds import Operand


# to a type checker, the Tensor of the stubs is another class than that of the core
torch: Any = jtorch

#: Functions of one argument with f(0) = 0; those of COO tensors add values of equal indices up
#: first.
UNARY = """abs asin asinh atan atanh ceil deg2rad erf erfinv expm1 floor frac isinf isnan isneginf
    isposinf log1p nan_to_num rad2deg relu round sgn sign signbit sin sinh sqrt tan tanh
    trunc""".split()
#: Those that are linear, and so leave repeated indices alone.
LINEAR = "neg positive conj conj_physical".split()


def _unary(name: str, adds_up: bool) -> None:
    def apply(input: SparseTensor, *args: object, **kwargs: Any) -> Any:
        function = PUBLIC.get(name) or getattr(Tensor, name)
        out = kwargs.pop("out", None)
        if input._kind is layouts.sparse_coo and adds_up:
            input = coalesce(input)
        found = like(input, function(input._vals, *args, **kwargs))
        return found if out is None else become(out, found)

    sparse_op(name)(
        apply if adds_up else following(PUBLIC.get(name) or getattr(Tensor, name))(apply)
    )
    if adds_up and hasattr(Tensor, f"{name}_"):

        def written(input: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
            if input._kind is layouts.sparse_coo and not input._sorted:
                raise RuntimeError(f"{name}_ requires coalesced input")
            return become(input, apply(input, *args, **kwargs))

        sparse_op(f"{name}_")(written)


for _name in UNARY:
    _unary(_name, True)
for _name in LINEAR:
    _unary(_name, False)


@sparse_op("nn.functional.relu")
def _functional_relu(input: object, inplace: bool = False) -> object:
    return torch.relu_(input) if inplace else torch.relu(input)


@sparse_op("nn.functional.dropout", "dropout", "feature_dropout", "alpha_dropout")
def _dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> object:
    if training and p:
        raise could_not_run("bernoulli_.float" if not inplace else "dropout_", input)
    return input


def _is_number(x: Tensor | float) -> bool:
    return isinstance(x, (bool, int, float, complex, np.number)) or (
        isinstance(x, Tensor) and not isinstance(x, SparseTensor) and x.dim() == 0
    )


# ---- sums ----------------------------------------------------------------------------------------


@sparse_op("add")
def add(input: Tensor, other: object, *, alpha: object = 1, out: Any = None) -> Tensor:
    """``input + alpha * other``: of two sparse tensors, or of a dense one and a sparse one."""
    found = _add(input, other, alpha)
    if out is None:
        return found
    return become(out, found) if isinstance(out, SparseTensor) else out.copy_(found)


def _add(a: Tensor, b: Operand, alpha: Any) -> Any:
    if isinstance(a, SparseTensor):
        if not isinstance(b, SparseTensor):
            if a._kind in COMPRESSED and isinstance(b, Tensor):
                return _dense_plus(
                    b if alpha == 1 else _scaled(b, alpha, torch.result_type(a, b)), a, 1
                )
            raise RuntimeError(
                "add(sparse, dense) is not supported. Use add(dense, sparse) instead."
            )
        if a._kind is not b._kind:
            raise RuntimeError(
                f"add: expected both operands of one layout, but got {NAMES[a._kind]} and "
                f"{NAMES[b._kind]}"
            )
        return _sparse_sum(a, b, alpha)
    return _dense_plus(a, b, alpha)


def _scaled(values: Tensor, alpha: float, dtype: jtorch.dtype) -> Tensor:
    """``alpha * values`` in the dtype of the sum: unsigned numbers must have a sign before they are
    multiplied by -1."""
    if values.dtype is not dtype:
        values = converted(values, dtype)
    return values if type(alpha) is int and alpha == 1 else values * alpha


def _dense_plus(a: Tensor, s: SparseTensor, alpha: float) -> Tensor:
    shape = list(a.shape) if isinstance(a, Tensor) else []
    if shape != list(s._dims):
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size {shape} while "
            f"other has size {list(s._dims)} (FYI: dense-sparse addition does not currently "
            "support broadcasting)"
        )
    dtype = torch.result_type(a, s._vals)
    own = s.dtype

    def added(s: SparseTensor) -> Tensor:
        if s._kind is not layouts.sparse_coo:
            return a + _scaled(to_dense(s), alpha, dtype)
        return _C._coo_add(
            a if a.dtype is dtype else converted(a, dtype), s._at[0], _scaled(s._vals, alpha, dtype)
        )

    return through(
        added,
        s,
        lambda grad: _scaled(
            grad, alpha.conjugate() if isinstance(alpha, complex) else alpha, dtype
        ).to(own),
    )


def _sparse_sum(a: SparseTensor, b: SparseTensor, alpha: int) -> SparseTensor:
    if a._dims != b._dims:
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(a._dims)} != "
            f"{list(b._dims)}"
        )
    dtype = torch.result_type(a._vals, b._vals)
    if a._kind in COMPRESSED:
        if _same_positions(a, b):
            return like(a, a._vals + _scaled(b._vals, alpha, dtype))
        return to_compressed(
            _sparse_sum(compressed_to_coo(a), compressed_to_coo(b), alpha), a._kind
        )
    if nnz(b) == 0:
        return (
            a.to(dtype)
            if a.dtype is not dtype
            else coo(a._at[0], a._vals.clone(), a._dims, a._sorted)
        )  # type: ignore[return-value]
    if sparse_dim(a) != sparse_dim(b):
        if nnz(a) == 0:
            return coo(b._at[0], _scaled(b._vals, alpha, dtype), b._dims, b._sorted)
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same density, but 'self' has "
            f"{sparse_dim(a)} sparse dimensions while 'other' has {sparse_dim(b)} sparse dimensions"
        )
    both = a._sorted and b._sorted
    if _same_positions(a, b):
        return coo(a._at[0], a._vals + _scaled(b._vals, alpha, dtype), a._dims, both)
    values = torch.cat(
        [
            a._vals if a._vals.dtype is dtype else converted(a._vals, dtype),
            _scaled(b._vals, alpha, dtype),
        ]
    )
    joined = coo(torch.cat([a._at[0], b._at[0]], 1), values, a._dims)
    return coalesce(joined) if both else joined


def _same_positions(a: SparseTensor, b: SparseTensor) -> bool:
    """Whether the specified elements are at the same places in the same order."""
    if all(x is y for x, y in zip(a._at, b._at, strict=True)):
        return True
    if nnz(a) != nnz(b) or a._vals.shape != b._vals.shape:
        return False
    return all(np.array_equal(host(x), host(y)) for x, y in zip(a._at, b._at, strict=True))


@sparse_op("add_")
def add_(input: Tensor, other: SparseTensor, *, alpha: Any = 1) -> SparseTensor | Tensor:
    """``add`` in place."""
    if isinstance(input, SparseTensor):
        return become(input, _add(input, other, alpha))
    check_inplace(input)
    result = _dense_plus(input, other, alpha)
    check_cast(result.dtype, input.dtype)
    return inplace(input, result)


@sparse_op("sub")
def sub(input: Tensor, other: Tensor, *, alpha: int = 1, out: object = None) -> Tensor:
    """``input - alpha * other``."""
    for x in (input, other):
        if isinstance(x, SparseTensor) and x._kind in COMPRESSED:
            raise RuntimeError(f"unsupported tensor layout: {NAMES[x._kind]}")
    return add(input, other, alpha=-alpha, out=out)


@sparse_op("sub_")
def sub_(input: Tensor, other: Tensor, *, alpha: int = 1) -> Tensor:
    """``sub`` in place."""
    return add_(input, other, alpha=-alpha)


@sparse_op("__rsub__", "rsub")
def rsub(input: Any, other: Tensor, *, alpha: Any = 1) -> SparseTensor | Tensor:
    """``other - alpha * input``."""
    return _add(other, input, -alpha)


# ---- products ------------------------------------------------------------------------------------


@sparse_op("mul")
@following(lambda whole, other, **_: whole * other if _is_number(other) else None)
def mul(input: Tensor, other: Tensor | float, *, out: SparseTensor | None = None) -> SparseTensor:
    """The product by a number, a dense tensor (at the specified elements), or a sparse tensor (at
    those of both)."""
    found = _mul(input, other)
    return found if out is None else become(out, found)


def _mul(a: Any, b: Operand) -> SparseTensor:
    if not isinstance(a, SparseTensor):
        a, b = b, a
    # the dtypes of both count, but values are a row beside a single number
    if not a._dims and isinstance(b, Tensor) and not b.dim():
        dtype = torch.result_type(a, b)
        if isinstance(b, SparseTensor) and a._sorted and not b._sorted:
            a, b = b, a
        b = to_dense(b).to(dtype) if isinstance(b, SparseTensor) else b.to(dtype)
        return like(a, a._vals.to(dtype) * b)
    if _is_number(b):
        return like(a, a._vals * b)
    if not isinstance(b, SparseTensor):
        return _times_dense(a, b)
    if b._vals.dim() == 0 or not b._dims:
        return like(a, a._vals * to_dense(b))
    if not a._dims:
        return like(b, b._vals * to_dense(a))
    if a._kind in COMPRESSED:
        if b._kind is not a._kind:
            b = to_compressed(b, a._kind)
        if _same_positions(a, b):
            return like(a, a._vals * b._vals)
        return to_compressed(_mul(compressed_to_coo(a), compressed_to_coo(b)), a._kind)
    if b._kind in COMPRESSED:
        b = compressed_to_coo(b)
    if a._dims != b._dims or sparse_dim(a) != sparse_dim(b):
        raise RuntimeError(
            "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, "
            "number of sparse dimensions, and shape of sparse dimensions"
        )
    if a._at[0] is b._at[0] and a._sorted:
        return coo(a._at[0], a._vals * b._vals, a._dims, True)
    if a._sorted and not b._sorted:
        a, b = b, a
    b = coalesce(b)
    found, places = _look_up(host(a._at[0]), b)
    if found.all():
        return coo(
            a._at[0], a._vals * b._vals.index_select(0, index_tensor(places, a)), a._dims, a._sorted
        )
    mine = index_tensor(np.nonzero(found)[0], a)
    values = a._vals.index_select(0, mine) * b._vals.index_select(0, index_tensor(places[found], a))
    return coo(a._at[0].index_select(1, mine), values, a._dims, a._sorted)


def _look_up(indices: np.ndarray, t: SparseTensor) -> tuple[np.ndarray, np.ndarray]:
    """For each index whether a coalesced tensor specifies it, and where among its elements."""
    size = t._dims[: sparse_dim(t)]
    have, wanted = linear(host(t._at[0]), size), linear(indices, size)
    places = np.searchsorted(have, wanted)
    if not len(have):
        return np.zeros(len(wanted), bool), places
    places = np.minimum(places, len(have) - 1)
    return have[places] == wanted, places


def _blocks_of(d: Tensor, s: SparseTensor) -> Tensor:
    """The blocks of a dense tensor that a blocked one specifies."""
    batch = batch_dims(s)
    if batch:
        flat = d.reshape(math.prod(d.shape[:batch]), *d.shape[batch:])
        parts = [_blocks_of(x, m) for x, m in zip(flat.unbind(), _unbatched(s), strict=True)]
        return torch.stack(parts).reshape(s._vals.shape)
    tiles = blocks_by_place(d, 0, *s._vals.shape[1:3])
    rows, columns = rows_and_columns(s)
    return tiles.flatten(0, 1).index_select(0, rows * tiles.shape[1] + columns)


def _times_dense(s: SparseTensor, d: Tensor) -> SparseTensor:
    if s._kind in COMPRESSED:
        if tuple(d.shape) != tuple(s._dims):
            broadcast_shapes(s._dims, d.shape)
            d = d.expand(tuple(s._dims))
        if s._kind in BLOCKED:
            return like(s, s._vals * _blocks_of(d, s))
        if d.dim() == 2:
            return like(s, s._vals * _C._coo_pick(d, torch.stack(list(rows_and_columns(s)))))
        return to_compressed(_times_dense(compressed_to_coo(s), d), s._kind)
    shape = broadcast_shapes(d.shape, s._dims)
    if shape != tuple(s._dims):
        s = _broadcast(s, shape)
    picked = _C._coo_pick(d.expand(shape), s._at[0])
    return coo(s._at[0], s._vals * picked, s._dims, s._sorted)


@sparse_op("_sparse_broadcast_to")
def _broadcast(s: SparseTensor, shape: tuple[int, ...]) -> SparseTensor:
    """A sparse tensor repeated along new dimensions and those of size 1."""
    s = coalesce(s)
    n, lead = sparse_dim(s), len(shape) - len(s._dims)
    indices, values = host(s._at[0]), s._vals
    grown = [
        (d + lead, shape[d + lead]) for d in range(n) if s._dims[d] == 1 and shape[d + lead] != 1
    ]
    full = np.concatenate([np.zeros((lead, indices.shape[1]), np.int64), indices])
    picks = np.arange(indices.shape[1])
    for d, size in [(d, shape[d]) for d in range(lead)] + grown:
        count = full.shape[1]
        full = np.repeat(full, size, axis=1)
        full[d] = np.tile(np.arange(size), count)
        picks = np.repeat(picks, size)
    values = values.index_select(0, index_tensor(picks, s))
    if values.dim() > 1:
        values = values.expand(values.shape[0], *shape[lead + n :])
    return coalesce(coo(index_tensor(full, s), values, shape))


@sparse_op("mul_")
def mul_(input: Tensor, other: float) -> SparseTensor | Tensor:
    """``mul`` in place."""
    if isinstance(input, SparseTensor):
        if _is_number(other) and not input._vals._rg:
            input._vals.mul_(other)
            return input
        return become(input, mul(input, other))
    check_inplace(input)
    return inplace(input, to_dense(_mul(input, other)))


def _divisor(t: Tensor) -> RuntimeError:
    return RuntimeError(
        "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
        f"{list(t.shape)} for divisor)"
    )


@sparse_op("div")
@following(lambda whole, other, rounding_mode=None, **_: None if rounding_mode else whole / other)
def div(
    input: Any, other: Tensor, *, rounding_mode: str | None = None, out: SparseTensor | None = None
) -> SparseTensor:
    """The quotient by a number or a 0-dim dense tensor."""
    if not isinstance(input, SparseTensor):
        if other._kind in COMPRESSED:
            raise RuntimeError(f"unsupported tensor layout: {NAMES[other._kind]}")
        raise _divisor(other)
    if input._kind in COMPRESSED:
        raise RuntimeError(f"unsupported tensor layout: {NAMES[input._kind]}")
    if not _is_number(other):
        raise _divisor(other)
    if rounding_mode is not None:
        input = coalesce(input)
    found = like(input, torch.div(input._vals, other, rounding_mode=rounding_mode))
    return found if out is None else become(out, found)


@sparse_op("floor_divide")
def floor_divide(
    input: object, other: float | Tensor, *, out: SparseTensor | None = None
) -> SparseTensor:
    """The quotient by a number, rounded down."""
    if not isinstance(input, SparseTensor) or not _is_number(other):
        shape = list(other.shape) if isinstance(other, Tensor) else []
        raise RuntimeError(
            "Sparse floor division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{shape} for divisor)"
        )
    found = coalesce(input)
    found = like(found, found._vals // other)
    return found if out is None else become(out, found)


@sparse_op("__rtruediv__")
def _rtruediv(input: Any, other: object) -> Any:
    raise could_not_run("reciprocal", input)


@sparse_op("pow")
def pow(input: object, exponent: Any, *, out: SparseTensor | None = None) -> SparseTensor:
    """The power with a number as exponent."""
    if not isinstance(input, SparseTensor) or not _is_number(exponent) or input._kind in COMPRESSED:
        t = input if isinstance(input, SparseTensor) else exponent
        if t._kind in COMPRESSED:
            raise RuntimeError(f"unsupported tensor layout: {NAMES[t._kind]}")
        raise could_not_run(
            "pow.Scalar" if not isinstance(input, SparseTensor) else "pow.Tensor_Tensor", t
        )
    if isinstance(exponent, (int, float)) and not isinstance(exponent, bool) and exponent == 0:
        raise RuntimeError("pow: exponent cannot be zero as it would make the result tensor dense")
    c = coalesce(input)
    found = like(c, c._vals**exponent)
    return found if out is None else become(out, found)


@sparse_op("square")
def square(input: Tensor) -> Tensor:
    """The squares."""
    return pow(input, 2)


@sparse_op("__rpow__")
def _rpow(input: Any, other: object) -> Any:
    raise could_not_run("pow.Scalar", input)


# ---- masks ---------------------------------------------------------------------------------------


@sparse_op("sparse_mask")
def sparse_mask(input: Tensor, mask: Tensor) -> SparseTensor:
    """The elements of ``input`` at the places that ``mask`` specifies.

    Raises:
        RuntimeError: if the sizes differ.
    """
    if not isinstance(mask, SparseTensor):
        raise could_not_run("sparse_mask", mask)
    if tuple(input.shape) != tuple(mask._dims):
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(input.shape)} "
            f"but mask has size {list(mask._dims)}"
        )
    if mask._kind in COMPRESSED:
        dense = to_dense(input) if isinstance(input, SparseTensor) else input
        return _times_dense(like(mask, torch.ones_like(mask._vals, dtype=dense.dtype)), dense)
    if not isinstance(input, SparseTensor):
        return coo(mask._at[0], _C._coo_pick(input, mask._at[0]), mask._dims, mask._sorted)
    c = coalesce(compressed_to_coo(input) if input._kind in COMPRESSED else input)
    found, places = _look_up(host(mask._at[0]), c)
    if not nnz(c):
        return coo(
            mask._at[0], torch.zeros_like(mask._vals, dtype=c.dtype), mask._dims, mask._sorted
        )
    values = c._vals.index_select(0, index_tensor(places, c))
    keep = torch.tensor(found.reshape(-1, *[1] * (values.dim() - 1)), device=values.device)
    values = torch.where(keep, values, torch.zeros((), dtype=values.dtype, device=values.device))
    return coo(mask._at[0], values, mask._dims, mask._sorted)
