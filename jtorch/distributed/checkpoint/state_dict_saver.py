"""``save`` and ``async_save``: all processes write what they have of a state, as one checkpoint."""

from __future__ import annotations

import enum
import inspect
import os
import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..group import STATE, is_initialized, new_group, world
from .default_planner import DefaultSavePlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .metadata import STATE_DICT_TYPE, Metadata
from .planner import SavePlan, SavePlanner
from .staging import AsyncStager, DefaultStager, StagingOptions
from .stateful import Stateful
from .storage import StorageReader, StorageWriter
from .utils import _DistWrapper

if TYPE_CHECKING:
    from ..._src.facts.kinds import Values
    from .storage import WriteResult


__all__ = ["AsyncCheckpointerType", "AsyncSaveResponse", "async_save", "save", "save_state_dict"]


class AsyncCheckpointerType(enum.Enum):
    """What writes in the background."""

    THREAD = "thread"
    PROCESS = "process"


@dataclass
class AsyncSaveResponse:
    """Futures of the copy of the state and of the written checkpoint."""

    staging_completion: Future[None]
    upload_completion: Future[None]


def _storage_setup(
    storage: StorageReader | StorageWriter | None,
    checkpoint_id: str | os.PathLike[str] | None,
    reader: bool,
) -> Any:
    """The storage that was given, or the one for a checkpoint's name.

    Raises:
        RuntimeError: if neither is given, or none can keep it.
    """
    if storage:
        if checkpoint_id is not None:
            storage.reset(checkpoint_id)
        return storage
    if not checkpoint_id:
        raise RuntimeError(
            "`checkpoint_id` must be specified if storage_reader/storage_writer is None."
        )
    kind: type[StorageReader | StorageWriter] = FileSystemReader if reader else FileSystemWriter
    if not kind.validate_checkpoint_id(checkpoint_id):
        raise RuntimeError(
            "Cannot detect which StorageReader or StorageWriter to use. Please specify the "
            "storage_reader/storage_writer."
        )
    made: Any = kind(checkpoint_id)
    made.reset(checkpoint_id)
    return made


