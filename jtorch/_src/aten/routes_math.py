"""Arithmetic, reductions and products as operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core import Tensor
from ..bind.everything import F, L, M, T
from ..facts import dtypes
from ..facts.devices import of_placement
from ..facts.dtypes import bool_
from ..facts.errors import broadcast_shapes, canonical_dim
from ..facts.layouts import strided
from ..tensor.symbols import exact
from .calling import requires_grad
from .functions import route
from .overloads import aten
from .routes_shape import contiguous, is_contiguous, reshape

if TYPE_CHECKING:
    from .overloads import OpOverloadPacket


A = aten


def _is_number(x: object) -> bool:
    return isinstance(x, (int, float, complex))


# ---- operators of two operands -------------------------------------------------------------------


@route("Tensor.__rsub__")
def __rsub__(self: Tensor, other: object) -> Tensor:
    return A.rsub.Scalar(self, other) if _is_number(other) else A.rsub.Tensor(self, other)


@route("Tensor.__rtruediv__")
def __rtruediv__(self: Tensor, other: object) -> object:
    if _is_number(other):
        return A.mul.Tensor(A.reciprocal.default(self), other)
    return A.div.Tensor(other, self)


@route("Tensor.__rpow__")
def __rpow__(self: Tensor, other: object) -> object:
    return A.pow.Scalar(other, self) if _is_number(other) else A.pow.Tensor_Tensor(other, self)


@route("Tensor.__rmod__")
def __rmod__(self: Tensor, other: object) -> object:
    return (
        A.remainder.Scalar_Tensor(other, self)
        if _is_number(other)
        else A.remainder.Tensor(other, self)
    )


@route("Tensor.__rfloordiv__")
def __rfloordiv__(self: Tensor, other: object) -> object:
    if _is_number(other):
        return A.floor_divide.default(other, self)
    return A.floor_divide.default(other, self)


def _scalar(x: object, like: Tensor) -> Tensor:
    dtype = dtypes.result_type_of(
        ((like._aval.torch_dtype, dtypes.DIMENSIONED), (dtypes.of_number(x), dtypes.NUMBER))
    )
    return A.scalar_tensor.default(
        x, dtype=dtype, layout=strided, device=of_placement(like._aval.device)
    )


@route("Tensor.__rmatmul__")
def __rmatmul__(self: Tensor, other: object) -> Any:
    return matmul(other, self)


@route(T.sub, T.subtract, "Tensor.__sub__")
def sub(
    self: object = None,
    other: object = None,
    *,
    alpha: object = 1,
    out: object = None,
    input: object = None,
) -> Tensor:
    """``sub.Tensor``; a number minus a tensor is ``rsub``."""
    self = input if self is None else self
    if out is not None:
        return A.sub.out(self, other, alpha=alpha, out=out)
    if not isinstance(self, Tensor):
        return A.rsub.Scalar(other, self, alpha)
    return A.sub.Tensor(self, other, alpha=alpha)


@route(T.where)
def where(
    condition: Tensor,
    input: Tensor | float | None = None,
    other: Tensor | float | None = None,
    *,
    out: object = None,
    self: Any = None,
) -> Any:
    """``where.self``, numbers as 0-dim tensors; with a condition alone, ``nonzero``."""
    input = self if input is None else input
    if out is not None:
        return NotImplemented
    if input is None and other is None:
        return tuple(A.unbind.int(A.nonzero.default(condition), 1))
    if isinstance(input, Tensor):
        if isinstance(other, Tensor):
            return A.where.self(condition, input, other)
        return A.where.self(condition, input, _scalar(other, input))
    if isinstance(other, Tensor):
        return A.where.self(condition, _scalar(input, other), other)
    kind = dtypes.result_type_of(
        tuple([(dtypes.of_number(x), dtypes.NUMBER) for x in (input, other)])
    )
    place = of_placement(condition._aval.device)
    second, first = [
        A.scalar_tensor.default(x, dtype=kind, layout=strided, device=place) for x in (other, input)
    ]
    return A.where.self(condition, first, second)


@route(M.where)
def where_method(self: Tensor, condition: object, other: object) -> object:
    """``where`` with the condition second."""
    return where(condition, self, other)


@route(T.square)
def square(self: Tensor) -> Tensor:
    """``pow.Tensor_Scalar`` with 2."""
    return A.pow.Tensor_Scalar(self, 2)


@route(M.square_, T.square_)
def square_(self: Tensor) -> Tensor:
    """``pow_.Scalar`` with 2."""
    return A.pow_.Scalar(self, 2)


@route(T.positive)
def positive(self: Tensor) -> Tensor:
    """The tensor itself."""
    return self


@route(T.isfinite)
def isfinite(self: Tensor) -> Tensor:
    """Compared with itself and infinity."""
    if not self._aval.differentiable:
        return A.ones_like.default(self, dtype=_bool(), pin_memory=False)
    bounded = A.ne.Scalar(A.abs.default(self), float("inf"))
    return A.mul.Tensor(A.eq.Tensor(self, self), bounded)


@route(T.isclose, aten=A.isclose)
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Equal, or within the allowance and finite."""
    if not (input._aval.differentiable and other._aval.differentiable):
        return NotImplemented
    close = A.eq.Tensor(input, other)
    if equal_nan:
        close = A.bitwise_or_.Tensor(close, _both_nan(input, other))
    if not rtol and not atol:
        return close
    allowed = A.add.Scalar(A.abs.default(A.mul.Scalar(other, rtol)), atol)
    error = A.abs.default(A.sub.Tensor(input, other))
    near = A.bitwise_and_.Tensor(isfinite(error), A.le.Tensor(error, allowed))
    return A.bitwise_or_.Tensor(close, near)


