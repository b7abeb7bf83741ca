"""What PyTorch's own backends can quantise, by families."""

from __future__ import annotations

import copy
import operator
from typing import Any

import jtorch as torch
from jtorch import nn
from jtorch.ao.nn import intrinsic as nni
from jtorch.ao.nn import qat as nnqat
from jtorch.ao.nn.intrinsic import qat as nniqat
from jtorch.ao.nn.quantized import reference as nnqr
from jtorch.nn import functional as F

from ..fuser_method_mappings import (
    _side_by_side,
    fuse_conv_bn,
    fuse_conv_bn_relu,
    fuse_convtranspose_bn,
    fuse_linear_bn,
)
from .backend_config import (
    BackendPatternConfig,
    DTypeConfig,
    DTypeWithConstraints,
    ObservationType,
)

_SHARED = ObservationType.OUTPUT_SHARE_OBSERVER_WITH_INPUT
_APART = ObservationType.OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT
_WEIGHT_FIRST = {"weight": 1, "bias": 2}


def _plain(pattern: Any, dtypes: list[DTypeConfig], **indexes: int) -> BackendPatternConfig:
    return BackendPatternConfig(pattern).set_dtype_configs(dtypes)._set_input_type_to_index(indexes)


def _weighted(
    pattern: Any, dtypes: list[DTypeConfig], root: Any, reference: Any, trained: Any = None
) -> BackendPatternConfig:
    """A class of modules with weights."""
    made = _plain(pattern, dtypes).set_root_module(root).set_reference_quantized_module(reference)
    return made.set_qat_module(trained)


def _together(
    pattern: Any, dtypes: list[DTypeConfig], fused: Any, fuser: Any = None
) -> BackendPatternConfig:
    """Modules that become one."""
    made = _plain(pattern, dtypes).set_fused_module(fused)
    return made.set_fuser_method(fuser or _side_by_side(fused))


def binary(dtypes: list[DTypeConfig]) -> list[BackendPatternConfig]:
    """Sums and products, with a ReLU or without, and products of matrices. With a number the
    result has its operand's observer."""
    found = []
    for op in (operator.add, torch.add, operator.mul, torch.mul):
        for pattern in ((op, nn.ReLU), (op, F.relu), (op, torch.relu), op):
            one = _plain(pattern, dtypes)
            one._set_num_tensor_args_to_observation_type({0: _APART, 1: _SHARED, 2: _APART})
            found.append(one)
    return [*found, _plain(torch.matmul, dtypes)]


def linear(dtypes: list[DTypeConfig]) -> list[BackendPatternConfig]:
    """Linear layers and the function, and what follows them."""

    def layer(pattern: Any, trained: Any = None) -> BackendPatternConfig:
        return _weighted(pattern, dtypes, nn.Linear, nnqr.Linear, trained)

    return [
        layer(nn.Linear, nnqat.Linear), layer(nnqat.Linear),
        _plain(F.linear, dtypes, **_WEIGHT_FIRST),
        _together((nn.Linear, nn.ReLU), dtypes, nni.LinearReLU),
        _together((nn.Linear, F.relu), dtypes, nni.LinearReLU),
        layer(nni.LinearReLU, nniqat.LinearReLU), layer(nniqat.LinearReLU),
        _plain((F.linear, nn.ReLU), dtypes), _plain((F.linear, F.relu), dtypes),
        _together((nn.Linear, nn.BatchNorm1d), dtypes, nni.LinearBn1d, fuse_linear_bn),
        layer(nni.LinearBn1d, nniqat.LinearBn1d), layer(nniqat.LinearBn1d),
    ]  # fmt: skip


class _Conv:
    """What there is for convolutions of one number of dimensions."""

    def __init__(self, n: int) -> None:
        self._n = n

    def __getattr__(self, name: str) -> Any:
        home, word = _CONV_PARTS[name]
        return getattr(home, word.format(self._n))


_CONV_PARTS: dict[str, tuple[Any, str]] = {
    "layer": (nn, "Conv{}d"), "transpose": (nn, "ConvTranspose{}d"), "bn": (nn, "BatchNorm{}d"),
    "reference": (nnqr, "Conv{}d"), "transpose_reference": (nnqr, "ConvTranspose{}d"),
    "relu": (nni, "ConvReLU{}d"), "with_bn": (nni, "ConvBn{}d"),
    "with_bn_relu": (nni, "ConvBnReLU{}d"), "qat": (nnqat, "Conv{}d"),
    "relu_qat": (nniqat, "ConvReLU{}d"), "bn_qat": (nniqat, "ConvBn{}d"),
    "bn_relu_qat": (nniqat, "ConvBnReLU{}d"), "function": (F, "conv{}d"),
    "function_transpose": (F, "conv_transpose{}d"),
}  # fmt: skip


