"""The two operators of a gradient scaler that libraries with a scaler of their own call: unscaling
with a check, and the next scale."""

from __future__ import annotations

from collections.abc import Sequence

import jtorch as torch
from jtorch import Tensor


def _need_one_float(tensor: Tensor, name: str) -> None:
    if tensor.numel() != 1:
        raise RuntimeError(f"{name} must be a 1-element tensor.")
    if tensor.dtype is not torch.float32:
        raise RuntimeError(f"{name} must be a float tensor.")


def _amp_foreach_non_finite_check_and_unscale_(
    self: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor
) -> None:
    """Multiplies the gradients by ``inv_scale`` in place, and sets ``found_inf`` to one if one of
    them has an infinity or a NaN.

    Raises:
        RuntimeError: if ``found_inf`` or ``inv_scale`` is not one float32.
        NotImplementedError: for gradients that are not of floating point.

    Example:
        >>> import jtorch as torch
        >>> grads, found = [torch.tensor([2.0, 4.0])], torch.zeros(1)
        >>> torch._amp_foreach_non_finite_check_and_unscale_(grads, found, torch.tensor(0.5))
        >>> grads, found
        ([tensor([1., 2.])], tensor([0.]))
    """
    if not len(self):
        return
    _need_one_float(inv_scale, "inv_scale")
    _need_one_float(found_inf, "found_inf")
    with torch.no_grad():
        for grad in self:
            if not grad.is_floating_point():
                name = (
                    '"_amp_foreach_non_finite_check_and_unscale_cpu" not implemented for '
                    f"{grad.dtype.scalar_name!r}"
                )
                raise NotImplementedError(name)
            found_inf.masked_fill_(~torch.isfinite(grad).all(), 1.0)
            grad.copy_(grad.float() * inv_scale if grad.dtype.itemsize < 4 else grad * inv_scale)


def _amp_update_scale_(
    self: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:
    """The next scale, in place: backed off after an infinity, grown after ``growth_interval`` steps
    without one, if that is finite.

    Raises:
        RuntimeError: if ``self`` or ``found_inf`` is not one float32, or ``growth_tracker`` not one
            int32.
    """
    for tensor, name, dtype, what in (
        (growth_tracker, "growth_tracker", torch.int32, "an int"),
        (self, "current_scale", torch.float32, "a float"),
        (found_inf, "found_inf", torch.float32, "a float"),
    ):
        if tensor.numel() != 1:
            raise RuntimeError(f"{name} must be a 1-element tensor.")
        if tensor.dtype is not dtype:
            raise RuntimeError(f"{name} must be {what} tensor.")
    with torch.no_grad():
        overflowed = found_inf.reshape(()) != 0
        steps = growth_tracker.reshape(()) + 1
        grown = self.reshape(()) * scale_growth_factor
        due = steps == growth_interval
        kept = torch.where(due & torch.isfinite(grown), grown, self.reshape(()))
        self.copy_(torch.where(overflowed, self.reshape(()) * scale_backoff_factor, kept))
        growth_tracker.copy_(torch.where(overflowed | due, torch.zeros_like(steps), steps))
    return self
