"""Which of PyTorch's kernels a convolution would be computed by: its rules for a CPU with MKL-DNN.
XLA has one way for all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .._src.facts import dtypes, layouts
from .._src.facts.numbered import Numbered
from ..core import Tensor as _Tensor

_ConvBackend = Numbered(
    "_ConvBackend",
    {
        "CudaDepthwise2d": 0, "CudaDepthwise3d": 1, "Cudnn": 2, "CudnnTranspose": 3, "Empty": 4,
        "Miopen": 5, "MiopenDepthwise": 6, "MiopenTranspose": 7, "Mkldnn": 8, "MkldnnTranspose": 9,
        "MkldnnEmpty": 10, "NnpackSpatial": 11, "Overrideable": 12, "Slow2d": 13, "Slow3d": 14,
        "SlowDilated2d": 15, "SlowDilated3d": 16, "SlowTranspose2d": 17, "SlowTranspose3d": 18,
        "Winograd3x3Depthwise": 19, "Xnnpack2d": 20, "Mps": 21, "MpsTranspose": 22,
    },
)  # fmt: skip
#: From how many elements on a single image is given to MKL-DNN.
_LARGE = 20480


def _select_conv_backend(
    input: _Tensor,
    weight: _Tensor,
    bias: object,  # noqa: ARG001 (torch's)
    stride: Sequence[int],  # noqa: ARG001 (torch's)
    padding: Sequence[int],  # noqa: ARG001 (torch's)
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],  # noqa: ARG001 (torch's)
    groups: int,
    bias_sizes: object = None,  # noqa: ARG001 (torch's)
) -> object:
    """The kernel that PyTorch would choose on a CPU."""
    sizes, kernel = tuple(input.shape), tuple(weight.shape)[2:]
    mkldnn = input.layout is layouts._mkldnn
    if 0 in sizes[:2]:
        return _ConvBackend.MkldnnEmpty if mkldnn else _ConvBackend.Empty
    large = (
        groups > 1
        or sizes[0] > 1
        or math.prod(sizes) > _LARGE
        or (len(kernel) > 1 and min(kernel[-2:]) > 3)
    )
    if mkldnn or input.dtype is dtypes.bfloat16 or (input.dtype is dtypes.float32 and large):
        return _ConvBackend.MkldnnTranspose if transposed else _ConvBackend.Mkldnn
    rank = f"{max(len(kernel), 2)}d"
    kind = (
        "SlowTranspose"
        if transposed
        else "SlowDilated"
        if any(d != 1 for d in dilation)
        else "Slow"
    )
    return _ConvBackend[kind + rank]