def convolutions(dtypes: list[DTypeConfig]) -> list[BackendPatternConfig]:
    """Convolutions and their functions, and what follows them."""
    found = []
    for c in (_Conv(1), _Conv(2), _Conv(3)):
        trained = [
            _weighted(kind, dtypes, c.layer, c.reference)
            for kind in (c.qat, c.bn_qat, c.bn_relu_qat)
        ]
        # As in PyTorch, the class of a layer and a ReLU is not itself one with weights: the second
        # entry for it has replaced the first.
        found += [
            _weighted(c.layer, dtypes, c.layer, c.reference, c.qat), trained[0],
            _plain(c.function, dtypes, **_WEIGHT_FIRST),
            _together((c.layer, nn.ReLU), dtypes, c.relu),
            _together((c.layer, F.relu), dtypes, c.relu),
            _plain(c.relu, dtypes).set_qat_module(c.relu_qat),
            _weighted(c.relu_qat, dtypes, c.layer, c.reference),
            _plain((c.function, nn.ReLU), dtypes), _plain((c.function, F.relu), dtypes),
            _together((c.layer, c.bn), dtypes, c.with_bn, fuse_conv_bn),
            _together((c.layer, c.bn, nn.ReLU), dtypes, c.with_bn_relu, fuse_conv_bn_relu),
            _together((c.layer, c.bn, F.relu), dtypes, c.with_bn_relu, fuse_conv_bn_relu),
            _plain(c.with_bn, dtypes).set_qat_module(c.bn_qat),
            _plain(c.with_bn_relu, dtypes).set_qat_module(c.bn_relu_qat), *trained[1:],
            _weighted(c.transpose, dtypes, c.transpose, c.transpose_reference),
            _weighted((c.transpose, c.bn), dtypes, c.transpose, c.transpose_reference)
            .set_fuser_method(fuse_convtranspose_bn),
            _plain(c.function_transpose, dtypes, **_WEIGHT_FIRST),
        ]  # fmt: skip
    return found


def cat(dtypes: list[DTypeConfig]) -> BackendPatternConfig:
    """Tensors one after the other."""
    return _plain(torch.cat, dtypes).set_observation_type(_SHARED)


def layer_norms(dtypes: list[DTypeConfig]) -> list[BackendPatternConfig]:
    """Layer normalisation."""
    return [_plain(nn.LayerNorm, dtypes), _plain(F.layer_norm, dtypes, weight=2, bias=3)]


def activations(dtypes: list[DTypeConfig]) -> list[BackendPatternConfig]:
    """Activations and normalisations whose results have grids of their own."""
    kinds = (
        nn.ELU, nn.LeakyReLU, nn.Hardswish, nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d,
        nn.Dropout, nn.PReLU, F.elu, F.hardswish, F.leaky_relu, F.dropout,
    )  # fmt: skip
    return [
        *(_plain(kind, dtypes) for kind in kinds),
        _plain(F.group_norm, dtypes, weight=2, bias=3),
        _plain(F.instance_norm, dtypes, weight=3, bias=4),
    ]


_BELOW_1 = DTypeWithConstraints(torch.quint8, 0, 255, None, None, 1.0 / 256.0, 0)
_AROUND_0 = DTypeWithConstraints(torch.quint8, 0, 255, None, None, 2.0 / 256.0, 128)
#: What gives numbers of a known interval, and the one grid of its results.
_FIXED_QPARAMS_OP_TO_CONSTRAINTS: dict[Any, DTypeWithConstraints] = {
    **dict.fromkeys(
        (nn.Hardsigmoid, F.hardsigmoid, "hardsigmoid", "hardsigmoid_", nn.Sigmoid, torch.sigmoid,
         "sigmoid", "sigmoid_", nn.Softmax), _BELOW_1,
    ),
    **dict.fromkeys((nn.Tanh, torch.tanh, "tanh", "tanh_"), _AROUND_0),
}  # fmt: skip


