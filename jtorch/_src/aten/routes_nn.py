"""Functions of ``nn.functional`` as operators."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...autograd.grad_mode import no_grad
from ...core import Tensor
from .. import hooks
from ..bind.everything import F, T
from ..facts import dtypes
from ..facts.errors import broadcast_shapes
from ..facts.layouts import contiguous_format, strided
from ..facts.size import Size
from ..ops._sizes import scaled
from ..ops.distance import DISTANCE_MODES
from ..ops.unpooling import _per_dim, unpool_size
from .attending import as_added, attention, fused
from .by_names import REDUCTIONS, reduction_of
from .functions import route
from .overloads import aten
from .routes_shape import contiguous, reshape
from .routes_whole import _reduction, whole

if TYPE_CHECKING:
    from ..engine.sized import Sized
    from ..facts.kinds import Values
    from .overloads import OpOverloadPacket


A = aten


def _ints(x: Any, n: int) -> list[int]:
    return list(x) if isinstance(x, (list, tuple)) else [x] * n


def _reduced(x: object, reduction: int) -> object:
    return x if reduction == 0 else A.mean.default(x) if reduction == 1 else A.sum.default(x)


# ---- activations ---------------------------------------------------------------------------------


_SELU = (1.6732632423543772, 1.0507009873554805)


@route(F.relu6)
def relu6(input: Tensor, inplace: bool = False) -> Any:
    """``hardtanh`` between 0 and 6."""
    return (A.hardtanh_ if inplace else A.hardtanh).default(input, 0, 6)


@route(F.logsigmoid)
def logsigmoid(input: Tensor) -> Any:
    """The first result of ``log_sigmoid_forward``."""
    return A.log_sigmoid_forward.default(input)[0]


@route(F.softsign)
def softsign(input: Tensor) -> Tensor:
    """Divided by its absolute value and 1."""
    return A.div.Tensor(input, A.add.Tensor(A.abs.default(input), 1))


@route(F.tanhshrink)
def tanhshrink(input: Tensor) -> Tensor:
    """The difference from ``tanh``."""
    return A.sub.Tensor(input, A.tanh.default(input))


@route(T.selu, F.selu, aten=A.selu)
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """``elu`` with a scale."""
    return A.elu_.default(input, *_SELU) if inplace else A.elu.default(input, *_SELU)


@route(T.prelu, F.prelu)
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``_prelu_kernel`` with the weight along the second dimension."""
    if weight._aval.ndim and input._aval.ndim != weight._aval.ndim:
        sizes = [1] * input._aval.ndim
        if len(sizes) > 1:
            sizes[1] = weight._aval.size
        elif sizes:
            sizes[0] = weight._aval.size
        weight = A.view.default(weight, sizes)
    return A._prelu_kernel.default(input, weight)


@route(T.rrelu, F.rrelu)
def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """``rrelu_with_noise``, whose second operand keeps the slopes."""
    if inplace:
        return NotImplemented
    noise = A.empty_like.default(input, memory_format=contiguous_format)
    return A.rrelu_with_noise.default(input, noise, lower, upper, training)


def _softmax(function: object, packet: OpOverloadPacket) -> None:
    def run(
        input: Tensor,
        dim: int | None = None,
        _stacklevel: int = 3,
        dtype: object = None,
        *,
        out: object = None,
    ) -> Any:
        if isinstance(_stacklevel, dtypes.dtype):  # torch.softmax and the method have dtype third
            dtype = _stacklevel
        if dim is None or out is not None:
            return NotImplemented
        if dtype is not None and dtype is not input._aval.torch_dtype:
            input = A._to_copy.default(input, dtype=dtype, layout=strided, device=input.device)
        return packet.default(input, dim, False)

    route(function)(run)


_softmax(T.softmax, A._softmax)
_softmax(T.log_softmax, A._log_softmax)


@route(F.softmin)
def softmin(
    input: Tensor, dim: object = None, _stacklevel: int = 3, dtype: object = None
) -> Tensor:
    """``softmax`` of the negative."""
    del _stacklevel
    if dim is None:
        return NotImplemented
    x = A.neg.default(input)
    return A._softmax.default(
        x if dtype is None else A._to_copy.default(x, dtype=dtype), dim, False
    )


