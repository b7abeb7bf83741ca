"""Checkpoints as files of ``torch.save``, and the other way round."""

from __future__ import annotations

import os
from typing import Any

import jtorch as torch

from ..collectives import broadcast
from ..group import get_rank
from ._nested_dict import flatten_state_dict
from .default_planner import DefaultLoadPlanner, _EmptyStateDictLoadPlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .metadata import STATE_DICT_TYPE, Metadata, TensorProperties, TensorStorageMetadata
from .planner import LoadItemType, LoadPlan, LoadPlanner
from .planner_helpers import _create_chunk_list, narrow_tensor_by_index
from .state_dict_loader import _load_state_dict as _load_state_dict
from .state_dict_saver import _save_state_dict
from .storage import StorageReader

__all__ = [
    "BroadcastingTorchSaveReader",
    "DynamicMetaLoadPlanner",
    "dcp_to_torch_save",
    "torch_save_to_dcp",
]


class BroadcastingTorchSaveReader(StorageReader):
    """Reads a file of ``torch.save`` on one process, which sends the tensors to the others.

    Args:
        checkpoint_id: the file.
        coordinator_rank: who reads it.
    """

    def __init__(
        self, checkpoint_id: str | os.PathLike[str] | None = None, coordinator_rank: int = 0
    ) -> None:
        self.checkpoint_id = checkpoint_id
        self.coordinator_rank = coordinator_rank
        self.is_coordinator = False

    # as in PyTorch
    def read_metadata(self) -> Metadata:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Nothing: ``DynamicMetaLoadPlanner`` derives it from the state."""
        return Metadata(state_dict_metadata={})

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> torch.futures.Future[None]:
        """Reads the file, and fills the state tensor by tensor.

        Raises:
            RuntimeError: for something else than a tensor.
        """
        state: Any = planner.state_dict  # that of the default planners
        read = {}
        if self.is_coordinator:
            assert self.checkpoint_id is not None
            read = torch.load(self.checkpoint_id, map_location="cpu", weights_only=False)
            if getattr(planner, "flatten_state_dict", False):
                read, _ = flatten_state_dict(read)
        for item in plan.items:
            name = item.storage_index.fqn
            if item.type is LoadItemType.BYTE_IO:
                raise RuntimeError(
                    f"Non-tensor value identified at {name}. At this time {type(self).__name__} "
                    "only supports loading Tensors."
                )
            known = state[name]
            tensor = (
                read[name] if self.is_coordinator else torch.empty(known.size(), dtype=known.dtype)
            )
            broadcast(tensor, src=self.coordinator_rank)
            part = narrow_tensor_by_index(tensor, item.storage_offsets, item.lengths)
            target = planner.resolve_tensor(item).detach()
            if target.size() != part.size():
                raise AssertionError(
                    f"req {item.storage_index} mismatch sizes, {target.size()} vs {part.size()}"
                )
            target.copy_(part)
            planner.commit_tensor(item, target)
        done: torch.futures.Future[None] = torch.futures.Future()
        done.set_result(None)
        return done

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Learns who reads."""
        del metadata
        self.is_coordinator = is_coordinator
        if is_coordinator and get_rank() != self.coordinator_rank:
            raise AssertionError(
                f"Coordinator rank mismatch: expected {self.coordinator_rank}, got {get_rank()}"
            )
        if self.checkpoint_id is None:
            raise AssertionError("checkpoint_id must be set before setting up storage reader")

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """Leaves the plan as it is."""
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """Leaves the plans as they are."""
        return plans

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Takes another file."""
        self.checkpoint_id = checkpoint_id

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether there is such a file."""
        return os.path.isfile(checkpoint_id)


class DynamicMetaLoadPlanner(DefaultLoadPlanner):
    """Derives the description of a checkpoint from the state that is to be filled, for formats
    without one."""

    def set_up_planner(
        self,
        state_dict: STATE_DICT_TYPE,
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """Describes the state.

        Raises:
            RuntimeError: for something else than a tensor.
        """
        super().set_up_planner(state_dict, metadata, is_coordinator)
        found: dict[str, Any] = {}
        for name, tensor in self.state_dict.items():
            if not torch.is_tensor(tensor):
                raise RuntimeError(
                    f"Non-tensor value identified at {name}. At this time {type(self).__name__} "
                    "only supports loading Tensors."
                )
            # the file has it in one piece
            whole = torch.empty(tensor.size(), dtype=tensor.dtype, device="meta")
            found[name] = TensorStorageMetadata(
                TensorProperties(dtype=tensor.dtype), tensor.size(), _create_chunk_list(whole)
            )
        self.metadata = Metadata(state_dict_metadata=found)


def dcp_to_torch_save(
    dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]
) -> None:
    """Writes all of a checkpoint as one file of ``torch.save``. One process does it."""
    state: STATE_DICT_TYPE = {}
    _load_state_dict(
        state,
        FileSystemReader(dcp_checkpoint_dir),
        planner=_EmptyStateDictLoadPlanner(),
        no_dist=True,
    )
    torch.save(state, torch_save_path)


def torch_save_to_dcp(
    torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]
) -> None:
    """Writes what a file of ``torch.save`` holds as a checkpoint. One process does it."""
    state = torch.load(torch_save_path, weights_only=False)
    _save_state_dict(state, FileSystemWriter(dcp_checkpoint_dir), no_dist=True)
