"""Arithmetic and kernels of strided nested tensors: on the buffer where the forms fit, in padded
form elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import Tensor

from . import attention
from .strided import NOTHING_TO_PAD, TABLE, StridedNestedTensor, from_padded, write_back
from .strided_functions import _place, _refused, squeeze, unsqueeze
from .tensor import Nested

if TYPE_CHECKING:
    from ..._src.facts.kinds import Function, Operand


F = torch.nn.functional


# ---- arithmetic ----------------------------------------------------------------------------------


def _both(name: str, a: Any, b: Operand) -> tuple[Any, Any, StridedNestedTensor]:
    """The buffers of two operands in one order, or a buffer and a number; and the tensor whose form
    the result has."""
    nested = [isinstance(x, StridedNestedTensor) for x in (a, b)]
    if all(nested):
        if a._sizes != b._sizes:
            raise RuntimeError(f"{name} does not support broadcasting when given a NestedTensor")
        if a._form.fits(b._form):
            return a._values, b._values, a
        packed = StridedNestedTensor.contiguous_of(a._flat(), a._sizes, a._form.rank)
        return packed._values, b._flat(), packed
    other = b if nested[0] else a
    if isinstance(other, Tensor) and (isinstance(other, Nested) or other.dim()):
        words = ("nested", "non-nested") if nested[0] else ("non-nested", "nested")
        raise RuntimeError(
            f"Expected both self and other to be nested, but got a {words[0]} self and {words[1]} "
            "other"
        )
    return (a._values, b, a) if nested[0] else (a, b._values, b)


def _declare_arithmetic() -> None:
    spellings = {
        "add": "add __add__ __radd__", "sub": "sub subtract __sub__",
        "mul": "mul multiply __mul__ __rmul__", "div": "div divide true_divide __truediv__",
    }  # fmt: skip
    for name, names in spellings.items():
        func = getattr(torch, name)

        def handler(
            input: Tensor,
            other: Tensor | int,
            *,
            func: Function = func,
            name: str = name,
            **options: Any,
        ) -> object:
            a, b, like = _both(name, input, other)
            return like._like(func(a, b, **options))

        handler.__doc__ = (
            f"``{name}`` of two nested tensors of the same sizes, or of one and a number."
        )
        TABLE.implements(*names.split())(handler)
    for name in ("add", "mul"):
        func = getattr(Tensor, f"{name}_")

        def inplace(
            input: object,
            other: Operand,
            *,
            func: Callable[..., object] = func,
            name: str = name,
            **options: object,
        ) -> StridedNestedTensor:
            if not isinstance(input, StridedNestedTensor):
                if isinstance(input, Tensor) and not isinstance(input, Nested) and not input.dim():
                    raise RuntimeError(
                        "output with shape [] doesn't match the broadcast shape "
                        f"[{other._values.shape[0]}]"
                    )
                raise RuntimeError(
                    "Expected both self and other to be nested, but got a non-nested self and "
                    "nested other"
                )
            if input._values.shape[0] != input._form.numel or (
                isinstance(other, Nested) and not input._form.fits(other._form)
            ):
                _both(name, input, other)
                return write_back(
                    input,
                    lambda flat: func(
                        flat, other._flat() if isinstance(other, Nested) else other, **options
                    ),
                )
            func(*_both(name, input, other)[:2], **options)
            return input

        inplace.__doc__ = f"``{name}`` in place."
        TABLE.implements(f"{name}_", f"__i{name}__", *(["multiply_"] if name == "mul" else []))(
            inplace
        )


_declare_arithmetic()


def _declare_comparisons() -> None:
    for name in ("eq", "ge", "gt"):
        func = getattr(torch, name)

        def handler(
            input: Tensor, other: object, *, func: Callable[..., object] = func, name: str = name
        ) -> object:
            if isinstance(other, Nested):
                if name == "eq":
                    raise RuntimeError("eq does not support nested tensor as other value.")
                raise _refused(f"{name} of two nested tensors")
            if isinstance(other, Tensor) and (other.dim() or name != "eq"):
                raise _refused(f"{name} of a nested and a dense tensor")
            return input._like(func(input._values, other))

        handler.__doc__ = f"``{name}`` with a number."
        TABLE.implements(name, f"__{name}__")(handler)


_declare_comparisons()
TABLE.implements("greater")(TABLE.special["gt"])
TABLE.implements("greater_equal")(TABLE.special["ge"])


@TABLE.implements("masked_fill")
def masked_fill(input: Any, mask: Any, value: object) -> Any:
    """``value`` where a nested mask of the same sizes is True."""
    a, m, like = _both("masked_fill", input, mask)
    return like._like(a.masked_fill(m, value))


@TABLE.implements("where")
def where(condition: Any, input: Tensor | float | complex | bool | int, other: object) -> Any:
    """A dense 0-dim tensor or number where a nested condition holds, else the nested ``other``:
    what torch has."""
    if isinstance(input, Nested):
        raise RuntimeError("self must not be nested")
    if not isinstance(other, Nested):
        raise RuntimeError("other must be nested")
    c, o, like = _both("where", condition, other)
    return like._like(torch.where(c, input, o))


# ---- kernels -------------------------------------------------------------------------------------


@TABLE.implements("linear")
def linear(input: object, weight: Tensor, bias: Tensor | None = None) -> StridedNestedTensor:
    """``input @ weight.T + bias`` for every item, on the rows of all at once."""
    if not isinstance(input, StridedNestedTensor):
        raise RuntimeError("linear(): weight and bias must not be nested")
    if isinstance(weight, Nested):
        raise RuntimeError("Linear does not support nested weight when input is a nested tensor.")
    if input._form.rank != 2 or weight.dim() != 2:
        raise RuntimeError(
            "Linear requires nested_tensor.dim == 3 and dense_matrix.dim == 2. Nested tensor dim: "
            f"{input._form.rank + 1}. Dense tensor dim: {weight.dim()}"
        )
    if not input._form.is_packed():
        raise RuntimeError("for now linear only supports contiguous nested tensor")
    _same_trailing(input)
    if input._sizes and weight.shape[1] != input._sizes[0][-1]:
        raise RuntimeError(
            "Shape mismatch for NestedTensor Linear: Expected input's (a nested tensor) 'last_dim' "
            f"to equal 'weight.size(1), but got: last_dim = {input._sizes[0][-1]}, and "
            f"weight.size(1) = {weight.shape[1]}"
        )
    found = F.linear(_matrix(input), weight, bias)
    return StridedNestedTensor.contiguous_of(
        found.reshape(-1), [(*s[:-1], weight.shape[0]) for s in input._sizes]
    )


def _same_trailing(nt: StridedNestedTensor) -> None:
    last = [s[-1] for s in nt._sizes]
    if len(set(last)) > 1:
        raise RuntimeError(
            "Expected all tensors in nested tensor to have the same trailing dimension, instead "
            f"last dimension equals: {torch.tensor(last).tolist()}"
        )


def _matrix(nt: StridedNestedTensor) -> Tensor:
    """The rows of all items, ``(rows, last)``."""
    last = nt._sizes[0][-1] if nt._sizes else 0
    return (
        nt._flat().view(-1, last)
        if last
        else nt._flat().view(sum(math.prod(s[:-1]) for s in nt._sizes), 0)
    )


@TABLE.implements("softmax")
def softmax(
    input: StridedNestedTensor,
    dim: Any = None,
    *rest: object,
    dtype: torch.dtype | None = None,
    _stacklevel: int = 3,
) -> StridedNestedTensor:
    """Softmax over a dimension of every item."""
    if any(isinstance(x, torch.dtype) for x in rest):
        dtype = next(x for x in rest if isinstance(x, torch.dtype))
    if not input._sizes:
        return input._like(input._values.clone())
    place = _place(input, dim)
    if not place:
        raise RuntimeError("Cannot apply softmax across nested dimension 0")
    nt = input if dtype is None else input._like(input._values.to(dtype))
    return from_padded(nt._padded(-math.inf).softmax(place), nt._sizes)


@TABLE.implements("nn.functional.layer_norm", "torch.layer_norm", "layer_norm")
def layer_norm(
    input: StridedNestedTensor,
    normalized_shape: tuple[int, ...],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> StridedNestedTensor:
    """Normalizes the trailing dimensions, which must be regular."""
    if weight is None or bias is None:
        raise ValueError("NestedTensor layer_norm requires weight and bias")
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if len(shape) > input._form.rank or any(s[-len(shape) :] != shape for s in input._sizes):
        raise RuntimeError(
            "normalized_shape extends into irregular dimensions for the nested tensor"
        )
    found = F.layer_norm(input._flat().view(-1, *shape), shape, weight, bias, eps)
    return StridedNestedTensor.contiguous_of(found.reshape(-1), input._sizes)


@TABLE.implements("sum")
def sum_(
    input: StridedNestedTensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> StridedNestedTensor:
    """The sums over the last dimension, which stays with size 1."""
    if dim is None:
        raise _refused("sum over everything")
    dims = [_place(input, d) for d in (dim if isinstance(dim, (tuple, list)) else [dim])]
    if len(dims) != 1:
        raise RuntimeError("NestedTensor only allows reduction of a single dimension for now.")
    if dims[0] != input._form.rank:
        raise RuntimeError(
            "NestedTensor can only be reduced across the last dimension for now got dimension "
            f"{dims[0]} instead."
        )
    if not keepdim:
        raise RuntimeError("NestedTensor always requires keepdim=True for now.")
    if dtype is not None:
        raise RuntimeError("NestedTensor does not support dtype argument for now.")
    return from_padded(input._padded(0).sum(-1, keepdim=True), [(*s[:-1], 1) for s in input._sizes])


@TABLE.implements("all")
def all_(
    input: StridedNestedTensor, dim: int | None = None, keepdim: bool = False
) -> StridedNestedTensor:
    """Whether all of a dimension holds, which stays with size 1."""
    if dim is None:
        raise _refused("all of everything")
    if input._values.dtype is not torch.bool:
        raise RuntimeError(
            f"all only supports bool tensor for result, got: {input._values.dtype.scalar_name}"
        )
    place = _place(input, dim)
    if place != input._form.rank or not keepdim:
        raise RuntimeError(
            "all(): nested tensors are reduced across the last dimension with keepdim=True only"
        )
    return from_padded(
        input._padded(True).all(-1, keepdim=True), [(*s[:-1], 1) for s in input._sizes]
    )


def _column(numbers: list[object]) -> str:
    """Sizes as PyTorch's errors print a tensor of them: a row for each item."""
    rows = [n if isinstance(n, tuple) else (n,) for n in numbers]
    width = max(len(str(n)) for row in rows for n in row)
    size = f"{len(rows)},{len(rows[0])}" if isinstance(numbers[0], tuple) else str(len(rows))
    lines = [" " + "  ".join(str(n).rjust(width) for n in row) for row in rows]
    text = "\n".join([*lines, f"[ torch.LongTensor{{{size}}} ]"])
    return text if isinstance(numbers[0], tuple) else text[1:]


