"""The operators that torchvision has in C++, as kernels on JAX arrays: entered in
``torch.ops.torchvision`` when torchvision is imported.

torchvision itself registers their shapes, derivatives and autocasting, from Python; where a version
of it does not, the derivative is JAX's. Neither its decoders of images and videos nor its kernels
for quantised tensors are here.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ....core import Tensor
from ....library import Library
from ...facts.errors import not_offered
from . import boxes, deforming, regions

if TYPE_CHECKING:
    from ...facts.dtypes import dtype


_POOLED = "Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_SIZES = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_CONVOLUTION = """Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt \
stride_h, SymInt stride_w, SymInt pad_h,
    SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool \
use_mask"""
_MAPPED = _POOLED.replace("rois,", "rois, Tensor channel_mapping,")

#: Schema -> function of arrays.
_ARRAYS: dict[str, Callable[..., object]] = {
    f"roi_align(Tensor input, {_POOLED}, int sampling_ratio, bool aligned) -> Tensor": regions.roi_align,  # noqa: E501
    (
        f"_roi_align_backward(Tensor grad, {_POOLED}, {_SIZES}, int sampling_ratio, bool aligned) "
        "-> Tensor"
    ): regions.roi_align_backward,
    f"roi_pool(Tensor input, {_POOLED}) -> (Tensor, Tensor)": regions.roi_pool,
    (
        f"_roi_pool_backward(Tensor grad, {_POOLED.replace('rois,', 'rois, Tensor argmax,')}, "
        f"{_SIZES}) -> Tensor"
    ): regions.roi_pool_backward,
    f"ps_roi_align(Tensor input, {_POOLED}, int sampling_ratio) -> (Tensor, Tensor)": regions.ps_roi_align,  # noqa: E501
    f"_ps_roi_align_backward(Tensor grad, {_MAPPED}, int sampling_ratio, {_SIZES}) -> Tensor": regions.ps_roi_align_backward,  # noqa: E501
    f"ps_roi_pool(Tensor input, {_POOLED}) -> (Tensor, Tensor)": regions.ps_roi_pool,
    f"_ps_roi_pool_backward(Tensor grad, {_MAPPED}, {_SIZES}) -> Tensor": regions.ps_roi_pool_backward,  # noqa: E501
    f"deform_conv2d({_CONVOLUTION}) -> Tensor": deforming.deform_conv2d,
    (
        f"_deform_conv2d_backward(Tensor grad, {_CONVOLUTION}) -> (Tensor, Tensor, Tensor, Tensor, "
        "Tensor)"
    ): deforming.deform_conv2d_backward,
    "box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor": boxes.box_iou_rotated,
}
_QUANTISED = "quantised tensors are left out"


def _nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> object:
    kept = boxes.nms(
        np.asarray(dets.detach().jax()), np.asarray(scores.detach().jax()), iou_threshold
    )
    return scores.new_tensor(kept, dtype=_long())


def _long() -> dtype:
    from ...facts.dtypes import int64

    return int64


def _refuse(name: str) -> Callable[..., object]:
    def refuse(*_args: object, **_kwargs: object) -> Any:
        raise not_offered(f"torchvision's {name}", _QUANTISED)

    return refuse


_library: Library | None = None


def define() -> None:
    """Enters the operators; once."""
    global _library
    if _library is not None:
        return
    _library = made = Library("torchvision", "FRAGMENT")
    for schema, kernel in _ARRAYS.items():
        made.impl(made.define(schema), kernel, "JAX")
    for name in ("nms", "qnms"):
        made.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    made.impl("nms", _nms, "CompositeExplicitAutograd")
    made.impl("qnms", _refuse("qnms"), "CompositeExplicitAutograd")
    made.define(
        "qroi_align(Tensor input, Tensor rois, float input_scale, int input_zero_point, float "
        "rois_scale, int rois_zero_point, float spatial_scale, SymInt pooled_height, SymInt "
        "pooled_width, int sampling_ratio, bool aligned) -> Tensor"
    )
    made.impl("qroi_align", _refuse("qroi_align"), "CompositeExplicitAutograd")
    made.define("_cuda_version() -> int")
    made.impl("_cuda_version", lambda: -1, "CompositeExplicitAutograd")


def adapt(module: ModuleType) -> None:
    """Tells ``torchvision.extension`` that the operators are there."""
    define()
    module._has_ops = lambda: True
