"""Strided nested tensors out of dense ones, under the names of ``torch`` that layers of attention call. Gradients reach the latter."""

from __future__ import annotations

from typing import Any

import jtorch as torch
from jtorch import Tensor

from .strided import StridedNestedTensor, from_padded


def _nested_from_padded(padded: Tensor, cpu_nested_shape_example: Tensor, fuse_transform_0213: bool = False) -> StridedNestedTensor:
    """The items of the sizes in the rows of ``cpu_nested_shape_example`` out of ``padded (B, *)``.

    Args:
        fuse_transform_0213: ``padded (B, heads, L, D)`` gives items ``(length, heads * D)``.

    Raises:
        RuntimeError: for sizes that are no matrix, or larger than what there is.
    """
    if cpu_nested_shape_example.dim() != 2:
        raise RuntimeError("_nested_from_padded(): the sizes of items must be the rows of a matrix")
    sizes = [tuple(row) for row in cpu_nested_shape_example.tolist()]
    if fuse_transform_0213:
        padded = padded.transpose(1, 2).flatten(2)
    largest = [max(column) for column in zip(*sizes, strict=True)]
    for d, (wanted, there) in enumerate(zip(largest, padded.shape[1:], strict=True), 1):
        if wanted > there and there != 1:
            raise RuntimeError(f"The size of tensor a ({wanted}) must match the size of tensor b ({there}) at non-singleton dimension {d}")
    shape = [max(a, b) if b == 1 else b for a, b in zip(largest, padded.shape[1:], strict=True)]
    return from_padded(padded.expand(padded.shape[0], *shape), sizes)


def _nested_from_padded_and_nested_example(padded: Tensor, nt_example: StridedNestedTensor) -> StridedNestedTensor:
    """The items of the sizes of another nested tensor out of ``padded (B, *)``."""
    return _nested_from_padded(padded, nt_example._nested_tensor_size())


def _lengths(t: Any, mask: Any) -> tuple[Tensor, bool]:
    """How many elements of each row are present, and whether they are the first ones.

    Raises:
        RuntimeError: for a mask that is not bool, or does not fit.
    """
    if mask.dtype is not torch.bool:
        raise RuntimeError(f"Expected mask to be of ScalarType Bool, but got {mask.dtype.scalar_name} instead.")
    if mask.dim() != 2:
        raise RuntimeError("Padding mask should be 2D")
    if t.dim() != 3:
        raise RuntimeError("Input should be a 3D tensor, N * L * D")
    if tuple(t.shape[:2]) != tuple(mask.shape):
        raise RuntimeError("Mask size should match input size")
    lengths = mask.sum(-1)
    return lengths, bool((mask == (torch.arange(mask.shape[1], device=mask.device) < lengths[:, None])).all())


def _nested_tensor_from_mask(t: Tensor, mask: Tensor, mask_check: bool = True) -> StridedNestedTensor:
    """The rows ``(length, D)`` of ``t (N, L, D)`` that a bool ``mask (N, L)``, which has no gaps, says are present.

    Raises:
        RuntimeError: for a mask with gaps, unless ``mask_check`` is False, of another dtype or size.
    """
    lengths, aligned = _lengths(t, mask)
    if mask_check and not aligned:
        raise RuntimeError("Mask must be left-aligned without gaps")
    return from_padded(t, [(n, t.shape[2]) for n in lengths.tolist()])


def _nested_tensor_from_mask_left_aligned(t: Tensor, mask: Tensor) -> bool:
    """Whether a mask has no gaps."""
    return _lengths(t, mask)[1]
