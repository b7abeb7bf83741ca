"""Functions as an exporter sees them: one operator each, before PyTorch takes composite operators
apart.

A call is the operator of the same name wherever its arguments fit a schema; what stands here are
functions whose Python form differs from the operator's, or that PyTorch writes in Python with
several operators. Everything else is as in the other routes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core import Tensor
from ..bind.everything import F, M, T
from ..facts import dtypes
from ..facts.layouts import preserve_format
from ..tensor.methods import _parse_to
from .by_names import REDUCTIONS
from .functions import path_of
from .kernels import kernel
from .overloads import OpOverloadPacket, aten
from .routes_math import unique_consecutive
from .routes_shape import size_of, split
from .schema import texts_of

if TYPE_CHECKING:
    from ..facts.kinds import Decorator, Keywords, Values
    from ..tensor.symbols import Float


A = aten
WHOLE: dict[str, Callable[..., object]] = {}
#: Functions whose own bodies call public functions, which are then seen one by one.
BODIES = frozenset(("nn.functional.multi_head_attention_forward",))


def whole(*functions: Any) -> Decorator:
    """Declares what a public function is to an exporter; it may return ``NotImplemented``, to be
    taken apart as usual."""

    def declare(body: Callable[..., object]) -> Callable[..., object]:
        for function in functions:
            WHOLE[path_of(function)] = body
        return body

    return declare


def packet_of(names: list[str]) -> OpOverloadPacket | None:
    """The operator of one of several names."""
    for name in names:
        if texts_of(name):
            return getattr(aten, name)
    return None


def _reduction(size_average: object, reduce: object, reduction: str) -> int | None:
    return (
        None
        if size_average is not None or reduce is not None or reduction not in REDUCTIONS
        else REDUCTIONS.index(reduction)
    )


def _list(x: object, n: int) -> Values:
    return list(x) if isinstance(x, (list, tuple)) else [x] * n


# ---- kernels of the operators above --------------------------------------------------------------


@kernel(A.cross_entropy_loss)
def _cross_entropy(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = 1,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> object:
    function = F.cross_entropy
    return function(
        self,
        target,
        weight,
        ignore_index=ignore_index,
        reduction=REDUCTIONS[reduction],
        label_smoothing=label_smoothing,
    )


@kernel(A.nll_loss_nd)
def _nll_loss(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = 1,
    ignore_index: int = -100,
) -> object:
    return F.nll_loss(
        self, target, weight, ignore_index=ignore_index, reduction=REDUCTIONS[reduction]
    )


def _upsampling(name: str, mode: str) -> None:
    interpolate = F.interpolate
    aligns = not mode.startswith("nearest")
    smooth = {"antialias": True} if name.endswith("_aa") else {}

    @kernel(getattr(A, name).vec)
    def run(
        input: Tensor,
        output_size: list[object] | None,
        *more: Any,
        align_corners: bool = False,
        scale_factors: Any = None,
    ) -> Any:
        if aligns and more:
            align_corners, more = more[0], more[1:]
        factors = more[0] if more else scale_factors
        named: Keywords = {"align_corners": align_corners, **smooth} if aligns else {}
        size = None if output_size is None else tuple(output_size)
        return interpolate(input, size, None if factors is None else tuple(factors), mode, **named)


for _name, _mode in {
    "upsample_nearest1d": "nearest", "upsample_nearest2d": "nearest",
    "upsample_nearest3d": "nearest", "upsample_linear1d": "linear",
    "upsample_bilinear2d": "bilinear", "upsample_trilinear3d": "trilinear",
    "upsample_bicubic2d": "bicubic", "_upsample_nearest_exact1d": "nearest-exact",
    "_upsample_nearest_exact2d": "nearest-exact", "_upsample_nearest_exact3d": "nearest-exact",
    "_upsample_bilinear2d_aa": "bilinear", "_upsample_bicubic2d_aa": "bicubic",
}.items():  # fmt: skip
    _upsampling(_name, _mode)


@kernel(A._native_batch_norm_legit_functional)
def _batch_norm_functional(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> object:
    mean, var = running_mean.clone(), running_var.clone()
    out, saved_mean, saved_scale = A.native_batch_norm.default(
        input, weight, bias, mean, var, training, momentum, eps
    )
    return out, saved_mean, saved_scale, mean, var


@kernel(A._native_batch_norm_legit_no_training)
def _batch_norm_of_running(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
) -> tuple[Tensor, ...]:
    return A.native_batch_norm.default(
        input, weight, bias, running_mean, running_var, False, momentum, eps
    )


@kernel(A.log_sigmoid)
def _log_sigmoid(self: Tensor) -> object:
    return F.logsigmoid(self)


@kernel(A.mT)
def _transposed(self: Tensor) -> Tensor:
    return self.transpose(-2, -1)


@kernel(A.mH)
def _adjoint(self: Tensor) -> object:
    return self.transpose(-2, -1).conj()


@kernel(A.numpy_T)
def _reversed(self: Tensor) -> object:
    return self.permute(tuple(range(self.dim() - 1, -1, -1)))


# ---- activations and dropout ---------------------------------------------------------------------


@whole(F.logsigmoid)
def _logsigmoid(input: object) -> object:
    return A.log_sigmoid.default(input)


@whole(F.softmax, T.softmax, M.softmax)
def _softmax(
    input: object, dim: object = None, _stacklevel: int = 3, dtype: object = None
) -> Tensor:
    if isinstance(_stacklevel, dtypes.dtype):
        dtype = _stacklevel
    return NotImplemented if type(dim) is not int else A.softmax.int(input, dim, dtype)


@whole(F.log_softmax, T.log_softmax, M.log_softmax)
def _log_softmax(
    input: object, dim: object = None, _stacklevel: int = 3, dtype: object = None
) -> Any:
    if isinstance(_stacklevel, dtypes.dtype):
        dtype = _stacklevel
    return NotImplemented if type(dim) is not int else A.log_softmax.int(input, dim, dtype)


@whole(F.softmin)
def _softmin(
    input: object, dim: object = None, _stacklevel: int = 3, dtype: object = None
) -> object:
    return (
        NotImplemented if type(dim) is not int else A.softmax.int(A.neg.default(input), dim, dtype)
    )


def _dropout(path: str, name: str, by_default: bool) -> None:
    @whole(f"nn.functional.{path}")
    def run(
        input: Tensor, p: float = 0.5, training: bool = by_default, inplace: bool = False
    ) -> Any:
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        found = getattr(A, f"{name}_" if inplace else name).default
        return found(input, p, training)


for _path, _name in {
    "dropout": "dropout", "dropout1d": "feature_dropout", "dropout2d": "feature_dropout",
    "dropout3d": "feature_dropout", "alpha_dropout": "alpha_dropout",
    "feature_alpha_dropout": "feature_alpha_dropout",
}.items():  # fmt: skip
    if texts_of(_name):
        _dropout(_path, _name, _path not in ("alpha_dropout", "feature_alpha_dropout"))


@whole(F.embedding)
def _embedding(
    input: Tensor, weight: Tensor, padding_idx: object = None, max_norm: object = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> object:  # fmt: skip
    del norm_type
    if max_norm is not None:
        return NotImplemented
    padding = -1 if padding_idx is None else padding_idx % weight._aval.shape[0]
    return A.embedding.default(weight, input, padding, scale_grad_by_freq, sparse)


# ---- normalisation -------------------------------------------------------------------------------


@whole(F.layer_norm)
def _layer_norm(
    input: object,
    normalized_shape: tuple[int, ...],
    weight: object = None,
    bias: object = None,
    eps: float = 1e-5,
) -> object:
    return A.layer_norm.default(input, list(normalized_shape), weight, bias, eps, False)


@whole(F.group_norm)
def _group_norm(
    input: object, num_groups: int, weight: object = None, bias: object = None, eps: float = 1e-5
) -> object:
    return A.group_norm.default(input, num_groups, weight, bias, eps, False)


@whole(F.rms_norm)
def _rms_norm(
    input: object, normalized_shape: Any, weight: object = None, eps: object = None
) -> object:
    return A.rms_norm.default(input, list(normalized_shape), weight, eps)


@whole(F.batch_norm)
def _batch_norm(
    input: Tensor, running_mean: Tensor, running_var: Tensor, weight: Tensor | None = None,
    bias: object = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> object:  # fmt: skip
    if training and input._aval.ndim > 1:
        shape = input._aval.shape
        if shape[0] == 1 and all(n == 1 for n in shape[2:]):
            raise ValueError(
                "Expected more than 1 value per channel when training, got input size "
                f"{input.shape}"
            )
    return A.batch_norm.default(
        input, weight, bias, running_mean, running_var, training, momentum, eps, False
    )


@whole(F.instance_norm)
def _instance_norm(
    input: object, running_mean: object = None, running_var: object = None, weight: object = None,
    bias: object = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> object:  # fmt: skip
    return A.instance_norm.default(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False
    )


@whole(F.normalize)
def _normalize(
    input: object, p: float = 2.0, dim: object = 1, eps: float = 1e-12, out: object = None
) -> object:
    if out is not None:
        return NotImplemented
    norm = A.clamp_min.default(A.linalg_vector_norm.default(input, p, _list(dim, 1), True), eps)
    return A.div.Tensor(input, A.expand_as.default(norm, input))


# ---- pooling and images --------------------------------------------------------------------------


def _pooling(n: int) -> None:
    maximum, mean = getattr(A, f"max_pool{n}d").default, getattr(A, f"avg_pool{n}d").default
    adaptive = getattr(A, f"adaptive_avg_pool{n}d").default

    @whole(f"nn.functional.max_pool{n}d", f"max_pool{n}d")
    def largest(
        input: Tensor, kernel_size: object, stride: object = None, padding: int = 0,
        dilation: int = 1,
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> object:  # fmt: skip
        if return_indices:
            return NotImplemented
        return maximum(
            input,
            _list(kernel_size, n),
            [] if stride is None else _list(stride, n),
            _list(padding, n),
            _list(dilation, n),
            ceil_mode,
        )

    @whole(f"nn.functional.avg_pool{n}d")
    def averaged(
        input: object, kernel_size: int, stride: object = None, padding: object = 0,
        ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: object = None,
    ) -> object:  # fmt: skip
        more = () if n == 1 else (divisor_override,)
        steps = [] if stride is None else _list(stride, n)
        return mean(
            input,
            _list(kernel_size, n),
            steps,
            _list(padding, n),
            ceil_mode,
            count_include_pad,
            *more,
        )

    highest = getattr(A, f"adaptive_max_pool{n}d").default

    def wanted(input: Tensor, output_size: tuple[object, ...] | int) -> list[object]:
        return [
            m if given is None else given
            for m, given in zip(input._aval.shape[-n:], _list(output_size, n), strict=True)
        ]

    @whole(f"nn.functional.adaptive_avg_pool{n}d")
    def to_size(input: Tensor, output_size: tuple[object, ...]) -> Tensor:
        return adaptive(input, wanted(input, output_size))

    @whole(f"nn.functional.adaptive_max_pool{n}d")
    def highest_of(
        input: Tensor, output_size: tuple[int | None, ...] | int, return_indices: bool = False
    ) -> tuple[Tensor, ...] | Tensor:
        found = highest(input, wanted(input, output_size))
        return found if return_indices else found[0]


for _n in (1, 2, 3):
    _pooling(_n)


@whole(F.pad)
def _pad(
    input: object, pad: tuple[object, ...], mode: str = "constant", value: object = None
) -> object:
    return A.pad.default(input, list(pad), mode, value)


@whole(F.unfold)
def _unfold(
    input: object,
    kernel_size: object,
    dilation: object = 1,
    padding: object = 0,
    stride: object = 1,
) -> object:
    return A.im2col.default(
        input, _list(kernel_size, 2), _list(dilation, 2), _list(padding, 2), _list(stride, 2)
    )


@whole(F.interpolate)
def _interpolate(
    input: Tensor, size: tuple[object, ...] | None = None,
    scale_factor: tuple[float, ...] | Float | float | None = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> object:  # fmt: skip
    n = input._aval.ndim - 2
    names = {("nearest", 1): "upsample_nearest1d", ("nearest", 2): "upsample_nearest2d",
             ("nearest", 3): "upsample_nearest3d", ("linear", 1): "upsample_linear1d",
             ("bilinear", 2): "upsample_bilinear2d", ("trilinear", 3): "upsample_trilinear3d",
             ("bicubic", 2): "upsample_bicubic2d",
             **{("nearest-exact", d): f"_upsample_nearest_exact{d}d" for d in (1, 2, 3)},
             }  # fmt: skip
    name = names.get((mode, n))
    if name is not None and antialias:
        name = f"_{name}_aa" if mode in ("bilinear", "bicubic") else None
    if name is None or recompute_scale_factor or "vec" not in texts_of(name):
        return NotImplemented
    wanted = None if size is None else _list(size, n)
    factors = None if scale_factor is None else [float(s) for s in _list(scale_factor, n)]
    overload = getattr(A, name).vec
    return (
        overload(input, wanted, factors)
        if mode.startswith("nearest")
        else overload(input, wanted, bool(align_corners), factors)
    )


# ---- losses --------------------------------------------------------------------------------------


@whole(F.cross_entropy)
def _cross_entropy_loss(
    input: object, target: object, weight: object = None, size_average: object = None,
    ignore_index: int = -100, reduce: object = None, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> object:  # fmt: skip
    how = _reduction(size_average, reduce, reduction)
    return (
        NotImplemented
        if how is None
        else A.cross_entropy_loss.default(input, target, weight, how, ignore_index, label_smoothing)
    )


@whole(F.nll_loss)
def _nll(
    input: object, target: object, weight: object = None, size_average: object = None,
    ignore_index: int = -100, reduce: object = None, reduction: str = "mean",
) -> object:  # fmt: skip
    how = _reduction(size_average, reduce, reduction)
    return (
        NotImplemented
        if how is None
        else A.nll_loss_nd.default(input, target, weight, how, ignore_index)
    )


def _loss(name: str) -> None:
    found = getattr(A, name).default

    @whole(f"nn.functional.{name}")
    def run(
        input: object,
        target: object,
        size_average: object = None,
        reduce: object = None,
        reduction: str = "mean",
        *more: object,
        **named: object,
    ) -> Any:
        how = _reduction(size_average, reduce, reduction)
        if (
            how is None
            or named.get("weight") is not None
            or (name != "smooth_l1_loss" and more and more[0] is not None)
        ):
            return NotImplemented
        a, b = A.broadcast_tensors.default([input, target])
        beta = more[0] if more else named.get("beta", 1.0)
        return found(a, b, how, *([beta] if name == "smooth_l1_loss" else []))


for _name in ("mse_loss", "l1_loss", "smooth_l1_loss"):
    _loss(_name)


# ---- methods -------------------------------------------------------------------------------------


@whole(M.to)
def _to(self: Tensor, *args: object, **kwargs: object) -> object:
    device, dtype, copied, memory_format = _parse_to(args, dict(kwargs))
    memory_format = None if memory_format is preserve_format else memory_format
    if device is not None and str(device) != str(self.device):
        return A.to.device(self, device, dtype or self.dtype, False, copied, memory_format)
    return A.to.dtype(self, dtype or self.dtype, False, copied, memory_format)


def _conversion(name: str, dtype: dtypes.dtype) -> None:
    @whole(f"Tensor.{name}")
    def run(self: Tensor, memory_format: dtypes.memory_format = preserve_format) -> Any:
        return A.to.dtype(
            self, dtype, False, False, None if memory_format is preserve_format else memory_format
        )


for _name, _dtype in {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16, "int": dtypes.int32, "long": dtypes.int64, "short": dtypes.int16,
    "char": dtypes.int8, "byte": dtypes.uint8, "bool": dtypes.bool_,
}.items():  # fmt: skip
    _conversion(_name, _dtype)


@whole(M.where)
def _where(self: Tensor, condition: Tensor, other: Tensor | float) -> Tensor:
    return A.where(condition, self, other)


@whole(T.stft, M.stft)
def _stft(
    self: Tensor, n_fft: int, hop_length: int | None = None, win_length: object = None,
    window: Tensor | None = None, center: bool = True, pad_mode: str = "reflect",
    normalized: bool = False, onesided: object = None, return_complex: object = None,
    align_to_window: object = None,
) -> object:  # fmt: skip
    if center:
        if align_to_window is not None:
            return NotImplemented
        shape = self._aval.shape
        wide = A.view.default(self, [1] * (3 - len(shape)) + list(shape))
        padded = A.pad.default(wide, [n_fft // 2, n_fft // 2], pad_mode)
        self = A.view.default(padded, list(padded._aval.shape[-len(shape) :]))
    return A.stft.default(
        self,
        n_fft,
        hop_length,
        win_length,
        window,
        normalized,
        onesided,
        return_complex,
        align_to_window,
    )


@whole("Tensor.mT")
def _m_t(self: object) -> object:
    return A.mT.default(self)


@whole("Tensor.T")
def _t(self: object) -> object:
    return A.numpy_T.default(self)


@whole(M.flatten, T.flatten)
def _flatten(self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    return A.flatten.using_ints(self, start_dim, end_dim)


@whole(M.reshape, T.reshape)
def _reshape(self: object, *shape: object, **kwargs: object) -> object:
    return A.reshape.default(self, size_of((kwargs["shape"],) if "shape" in kwargs else shape))


@whole(M.contiguous)
def _contiguous(self: object, memory_format: object = None) -> object:
    return (
        A.contiguous.default(self)
        if memory_format is None
        else A.contiguous.default(self, memory_format=memory_format)
    )


@whole(M.unflatten, T.unflatten)
def _unflatten(self: object, dim: object, sizes: Any) -> object:
    return A.unflatten.int(self, dim, list(sizes)) if type(dim) is int else NotImplemented


whole(T.split, M.split)(split)
whole(T.unique_consecutive, M.unique_consecutive, "functional.unique_consecutive")(
    unique_consecutive
)


@whole(M.norm, T.norm)
def _norm(
    self: object,
    p: str = "fro",
    dim: object = None,
    keepdim: bool = False,
    out: object = None,
    dtype: object = None,
) -> object:
    if out is not None or p not in ("fro", 2, 2.0, None):
        return NotImplemented
    return A.linalg_vector_norm.default(
        self, 2, None if dim is None else _list(dim, 1), keepdim, dtype=dtype
    )


@whole(M.std, T.std, M.var, T.var)
def _spread(self: object, *args: object, **kwargs: object) -> Any:
    del self, args, kwargs
    return NotImplemented


def attention(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int,
    in_proj_weight: Tensor, in_proj_bias: Tensor, bias_k: object, bias_v: object,
    add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor, out_proj_bias: Tensor,
    training: bool = True, key_padding_mask: object = None, need_weights: bool = True,
    attn_mask: object = None, use_separate_proj_weight: bool = False,
    *rest: object, average_attn_weights: bool = True, is_causal: bool = False, **named: object,
) -> object:  # fmt: skip
    """The steps of PyTorch's function where one tensor is query, key and value; ``NotImplemented``
    for the rest, which runs as it is."""
    shape = query._aval.shape
    del bias_v
    plain = (
        key is query
        and value is query
        and len(shape) == 3
        and in_proj_weight is not None
        and not use_separate_proj_weight
    )
    if (
        not plain
        or bias_k is not None
        or add_zero_attn
        or key_padding_mask is not None
        or attn_mask is not None
        or is_causal
    ):
        return NotImplemented
    if any(
        x is not None
        for x in (*rest, *[x for k, x in named.items() if k != "average_attn_weights"])
    ):
        return NotImplemented
    length, batch, width = shape
    if width != embed_dim_to_check:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}"
        )
    head = width // num_heads
    if not training:
        dropout_p = 0.0
    three = A.unflatten.int(A.linear.default(query, in_proj_weight, in_proj_bias), -1, [3, width])
    three = A.contiguous.default(
        A.squeeze.dim(A.transpose.int(A.unsqueeze.default(three, 0), 0, -2), -2)
    )
    q, k, v = (A.select.int(three, 0, i) for i in range(3))
    q, k, v = (
        A.transpose.int(A.view.default(x, [length, batch * num_heads, head]), 0, 1)
        for x in (q, k, v)
    )
    if need_weights:
        scores = A.bmm.default(A.mul.Tensor(q, math.sqrt(1.0 / head)), A.transpose.int(k, -2, -1))
        weights = A.softmax.int(scores, -1)
        if dropout_p > 0.0:
            weights = A.dropout.default(weights, dropout_p, True)
        out = A.contiguous.default(A.transpose.int(A.bmm.default(weights, v), 0, 1))
        out = A.linear.default(
            A.view.default(out, [length * batch, width]), out_proj_weight, out_proj_bias
        )
        weights = A.view.default(weights, [batch, num_heads, length, length])
        return A.view.default(out, [length, batch, width]), A.mean.dim(
            weights, [1]
        ) if average_attn_weights else weights
    q, k, v = (A.view.default(x, [batch, num_heads, length, head]) for x in (q, k, v))
    out = A.permute.default(
        A.scaled_dot_product_attention.default(q, k, v, None, dropout_p), [2, 0, 1, 3]
    )
    out = A.linear.default(
        A.reshape.default(out, [batch * length, width]), out_proj_weight, out_proj_bias
    )
    return A.view.default(out, [length, batch, width]), None


WHOLE["nn.functional.multi_head_attention_forward"] = attention
