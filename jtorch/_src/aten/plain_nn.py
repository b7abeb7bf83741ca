"""Kernels of the inner operators of neural networks: losses, activations, normalisations, convolutions, pooling and attention."""

# ruff: noqa: PLW0108  (what a kernel means is said by its operator)
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..bind.everything import PUBLIC
from ..facts import dtypes
from .kernels import REDUCTIONS, kernel
from .plain import through, vjp

P = PUBLIC
_F = "nn.functional."


# ---- softmax and losses ----------------------------------------------------------------------------------------------------------


@kernel("_softmax")
def _softmax(self: Any, dim: int, half_to_float: bool = False) -> Any:
    return P["softmax"](self, dim, dtype=dtypes.float32 if half_to_float else None)


@kernel("_safe_softmax")
def _safe_softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    out = P["softmax"](self, dim, dtype=dtype)
    return out.masked_fill((self == float("-inf")).all(dim, True), 0.0)  # nothing to attend to: zeros, not nan


@kernel("_log_softmax")
def _log_softmax(self: Any, dim: int, half_to_float: bool = False) -> Any:
    return P["log_softmax"](self, dim, dtype=dtypes.float32 if half_to_float else None)


@kernel("nll_loss_forward", "nll_loss2d_forward")
def nll_loss_forward(self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    name = REDUCTIONS[reduction]
    out = P["nn.functional.nll_loss"](self, target, weight, ignore_index=ignore_index, reduction=name)
    kept = P["ne"](target, ignore_index)
    if name == "none":
        return out, self.new_zeros(())
    if weight is None:
        return out, kept.sum().to(self.dtype)
    chosen = P["gather"](weight, 0, P["clamp"](target, 0, weight._aval.size - 1).reshape(-1))
    return out, (chosen * kept.reshape(-1)).sum()


@kernel("nll_loss_backward", "nll_loss2d_backward")
def nll_loss_backward(grad_output: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int, total_weight: Any) -> Any:
    name = REDUCTIONS[reduction]
    if name == "mean":  # the weight is that of all targets, of which these may be a part
        name, grad_output = "sum", grad_output / P["where"](P["eq"](total_weight, 0), 1, total_weight)
    return through(lambda x: P["nn.functional.nll_loss"](x, target, weight, ignore_index=ignore_index, reduction=name), self, grad_output)


def _loss(name: str, forward: Callable[..., Any]) -> None:
    """A loss whose reduction is a number for its operator, and its derivative."""

    def run(self: Any, target: Any, *rest: Any) -> Any:
        return forward(self, target, *rest)

    def backward(grad_output: Any, self: Any, target: Any, *rest: Any) -> Any:
        return through(lambda x: forward(x, target, *rest), self, grad_output)

    kernel(name)(run)
    kernel(f"{name}_backward")(backward)


_loss("mse_loss", lambda x, y, reduction=1: P["nn.functional.mse_loss"](x, y, reduction=REDUCTIONS[reduction]))
_loss(
    "smooth_l1_loss",
    lambda x, y, reduction=1, beta=1.0: P["nn.functional.smooth_l1_loss"](x, y, reduction=REDUCTIONS[reduction], beta=beta),
)
_loss("huber_loss", lambda x, y, reduction=1, delta=1.0: P["nn.functional.huber_loss"](x, y, reduction=REDUCTIONS[reduction], delta=delta))
_loss(
    "binary_cross_entropy",
    lambda x, y, weight=None, reduction=1: P["nn.functional.binary_cross_entropy"](x, y, weight, reduction=REDUCTIONS[reduction]),
)
_loss("soft_margin_loss", lambda x, y, reduction=1: P["nn.functional.soft_margin_loss"](x, y, reduction=REDUCTIONS[reduction]))


@kernel("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(self: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = 1) -> Any:
    return P["nn.functional.binary_cross_entropy_with_logits"](self, target, weight, reduction=REDUCTIONS[reduction], pos_weight=pos_weight)


def _mean_by_default(name: str, place: int) -> None:
    """A loss whose operator takes the mean where its parameter at ``place`` is left out; the function reduces nothing then."""

    @kernel(name)
    def run(*args: Any, **kwargs: Any) -> Any:
        if len(args) <= place:
            kwargs.setdefault("reduction", 1)
        return P[name](*args, **kwargs)


for _name, _place in {
    "kl_div": 2, "hinge_embedding_loss": 3, "margin_ranking_loss": 4, "cosine_embedding_loss": 4, "ctc_loss": 5, "triplet_margin_loss": 7,
}.items():  # fmt: skip
    _mean_by_default(_name, _place)


# ---- activations -----------------------------------------------------------------------------------------------------------------


@kernel("threshold_backward")
def threshold_backward(grad_output: Any, self: Any, threshold: Any) -> Any:
    return P["where"](P["gt"](self, threshold), grad_output, P["zeros_like"](grad_output))


@kernel("tanh_backward")
def tanh_backward(grad_output: Any, output: Any) -> Any:
    return grad_output * (1 - output * output).conj()


@kernel("sigmoid_backward")
def sigmoid_backward(grad_output: Any, output: Any) -> Any:
    return grad_output * ((1 - output) * output).conj()


def _activation(name: str, forward: Callable[..., Any]) -> None:
    @kernel(f"{name}_backward")
    def backward(grad_output: Any, self: Any, *rest: Any, **kwargs: Any) -> Any:
        return through(lambda x: forward(x, *rest, **kwargs), self, grad_output)


_activation("gelu", lambda x, approximate="none": P[_F + "gelu"](x, approximate=approximate))
_activation("silu", lambda x: P[_F + "silu"](x))
_activation("mish", lambda x: P[_F + "mish"](x))
_activation("hardsigmoid", lambda x: P[_F + "hardsigmoid"](x))
_activation("hardswish", lambda x: P[_F + "hardswish"](x))
_activation("hardtanh", lambda x, low, high: P[_F + "hardtanh"](x, low, high))
_activation("softplus", lambda x, beta, threshold: P[_F + "softplus"](x, beta, threshold))
_activation("leaky_relu", lambda x, slope, _is_result: P[_F + "leaky_relu"](x, slope))
_activation("hardshrink", lambda x, lambd: P[_F + "hardshrink"](x, lambd))
_activation("softshrink", lambda x, lambd: P[_F + "softshrink"](x, lambd))
_activation("glu", lambda x, dim=-1: P[_F + "glu"](x, dim))
_activation("logit", lambda x, eps=None: P["logit"](x, eps))


@kernel("elu")
def elu(self: Any, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    if scale == 1 and input_scale == 1:
        return P[_F + "elu"](self, alpha)
    negative = P["expm1"](self * input_scale) * alpha
    return P["where"](P["gt"](self, 0), self, negative) * scale


@kernel("elu_")
def elu_(self: Any, *scales: Any, **named: Any) -> Any:
    return self.copy_(elu(self, *scales, **named))


@kernel("elu_backward")
def elu_backward(grad_output: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool, self_or_result: Any) -> Any:
    if is_result:
        low = input_scale * (self_or_result + alpha * scale)
        return grad_output * P["where"](P["le"](self_or_result, 0), low, P["full_like"](self_or_result, scale))
    return through(lambda x: elu(x, alpha, scale, input_scale), self_or_result, grad_output)


@kernel("log_sigmoid_forward")
def log_sigmoid_forward(self: Any) -> Any:
    return P[_F + "logsigmoid"](self), self.new_zeros((0,))


@kernel("log_sigmoid_backward")
def log_sigmoid_backward(grad_output: Any, self: Any, buffer: Any) -> Any:
    del buffer
    return through(lambda x: P[_F + "logsigmoid"](x), self, grad_output)


@kernel("rrelu_with_noise")
def rrelu_with_noise(
    self: Any, noise: Any, lower: Any = 0.125, upper: Any = 0.3333333333333333, training: bool = False, generator: Any = None
) -> Any:
    if not training:
        return P[_F + "leaky_relu"](self, (lower + upper) / 2)
    slopes = P["empty_like"](self).uniform_(lower, upper, generator=generator)
    noise.copy_(P["where"](P["le"](self, 0), slopes, P["ones_like"](self)))
    return self * noise


@kernel("rrelu_with_noise_backward")
def rrelu_with_noise_backward(grad_output: Any, self: Any, noise: Any, lower: Any, upper: Any, training: bool, self_is_result: bool) -> Any:
    del self_is_result
    if training:
        return grad_output * noise
    return through(lambda x: P[_F + "leaky_relu"](x, (lower + upper) / 2), self, grad_output)


@kernel("_prelu_kernel")
def _prelu_kernel(self: Any, weight: Any) -> Any:
    return P["where"](P["gt"](self, 0), self, self * weight)


@kernel("_prelu_kernel_backward")
def _prelu_kernel_backward(grad_output: Any, self: Any, weight: Any) -> Any:
    positive = P["gt"](self, 0)
    zero = P["zeros_like"](grad_output)
    return P["where"](positive, grad_output, weight * grad_output), P["where"](positive, zero, self * grad_output)


# ---- normalisation ---------------------------------------------------------------------------------------------------------------


@kernel("native_layer_norm")
def native_layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    return P["native_layer_norm"](input, tuple(normalized_shape), weight, bias, eps)


@kernel("native_layer_norm_backward")
def native_layer_norm_backward(
    grad_out: Any, input: Any, normalized_shape: Any, mean: Any, rstd: Any, weight: Any, bias: Any, output_mask: Any
) -> Any:
    del mean, rstd
    return tuple(
        vjp(
            lambda x, w, b: P[_F + "layer_norm"](x, tuple(normalized_shape), w, b),
            [input, weight, bias],
            grad_out,
            output_mask,
        )
    )


@kernel("native_group_norm")
def native_group_norm(input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float) -> Any:
    return P["native_group_norm"](input, weight, bias, N, C, HxW, group, eps)


@kernel("native_group_norm_backward")
def native_group_norm_backward(
    grad_out: Any, input: Any, mean: Any, rstd: Any, weight: Any, N: int, C: int, HxW: int, group: int, output_mask: Any
) -> Any:
    del mean, rstd, N, HxW
    bias = input.new_zeros((C,)) if output_mask[2] else None
    return tuple(vjp(lambda x, w, b: P[_F + "group_norm"](x, group, w, b), [input, weight, bias], grad_out, output_mask))


@kernel("native_batch_norm")
def native_batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float
) -> Any:
    axes = [d for d in range(input._aval.ndim) if d != 1]
    if training:
        mean = input.mean(axes)
        inverse = P["rsqrt"](input.var(axes, correction=0) + eps)
    else:
        mean, inverse = input.new_zeros((0,)), input.new_zeros((0,))
    out = P[_F + "batch_norm"](input, running_mean, running_var, weight, bias, training, momentum, eps)
    return out, mean, inverse


@kernel("native_batch_norm_backward")
def native_batch_norm_backward(
    grad_out: Any, input: Any, weight: Any, running_mean: Any, running_var: Any, save_mean: Any, save_invstd: Any, train: bool, eps: float,
    output_mask: Any,
) -> Any:  # fmt: skip
    del save_mean, save_invstd
    bias = input.new_zeros((input._aval.shape[1],)) if output_mask[2] else None
    mean, var = (None, None) if train else (running_mean, running_var)
    return tuple(
        vjp(lambda x, w, b: P[_F + "batch_norm"](x, mean, var, w, b, train, 0.0, eps), [input, weight, bias], grad_out, output_mask)
    )


# ---- convolution and pooling -----------------------------------------------------------------------------------------------------


@kernel("convolution")
def convolution(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any, groups: int
) -> Any:
    n = len(stride)
    if transposed:
        return P[f"{_F}conv_transpose{n}d"](
            input, weight, bias, tuple(stride), tuple(padding), tuple(output_padding), groups, tuple(dilation)
        )
    return P[f"{_F}conv{n}d"](input, weight, bias, tuple(stride), tuple(padding), tuple(dilation), groups)


@kernel("convolution_backward")
def convolution_backward(
    grad_output: Any, input: Any, weight: Any, bias_sizes: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int, output_mask: Any,
) -> Any:  # fmt: skip
    bias = input.new_zeros(tuple(bias_sizes)) if output_mask[2] else None
    return tuple(
        vjp(
            lambda x, w, b: convolution(x, w, b, stride, padding, dilation, transposed, output_padding, groups),
            [input, weight, bias],
            grad_output,
            output_mask,
        )
    )


def _max_pool(n: int) -> None:
    def forward(self: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False) -> Any:
        return P[f"{_F}max_pool{n}d_with_indices"](self, kernel_size, stride or None, padding, dilation, ceil_mode)

    def backward(
        grad_output: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, indices: Any
    ) -> Any:
        del indices
        return through(lambda x: forward(x, kernel_size, stride, padding, dilation, ceil_mode)[0], self, grad_output)

    kernel(f"max_pool{n}d_with_indices")(forward)
    kernel(f"max_pool{n}d_with_indices_backward")(backward)


def _avg_pool(n: int) -> None:
    def forward(
        self: Any, kernel_size: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False, count_include_pad: bool = True,
        divisor_override: Any = None,
    ) -> Any:  # fmt: skip
        return P[f"{_F}avg_pool{n}d"](self, kernel_size, stride or None, padding, ceil_mode, count_include_pad, divisor_override)

    def backward(grad_output: Any, self: Any, *rest: Any) -> Any:
        return through(lambda x: forward(x, *rest), self, grad_output)

    kernel(f"avg_pool{n}d")(forward)
    kernel(f"avg_pool{n}d_backward")(backward)


def _adaptive(n: int) -> None:
    def forward(self: Any, output_size: Any) -> Any:
        return P[f"{_F}adaptive_avg_pool{n}d"](self, tuple(output_size))

    def backward(grad_output: Any, self: Any) -> Any:
        return through(lambda x: forward(x, grad_output._aval.shape[-n:]), self, grad_output)

    kernel(f"_adaptive_avg_pool{n}d")(forward)
    kernel(f"_adaptive_avg_pool{n}d_backward")(backward)

    def largest(self: Any, output_size: Any) -> Any:
        return P[f"{_F}adaptive_max_pool{n}d"](self, tuple(output_size), True)

    def largest_backward(grad_output: Any, self: Any, indices: Any) -> Any:
        del indices
        return through(lambda x: P[f"{_F}adaptive_max_pool{n}d"](x, grad_output._aval.shape[-n:]), self, grad_output)

    kernel(f"adaptive_max_pool{n}d")(largest)
    kernel(f"adaptive_max_pool{n}d_backward")(largest_backward)


def _unpool(n: int) -> None:
    def places(self: Any, indices: Any, output_size: Any, stride: Any = 1, padding: Any = 0) -> Any:
        del padding
        if n == 3 and min(stride) <= 0:
            raise RuntimeError(f"strides should be greater than zero, but got stride: {list(stride)}")
        # The function gets windows with steps of one that come to the size: which windows they were changes nothing.
        kernel_size = tuple([m - k + 1 for m, k in zip(output_size, self._aval.shape[-n:], strict=True)])
        return P[f"{_F}max_unpool{n}d"](self, indices, kernel_size, 1)

    kernel(f"max_unpool{n}d")(places)


for _n in (2, 3):
    _max_pool(_n)
    _avg_pool(_n)
    _adaptive(_n)
    _unpool(_n)


def _padding(mode: str, name: str) -> None:
    for n in (1, 2, 3):

        def forward(self: Any, padding: Any) -> Any:
            return P[f"{_F}pad"](self, tuple(padding), mode=mode)

        def backward(grad_output: Any, self: Any, padding: Any) -> Any:
            return through(lambda x: P[f"{_F}pad"](x, tuple(padding), mode=mode), self, grad_output)

        kernel(f"{name}{n}d")(forward)
        kernel(f"{name}{n}d_backward")(backward)


_padding("reflect", "reflection_pad")
_padding("replicate", "replication_pad")


@kernel("constant_pad_nd")
def constant_pad_nd(self: Any, pad: Any, value: Any = 0) -> Any:
    return P[f"{_F}pad"](self, tuple(pad), value=value)


def _upsample(name: str, mode: str, n: int, aligned: bool) -> None:
    def forward(self: Any, output_size: Any, *rest: Any) -> Any:
        options: dict[str, Any] = {"align_corners": rest[0]} if aligned else {}
        scales = rest[1:] if aligned else rest
        given = [s for s in scales if s is not None]
        # A scale that is given takes part in the arithmetic, as in the public function.
        if len(given) == n:
            return P[f"{_F}interpolate"](self, scale_factor=tuple(given), mode=mode, recompute_scale_factor=False, **options)
        return P[f"{_F}interpolate"](self, size=tuple(output_size), mode=mode, **options)

    def backward(grad_output: Any, output_size: Any, input_size: Any, *rest: Any) -> Any:
        return through(lambda x: forward(x, output_size, *rest), grad_output.new_zeros(tuple(input_size)), grad_output)

    kernel(name, f"{name}.default")(forward)
    kernel(f"{name}_backward")(backward)


for _name, _mode, _n, _aligned in (
    ("upsample_nearest1d", "nearest", 1, False), ("upsample_nearest2d", "nearest", 2, False), ("upsample_nearest3d", "nearest", 3, False),
    ("upsample_linear1d", "linear", 1, True), ("upsample_bilinear2d", "bilinear", 2, True), ("upsample_bicubic2d", "bicubic", 2, True),
    ("upsample_trilinear3d", "trilinear", 3, True),
):  # fmt: skip
    _upsample(_name, _mode, _n, _aligned)


@kernel("im2col")
def im2col(self: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    return P[f"{_F}unfold"](self, tuple(kernel_size), tuple(dilation), tuple(padding), tuple(stride))


@kernel("col2im")
def col2im(self: Any, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    return P[f"{_F}fold"](self, tuple(output_size), tuple(kernel_size), tuple(dilation), tuple(padding), tuple(stride))


# ---- embedding, dropout, linear, attention ---------------------------------------------------------------------------------------


@kernel("embedding")
def embedding(weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False) -> Any:
    del padding_idx, scale_grad_by_freq, sparse
    return P["nn.functional.embedding"](indices, weight)


@kernel("embedding_dense_backward")
def embedding_dense_backward(grad_output: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool) -> Any:
    weight = grad_output.new_zeros((num_weights, grad_output._aval.shape[-1]))
    padding = None if padding_idx < 0 else padding_idx
    return through(
        lambda w: P["nn.functional.embedding"](indices, w, padding_idx=padding, scale_grad_by_freq=scale_grad_by_freq), weight, grad_output
    )


@kernel("native_dropout")
def native_dropout(input: Any, p: float, train: Any) -> Any:
    if not train:
        return input.clone(), P["ones_like"](input, dtype=dtypes.bool_)
    mask = P["empty_like"](input).bernoulli_(1 - p)
    return input * mask / (1 - p) if p < 1 else P["zeros_like"](input), mask.to(dtypes.bool_)


@kernel("native_dropout_backward")
def native_dropout_backward(grad_output: Any, mask: Any, scale: float) -> Any:
    return grad_output * mask * scale


@kernel("linear")
def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    return P[f"{_F}linear"](input, weight, bias)


@kernel("_scaled_dot_product_flash_attention_for_cpu")
def attention(
    query: Any, key: Any, value: Any, dropout_p: float = 0.0, is_causal: bool = False, *, attn_mask: Any = None, scale: Any = None
) -> Any:
    del dropout_p
    out = P[f"{_F}scaled_dot_product_attention"](query, key, value, attn_mask, 0.0, is_causal, scale=scale)
    factor = query._aval.shape[-1] ** -0.5 if scale is None else scale
    scores = P["matmul"](query, key.transpose(-2, -1)) * factor
    if attn_mask is not None:
        scores = scores + attn_mask
    if is_causal:
        rows, columns = scores._aval.shape[-2:]
        scores = scores.masked_fill(P["ones"](rows, columns, dtype=dtypes.bool_, device=scores.device).triu(1), float("-inf"))
    return out, P["logsumexp"](scores, -1)


@kernel("_scaled_dot_product_flash_attention_for_cpu_backward")
def attention_backward(
    grad_out: Any, query: Any, key: Any, value: Any, out: Any, logsumexp: Any, dropout_p: float, is_causal: bool, *, attn_mask: Any = None,
    scale: Any = None,
) -> Any:  # fmt: skip
    del out, logsumexp, dropout_p
    return tuple(
        vjp(
            lambda q, k, v: P[f"{_F}scaled_dot_product_attention"](q, k, v, attn_mask, 0.0, is_causal, scale=scale),
            [query, key, value],
            grad_out,
        )
    )
