"""The decompositions of the table, by family."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jtorch as torch

from ._tables import register_decomposition
from .by_kernel import by_kernel

if TYPE_CHECKING:
    from .._src.aten.overloads import OpOverload
    from .._src.facts.kinds import Function, Values


aten = torch.ops.aten
#: Operators that PyTorch's core set leaves out; the others of the table are taken apart only where
#: they are asked for.
NOT_CORE: list[object] = []


def _core(*ops: OpOverload) -> Function:
    NOT_CORE.extend(ops)
    return register_decomposition(list(ops))


# ---- shapes --------------------------------------------------------------------------------------


@_core(aten.t.default)
def t(self: torch.Tensor) -> torch.Tensor:
    """``permute``."""
    return aten.permute.default(self, [1, 0] if self.dim() == 2 else list(range(self.dim())))


@_core(aten.transpose.int)
def transpose(self: torch.Tensor, dim0: int, dim1: int) -> torch.Tensor:
    """``permute``."""
    order = list(range(self.dim()))
    if order:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return aten.permute.default(self, order)


@_core(aten.stack.default)
def stack(tensors: list[torch.Tensor], dim: int = 0) -> torch.Tensor:
    """``cat`` of the tensors with one dimension more."""
    at = dim % (tensors[0].dim() + 1)
    return aten.cat.default([aten.unsqueeze.default(x, at) for x in tensors], at)


@_core(aten._unsafe_view.default)
def _unsafe_view(self: torch.Tensor, size: list[object]) -> torch.Tensor:
    return aten.view.default(self, size)


@_core(aten.zeros_like.default)
def zeros_like(self: torch.Tensor, **options: object) -> Any:
    """``full_like``."""
    return aten.full_like.default(self, 0, **options)


@_core(aten.ones_like.default)
def ones_like(self: torch.Tensor, **options: object) -> torch.Tensor:
    """``full_like``."""
    return aten.full_like.default(self, 1, **options)


def _filler(n: int, options: dict[str, object]) -> bool | float | int:
    """``n`` as a number of the dtype that is asked for."""
    kind = options.get("dtype")
    return float(n) if kind is None else bool(n) if kind is torch.bool else n


@_core(aten.zeros.default)
def zeros(size: Values, **options: object) -> Any:
    """``full``."""
    return aten.full.default(size, _filler(0, options), **options)


@_core(aten.ones.default)
def ones(size: list[object], **options: object) -> Any:
    """``full``."""
    return aten.full.default(size, _filler(1, options), **options)


@_core(aten.masked_fill.Scalar, aten.masked_fill.Tensor)
def masked_fill(
    self: torch.Tensor, mask: torch.Tensor, value: torch.Tensor | float
) -> torch.Tensor:
    """``where``."""
    if not isinstance(value, torch.Tensor):
        value = aten.full.default([], value, dtype=self.dtype, device=self.device)
    elif value.dtype is not self.dtype:
        value = aten._to_copy.default(value, dtype=self.dtype)
    return aten.where.self(mask, value, self)


@_core(aten.lift_fresh_copy.default)
def lift_fresh_copy(self: torch.Tensor) -> torch.Tensor:
    """``clone``."""
    return aten.clone.default(self)


@_core(aten.detach.default)
def detach(self: torch.Tensor) -> Any:
    """``alias``: there is no history below autograd."""
    return aten.alias.default(self)


# ---- arithmetic ----------------------------------------------------------------------------------


@_core(aten.rsub.Tensor, aten.rsub.Scalar)
def rsub(self: torch.Tensor, other: object, alpha: int = 1) -> torch.Tensor:
    """``sub`` the other way."""
    scaled = self if alpha == 1 else aten.mul.Tensor(self, alpha)
    if isinstance(other, torch.Tensor):
        return aten.sub.Tensor(other, scaled)
    return aten.add.Tensor(aten.neg.default(scaled), other)


@register_decomposition([aten.addmm.default])
def addmm(
    self: torch.Tensor, mat1: torch.Tensor, mat2: torch.Tensor, *, beta: int = 1, alpha: int = 1
) -> torch.Tensor:
    """``mm`` and ``add``."""
    product = aten.mm.default(mat1, mat2)
    product = product if alpha == 1 else aten.mul.Tensor(product, alpha)
    return (
        product
        if beta == 0
        else aten.add.Tensor(self if beta == 1 else aten.mul.Tensor(self, beta), product)
    )


@_core(aten.addcmul.default)
def addcmul(
    self: torch.Tensor, tensor1: torch.Tensor, tensor2: torch.Tensor, *, value: int = 1
) -> torch.Tensor:
    """``self + value * tensor1 * tensor2``."""
    product = aten.mul.Tensor(tensor1, tensor2)
    return aten.add.Tensor(self, product if value == 1 else aten.mul.Tensor(product, value))


@_core(aten.addcdiv.default)
def addcdiv(
    self: torch.Tensor, tensor1: torch.Tensor, tensor2: torch.Tensor, *, value: int = 1
) -> torch.Tensor:
    """``self + value * tensor1 / tensor2``."""
    quotient = aten.div.Tensor(tensor1, tensor2)
    return aten.add.Tensor(self, quotient if value == 1 else aten.mul.Tensor(quotient, value))


@_core(aten.std.correction)
def std(
    self: torch.Tensor,
    dim: list[int] | None = None,
    *,
    correction: object = None,
    keepdim: bool = False,
) -> torch.Tensor:
    """The root of ``var``."""
    return aten.sqrt.default(aten.var.correction(self, dim, correction=correction, keepdim=keepdim))


@_core(aten.frac.default)
def frac(self: torch.Tensor) -> torch.Tensor:
    """``self - trunc(self)``."""
    return aten.sub.Tensor(self, aten.trunc.default(self))


# ---- activations ---------------------------------------------------------------------------------


@_core(aten.silu.default)
def silu(self: torch.Tensor) -> torch.Tensor:
    """``x * sigmoid(x)``."""
    return aten.mul.Tensor(self, aten.sigmoid.default(self))


@_core(aten.hardsigmoid.default)
def hardsigmoid(self: torch.Tensor) -> torch.Tensor:
    """``relu6(x + 3) / 6``."""
    return aten.div.Tensor(
        aten.clamp.default(aten.clamp.default(aten.add.Tensor(self, 3), 0), None, 6), 6
    )


@_core(aten.hardswish.default)
def hardswish(self: torch.Tensor) -> torch.Tensor:
    """``x * relu6(x + 3) / 6``."""
    return aten.div.Tensor(
        aten.mul.Tensor(
            self, aten.clamp.default(aten.clamp.default(aten.add.Tensor(self, 3), 0), None, 6)
        ),
        6,
    )


@_core(aten.softplus.default)
def softplus(self: torch.Tensor, beta: int = 1, threshold: int = 20) -> torch.Tensor:
    """``log1p(exp(beta * x)) / beta``, and ``x`` where that is beyond ``threshold``."""
    scaled = self if beta == 1 else aten.mul.Tensor(self, beta)
    soft = aten.log1p.default(aten.exp.default(scaled))
    soft = soft if beta == 1 else aten.div.Tensor(soft, beta)
    return aten.where.self(aten.gt.Scalar(scaled, threshold), self, soft)


@_core(aten.mish.default)
def mish(self: torch.Tensor) -> torch.Tensor:
    """``x * tanh(softplus(x))``."""
    return aten.mul.Tensor(self, aten.tanh.default(softplus(self)))


@register_decomposition([aten.gelu.default])
def gelu(self: torch.Tensor, approximate: str = "none") -> torch.Tensor:
    """By ``erf``, or by ``tanh``."""
    half = aten.mul.Tensor(self, 0.5)
    if approximate == "tanh":
        inner = aten.mul.Tensor(
            aten.add.Tensor(self, aten.mul.Tensor(aten.pow.Tensor_Scalar(self, 3), 0.044715)),
            0.7978845608028654,
        )
        return aten.mul.Tensor(half, aten.add.Tensor(aten.tanh.default(inner), 1))
    return aten.mul.Tensor(
        half, aten.add.Tensor(aten.erf.default(aten.mul.Tensor(self, 0.7071067811865476)), 1)
    )


@register_decomposition([aten.leaky_relu.default])
def leaky_relu(self: torch.Tensor, negative_slope: float = 0.01) -> torch.Tensor:
    """``where(x > 0, x, slope * x)``."""
    return aten.where.self(aten.gt.Scalar(self, 0), self, aten.mul.Tensor(self, negative_slope))


@_core(aten.threshold_backward.default)
def threshold_backward(
    grad_output: torch.Tensor, self: torch.Tensor, threshold: int
) -> torch.Tensor:
    """0 where ``self`` is not above the threshold."""
    zero = aten.full.default([], 0.0, dtype=grad_output.dtype, device=grad_output.device)
    return aten.where.self(aten.le.Scalar(self, threshold), zero, grad_output)


@_core(aten.sigmoid_backward.default)
def sigmoid_backward(grad_output: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    """``g * y * (1 - y)``."""
    return aten.mul.Tensor(grad_output, aten.mul.Tensor(output, rsub(output, 1)))


@_core(aten.tanh_backward.default)
def tanh_backward(grad_output: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    """``g * (1 - y * y)``."""
    return aten.mul.Tensor(grad_output, rsub(aten.mul.Tensor(output, output), 1))


@_core(aten.dropout.default)
def dropout(input: torch.Tensor, p: float, train: bool) -> torch.Tensor:
    """The first result of ``native_dropout``; the operand where nothing is dropped."""
    return aten.native_dropout.default(input, p, train)[0] if train and p else input


# ---- softmax, normalisation, losses --------------------------------------------------------------


@register_decomposition([aten._softmax.default])
def _softmax(self: torch.Tensor, dim: int, half_to_float: bool) -> torch.Tensor:
    kind = (
        torch.float32
        if half_to_float or self.dtype in (torch.float16, torch.bfloat16)
        else self.dtype
    )
    x = self if kind is self.dtype else aten._to_copy.default(self, dtype=kind)
    e = aten.exp.default(aten.sub.Tensor(x, aten.amax.default(x, [dim], True)))
    found = aten.div.Tensor(e, aten.sum.dim_IntList(e, [dim], True))
    return (
        found
        if half_to_float or kind is self.dtype
        else aten._to_copy.default(found, dtype=self.dtype)
    )


@register_decomposition([aten._log_softmax.default])
def _log_softmax(self: torch.Tensor, dim: int, half_to_float: bool) -> torch.Tensor:
    kind = (
        torch.float32
        if half_to_float or self.dtype in (torch.float16, torch.bfloat16)
        else self.dtype
    )
    x = self if kind is self.dtype else aten._to_copy.default(self, dtype=kind)
    shifted = aten.sub.Tensor(x, aten.amax.default(x, [dim], True))
    found = aten.sub.Tensor(
        shifted, aten.log.default(aten.sum.dim_IntList(aten.exp.default(shifted), [dim], True))
    )
    return (
        found
        if half_to_float or kind is self.dtype
        else aten._to_copy.default(found, dtype=self.dtype)
    )


@register_decomposition([aten.native_layer_norm.default])
def native_layer_norm(
    input: torch.Tensor, normalized_shape: list[int], weight: torch.Tensor, bias: object, eps: float
) -> tuple[torch.Tensor, ...]:
    """Mean and variance of the last dimensions; the result, the mean and the reciprocal
    deviation."""
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    narrow = input.dtype in (torch.float16, torch.bfloat16)
    x = aten._to_copy.default(input, dtype=torch.float32) if narrow else input
    variance, mean = aten.var_mean.correction(x, dims, correction=0, keepdim=True)
    scale = aten.rsqrt.default(aten.add.Tensor(variance, eps))
    out = aten.mul.Tensor(aten.sub.Tensor(x, mean), scale)
    out = out if weight is None else aten.mul.Tensor(out, weight)
    out = out if bias is None else aten.add.Tensor(out, bias)
    return aten._to_copy.default(out, dtype=input.dtype) if narrow else out, mean, scale


@_core(aten.mse_loss.default)
def mse_loss(self: torch.Tensor, target: torch.Tensor, reduction: int = 1) -> torch.Tensor:
    """The squared difference, reduced."""
    return _reduced(aten.pow.Tensor_Scalar(aten.sub.Tensor(self, target), 2), reduction)


def _reduced(loss: torch.Tensor, reduction: int) -> torch.Tensor:
    return (
        aten.mean.default(loss)
        if reduction == 1
        else aten.sum.default(loss)
        if reduction == 2
        else loss
    )


# ---- attention -----------------------------------------------------------------------------------


@_core(aten._scaled_dot_product_flash_attention_for_cpu.default)
def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: torch.Tensor | None = None,
    scale: float | None = None,
) -> tuple[torch.Tensor, ...]:
    """The softmax of the scaled products, times the values; and the logarithms of the sums."""
    del dropout_p  # 0, as far as the operator is reached
    heads = query.shape[1]
    key, value = _repeated(key, heads), _repeated(value, heads)
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    scores = aten.matmul.default(aten.mul.Scalar(query, factor), aten.transpose.int(key, -2, -1))
    if is_causal:
        ones = aten.full.default(
            list(scores.shape[-2:]), True, dtype=torch.bool, device=query.device
        )
        scores = aten.masked_fill.Scalar(scores, aten.triu.default(ones, 1), float("-inf"))
    if attn_mask is not None:
        scores = aten.add.Tensor(scores, attn_mask)
    weights = aten._softmax.default(scores, -1, False)
    if attn_mask is not None:  # rows without a finite score give zeros
        some = aten.any.dim(aten.ne.Scalar(scores, float("-inf")), -1, True)
        weights = aten.where.self(some, weights, aten.full_like.default(weights, 0))
    return _laid_as(aten.matmul.default(weights, value), query), aten.logsumexp.default(
        scores, [-1]
    )


def _laid_as(x: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """A tensor in the memory order of another, which views that follow may need."""
    strides = other.stride()
    order = sorted(
        range(x.dim()),
        key=functools.cmp_to_key(
            lambda a, b: -1 if strides[a] > strides[b] else int(strides[a] < strides[b])
        ),
    )
    if order == list(range(x.dim())):
        return x
    moved = aten.clone.default(
        aten.permute.default(x, order), memory_format=torch.contiguous_format
    )
    return aten.permute.default(moved, [order.index(d) for d in range(x.dim())])


def _repeated(x: torch.Tensor, heads: int) -> torch.Tensor:
    """Keys or values for ``heads`` heads of queries."""
    if x.shape[1] == heads:
        return x
    n, few, *rest = x.shape
    return aten.reshape.default(
        aten.expand.default(aten.unsqueeze.default(x, 2), [n, few, heads // few, *rest]),
        [n, heads, *rest],
    )


# ---- read from kernels ---------------------------------------------------------------------------

#: Operators outside of PyTorch's core set that their kernels write with those in it
#: (``by_kernel.txt``); ``.default`` is left out.
BY_KERNEL = Path(__file__).with_name("by_kernel.txt").read_text().split()

for _name in BY_KERNEL:
    _packet, _, _overload = _name.partition(".")
    _op = getattr(getattr(aten, _packet), _overload or "default")
    _core(_op)(by_kernel(_op))