@route(F.gumbel_softmax)
def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """``softmax`` with noise; where it is ``hard``, ones at the greatest, which lets gradients of
    the soft one through."""
    if eps != 1e-10:
        return NotImplemented
    noise = A.neg.default(A.log.default(A.exponential_.default(A.empty_like.default(logits))))
    soft = A._softmax.default(A.div.Tensor(A.add.Tensor(logits, noise), tau), dim, False)
    if not hard:
        return soft
    greatest = A.max.dim(soft, dim, True)[1]
    ones = A.scatter_.value(A.zeros_like.default(logits), dim, greatest, 1.0)
    return A.add.Tensor(A.sub.Tensor(ones, A.detach.default(soft)), soft)


# ---- dropout and embedding -----------------------------------------------------------------------


@route(T.dropout, F.dropout)
def dropout(
    input: Tensor,
    p: float = 0.5,
    training: object = True,
    inplace: bool = False,
    train: object = None,
) -> Tensor:
    """A random mask of ones, divided by what is kept; nothing in evaluation."""
    train = training if train is None else train
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not train or p == 0 or not input._aval.size:
        return input
    if p == 1:
        return (
            A.mul_.Tensor(input, A.zeros.default([]))
            if inplace
            else A.mul.Tensor(input, A.zeros_like.default(input))
        )
    mask = A.empty_like.default(input)
    A.bernoulli_.float(mask, 1 - p)
    A.div_.Scalar(mask, 1 - p)
    return A.mul_.Tensor(input, mask) if inplace else A.mul.Tensor(input, mask)


