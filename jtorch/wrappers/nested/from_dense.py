"""Strided nested tensors out of dense ones, under the names of ``torch`` that packages call.
Gradients reach the latter."""

from __future__ import annotations

from typing import Any

import jtorch as torch
from jtorch import Tensor

from .strided import StridedNestedTensor, from_padded, from_parts


def _nested_from_padded(
    padded: Tensor, cpu_nested_shape_example: Tensor, fuse_transform_0213: bool = False
) -> StridedNestedTensor:
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
            raise RuntimeError(
                f"The size of tensor a ({wanted}) must match the size of tensor b ({there}) at "
                f"non-singleton dimension {d}"
            )
    shape = [max(a, b) if b == 1 else b for a, b in zip(largest, padded.shape[1:], strict=True)]
    return from_padded(padded.expand(padded.shape[0], *shape), sizes)


def _nested_from_padded_and_nested_example(
    padded: Tensor, nt_example: StridedNestedTensor
) -> StridedNestedTensor:
    """The items of the sizes of another nested tensor out of ``padded (B, *)``."""
    return _nested_from_padded(padded, nt_example._nested_tensor_size())


def _lengths(t: Any, mask: Any) -> tuple[Tensor, bool]:
    """How many elements of each row are present, and whether they are the first ones.

    Raises:
        RuntimeError: for a mask that is not bool, or does not fit.
    """
    if mask.dtype is not torch.bool:
        raise RuntimeError(
            f"Expected mask to be of ScalarType Bool, but got {mask.dtype.scalar_name} instead."
        )
    if mask.dim() != 2:
        raise RuntimeError("Padding mask should be 2D")
    if t.dim() != 3:
        raise RuntimeError("Input should be a 3D tensor, N * L * D")
    if tuple(t.shape[:2]) != tuple(mask.shape):
        raise RuntimeError("Mask size should match input size")
    lengths = mask.sum(-1)
    return lengths, bool(
        (mask == (torch.arange(mask.shape[1], device=mask.device) < lengths[:, None])).all()
    )


def _nested_tensor_from_mask(
    t: Tensor, mask: Tensor, mask_check: bool = True
) -> StridedNestedTensor:
    """The rows ``(length, D)`` of ``t (N, L, D)`` that a bool ``mask (N, L)``, which has no gaps,
    says are present.

    Raises:
        RuntimeError: for a mask with gaps, unless ``mask_check`` is False, of another dtype or
            size.
    """
    lengths, aligned = _lengths(t, mask)
    if mask_check and not aligned:
        raise RuntimeError("Mask must be left-aligned without gaps")
    return from_padded(t, [(n, t.shape[2]) for n in lengths.tolist()])


def _nested_tensor_from_mask_left_aligned(t: Tensor, mask: Tensor) -> bool:
    """Whether a mask has no gaps."""
    return _lengths(t, mask)[1]


def _check_long(*tables: Tensor) -> None:
    for table in tables:
        if table.dtype is not torch.int64:
            raise RuntimeError(f"expected scalar type Long but found {table.dtype.scalar_name}")


def _nested_compute_contiguous_strides_offsets(nested_size: Tensor) -> tuple[Tensor, Tensor]:
    """The strides of items whose sizes are the rows of a matrix, and where each begins, if they lie
    one behind the other.

    Raises:
        IndexError: for sizes that are no matrix.
        RuntimeError: for sizes of another dtype than int64.
    """
    if nested_size.dim() < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    _check_long(nested_size)
    if not nested_size.shape[1]:
        return torch.empty_like(nested_size), torch.arange(nested_size.shape[0])
    steps = torch.cat([torch.ones_like(nested_size[:, :1]), nested_size.flip(1)], 1).cumprod(1)
    return steps[:, :-1].flip(1), steps[:, -1].cumsum(0) - steps[:, -1]


def _nested_view_from_buffer(
    self: Tensor, nested_size: Tensor, nested_strides: Tensor, offsets: Tensor
) -> StridedNestedTensor:
    """The nested tensor whose items lie in a flat buffer as the tables say, a row of sizes and of
    strides for each: it writes into that.

    Raises:
        RuntimeError: for a buffer that is not flat or too small, and tables that do not go together
            or are of another dtype than int64.
    """
    if self.dim() != 1:
        raise RuntimeError(
            f"_nested_view_from_buffer(): the buffer must have one dimension, got {self.dim()}"
        )
    _check_long(nested_size, nested_strides, offsets)
    if nested_size.shape != nested_strides.shape or nested_size.shape[:1] != offsets.shape:
        raise RuntimeError(
            f"_nested_view_from_buffer(): sizes {tuple(nested_size.shape)}, strides "
            f"{tuple(nested_strides.shape)} and offsets {tuple(offsets.shape)} do not go together"
        )
    last = torch.where(
        (nested_size == 0).any(1),
        offsets,
        offsets + ((nested_size - 1) * nested_strides).sum(1) + 1,
    )
    if last.numel() and int(last.max()) > self.numel():
        raise RuntimeError(
            f"_nested_view_from_buffer(): items reach {int(last.max())} elements, the buffer has "
            f"{self.numel()}"
        )
    return from_parts(self, nested_size, nested_strides, offsets)
