"""Checkpoints in files of the safetensors format, which Hugging Face's libraries read: whole, or a
file for each process."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, cast

import jtorch as torch
from jtorch.futures import Future

from . import _safetensors
from ._consolidate_hf_safetensors import consolidate_safetensors_files
from ._hf_utils import SHARDED_DIR_NAME, _gen_file_name, _metadata_fn, index_text, named_by
from .filesystem import FileSystemReader, FileSystemWriter, SerializationFormat
from .metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)
from .planner import (
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from .storage import WriteResult

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]

_SHARD = re.compile(r"shard-\d{5,}-model-\d{5,}-of-\d{5,}\.safetensors")


@dataclass
class _HFStorageInfo:
    """The file that a tensor, or a box of one, is in."""

    relative_path: str
    shape: torch.Size
    dtype: torch.dtype


@dataclass
class _Written:
    """A file that a process has written under another name than the one it will have, and how many
    bytes a tensor has in it."""

    relative_path: str
    temporary: str
    length: int


class HuggingFaceStorageWriter(FileSystemWriter):
    """Writes a checkpoint in the safetensors format, with ``model.safetensors.index.json``, which
    says what is in which file.

    Without ``save_distributed`` it is for one process that has whole tensors (``no_dist=True`` on
    rank 0); with it each process writes its parts to files of its own, which
    ``enable_consolidation`` then joins. The files get their names when all are written.

    Args:
        path: the folder.
        fqn_to_index_mapping: the number of the file, from 1 on, of each tensor; one file if it is
            None.
        thread_count: how many files a process writes at once.
        save_distributed: let each process write its own parts.
        enable_consolidation: write the parts to the folder ``sharded`` in ``path`` and whole
            tensors to ``path``.
        thread_count_consolidation: how many files are joined at once.

    Raises:
        CheckpointException: when saving, for values that are no tensors, a tensor that the mapping
            lacks, or two processes that would write the same file.

    Example:
        >>> import jtorch as torch, tempfile, warnings
        >>> import jtorch.distributed.checkpoint as dcp
        >>> folder, read = tempfile.mkdtemp(), {"w": torch.zeros(3)}
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")  # each says that there is one process
        ...     _ = dcp.save(
        ...         {"w": torch.arange(3.0)},
        ...         storage_writer=dcp.HuggingFaceStorageWriter(folder),
        ...         no_dist=True,
        ...     )
        ...     dcp.load(read, storage_reader=dcp.HuggingFaceStorageReader(folder), no_dist=True)
        >>> read["w"]
        tensor([0., 1., 2.])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        fqn_to_index_mapping: dict[str, int] | None = None,
        thread_count: int = 1,
        save_distributed: bool = False,
        enable_consolidation: bool = False,
        thread_count_consolidation: int = 1,
    ) -> None:
        super().__init__(path=path, thread_count=thread_count)
        self.serialization_format = SerializationFormat.SAFETENSORS
        self.fqn_to_index_mapping = fqn_to_index_mapping
        self.save_distributed = save_distributed
        self.enable_consolidation = enable_consolidation
        self.consolidated_output_path: str | None = None
        if enable_consolidation:
            self.consolidated_output_path = str(self.path)
            self.path = self.fs.concat_path(self.path, SHARDED_DIR_NAME)
        self.thread_count_consolidation = thread_count_consolidation

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        """Begins a checkpoint, in another folder if one is given."""
        super().reset(checkpoint_id)
        if checkpoint_id and self.enable_consolidation:
            self.consolidated_output_path = str(self.path)
            self.path = self.fs.concat_path(self.path, SHARDED_DIR_NAME)

    def _file_of(self, name: str) -> int:
        return 1 if self.fqn_to_index_mapping is None else self.fqn_to_index_mapping[name]

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Gives each process its number, or sees to it that no file has two writers.

        Raises:
            ValueError: for what no file of this format can hold, and a file that several processes
                would write.
        """
        writers: dict[int, int] = {}
        for number, plan in enumerate(plans):
            for item in plan.items:
                if item.type is WriteItemType.BYTE_IO:
                    raise ValueError(
                        f"{item.index.fqn} is no tensor: files of the safetensors format hold "
                        "tensors alone"
                    )
                if (
                    self.fqn_to_index_mapping is not None
                    and item.index.fqn not in self.fqn_to_index_mapping
                ):
                    raise ValueError(f"fqn_to_index_mapping lacks {item.index.fqn}")
                if (
                    not self.save_distributed
                    and writers.setdefault(self._file_of(item.index.fqn), number) != number
                ):
                    raise ValueError(
                        "several processes would write the same file: save on one process "
                        "(no_dist=True), or with save_distributed=True"
                    )
        return [
            dataclasses.replace(
                plan, storage_data={"shard_index": number} if self.save_distributed else {}
            )
            for number, plan in enumerate(plans, 1)
        ]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future[list[WriteResult]]:
        """Writes the plan's tensors, under other names than those that the files will have."""
        files: dict[int, list[WriteItem]] = {}
        for item in plan.items:
            files.setdefault(self._file_of(item.index.fqn), []).append(item)
        highest = max(self.fqn_to_index_mapping.values()) if self.fqn_to_index_mapping else 1
        shard = (plan.storage_data or {}).get("shard_index")

        def write(number: int) -> list[WriteResult]:
            return self._write_tensors(
                _gen_file_name(number, highest, shard), files[number], planner
            )

        with ThreadPoolExecutor(max(1, self.thread_count)) as pool:
            written = [result for results in pool.map(write, files) for result in results]
        done: Future[list[WriteResult]] = Future()
        done.set_result(written)
        return done

    def _write_tensors(
        self, name: str, items: list[WriteItem], planner: SavePlanner
    ) -> list[WriteResult]:
        tensors = {item.index.fqn: cast(Any, planner.resolve_data(item)) for item in items}
        if len(tensors) != len(items):
            raise ValueError(
                f"{name} would hold several parts of one tensor, for which files of the "
                "safetensors format have one name"
            )
        offsets = {
            item.index.fqn: item.tensor_data.chunk.offsets
            for item in items
            if item.tensor_data is not None
        }
        temporary = f".{name}.{self.save_id}.tmp"
        try:
            with self.fs.create_stream(self.fs.concat_path(self.path, temporary), "wb") as stream:
                _safetensors.write_file(stream, tensors, offsets)
                self._synced(stream)
        except BaseException:
            with contextlib.suppress(OSError):
                self.fs.rm_file(self.fs.concat_path(self.path, temporary))
            raise
        return [
            WriteResult(item.index, size, _Written(name, temporary, size))
            for item in items
            for size in [tensors[item.index.fqn].numel() * tensors[item.index.fqn].dtype.itemsize]
        ]

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Gives the files their names, removes those of the checkpoint before, and writes the list
        of what is where."""
        written = [result for of_rank in results for result in of_rank]
        for name, temporary in {
            (r.storage_data.relative_path, r.storage_data.temporary) for r in written
        }:
            self.fs.rename(
                self.fs.concat_path(self.path, temporary), self.fs.concat_path(self.path, name)
            )
        names = {r.storage_data.relative_path for r in written}
        if not self.save_distributed:
            self._list(
                self.path,
                {r.index.fqn: r.storage_data.relative_path for r in written},
                sum(r.storage_data.length for r in written),
            )
            return
        # of more processes: they would be read as parts of these tensors
        for path in cast(Any, self.fs).ls(self.path):
            name = os.path.basename(path)
            if _SHARD.fullmatch(name) and name not in names:
                self.fs.rm_file(path)
        if self.enable_consolidation:
            mapping = self.fqn_to_index_mapping or dict.fromkeys(metadata.state_dict_metadata, 1)
            self._forget(str(self.consolidated_output_path), set())
            consolidate_safetensors_files(
                str(self.path),
                str(self.consolidated_output_path),
                mapping,
                num_threads=self.thread_count_consolidation,
            )

    def _list(self, path: Any, weight_map: dict[str, str], size: int) -> None:
        self._forget(path, set(weight_map.values()))
        final = self.fs.concat_path(path, _metadata_fn)
        temporary = self.fs.concat_path(path, f".{_metadata_fn}.{self.save_id}.tmp")
        with self.fs.create_stream(temporary, "w") as stream:
            stream.write(index_text(weight_map, size))
            self._synced(stream)
        self.fs.rename(temporary, final)

    def _forget(self, path: Any, kept: set[str]) -> None:
        """Removes what the list of an earlier checkpoint names: whoever reads the folder would take
        it for a part of the new one."""
        listed = self.fs.concat_path(path, _metadata_fn)
        if not self.fs.exists(listed):
            return
        with self.fs.create_stream(listed, "r") as stream:
            before = set(named_by(stream.read()).values())
        for name in before - kept:
            if isinstance(name, str) and name == os.path.basename(name):
                with contextlib.suppress(OSError):
                    self.fs.rm_file(self.fs.concat_path(path, name))

    @property
    def metadata_path(self) -> str:
        """The name of the file that says what is where."""
        return _metadata_fn


class HuggingFaceStorageReader(FileSystemReader):
    """Reads all files of the safetensors format in a folder: whole tensors, or parts that several
    processes have written.

    Args:
        path: the folder.
        thread_count: how many files are read at once.
    """

    def __init__(self, path: str | os.PathLike[str], thread_count: int = 1) -> None:
        super().__init__(path)
        self.thread_count = thread_count
        self._entries: dict[tuple[str, str], _safetensors.Entry] = {}

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """What the headers of the files say."""
        del args, kwargs
        found: dict[str, TensorStorageMetadata] = {}
        places: dict[MetadataIndex, _HFStorageInfo] = {}
        for path in sorted(cast(Any, self.fs).ls(self.path)):
            if not path.endswith(_safetensors.SUFFIX) or os.path.basename(path).startswith("."):
                continue
            with self.fs.create_stream(path, "rb") as stream:
                entries = _safetensors.read_header(stream, path)
            for name, entry in entries.items():
                chunk = ChunkStorageMetadata(torch.Size(entry.offset), torch.Size(entry.shape))
                size = torch.Size(o + n for o, n in zip(entry.offset, entry.shape, strict=True))
                if name not in found:
                    found[name] = TensorStorageMetadata(
                        TensorProperties(dtype=entry.dtype), size, [chunk]
                    )
                else:
                    found[name].chunks.append(chunk)
                    found[name].size = torch.Size(map(max, found[name].size, size))
                places[MetadataIndex(name, entry.offset)] = _HFStorageInfo(
                    path, chunk.sizes, entry.dtype
                )
                self._entries[path, name] = entry
        metadata = Metadata(state_dict_metadata=dict(found), storage_data=places)
        metadata.storage_meta = StorageMeta(load_id=self.load_id)
        return metadata

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        """Reads the plan's boxes, file by file."""
        files: dict[str, list[ReadItem]] = {}
        for item in plan.items:
            files.setdefault(
                cast(Any, self.storage_data[item.storage_index]).relative_path, []
            ).append(item)

        def read(path: str) -> None:
            with self.fs.create_stream(path, "rb") as stream:
                entries = _safetensors.read_header(stream, path)
                for item in files[path]:
                    self._read_item(stream, entries[item.storage_index.fqn], path, item, planner)

        with ThreadPoolExecutor(max(1, self.thread_count)) as pool:
            list(pool.map(read, files))
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def _whole(self, stream: Any, entry: _safetensors.Entry, path: str, name: str) -> torch.Tensor:
        del name
        return _safetensors.read_tensor(stream, entry, path)

    def _read_item(
        self,
        stream: object,
        entry: _safetensors.Entry,
        path: str,
        item: ReadItem,
        planner: LoadPlanner,
    ) -> None:
        part = self._whole(stream, entry, path, item.storage_index.fqn)
        for dim, (start, length) in enumerate(zip(item.storage_offsets, item.lengths, strict=True)):
            part = part.narrow(dim, start, length)
        target = planner.resolve_tensor(item).detach()
        if target.size() != part.size():
            raise AssertionError(
                f"req {item.storage_index} mismatch sizes {target.size()} vs {part.size()}"
            )
        target.copy_(part)
        planner.commit_tensor(item, target)
