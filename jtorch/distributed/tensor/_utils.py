"""Shapes and places of the parts that processes hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jtorch as torch

from ..device_mesh import DeviceMesh
from ._dtensor_spec import cuts, plainly
from .placement_types import Placement, Shard, _is_shard_like


def normalize_to_torch_size(size: Any) -> torch.Size:
    """A size given as one sequence or as numbers."""
    if isinstance(size, torch.Size):
        return size
    if isinstance(size, int):
        return torch.Size([size])
    if len(size) == 1 and isinstance(size[0], Sequence):
        return torch.Size(list(size[0]))
    return torch.Size(list(size))


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of row-major memory."""
    found, step = [], 1
    for n in reversed(shape):
        found.append(step)
        step *= max(n, 1)
    return tuple(reversed(found))


def local_positions(
    global_shape: Sequence[int],
    mesh_shape: Sequence[int],
    coordinate: Sequence[int],
    placements: Sequence[Placement],
) -> tuple[list[int], list[list[int] | None]]:
    """The shape of a process's part, and the positions that it holds along each dimension; None for
    all."""
    shape: list[int] = list(global_shape)
    held: list[list[int] | None] = [None] * len(shape)
    for d, order in cuts(mesh_shape, placements).items():
        if d >= len(shape):
            raise AssertionError(f"Sharding dim {d} greater than tensor ndim {len(shape)}")
        positions = list(range(shape[d]))
        for i in order:
            mine = plainly(mesh_shape, placements, i)._positions(len(positions), mesh_shape[i])[
                coordinate[i]
            ]
            positions = (
                positions[mine[0] : mine[-1] + 1]
                if mine and mine[-1] - mine[0] + 1 == len(mine)
                else [positions[k] for k in mine]
            )
        shape[d], held[d] = len(positions), positions
    return shape, held


def _compute_local_shape_and_global_offset(
    global_shape: Sequence[int],
    mesh_shape: Sequence[int],
    my_coordinate: Sequence[int] | None,
    placements: Sequence[Placement],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if my_coordinate is None:
        return (0,), ()
    shape, held = local_positions(global_shape, mesh_shape, my_coordinate, placements)
    # a part without elements begins where the tensor ends
    offset = [0 if p is None else (p[0] if p else global_shape[d]) for d, p in enumerate(held)]
    return tuple(shape), tuple(offset)


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of this process's part, and where it begins in the whole. Outside of the mesh
    ``(0,)`` and ``()``."""
    return _compute_local_shape_and_global_offset(
        global_shape, mesh.shape, mesh.get_coordinate(), placements
    )


def compute_local_shape(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[int, ...]:
    """The shape of this process's part."""
    return compute_local_shape_and_global_offset(global_shape, mesh, placements)[0]


def compute_global_tensor_info(
    tensor: torch.Tensor, mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[list[int], list[int]]:
    """Shape and strides of a whole all of whose parts are as large as this one."""
    shape, stride = list(tensor.shape), list(tensor.stride())
    for i, p in enumerate(placements):
        if _is_shard_like(p):
            d: int = p.dim
            if d < 0:
                raise AssertionError(
                    "Shard placements should have negative dims normalized in the user-facing "
                    f"APIs: {p}"
                )
            if d >= len(shape):
                raise AssertionError(
                    f"Sharding dim {d} greater than tensor ndim {len(shape)} for placement number "
                    f"{i}."
                )
            size, own = mesh.size(i), stride[d]
            shape[d] *= size
            for k in range(len(stride)):
                if k != d and stride[k] >= own:
                    stride[k] *= size
    return shape, stride


def assert_no_mixed_partial_types(placements: Sequence[Placement]) -> None:
    """Refuses partial placements that different operations combine.

    Raises:
        ValueError: in that case.
    """
    kinds = {(type(p), p.reduce_op) for p in placements if p.is_partial()}
    if len(kinds) > 1 and not (
        len({t for t, _ in kinds}) == 1 and {o for _, o in kinds} == {"sum", "avg"}
    ):
        raise ValueError(f"Mixed Partial reduce types are not supported: {tuple(placements)}")


def local_bounds(size: int, mesh: DeviceMesh, mesh_dim: int) -> tuple[int, int]:
    """Length and begin of this process's part of ``size`` elements that one dimension of a mesh
    cuts."""
    return Shard.local_shard_size_and_offset(
        size, mesh.size(mesh_dim), mesh.get_local_rank(mesh_dim)
    )
