"""How the chunks of a tensor that was saved lie to those that are wanted."""

from __future__ import annotations

from .metadata import ChunkStorageMetadata

__all__: list[str] = []


def _check_shard_metadata_pair_overlap(
    shard1: ChunkStorageMetadata, shard2: ChunkStorageMetadata
) -> bool:
    """Whether two chunks have elements in common."""
    sides = zip(shard1.offsets, shard1.sizes, shard2.offsets, shard2.sizes, strict=True)
    return all(a < b + of_b and b < a + of_a for a, of_a, b, of_b in sides)


def _shards_get_overlap_region_wrt_saved_tensor(
    saved_shard: ChunkStorageMetadata, current_shard: ChunkStorageMetadata
) -> list[tuple[int, int, int, int]]:
    """For each dimension itself, where the common part begins in either chunk, and how long it
    is."""
    found = []
    sides = zip(
        saved_shard.offsets,
        saved_shard.sizes,
        current_shard.offsets,
        current_shard.sizes,
        strict=True,
    )
    for dim, (a, of_a, b, of_b) in enumerate(sides):
        begin = max(a, b)
        found.append((dim, begin - a, begin - b, min(a + of_a, b + of_b) - begin))
    return found
