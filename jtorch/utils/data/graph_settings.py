"""Settings of all pipes of a graph: whether they shuffle, their seeds, and which part of the data
is theirs."""

from __future__ import annotations

import inspect
import warnings
from typing import TYPE_CHECKING, Any

import jtorch as torch

from .datapipes.iter.sharding import SHARDING_PRIORITIES, _ShardingIterDataPipe
from .graph import DataPipeGraph, traverse_dps

if TYPE_CHECKING:
    pass


__all__ = [
    "apply_random_seed",
    "apply_sharding",
    "apply_shuffle_seed",
    "apply_shuffle_settings",
    "get_all_graph_pipes",
]


def get_all_graph_pipes(graph: DataPipeGraph) -> list[Any]:
    """The pipes of a graph, each once."""
    found: dict[int, Any] = {}

    def walk(part: DataPipeGraph) -> None:
        for key, (pipe, below) in part.items():
            if key not in found:
                found[key] = pipe
                walk(below)

    walk(graph)
    return list(found.values())


def _has(pipe: object, *names: str) -> bool:
    return all(inspect.ismethod(getattr(pipe, name, None)) for name in names)


def apply_sharding(
    datapipe: Any,
    num_of_instances: int,
    instance_id: int,
    sharding_group: Any = SHARDING_PRIORITIES.DEFAULT,
) -> Any:
    """Tells every pipe that shards which part is this instance's.

    Raises:
        RuntimeError: if there are two on one way through the graph.
    """

    def walk(graph: DataPipeGraph, above: object) -> None:
        for pipe, below in graph.values():
            applied = above
            if isinstance(pipe, _ShardingIterDataPipe) or _has(pipe, "apply_sharding"):
                if above is not None:
                    raise RuntimeError(
                        "Sharding twice on a single pipeline is likely unintended and will cause "
                        f"data loss. Sharding already applied to {above} while trying to apply to "
                        f"{pipe}"
                    )
                if len(inspect.signature(pipe.apply_sharding).parameters) < 3:
                    pipe.apply_sharding(num_of_instances, instance_id)  # type: ignore[call-arg]
                else:
                    pipe.apply_sharding(
                        num_of_instances, instance_id, sharding_group=sharding_group
                    )
                applied = pipe
            walk(below, applied)

    walk(traverse_dps(datapipe), None)
    return datapipe


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Switches the shuffling of a graph's pipes on or off; where none shuffles, one that does is
    put around them, with a warning."""
    if shuffle is None:
        return datapipe
    shufflers = [
        pipe
        for pipe in get_all_graph_pipes(traverse_dps(datapipe))
        if _has(pipe, "set_shuffle", "set_seed")
    ]
    if not shufflers and shuffle:
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at "
            "the end. Be aware that the default buffer size might not be sufficient for your task.",
            stacklevel=2,
        )
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for pipe in shufflers:
        pipe.set_shuffle(shuffle)
    return datapipe


def apply_shuffle_seed(datapipe: object, rng: Any) -> Any:
    """The old name of ``apply_random_seed``."""
    warnings.warn(
        "`apply_shuffle_seed` is deprecated since 1.12 and will be removed in the future releases. "
        "Please use `apply_random_seed` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return apply_random_seed(datapipe, rng)


def apply_random_seed(datapipe: Any, rng: torch.Generator | None) -> Any:
    """Gives every random pipe of a graph a seed that is drawn from a generator."""
    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if _has(pipe, "set_seed"):
            pipe.set_seed(int(torch.empty((), dtype=torch.int64).random_(generator=rng).item()))
    return datapipe
