"""The pieces that values of a state are written in and read by."""

from __future__ import annotations

from collections.abc import Sequence

import jtorch as torch

from ..tensor import DTensor
from ..tensor._utils import compute_local_shape_and_global_offset
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from .planner import LoadItemType, ReadItem, TensorWriteData, WriteItem, WriteItemType

__all__ = ["create_read_items_for_chunk_list"]


def _create_chunk_from_dtensor(tensor: DTensor) -> ChunkStorageMetadata:
    sizes, offsets = compute_local_shape_and_global_offset(
        tensor.shape, tensor.device_mesh, tensor.placements
    )
    return ChunkStorageMetadata(offsets=torch.Size(offsets), sizes=torch.Size(sizes))


def _create_chunk_list(tensor: torch.Tensor) -> list[ChunkStorageMetadata]:
    """The boxes of a tensor that this process holds."""
    if isinstance(tensor, DTensor):
        return [_create_chunk_from_dtensor(tensor)]
    return [ChunkStorageMetadata(offsets=torch.Size([0] * tensor.dim()), sizes=tensor.size())]


def _create_write_items(fqn: str, object: torch.Tensor | float | str) -> list[WriteItem]:
    if not isinstance(object, torch.Tensor):
        return [WriteItem(index=MetadataIndex(fqn), type=WriteItemType.BYTE_IO)]
    (chunk,) = _create_chunk_list(object)
    return [
        WriteItem(
            index=MetadataIndex(fqn, chunk.offsets),
            type=WriteItemType.SHARD if isinstance(object, DTensor) else WriteItemType.TENSOR,
            tensor_data=TensorWriteData(
                chunk=chunk,
                properties=TensorProperties.create_from_tensor(object),
                size=object.size(),
            ),
        )
    ]


def _overlap(
    saved: ChunkStorageMetadata, wanted: ChunkStorageMetadata
) -> tuple[list[int], list[int], list[int]] | None:
    """Where what two boxes share begins in each, and its sizes; None if they share nothing."""
    in_saved, in_wanted, lengths = [], [], []
    for a, n, b, m in zip(saved.offsets, saved.sizes, wanted.offsets, wanted.sizes, strict=True):
        start, end = max(a, b), min(a + n, b + m)
        if start >= end:
            return None
        in_saved.append(start - a)
        in_wanted.append(start - b)
        lengths.append(end - start)
    return in_saved, in_wanted, lengths


def create_read_items_for_chunk_list(
    fqn: str, checkpoint_md: TensorStorageMetadata, local_chunks: list[ChunkStorageMetadata]
) -> list[ReadItem]:
    """What is read to fill some boxes of a tensor from those that it was saved in."""
    items = []
    for i, wanted in enumerate(local_chunks):
        for k, saved in enumerate(checkpoint_md.chunks):
            shared = _overlap(saved, wanted)
            if shared is None:
                continue
            items.append(
                ReadItem(
                    type=LoadItemType.TENSOR,
                    dest_index=MetadataIndex(fqn, wanted.offsets, i),
                    dest_offsets=torch.Size(shared[1]),
                    storage_index=MetadataIndex(fqn, saved.offsets, k),
                    storage_offsets=torch.Size(shared[0]),
                    lengths=torch.Size(shared[2]),
                )
            )
    return items


def _create_read_items(
    fqn: str, md: TensorStorageMetadata | BytesStorageMetadata, obj: torch.Tensor | float | str
) -> list[ReadItem]:
    if isinstance(md, BytesStorageMetadata):
        nowhere = torch.Size((0,))
        index = MetadataIndex(fqn)
        return [ReadItem(LoadItemType.BYTE_IO, index, nowhere, index, nowhere, nowhere)]
    if not isinstance(obj, torch.Tensor):
        raise ValueError(
            f"Invalid checkpoint metadata for {fqn}, expected BytesStorageMetadata but found "
            f"{type(md)}"
        )
    return create_read_items_for_chunk_list(fqn, md, _create_chunk_list(obj))


def narrow_tensor_by_index(
    tensor: torch.Tensor, offsets: Sequence[int], sizes: Sequence[int]
) -> torch.Tensor:
    """A box of a tensor, as a view."""
    for dim, (start, size) in enumerate(zip(offsets, sizes, strict=True)):
        if start or size != tensor.size(dim):
            tensor = tensor.narrow(dim, start, size)
    return tensor
