"""How a tensor lies on a dimension of a mesh: in parts, as a whole everywhere, or as summands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jtorch as torch

from .. import _done_collectives as funcol


class Placement:
    """Base of the placements."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is a ``Shard``, along ``dim`` if that is given."""
        return isinstance(self, Shard) and (dim is None or self.dim == dim)

    def is_replicate(self) -> bool:
        """Whether it is ``Replicate``."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether it is ``Partial``, of one operation if that is given."""
        return isinstance(self, Partial) and (reduce_op is None or self.reduce_op == reduce_op)


def chunk_bounds(size: int, num_chunks: int) -> list[tuple[int, int]]:
    """Begin and end of the parts that ``torch.chunk`` makes of ``size`` elements, and empty ones
    for the chunks that it leaves out."""
    full = -(-size // num_chunks)
    return [(min(i * full, size), min((i + 1) * full, size)) for i in range(num_chunks)]


@dataclass(frozen=True)
class Shard(Placement):
    """Parts along a dimension of the tensor, as ``torch.chunk`` makes them; the last may be smaller
    or empty."""

    dim: int

    @staticmethod
    def local_shard_size_and_offset(
        curr_local_size: int, num_chunks: int, rank: int
    ) -> tuple[int, int]:
        """How long the part number ``rank`` of so many is, and where it begins."""
        begin, end = chunk_bounds(curr_local_size, num_chunks)[rank]
        return end - begin, begin

    def _local_shard_size_and_offset(
        self, curr_local_size: int, num_chunks: int, rank: int
    ) -> tuple[int, int]:
        return Shard.local_shard_size_and_offset(curr_local_size, num_chunks, rank)

    def _pieces(self, tensor: torch.Tensor, num_chunks: int) -> list[torch.Tensor]:
        """The part of each process."""
        return [
            tensor.narrow(self.dim, a, b - a)
            for a, b in chunk_bounds(tensor.shape[self.dim], num_chunks)
        ]

    def _positions(self, size: int, num_chunks: int) -> list[list[int]]:
        """The positions along the dimension that each process holds."""
        return [list(range(a, b)) for a, b in chunk_bounds(size, num_chunks)]

    def _moved(self, dim: int) -> Shard:
        """The same along another dimension."""
        return Shard(dim)

    def _split_tensor(
        self,
        tensor: torch.Tensor,
        num_chunks: int,
        *,
        with_padding: bool = True,
        contiguous: bool = True,
    ) -> tuple[list[torch.Tensor], list[int]]:
        """The parts, all as long as the first if they are to be padded, and how much was added to
        each."""
        pieces = self._pieces(tensor, num_chunks)
        full = pieces[0].shape[self.dim]
        pads = [full - p.shape[self.dim] for p in pieces] if with_padding else []
        if with_padding:
            pieces = [_padded(p, self.dim, n) for p, n in zip(pieces, pads, strict=True)]
        return [p.contiguous() for p in pieces] if contiguous else pieces, pads

    def __str__(self) -> str:
        return f"S({self.dim})"


def _padded(tensor: torch.Tensor, dim: int, more: int) -> torch.Tensor:
    if not more:
        return tensor
    shape = list(tensor.shape)
    shape[dim] = more
    return torch.cat([tensor, tensor.new_zeros(shape)], dim)


@dataclass(frozen=True)
class _StridedShard(Placement):
    """Parts along a dimension that is first cut into ``split_factor`` pieces: each process holds
    its part of every piece.

    On a mesh whose later dimension shards the same dimension of the tensor ``split_factor`` times,
    this says that the later one cut first.
    """

    dim: int
    split_factor: int = field(kw_only=True)

    def _pieces(self, tensor: torch.Tensor, num_chunks: int) -> list[torch.Tensor]:
        size = tensor.shape[self.dim]
        bounds = [chunk_bounds(b - a, num_chunks) for a, b in chunk_bounds(size, self.split_factor)]
        starts = [a for a, _ in chunk_bounds(size, self.split_factor)]
        return [
            torch.cat(
                [
                    tensor.narrow(self.dim, s + own[i][0], own[i][1] - own[i][0])
                    for s, own in zip(starts, bounds, strict=True)
                ],
                self.dim,
            )
            for i in range(num_chunks)
        ]

    def _positions(self, size: int, num_chunks: int) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in range(num_chunks)]
        for a, b in chunk_bounds(size, self.split_factor):
            for mine, (c, d) in zip(found, chunk_bounds(b - a, num_chunks), strict=True):
                mine.extend(range(a + c, a + d))
        return found

    def _moved(self, dim: int) -> _StridedShard:
        return _StridedShard(dim, split_factor=self.split_factor)

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"


def _is_shard_like(p: Placement) -> bool:
    """Whether it is a ``Shard`` or a ``_StridedShard``."""
    return isinstance(p, (Shard, _StridedShard))