def _products(name: str, a: Any, b: Any) -> StridedNestedTensor:
    """The products of the items' matrices, in padded form."""
    for x, which in ((a, "1st"), (b, "2nd")):
        if isinstance(x, StridedNestedTensor) and x._form.rank < 2:
            raise RuntimeError(
                f"{name}: For nested tensors, only inputs with >= 3 dims are currently supported. "
                f"{which} input has rank: {x._form.rank + 1}"
            )
    batch, other = [
        len(x._sizes) if isinstance(x, StridedNestedTensor) else x.shape[0] for x in (a, b)
    ]
    if batch != other:
        where = "matmul: Expected size for the 1st dimension of 2nd input tensor"
        if name == "bmm":
            where = "Expected size for the 1st dimension of batch2 tensor"
        raise RuntimeError(f"{where} to be: {batch} but got: {other}.")
    if a.dim() != b.dim():
        raise RuntimeError(f"{name}: both inputs must have the same rank")
    left, right = (
        [
            x._sizes[i] if isinstance(x, StridedNestedTensor) else tuple(x.shape[1:])
            for i in range(batch)
        ]
        for x in (a, b)
    )
    if name == "matmul" and any(s[:-2] != t[:-2] for s, t in zip(left, right, strict=True)):
        raise RuntimeError(
            "matmul: For nested tensors, batch dimensions must have the same sizes, no "
            "broadcasting is currently performed. Got batch shapes for self "
            f"{_column([s[:-2] for s in left])} and batch shapes for mat2 "
            f"{_column([t[:-2] for t in right])}"
        )
    if name == "matmul" and any(s[-1] != t[-2] for s, t in zip(left, right, strict=True)):
        raise RuntimeError(
            "matmul: Nested tensors cannot be matrix multiplied, last dimension of self has sizes "
            f"{_column([s[-1] for s in left])}second last dimension of mat2 has sizes "
            f"{_column([t[-2] for t in right])}"
        )
    sizes = []
    for i, (s, t) in enumerate(zip(left, right, strict=True)):
        if s[-1] != t[-2]:
            raise RuntimeError(
                f"{i}-th nested matrices in batch cannot be multiplied ({s[-2]}x{s[-1]} and "
                f"{t[-2]}x{t[-1]})"
            )
        sizes.append((*s[:-1], t[-1]))
    if name == "matmul" and sizes and not (a._form.numel and b._form.numel):
        raise RuntimeError(NOTHING_TO_PAD)
    x, y = (x._padded(0) if isinstance(x, StridedNestedTensor) else x for x in (a, b))
    return from_padded(torch.matmul(x, y), sizes)


