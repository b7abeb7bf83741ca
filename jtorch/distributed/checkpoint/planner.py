"""Plans of what is written and read, and the classes that programs derive from to make their
own."""

from __future__ import annotations

import abc
import enum
import io
import math
from dataclasses import dataclass
from typing import Any

import jtorch as torch

from .metadata import (
    STATE_DICT_TYPE,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
)

__all__ = [
    "BytesIOWriteData", "LoadItemType", "LoadPlan", "LoadPlanner", "ReadItem", "SavePlan",
    "SavePlanner", "TensorWriteData", "WriteItem", "WriteItemType",
]  # fmt: skip


class WriteItemType(enum.Enum):
    """What is written: a whole tensor, a part of one, or anything else."""

    TENSOR = enum.auto()
    SHARD = enum.auto()
    BYTE_IO = enum.auto()


class LoadItemType(enum.Enum):
    """What is read."""

    TENSOR = enum.auto()
    BYTE_IO = enum.auto()


@dataclass(frozen=True)
class BytesIOWriteData:
    """How many bytes there are."""

    nbytes: int


@dataclass(frozen=True)
class TensorWriteData:
    """The box that is written, and the tensor it is of."""

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: torch.Size


@dataclass(frozen=True)
class WriteItem:
    """One piece that is written."""

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: BytesIOWriteData | None = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """The bytes of the whole tensor; None for what is none."""
        if self.tensor_data is None:
            return None
        return math.prod(self.tensor_data.size) * self.tensor_data.properties.dtype.itemsize


@dataclass(frozen=True)
class ReadItem:
    """One box that is read: where it lies in what was written, and where it goes."""

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: torch.Size
    storage_index: MetadataIndex
    storage_offsets: torch.Size
    lengths: torch.Size


@dataclass(frozen=True)
class SavePlan:
    """What a process writes."""

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    #: False stands for the plan that was used the last time, with plans that are kept.
    usable: bool = True


@dataclass
class LoadPlan:
    """What a process reads."""

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(abc.ABC):
    """Decides what each process writes. Methods are called in the order in which they stand here.

    Derive from ``DefaultSavePlanner`` to change a part: ``create_local_plan`` to rename,
    ``lookup_object`` and ``transform_object`` to write something else than what is there,
    ``create_global_plan`` to move work between processes.
    """

    _cached_save_plan: dict[str, SavePlan] = {}
    _cached_final_save_plan: dict[str, SavePlan] = {}
    _cached_all_plans: dict[str, list[SavePlan]] = {}
    _cached_global_plan: dict[str, list[SavePlan]] = {}
    _cached_metadata: dict[str, Metadata] = {}

    @abc.abstractmethod
    def set_up_planner(
        self,
        state_dict: STATE_DICT_TYPE,
        storage_meta: StorageMeta | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """Called first, on all processes."""

    @abc.abstractmethod
    def create_local_plan(self) -> SavePlan:
        """What this process has to write."""

    @abc.abstractmethod
    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """What each process is to write, and the checkpoint's description; called on the
        coordinator alone."""

    @abc.abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """The plan that this process carries out, given what the coordinator decided."""

    @abc.abstractmethod
    def resolve_data(self, write_item: WriteItem) -> torch.Tensor | io.BytesIO:
        """What is written for an item. Called by several threads."""


class LoadPlanner:
    """Decides what each process reads. Methods are called in the order in which they stand here."""

    @abc.abstractmethod
    def set_up_planner(
        self,
        state_dict: STATE_DICT_TYPE,
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """Called first, on all processes."""

    @abc.abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """What this process wants to read."""

    @abc.abstractmethod
    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """What each process is to read; called on the coordinator alone."""

    @abc.abstractmethod
    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """The plan that this process carries out, given what the coordinator decided."""

    @abc.abstractmethod
    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Takes what was read for something else than a tensor."""

    def resolve_bytes(self, read_item: ReadItem) -> io.BytesIO:
        """Where the storage may write the bytes of an item.

        Raises:
            NotImplementedError: unless a class overrides it.
        """
        raise NotImplementedError("LoadPlanner.resolve_bytes is not implemented")

    @abc.abstractmethod
    def resolve_tensor(self, read_item: ReadItem) -> torch.Tensor:
        """The tensor that an item is written into; ``commit_tensor`` follows."""

    @abc.abstractmethod
    def commit_tensor(self, read_item: ReadItem, tensor: torch.Tensor) -> None:
        """Called once what ``resolve_tensor`` gave has been filled."""
