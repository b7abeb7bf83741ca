"""Self-attention and encoder layers in one call, as PyTorch's modules call them in evaluation:
written with public functions.

Masks are true where attention is not paid. Their kinds are 0, for pairs of places ``(L, L)``, 1,
for places of each sequence ``(B, L)``, and 2, for all scores.
"""

from __future__ import annotations

import math
from typing import Any

import jtorch as torch
from jtorch.nn import functional

__all__ = [
    "_masked_softmax",
    "_native_multi_head_attention",
    "_transform_bias_rescale_qkv",
    "_transformer_encoder_layer_fwd",
]


def _masked_softmax(
    self: torch.Tensor, mask: torch.Tensor, dim: int | None = None, mask_type: int | None = None
) -> torch.Tensor:
    """``softmax`` of the scores that are not masked, 0 for the others; rows of which all are masked
    are NaN.

    Raises:
        RuntimeError: for masks that are not bool, or whose shape is not that of their kind.
    """
    if mask.dtype is not torch.bool:
        raise RuntimeError("Mask should be a boolean tensor")
    if self.dim() == 4 and mask.dim() == 2 and mask_type != 2:
        if mask_type is None:
            raise RuntimeError("Mask Type should be defined")
        if mask_type not in (0, 1):
            raise RuntimeError(
                "Mask Type should be 0 (src_mask) or 1 (src_key_padding_mask), or 2 (default_mask)"
            )
        batch, _, rows, length = self.shape
        if mask_type == 0:
            if tuple(mask.shape) != (rows, length) or rows != length:
                raise RuntimeError("For mask_type == 0 mask shape should be (L, L)")
        else:
            if tuple(mask.shape) != (batch, length):
                raise RuntimeError("For mask_type == 1 mask shape should be (B, L)")
            mask = mask.reshape(batch, 1, 1, length)
    elif mask.shape != self.shape:
        raise RuntimeError("For mask_type == 2 mask shape should match input shape")
    return functional.softmax(self.masked_fill(mask, -math.inf), -1 if dim is None else dim)


def _transform_bias_rescale_qkv(qkv: Any, qkv_bias: object, num_heads: int) -> Any:
    """Queries, keys and values by heads, of their projections beside one another; queries are
    divided by the root of the heads' size.

    Shapes: ``(B, L, 3 * E)``, ``(3 * E,)`` -> three of ``(B, num_heads, L, E // num_heads)``.
    """
    batch, length, width = qkv.shape
    if width // 3 % num_heads:
        raise RuntimeError("Expected D % num_head == 0 to be true, but got false.")
    size = width // 3 // num_heads
    q, k, v = (
        (qkv + qkv_bias).reshape(batch, length, 3, num_heads, size).permute(2, 0, 3, 1, 4).unbind(0)
    )
    return (q / math.sqrt(size)).contiguous(), k.contiguous(), v.contiguous()