@TABLE.implements("matmul", "__matmul__", "__rmatmul__", "linalg.matmul")
def matmul(input: object, other: object) -> StridedNestedTensor:
    """The products of the items of two nested tensors; of one with a dense batch of matrices of 4
    dimensions."""
    a, b = isinstance(input, StridedNestedTensor), isinstance(other, StridedNestedTensor)
    if not (a and b):
        words = ("nested" if a else "non-nested", "nested" if b else "non-nested")
        raise RuntimeError(
            f"Expected both to be nested, but got a {words[0]} self and {words[1]} other"
        )
    return _products("matmul", input, other)


@TABLE.implements("bmm")
def bmm(input: Tensor, mat2: Tensor) -> StridedNestedTensor:
    """The products of the items, each a matrix, with those of another nested tensor or of a dense
    batch."""
    for x in (input, mat2):
        if x.dim() != 3:
            raise RuntimeError(
                "batch1 must be a 3D tensor" if x is input else "batch2 must be a 3D tensor"
            )
    return _products("bmm", input, mat2)


@TABLE.implements("embedding", "nn.functional.embedding")
def embedding(input: Any, weight: Tensor, *args: Any, **options: object) -> StridedNestedTensor:
    """Rows of ``weight`` for nested indices."""
    indices, table = (input, weight) if isinstance(input, StridedNestedTensor) else (weight, input)
    found = F.embedding(indices._flat(), table, *args, **options)
    return StridedNestedTensor.contiguous_of(
        found.reshape(-1), [(*s, table.shape[1]) for s in indices._sizes]
    )


