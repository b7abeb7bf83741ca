"""What loaders do for data pipes: seeds that all workers share, and each worker's part of the data.

Programs without pipes do not load their modules: a dataset is one only if those are there.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import jtorch as torch

if TYPE_CHECKING:
    from ...._src.facts.kinds import Tree


_BASES = f"{__name__.rpartition('._utils.')[0]}.datapipes.datapipe"


def is_pipe(dataset: object) -> bool:
    """Whether a dataset is a pipe of either kind."""
    bases = sys.modules.get(_BASES)
    return bases is not None and isinstance(dataset, (bases.IterDataPipe, bases.MapDataPipe))


def is_iterated(dataset: object) -> bool:
    """Whether a dataset is a pipe that is gone through."""
    bases = sys.modules.get(_BASES)
    return bases is not None and isinstance(dataset, bases.IterDataPipe)


def wrapped(dataset: object) -> Tree:
    """What a loader holds: a pipe around a pipe, other datasets themselves."""
    if not is_pipe(dataset):
        return dataset
    bases = sys.modules[_BASES]
    kind = (
        bases._IterDataPipeSerializationWrapper
        if is_iterated(dataset)
        else bases._MapDataPipeSerializationWrapper
    )
    return kind(dataset)


def _settings() -> Any:
    """What sets all pipes of a graph, loaded when a loader first has one."""
    from .. import graph_settings

    return graph_settings


def switch_shuffling(dataset: object, shuffle: bool | None) -> None:
    """Switches the pipes of a graph that shuffle on or off."""
    _settings().apply_shuffle_settings(dataset, shuffle=shuffle)


def place() -> tuple[int, int]:
    """How many processes there are, and which this one is."""
    distributed = torch.distributed
    return (
        (distributed.get_world_size(), distributed.get_rank())
        if distributed.is_initialized()
        else (1, 0)
    )


def shared_seed(generator: torch.Generator | None) -> int:
    """A seed that all processes have in common."""
    seed = torch.empty((), dtype=torch.int64).random_(generator=generator)
    if torch.distributed.is_initialized():
        torch.distributed.broadcast(seed, src=0)
    return int(seed.item())


def sow(dataset: object, seed: int) -> None:
    """Gives the random pipes of a graph their seeds."""
    _settings().apply_random_seed(dataset, torch.Generator().manual_seed(seed))


def shard(dataset: object, count: int, which: int) -> None:
    """Tells the pipes of a graph that shard which of ``count`` parts is theirs."""
    _settings().apply_sharding(dataset, count, which)
