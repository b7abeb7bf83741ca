"""Checkpoints in a folder: one file of pieces for each process, and ``.metadata``, which says what
lies where.

A checkpoint is replaced in one step. Its pieces are written to files that the one before does not
use, ``.metadata`` is then replaced at once, and only then files that nothing names any more are
removed. A process that is killed leaves the earlier checkpoint whole.
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import enum
import io
import os
import queue
import re
import threading
import uuid
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import jtorch as torch
from jtorch._src.facts.errors import not_offered
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.futures import Future

from . import _metadata_file
from .metadata import Metadata, MetadataIndex, StorageMeta
from .planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from .planner_helpers import narrow_tensor_by_index
from .staging import BlockingAsyncStager
from .storage import StorageReader, StorageWriter, WriteResult

if TYPE_CHECKING:
    from ..._src.facts.kinds import Named, TensorLike


__all__ = [
    "FileSystem",
    "FileSystemBase",
    "FileSystemReader",
    "FileSystemWriter",
    "SerializationFormat",
]

_METADATA = ".metadata"
DEFAULT_SUFFIX = ".distcp"
CURRENT_DCP_VERSION = "1.0.0"
_PIECES = re.compile(r"__(\d+)_\d+\.distcp")


@_metadata_file.register
@dataclass
class _StorageInfo:
    """Where a piece lies: a stretch of a file."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: object = None

    def __getstate__(self) -> Named:
        return {k: v for k, v in self.__dict__.items() if v is not None}


@_metadata_file.register
@dataclass
class _StoragePrefix:
    """How the names of a process's files begin."""

    prefix: str


class SerializationFormat(enum.Enum):
    """How tensors are written."""

    TORCH_SAVE = "torch_save"
    SAFETENSORS = "safetensors"


class FileSystemBase(abc.ABC):
    """What the reader and the writer ask of a place for files."""

    @contextlib.contextmanager
    @abc.abstractmethod
    def create_stream(self, path: str | os.PathLike[str], mode: str) -> Iterator[Any]:
        """An open file."""
        yield

    @abc.abstractmethod
    def concat_path(self, path: str | os.PathLike[str], suffix: str) -> str | os.PathLike[str]:
        """The path of a file in a folder."""

    @abc.abstractmethod
    def rename(self, path: str | os.PathLike[str], new_path: str | os.PathLike[str]) -> None:
        """Gives a file another name, that of another file perhaps, which it replaces."""

    @abc.abstractmethod
    def init_path(self, path: str | os.PathLike[str]) -> str | os.PathLike[str]:
        """The path as the other methods want it."""

    @abc.abstractmethod
    def mkdir(self, path: str | os.PathLike[str]) -> None:
        """Makes a folder, if there is none."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether a checkpoint can have that name here."""

    @abc.abstractmethod
    def exists(self, path: str | os.PathLike[str]) -> bool:
        """Whether there is such a file."""

    @abc.abstractmethod
    def rm_file(self, path: str | os.PathLike[str]) -> None:
        """Removes a file."""


