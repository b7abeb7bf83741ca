"""Attention as operators: the fused one where PyTorch takes it, else two products and a softmax."""

from __future__ import annotations

import math
from typing import Any

from ...core import Tensor
from ..composites.attention import fits_kernel
from ..facts import dtypes
from ..facts.attention_kernels import ENABLED
from ..facts.layouts import contiguous_format, strided
from ..ops.attention import BOTH
from .overloads import aten
from .routes_math import matmul

A = aten


def fused(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    enable_gqa: bool,
) -> bool:
    """Whether PyTorch's kernel for the CPU runs the whole, and nobody sees its products."""
    return ENABLED["flash"] and fits_kernel(query, key, value, attn_mask, dropout_p, enable_gqa)


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Any,
    is_causal: bool,
    scale: Any,
    *,
    dropout_p: float = 0.0,
    enable_gqa: bool = False,
) -> object:
    """Attention by two products and a softmax; half precision in single precision, unless a switch
    allows otherwise."""
    dtype = query._aval.torch_dtype
    if attn_mask is not None:
        attn_mask = as_added(attn_mask, query)
    wide = dtype in (dtypes.float16, dtypes.bfloat16) and not ENABLED["reduced"]
    if wide:
        query, key, value = [
            A._to_copy.default(t, dtype=dtypes.float32) for t in (query, key, value)
        ]
    if scale is None:
        scale = 1 / math.sqrt(query._aval.shape[-1]) if query._aval.shape[-1] else 0.0
    factor = math.sqrt(abs(scale))
    query = A.mul.Scalar(query, math.copysign(factor, scale))
    if is_causal:
        if attn_mask is not None:
            raise RuntimeError(BOTH)
        attn_mask = as_added(_lower(query._aval.shape[-2], key._aval.shape[-2], query), query)
    if enable_gqa:
        key, value = [_repeated(t, query._aval.shape[-3]) for t in (key, value)]
    turned = A.mul.Scalar(A.transpose.int(key, -2, -1), factor)
    scores = matmul(query, turned)
    if attn_mask is not None:
        scores = A.add.Tensor(scores, attn_mask)
    weights = A._safe_softmax.default(scores, -1)
    if dropout_p:
        weights = _dropped(weights, dropout_p)
    if not wide:
        return matmul(weights, value)
    A._to_copy.default(weights, dtype=dtype)  # the operator's other result
    return A._to_copy.default(matmul(weights, value), dtype=dtype)


def _dropped(weights: Tensor, p: float) -> object:
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    if p == 1:
        return A.mul.Tensor(
            weights, A.zeros.default([], dtype=weights._aval.torch_dtype, device=weights.device)
        )
    mask = A.bernoulli_.float(A.empty_like.default(weights), 1 - p)
    return A.mul.Tensor(weights, A.div_.Scalar(mask, 1 - p))


def _repeated(x: Tensor, heads: int) -> Tensor:
    """Keys or values whose heads stand for several of the query's, each as often as it is
    needed."""
    shape = list(x._aval.shape)
    if not shape[-3] or heads % shape[-3]:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
    if shape[-3] == heads:
        return x
    spread = A.expand.default(
        A.unsqueeze.default(x, len(shape) - 2), [*shape[:-2], heads // shape[-3], *shape[-2:]]
    )
    return A.view.default(
        A.clone.default(spread, memory_format=contiguous_format), [*shape[:-3], heads, *shape[-2:]]
    )


def _lower(rows: int, columns: int, like: Tensor) -> Tensor:
    return A.tril.default(
        A.ones.default([rows, columns], dtype=dtypes.bool_, layout=strided, device=like.device)
    )


def as_added(mask: Tensor, like: Tensor) -> Tensor:
    """A mask as what is added to the scores."""
    if mask._aval.torch_dtype is not dtypes.bool_:
        return mask
    dtype, device = like._aval.torch_dtype, like.device
    absent = A.scalar_tensor.default(-math.inf, dtype=dtype, device=device)
    return A.where.self(
        mask, A.scalar_tensor.default(0.0, dtype=dtype, layout=strided, device=device), absent
    )