def _both_nan(a: object, b: object) -> object:
    second = A.ne.Tensor(b, b)
    return A.bitwise_and_.Tensor(A.ne.Tensor(a, a), second)


@route(T.nonzero)
def nonzero(input: Tensor, *, as_tuple: bool = False, out: object = None) -> Any:
    """``nonzero.default``, taken apart into one tensor for each dimension if asked."""
    if out is not None:
        return A.nonzero.out(input, out=out)
    if as_tuple and not input._aval.ndim:
        input = A.unsqueeze.default(input, 0)
    found = A.nonzero.default(input)
    return tuple(A.unbind.int(found, 1)) if as_tuple else found


@route(T.argwhere)
def argwhere(input: Tensor) -> Tensor:
    """``nonzero.default``."""
    return A.nonzero.default(input)


@route(T.unique, M.unique, "functional.unique")
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> tuple[Tensor, ...] | Tensor:
    """``_unique2`` or ``unique_dim``."""
    if dim is None:
        out, inverse, counts = A._unique2.default(input, sorted, return_inverse, return_counts)
    else:
        out, inverse, counts = A.unique_dim.default(
            input, dim, sorted, return_inverse, return_counts
        )
    found = [out, *([inverse] if return_inverse else []), *([counts] if return_counts else [])]
    return tuple(found) if len(found) > 1 else out


@route(T.unique_consecutive, M.unique_consecutive, "functional.unique_consecutive")
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: object = None
) -> tuple[Tensor, ...]:
    """``unique_consecutive``, of whose results there are those that were asked for."""
    out, inverse, counts = A.unique_consecutive.default(input, return_inverse, return_counts, dim)
    found = [out, *([inverse] if return_inverse else []), *([counts] if return_counts else [])]
    return tuple(found) if len(found) > 1 else out


def _bool() -> object:
    return bool_


@route(T.clamp, T.clip)
def clamp(
    self: object = None,
    min: object = None,
    max: object = None,
    *,
    out: object = None,
    input: object = None,
) -> Tensor:
    """``clamp.default`` or ``clamp.Tensor``."""
    t = input if self is None else self
    tensors = isinstance(min, Tensor) or isinstance(max, Tensor)
    if out is not None:
        return (
            A.clamp.Tensor_out(t, min, max, out=out)
            if tensors
            else A.clamp.out(t, min, max, out=out)
        )
    return A.clamp.Tensor(t, min, max) if tensors else A.clamp.default(t, min, max)


