"""Attention on ragged batches: queries, keys and values in padded form under one mask, in one fused
kernel."""

from __future__ import annotations

from typing import Any

import jtorch as torch
from jtorch import Tensor

from .jagged import TABLE
from .ragged import Cut, pack
from .tensor import NestedTensor, build


def check(query: Tensor, key: Tensor, value: Tensor, attn_mask: object) -> None:
    """Raises torch's errors for operands that do not go together."""
    if not (query.is_nested and key.is_nested and value.is_nested):
        raise ValueError(
            "Expected query, key, and value to be nested tensors, but got query.is_nested: "
            f"{query.is_nested}, key.is_nested: {key.is_nested}, and value.is_nested: "
            f"{value.is_nested} instead."
        )
    for what in ("dtype", "device"):
        q, k, v = (getattr(x, what) for x in (query, key, value))
        if q != k or q != v:
            kind = "device type" if what == "device" else what
            raise ValueError(
                f"Expected query, key, and value to have the same {kind}, but got query.{what}: "
                f"{q}, key.{what}: {k}, and value.{what}: {v} instead."
            )
    if query.dim() < 3 or key.dim() < 3 or value.dim() < 3:
        raise ValueError(
            "Expected query, key, and value to all be at least 3 dimensional, but got query.dim: "
            f"{query.dim()}, key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if attn_mask is not None:
        raise ValueError("Masks are not yet supported!")


def masked_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    present: Tensor,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Tensor:
    """Attention in padded form ``(B, H, L, E)``; ``present (B, S)`` says which keys there are."""
    mask = present.unsqueeze(1).unsqueeze(1)
    if is_causal:
        corner = torch.ones(
            query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device
        ).tril()
        mask = mask & corner
    return torch.nn.functional.scaled_dot_product_attention(
        query, key, value, mask, dropout_p, False, scale=scale, enable_gqa=enable_gqa
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
) -> NestedTensor:
    """Attention within each item.

    Shapes: query ``(B, H, j, E)``, key and value ``(B, H, k, *)`` give ``(B, H, j, *)``; keys and
    values have one structure, queries may have another with as many items. Where the ragged
    dimension is 1, ``(B, j, L, E)``, it is one of the batch.

    Raises:
        ValueError: if not all are nested, or their dtypes, devices or ragged dimensions differ, or
            a mask is given.
    """
    check(query, key, value, attn_mask)
    q, k, v = query, key, value
    if q._ragged_idx != k._ragged_idx or q._ragged_idx != v._ragged_idx:
        raise ValueError(
            "Expected query, key, and value to all be ragged on the same dimension, but got ragged "
            f"dims {q._ragged_idx}, {k._ragged_idx}, and {v._ragged_idx}, respectively."
        )
    place, ndim = q._ragged_idx, len(q._size)
    if place < ndim - 2:
        inside = (q._values, k._values, v._values)
        return q._like(
            torch.nn.functional.scaled_dot_product_attention(
                *inside, None, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
            )
        )
    if place == ndim - 1:
        raise RuntimeError(
            "scaled_dot_product_attention(): the ragged dimension must not be that of the features"
        )
    if k._cut.size != v._cut.size or k._cut.batch != q._cut.batch:
        raise RuntimeError(
            "Expected key and value of one nested structure, for as many items as query has; got "
            f"{k._size} and {v._size}"
        )
    heads, keys, values = (_heads(x) for x in (q, k, v))
    found = masked_attention(
        heads, keys, values, k._cut.present(keys.shape[-2]), dropout_p, is_causal, scale, enable_gqa
    )
    return _packed_heads(found, q)


def _heads(nt: NestedTensor) -> Tensor:
    """The padded form as ``(B, H, L, E)``."""
    found = nt._padded(0.0)
    return found.unsqueeze(1) if found.dim() == 3 else found


def _packed_heads(found: Tensor, like: NestedTensor) -> NestedTensor:
    """``(B, H, L, V)`` packed in the structure of ``like``."""
    if len(like._size) == 3:
        found = found.squeeze(1)
    front = found if like._ragged_idx == 1 else found.movedim(like._ragged_idx, 1)
    if like._cut.lengths is None:
        return like._from_rows(pack(front, like._cut, like._total()))
    ends = torch.nn.functional.pad(like._cut.counts().cumsum(0), (1, 0))
    cut = Cut(ends)
    rows = pack(front, cut, int(ends[-1]))
    return build(
        rows if like._ragged_idx == 1 else rows.movedim(0, like._ragged_idx - 1),
        cut,
        like._ragged_idx,
        type(like),
    )


# ---- the multi-head layer ------------------------------------------------------------------------


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor,
    in_proj_bias: Tensor,
    bias_k: object,
    bias_v: object,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor,
    training: bool = True,
    key_padding_mask: object = None,
    need_weights: bool = True,
    attn_mask: object = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: object = None,
    static_v: object = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """The multi-head layer on nested ``(B, j, E)``, batch first: projections on the packed values,
    attention within each item.

    The weights, if needed, are dense: ``(B, longest query, longest key)``, zero beyond the items;
    with an axis of heads after B unless averaged.

    Raises:
        RuntimeError: for masks, and for what adds positions to keys (``bias_k``, ``add_zero_attn``,
            static keys).
    """
    for name, given in (
        ("key_padding_mask", key_padding_mask),
        ("bias_k", bias_k),
        ("static_k", static_k),
        ("static_v", static_v),
    ):
        if given is not None:
            raise RuntimeError(
                f"multi_head_attention_forward(): {name} is not supported with nested tensors"
            )
    if add_zero_attn or bias_v is not None:
        raise RuntimeError(
            "multi_head_attention_forward(): add_zero_attn is not supported with nested tensors"
        )
    if attn_mask is not None and not is_causal:
        raise RuntimeError(
            "multi_head_attention_forward(): attn_mask is not supported with nested tensors, "
            "except as the causal one"
        )
    check(query, key, value, None)
    if query.dim() != 3:
        raise RuntimeError(
            f"multi_head_attention_forward(): expected nested (B, j, {embed_dim_to_check}), got "
            f"{query.dim()} dimensions"
        )
    if use_separate_proj_weight:
        weights = [q_proj_weight, k_proj_weight, v_proj_weight]
    else:
        weights = list(in_proj_weight.chunk(3))
    biases = [None] * 3 if in_proj_bias is None else list(in_proj_bias.chunk(3))
    linear = torch.nn.functional.linear
    if query is key and key is value and not use_separate_proj_weight:
        projected = list(linear(query, in_proj_weight, in_proj_bias).chunk(3, -1))
    else:
        projected = [
            linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)
        ]
    head_dim = embed_dim_to_check // num_heads
    q, k, v = (
        x._padded(0.0).unflatten(-1, (num_heads, head_dim)).transpose(1, 2) for x in projected
    )
    present = projected[1]._present(k.shape[-2])
    dropped = dropout_p if training else 0.0
    attended, shares = None, None
    if need_weights:
        mask = present.view(present.shape[0], 1, 1, -1)
        if is_causal:
            mask = (
                mask
                & torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()
            )
        scores = (q @ k.transpose(-2, -1) / head_dim**0.5).masked_fill(~mask, float("-inf"))
        shares = torch.nn.functional.dropout(scores.softmax(-1), dropped)
        attended = shares @ v
        real = projected[0]._present(q.shape[-2]).view(q.shape[0], 1, -1, 1)
        shares = shares.masked_fill(~real, 0.0)
        shares = shares.mean(1) if average_attn_weights else shares
    else:
        attended = masked_attention(q, k, v, present, dropped, is_causal, None, False)
    joined = projected[0]._repacked(attended.transpose(1, 2).flatten(-2))
    return linear(joined, out_proj_weight, out_proj_bias), shares


TABLE.implements("multi_head_attention_forward")(multi_head_attention_forward)
