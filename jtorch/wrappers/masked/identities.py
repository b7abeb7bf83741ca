"""The values that change nothing in reductions."""

from __future__ import annotations

import jtorch as torch
from jtorch import Tensor


def identity(op: str, input: Tensor, *args: object) -> Tensor | None:
    """The value that changes nothing in a reduction of tensors like ``input``, as a 0-dim tensor;
    None if there is no such value.

    Raises:
        NotImplementedError: if the reduction is not defined on the dtype.
    """
    name, dtype, device = op.rsplit(".", 1)[-1], input.dtype, input.device

    def value(x: object, of: torch.dtype = dtype) -> Tensor:
        return torch.tensor(x, dtype=of, device=device)

    if name in ("sum", "cumsum"):
        return value(0)
    if name in ("prod", "cumprod"):
        return value(1)
    if name == "logsumexp" and dtype.is_complex:
        return value(complex(-torch.inf, 0))
    if name in ("amax", "argmax", "logaddexp", "logsumexp", "amin", "argmin"):
        lowest = not name.endswith("min")
        if dtype.is_floating_point:
            return value(-torch.inf if lowest else torch.inf)
        if dtype.is_signed or dtype is torch.uint8:
            limits = torch.iinfo(dtype)
            return value(limits.min if lowest else limits.max)
    elif name in ("mean", "var", "std"):
        return None
    elif name == "norm":
        if (args[0] if args else 2) == float("-inf"):
            if not dtype.is_floating_point:
                raise AssertionError(f"input must be floating point, got {dtype}")
            return value(torch.inf)
        return value(0)
    elif name == "median":
        return value(torch.nan, dtype if dtype.is_floating_point else torch.float32)
    raise NotImplementedError(f"identity of {name} on {dtype} input")
