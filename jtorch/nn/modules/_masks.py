"""Attention masks in one form: floating-point, to be added to the scores."""

from __future__ import annotations

import warnings

import jtorch as torch
from jtorch import Tensor


def none_or_dtype(input: Tensor | None) -> torch.dtype | None:
    """The dtype of a tensor, None for None.

    Raises:
        RuntimeError: for anything else.
    """
    if input is None:
        return None
    if isinstance(input, Tensor):
        return input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: object,
    other_name: str,
    target_type: torch.dtype,
    check_other: bool = True,
) -> Tensor | None:
    """A boolean ``mask`` as zeros and -inf of ``target_type``; a floating-point one as it is.

    Raises:
        AssertionError: for a mask of another dtype.
    """
    if mask is None:
        return None
    if mask.dtype is not torch.bool and not torch.is_floating_point(mask):
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for "
            "both instead.",
            stacklevel=4,
        )
    if mask.dtype is torch.bool:
        return torch.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))
    return mask
