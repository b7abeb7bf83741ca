"""Derivatives of activations, normalisations, convolutions, pooling, losses and attention, as the operators that PyTorch runs."""

# ruff: noqa: PLW0108  (the parameters of these functions say what they need)
from __future__ import annotations

from typing import Any

from .derivatives import rule
from .formulas import packed, vector_norm, zeros
from .overloads import aten

A = aten

# ---- activations -----------------------------------------------------------------------------------------------------------------

rule(A.relu, self=lambda g, result: A.threshold_backward.default(g, result, 0))
rule(A.threshold, self=lambda g, self, threshold: A.threshold_backward.default(g, self, threshold))
rule(A.elu, self=lambda g, self, alpha, scale, input_scale: A.elu_backward.default(g, alpha, scale, input_scale, False, self))
rule(A.celu, self=lambda g, self, alpha: A.elu_backward.default(g, alpha, 1, 1.0 / alpha, False, self))
rule(A.leaky_relu, self=lambda g, self, negative_slope: A.leaky_relu_backward.default(g, self, negative_slope, False))
# In place, the result tells what the operand was.
rule(A.elu_, self=lambda g, result, alpha, scale, input_scale: A.elu_backward.default(g, alpha, scale, input_scale, True, result))
rule(A.celu_, self=lambda g, result, alpha: A.elu_backward.default(g, alpha, 1, 1.0 / alpha, True, result))
rule(A.leaky_relu_, self=lambda g, result, negative_slope: A.leaky_relu_backward.default(g, result, negative_slope, True))
rule(A.threshold_, self=lambda g, result, threshold: A.threshold_backward.default(g, result, threshold))
rule(A.hardtanh_, self=lambda g, result, min_val, max_val: A.hardtanh_backward.default(g, result, min_val, max_val))
rule(A.log_sigmoid_forward, results=(0,), self=lambda g, self, result1: A.log_sigmoid_backward.default(g, self, result1))
rule(
    A.rrelu_with_noise,
    self=lambda g, self, noise, lower, upper, training: A.rrelu_with_noise_backward.default(g, self, noise, lower, upper, training, False),
)
rule(A._prelu_kernel, self__weight=lambda g, self, weight: A._prelu_kernel_backward.default(g, self, weight))

# ---- softmax ---------------------------------------------------------------------------------------------------------------------

rule(A._softmax, self=lambda g, result, dim, self_: A._softmax_backward_data.default(g, result, dim, self_.dtype))
rule(A._log_softmax, self=lambda g, result, dim, self_: A._log_softmax_backward_data.default(g, result, dim, self_.dtype))

# ---- normalisation ---------------------------------------------------------------------------------------------------------------

rule(
    A.native_layer_norm,
    results=(0,),
    input__weight__bias=lambda g, input, normalized_shape, result1, result2, weight, bias, wants: A.native_layer_norm_backward.default(
        g, input, normalized_shape, result1, result2, weight, bias, wants
    ),
)
rule(
    A.native_group_norm,
    input__weight__bias=lambda g, input, result1, result2, weight, N, C, HxW, group, wants: A.native_group_norm_backward.default(
        packed(g), input, result1, result2, weight, N, C, HxW, group, wants
    ),
)
rule(
    A.native_batch_norm,
    results=(0,),
    input__weight__bias=lambda g, input, weight, running_mean, running_var, result1, result2, training, eps, wants: (
        A.native_batch_norm_backward.default(g, input, weight, running_mean, running_var, result1, result2, training, eps, wants)
    ),
)

# ---- convolution, pooling, resampling --------------------------------------------------------------------------------------------


def _convolution(
    g: Any, input: Any, weight: Any, bias_: Any, stride: Any, padding: Any, dilation: Any, transposed: Any, output_padding: Any,
    groups: Any, wants: Any,
) -> Any:  # fmt: skip
    sizes = [0] if bias_ is None else bias_.shape
    return A.convolution_backward.default(g, input, weight, sizes, stride, padding, dilation, transposed, output_padding, groups, wants)