class FileSystem(FileSystemBase):
    """Files of this machine."""

    @contextlib.contextmanager
    def create_stream(self, path: str | os.PathLike[str], mode: str) -> Iterator[Any]:
        """An open file."""
        with Path(path).open(mode) as stream:
            yield stream

    def concat_path(self, path: str | os.PathLike[str], suffix: str) -> str | os.PathLike[str]:
        """The path of a file in a folder."""
        return Path(path) / suffix

    def init_path(self, path: str | os.PathLike[str]) -> str | os.PathLike[str]:
        """The path as an object."""
        return Path(path)

    def rename(self, path: str | os.PathLike[str], new_path: str | os.PathLike[str]) -> None:
        """Gives a file the name of another, in one step."""
        Path(path).replace(new_path)

    def mkdir(self, path: str | os.PathLike[str]) -> None:
        """Makes a folder and those it lies in."""
        Path(path).mkdir(parents=True, exist_ok=True)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether it is a path that can be written to."""
        if isinstance(checkpoint_id, Path):
            return True
        if "://" in str(checkpoint_id):
            return False
        return any(
            parent.exists() and os.access(parent, os.W_OK) for parent in Path(checkpoint_id).parents
        )

    def exists(self, path: str | os.PathLike[str]) -> bool:
        """Whether there is such a file."""
        return Path(path).exists()

    def rm_file(self, path: str | os.PathLike[str]) -> None:
        """Removes a file."""
        Path(path).unlink()

    def ls(self, path: str | os.PathLike[str]) -> list[str]:
        """The files of a folder."""
        return [str(found) for found in Path(path).iterdir()]


def _metadata_path(fs: FileSystemBase, path: Any, rank: int | None) -> object:
    return fs.concat_path(path, _METADATA if rank is None else f"__{rank}{_METADATA}")


def _buckets(count: int, items: list[WriteItem]) -> list[list[WriteItem]]:
    """The items of each file: objects in turn, then tensors from the largest, each to where the
    fewest bytes are."""
    if count == 1:
        return [items]
    objects = [item for item in items if item.type is WriteItemType.BYTE_IO]
    tensors = [item for item in items if item.type is not WriteItemType.BYTE_IO]
    buckets: list[list[WriteItem]] = [objects[i::count] for i in range(count)]
    sizes = [0] * count
    for item in sorted(tensors, key=_size_of, reverse=True):
        best = sizes.index(min(sizes))
        buckets[best].append(item)
        sizes[best] += _size_of(item)
    return buckets


def _size_of(item: WriteItem) -> int:
    assert item.tensor_data is not None
    return item.tensor_data.chunk.sizes.numel() * item.tensor_data.properties.dtype.itemsize


def _as_bytes(data: TensorLike) -> memoryview:
    """What is written for a piece: a file of its own, as ``torch.save`` makes it, or the bytes of
    one."""
    if isinstance(data, io.BytesIO):
        return data.getbuffer()
    tensor = data.detach().cpu()
    if tensor.untyped_storage().nbytes() != tensor.numel() * tensor.dtype.itemsize:
        tensor = tensor.clone()  # a part of a larger storage, all of which would be written
    out = io.BytesIO()
    torch.save(tensor, out)
    return out.getbuffer()


class _FileSystemWriter(StorageWriter):
    """Writes the pieces of each process to files of its own in one folder."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        overwrite: bool = True,
        _extensions: object = None,
        serialization_format: SerializationFormat = SerializationFormat.TORCH_SAVE,
        *args: object,
        **kwargs: object,
    ) -> None:
        super().__init__()
        del args, kwargs
        if _extensions:
            raise not_offered(
                "torch.distributed.checkpoint.FileSystemWriter(_extensions=)",
                "files are written as they are",
            )
        if serialization_format is not SerializationFormat.TORCH_SAVE:
            raise not_offered(
                "torch.distributed.checkpoint.FileSystemWriter(serialization_format=SAFETENSORS)",
                "pieces are written as torch.save does",
            )
        self.fs: FileSystemBase = FileSystem()
        self.path = self.fs.init_path(path)
        self.single_file_per_rank = single_file_per_rank
        self.sync_files = sync_files
        self.thread_count = thread_count
        self.per_thread_copy_ahead = per_thread_copy_ahead
        self.save_id = str(uuid.uuid4())
        self.overwrite = overwrite
        self.serialization_format = serialization_format
        self.rank: int | None = None
        self.use_collectives = True

    @property
    def checkpoint_id(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.path

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begins a checkpoint, in another folder if one is given."""
        if checkpoint_id:
            self.path = self.fs.init_path(checkpoint_id)
        self.save_id = str(uuid.uuid4())

    def set_up_storage_writer(self, is_coordinator: bool, *args: object, **kwargs: Any) -> None:
        """Learns the process's rank, and whether all processes write one checkpoint."""
        del is_coordinator, args
        self.rank = kwargs.get("rank")
        self.use_collectives = kwargs.get("use_collectives", True)

    def _get_metadata_path(self, rank: int | None = None) -> Any:
        return _metadata_path(self.fs, self.path, rank)

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Makes the folder.

        Raises:
            RuntimeError: if there is a checkpoint that may not be overwritten.
        """
        self.fs.mkdir(self.path)
        if self.fs.exists(self._get_metadata_path(None if self.use_collectives else 0)):
            if not self.overwrite:
                raise RuntimeError(f"Checkpoint already exists and {self.overwrite=}.")
            warnings.warn(
                f"Detected an existing checkpoint in {self.path}, overwriting since "
                f"{self.overwrite=}. Past version 2.5 of PyTorch, `overwrite` will default to "
                "False. Set this variable to True to maintain this functionality or False to raise "
                "when an existing checkpoint is found.",
                stacklevel=2,
            )
        if self.rank is not None and not self.use_collectives:
            plan = dataclasses.replace(plan, storage_data=_StoragePrefix(f"__{self.rank}_"))
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Says how the names of each process's files begin."""
        return [
            dataclasses.replace(plan, storage_data=_StoragePrefix(f"__{i}_"))
            if plan.storage_data is None
            else plan
            for i, plan in enumerate(plans)
        ]

    def _free_names(self, prefix: str) -> Iterator[str]:
        """Names of files that are not there: those of an earlier checkpoint stay until it has been
        replaced."""
        number = 0
        while True:
            name = f"{prefix}{number}{DEFAULT_SUFFIX}"
            if not self.fs.exists(self.fs.concat_path(self.path, name)):
                yield name
            number += 1

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Writes the plan's pieces."""
        names = self._free_names(plan.storage_data.prefix)
        waiting: queue.SimpleQueue[tuple[str, list[WriteItem]]] = queue.SimpleQueue()
        for bucket in (
            _buckets(self.thread_count, plan.items)
            if self.single_file_per_rank
            else [[item] for item in plan.items]
        ):
            waiting.put((next(names), bucket))
        results: list[WriteResult] = []
        errors: list[BaseException] = []

        def work() -> None:
            try:
                while True:
                    results.extend(self._write_file(*waiting.get_nowait(), planner))
            except queue.Empty:
                pass
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(1, self.thread_count)]
        for thread in threads:
            thread.start()
        work()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        done: Future[list[WriteResult]] = Future()
        done.set_result(results)
        return done

    def _write_file(
        self, name: str, items: list[WriteItem], planner: SavePlanner
    ) -> list[WriteResult]:
        results = []
        with self.fs.create_stream(self.fs.concat_path(self.path, name), "wb") as stream:
            for item in sorted(items, key=lambda item: item.type is not WriteItemType.BYTE_IO):
                start, data = stream.tell(), _as_bytes(planner.resolve_data(item))
                stream.write(data)
                results.append(
                    WriteResult(item.index, len(data), _StorageInfo(name, start, len(data)))
                )
            self._synced(stream)
        return results

    def _synced(self, stream: Any) -> None:
        stream.flush()
        if self.sync_files:
            with contextlib.suppress(AttributeError, io.UnsupportedOperation):
                os.fsync(stream.fileno())

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Makes the new checkpoint the one of the folder, and removes the files of the one
        before."""
        metadata.version = CURRENT_DCP_VERSION
        metadata.storage_data = {
            written.index: written.storage_data for of_rank in results for written in of_rank
        }
        metadata.storage_meta = self.storage_meta()
        rank = None if self.use_collectives else self.rank
        final = self._get_metadata_path(rank)
        temporary = self.fs.concat_path(self.path, f"{Path(final).name}.tmp")
        with self.fs.create_stream(temporary, "wb") as stream:
            stream.write(_metadata_file.write(metadata))
            self._synced(stream)
        self.fs.rename(temporary, final)
        self._remove_others(
            {info.relative_path for info in metadata.storage_data.values()}, results, rank
        )

    def _remove_others(
        self, used: set[str], results: list[list[WriteResult]], rank: int | None
    ) -> None:
        """Removes files of pieces that the new description does not name; those without pieces are
        left to those who wrote them."""
        listed = getattr(self.fs, "ls", None)
        if listed is None:
            return
        names: dict[str, list[str]] = {}
        for path in listed(self.path):
            match = _PIECES.fullmatch(Path(path).name)
            if match and (rank is None or int(match[1]) == rank):
                names.setdefault(match[1], []).append(match[0])
        for number, found in names.items():
            kept = {name for name in found if name in used}
            # a process with nothing to write has written an empty file
            if not kept and int(number) < len(results):
                kept = {
                    max(
                        found,
                        key=lambda name: (
                            Path(cast(Any, self.fs.concat_path(self.path, name))).stat().st_mtime_ns
                        ),
                    )
                }
            for name in set(found) - kept:
                with contextlib.suppress(OSError):
                    self.fs.rm_file(self.fs.concat_path(self.path, name))

    def storage_meta(self) -> StorageMeta | None:
        """The folder, and the name of this call."""
        return StorageMeta(checkpoint_id=self.checkpoint_id, save_id=self.save_id)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether it is a path that can be written to."""
        return FileSystem.validate_checkpoint_id(checkpoint_id)