@TABLE.implements("scaled_dot_product_attention")
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: object = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> StridedNestedTensor:
    """Attention within each item: ``(B, H, L, E)`` nested."""
    for name, x in (("query", query), ("key", key), ("value", value)):
        if not isinstance(x, StridedNestedTensor):
            words = ("non-nested", "nested") if name == "query" else ("nested", "non-nested")
            raise RuntimeError(
                f"Expected both to be nested, but got a {words[0]} self and {words[1]} other"
            )
    what = "_scaled_dot_product_attention: Nested tensors for query / key are not supported when "
    if attn_mask is not None:
        raise RuntimeError("S" + what[2:] + "an explicit attn_mask is set")
    if is_causal:
        raise RuntimeError(what + "is_causal=True")
    if query._form.rank == 2:
        parts = [unsqueeze(x, 1) for x in (query, key, value)]
        return squeeze(
            scaled_dot_product_attention(
                *parts, None, dropout_p, scale=scale, enable_gqa=enable_gqa
            ),
            1,
        )
    q, k, v = (x._padded(0.0) for x in (query, key, value))
    lengths = torch.tensor([s[-2] for s in key._sizes], device=q.device)
    present = torch.arange(k.shape[-2], device=q.device) < lengths.unsqueeze(1)
    found = attention.masked_attention(q, k, v, present, dropout_p, False, scale, enable_gqa)
    return from_padded(
        found, [(*s[:-1], t[-1]) for s, t in zip(query._sizes, value._sizes, strict=True)]
    )


TABLE.implements("multi_head_attention_forward")(attention.multi_head_attention_forward)