@dataclass(frozen=True)
class Replicate(Placement):
    """The whole tensor everywhere."""

    def __repr__(self) -> str:
        return "Replicate()"

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True, repr=False)
class Partial(Placement):
    """Tensors that ``reduce_op`` combines to the whole: ``sum``, ``avg``, ``min``, ``max``,
    ``product``, ``band``, ``bor`` or ``bxor``."""

    reduce_op: str = "sum"

    def _reduce_value(self, tensor: torch.Tensor, mesh: object, mesh_dim: int) -> torch.Tensor:
        """The whole."""
        return funcol.all_reduce(tensor, self.reduce_op, (mesh, mesh_dim))

    def _reduce_shard_value(
        self, tensor: torch.Tensor, mesh: Any, mesh_dim: int, shard_spec: Placement
    ) -> torch.Tensor:
        """This process's part of the whole."""
        n, dim = mesh.size(mesh_dim), shard_spec.dim
        pieces = shard_spec._pieces(tensor, n)
        sizes = [p.shape[dim] for p in pieces]
        full = max(sizes)
        whole = torch.cat([_padded(p, dim, full - p.shape[dim]) for p in pieces], dim)
        mine = funcol.reduce_scatter_tensor(whole, self.reduce_op, dim, (mesh, mesh_dim))
        return mine.narrow(dim, 0, sizes[mesh.get_local_rank(mesh_dim)])

    def _partition_value(self, tensor: torch.Tensor, mesh: Any, mesh_dim: int) -> torch.Tensor:
        """What each process holds of a tensor that all have, so that together it is that tensor
        again."""
        if self.reduce_op == "sum":
            return tensor / mesh.size(mesh_dim)
        if self.reduce_op in ("avg", "min", "max"):
            return tensor
        raise ValueError(f"Replicate to Partial({self.reduce_op}) conversion is not supported.")

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


@dataclass(frozen=True, repr=False)
class _NormPartial(Partial):
    """Norms of parts, which are combined to the norm of the whole."""

    reduce_op: str = "sum"
    norm_type: int | float | str = 2

    def __init__(self, norm_type: int | float | str = 2) -> None:
        op = {"inf": "max", "-inf": "min"}.get(str(norm_type), "sum")
        object.__setattr__(self, "reduce_op", op)
        object.__setattr__(self, "norm_type", norm_type)

    def _powers(self, t: torch.Tensor) -> torch.Tensor:
        return t if self.reduce_op != "sum" or self.norm_type in (0, 1) else t**self.norm_type  # type: ignore[operator]

    def _root(self, t: torch.Tensor) -> torch.Tensor:
        return (
            t
            if self.reduce_op != "sum" or self.norm_type in (0, 1)
            else t ** (1.0 / self.norm_type)  # type: ignore[operator]
        )

    def _reduce_value(self, tensor: torch.Tensor, mesh: object, mesh_dim: int) -> torch.Tensor:
        return self._root(super()._reduce_value(self._powers(tensor), mesh, mesh_dim))

    def _reduce_shard_value(
        self, tensor: torch.Tensor, mesh: object, mesh_dim: int, shard_spec: Placement
    ) -> torch.Tensor:
        return self._root(
            super()._reduce_shard_value(self._powers(tensor), mesh, mesh_dim, shard_spec)
        )

    def _partition_value(self, tensor: torch.Tensor, mesh: Any, mesh_dim: int) -> torch.Tensor:
        if self.reduce_op in ("max", "min"):
            return tensor
        if self.norm_type in (0, 1):
            return tensor / mesh.size(mesh_dim)
        return tensor / mesh.size(mesh_dim) ** (1.0 / self.norm_type)  # type: ignore[operator]

    def __repr__(self) -> str:
        return f"_NormPartial({self.norm_type})"

    def __str__(self) -> str:
        return f"_NormP({self.norm_type})"


@dataclass(frozen=True, repr=False)
class _MaskPartial(Partial):
    """Rows of an embedding whose table lies in parts: zeros where the index belongs to another
    process. A sum gives the whole."""

    reduce_op: str = "sum"
    offset_shape: object = None
    offset_dim: int = 0

    def _partition_value(self, tensor: torch.Tensor, mesh: object, mesh_dim: int) -> torch.Tensor:
        del mesh, mesh_dim
        return tensor  # indices: whoever looks them up finds which are its own

    def __repr__(self) -> str:
        return (
            f"_MaskPartial(reduce_op={self.reduce_op}, offset_shape={self.offset_shape}, "
            f"offset_dim={self.offset_dim})"
        )

    def __str__(self) -> str:
        return f"MaskP({self.reduce_op}, {self.offset_shape}, {self.offset_dim})"


def normalized(placements: Sequence[Any], ndim: int) -> tuple[Placement, ...]:
    """Placements with negative dimensions counted from the end."""
    return tuple(
        [p._moved(p.dim + ndim) if _is_shard_like(p) and p.dim < 0 else p for p in placements]
    )
