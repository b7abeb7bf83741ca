"""Attention on tensors: the function with dropout, and the multi-head layer's."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from ...core import Tensor
from ..bind.cores import composite
from ..bind.everything import _C, F, T, functional
from ..facts import dtypes
from ..facts.attention_kernels import ENABLED
from ..facts.errors import broadcast_shapes, canonical_dim
from ..facts.layouts import strided
from ..facts.warned_once import outside
from ..ops._facts import schemas
from ..ops.attention import BOTH, fits_fused
from ..tensor.symbols import exact


@composite(
    namespace="nn.functional",
    operands=("query", "key", "value", "attn_mask"),
    autocast="lower",
    implicit=True,
)
@schemas(
    "(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool "
    "is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
)
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Any,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(query @ key.T * scale + attn_mask) @
    value``, the probabilities dropped out with ``dropout_p``.

    A bool ``attn_mask`` is True where attention is allowed; rows that may attend to nothing give
    zeros. ``is_causal`` allows each position those up to its own. ``scale`` is ``1 / sqrt(E)`` by
    default.

    Args:
        query: the queries, in the rows of the last two dimensions.
        key: the keys.
        value: the values, one for each key.
        attn_mask: a tensor that broadcasts to queries by keys: bools where attention is allowed, or
            summands; or None.
        dropout_p: the probability with which weights are zeroed.
        is_causal: let each query attend to the keys up to its own place only.
        scale: the factor of the products; 1 / sqrt of the size of a query if it is None.
        enable_gqa: let several heads of queries share one head of keys and values.

    Shapes: query ``(*, H, L, E)``, key ``(*, H, S, E)``, value ``(*, H, S, V)`` give
    ``(*, H, L, V)``; with ``enable_gqa`` key and value may have fewer heads, each serving several
    of the query's.

    Raises:
        RuntimeError: if shapes or dtypes do not fit, or both a mask and ``is_causal`` are given,
            unless the operands have four dimensions and equal last ones, without dropout and
            without a gradient for the mask. On the CPU also if ``sdpa_kernel`` leaves no
            implementation that PyTorch has for the operands there.

    Example:
        >>> import jtorch as torch
        >>> q = torch.eye(2).reshape(1, 2, 2)
        >>> value = torch.tensor([[[1.0], [3.0]]])
        >>> torch.nn.functional.scaled_dot_product_attention(q, q, value, is_causal=True, scale=0.0)
        tensor([[[1.],
                 [2.]]])
    """
    keep = None
    if not (ENABLED["flash"] and ENABLED["math"]) and query.device.type == "cpu":
        chosen = choice(query, key, value, attn_mask, dropout_p, enable_gqa)
        if is_causal and attn_mask is not None and not chosen:
            raise RuntimeError(BOTH)
    if (
        is_causal
        and attn_mask is not None
        and (attn_mask.requires_grad or attn_mask.is_meta or dropout_p != 0.0)
    ):
        raise RuntimeError(BOTH)
    if dropout_p != 0.0:
        if not 0.0 <= dropout_p <= 1.0:
            raise RuntimeError(
                f"dropout probability has to be between 0 and 1, but got {dropout_p:g}"
            )
        keep = _kept(query, key, dropout_p)
    return _C._attention(
        query, key, value, attn_mask, keep, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa
    )


def fits_kernel(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    enable_gqa: bool,
) -> bool:
    """Whether PyTorch has one kernel for the CPU that runs the whole."""
    if dropout_p or query.device.type == "meta" or (attn_mask is not None and attn_mask._rg):
        return False
    q, k, v = query._aval, key._aval, value._aval
    if not fits_fused(q, k, v, None, enable_gqa):
        return False
    if attn_mask is not None:
        # PyTorch looks before it chooses
        canonical_dim(-2, attn_mask._aval.ndim, wrap_scalar=False)
        if not fits_fused(q, k, v, attn_mask._aval, enable_gqa):
            return False
    return all(exact(t.stride())[-1] == 1 for t in (query, key, value))


