"""Steps that all processes of a checkpoint take together, and how pieces of a state are found."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch

from .. import objects
from ..barriers import barrier
from ..group import get_global_rank, get_rank, get_world_size
from ..tensor import DTensor
from .api import CheckpointException, _is_wrapped_exception, _wrap_exception
from .metadata import STATE_DICT_TYPE, MetadataIndex

if TYPE_CHECKING:
    from ..._src.facts.kinds import Values


__all__ = ["find_state_dict_object", "find_tensor_shard"]


def _get_failure_dict(results: list[object]) -> dict[int, Any]:
    return {rank: found for rank, found in enumerate(results) if _is_wrapped_exception(found)}


def _attempted(function: Callable[[], object]) -> Any:
    """What a function gives, or how it failed, in a form that can travel."""
    try:
        return function()
    except BaseException as error:
        wrapped = _wrap_exception(error)
        try:
            pickle.loads(pickle.dumps(wrapped))
        except Exception:  # an exception with parts that no pickle takes: its words have to do
            wrapped = RuntimeError(f"{type(error).__name__}: {error}"), wrapped[1]
        return wrapped


class _DistWrapper:
    """The processes that take part; one alone where there is no group."""

    def __init__(self, group: Any, use_dist: bool, coordinator_rank: int) -> None:
        self.group, self.use_dist, self.coordinator_rank = group, use_dist, coordinator_rank
        self.rank = get_rank(group) if use_dist else 0
        self.is_coordinator = not use_dist or self.rank == coordinator_rank
        self.global_coordinator_rank = (
            coordinator_rank
            if group is None or not use_dist
            else get_global_rank(group, coordinator_rank)
        )

    def get_rank(self) -> int:
        """This process's."""
        return self.rank

    def get_world_size(self) -> int:
        """The number of processes."""
        return get_world_size(self.group) if self.use_dist else 1

    def broadcast_object(self, object: object) -> object:
        """The coordinator's object."""
        if not self.use_dist:
            return object
        held = [object]
        objects.broadcast_object_list(held, src=self.global_coordinator_rank, group=self.group)
        return held[0]

    def gather_object(self, object: object) -> list[object] | None:
        """All objects, on the coordinator."""
        if not self.use_dist:
            return [object]
        found: list[Any] | None = [None] * self.get_world_size() if self.is_coordinator else None
        objects.gather_object(object, found, dst=self.global_coordinator_rank, group=self.group)
        return found

    def all_gather_object(self, object: object) -> list[object]:
        """All objects."""
        if not self.use_dist:
            return [object]
        found: list[Any] = [None] * self.get_world_size()
        objects.all_gather_object(found, object, group=self.group)
        return found

    def scatter_object(self, object_list: Values | None) -> object:
        """This process's object of the coordinator's list."""
        if not self.use_dist:
            assert object_list is not None
            return object_list[0]
        held = [None]
        given = object_list if self.is_coordinator else None
        objects.scatter_object_list(held, given, src=self.global_coordinator_rank, group=self.group)
        return held[0]

    def _reduced(self, step: str, own: object, reduce_fun: Callable[..., object]) -> Any:
        """What the coordinator makes of all values, or the exception that all are to raise; None
        elsewhere."""
        everything = self.gather_object(own)
        if everything is None:
            return None
        failed = _get_failure_dict(everything)
        if failed:
            return CheckpointException(step, failed)
        found = _attempted(lambda: reduce_fun(everything))
        return (
            CheckpointException(step, {self.rank: found}) if _is_wrapped_exception(found) else found
        )

    def reduce_scatter(
        self, step: str, map_fun: Callable[..., object], reduce_fun: Callable[..., object]
    ) -> Any:
        """Runs ``map_fun`` everywhere and ``reduce_fun`` on the coordinator; each process gets its
        part of the latter's list.

        Raises:
            CheckpointException: on all processes, if either failed anywhere.
        """
        found = self._reduced(step, _attempted(map_fun), reduce_fun)
        parts = [found] * self.get_world_size() if isinstance(found, CheckpointException) else found
        return _raised(self.scatter_object(parts))

    def all_reduce(
        self, step: str, map_fun: Callable[[], object], reduce_fun: Callable[..., object]
    ) -> Any:
        """Runs ``map_fun`` everywhere and ``reduce_fun`` on the coordinator; all processes get what
        the latter gives.

        Raises:
            CheckpointException: on all processes, if either failed anywhere.
        """
        return _raised(self.broadcast_object(self._reduced(step, _attempted(map_fun), reduce_fun)))

    def all_gather(self, step: str, map_fun: Callable[[], object]) -> list[object]:
        """What ``map_fun`` gives on each process.

        Raises:
            CheckpointException: on all processes, if it failed anywhere.
        """
        found = self.all_gather_object(_attempted(map_fun))
        failed = _get_failure_dict(found)
        if failed:
            raise CheckpointException(step, failed)
        return found

    def broadcast(self, step: str, map_fun: Callable[[], object]) -> object:
        """What ``map_fun`` gives on the coordinator.

        Raises:
            CheckpointException: on all processes, if it failed there.
        """
        found: Any = _attempted(map_fun) if self.is_coordinator else None
        return _raised(
            self.broadcast_object(
                CheckpointException(step, {self.rank: found})
                if _is_wrapped_exception(found)
                else found
            )
        )

    def barrier(self) -> None:
        """Waits for all processes."""
        if self.use_dist:
            barrier(group=self.group)


def _raised(found: object) -> Any:
    if isinstance(found, CheckpointException):
        raise found
    return found


def find_tensor_shard(tensor: torch.Tensor, index: MetadataIndex) -> torch.Tensor:
    """This process's part of a tensor.

    Raises:
        ValueError: if the index names a part that begins elsewhere.
    """
    if isinstance(tensor, DTensor):
        return tensor.to_local()
    if index.offset is not None and index.offset != torch.Size([0] * len(tensor.size())):
        raise ValueError(
            f"FQN: '{index.fqn}' is not a ShardedTensor, can't find by offset: '{index.offset}'"
        )
    return tensor


def find_state_dict_object(state_dict: STATE_DICT_TYPE, index: MetadataIndex) -> Any:
    """What an index names in a flat state.

    Raises:
        ValueError: if there is nothing of that name.
    """
    if index.fqn not in state_dict:
        raise ValueError(f"Could not find FQN: '{index.fqn}'")
    found = state_dict[index.fqn]
    if isinstance(found, torch.Tensor):
        return find_tensor_shard(found, index)
    if index.offset is not None:
        raise ValueError(
            f"FQN: '{index.fqn}' is not a ShardedTensor, can't find by offset: '{index.offset}'"
        )
    return found