rule(A.convolution, input__weight__bias=_convolution)
for _n in (2, 3):
    rule(
        getattr(A, f"max_pool{_n}d_with_indices"),
        results=(0,),
        self=lambda g, self, kernel_size, stride, padding, dilation, ceil_mode, result1, _n=_n: getattr(
            A, f"max_pool{_n}d_with_indices_backward"
        ).default(g, self, kernel_size, stride, padding, dilation, ceil_mode, result1),
    )
    _mean, _mean_backward = getattr(A, f"_adaptive_avg_pool{_n}d"), getattr(A, f"_adaptive_avg_pool{_n}d_backward")
    rule(_mean, self=lambda g, self, backward=_mean_backward: backward.default(g, self))
rule(A.adaptive_max_pool2d, results=(0,), self=lambda g, self, result1: A.adaptive_max_pool2d_backward.default(g, self, result1))
rule(
    A.upsample_nearest1d,
    self=lambda g, self_, output_size, scales: A.upsample_nearest1d_backward.default(g, output_size, self_.shape, scales),
)
rule(
    A.upsample_nearest2d,
    self=lambda g, self_, output_size, scales_h, scales_w: A.upsample_nearest2d_backward.default(
        g, output_size, self_.shape, scales_h, scales_w
    ),
)
rule(
    A.upsample_linear1d,
    self=lambda g, self_, output_size, align_corners, scales: A.upsample_linear1d_backward.default(
        g, output_size, self_.shape, align_corners, scales
    ),
)
for _packet, _backward in ((A.upsample_bilinear2d, A.upsample_bilinear2d_backward), (A.upsample_bicubic2d, A.upsample_bicubic2d_backward)):
    rule(
        _packet,
        self=lambda g, self_, output_size, align_corners, scales_h, scales_w, _backward=_backward: _backward.default(
            g, output_size, self_.shape, align_corners, scales_h, scales_w
        ),
    )
rule(
    A.im2col,
    self=lambda g, self_, kernel_size, dilation, padding, stride: A.col2im.default(
        g, self_.shape[-2:], kernel_size, dilation, padding, stride
    ),
)
rule(A.col2im, self=lambda g, kernel_size, dilation, padding, stride: A.im2col.default(g, kernel_size, dilation, padding, stride))
rule(A.pixel_shuffle, self=lambda g, upscale_factor: A.pixel_unshuffle.default(g, upscale_factor))
rule(A.pixel_unshuffle, self=lambda g, downscale_factor: A.pixel_shuffle.default(g, downscale_factor))

# ---- embedding and losses --------------------------------------------------------------------------------------------------------

rule(
    A.embedding,
    weight=lambda g, weight_, indices, padding_idx, scale_grad_by_freq: A.embedding_dense_backward.default(
        g, indices, weight_.shape[0], padding_idx, scale_grad_by_freq
    ),
)
for _packet, _backward in ((A.nll_loss_forward, A.nll_loss_backward), (A.nll_loss2d_forward, A.nll_loss2d_backward)):
    rule(
        _packet,
        results=(0,),
        self=lambda g, self, target, weight, reduction, ignore_index, result1, _backward=_backward: _backward.default(
            g, self, target, weight, reduction, ignore_index, result1
        ),
    )
rule(
    A.mse_loss,
    self=lambda g, self, target, reduction: A.mse_loss_backward.default(g, self, target, reduction),
    target=lambda g, self, target, reduction: A.mse_loss_backward.default(g, target, self, reduction),
)
rule(
    A.smooth_l1_loss,
    self=lambda g, self, target, reduction, beta: A.smooth_l1_loss_backward.default(g, self, target, reduction, beta),
    target=lambda g, self, target, reduction, beta: A.smooth_l1_loss_backward.default(g, target, self, reduction, beta),
)
rule(
    A.huber_loss,
    self=lambda g, self, target, reduction, delta: A.huber_loss_backward.default(g, self, target, reduction, delta),
    target=lambda g, self, target, reduction, delta: A.huber_loss_backward.default(g, target, self, reduction, delta),
)


def _weighed(found: Any, weight: Any, reduction: int, count: int) -> Any:
    if weight is not None:
        found = A.mul.Tensor(found, weight)
    return A.div_.Scalar(found, count) if reduction == 1 else found


