"""``make_tensor``: random tensors of any dtype within bounds."""

from __future__ import annotations

import math
from typing import Any

import jtorch as torch

_INTEGRAL = {torch.uint8: (0, 10), torch.int8: (-9, 10), torch.int16: (-9, 10), torch.int32: (-9, 10), torch.int64: (-9, 10)}


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: torch.memory_format | None = None,
) -> Any:
    """A tensor of uniform random values in ``[low, high)``: by default in [-9, 9], of uint8 in [0, 9], of bool both.

    Args:
        noncontiguous: not contiguous, if it has more than one element.
        exclude_zero: zeros become the smallest positive number.

    Raises:
        ValueError: for bounds that are nan or exclude all values, or contradicting options.
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got {noncontiguous=} and {memory_format=}"
        )
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    for bound in (low, high):
        if isinstance(bound, float) and math.isnan(bound):
            raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if (
        low is not None
        and high is not None
        and (low > high or (low == high and dtype is not torch.bool and not dtype.is_floating_point and not dtype.is_complex))
    ):
        raise ValueError(f"`low` must be less than or equal to `high`, but got {low=} and {high=}")
    padded = noncontiguous and math.prod(sizes) > 1
    full = (*sizes[:-1], 2 * sizes[-1]) if padded and sizes else sizes
    found = _values(full, dtype, low, high).to(device)
    if padded:
        found = found[..., 1::2]
    elif memory_format is not None:
        found = found.clone(memory_format=memory_format)
    if exclude_zero:
        found[found == 0] = torch.finfo(dtype).tiny if dtype.is_floating_point or dtype.is_complex else 1
    if dtype.is_floating_point or dtype.is_complex:
        found.requires_grad = requires_grad
    return found


def _values(sizes: tuple[int, ...], dtype: Any, low: Any, high: Any) -> Any:
    if dtype is torch.bool:
        return torch.randint(int(low or 0), 2 if high is None else int(high), sizes, dtype=torch.int64).to(torch.bool)
    if dtype.is_floating_point or dtype.is_complex:
        low, high = (-9.0 if low is None else float(low)), (9.0 if high is None else float(high))
        limits = torch.finfo(dtype)
        low, high = max(low, limits.min), min(high, limits.max)
        if dtype.itemsize == 1:  # numbers of eight bits are drawn as float32
            return _uniform(torch.empty(sizes, dtype=torch.float32), low, high).to(dtype)
        found = torch.empty(sizes, dtype=dtype)
        _uniform(torch.view_as_real(found) if dtype.is_complex else found, low, high)
        return found
    bounds = _INTEGRAL.get(dtype, (0, 10))
    low, high = bounds[0] if low is None else math.ceil(low), bounds[1] if high is None else math.ceil(high)
    return torch.randint(low, high, sizes, dtype=torch.int64).to(dtype)


def _uniform(t: Any, low: float, high: float) -> Any:
    if high - low >= torch.finfo(t.dtype).max:  # the width has to be a number of the type
        return t.uniform_(low / 2, high / 2).mul_(2)
    return t.uniform_(low, high)