# ---- reductions ----------------------------------------------------------------------------------


def _dims(dim: object) -> Any:
    return None if dim is None else list(dim) if isinstance(dim, (list, tuple)) else [dim]


def _reduced(name: str, overload: str) -> None:
    packet = getattr(aten, name)

    def reduce(
        input: Tensor,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        dtype: object = None,
        out: object = None,
    ) -> Tensor:
        more = {} if dtype is None else {"dtype": dtype}
        if out is not None:
            named = {"sum": "IntList_out", "nansum": "out", "mean": "out"}[name]
            return getattr(packet, named)(input, _dims(dim), keepdim, out=out, **more)
        if dim is None and not keepdim and "default" in packet.overloads() and name != "nansum":
            return packet.default(input, **more)
        return getattr(packet, overload)(input, _dims(dim), keepdim, **more)

    route(name)(reduce)


for _name, _overload in {"sum": "dim_IntList", "mean": "dim", "nansum": "default"}.items():
    _reduced(_name, _overload)


def _spread(packet: OpOverloadPacket) -> None:
    def measure(
        input: object,
        dim: object = None,
        unbiased: object = None,
        keepdim: bool = False,
        *,
        correction: object = None,
        out: object = None,
    ) -> object:
        if isinstance(dim, bool):  # the old second parameter
            dim, unbiased = None, dim
        if out is not None:
            return NotImplemented
        if correction is None and (dim is not None or unbiased is False):
            correction = 1 if unbiased is None or unbiased else 0
        return packet.correction(input, _dims(dim), correction=correction, keepdim=keepdim)

    route(getattr(T, packet.__name__))(measure)


for _packet in (A.var, A.std, A.var_mean, A.std_mean):
    _spread(_packet)


@route(T.norm, M.norm, "functional.norm")
def norm(
    input: Tensor,
    p: str = "fro",
    dim: object = None,
    keepdim: bool = False,
    out: object = None,
    dtype: object = None,
) -> Tensor:
    """``linalg_vector_norm`` for vectors and for the Frobenius norm."""
    if (
        out is not None
        or p == "nuc"
        or (isinstance(dim, (list, tuple)) and len(dim) == 2 and p not in ("fro", None, 2))
    ):
        return NotImplemented
    order = 2 if p in ("fro", None) else p
    return A.linalg_vector_norm.default(input, order, _dims(dim), keepdim, dtype=dtype)


@route(L.norm)
def linalg_norm(
    A: Tensor,
    ord: object = None,
    dim: object = None,
    keepdim: bool = False,
    *,
    out: object = None,
    dtype: object = None,
) -> object:
    """``linalg_vector_norm`` where it is a norm of vectors."""
    if out is not None or (isinstance(ord, str) and ord != "fro"):
        return NotImplemented
    of_matrices = (dim is None and A._aval.ndim != 1) or (
        isinstance(dim, (list, tuple)) and len(dim) == 2
    )
    if ord == "fro" and dim is None and A._aval.ndim == 2:
        dim = [0, 1]
    if ord not in (None, "fro") and of_matrices:
        return NotImplemented
    return aten.linalg_vector_norm.default(
        A, 2.0 if ord in (None, "fro") else ord, _dims(dim), keepdim, dtype=dtype
    )


@route(L.vector_norm)
def vector_norm(
    x: object,
    ord: object = 2,
    dim: object = None,
    keepdim: bool = False,
    *,
    dtype: object = None,
    out: object = None,
) -> Tensor:
    """``linalg_vector_norm.default``."""
    if out is not None:
        return NotImplemented
    return A.linalg_vector_norm.default(x, ord, _dims(dim), keepdim, dtype=dtype)