class FileSystemWriter(_FileSystemWriter, BlockingAsyncStager):
    """Writes a checkpoint into a folder, in PyTorch's format.

    Args:
        path: the folder.
        single_file_per_rank: write one file for each process (and thread), not one for each piece.
        sync_files: wait until the files are on the disk.
        thread_count: how many threads write, each a file of its own.
        per_thread_copy_ahead: of no effect.
        cache_staged_state_dict: of no effect: copies for ``async_save`` are made anew.
        overwrite: allow a checkpoint in the folder, which is replaced in one step.

    Raises:
        NotImplementedError: for ``_extensions``, and for another format than that of
            ``torch.save``.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
        _extensions: object = None,
        serialization_format: SerializationFormat = SerializationFormat.TORCH_SAVE,
    ) -> None:
        _FileSystemWriter.__init__(
            self,
            path=path,
            single_file_per_rank=single_file_per_rank,
            sync_files=sync_files,
            thread_count=thread_count,
            per_thread_copy_ahead=per_thread_copy_ahead,
            overwrite=overwrite,
            _extensions=_extensions,
            serialization_format=serialization_format,
        )
        BlockingAsyncStager.__init__(self, cache_staged_state_dict=cache_staged_state_dict)


class FileSystemReader(StorageReader):
    """Reads a checkpoint from a folder, of jtorch or of PyTorch.

    Args:
        path: the folder.
    """

    def __init__(self, path: str | os.PathLike[str], _extension_registry: object = None) -> None:
        super().__init__()
        if _extension_registry is not None:
            raise not_offered(
                "torch.distributed.checkpoint.FileSystemReader(_extension_registry=)",
                "files are not transformed as they are written",
            )
        self.fs: FileSystemBase = FileSystem()
        self.path = self.fs.init_path(path)
        self.storage_data: dict[MetadataIndex, _StorageInfo] = {}
        self.load_id = str(uuid.uuid4())
        self.rank: int | None = None
        self.use_collectives = True

    @property
    def checkpoint_id(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.path

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begins to read, from another folder if one is given."""
        self.storage_data = {}
        if checkpoint_id:
            self.path = self.fs.init_path(checkpoint_id)
        self.load_id = str(uuid.uuid4())

    def _get_metadata_path(self, rank: int | None = None) -> Any:
        return _metadata_path(self.fs, self.path, rank)

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """The checkpoint's description; with ``rank`` that of a process that wrote alone.

        Nothing of the file is executed: it may name PyTorch's own classes and what
        ``torch.serialization.add_safe_globals`` allows.
        """
        del args
        with self.fs.create_stream(self._get_metadata_path(kwargs.get("rank")), "rb") as stream:
            metadata = _metadata_file.read(stream.read())
        if getattr(metadata, "storage_meta", None) is None:
            metadata.storage_meta = StorageMeta()
        assert metadata.storage_meta is not None
        metadata.storage_meta.load_id = self.load_id
        return metadata

    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        """Learns where pieces lie."""
        del is_coordinator, args
        self.storage_data = metadata.storage_data
        self.rank = kwargs.get("rank")
        self.use_collectives = kwargs.get("use_collectives", True)

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """Leaves the plan as it is."""
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """Leaves the plans as they are."""
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Reads the plan's pieces, file by file, and each piece once."""
        files: dict[str, dict[MetadataIndex, list[ReadItem]]] = {}
        for item in plan.items:
            info = self.storage_data[item.storage_index]
            files.setdefault(info.relative_path, {}).setdefault(item.storage_index, []).append(item)
        for name, pieces in files.items():
            with self.fs.create_stream(self.fs.concat_path(self.path, name), "rb") as stream:
                for index, items in pieces.items():
                    self._read_piece(stream, self.storage_data[index], items, planner)
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def _slice_file(self, file: IO[bytes], sinfo: _StorageInfo) -> IO[bytes]:
        if getattr(sinfo, "transform_descriptors", None):
            raise not_offered(
                "torch.distributed.checkpoint.FileSystemReader",
                f"the file was transformed by {sinfo.transform_descriptors}",
            )
        file.seek(sinfo.offset)
        data = file.read(sinfo.length)
        if len(data) != sinfo.length:
            raise RuntimeError(
                f"The checkpoint is damaged: {sinfo.relative_path} ends before byte "
                f"{sinfo.offset + sinfo.length}"
            )
        return io.BytesIO(data)

    def _read_piece(
        self, file: IO[bytes], info: _StorageInfo, items: list[ReadItem], planner: LoadPlanner
    ) -> None:
        data = self._slice_file(file, info)
        tensor: Any = None
        for item in items:
            if item.type is LoadItemType.BYTE_IO:
                data.seek(0)
                planner.load_bytes(item, cast(io.BytesIO, data))
                continue
            if tensor is None:
                tensor = torch.load(data, map_location="cpu", weights_only=True)
            part = narrow_tensor_by_index(tensor, item.storage_offsets, item.lengths)
            target = planner.resolve_tensor(item).detach()
            if target.size() != part.size():
                raise AssertionError(
                    f"req {item.storage_index} mismatch sizes {target.size()} vs {part.size()}"
                )
            target.copy_(part)
            planner.commit_tensor(item, target)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        """Whether it is a path that can be written to."""
        return FileSystem.validate_checkpoint_id(checkpoint_id)


__getattr__ = _refusals.missing(__name__)