def _is_alone(no_dist: bool, what: str) -> bool:
    if no_dist or not is_initialized():
        warnings.warn(
            "torch.distributed is disabled, unavailable or uninitialized, assuming the intent is "
            f"to {what} in a single process.",
            stacklevel=3,
        )
        return True
    return False


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: object = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Writes a state as a checkpoint in PyTorch's format. All processes of the group call it, each
    with what it has of the state.

    A checkpoint in the same folder is replaced in one step, once all processes have written.

    Args:
        state_dict: the state; ``Stateful`` objects in it are asked for theirs.
        checkpoint_id: the folder.
        storage_writer: what writes; ``FileSystemWriter`` if it is left out.
        planner: decides who writes what; ``DefaultSavePlanner`` if it is left out.
        process_group: the processes; all of them if it is left out.
        no_dist: save in this process alone.
        use_collectives: if false, each process writes a checkpoint of its own,
            ``__<rank>.metadata``, without the others.

    Raises:
        CheckpointException: on all processes, if one of them failed; the exceptions are in
            ``failures``.

    Example:
        >>> import tempfile
        >>> import warnings
        >>> import jtorch as torch
        >>> import jtorch.distributed.checkpoint as dcp
        >>> state = {"weight": torch.ones(2)}
        >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")  # they say that there is but one process
        ...     _ = dcp.save(state, checkpoint_id=folder)
        ...     _ = state["weight"].zero_()
        ...     dcp.load(state, checkpoint_id=folder)
        >>> state["weight"]
        tensor([1., 1.])
    """
    alone = _is_alone(no_dist, "save")
    writer = _storage_setup(storage_writer, checkpoint_id, reader=False)
    return _save_state_dict(
        _stateful_to_state_dict(state_dict),
        writer,
        process_group,
        no_dist=alone,
        planner=planner,
        use_collectives=use_collectives,
    )


def save_state_dict(
    state_dict: dict[str, Any],
    storage_writer: StorageWriter,
    process_group: object = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: SavePlanner | None = None,
) -> Metadata:
    """The older form of ``save``."""
    warnings.warn(
        "'save_state_dict' is deprecated and will be removed in future versions.Please use 'save' "
        "instead.",
        FutureWarning,
        stacklevel=2,
    )
    storage_writer.reset()
    return _save_state_dict(
        state_dict, storage_writer, process_group, coordinator_rank, no_dist, planner
    )


def _stateful_to_state_dict(state_dict: STATE_DICT_TYPE) -> STATE_DICT_TYPE:
    return {
        key: value.state_dict() if isinstance(value, Stateful) else value
        for key, value in state_dict.items()
    }


def _save_state_dict(
    state_dict: STATE_DICT_TYPE,
    storage_writer: StorageWriter,
    process_group: object = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: SavePlanner | None = None,
    use_collectives: bool = True,
) -> Metadata:
    everyone = _DistWrapper(process_group, not no_dist, coordinator_rank)
    chosen = DefaultSavePlanner() if planner is None else planner
    described: list[Metadata] = []

    def local_step() -> SavePlan:
        if "storage_meta" in inspect.signature(chosen.set_up_planner).parameters:
            chosen.set_up_planner(
                state_dict=state_dict,
                storage_meta=storage_writer.storage_meta(),
                is_coordinator=everyone.is_coordinator,
            )
        else:
            warnings.warn(
                "The function definition for SavePlanner.set_up_planner has been updated to "
                "include the storage_meta argument. Please update your implementation to include "
                "this parameter.",
                stacklevel=2,
            )
            # its older signature
            chosen.set_up_planner(state_dict, everyone.is_coordinator)  # type: ignore[arg-type]
        if "kwargs" in inspect.signature(storage_writer.set_up_storage_writer).parameters:
            storage_writer.set_up_storage_writer(
                everyone.is_coordinator, rank=everyone.rank, use_collectives=use_collectives
            )
        else:
            storage_writer.set_up_storage_writer(everyone.is_coordinator)
        return storage_writer.prepare_local_plan(chosen.create_local_plan())

    def global_step(plans: list[SavePlan]) -> list[SavePlan]:
        plans, metadata = chosen.create_global_plan(plans)
        described.append(metadata)
        return storage_writer.prepare_global_plan(plans)

    plan = (
        everyone.reduce_scatter("plan", local_step, global_step)
        if use_collectives
        else global_step([local_step()])[0]
    )

    def write_data() -> list[WriteResult]:
        return storage_writer.write_data(chosen.finish_plan(plan), chosen).wait()

    def finish(results: list[Values]) -> Metadata:
        storage_writer.finish(metadata=described[-1], results=results)
        return described[-1]

    if use_collectives:
        return everyone.all_reduce("write", write_data, finish)
    metadata = finish([write_data()])
    everyone.barrier()
    return metadata


# ---- in the background ---------------------------------------------------------------------------

#: Group -> the group of the same processes that saves in the background use, so that they meet none
#: of the program's own collectives, and the thread that carries them out one after another, so that
#: they do not meet each other's either.
_BACKGROUND: dict[object, tuple[object, ThreadPoolExecutor]] = {}


def _background(process_group: object) -> tuple[object, ThreadPoolExecutor]:
    own = world(process_group)
    for ended in [known for known in _BACKGROUND if known not in STATE.groups]:
        _BACKGROUND.pop(ended)[1].shutdown(wait=False)
    if own not in _BACKGROUND:
        group = new_group(own.ranks, use_local_synchronization=True, group_desc="async_save")
        _BACKGROUND[own] = group, ThreadPoolExecutor(max_workers=1, thread_name_prefix="async_save")
    return _BACKGROUND[own]


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: object = None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD,
    async_stager: AsyncStager | None = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Future | AsyncSaveResponse:
    """Copies a state, and writes the copy in a thread, as ``save`` does.

    The processes meet in a group of their own for this, so training may go on with its collectives.
    ``PROCESS`` uses a thread as well.

    Args:
        async_checkpointer_type: what writes.
        async_stager: what copies.

    Returns:
        A future of the metadata; with a stager that gives futures, those of the copy and of the
        checkpoint.
    """
    del async_checkpointer_type
    stager = async_stager
    if stager is None:
        stager = (
            storage_writer
            if isinstance(storage_writer, AsyncStager)
            else DefaultStager(StagingOptions(False, False, False, False))
        )
    staged = stager.stage(_stateful_to_state_dict(state_dict))
    alone = no_dist or not is_initialized()
    group, thread = (
        (None, ThreadPoolExecutor(1, "async_save")) if alone else _background(process_group)
    )

    def write() -> Metadata:
        copy = staged.result() if isinstance(staged, Future) else staged
        return save(
            copy,
            checkpoint_id=checkpoint_id,
            storage_writer=storage_writer,
            planner=planner,
            process_group=group,
            no_dist=no_dist,
            use_collectives=use_collectives,
        )

    written: Future[Any] = thread.submit(write)
    if alone:
        thread.shutdown(wait=False)
    if isinstance(staged, Future):
        copied: Future[None] = Future()
        staged.add_done_callback(
            lambda done: (
                copied.set_exception(done.exception())
                if done.exception()
                else copied.set_result(None)
            )
        )
        return AsyncSaveResponse(staging_completion=copied, upload_completion=written)
    if stager.should_synchronize_after_execute:
        stager.synchronize_staging()
    return written
