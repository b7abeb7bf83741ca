"""Multi-head attention."""

from __future__ import annotations

from typing import Any

import jtorch as torch
from jtorch import Tensor

from ...types import Device, _dtype
from .. import functional as F
from .. import init
from ..parameter import Parameter
from ._masks import canonical_mask, none_or_dtype
from .linear import NonDynamicallyQuantizableLinear
from .module import Module


class MultiheadAttention(Module):
    """Attention with ``num_heads`` heads: ``concat(softmax(q kᵀ / sqrt(d)) v) @ out_proj`` of
    projected query, key and value.

    Args:
        embed_dim: features of query and result.
        num_heads: heads, among which the features are divided.
        dropout: the probability with which a weight of the attention is set to zero in training.
        bias: whether the projections have biases.
        add_bias_kv: whether a learnt key and value are added to the sequence.
        add_zero_attn: whether a key and value of zeros are added to the sequence.
        kdim: features of the keys; ``embed_dim`` if None.
        vdim: features of the values; ``embed_dim`` if None.
        batch_first: whether the batch comes before the sequence, ``(N, L, …)`` instead of
            ``(L, N, …)``.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.

    Shapes: ``query (L, N, embed_dim)``, ``key (S, N, kdim)``, ``value (S, N, vdim)``, N first if
    ``batch_first``, or all without N -> output like ``query``, and weights ``(N, L, S)``,
    ``(N, num_heads, L, S)`` if not averaged, None unless ``need_weights``. In boolean masks True
    means: not attended to. Source: Vaswani et al. (2017).
    """

    __module__ = "jtorch.nn.modules.activation"  # the name that files know it by

    __constants__ = ["batch_first"]
    bias_k: Tensor | None
    bias_v: Tensor | None
    in_proj_weight: Any  # None with separate projections
    in_proj_bias: Tensor | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Device = None,
        dtype: _dtype | None = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                f"num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def new(*shape: int) -> Parameter:
            return Parameter(torch.empty(shape, device=device, dtype=dtype))

        if self._qkv_same_embed_dim:
            self.in_proj_weight = new(3 * embed_dim, embed_dim)
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = new(embed_dim, embed_dim)
            self.k_proj_weight = new(embed_dim, self.kdim)
            self.v_proj_weight = new(embed_dim, self.vdim)
            self.register_parameter("in_proj_weight", None)
        if bias:
            self.in_proj_bias = new(3 * embed_dim)
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        if add_bias_kv:
            self.bias_k = new(1, 1, embed_dim)
            self.bias_v = new(1, 1, embed_dim)
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            init.xavier_uniform_(self.q_proj_weight)
            init.xavier_uniform_(self.k_proj_weight)
            init.xavier_uniform_(self.v_proj_weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.setdefault("_qkv_same_embed_dim", True)
        super().__setstate__(state)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """``key_padding_mask (N, S)`` hides keys, ``attn_mask (L, S)`` or ``(N·num_heads, L, S)``
        pairs -> (output, weights).

        ``is_causal`` is a hint that ``attn_mask``, which must be given, is the causal one.
        """
        nested = any(getattr(x, "is_nested", False) for x in (query, key, value))
        if nested and not self.batch_first:
            raise AssertionError(
                "MultiheadAttention does not support NestedTensor outside of its fast path. The "
                "fast path was not hit because batch_first was not True"
            )
        # of nested tensors the batch stays in front
        swap = self.batch_first and query.dim() == 3 and not nested
        key_padding_mask = canonical_mask(
            key_padding_mask, "key_padding_mask", none_or_dtype(attn_mask), "attn_mask", query.dtype
        )
        attn_mask = canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        if swap:  # equal operands stay the same object: one projection serves them
            first = query.transpose(1, 0)
            second = first if key is query else key.transpose(1, 0)
            query, key, value = first, second, second if value is key else value.transpose(1, 0)
        separate = {}
        if not self._qkv_same_embed_dim:
            separate = {
                "use_separate_proj_weight": True,
                "q_proj_weight": self.q_proj_weight,
                "k_proj_weight": self.k_proj_weight,
                "v_proj_weight": self.v_proj_weight,
            }
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
            **separate,
        )
        return (output.transpose(1, 0) if swap else output), weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Both floating-point masks as one, and its kind: 1 ``key_padding_mask`` alone, 2 with
        ``attn_mask``. ``query (N, L, E)``."""
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            merged = merged + key_padding_mask.view(batch, 1, 1, length).expand(
                -1, self.num_heads, -1, -1
            )
        return merged, 2
