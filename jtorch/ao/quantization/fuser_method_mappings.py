"""What layers that follow each other become as one."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from jtorch import nn
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.ao.nn import intrinsic as nni

from .utils import MatchAllNode, get_combined_dict


def _same_mode(first: Any, bn: Any, names: str) -> None:
    if first.training != bn.training:
        raise AssertionError(f"{names} both must be in the same mode (train or eval).")


def _trainable(layer: Any, bn: Any) -> None:
    if bn.num_features != layer.out_channels:
        raise AssertionError("Output channel of Conv2d must match num_features of BatchNorm2d")
    if not bn.affine:
        raise AssertionError("Only support fusing BatchNorm2d with affine set to True")
    if not bn.track_running_stats:
        raise AssertionError(
            "Only support fusing BatchNorm2d with tracking_running_stats set to True"
        )


_CONV_BN = {
    nn.Conv1d: (nni.ConvBn1d, nni.ConvBnReLU1d, nni.ConvReLU1d),
    nn.Conv2d: (nni.ConvBn2d, nni.ConvBnReLU2d, nni.ConvReLU2d),
    nn.Conv3d: (nni.ConvBn3d, nni.ConvBnReLU3d, nni.ConvReLU3d),
}


def fuse_conv_bn(is_qat: bool, conv: Any, bn: Any) -> Any:
    """A convolution and a normalisation: both side by side for training, else folded into one.

    Raises:
        AssertionError: if only one of them is in training mode.
    """
    _same_mode(conv, bn, "Conv and BN")
    if not is_qat:
        return nn.utils.fuse_conv_bn_eval(conv, bn)
    _trainable(conv, bn)
    return _CONV_BN[type(conv)][0](conv, bn)


def fuse_conv_bn_relu(is_qat: bool, conv: Any, bn: Any, relu: Any) -> Any:
    """The same with a ReLU.

    Raises:
        AssertionError: if not all are in the same mode.
    """
    if not conv.training == bn.training == relu.training:
        raise AssertionError("Conv and BN both must be in the same mode (train or eval).")
    if is_qat:
        _trainable(conv, bn)
        return _CONV_BN[type(conv)][1](conv, bn, relu)
    if type(conv) not in _CONV_BN:
        raise NotImplementedError(f"Cannot fuse eval modules: {(conv, bn, relu)}")
    return _CONV_BN[type(conv)][2](nn.utils.fuse_conv_bn_eval(conv, bn), relu)


def fuse_linear_bn(is_qat: bool, linear: Any, bn: Any) -> Any:
    """A linear layer and a normalisation: both side by side for training, else folded into one.

    Raises:
        AssertionError: if only one of them is in training mode.
    """
    _same_mode(linear, bn, "Linear and BN")
    if not is_qat:
        return nn.utils.fuse_linear_bn_eval(linear, bn)
    if bn.num_features != linear.out_features:
        raise AssertionError("Output features of Linear must match num_features of BatchNorm1d")
    return nni.LinearBn1d(linear, bn)


def fuse_convtranspose_bn(is_qat: bool, convt: Any, bn: Any) -> Any:
    """A transposed convolution and a normalisation, folded into one.

    Raises:
        Exception: for training.
    """
    _same_mode(convt, bn, "ConvTranspose and BN")
    if is_qat:
        raise Exception("Fusing ConvTranspose+BatchNorm not yet supported in QAT.")
    return nn.utils.fuse_conv_bn_eval(convt, bn, transpose=True)


def _side_by_side(kind: Any) -> Callable[..., Any]:
    def fuser_method(is_qat: bool, m1: Any, m2: Any) -> Any:  # noqa: ARG001
        return kind(m1, m2)

    return fuser_method


_DEFAULT_OP_LIST_TO_FUSER_METHOD: dict[Any, Callable[..., Any]] = {}
for _conv, _norm in (
    (nn.Conv1d, nn.BatchNorm1d), (nn.Conv2d, nn.BatchNorm2d), (nn.Conv3d, nn.BatchNorm3d)
):  # fmt: skip
    _DEFAULT_OP_LIST_TO_FUSER_METHOD[_conv, _norm] = fuse_conv_bn
    _DEFAULT_OP_LIST_TO_FUSER_METHOD[_conv, _norm, nn.ReLU] = fuse_conv_bn_relu
    _DEFAULT_OP_LIST_TO_FUSER_METHOD[_conv, nn.ReLU] = _side_by_side(_CONV_BN[_conv][2])
_DEFAULT_OP_LIST_TO_FUSER_METHOD.update(
    {
        (nn.Linear, nn.BatchNorm1d): fuse_linear_bn,
        (nn.Linear, nn.ReLU): _side_by_side(nni.LinearReLU),
        (nn.BatchNorm2d, nn.ReLU): _side_by_side(nni.BNReLU2d),
        (nn.BatchNorm3d, nn.ReLU): _side_by_side(nni.BNReLU3d),
        (nn.ConvTranspose1d, nn.BatchNorm1d): fuse_convtranspose_bn,
        (nn.ConvTranspose2d, nn.BatchNorm2d): fuse_convtranspose_bn,
        (nn.ConvTranspose3d, nn.BatchNorm3d): fuse_convtranspose_bn,
    }
)


def get_fuser_method(op_list: Any, additional_fuser_method_mapping: Any = None) -> Any:
    """What makes one of layers of some classes.

    Raises:
        AssertionError: if nothing does.
    """
    table = get_combined_dict(
        _DEFAULT_OP_LIST_TO_FUSER_METHOD, additional_fuser_method_mapping or {}
    )
    found = table.get(op_list)
    if found is None:
        raise AssertionError(f"did not find fuser method for: {op_list} ")
    return found


def get_fuser_method_new(op_pattern: Any, fuser_method_mapping: Any) -> Any:
    """What makes one module of those that a pattern matched, among patterns in which
    ``MatchAllNode`` stands for anything.

    Raises:
        AssertionError: if nothing does.
    """

    def choices(pattern: Any) -> list[Any]:
        if isinstance(pattern, tuple | list):
            return [*itertools.product(*map(choices, pattern))]
        return [pattern, MatchAllNode]

    for pattern in choices(op_pattern):
        found = fuser_method_mapping.get(pattern)
        if found is not None:
            return found
    raise AssertionError(f"did not find fuser method for: {op_pattern} ")


__getattr__ = _refusals.missing(__name__)
