"""Attention whose layers can be observed."""

from __future__ import annotations

import warnings
from typing import Any

import jtorch as torch
from jtorch import nn
from jtorch.nn import functional as F


def _as_bool(mask: Any, name: str) -> Any:
    if mask is None or mask.dtype != torch.uint8:
        return mask
    warnings.warn(
        f"Byte tensor for `{name}` in `nn.MultiheadAttention` is deprecated. Use bool tensor "
        "instead.",
        stacklevel=4,
    )
    return mask.to(torch.bool)


class MultiheadAttention(nn.MultiheadAttention):
    """``nn.MultiheadAttention`` with a layer for each of its products with weights, so that each
    can be observed: what ``prepare`` puts in its place.

    Its products of queries, keys and values are computed with floats.

    Shapes:
        as ``nn.MultiheadAttention``, with a dimension of batches.

    Examples:
        >>> import jtorch as torch
        >>> x = torch.ones(5, 2, 4)
        >>> out, weights = torch.ao.nn.quantizable.MultiheadAttention(4, 2)(x, x, x)
        >>> out.shape, weights.shape
        (torch.Size([5, 2, 4]), torch.Size([2, 5, 5]))
    """

    _FLOAT_MODULE: Any = nn.MultiheadAttention

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
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        factory: Any = {"device": device, "dtype": dtype}
        super().__init__(
            embed_dim, num_heads, dropout, bias, add_bias_kv, add_zero_attn, kdim, vdim,
            batch_first, **factory,
        )  # fmt: skip
        own = self.embed_dim
        self.linear_Q: Any = nn.Linear(own, own, bias=bias, **factory)
        self.linear_K: Any = nn.Linear(self.kdim, own, bias=bias, **factory)
        self.linear_V: Any = nn.Linear(self.vdim, own, bias=bias, **factory)
        self.out_proj: Any = nn.Linear(own, own, bias=bias, **factory)
        quantization: Any = torch.ao.quantization
        self.q_scaling_product: Any = torch.ao.nn.quantized.FloatFunctional()
        self.quant_attn_output = quantization.QuantStub()
        self.quant_attn_output_weights = quantization.QuantStub()
        self.dequant_q, self.dequant_k, self.dequant_v = (
            quantization.DeQuantStub() for _ in range(3)
        )

    def _get_name(self) -> str:
        return "QuantizableMultiheadAttention"

    @classmethod
    def from_float(cls, other: Any) -> Any:
        """The observed module of an ``nn.MultiheadAttention`` that has ``qconfig``.

        Raises:
            AssertionError: for other classes, and without a configuration.
        """
        if type(other) is not cls._FLOAT_MODULE:
            raise AssertionError(f"Expected type {cls._FLOAT_MODULE}, got {type(other)}")
        if not hasattr(other, "qconfig"):
            raise AssertionError("The float module must have 'qconfig'")
        made: Any = cls(
            other.embed_dim, other.num_heads, other.dropout, other.in_proj_bias is not None,
            other.bias_k is not None, other.add_zero_attn, other.kdim, other.vdim,
            other.batch_first,
        )  # fmt: skip
        made.bias_k, made.bias_v, made.qconfig = other.bias_k, other.bias_v, other.qconfig
        made.out_proj.weight, made.out_proj.bias = other.out_proj.weight, other.out_proj.bias
        layers = (made.linear_Q, made.linear_K, made.linear_V)
        weights = (
            other.in_proj_weight.split(other.embed_dim)
            if other._qkv_same_embed_dim
            else (other.q_proj_weight, other.k_proj_weight, other.v_proj_weight)
        )
        biases = (
            (None, None, None)
            if other.in_proj_bias is None
            else other.in_proj_bias.split(other.embed_dim)
        )
        for layer, weight, bias in zip(layers, weights, biases, strict=True):
            layer.weight = nn.Parameter(weight, weight.requires_grad)
            layer.bias = None if bias is None else nn.Parameter(bias, bias.requires_grad)
        made.eval()
        return torch.ao.quantization.prepare(made, inplace=True)

    def dequantize(self) -> nn.MultiheadAttention:
        """The module of floats with the numbers of a quantised one's weights.

        Biases of queries, keys and values other than zero are refused where the three have the
        same sizes, as in PyTorch.
        """
        (wq, bq), (wk, bk), (wv, bv) = (
            layer._weight_bias() for layer in (self.linear_Q, self.linear_K, self.linear_V)
        )
        made: Any = self._FLOAT_MODULE(
            self.embed_dim, self.num_heads, self.dropout, bq is not None, self.bias_k is not None,
            self.add_zero_attn, self.kdim, self.vdim, self.batch_first,
        )  # fmt: skip
        if made._qkv_same_embed_dim != self._qkv_same_embed_dim:
            raise AssertionError(
                f"_qkv_same_embed_dim mismatch: {made._qkv_same_embed_dim} != "
                f"{self._qkv_same_embed_dim}"
            )
        for name in ("bias_k", "bias_v"):
            bias = getattr(self, name)
            if bias is not None:
                setattr(made, name, nn.Parameter(bias.dequantize()))
        weight, bias = self.out_proj._weight_bias()
        made.out_proj.weight = nn.Parameter(weight.dequantize())
        if bias is not None:
            made.out_proj.bias = nn.Parameter(bias)
        each = enumerate(zip("qkv", (wq, wk, wv), (bq, bk, bv), strict=True))
        for i, (letter, weight, bias) in each:
            part = slice(i * self.embed_dim, (i + 1) * self.embed_dim)
            if made._qkv_same_embed_dim:
                made.in_proj_weight[part] = weight.dequantize()
                if made.in_proj_bias is not None and not all(bias == 0):
                    raise AssertionError(f"Expected all b{letter.upper()} elements to be 0")
            else:
                setattr(made, f"{letter}_proj_weight", nn.Parameter(weight.dequantize()))
            if made.in_proj_bias is not None:
                made.in_proj_bias[part] = bias
        return made

    @classmethod
    def from_observed(cls, other: Any) -> Any:
        """Is for ``torch.ao.nn.quantized.MultiheadAttention``.

        Raises:
            NotImplementedError: always.
        """
        del other
        raise NotImplementedError(
            "It looks like you are trying to prepare an MHA module. Please, see the examples on "
            "quantizable MHAs."
        )

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None = None,
        need_weights: bool = True,
        attn_mask: torch.Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        """The result, and the weights of attention if they are needed.

        Raises:
            AssertionError: for ``is_causal``, and sizes that do not fit.
        """
        return self._forward_impl(
            query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights,
            is_causal,
        )  # fmt: skip

    def _checked_mask(self, mask: Any, batches: int, queries: int, keys: int) -> Any:
        """A mask of three dimensions, of bools or floats."""
        mask = _as_bool(mask, "attn_mask")
        if mask is None:
            return None
        if not mask.is_floating_point() and mask.dtype != torch.bool:
            raise AssertionError(
                f"Only float and bool types are supported for attn_mask, not {mask.dtype}"
            )
        dims = mask.dim()
        if dims not in (2, 3):
            raise RuntimeError(f"attn_mask's dimension {dims} is not supported")
        mask = mask.unsqueeze(0) if dims == 2 else mask
        wanted = [1 if dims == 2 else batches * self.num_heads, queries, keys]
        if list(mask.size()) != wanted:
            raise RuntimeError(f"The size of the {dims}D attn_mask is not correct.")
        return mask

    def _with_zero(self, given: Any) -> Any:
        """Keys or values with one more, of zeros."""
        zeros: Any = torch.zeros((given.size(0), 1, *given.size()[2:]))
        if given.is_quantized:
            zeros = torch.quantize_per_tensor(
                zeros, given.q_scale(), given.q_zero_point(), given.dtype
            )
        return torch.cat([given, zeros], dim=1)

    def _forward_impl(
        self,
        query: Any,
        key: Any,
        value: Any,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        if attn_mask is not None and is_causal:
            raise AssertionError("Only allow causal mask or attn_mask")
        if is_causal:
            raise AssertionError("causal mask not supported by AO MHA module")
        if self.batch_first:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        queries, batches, width = query.size()
        if self.embed_dim != width:
            raise AssertionError(f"embed_dim mismatch: {self.embed_dim} != {width}")
        if key.size()[:2] != value.size()[:2]:
            raise AssertionError(
                f"key and value size mismatch: key.size()={key.size()}, value.size()={value.size()}"
            )
        heads, each = batches * self.num_heads, self.embed_dim // self.num_heads
        if each * self.num_heads != self.embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        q, k, v = self.linear_Q(query), self.linear_K(key), self.linear_V(value)
        q = self.q_scaling_product.mul_scalar(q, float(each) ** -0.5)
        attn_mask = self._checked_mask(attn_mask, batches, queries, key.size(0))
        padding = _as_bool(key_padding_mask, "key_padding_mask")
        masks = [attn_mask, padding]
        for one, other in (("k", "v"), ("v", "k")):
            if getattr(self, f"bias_{other}") is None and getattr(self, f"bias_{one}") is not None:
                raise AssertionError(f"self.bias_{one} must be None when self.bias_{other} is None")
        if self.bias_k is not None and self.bias_v is not None:
            k = torch.cat([k, self.bias_k.repeat(1, batches, 1)])
            v = torch.cat([v, self.bias_v.repeat(1, batches, 1)])
            masks = [None if m is None else F.pad(m, (0, 1)) for m in masks]
        q, k, v = (x.contiguous().view(-1, heads, each).transpose(0, 1) for x in (q, k, v))
        padding = masks[1]
        if padding is not None:
            for at, (size, wanted) in enumerate(
                zip(padding.size(), (batches, k.size(1)), strict=False)
            ):
                if size != wanted:
                    raise AssertionError(
                        f"key_padding_mask.size({at}) must be {wanted}, got {size}"
                    )
        if self.add_zero_attn:
            k, v = self._with_zero(k), self._with_zero(v)
            masks = [None if m is None else F.pad(m, (0, 1)) for m in masks]
        attn_mask, padding = masks
        # From here to the next layer all is computed with floats.
        q, k, v = self.dequant_q(q), self.dequant_k(k), self.dequant_v(v)
        weights = torch.bmm(q, k.transpose(1, 2))
        parted = (batches, self.num_heads, queries, k.size(1))
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            weights.masked_fill_(attn_mask, float("-inf"))
        elif attn_mask is not None:
            weights += attn_mask
        if padding is not None:
            hidden = padding.unsqueeze(1).unsqueeze(2)
            weights = weights.view(parted).masked_fill(hidden, float("-inf"))
            weights = weights.view(heads, queries, k.size(1))
        weights = F.softmax(weights, dim=-1)
        weights = F.dropout(weights, p=self.dropout, training=self.training)
        found = torch.bmm(weights, v)
        # PyTorch's module reads heads as if they were steps where batches are first.
        found = (
            found.view(batches, queries, self.embed_dim)
            if self.batch_first
            else found.transpose(0, 1).contiguous().view(queries, batches, self.embed_dim)
        )
        found = self.out_proj(self.quant_attn_output(found))
        weights = self.quant_attn_output_weights(weights)
        if not need_weights:
            return found, None
        weights = weights.view(parted)
        return found, weights.mean(dim=1) if average_attn_weights else weights