def _bce_target(g: Any, self: Any, target_: Any, weight: Any, reduction: int) -> Any:
    found = A.sub.Tensor(A.log.default(A.rsub.Scalar(self, 1)), A.log.default(self))
    return _weighed(A.mul.Tensor(found, g), weight, reduction, target_.size)


rule(
    A.binary_cross_entropy,
    self=lambda g, self, target, weight, reduction: A.binary_cross_entropy_backward.default(g, self, target, weight, reduction),
    target=_bce_target,
)


def _bce_logits(g: Any, self: Any, target: Any, weight: Any, pos_weight: Any, reduction: int) -> Any:
    if pos_weight is None:
        found = A.mul.Tensor(A.sub.Tensor(A.sigmoid.default(self), target), g)
    else:
        t = A.mul.Tensor(pos_weight, target)
        inner = A.sub.Tensor(A.mul.Tensor(A.sub.Tensor(A.add.Scalar(t, 1), target), A.sigmoid.default(self)), t)
        found = A.mul.Tensor(inner, g)
    return _weighed(found, weight, reduction, self._aval.size)


def _bce_logits_target(g: Any, self: Any, target_: Any, weight: Any, pos_weight: Any, reduction: int) -> Any:
    if pos_weight is None:
        found = A.neg.default(self)
    else:
        p = A.sigmoid.default(self)
        found = A.sub.Tensor(A.log.default(A.rsub.Scalar(p, 1)), A.mul.Tensor(pos_weight, A.log.default(p)))
    return _weighed(A.mul.Tensor(found, g), weight, reduction, target_.size)


rule(A.binary_cross_entropy_with_logits, self=_bce_logits, target=_bce_logits_target)


def _xlogy(g: Any, self: Any, other: Any) -> Any:
    found = A.xlogy.Tensor(g, other)
    low = A.le.Scalar(other, 0.0)
    return A.masked_fill.Scalar(found, A.bitwise_and.Tensor(A.eq.Scalar(self, 0.0), low), 0.0)


rule(
    A.xlogy.Tensor,
    self=lambda g, self, other: _xlogy(g, self, other),
    other=lambda g, self, other: A.div.Tensor(A.mul.Tensor(g, self), other),
)

# ---- attention and distances -----------------------------------------------------------------------------------------------------

rule(
    A._scaled_dot_product_flash_attention_for_cpu,
    results=(0,),
    query__key__value=lambda g, query, key, value, result, result1, dropout_p, is_causal, attn_mask, scale: (
        A._scaled_dot_product_flash_attention_for_cpu_backward.default(
            g, query, key, value, result, result1, dropout_p, is_causal, attn_mask=attn_mask, scale=scale
        )
    ),
)


def _cdist_other(g: Any, x1: Any, x2: Any, p: float, result: Any) -> Any:
    def turned(x: Any) -> Any:
        return packed(A.transpose.int(x, -2, -1))

    distances = turned(result)
    return A._cdist_backward.default(turned(g), x2, x1, p, distances)


rule(
    A._trilinear,
    i1=lambda g, i2, i3, expand1, expand2, expand3, sumdim: A._trilinear.default(g, i2, i3, sumdim, expand2, expand3, expand1),
    i2=lambda g, i1, i3, expand1, expand2, expand3, sumdim: A._trilinear.default(i1, g, i3, expand1, sumdim, expand3, expand2),
    i3=lambda g, i1, i2, expand1, expand2, expand3, sumdim: A._trilinear.default(i1, i2, g, expand1, expand2, sumdim, expand3),
)
rule(A._cdist_forward, x1=lambda g, x1, x2, p, result: A._cdist_backward.default(packed(g), x1, x2, p, result), x2=_cdist_other)
rule(A.norm.Scalar, self=lambda g, self, p, result: vector_norm(g, self, p, None, False, result))
rule(
    A.norm.ScalarOpt_dim,
    self=lambda g, self, p, dim, keepdim, result: vector_norm(g, self, 2 if p is None else p, dim, keepdim, result),
)
rule(A.poisson, A.bernoulli.p, A.bernoulli_.float, self=lambda g: zeros(g))
rule(A._safe_softmax, self=lambda g, result, dim, self_: A._softmax_backward_data.default(g, result, dim, self_.dtype))
