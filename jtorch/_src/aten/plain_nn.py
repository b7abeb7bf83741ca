"""Kernels of the inner operators of neural networks: losses, activations, normalisations,
convolutions, pooling and attention."""

# ruff: noqa: PLW0108  (what a kernel means is said by its operator)
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core import Tensor
from ..bind.cores import write
from ..bind.everything import _C, F, T
from ..facts import dtypes
from ..ops.smooth_activation import IN_PLACE_ELU
from ..tensor.writing import check_inplace
from .by_names import REDUCTIONS
from .kernels import kernel
from .overloads import aten
from .pulling import through, vjp

if TYPE_CHECKING:
    from ..facts.kinds import Keywords, Operand, Row
    from .overloads import OpOverloadPacket


A = aten


# ---- softmax and losses --------------------------------------------------------------------------


@kernel(A._softmax)
def _softmax(self: Tensor, dim: int, half_to_float: bool = False) -> Tensor:
    return T.softmax(self, dim, dtype=dtypes.float32 if half_to_float else None)


@kernel(A._safe_softmax)
def _safe_softmax(self: Tensor, dim: int, dtype: object = None) -> Tensor:
    # to attend to: zeros, not nan, and so are gradients
    nothing = (self == float("-inf")).all(dim, True)
    return T.softmax(self.masked_fill(nothing, 0.0), dim, dtype=dtype).masked_fill(nothing, 0.0)


@kernel(A._log_softmax)
def _log_softmax(self: Tensor, dim: int, half_to_float: bool = False) -> Tensor:
    return T.log_softmax(self, dim, dtype=dtypes.float32 if half_to_float else None)


