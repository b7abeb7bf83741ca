"""What is known of a distributed tensor besides its data: the mesh, how it lies on it, its whole
shape, strides and dtype."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jtorch as torch

from ..device_mesh import DeviceMesh
from .placement_types import Partial, Placement, Replicate, Shard, _is_shard_like, _StridedShard


class TensorMeta(NamedTuple):
    """Shape, strides and dtype of the whole."""

    shape: torch.Size
    stride: tuple[int, ...]
    dtype: torch.dtype


class ShardOrderEntry(NamedTuple):
    """Which dimensions of the mesh cut a dimension of the tensor, in the order in which they do."""

    tensor_dim: int
    mesh_dims: tuple[int, ...]


@dataclass(eq=False)
class DTensorSpec:
    """How a tensor lies on a mesh: ``placements`` has one entry for each dimension of the mesh."""

    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    tensor_meta: TensorMeta | None = None
    shard_order: object = None
    use_strided_shard_as_shard_order: bool | None = None

    def __post_init__(self) -> None:
        self.placements = tuple(self.placements)
        if self.shard_order is None:
            self.shard_order = tuple(
                [
                    ShardOrderEntry(d, tuple(dims))
                    for d, dims in sorted(cuts(self.mesh.shape, self.placements).items())
                ]
            )

    def _key(self) -> object:
        meta = self.tensor_meta
        return (
            self.mesh,
            self.placements,
            None if meta is None else (tuple(meta.shape), tuple(meta.stride), meta.dtype),
        )

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, DTensorSpec)
            and hash(self) == hash(other)
            and self._key() == other._key()
        )

    def __hash__(self) -> int:
        known = self.__dict__.get("_hashed")
        if known is None or known[0] is not self.placements or known[1] is not self.tensor_meta:
            known = self.__dict__["_hashed"] = (
                self.placements,
                self.tensor_meta,
                hash(self._key()),
            )
        return known[2]

    def __str__(self) -> str:
        names = "".join(str(p) for p in self.placements)
        shape = None if self.tensor_meta is None else tuple(self.tensor_meta.shape)
        return f"Spec({names} on {shape})"

    def _meta(self) -> TensorMeta:
        if self.tensor_meta is None:
            raise ValueError("tensor_meta is not set")
        return self.tensor_meta

    @property
    def shape(self) -> torch.Size:
        """The shape of the whole."""
        return self._meta().shape

    @property
    def stride(self) -> tuple[int, ...]:
        """The strides of the whole."""
        return self._meta().stride

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._meta().shape)

    @property
    def num_shards(self) -> int:
        """How many different parts there are."""
        return math.prod(
            n for n, p in zip(self.mesh.shape, self.placements, strict=True) if _is_shard_like(p)
        )

    @property
    def num_shards_map(self) -> list[int]:
        """How many parts there are along each dimension of the tensor."""
        found = [1] * self.ndim
        for n, p in zip(self.mesh.shape, self.placements, strict=True):
            if _is_shard_like(p):
                found[p.dim] *= n
        return found

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh."""
        return self.mesh

    @property
    def dim_map(self) -> list[int]:
        """The dimension of the mesh that cuts each dimension of the tensor; -1 for none."""
        found = [-1] * self.ndim
        for i, p in enumerate(self.placements):
            if _is_shard_like(p):
                found[p.dim] = i
        return found

    @property
    def sums(self) -> list[int]:
        """The dimensions of the mesh along which it is ``Partial``."""
        return [i for i, p in enumerate(self.placements) if p.is_partial()]

    @classmethod
    def from_dim_map(
        cls,
        mesh: DeviceMesh,
        dim_map: list[int],
        sums: list[int],
        tensor_meta: TensorMeta | None = None,
    ) -> DTensorSpec:
        """The spec that ``dim_map`` and ``sums`` tell.

        Raises:
            RuntimeError: if they contradict each other.
        """
        placements: list[Placement] = [Replicate()] * mesh.ndim
        for s in sums:
            placements[s] = Partial()
        for d, m in enumerate(dim_map):
            if m >= 0:
                if not placements[m].is_replicate():
                    raise RuntimeError(
                        "DeviceMesh dimension can't be mapped to two dimension of the same tensor: "
                        f"{d} and {placements[m]}"
                    )
                placements[m] = Shard(d)
        return cls(mesh, tuple(placements), tensor_meta=tensor_meta)

    def is_replicated(self) -> bool:
        """Whether all processes hold the whole."""
        return all(p.is_replicate() for p in self.placements)

    def is_sharded(self) -> bool:
        """Whether there are parts."""
        return any(_is_shard_like(p) for p in self.placements)

    def shallow_copy_with_tensor_meta(self, tensor_meta: TensorMeta | None) -> DTensorSpec:
        """The same placements of another tensor.

        Raises:
            ValueError: without ``tensor_meta``.
        """
        if tensor_meta is None:
            raise ValueError("shallow copy with no tensor_meta!")
        return DTensorSpec(self.mesh, self.placements, tensor_meta=tensor_meta)


_ONES: dict[DTensorSpec, DTensorSpec] = {}


def one_of(spec: DTensorSpec) -> DTensorSpec:
    """The one spec that stands for all that equal it, so that most can be told by their
    identity."""
    if len(_ONES) > 10_000:
        _ONES.clear()
    return _ONES.setdefault(spec, spec)


def cuts(mesh_shape: Sequence[int], placements: Sequence[Placement]) -> dict[int, list[int]]:
    """Which dimensions of the mesh cut each dimension of the tensor, in the order in which they do.

    That is from left to right, but a ``_StridedShard`` comes after those to its right whose sizes
    make its split factor. One for which there are none of these sizes cuts in its own place, in
    strides.
    """
    found: dict[int, list[int]] = {}
    for i in reversed(range(len(placements))):
        p = placements[i]
        if not _is_shard_like(p):
            continue
        order = found.setdefault(p.dim, [])
        place = after(mesh_shape, order, p)
        order.insert(place or 0, i)
    return found


def after(mesh_shape: Sequence[int], order: Sequence[int], p: Any) -> int | None:
    """After how many of the cuts ``order`` a placement cuts; None for a ``_StridedShard`` whose
    split factor is none of theirs."""
    if isinstance(p, Shard):
        return 0
    product = 1
    for place, j in enumerate(order):
        product *= mesh_shape[j]
        if product == p.split_factor:
            return place + 1
    return None


def plainly(
    mesh_shape: Sequence[int], placements: Sequence[Placement], i: int
) -> Placement | Shard:
    """How mesh dimension ``i`` cuts what those before it in ``cuts`` have left: as ``Shard``, or
    really in strides."""
    p = placements[i]
    if isinstance(p, _StridedShard):
        right = cuts(
            mesh_shape, [Replicate() if j <= i else q for j, q in enumerate(placements)]
        ).get(p.dim, [])
        if after(mesh_shape, right, p) is not None:
            return Shard(p.dim)
    return p