def choice(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    enable_gqa: bool = False,
) -> int:
    """What PyTorch computes attention with on the CPU, as a number of ``SDPBackend``: 0, products
    and a softmax, or 1, one kernel."""
    flash, formula = ENABLED["flash"], ENABLED["math"]
    if query.device.type == "meta":
        return 0
    if not (flash or formula):
        raise RuntimeError(
            "No viable backend for scaled_dot_product_attention was found. This is likely due to "
            "turning off both the math kernel and the fused kernels."
        )
    dense = all(t.layout is strided and not t.is_nested for t in (query, key, value))
    if flash and dense and fits_kernel(query, key, value, attn_mask, dropout_p, enable_gqa):
        return 1
    if not formula:
        raise RuntimeError("No available kernel.  Aborting execution.")
    return 0


def _kept(query: Tensor, key: Tensor, p: float) -> Tensor:
    """Factors for the probabilities: 0 with probability ``p``, else ``1 / (1 - p)``."""
    batch = (
        broadcast_shapes(query.shape[:-2], key.shape[:-2])
        if query.ndim == key.ndim == 2
        else query.shape[:-2]
    )
    ones = T.ones((*batch, query.shape[-2], key.shape[-2]), dtype=query.dtype, device=query.device)
    return F.dropout(ones, p, True)


def _mask(
    mask: Tensor | None,
    name: str,
    other: Any,
    other_name: str,
    dtype: dtypes.dtype,
    check_other: bool = True,
) -> Tensor | None:
    """A mask as floats to be added: -inf where a bool mask is True."""
    if mask is None:
        return None
    if mask.dtype is not dtypes.bool_ and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if check_other and other is not None and mask.dtype is not other.dtype:
        warnings.warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both "
            "instead.",
            stacklevel=outside(),
        )
    if mask.is_floating_point():
        return mask
    return T.zeros_like(mask, dtype=dtype).masked_fill_(mask, -math.inf)


def check_shapes(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None,
    attn_mask: Any,
    num_heads: int,
) -> bool:
    """Whether the inputs are batched.

    Raises:
        AssertionError: if ranks or the masks' shapes do not fit.
    """
    if query.dim() not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query "
            "tensor"
        )
    batched, word = query.dim() == 3, "batched" if query.dim() == 3 else "unbatched"
    n = query.dim()
    case = f"For {word} ({n}-D) `query`, expected"
    if key.dim() != n or value.dim() != n:
        raise AssertionError(
            f"{case} `key` and `value` to be {n}-D but found {key.dim()}-D and {value.dim()}-D "
            "tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != n - 1:
        raise AssertionError(
            f"{case} `key_padding_mask` to be `None` or {n - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(
                f"{case} `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor "
                "instead"
            )
        if not batched and attn_mask.dim() == 3:
            expected = (num_heads, query.shape[0], key.shape[0])
            if attn_mask.shape != expected:
                raise AssertionError(
                    f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}"
                )
    return batched


def projected(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weights: list[Tensor],
    biases: Sequence[object],
    packed: Tensor | None,
    packed_bias: Tensor | None,
) -> list[Tensor]:
    """Query, key and value by a weight each, or by the parts of a ``packed`` one."""
    linear = functional.linear
    if packed is None:
        return [
            linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)
        ]
    embed_dim = query.size(-1)
    if key is value and query is key:
        return list(linear(query, packed, packed_bias).chunk(3, -1))
    if key is value:
        w_q, w_kv = packed.split([embed_dim, embed_dim * 2])
        b_q, b_kv = (
            (None, None) if packed_bias is None else packed_bias.split([embed_dim, embed_dim * 2])
        )
        return [linear(query, w_q, b_q), *linear(key, w_kv, b_kv).chunk(2, -1)]
    parts = packed.chunk(3)
    bias_parts = (None,) * 3 if packed_bias is None else packed_bias.chunk(3)
    return [linear(x, w, b) for x, w, b in zip((query, key, value), parts, bias_parts, strict=True)]


