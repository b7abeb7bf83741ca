"""Watching the range of values, and rounding them to the grid that it gives."""

from __future__ import annotations

from ...autograd.grad_mode import no_grad
from ...autograd.names import named
from ...core import Tensor
from ..bind.cores import composite
from ..bind.everything import _C, T

_LEAST = 6.1e-5  # of scales: what a half float can hold


@composite(
    operands=(
        "input",
        "observer_on",
        "fake_quant_on",
        "running_min",
        "running_max",
        "scale",
        "zero_point",
    )
)
def fused_moving_avg_obs_fake_quant(
    input: Tensor,
    observer_on: Tensor,
    fake_quant_on: Tensor,
    running_min: Tensor,
    running_max: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    averaging_const: float,
    quant_min: int,
    quant_max: int,
    ch_axis: int,
    per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> Tensor:
    """Notes the range of ``input`` in running averages, makes scale and zero point of them, and
    rounds ``input`` to that grid.

    Shapes: that of ``input``. ``running_min``, ``running_max``, ``scale`` and ``zero_point`` are
    written: one element, or with ``per_row_fake_quant`` one for each index of the first dimension;
    the first two may be empty then, and get their size.

    Gradient: that of the identity where nothing was clipped, else 0; all of it if ``fake_quant_on``
    is 0.

    Args:
        input: the values.
        observer_on: 0 if the averages are to stay as they are.
        fake_quant_on: 0 if ``input`` is given back as it is; scale and zero point stay then too.
        running_min: the average of the least values; infinite before the first.
        running_max: that of the largest.
        scale: the distance of two points of the grid.
        zero_point: the number that stands for 0.
        averaging_const: how much of the average a new value makes up.
        quant_min: the least number of the grid.
        quant_max: the largest.
        ch_axis: 0 for rows.
        per_row_fake_quant: whether each row has a grid of its own.
        symmetric_quant: whether 0 is in the middle of the grid.

    Raises:
        RuntimeError: for rows along another dimension than the first.

    Example:
        >>> import jtorch as torch
        >>> low, high, scale = (
        ...     torch.tensor(float("inf")),
        ...     torch.tensor(float("-inf")),
        ...     torch.ones(1),
        ... )
        >>> on, zero = torch.ones(1), torch.zeros(1, dtype=torch.int32)
        >>> x = torch.tensor([0.0, 0.3, 1.5])
        >>> torch.fused_moving_avg_obs_fake_quant(x, on, on, low, high, scale, zero, 0.01, 0, 15, 0)
        tensor([0.0000, 0.3000, 1.5000])
    """

    if per_row_fake_quant and ch_axis != 0:
        raise RuntimeError(
            "Per-channel FakeQuant in fused_moving_avg_obs_fake_quant is only supported on axis == "
            "0"
        )
    if input.numel() == 0:  # nothing is seen
        return input.clone()
    watched, rounding = observer_on.reshape(-1)[0] != 0, fake_quant_on.reshape(-1)[0] != 0
    with no_grad():
        values = input.detach()
        if per_row_fake_quant:
            low, high = T.aminmax(values.reshape(values.shape[0], -1), dim=1)
            if running_min.numel() == 0:
                running_min.resize_(low.shape).fill_(float("inf"))
                running_max.resize_(high.shape).fill_(float("-inf"))
                scale.resize_(low.shape).fill_(1.0)
                zero_point.resize_(low.shape).zero_()
        else:
            low, high = T.aminmax(values)
        for running, now in ((running_min, low), (running_max, high)):
            now = now.reshape(running.shape).to(running.dtype)
            average = T.where(T.isinf(running), now, running + averaging_const * (now - running))
            running.copy_(T.where(watched, average, running))
        made = _grid(running_min, running_max, quant_min, quant_max, symmetric_quant)
        for held, new in zip((scale, zero_point), made, strict=True):
            held.copy_(T.where(rounding, new.reshape(held.shape).to(held.dtype), held))
    if per_row_fake_quant:
        found = T.fake_quantize_per_channel_affine(
            input, scale, zero_point, 0, quant_min, quant_max
        )
    else:
        found = _C._fake_quantize(input, scale, zero_point, quant_min, quant_max)
    return named(T.where(rounding, found, input), "FusedMovingAvgObsFqHelperBackward0")


def _grid(
    low: Tensor, high: Tensor, quant_min: int, quant_max: int, symmetric: bool
) -> tuple[Tensor, Tensor]:
    """Scale and zero point for a range: 0 is a point of the grid."""

    low, high = T.clamp(low.double(), max=0.0), T.clamp(high.double(), min=0.0)
    steps = quant_max - quant_min
    both = (low < 0) & (high > 0)
    if symmetric:
        half = steps // 2
        widest = T.maximum(T.abs(low / -(half + 1)), T.abs(high / half))
        low, high = T.where(both, -widest * (half + 1), low), T.where(both, widest * half, high)
    scale = (high - low) / steps
    plain = scale.float()
    scale = T.where((plain == 0) | T.isinf(1 / plain) | ~T.isfinite(plain), 0.1, scale)
    small = scale < _LEAST
    factor = T.where(small, _LEAST / scale, 1.0)
    low, high = low * factor, high * factor
    scale = T.where(small, _LEAST, scale)
    from_low, from_high = quant_min - low / scale, quant_max - high / scale
    nearer = abs(quant_min) + T.abs(low / scale) < abs(quant_max) + T.abs(high / scale)
    zero = T.where(nearer, from_low, from_high)
    if symmetric:
        zero = T.where(both, (quant_min + quant_max) / 2, zero)
    return scale, T.round(T.clamp(zero, quant_min, quant_max))
