"""Which operations on images hand on channels-last memory, and the strides that their results then have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .core import Tensor, format_strides
from .layouts import channels_last, channels_last_3d

_FORMATS = {4: channels_last, 5: channels_last_3d}

#: Operations whose results are in the order of the image, and what else must hold, in terms of the operation's parameters.
KEEPING: dict[str, str] = dict.fromkeys(
    "max_pool2d max_pool3d max_pool2d_with_indices max_pool3d_with_indices avg_pool2d adaptive_avg_pool2d adaptive_max_pool2d "
    "adaptive_max_pool2d_with_indices lp_pool2d max_unpool2d _batch_norm_train _batch_norm_eval group_norm local_response_norm "
    "pixel_shuffle pixel_unshuffle channel_shuffle _dropout _alpha_dropout flip roll cat".split(),
    "",
)
KEEPING |= {"pad": "mode != 'circular'", "interpolate": "(mode != 'area' or input._aval.ndim == 4)"}
#: Here the order of the weight does as well.
WEIGHTED = frozenset(("conv2d", "conv3d", "conv_transpose2d", "conv_transpose3d"))


def condition(name: str) -> str | None:
    """When an operation's generated code asks ``keep_format``, as an expression; None if never."""
    if name in WEIGHTED:
        return "_ts[0]._strides is not None or _ts[1]._strides is not None"
    more = KEEPING.get(name)
    if more is None:
        return None
    return f"_ts[0]._strides is not None and {more}" if more else "_ts[0]._strides is not None"


def _is_image(t: Tensor) -> bool:
    shape, strides = t._aval.shape, t._strides
    return strides is not None and len(shape) in _FORMATS and strides == format_strides(shape, _FORMATS[len(shape)])


def keep_format(name: str, result: Any, tensors: Sequence[Tensor]) -> None:
    """Gives the results of an operation channels-last strides if its image has them: all images of ``cat``."""
    if name == "cat":
        keeps = all(_is_image(t) for t in tensors)
    else:
        keeps = _is_image(tensors[0]) or (name in WEIGHTED and _is_image(tensors[1]))
    if keeps:
        for r in result if isinstance(result, tuple) else (result,):
            if r._aval.ndim in _FORMATS:
                r._strides = format_strides(r._aval.shape, _FORMATS[r._aval.ndim])