@route(T.logsumexp)
def logsumexp(
    input: Tensor, dim: list[int], keepdim: bool = False, *, out: object = None
) -> Tensor:
    """``logsumexp.default``."""
    return NotImplemented if out is not None else A.logsumexp.default(input, _dims(dim), keepdim)


@route(T.argsort)
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The second result of ``sort``."""
    found = (
        A.sort.stable(input, stable=stable, dim=dim, descending=descending)
        if stable
        else A.sort.default(input, dim, descending)
    )
    return found[1]


@route(T.diff)
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: object = None,
    append: object = None,
    *,
    out: object = None,
) -> Any:
    """Differences of neighbours as slices and a subtraction."""
    if out is not None or not input._aval.ndim or input._aval.torch_dtype is _bool():
        return NotImplemented
    if prepend is not None or append is not None:
        input = A.cat.default([t for t in (prepend, input, append) if t is not None], dim)
    d = canonical_dim(dim, input._aval.ndim)
    for _ in range(n):
        size = input._aval.shape[d]
        before = A.slice.Tensor(input, dim, 0, size - 1)
        input = A.sub.Tensor(A.slice.Tensor(input, dim, 1, size), before)
    return input


# ---- products ------------------------------------------------------------------------------------


@route(T.matmul, L.matmul, "__matmul__", aten=A.matmul)
def matmul(input: Tensor, other: object = None, *, out: object = None) -> Any:
    """``dot``, ``mv``, ``mm`` or ``bmm``, on operands expanded and folded to fit."""
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        return NotImplemented
    a, b = input._aval.shape, other._aval.shape
    if out is not None:
        return A.mm.out(input, other, out=out) if len(a) == len(b) == 2 else NotImplemented
    if not a or not b:
        return NotImplemented
    if len(a) == 1 and len(b) == 1:
        return A.dot.default(input, other)
    if len(a) == 2 and len(b) == 1:
        return A.mv.default(input, other)
    if len(a) == 1 and len(b) == 2:
        return A.squeeze_.dim(A.mm.default(A.unsqueeze.default(input, 0), other), 0)
    if len(a) == 2 and len(b) == 2:
        return A.mm.default(input, other)
    if _folds(input, other):
        return _folded(input, other)
    return _batched(input, other)


def _folds(a: Tensor, b: Tensor) -> bool:
    """Whether a batch of matrices times one matrix or vector is folded into one product."""
    big, small = (a, b) if a._aval.ndim >= b._aval.ndim else (b, a)
    if big is b:
        A.transpose.int(b, -2, -1)  # PyTorch looks at the transposed batch before it decides
    if not (big._aval.ndim >= 3 and small._aval.ndim <= 2):
        return False
    if requires(small):  # else its gradient would be as large as the batch
        return True
    if a._aval.ndim == 2:
        return False
    if not big._aval.size:
        return True
    strides, shape = list(exact(big.stride())), list(big._aval.shape)
    if big is b:  # folded when transposed
        strides[-2:], shape[-2:] = strides[:-3:-1], shape[:-3:-1]
    return all(strides[i] == strides[i + 1] * shape[i + 1] for i in range(len(shape) - 2))


def requires(t: Tensor) -> bool:
    """``t.requires_grad``, without asking anybody."""
    return requires_grad(t)


def _folded(a: Tensor, b: Tensor) -> object:
    turned = a._aval.ndim < b._aval.ndim
    big = A.transpose.int(b, -2, -1) if turned else a
    small = (A.t.default(a) if a._aval.ndim == 2 else a) if turned else b
    lead = list(big._aval.shape[:-1])
    flat = reshape(big, [_product(lead), big._aval.shape[-1]])
    if small._aval.ndim == 2:
        made = A._unsafe_view.default(A.mm.default(flat, small), [*lead, small._aval.shape[1]])
        return contiguous(A.transpose.int(made, -2, -1)) if turned else made
    return A._unsafe_view.default(A.mv.default(flat, small), lead)


def _product(sizes: list[int]) -> int:
    n = 1
    for s in sizes:
        n *= s
    return n


def _batched(a: Tensor, b: Tensor) -> Tensor:
    one, two = list(a._aval.shape), list(b._aval.shape)
    n = one[-2] if len(one) > 1 else 1
    m1 = one[-1]
    m2, p = (two[-2], two[-1]) if len(two) > 1 else (two[-1], 1)
    batch = list(broadcast_shapes(tuple(one[:-2]), tuple(two[:-2])))
    size = _product(batch)
    left = reshape(A.expand.default(a, [*batch, n, m1]), [size, n, m1])
    right_shape = [*batch, m2, p]
    if len(two) == 1:
        b = A.unsqueeze.default(b, 1)
    right = reshape(A.expand.default(b, right_shape), [size, m2, p])
    shape = [*batch, *([n] if len(one) > 1 else []), *([p] if len(two) > 1 else [])]
    return A._unsafe_view.default(A.bmm.default(left, right), shape)


@route(F.linear, aten=A.linear)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``t`` and ``addmm`` (``mm`` without bias), on the operand seen as a matrix."""
    ndim = input._aval.ndim
    if ndim == 1 and bias is not None and weight._aval.ndim == 2:  # as a matrix of one row
        row = A.view.default(input, [1, input._aval.size])
        return A.view.default(
            A.addmm.default(bias, row, A.t.default(weight)), [weight._aval.shape[0]]
        )
    if bias is None:
        return matmul(input, A.t.default(weight) if weight._aval.ndim == 2 else weight)
    if ndim == 2 and weight._aval.ndim == 2:
        return A.addmm.default(bias, input, A.t.default(weight))
    if ndim >= 3 and bias._aval.ndim == 1 and weight._aval.ndim == 2:
        lead = list(input._aval.shape[:-1])
        if is_contiguous(input):
            flat = reshape(input, [_product(lead), input._aval.shape[-1]])
            return A.view.default(
                A.addmm.default(bias, flat, A.t.default(weight)), [*lead, weight._aval.shape[0]]
            )
    return A.add.Tensor(
        matmul(input, A.t.default(weight) if weight._aval.ndim == 2 else weight), bias
    )