def _fixed(dtypes: list[DTypeConfig], constraints: DTypeWithConstraints) -> list[DTypeConfig]:
    """The same with the one grid.

    Raises:
        ValueError: where the least or largest scale is told.
    """
    found = copy.deepcopy(dtypes)
    for config in found:
        for one in (config.input_dtype_with_constraints, config.output_dtype_with_constraints):
            if one.dtype != constraints.dtype:
                continue
            for name in ("scale_min_lower_bound", "scale_max_upper_bound"):
                if getattr(one, name) is not None:
                    raise ValueError(f"{name} is invalid for fixed qparams ops: {config}")
            one.quant_min_lower_bound = constraints.quant_min_lower_bound
            one.quant_max_upper_bound = constraints.quant_max_upper_bound
            one.scale_exact_match = constraints.scale_exact_match
            one.zero_point_exact_match = constraints.zero_point_exact_match
    return found


def fixed(dtypes: list[DTypeConfig]) -> list[BackendPatternConfig]:
    """What gives numbers of a known interval."""
    return [_plain(op, _fixed(dtypes, c)) for op, c in _FIXED_QPARAMS_OP_TO_CONSTRAINTS.items()]


def shared(dtypes: list[DTypeConfig]) -> list[BackendPatternConfig]:
    """What gives numbers on its input's grid."""
    kinds = (
        nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d, nn.AvgPool1d,
        nn.AvgPool2d, nn.AvgPool3d, nn.Hardtanh, nn.Identity, nn.MaxPool1d, nn.MaxPool2d,
        nn.MaxPool3d, nn.PixelShuffle, nn.PixelUnshuffle, nn.ReLU, nn.ReLU6,
        torch.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d, F.hardtanh,
        F.hardtanh_, F.interpolate, F.max_pool1d, F.max_pool2d, F.max_pool3d, F.pixel_shuffle,
        F.pixel_unshuffle, F.relu, F.relu6, torch.avg_pool1d, F.avg_pool2d, F.avg_pool3d,
        torch.clamp, torch.flatten, torch.mean, torch.narrow, torch.repeat_interleave,
        torch.transpose, torch.squeeze, torch.stack, torch.unsqueeze, operator.floordiv,
        "contiguous", "clamp", "detach", "detach_", "mean", "permute", "repeat",
        "repeat_interleave", "reshape", "resize_", "relu", "relu_", "squeeze", "squeeze_",
        "transpose", "unsqueeze", "unsqueeze_", "view",
    )  # fmt: skip
    return [_plain(kind, dtypes).set_observation_type(_SHARED) for kind in kinds]


def norms(dtypes: list[DTypeConfig]) -> list[BackendPatternConfig]:
    """Batch normalisation, with a ReLU or without."""
    found = []
    for kind, fused in ((nn.BatchNorm2d, nni.BNReLU2d), (nn.BatchNorm3d, nni.BNReLU3d)):
        found += [
            _together((kind, nn.ReLU), dtypes, fused), _together((kind, F.relu), dtypes, fused),
            _plain(kind, dtypes),
        ]  # fmt: skip
    return [*found, _plain(nni.BNReLU2d, dtypes), _plain(nni.BNReLU3d, dtypes)]


def recurrent(dtypes: list[DTypeConfig]) -> list[BackendPatternConfig]:
    """Recurrent layers and cells."""
    names = ("GRUCell", "LSTMCell", "RNNCell", "LSTM", "GRU")
    pairs = [(getattr(nn, name), getattr(nnqr, name)) for name in names]
    return [_weighted(kind, dtypes, kind, reference) for kind, reference in pairs]


def embeddings(dtypes: list[DTypeConfig]) -> list[BackendPatternConfig]:
    """Embeddings."""
    found = []
    for name in ("Embedding", "EmbeddingBag"):
        kind, trained, reference = (getattr(home, name) for home in (nn, nnqat, nnqr))
        found.append(_weighted(kind, dtypes, kind, reference, trained))
        found.append(_weighted(trained, dtypes, kind, reference))
    return found


def questions(dtypes: list[DTypeConfig]) -> list[BackendPatternConfig]:
    """What tells of a tensor without its numbers."""
    kind = ObservationType.INPUT_OUTPUT_NOT_OBSERVED
    return [_plain(name, dtypes).set_observation_type(kind) for name in ("shape", "size")]
