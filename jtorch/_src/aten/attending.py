"""Attention by two products and a softmax, as operators."""

from __future__ import annotations

import math
from typing import Any

from ..facts import dtypes
from ..facts.layouts import strided
from .overloads import aten
from .routes_math import matmul

A = aten


def attention(query: Any, key: Any, value: Any, attn_mask: Any, is_causal: bool, scale: Any) -> Any:
    """Attention by two products and a softmax."""
    factor = math.sqrt(1 / math.sqrt(query._aval.shape[-1]) if scale is None else scale)
    query = A.mul.Scalar(query, factor)
    if is_causal:
        attn_mask = _lower(query._aval.shape[-2], key._aval.shape[-2], query)
    added = None if attn_mask is None else as_added(attn_mask, query)
    turned = A.mul.Scalar(A.transpose.int(key, -2, -1), factor)
    scores = matmul(query, turned)
    if added is not None:
        scores = A.add.Tensor(scores, added)
    return matmul(A._safe_softmax.default(scores, -1), value)


def _lower(rows: int, columns: int, like: Any) -> Any:
    return A.tril.default(A.ones.default([rows, columns], dtype=dtypes.bool_, layout=strided, device=like.device))


def as_added(mask: Any, like: Any) -> Any:
    """A mask as what is added to the scores."""
    if mask._aval.torch_dtype is not dtypes.bool_:
        return mask
    dtype, device = like._aval.torch_dtype, like.device
    absent = A.scalar_tensor.default(-math.inf, dtype=dtype, device=device)
    return A.where.self(mask, A.scalar_tensor.default(0.0, dtype=dtype, layout=strided, device=device), absent)