@route(T.inner)
def inner(input: Tensor, other: Tensor, *, out: object = None) -> Any:
    """A product with the last dimensions joined."""
    if out is not None:
        return NotImplemented
    if not input._aval.ndim or not other._aval.ndim:
        return A.mul.Tensor(input, other)
    return tensordot(input, other, ([-1], [-1]))


@route(T.outer, T.ger)
def outer(input: Tensor, vec2: Tensor, *, out: object = None) -> Any:
    """A column times a row."""
    if out is not None:
        return NotImplemented
    return A.mul.Tensor(A.view.default(input, [input._aval.size, 1]), vec2)


@route(T.tensordot, "functional.tensordot")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: object = None) -> Any:
    """``mm`` of operands that are permuted and folded."""
    if out is not None or isinstance(dims, Tensor):
        return NotImplemented
    if isinstance(dims, int):
        first, second = list(range(a._aval.ndim - dims, a._aval.ndim)), list(range(dims))
    else:
        first, second = list(dims[0]), list(dims[1])
    first = [canonical_dim(d, a._aval.ndim) for d in first]
    second = [canonical_dim(d, b._aval.ndim) for d in second]
    if len(first) != len(second) or any(
        a._aval.shape[i] != b._aval.shape[j] for i, j in zip(first, second, strict=True)
    ):
        return NotImplemented
    rest1 = [d for d in range(a._aval.ndim) if d not in first]
    rest2 = [d for d in range(b._aval.ndim) if d not in second]
    sizes1, sizes2 = [a._aval.shape[d] for d in rest1], [b._aval.shape[d] for d in rest2]
    joined = _product([a._aval.shape[d] for d in first])
    left = reshape(A.permute.default(a, rest1 + first), [_product(sizes1), joined])
    right = reshape(A.permute.default(b, second + rest2), [joined, _product(sizes2)])
    return reshape(A.mm.default(left, right), [*sizes1, *sizes2])
