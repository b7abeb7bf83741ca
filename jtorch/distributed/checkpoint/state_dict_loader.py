"""``load``: all processes read what they want of a checkpoint, whoever wrote it."""

from __future__ import annotations

import inspect
import logging
import os
import warnings
from typing import TYPE_CHECKING, Any

from .default_planner import DefaultLoadPlanner, _EmptyStateDictLoadPlanner
from .metadata import Metadata
from .planner import LoadPlan, LoadPlanner
from .state_dict_saver import _is_alone, _storage_setup
from .stateful import Stateful
from .storage import StorageReader
from .utils import _DistWrapper

if TYPE_CHECKING:
    from ..._src.facts.kinds import Named


__all__ = ["load", "load_state_dict"]

_log = logging.getLogger("torch.distributed.checkpoint")


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: StorageReader | None = None,
    planner: LoadPlanner | None = None,
    process_group: object = None,
    no_dist: bool = False,
) -> None:
    """Reads a checkpoint into a state, in place: tensors are written into, other values replaced.
    All processes of the group call it.

    The state says what is read: each process reads its part of each tensor from wherever it was
    written, so their number and how tensors are sharded may differ from those that saved. What is
    not a tensor is unpickled as ``torch.load(weights_only=False)`` does.

    Args:
        state_dict: the state; ``Stateful`` objects in it are asked for theirs, and given what was
            read.
        checkpoint_id: the folder.
        storage_reader: what reads; ``FileSystemReader`` if it is left out.
        planner: decides who reads what; ``DefaultLoadPlanner`` if it is left out.
        process_group: the processes; all of them if it is left out.
        no_dist: load in this process alone.

    Raises:
        CheckpointException: on all processes, if one of them failed; the exceptions are in
            ``failures``.
    """
    alone = _is_alone(no_dist, "load")
    reader = _storage_setup(storage_reader, checkpoint_id, reader=True)
    keys = sorted(state_dict)
    states = {
        key: value.state_dict() if isinstance(value, Stateful) else value
        for key in keys
        for value in (state_dict[key],)
    }
    _load_state_dict(states, reader, process_group, no_dist=alone, planner=planner)
    for key in keys:
        value = state_dict[key]
        if isinstance(value, Stateful):
            value.load_state_dict(states[key])
        else:
            state_dict[key] = states[key]


def load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: object = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    """The older form of ``load``."""
    warnings.warn(
        "'load_state_dict' is deprecated and will be removed in future versions. Please use 'load' "
        "instead.",
        FutureWarning,
        stacklevel=2,
    )
    storage_reader.reset()
    _load_state_dict(state_dict, storage_reader, process_group, coordinator_rank, no_dist, planner)


def _described(reader: StorageReader, rank: int) -> tuple[Metadata, bool]:
    """The description of the checkpoint, and whether it is that of all processes; else of what this
    one wrote alone.

    Raises:
        AssertionError: if there is neither.
    """
    words = ["metadata is None"]
    try:
        return reader.read_metadata(), True
    except Exception as error:
        words.append(f"global metadata read failed: {error}")
        _log.warning(
            "Global metadata is not found. Falling back to rank local metadata.", exc_info=True
        )
    if "kwargs" in inspect.signature(reader.read_metadata).parameters:
        try:
            return reader.read_metadata(rank=rank), False
        except Exception as error:
            words.append(f"rank local metadata read failed: {error}")
            _log.warning("Rank local metadata is not found.", exc_info=True)
    raise AssertionError("; ".join(words))


def _load_state_dict(
    state_dict: Named,
    storage_reader: StorageReader,
    process_group: object = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    everyone = _DistWrapper(process_group, not no_dist, coordinator_rank)
    chosen = DefaultLoadPlanner() if planner is None else planner

    def local_step() -> LoadPlan:
        metadata, together = _described(storage_reader, everyone.rank)
        chosen.set_up_planner(state_dict, metadata, everyone.is_coordinator)
        if "kwargs" in inspect.signature(storage_reader.set_up_storage_reader).parameters:
            storage_reader.set_up_storage_reader(
                metadata, everyone.is_coordinator, rank=everyone.rank, use_collectives=together
            )
        else:
            storage_reader.set_up_storage_reader(metadata, everyone.is_coordinator)
        return storage_reader.prepare_local_plan(chosen.create_local_plan())

    def global_step(plans: list[LoadPlan]) -> list[LoadPlan]:
        return storage_reader.prepare_global_plan(chosen.create_global_plan(plans))

    plan = everyone.reduce_scatter("plan", local_step, global_step)

    def read_data() -> None:
        storage_reader.read_data(chosen.finish_plan(plan), chosen).wait()

    everyone.all_gather("read", read_data)


def _load_state_dict_from_keys(
    keys: set[str] | str | None = None,
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: StorageReader | None = None,
    process_group: object = None,
) -> dict[str, object]:
    """What a checkpoint holds under some keys, or all of it, read by this process alone."""
    reader = _storage_setup(storage_reader, checkpoint_id, reader=True)
    found: dict[str, Any] = {}
    wanted = {keys} if isinstance(keys, str) else keys
    _load_state_dict(
        found,
        reader,
        process_group,
        no_dist=True,
        planner=_EmptyStateDictLoadPlanner(wanted or None),
    )
    return found