@route(F.embedding)
def embedding(
    input: Tensor, weight: Tensor | None, padding_idx: object = None, max_norm: object = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:  # fmt: skip
    """``embedding.default``, the weight first."""
    del norm_type
    if max_norm is not None or sparse:
        return NotImplemented
    padding = -1 if padding_idx is None else padding_idx % weight._aval.shape[0]
    return A.embedding.default(weight, input, padding, scale_grad_by_freq)


@route(T.embedding)
def torch_embedding(
    weight: Tensor,
    indices: object,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> object:
    """``embedding.default``."""
    return (
        NotImplemented
        if sparse
        else A.embedding.default(weight, indices, padding_idx, scale_grad_by_freq)
    )


# ---- normalisation -------------------------------------------------------------------------------


@route(F.layer_norm, T.layer_norm, aten=A.layer_norm)
def layer_norm(
    input: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """The first result of ``native_layer_norm``."""
    del cudnn_enable
    return A.native_layer_norm.default(input, list(normalized_shape), weight, bias, eps)[0]


@route(F.group_norm, T.group_norm, aten=A.group_norm)
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:
    """The first result of ``native_group_norm``."""
    del cudnn_enabled
    shape = input._aval.shape
    if len(shape) < 2 or shape[1] % num_groups:
        return NotImplemented
    return A.native_group_norm.default(
        contiguous(input), weight, bias, shape[0], shape[1], math.prod(shape[2:]), num_groups, eps
    )[0]


def _batch_norm(x: Tensor, *given: object) -> Tensor:
    # where other backends would keep what they need
    A.empty.memory_format([0], dtype=dtypes.uint8, layout=strided, device=x.device)
    return A.native_batch_norm.default(x, *given)[0]


@route(F.batch_norm)
def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None,
    weight: Tensor | None = None, bias: Tensor | None = None, training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """The first result of ``native_batch_norm``."""
    if input._aval.ndim < 2 or (
        training and math.prod(input._aval.shape) // max(input._aval.shape[1], 1) == 1
    ):
        return NotImplemented
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


@route(T.batch_norm)
def torch_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, training: bool, momentum: float, eps: float,
    cudnn_enabled: bool = True,
) -> object:  # fmt: skip
    """The first result of ``native_batch_norm``."""
    del cudnn_enabled
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


@route(F.instance_norm)
def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
    weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """``native_batch_norm`` of every example as channels of its own."""
    if (not use_input_stats or input._aval.ndim < 3) or (running_mean is None) != (
        running_var is None
    ):
        return NotImplemented
    b, c, *rest = input._aval.shape
    if math.prod(rest) == 1:
        return NotImplemented
    given = (weight, bias, running_mean, running_var)
    repeated = [None if t is None else A.repeat.default(t, [b]) for t in given]
    flat = A.view.default(contiguous(input), [1, b * c, *rest])
    made = _batch_norm(flat, *repeated, True, momentum, eps)
    for running, of_all in zip(given[2:], repeated[2:], strict=True):
        if running is not None:
            with no_grad():
                A.copy_.default(
                    A.alias.default(running), A.mean.dim(A.view.default(of_all, [b, c]), [0])
                )
    return A.view.default(made, [b, c, *rest])


@route(T.instance_norm)
def torch_instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, use_input_stats: bool, momentum: float,
    eps: float, cudnn_enabled: bool = True,
) -> object:  # fmt: skip
    """As ``nn.functional.instance_norm``."""
    del cudnn_enabled
    return instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


@route(F.rms_norm, T.rms_norm)
def rms_norm(
    input: Tensor, normalized_shape: Sized, weight: Tensor | None = None, eps: object = None
) -> Any:
    """Divided by the root of the mean square, part by part, half precision in single precision."""
    n, dtype = len(normalized_shape), input._aval.torch_dtype
    dims = [input._aval.ndim - 1 - i for i in range(n)]
    narrow = dtype in (dtypes.float16, dtypes.bfloat16)
    x = A._to_copy.default(input, dtype=dtypes.float32) if narrow else input
    eps = dtypes.finfo(x._aval.torch_dtype).eps if eps is None else eps
    scale = A.rsqrt.default(A.add_.Scalar(A.mean.dim(A.pow.Tensor_Scalar(x, 2), dims, True), eps))
    made = A.mul.Tensor(x, scale)
    made = made if weight is None else A.mul.Tensor(made, weight)
    return (
        A._to_copy.default(made, dtype=dtype, layout=strided, device=input.device)
        if narrow
        else made
    )


@route(F.normalize)
def normalize(
    input: Tensor, p: float = 2.0, dim: object = 1, eps: float = 1e-12, out: object = None
) -> Tensor:
    """Divided by ``linalg_vector_norm``, at least ``eps``."""
    dims = list(dim) if isinstance(dim, (list, tuple)) else [dim]
    size = A.clamp_min.default(A.linalg_vector_norm.default(input, p, dims, True), eps)
    size = A.expand.default(size, list(input._aval.shape))
    return A.div.Tensor(input, size) if out is None else A.div.out(input, size, out=out)


@route(T.cosine_similarity, F.cosine_similarity, aten=A.cosine_similarity)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The sum of products of both operands divided by their norms."""
    if not (x1._aval.differentiable and x1._aval.torch_dtype is x2._aval.torch_dtype):
        return NotImplemented
    shape = list(broadcast_shapes(x1._aval.shape, x2._aval.shape))
    x1 = x1 if list(x1._aval.shape) == shape else A.expand.default(x1, shape)
    x2 = x2 if list(x2._aval.shape) == shape else A.expand.default(x2, shape)
    n1, n2 = [A.clone.default(A.linalg_vector_norm.default(x, 2, [dim], True)) for x in (x1, x2)]
    limit = _constant(eps, x1)
    with no_grad():
        A.clamp_min_.Tensor(n1, limit)
        A.clamp_min_.Tensor(n2, limit)
    second, first = A.div.Tensor(x2, n2), A.div.Tensor(x1, n1)
    return A.sum.dim_IntList(A.mul.Tensor(first, second), [dim])


def _constant(x: object, like: Tensor) -> object:
    return A.scalar_tensor.default(x, dtype=like._aval.torch_dtype, device=like.device)


@route(F.pairwise_distance, T.pairwise_distance)
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The norm of the difference."""
    inner = len(broadcast_shapes(x1._aval.shape, x2._aval.shape)) - 1
    return A.norm.ScalarOpt_dim(A.add.Scalar(A.sub.Tensor(x1, x2), eps), p, [inner], keepdim)


@route(T.cdist, "functional.cdist")
def cdist(
    x1: Tensor,
    x2: Tensor,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> Tensor:
    """``_cdist_forward.default``."""
    if compute_mode not in DISTANCE_MODES:
        return NotImplemented
    return A._cdist_forward.default(x1, x2, p, DISTANCE_MODES.index(compute_mode) or None)


# ---- convolution and pooling ---------------------------------------------------------------------


def _convolutions(n: int) -> None:
    def conv(
        input: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        if isinstance(padding, str):
            if padding == "valid":
                padding = 0
            else:
                ends = [
                    d * (k - 1)
                    for d, k in zip(_ints(dilation, n), weight._aval.shape[2:], strict=True)
                ]
                if any(e % 2 for e in ends) or any(s != 1 for s in _ints(stride, n)):
                    return NotImplemented
                padding = [e // 2 for e in ends]
        batched = input._aval.ndim == n + 2
        x = input if batched else A.unsqueeze.default(input, 0)
        made = A.convolution.default(
            x,
            weight,
            bias,
            _ints(stride, n),
            _ints(padding, n),
            _ints(dilation, n),
            False,
            [0] * n,
            groups,
        )
        return made if batched else A.squeeze.dim(made, 0)

    def transposed(
        input: Tensor, weight: object, bias: object = None, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
    ) -> object:  # fmt: skip
        batched = input._aval.ndim == n + 2
        x = input if batched else A.unsqueeze.default(input, 0)
        made = A.convolution.default(
            x,
            weight,
            bias,
            _ints(stride, n),
            _ints(padding, n),
            _ints(dilation, n),
            True,
            _ints(output_padding, n),
            groups,
        )
        return made if batched else A.squeeze.dim(made, 0)

    route(f"nn.functional.conv{n}d", f"conv{n}d", aten=getattr(A, f"conv{n}d"))(conv)
    route(f"nn.functional.conv_transpose{n}d", f"conv_transpose{n}d")(transposed)


for _n in (1, 2, 3):
    _convolutions(_n)


def _max_pool(n: int) -> None:
    packet = getattr(aten, f"max_pool{n}d_with_indices")

    def pooled(
        input: Tensor, kernel_size: tuple[int, ...] | list[int] | int, stride: Any = None,
        padding: int = 0, dilation: int = 1,
        ceil_mode: bool = False, return_indices: bool = False,
    ) -> tuple[Tensor, ...] | Tensor:  # fmt: skip
        found = packet.default(
            input, _ints(kernel_size, n), [] if stride is None or stride == () else _ints(stride,
                n), _ints(padding, n), _ints(dilation, n),
            ceil_mode,
        )  # fmt: skip
        return found if return_indices else found[0]

    route(f"nn.functional.max_pool{n}d", f"max_pool{n}d")(pooled)
    route(f"nn.functional.max_pool{n}d_with_indices")(
        lambda input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, **_: pooled(
            input, kernel_size, stride, padding, dilation, ceil_mode, True
        )
    )


@route(F.max_pool1d, T.max_pool1d)
def max_pool1d(
    input: Tensor, kernel_size: int, stride: Any = None, padding: int = 0, dilation: int = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> tuple[Tensor, ...]:  # fmt: skip
    """``max_pool2d_with_indices`` of rows."""
    (k,) = _ints(kernel_size, 1)
    (s,) = [k] if stride is None or stride == () else _ints(stride, 1)
    x = A.unsqueeze.default(input, -2)
    out, indices = A.max_pool2d_with_indices.default(
        x, [1, k], [1, s], [0, _ints(padding, 1)[0]], [1, _ints(dilation, 1)[0]], ceil_mode
    )
    out, indices = A.squeeze.dim(out, -2), A.squeeze.dim(indices, -2)
    return (out, indices) if return_indices else out


def _avg_pool(n: int) -> None:
    packet = getattr(aten, f"avg_pool{n}d")

    def pooled(
        input: object, kernel_size: Any, stride: Any = None, padding: Any = 0,
        ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: object = None,
    ) -> object:  # fmt: skip
        return packet.default(
            input, _ints(kernel_size, n), [] if stride is None or stride == () else _ints(stride,
                n), _ints(padding, n), ceil_mode,
            count_include_pad, divisor_override,
        )  # fmt: skip

    route(f"nn.functional.avg_pool{n}d")(pooled)


def _adaptive(n: int) -> None:
    average, largest = (
        getattr(aten, f"_adaptive_avg_pool{n}d"),
        getattr(aten, f"adaptive_max_pool{n}d"),
    )

    def sizes(input: Tensor, output_size: list[object]) -> list[int]:
        given = _ints(output_size, n)
        return [m if s is None else s for s, m in zip(given, input._aval.shape[-n:], strict=True)]

    def mean(input: Tensor, output_size: list[object]) -> Tensor:
        size = sizes(input, output_size)
        if size == [1] * n:
            return A.mean.dim(input, [-1 - i for i in range(n)], True)
        return average.default(input, size)

    def maximum(input: Tensor, output_size: list[object], return_indices: bool = False) -> Any:
        found = largest.default(input, sizes(input, output_size))
        return found if return_indices else found[0]

    route(f"nn.functional.adaptive_avg_pool{n}d")(mean)
    route(f"nn.functional.adaptive_max_pool{n}d")(maximum)


for _n in (2, 3):
    _max_pool(_n)
    _avg_pool(_n)
    _adaptive(_n)


@route(F.pad)
def pad(
    input: Tensor, pad: tuple[int, ...], mode: str = "constant", value: object = None
) -> Tensor:
    """``constant_pad_nd``, ``reflection_pad2d`` and so on."""
    amounts = list(pad)
    if mode == "constant":
        return A.constant_pad_nd.default(input, amounts, 0.0 if value is None else value)
    names = {"reflect": "reflection_pad", "replicate": "replication_pad"}
    n = len(amounts) // 2
    if mode not in names or input._aval.ndim not in (n + 1, n + 2):
        return NotImplemented
    return getattr(A, f"{names[mode]}{n}d").default(input, amounts)


@route(F.interpolate, F.upsample)
def interpolate(
    input: Tensor, size: Any = None, scale_factor: float | None = None, mode: str = "nearest",
    align_corners: object = None, recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:  # fmt: skip
    """``upsample_nearest2d``, ``upsample_bilinear2d`` and so on."""
    n = input._aval.ndim - 2
    names = {
        ("nearest", 1): "upsample_nearest1d", ("nearest", 2): "upsample_nearest2d",
        ("nearest", 3): "upsample_nearest3d", ("linear", 1): "upsample_linear1d",
        ("bilinear", 2): "upsample_bilinear2d", ("bicubic", 2): "upsample_bicubic2d",
        ("trilinear", 3): "upsample_trilinear3d",
        **{("nearest-exact", d): f"_upsample_nearest_exact{d}d" for d in (1, 2, 3)},
    }  # fmt: skip
    if (
        mode == "area"
        and (size is None) != (scale_factor is None)
        and n in (1, 2, 3)
        and align_corners is None
        and not antialias
    ):
        if size is None:
            size = [
                scaled(m, float(s))
                for m, s in zip(input._aval.shape[2:], _ints(scale_factor, n), strict=True)
            ]
        return hooks.lowering.get().route_of(f"nn.functional.adaptive_avg_pool{n}d")(
            input, _ints(size, n)
        )
    name = names.get((mode, n))
    if name is None or (size is None) == (scale_factor is None):
        return NotImplemented
    if antialias:
        if mode not in ("bilinear", "bicubic"):
            return NotImplemented
        name = f"_{name}_aa"
    if recompute_scale_factor:
        if scale_factor is None:
            return NotImplemented
        size, scale_factor = (
            [
                scaled(m, float(s))
                for m, s in zip(input._aval.shape[2:], _ints(scale_factor, n), strict=True)
            ],
            None,
        )
    nearest = mode in ("nearest", "nearest-exact")
    if nearest and align_corners is not None:
        return NotImplemented
    if size is not None:
        sizes: list[int] = _ints(size, n)
        scales: Values = [None] * n
    else:
        scales = [float(s) for s in _ints(scale_factor, n)]
        sizes = [scaled(m, s) for m, s in zip(input._aval.shape[2:], scales, strict=True)]
    packet = getattr(A, name)
    if nearest:
        return packet.default(input, sizes, *scales)
    return packet.default(input, sizes, bool(align_corners), *scales)


@route(F.unfold)
def unfold(
    input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """``im2col.default``."""
    return A.im2col.default(
        input, _ints(kernel_size, 2), _ints(dilation, 2), _ints(padding, 2), _ints(stride, 2)
    )


@route(F.fold)
def fold(
    input: Tensor,
    output_size: Size,
    kernel_size: int,
    dilation: int = 1,
    padding: int = 0,
    stride: int = 1,
) -> Tensor:
    """``col2im.default``."""
    sizes = [_ints(x, 2) for x in (output_size, kernel_size, dilation, padding, stride)]
    return A.col2im.default(input, *sizes)


@route(F.bilinear, T.bilinear)
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``_trilinear.default`` on operands seen as matrices."""
    lead = list(input1._aval.shape[:-1])
    one = A.view.default(contiguous(input1), [-1, input1._aval.shape[-1]])
    two = A.view.default(contiguous(input2), [-1, input2._aval.shape[-1]])
    made = A._trilinear.default(one, weight, two, [1, 3], [0], [1, 2], [2, 3])
    made = A.view.default(made, [*lead, weight._aval.shape[0]])
    return made if bias is None else A.add.Tensor(made, bias)


# ---- attention -----------------------------------------------------------------------------------


@route(F.scaled_dot_product_attention)
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
    dropout_p: float = 0.0, is_causal: bool = False, *, scale: object = None,
    enable_gqa: bool = False,
) -> Any:  # fmt: skip
    """The fused operator where it takes the operands, else its products."""
    if (
        min(t._aval.ndim for t in (query, key, value)) < 2
        or not query._aval.torch_dtype.is_floating_point
    ):
        return NotImplemented
    if not fused(query, key, value, attn_mask, dropout_p, enable_gqa):
        return attention(
            query,
            key,
            value,
            attn_mask,
            is_causal,
            scale,
            dropout_p=dropout_p,
            enable_gqa=enable_gqa,
        )
    if attn_mask is not None:
        attn_mask = as_added(attn_mask, query)
    return A._scaled_dot_product_flash_attention_for_cpu.default(
        query, key, value, 0.0, is_causal, attn_mask=attn_mask, scale=scale
    )[0]


# ---- losses --------------------------------------------------------------------------------------


@route(F.nll_loss)
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: object = None,
    ignore_index: int = -100, reduce: object = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """The first result of ``nll_loss_forward`` or ``nll_loss2d_forward``."""
    how = reduction_of(size_average, reduce, reduction)
    ndim = input._aval.ndim
    if ndim in (1, 2):
        return A.nll_loss_forward.default(input, target, weight, how, ignore_index)[0]
    if ndim == 4:
        return A.nll_loss2d_forward.default(input, target, weight, how, ignore_index)[0]
    n, c = input._aval.shape[:2]
    wide = reshape(contiguous(input), [n, c, 1, -1])
    picked = reshape(contiguous(target), [n, 1, -1])
    out = A.nll_loss2d_forward.default(wide, picked, weight, how, ignore_index)[0]
    return reshape(out, list(target._aval.shape)) if how == 0 else out


@route(F.cross_entropy)
def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: object = None,
    ignore_index: int = -100, reduce: object = None, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """``_log_softmax``, then ``nll_loss_forward``, or a weighted sum for targets that are
    probabilities."""
    how = reduction_of(size_average, reduce, reduction)
    d = 0 if input._aval.ndim == 1 else 1
    if target._aval.shape == input._aval.shape and target._aval.differentiable:
        return _soft_targets(input, target, weight, how, label_smoothing, d)
    logs = A._log_softmax.default(input, d, False)
    if label_smoothing:
        return _smoothed(logs, target, weight, how, ignore_index, label_smoothing, d)
    return nll_loss(
        logs,
        target,
        weight,
        None,
        ignore_index,
        None,
        reduction if size_average is None and reduce is None else REDUCTIONS[how],
    )


def _soft_targets(
    input: Tensor, target: object, weight: Any, how: int, smoothing: float, d: int
) -> object:
    if smoothing:
        n = input._aval.shape[d]
        target = A.add.Scalar(A.mul.Scalar(target, 1 - smoothing), smoothing / n)
    logs = A._log_softmax.default(input, d, False)
    if weight is not None:
        shape = [1] * input._aval.ndim
        shape[d] = weight._aval.size
        logs = A.mul.Tensor(logs, A.view.default(weight, shape))
    product = A.mul.Tensor(logs, target)
    if how == 0:
        return A.neg.default(A.sum.dim_IntList(product, [d]))
    total = A.neg.default(A.sum.default(product))
    if how == 2:
        return total
    count = input._aval.size // max(input._aval.shape[d], 1)
    return A.div.Scalar(total, count)


def _smoothed(
    logs: Tensor, target: object, weight: Any, how: int, ignore_index: int, smoothing: float, d: int
) -> object:
    plain = nll_loss(logs, target, weight, None, ignore_index, None, REDUCTIONS[how])
    scaled = logs
    if weight is not None:
        shape = [1] * logs._aval.ndim
        shape[d] = weight._aval.size
        scaled = A.mul.Tensor(logs, A.view.default(weight, shape))
    smooth = A.neg.default(A.sum.dim_IntList(scaled, [d]))
    ignored = A.eq.Scalar(target, ignore_index)
    smooth = A.masked_fill_.Scalar(smooth, ignored, 0)
    if how == 1:
        if weight is None:
            kept = A.sum.default(A.bitwise_not.default(ignored))
        else:
            safe = A.masked_fill.Scalar(target, ignored, 0)
            kept = A.sum.default(A.masked_fill.Scalar(A.index.Tensor(weight, [safe]), ignored, 0))
        smooth = A.div.Tensor(A.sum.default(smooth), kept)
    elif how == 2:
        smooth = A.sum.default(smooth)
    second = A.mul.Scalar(smooth, smoothing / logs._aval.shape[d])
    return A.add.Tensor(A.mul.Scalar(plain, 1 - smoothing), second)


@route(F.l1_loss)
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: object = None,
    reduce: object = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Any:
    """The absolute difference, reduced."""
    if weight is not None or input._aval.shape != target._aval.shape:
        return NotImplemented
    return _reduced(
        A.abs.default(A.sub.Tensor(input, target)), reduction_of(size_average, reduce, reduction)
    )


@route(F.kl_div)
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: object = None,
    reduce: object = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Any:
    """``target * (log(target) - input)`` part by part."""
    if log_target:
        difference = A.sub.Tensor(target, input)
        found = A.mul.Tensor(A.exp.default(target), difference)
    else:
        product = A.mul.Tensor(target, input)
        found = A.sub.Tensor(A.xlogy.Tensor(target, target), product)
    if reduction == "batchmean":
        total = A.sum.default(found)
        return A.div.Tensor(total, input._aval.shape[0]) if input._aval.ndim else total
    return _reduced(found, reduction_of(size_average, reduce, reduction))


@whole(F.kl_div)
def _whole_kl_div(
    input: Tensor, target: object, size_average: object = None, reduce: object = None,
    reduction: str = "mean", log_target: bool = False,
) -> Any:  # fmt: skip
    mean = reduction == "batchmean" and size_average is None and reduce is None
    how = 2 if mean else _reduction(size_average, reduce, reduction)
    if how is None:
        return NotImplemented
    found = A.kl_div.default(input, target, how, log_target=log_target)
    return A.div.Tensor(found, input.shape[0]) if mean and input._aval.ndim else found


# ---- the inverse of maximum pooling --------------------------------------------------------------


@route(F.max_unpool1d)
def max_unpool1d(
    input: Tensor,
    indices: object,
    kernel_size: tuple[int, ...] | int,
    stride: object = None,
    padding: int = 0,
    output_size: object = None,
) -> Tensor:
    """``max_unpool2d`` of one column."""
    size = unpool_size(input._aval.shape, kernel_size, stride, padding, output_size, 1)
    column = A.unsqueeze.default(input, -1), A.unsqueeze.default(indices, -1)
    return A.squeeze.dim(A.max_unpool2d.default(*column, [*size, 1]), -1)


@route(F.max_unpool2d)
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: tuple[int, ...] | int,
    stride: object = None,
    padding: int = 0,
    output_size: object = None,
) -> Tensor:
    """The operator, which is told the size."""
    return A.max_unpool2d.default(
        input,
        indices,
        list(unpool_size(input._aval.shape, kernel_size, stride, padding, output_size, 2)),
    )


@route(F.max_unpool3d)
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: tuple[int, ...],
    stride: Any = None,
    padding: int = 0,
    output_size: object = None,
) -> Tensor:
    """The operator, which is told the size, the steps and the padding."""
    size = unpool_size(input._aval.shape, kernel_size, stride, padding, output_size, 3)
    steps = _per_dim(kernel_size if stride is None else stride, 3)
    return A.max_unpool3d.default(
        input, indices, list(size), list(steps), list(_per_dim(padding, 3))
    )