def _native_multi_head_attention(
    query: torch.Tensor, key: Any, value: Any, embed_dim: int, num_head: int,
    qkv_weight: torch.Tensor, qkv_bias: Any,
    proj_weight: torch.Tensor, proj_bias: torch.Tensor | None, mask: Any = None,
    need_weights: bool = True,
    average_attn_weights: bool = True, mask_type: int | None = None,
) -> Any:  # fmt: skip
    """Attention of batches of sequences, and its weights (averaged over the heads) or None.

    Sequences have one length, or are those of nested tensors; the weights of these are padded.

    Raises:
        RuntimeError: for shapes that do not fit one another, and a mask for nested tensors.
    """
    if query.is_nested:
        if mask is not None:
            raise RuntimeError("NestedTensor with mask is not supported at this time")
        lengths = [[len(x) for x in t.unbind()] for t in (query, key)]
        q, k, v = [t.to_padded_tensor(0.0) for t in (query, key, value)]
        absent = (
            torch.arange(k.shape[1], device=query.device)
            >= torch.tensor(lengths[1], device=query.device)[:, None]
        )
        found, weights = _native_multi_head_attention(
            q,
            k,
            v,
            embed_dim,
            num_head,
            qkv_weight,
            qkv_bias,
            proj_weight,
            proj_bias,
            absent,
            need_weights,
            average_attn_weights,
            1,
        )
        return torch.nested.as_nested_tensor(
            [x[:n] for x, n in zip(found, lengths[0], strict=True)], layout=query.layout
        ), weights
    if query.dim() != 3:
        raise RuntimeError(f"expected 3-D `query`, got {query.dim()}-D tensor")
    if query.shape[2] != embed_dim:
        raise RuntimeError(
            f"passed-in embed_dim {embed_dim} didn't match last dim of query {query.shape[2]}"
        )
    if key.dim() != 3:
        raise RuntimeError(f"expected 3-D `key`, got {key.dim()}-D tensor")
    if value.dim() != 3:
        raise RuntimeError(f"expected 3-D `value`, got {value.dim()}-D tensor")
    if not query.shape == key.shape == value.shape:
        raise RuntimeError("expected `query`/`key`/`value` shapes to match")
    if qkv_weight.dim() != 2:
        raise RuntimeError(f"expected 2-D `qkv_weight`, got {qkv_weight.dim()}-D tensor")
    if qkv_weight.shape[0] != 3 * embed_dim:
        raise RuntimeError("expected `qkv_weight` first dim to be 3x embed_dim")
    if qkv_weight.shape[1] != embed_dim:
        raise RuntimeError("expected `qkv_weight` second dim to be embed_Dim")
    if qkv_bias.dim() != 1:
        raise RuntimeError(f"expected 1-D `qkv_bias`, got {qkv_bias.dim()}-D tensor")
    if qkv_bias.shape[0] != 3 * embed_dim:
        raise RuntimeError("expected `qkv_bias` first dim and first dim of query to be equal")
    if embed_dim % num_head:
        raise RuntimeError("`embed_dim` must divide evenly by `num_heads`")
    sources = (query, key, value)
    if query is key is value:
        projected = functional.linear(query, qkv_weight)
    else:
        projected = torch.cat(
            [functional.linear(x, w) for x, w in zip(sources, qkv_weight.chunk(3), strict=True)], 2
        )
    q, k, v = _transform_bias_rescale_qkv(projected, qkv_bias, num_head)
    scores = q @ k.transpose(-1, -2)
    weights = (
        functional.softmax(scores, -1)
        if mask is None
        else _masked_softmax(scores, mask.to(torch.bool), 3, mask_type)
    )
    found = functional.linear((weights @ v).transpose(1, 2).flatten(2), proj_weight, proj_bias)
    if not need_weights:
        return found, None
    return found, weights.mean(1) if average_attn_weights else weights


def _transformer_encoder_layer_fwd(
    src: torch.Tensor, embed_dim: int, num_heads: int, qkv_weight: Any, qkv_bias: object,
    proj_weight: Any,
    proj_bias: Any, use_gelu: bool, norm_first: bool, eps: float,
    norm_weight_1: torch.Tensor | None,
    norm_bias_1: torch.Tensor | None, norm_weight_2: torch.Tensor | None,
    norm_bias_2: torch.Tensor | None, ffn_weight_1: torch.Tensor,
    ffn_bias_1: torch.Tensor | None, ffn_weight_2: torch.Tensor, ffn_bias_2: torch.Tensor | None,
    mask: object = None, mask_type: int | None = None,
) -> object:  # fmt: skip
    """Self-attention and two linear layers, each added to its input and normalised: before
    (``norm_first``) or after."""

    def attend(x: Any) -> Any:
        return _native_multi_head_attention(
            x,
            x,
            x,
            embed_dim,
            num_heads,
            qkv_weight,
            qkv_bias,
            proj_weight,
            proj_bias,
            mask,
            False,
            True,
            mask_type,
        )[0]

    def feed(x: torch.Tensor) -> torch.Tensor:
        hidden = functional.linear(x, ffn_weight_1, ffn_bias_1)
        return functional.linear(
            functional.gelu(hidden) if use_gelu else functional.relu(hidden),
            ffn_weight_2,
            ffn_bias_2,
        )

    def norm_1(x: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def norm_2(x: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        src = src + attend(norm_1(src))
        return src + feed(norm_2(src))
    src = norm_1(src + attend(src))
    return norm_2(src + feed(src))