@composite(
    namespace="nn.functional",
    operands=(
        "query", "key", "value", "in_proj_weight", "in_proj_bias", "bias_k", "bias_v",
        "out_proj_weight", "out_proj_bias", "key_padding_mask", "attn_mask", "q_proj_weight",
        "k_proj_weight", "v_proj_weight", "static_k", "static_v",
    ),
    native=False,
)  # fmt: skip
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Any,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Any,
    in_proj_bias: Tensor | None,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Any,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Projects query, key and value, attends with ``num_heads`` heads, and projects the heads'
    results; also returns the weights or None.

    Shapes: query ``(L, N, E)``, key and value ``(S, N, *)``, or the same without ``N``; the weights
    are ``(N, L, S)``, with an axis of heads after ``N`` unless averaged. Masks are True, or -inf,
    where attention is *not* allowed.

    Raises:
        AssertionError: if shapes or dtypes do not fit.
        RuntimeError: if a needed mask is missing or misshaped.

    Example:
        >>> import jtorch as torch
        >>> x, eye = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.eye(2)
        >>> out, weights = torch.nn.functional.multi_head_attention_forward(
        ...     x,
        ...     x,
        ...     x,
        ...     2,
        ...     1,
        ...     torch.cat([0 * eye, eye, eye]),
        ...     None,
        ...     None,
        ...     None,
        ...     False,
        ...     0.0,
        ...     eye,
        ...     None,
        ... )
        >>> out, weights
        (tensor([[0.5000, 0.5000],
                [0.5000, 0.5000]]), tensor([[0.5000, 0.5000],
                [0.5000, 0.5000]]))
    """
    batched = check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same_kv, same_q = value is key, key is query
        query = query.unsqueeze(1)
        key = query if same_q else key.unsqueeze(1)
        value = key if same_kv else value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    target_len, batch, embed_dim = query.shape
    source_len = key.shape[0]
    key_padding_mask = _mask(
        key_padding_mask, "key_padding_mask", attn_mask, "attn_mask", query.dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None  # the hint says what it is
    else:
        attn_mask = _mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        if key_padding_mask is not None:
            is_causal = False
    if embed_dim != embed_dim_to_check:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}"
        )
    head_dim = embed_dim // num_heads
    if head_dim * num_heads != embed_dim:
        raise AssertionError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's "
                f"{value.shape[:2]}"
            )
    elif key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    if use_separate_proj_weight:
        for name, weight in (
            ("q_proj_weight", q_proj_weight),
            ("k_proj_weight", k_proj_weight),
            ("v_proj_weight", v_proj_weight),
        ):
            if weight is None:
                raise AssertionError(f"use_separate_proj_weight is True but {name} is None")
        biases = [None] * 3 if in_proj_bias is None else list(in_proj_bias.chunk(3))
        q, k, v = projected(
            query, key, value, [q_proj_weight, k_proj_weight, v_proj_weight], biases, None, None
        )
    else:
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = projected(query, key, value, [], [], in_proj_weight, in_proj_bias)
    attn_mask = _shaped_mask(attn_mask, target_len, source_len, batch * num_heads)
    pad = functional.pad
    if (bias_k is None) != (bias_v is None):
        raise AssertionError("bias_k and bias_v must be given together")
    if bias_k is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key or value.")
        k = T.cat([k, bias_k.repeat(1, batch, 1)])
        v = T.cat([v, bias_v.repeat(1, batch, 1)])
        attn_mask = None if attn_mask is None else pad(attn_mask, (0, 1))
        key_padding_mask = None if key_padding_mask is None else pad(key_padding_mask, (0, 1))
    q = q.reshape(target_len, batch * num_heads, head_dim).transpose(0, 1)
    k = _heads(k, static_k, "static_k", batch * num_heads, head_dim)
    v = _heads(v, static_v, "static_v", batch * num_heads, head_dim)
    if add_zero_attn:
        k, v = (T.cat([x, x.new_zeros((batch * num_heads, 1, head_dim))], dim=1) for x in (k, v))
        attn_mask = None if attn_mask is None else pad(attn_mask, (0, 1))
        key_padding_mask = None if key_padding_mask is None else pad(key_padding_mask, (0, 1))
    source_len = k.size(1)
    if key_padding_mask is not None:
        if key_padding_mask.shape != (batch, source_len):
            raise AssertionError(
                f"expecting key_padding_mask shape of {(batch, source_len)}, but got "
                f"{key_padding_mask.shape}"
            )
        per_head = key_padding_mask.view(batch, 1, 1, source_len).expand(-1, num_heads, -1, -1)
        key_padding_mask = per_head.reshape(batch * num_heads, 1, source_len)
        attn_mask = key_padding_mask if attn_mask is None else attn_mask + key_padding_mask
    if not training:
        dropout_p = 0.0
    if need_weights:
        if is_causal and attn_mask is None:
            raise AssertionError("FIXME: is_causal not implemented for need_weights")
        scaled = q * math.sqrt(1.0 / float(head_dim))
        scores = (
            scaled @ k.transpose(-2, -1)
            if attn_mask is None
            else T.baddbmm(attn_mask, scaled, k.transpose(-2, -1))
        )
        weights = functional.softmax(scores, -1)
        if dropout_p > 0.0:
            weights = functional.dropout(weights, dropout_p)
        out = (weights @ v).transpose(0, 1).contiguous().view(target_len * batch, embed_dim)
        out = functional.linear(out, out_proj_weight, out_proj_bias).view(
            target_len, batch, out_proj_weight.size(0)
        )
        weights = weights.view(batch, num_heads, target_len, source_len)
        if average_attn_weights:
            weights = weights.mean(1)
        return (out, weights) if batched else (out.squeeze(1), weights.squeeze(0))
    if attn_mask is not None:
        attn_mask = (
            attn_mask.unsqueeze(0)
            if attn_mask.size(0) == 1
            else attn_mask.view(batch, num_heads, -1, source_len)
        )
    q = q.reshape(batch, num_heads, target_len, head_dim)
    k, v = (x.reshape(batch, num_heads, source_len, head_dim) for x in (k, v))
    out = functional.scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
    out = out.permute(2, 0, 1, 3).contiguous().view(batch * target_len, embed_dim)
    out = functional.linear(out, out_proj_weight, out_proj_bias).view(
        target_len, batch, out_proj_weight.size(0)
    )
    return (out, None) if batched else (out.squeeze(1), None)


def _heads(x: Tensor, static: Any, name: str, count: int, head_dim: int) -> Tensor:
    """Keys or values as ``(batch * heads, source, head_dim)``; the given ``static`` ones instead,
    if any."""
    if static is None:
        return x.reshape(x.shape[0], count, head_dim).transpose(0, 1)
    if static.size(0) != count:
        raise AssertionError(f"expecting {name}.size(0) of {count}, but got {static.size(0)}")
    if static.size(2) != head_dim:
        raise AssertionError(f"expecting {name}.size(2) of {head_dim}, but got {static.size(2)}")
    return static


def _shaped_mask(mask: Any, target_len: int, source_len: int, count: int) -> None:
    """A mask of rank 3: over all heads of all samples, or one for all of them."""
    if mask is None:
        return None
    expected = (target_len, source_len) if mask.dim() == 2 else (count, target_len, source_len)
    if mask.dim() not in (2, 3):
        raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")
    if tuple(mask.shape) != expected:
        raise RuntimeError(
            f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {expected}."
        )
    return mask.unsqueeze(0) if mask.dim() == 2 else mask