@kernel(A.nll_loss_forward, A.nll_loss2d_forward)
def nll_loss_forward(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> Any:
    name = REDUCTIONS[reduction]
    out = F.nll_loss(self, target, weight, ignore_index=ignore_index, reduction=name)
    kept = T.ne(target, ignore_index)
    if name == "none":
        return out, self.new_zeros(())
    if weight is None:
        return out, kept.sum().to(self.dtype)
    chosen = T.gather(weight, 0, T.clamp(target, 0, weight._aval.size - 1).reshape(-1))
    return out, (chosen * kept.reshape(-1)).sum()


@kernel(A.nll_loss2d, autocast="float32")
def nll_loss2d(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = 1,
    ignore_index: int = -100,
) -> Tensor:
    if target._aval.ndim != 3:
        raise RuntimeError(
            "only batches of spatial targets supported (3D tensors) but got targets of dimension: "
            f"{target._aval.ndim}"
        )
    if self._aval.ndim != 4:
        raise RuntimeError(
            "only batches of spatial inputs supported (4D tensors), but got input of dimension: "
            f"{self._aval.ndim}"
        )
    return A.nll_loss2d_forward.default(self, target, weight, reduction, ignore_index)[0]


@kernel(A.nll_loss_backward, A.nll_loss2d_backward)
def nll_loss_backward(
    grad_output: Tensor,
    self: object,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: object,
) -> Any:
    name = REDUCTIONS[reduction]
    if name == "mean":  # the weight is that of all targets, of which these may be a part
        name, grad_output = "sum", grad_output / T.where(T.eq(total_weight, 0), 1, total_weight)
    return through(
        lambda x: F.nll_loss(x, target, weight, ignore_index=ignore_index, reduction=name),
        self,
        grad_output,
    )


# ---- activations ---------------------------------------------------------------------------------


@kernel(A.threshold_backward)
def threshold_backward(grad_output: Tensor, self: Tensor, threshold: int) -> Tensor:
    return T.where(T.gt(self, threshold), grad_output, T.zeros_like(grad_output))


@kernel(A.tanh_backward)
def tanh_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    return grad_output * (1 - output * output).conj()


@kernel(A.sigmoid_backward)
def sigmoid_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    return grad_output * ((1 - output) * output).conj()


@kernel(A.leaky_relu_backward)
def leaky_relu_backward(
    grad_output: Tensor, self: object, negative_slope: object, self_is_result: bool
) -> Any:
    del self_is_result
    return through(lambda x: F.leaky_relu(x, negative_slope), self, grad_output)


@kernel(A.elu)
def elu(self: Tensor, alpha: object = 1, scale: object = 1, input_scale: object = 1) -> Tensor:
    if scale == 1 and input_scale == 1:
        return F.elu(self, alpha)
    return _C.scaled_elu(self, alpha, scale, input_scale)


@kernel(A.elu_)
def elu_(self: Tensor, alpha: object = 1, scale: object = 1, input_scale: object = 1) -> Tensor:
    check_inplace(self)
    return write(
        self, elu(self, alpha, scale, input_scale), "EluBackward1", IN_PLACE_ELU.refusal(alpha)
    )


@kernel(A.elu_backward)
def elu_backward(
    grad_output: Tensor,
    alpha: Any,
    scale: Any,
    input_scale: object,
    is_result: bool,
    self_or_result: object,
) -> Any:
    if is_result:
        low = input_scale * (self_or_result + alpha * scale)
        return grad_output * T.where(
            T.le(self_or_result, 0), low, T.full_like(self_or_result, scale)
        )
    return through(lambda x: elu(x, alpha, scale, input_scale), self_or_result, grad_output)


@kernel(A.log_sigmoid_forward)
def log_sigmoid_forward(self: Tensor) -> Row:
    return F.logsigmoid(self), T.exp(-self.abs())


@kernel(A.log_sigmoid_backward)
def log_sigmoid_backward(grad_output: Tensor, self: object, buffer: object) -> Any:
    del buffer
    return through(lambda x: F.logsigmoid(x), self, grad_output)


@kernel(A.rrelu_with_noise)
def rrelu_with_noise(
    self: Tensor,
    noise: Operand,
    lower: Operand = 0.125,
    upper: Operand = 0.3333333333333333,
    training: bool = False,
    generator: object = None,
) -> Any:
    if not training:
        return F.leaky_relu(self, (lower + upper) / 2)
    noise.copy_(_C._rrelu_slopes(self, lower, upper, generator))
    return self * noise


@kernel(A.rrelu_with_noise_backward)
def rrelu_with_noise_backward(
    grad_output: Tensor,
    self: object,
    noise: Operand,
    lower: Operand,
    upper: Operand,
    training: bool,
    self_is_result: bool,
) -> Any:
    del self_is_result
    if training:
        return grad_output * noise
    return through(lambda x: F.leaky_relu(x, (lower + upper) / 2), self, grad_output)


@kernel(A._prelu_kernel)
def _prelu_kernel(self: Tensor, weight: Tensor) -> Tensor:
    return T.where(T.gt(self, 0), self, self * weight)


@kernel(A._prelu_kernel_backward)
def _prelu_kernel_backward(grad_output: Tensor, self: Tensor, weight: Tensor) -> tuple[Tensor, ...]:
    positive = T.gt(self, 0)
    zero = T.zeros_like(grad_output)
    return T.where(positive, grad_output, weight * grad_output), T.where(
        positive, zero, self * grad_output
    )


# ---- normalisation -------------------------------------------------------------------------------


@kernel(A.native_layer_norm)
def native_layer_norm(
    input: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, ...]:
    return T.native_layer_norm(input, tuple(normalized_shape), weight, bias, eps)


@kernel(A.native_layer_norm_backward)
def native_layer_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: list[int],
    mean: object,
    rstd: object,
    weight: Tensor | None,
    bias: Tensor | None,
    output_mask: list[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    del mean
    dims = list(range(-len(normalized_shape), 0))
    part, scale = _standardised(input, rstd, dims)
    grad = grad_out.to(part.dtype)
    others = list(range(part._aval.ndim - len(dims)))
    return (
        _of_standardised(grad if weight is None else grad * weight, part, scale, dims).to(
            input.dtype
        )
        if output_mask[0]
        else None,
        _summed(grad * part, others, weight) if output_mask[1] and weight is not None else None,
        _summed(grad, others, bias) if output_mask[2] and bias is not None else None,
    )


def _summed(x: Tensor, dims: list[int], like: Tensor) -> Tensor:
    return (x.sum(dims) if dims else x).to(like.dtype)


def _standardised(x: Tensor, rstd: Any, dims: list[int]) -> tuple[Tensor, ...]:
    """``x`` less its mean by its deviation, and the inverse of that: ``rstd``, as a function of
    ``x`` for second derivatives."""
    x = x.to(rstd.dtype)
    centred = x - x.mean(dims, keepdim=True)
    var = centred.square().mean(dims, keepdim=True)
    # what was added to the variance: operators are told the result alone
    scale = T.rsqrt(var + (T.pow(rstd, -2) - var).detach())
    return centred * scale, scale


def _of_standardised(g: Any, part: object, scale: object, dims: list[int]) -> Tensor:
    return scale * (g - g.mean(dims, keepdim=True) - part * (g * part).mean(dims, keepdim=True))


@kernel(A.native_group_norm)
def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> Any:
    return T.native_group_norm(input, weight, bias, N, C, HxW, group, eps)


@kernel(A.native_group_norm_backward)
def native_group_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    mean: object,
    rstd: Tensor,
    weight: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: list[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    del mean
    shape, channels = (N, group, C // group * HxW), (1, C, *[1] * (input._aval.ndim - 2))
    part, scale = _standardised(input.reshape(shape), rstd.unsqueeze(-1), [-1])
    grad = grad_out.to(part.dtype)
    scaled = grad if weight is None else grad * weight.reshape(channels)
    others = [d for d in range(input._aval.ndim) if d != 1]
    return (
        _of_standardised(scaled.reshape(shape), part, scale, [-1])
        .reshape(input.shape)
        .to(input.dtype)
        if output_mask[0]
        else None,
        _summed(grad * part.reshape(input.shape), others, weight)
        if output_mask[1] and weight is not None
        else None,
        _summed(grad, others, input if weight is None else weight) if output_mask[2] else None,
    )


@kernel(A.native_batch_norm)
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    axes = [d for d in range(input._aval.ndim) if d != 1]
    if training:
        mean = input.mean(axes)
        inverse = T.rsqrt(input.var(axes, correction=0) + eps)
    else:
        mean, inverse = input.new_zeros((0,)), input.new_zeros((0,))
    out = F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    return out, mean, inverse


@kernel(A.native_batch_norm_backward)
def native_batch_norm_backward(
    grad_out: object, input: Tensor, weight: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, save_mean: object, save_invstd: object, train: bool, eps: float,
    output_mask: list[bool],
) -> tuple[None, ...]:  # fmt: skip
    del save_mean, save_invstd
    bias = input.new_zeros((input._aval.shape[1],)) if output_mask[2] else None
    mean, var = (None, None) if train else (running_mean, running_var)
    return tuple(
        vjp(
            lambda x, w, b: F.batch_norm(x, mean, var, w, b, train, 0.0, eps),
            [input, weight, bias],
            grad_out,
            output_mask,
        )
    )


# ---- convolution and pooling ---------------------------------------------------------------------


@kernel(A.convolution)
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
) -> Tensor:
    n = len(stride)
    if transposed:
        return getattr(F, f"conv_transpose{n}d")(
            input,
            weight,
            bias,
            tuple(stride),
            tuple(padding),
            tuple(output_padding),
            groups,
            tuple(dilation),
        )
    return getattr(F, f"conv{n}d")(
        input, weight, bias, tuple(stride), tuple(padding), tuple(dilation), groups
    )


@kernel(A.convolution_backward)
def convolution_backward(
    grad_output: Tensor, input: Tensor, weight: Tensor, bias_sizes: Any, stride: object,
    padding: object, dilation: object, transposed: bool, output_padding: object, groups: int,
    output_mask: Any,
) -> tuple[None, ...]:  # fmt: skip
    bias = input.new_zeros(tuple(bias_sizes)) if output_mask[2] else None
    return tuple(
        vjp(
            lambda x, w, b: convolution(
                x, w, b, stride, padding, dilation, transposed, output_padding, groups
            ),
            [input, weight, bias],
            grad_output,
            output_mask,
        )
    )


def _max_pool(n: int) -> None:
    def forward(
        self: Tensor,
        kernel_size: list[int],
        stride: tuple[object, ...] | list[int] = (),
        padding: int = 0,
        dilation: int = 1,
        ceil_mode: bool = False,
    ) -> tuple[Tensor, ...]:
        return getattr(F, f"max_pool{n}d_with_indices")(
            self, kernel_size, stride or None, padding, dilation, ceil_mode
        )

    def backward(
        grad_output: object,
        self: object,
        kernel_size: list[int],
        stride: list[int] | tuple[object, ...],
        padding: int,
        dilation: int,
        ceil_mode: bool,
        indices: object,
    ) -> None:
        del indices
        return through(
            lambda x: forward(x, kernel_size, stride, padding, dilation, ceil_mode)[0],
            self,
            grad_output,
        )

    kernel(getattr(A, f"max_pool{n}d_with_indices"))(forward)
    kernel(getattr(A, f"max_pool{n}d_with_indices_backward"))(backward)


def _avg_pool(n: int) -> None:
    @kernel(getattr(A, f"avg_pool{n}d"))
    def forward(
        self: Tensor, kernel_size: object, stride: object = (), padding: object = 0,
        ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: object = None,
    ) -> Tensor:  # fmt: skip
        return getattr(F, f"avg_pool{n}d")(
            self,
            kernel_size,
            stride or None,
            padding,
            ceil_mode,
            count_include_pad,
            divisor_override,
        )


def _adaptive(n: int) -> None:
    def forward(self: Tensor, output_size: list[object]) -> Tensor:
        return getattr(F, f"adaptive_avg_pool{n}d")(self, tuple(output_size))

    def backward(grad_output: Tensor, self: object) -> None:
        return through(lambda x: forward(x, grad_output._aval.shape[-n:]), self, grad_output)

    kernel(getattr(A, f"_adaptive_avg_pool{n}d"))(forward)
    kernel(getattr(A, f"_adaptive_avg_pool{n}d_backward"))(backward)

    def largest(self: Tensor, output_size: list[object]) -> tuple[Tensor, ...]:
        return getattr(F, f"adaptive_max_pool{n}d")(self, tuple(output_size), True)

    def largest_backward(grad_output: Tensor, self: object, indices: object) -> object:
        del indices
        return through(
            lambda x: getattr(F, f"adaptive_max_pool{n}d")(x, grad_output._aval.shape[-n:]),
            self,
            grad_output,
        )

    kernel(getattr(A, f"adaptive_max_pool{n}d"))(largest)
    kernel(getattr(A, f"adaptive_max_pool{n}d_backward"))(largest_backward)


def _unpool(n: int) -> None:
    def places(
        self: Tensor,
        indices: Tensor,
        output_size: list[int],
        stride: Any = 1,
        padding: list[int] | int = 0,
    ) -> Tensor:
        del padding
        if n == 3 and min(stride) <= 0:
            raise RuntimeError(
                f"strides should be greater than zero, but got stride: {list(stride)}"
            )
        # The function gets windows with steps of one that come to the size: which windows they were
        # changes nothing.
        kernel_size = tuple(
            [m - k + 1 for m, k in zip(output_size, self._aval.shape[-n:], strict=True)]
        )
        return getattr(F, f"max_unpool{n}d")(self, indices, kernel_size, 1)

    kernel(getattr(A, f"max_unpool{n}d"))(places)


for _n in (2, 3):
    _max_pool(_n)
    _avg_pool(_n)
    _adaptive(_n)
    _unpool(_n)


def _padding(mode: str, name: str) -> None:
    def forward(self: Tensor, padding: list[int]) -> Any:
        return F.pad(self, tuple(padding), mode=mode)

    for n in (1, 2, 3):
        kernel(
            getattr(A, f"{name}{n}d"), autocast="cpu float32" if (mode, n) != ("reflect", 3) else ""
        )(forward)


_padding("reflect", "reflection_pad")
_padding("replicate", "replication_pad")


@kernel(A.constant_pad_nd)
def constant_pad_nd(self: Tensor, pad: Any, value: object = 0) -> Any:
    return F.pad(self, tuple(pad), value=value)


def _upsample(name: str, mode: str, n: int, aligned: bool) -> None:
    def forward(self: Tensor, output_size: list[object], *rest: object) -> Tensor:
        options: Keywords = {"align_corners": rest[0]} if aligned else {}
        if name.endswith("_aa"):
            options["antialias"] = True
        scales = rest[1:] if aligned else rest
        given = [s for s in scales if s is not None]
        # A scale that is given takes part in the arithmetic, as in the public function.
        if len(given) == n:
            return F.interpolate(
                self, scale_factor=tuple(given), mode=mode, recompute_scale_factor=False, **options
            )
        return F.interpolate(self, size=tuple(output_size), mode=mode, **options)

    def backward(
        grad_output: Tensor, output_size: list[object], input_size: Any, *rest: object
    ) -> None:
        return through(
            lambda x: forward(x, output_size, *rest),
            grad_output.new_zeros(tuple(input_size)),
            grad_output,
        )

    packet = getattr(A, name)
    kernel(packet, packet.default)(forward)
    kernel(getattr(A, f"{name}_backward"))(backward)


for _name, _mode, _n, _aligned in (
    ("upsample_nearest1d", "nearest", 1, False), ("upsample_nearest2d", "nearest", 2, False),
    ("upsample_nearest3d", "nearest", 3, False), ("upsample_linear1d", "linear", 1, True),
    ("upsample_bilinear2d", "bilinear", 2, True), ("upsample_bicubic2d", "bicubic", 2, True),
    ("upsample_trilinear3d", "trilinear", 3, True),
    ("_upsample_nearest_exact1d", "nearest-exact", 1, False),
    ("_upsample_nearest_exact2d", "nearest-exact", 2, False),
    ("_upsample_nearest_exact3d", "nearest-exact", 3, False),
    ("_upsample_bilinear2d_aa", "bilinear", 2, True),
    ("_upsample_bicubic2d_aa", "bicubic", 2, True),
):  # fmt: skip
    _upsample(_name, _mode, _n, _aligned)


def _sampled(packet: OpOverloadPacket) -> None:
    sample = getattr(T, packet.__name__.removesuffix("_backward"))

    @kernel(packet)
    def backward(
        grad_output: object,
        input: object,
        grid: object,
        interpolation_mode: int,
        padding_mode: int,
        align_corners: bool,
        mask: Sequence[bool] | None,
    ) -> tuple[None, ...]:
        ways = (interpolation_mode, padding_mode, align_corners)
        return tuple(
            vjp(lambda x, places: sample(x, places, *ways), [input, grid], grad_output, mask)
        )


_sampled(A.grid_sampler_2d_backward)
_sampled(A.grid_sampler_3d_backward)


@kernel(A.im2col)
def im2col(
    self: Tensor, kernel_size: list[int], dilation: list[int], padding: list[int], stride: list[int]
) -> Tensor:
    return F.unfold(self, tuple(kernel_size), tuple(dilation), tuple(padding), tuple(stride))


@kernel(A.col2im)
def col2im(
    self: Tensor,
    output_size: list[object],
    kernel_size: list[int],
    dilation: list[int],
    padding: list[int],
    stride: list[int],
) -> Tensor:
    return F.fold(
        self, tuple(output_size), tuple(kernel_size), tuple(dilation), tuple(padding), tuple(stride)
    )


# ---- embedding, dropout, linear, attention -------------------------------------------------------


@kernel(A.embedding)
def embedding(
    weight: Tensor,
    indices: object,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    del padding_idx, scale_grad_by_freq, sparse
    return F.embedding(indices, weight)


@kernel(A.embedding_renorm_)
def embedding_renorm_(self: Tensor, indices: object, max_norm: float, norm_type: float) -> Tensor:
    return T.embedding_renorm_(self, indices, max_norm, norm_type)


@kernel(A.embedding_dense_backward)
def embedding_dense_backward(
    grad_output: Tensor,
    indices: object,
    num_weights: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
) -> Any:
    weight = grad_output.new_zeros((num_weights, grad_output._aval.shape[-1]))
    padding = None if padding_idx < 0 else padding_idx
    return through(
        lambda w: F.embedding(
            indices, w, padding_idx=padding, scale_grad_by_freq=scale_grad_by_freq
        ),
        weight,
        grad_output,
    )


@kernel(A.native_dropout)
def native_dropout(input: Tensor, p: float, train: object) -> Any:
    if not train:
        return input.clone(), T.ones_like(input, dtype=dtypes.bool_)
    mask = T.empty_like(input).bernoulli_(1 - p)
    return input * mask / (1 - p) if p < 1 else T.zeros_like(input), mask.to(dtypes.bool_)


@kernel(A.native_dropout_backward)
def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    return grad_output * mask * scale


@kernel(A.linear)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return F.linear(input, weight, bias)


@kernel(A._scaled_dot_product_flash_attention_for_cpu)
def attention(
    query: Tensor,
    key: Tensor,
    value: object,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: object = None,
) -> object:
    del dropout_p
    out = F.scaled_dot_product_attention(query, key, value, attn_mask, 0.0, is_causal, scale, True)
    if key._aval.shape[1] != query._aval.shape[1]:
        key = T.repeat_interleave(key, query._aval.shape[1] // key._aval.shape[1], 1)
    factor = query._aval.shape[-1] ** -0.5 if scale is None else scale
    scores = T.matmul(query, key.transpose(-2, -1)) * factor
    if attn_mask is not None:
        scores = scores + attn_mask
    if is_causal:
        rows, columns = scores._aval.shape[-2:]
        scores = scores.masked_fill(
            T.ones(rows, columns, dtype=dtypes.bool_, device=scores.device).triu(1), float("-inf")
        )
    return out, T.logsumexp(scores, -1)


@kernel(A._scaled_dot_product_flash_attention_for_cpu_backward)
def attention_backward(
    grad_out: object, query: Tensor, key: object, value: object, out: object, logsumexp: object,
    dropout_p: float, is_causal: bool, *, attn_mask: Tensor | None = None,
    scale: object = None,
) -> object:  # fmt: skip
    del out, logsumexp, dropout_p
    return tuple(
        vjp(
            lambda q, k, v: F.scaled_dot_product_attention(
                q, k, v, attn_mask, 0.0, is_causal, scale, True
            ),
            [query, key, value],
            grad_out,
        )
    )
