"""``make_tensor``: random tensors of any dtype within bounds."""

from __future__ import annotations

import math
import warnings
from typing import Any

import jtorch as torch


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: object,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: torch.memory_format | None = None,
) -> torch.Tensor:
    """A tensor of uniform random values in ``[low, high)``, as far as the dtype reaches: by default
    in [-9, 9].

    Args:
        noncontiguous: not contiguous, if it has more than one element.
        exclude_zero: zeros become the smallest positive number.

    Raises:
        ValueError: for bounds that are nan or exclude all values, or contradicting options.
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"{noncontiguous=} and {memory_format=}"
        )
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, but got "
            f"{dtype=}"
        )
    low, high = _bounds(dtype, low, high)
    padded = noncontiguous and math.prod(sizes) > 1
    found = _values((*sizes[:-1], 2 * sizes[-1]) if padded else sizes, dtype, low, high).to(device)
    if padded:
        found = found[..., 1::2]
    elif memory_format is not None:
        found = found.clone(memory_format=memory_format)
    if exclude_zero:
        found[found == 0] = (
            torch.finfo(dtype).tiny if dtype.is_floating_point or dtype.is_complex else 1
        )
    if _has_gradients(dtype):
        found.requires_grad = requires_grad
    return found


def _has_gradients(dtype: torch.dtype) -> bool:
    return (dtype.is_floating_point or dtype.is_complex) and dtype.itemsize > 1


def _bounds(dtype: torch.dtype, low: Any, high: Any) -> tuple[Any, Any]:
    """The interval to draw from, half open: ``low`` and ``high``, as far as ``dtype`` reaches."""
    if dtype is torch.bool:
        (least, most), default = (0, 2), (0, 2)
    elif dtype.is_floating_point or dtype.is_complex:
        (least, most), default = (torch.finfo(dtype).min, torch.finfo(dtype).max), (-9, 9)
    else:
        limits = torch.iinfo(dtype)
        (least, most), default = (limits.min, limits.max + (dtype is not torch.int64)), (-9, 10)
    low, high = default[0] if low is None else low, default[1] if high is None else high
    if any(isinstance(bound, float) and math.isnan(bound) for bound in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and _has_gradients(dtype):
        warnings.warn(
            "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is "
            "deprecated since 2.1 and will be removed in 2.3. Use `torch.full(...)` instead.",
            FutureWarning,
            stacklevel=3,
        )
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= most:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} "
            f"only supports [{least}, {most})"
        )
    low, high = min(max(low, least), most), min(max(high, least), most)
    return (
        (low, high)
        if dtype.is_floating_point or dtype.is_complex
        else (math.ceil(low), math.ceil(high))
    )


def _values(sizes: tuple[int, ...], dtype: torch.dtype, low: Any, high: Any) -> Any:
    if not (dtype.is_floating_point or dtype.is_complex):
        return torch.randint(low, high, sizes, dtype=dtype)
    if dtype.itemsize == 1:  # numbers of eight bits are drawn as float32
        return _uniform(torch.empty(sizes, dtype=torch.float32), low, high).to(dtype)
    found = torch.empty(sizes, dtype=dtype)
    _uniform(torch.view_as_real(found) if dtype.is_complex else found, low, high)
    return found


def _uniform(t: torch.Tensor, low: float, high: float) -> torch.Tensor:
    if high - low >= torch.finfo(t.dtype).max:  # the width has to be a number of the type
        return t.uniform_(low / 2, high / 2).mul_(2)
    return t.uniform_(low, high)
