"""What programs of distributed tensors share: meshes, numbers that all processes know, and how
tensors lie."""

import functools

from _cases import WORLD

import jtorch as torch
import jtorch.distributed as dist
from jtorch.distributed.device_mesh import init_device_mesh
from jtorch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

R = Replicate()
ROWS, COLUMNS = Shard(0), Shard(1)


@functools.cache
def mesh(*shape: int) -> dist.DeviceMesh:
    sizes = shape or (WORLD,)
    return init_device_mesh("cpu", sizes, mesh_dim_names=("a", "b")[: len(sizes)])


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def spread(t: torch.Tensor, *placements: object) -> DTensor:
    return distribute_tensor(t, mesh() if len(placements) == 1 else mesh(2, 2), list(placements))


def lies(t: DTensor, *placements: object) -> None:
    assert t.placements == placements, t.placements
