"""Operators that the code of archives calls for whole layers, written with public functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jtorch as torch
import jtorch.nn.functional as F
from jtorch.nn.utils import rnn

Tensor = torch.Tensor

#: Under which name a padded batch has where it is padded.
_MARK = "_padding_of_sequences"

_PLAIN = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


def _convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int, *flags: bool,
) -> Tensor:  # fmt: skip
    del flags  # how it is to be computed
    n = weight.dim() - 2
    if transposed:
        return torch.ops.aten.convolution.default(
            input, weight, bias, stride, padding, dilation, True, output_padding, groups
        )
    return _PLAIN[n](input, weight, bias, stride, padding, dilation, groups)


def _convolution_mode(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: str, dilation: Any,
    groups: int,
) -> Tensor:  # fmt: skip
    return _PLAIN[weight.dim() - 2](input, weight, bias, stride, padding, dilation, groups)


def _sized_convolution(
    input: Tensor, weight: Tensor, kernel_size: Any, bias: Tensor | None = None, stride: Any = 1,
    padding: Any = 0,
) -> Tensor:  # fmt: skip
    del kernel_size  # the weight's
    return _PLAIN[weight.dim() - 2](input, weight, bias, stride, padding)


def _depthwise_convolution(
    input: Tensor, weight: Tensor, kernel_size: Any, bias: Tensor | None, stride: Any,
    padding: Any, dilation: Any,
) -> Tensor:  # fmt: skip
    del kernel_size  # the weight's
    return F.conv3d(input, weight, bias, stride, padding, dilation, input.size(1))


def _pack(input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    packed = rnn.pack_padded_sequence(input, lengths, batch_first)
    return packed.data, packed.batch_sizes


def _unpack(
    data: Tensor, batch_sizes: Tensor, batch_first: bool, padding: float, total: int
) -> tuple[Tensor, Tensor]:
    packed = rnn.PackedSequence(data, batch_sizes)
    return rnn.pad_packed_sequence(packed, batch_first, padding, None if total <= 0 else total)


def _attention(
    query: Tensor, key: Tensor, value: Tensor, embed_dim: int, num_head: int,
    qkv_weight: Tensor, qkv_bias: Tensor, proj_weight: Tensor, proj_bias: Tensor,
    mask: Tensor | None = None, need_weights: bool = True, average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Attention with batches first. Masks are of keys (1), of pairs (0), or of both (2)."""
    batch, length, keys = query.size(0), query.size(1), key.size(1)
    parts = [
        F.linear(x, w, b).view(batch, -1, num_head, embed_dim // num_head).transpose(1, 2)
        for x, w, b in zip((query, key, value), qkv_weight.chunk(3), qkv_bias.chunk(3), strict=True)
    ]
    scores = (parts[0] / (embed_dim // num_head) ** 0.5) @ parts[1].transpose(-2, -1)
    if mask is not None:
        given = mask.view(batch, 1, 1, keys) if mask_type == 1 else mask
        scores = (
            scores.masked_fill(given, float("-inf"))
            if given.dtype is torch.bool
            else scores + given
        )
    weights = scores.softmax(-1)
    out = (weights @ parts[2]).transpose(1, 2).reshape(batch, length, embed_dim)
    if average_attn_weights:
        weights = weights.mean(1)
    return F.linear(out, proj_weight, proj_bias), weights if need_weights else None


def _packed_from_mask(x: Tensor, mask: Tensor, check: bool = True) -> Tensor:
    """Sequences of different lengths: the padded batch, which knows where it is padded."""
    if check and not _left_aligned(x, mask):
        raise RuntimeError(
            "Expect mask to be left-aligned, i.e. no True after False in each sequence"
        )
    x = x.view_as(x)
    setattr(x, _MARK, ~mask)
    return x


def _left_aligned(x: Tensor, mask: Tensor) -> bool:
    del x
    return bool((mask[:, 1:] <= mask[:, :-1]).all())


def _padded(x: Tensor, padding: float, size: Any = None) -> Tensor:
    found = getattr(x, _MARK, None)
    if found is None:
        return torch.nested.to_padded_tensor(x, padding, size)
    return x.masked_fill(found.unsqueeze(-1), padding)


def is_nested(x: Tensor) -> bool:
    """Whether a tensor is of sequences of different lengths."""
    return x.is_nested or hasattr(x, _MARK)


def _encoder_layer(
    src: Tensor, embed_dim: int, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor,
    proj_weight: Tensor, proj_bias: Tensor, use_gelu: bool, norm_first: bool, eps: float,
    norm_weight_1: Tensor, norm_bias_1: Tensor, norm_weight_2: Tensor, norm_bias_2: Tensor,
    ffn_weight_1: Tensor, ffn_bias_1: Tensor, ffn_weight_2: Tensor, ffn_bias_2: Tensor,
    mask: Tensor | None = None, mask_type: int | None = None,
) -> Tensor:  # fmt: skip
    padding = getattr(src, _MARK, None)
    if padding is not None:
        mask, mask_type = padding, 1

    def attend(x: Tensor) -> Tensor:
        return _attention(
            x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask,
            False, True, mask_type,
        )[0]  # fmt: skip

    def forward(x: Tensor) -> Tensor:
        x = F.linear(x, ffn_weight_1, ffn_bias_1)
        return F.linear(F.gelu(x) if use_gelu else F.relu(x), ffn_weight_2, ffn_bias_2)

    def norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return torch.ops.aten.native_layer_norm.default(x, [embed_dim], weight, bias, eps)[0]

    def first(x: Tensor) -> Tensor:
        return norm(x, norm_weight_1, norm_bias_1)

    def second(x: Tensor) -> Tensor:
        return norm(x, norm_weight_2, norm_bias_2)

    if norm_first:
        src = src + attend(first(src))
        out = src + forward(second(src))
    else:
        src = first(src + attend(src))
        out = second(src + forward(src))
    return out if padding is None else _packed_from_mask(out, ~padding, False)


def _autocast_dtype(device: str) -> Any:
    return torch.get_autocast_dtype(device)


def _upsampled_exactly(x: Tensor, size: Any, scale: Any) -> Tensor:
    return F.interpolate(x, size, scale, mode="nearest-exact")


LAYERS: dict[str, Callable[..., Any]] = {
    "_convolution": _convolution, "_convolution_mode": _convolution_mode,
    "_pack_padded_sequence": _pack, "_pad_packed_sequence": _unpack,
    "_native_multi_head_attention": _attention, "_transformer_encoder_layer_fwd": _encoder_layer,
    "_nested_tensor_from_mask_left_aligned": _left_aligned,
    "_nested_tensor_from_mask": _packed_from_mask, "to_padded_tensor": _padded,
    "nested_to_padded_tensor": _padded,
    "is_autocast_enabled": torch.is_autocast_enabled,
    "is_autocast_cpu_enabled": lambda: torch.is_autocast_enabled("cpu"),
    "pad_sequence": lambda items, first=False, padding=0.0, side="right": rnn.pad_sequence(
        items, first, padding, side
    ),
    "thnn_conv2d": _sized_convolution, "slow_conv3d": _sized_convolution,
    "conv_depthwise3d": _depthwise_convolution,
}  # fmt: skip
