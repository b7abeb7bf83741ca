"""Files that several processes have written, each its parts of tensors, made into files of whole
tensors."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import jtorch as torch

from . import _safetensors
from ._hf_utils import _gen_file_name, _metadata_fn, index_text

if TYPE_CHECKING:
    from ..group import ProcessGroup


__all__ = ["consolidate_safetensors_files", "consolidate_safetensors_files_on_every_rank"]

_Parts = dict[str, list[tuple[Path, _safetensors.Entry]]]


def _parts_in(folder: str) -> _Parts:
    """The parts of each tensor that the files of a folder hold."""
    found: _Parts = {}
    for path in sorted(Path(folder).iterdir()):
        if path.suffix == _safetensors.SUFFIX and not path.name.startswith("."):
            with path.open("rb") as stream:
                for name, entry in _safetensors.read_header(stream, str(path)).items():
                    found.setdefault(name, []).append((path, entry))
    return found


def _size_of(parts: list[tuple[Path, _safetensors.Entry]]) -> list[int]:
    ends = [[o + n for o, n in zip(entry.offset, entry.shape, strict=True)] for _, entry in parts]
    return [max(dim) for dim in zip(*ends, strict=True)]


def _whole(name: str, parts: list[tuple[Path, _safetensors.Entry]]) -> np.ndarray:
    """A tensor's elements, as so many bytes each.

    Raises:
        ValueError: if its parts leave out some.
    """
    shape = _size_of(parts)
    width = parts[0][1].dtype.itemsize
    whole = np.zeros((*shape, width), np.uint8)
    if sum(math.prod(entry.shape) for _, entry in parts) < math.prod(shape):
        raise ValueError(f"the parts of {name} do not make up a tensor of the shape {shape}")
    for path, entry in parts:
        with path.open("rb") as stream:
            data = _safetensors.read_bytes(stream, entry, str(path))
        box = tuple(slice(o, o + n) for o, n in zip(entry.offset, entry.shape, strict=True))
        whole[box] = data.reshape(*entry.shape, width)
    return whole


def _write(path: Path, names: list[str], found: _Parts) -> None:
    """Writes whole tensors to a file, which gets its name at the end."""
    kinds = {name: (found[name][0][1].dtype, _size_of(found[name])) for name in names}
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as stream:
        _safetensors.write_header(stream, kinds, None)
        for name in _safetensors.in_order(kinds):
            stream.write(_whole(name, found[name]).data)
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)


def _consolidate(
    input_dir: str,
    output_dir: str,
    mapping: dict[str, int],
    threads: int,
    share: Callable[..., object],
) -> _Parts:
    """Writes the files whose number ``share`` takes; all parts that there are."""
    found = _parts_in(input_dir)
    missing = sorted(set(mapping) - set(found))
    if missing:
        raise ValueError(f"the files in {input_dir} have no tensors of the names {missing}")
    folder, highest = Path(output_dir), max(mapping.values())
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[int, list[str]] = {}
    for name, number in mapping.items():
        if share(number):
            files.setdefault(number, []).append(name)
    with ThreadPoolExecutor(max(1, threads)) as pool:
        list(
            pool.map(
                lambda number: _write(
                    folder / _gen_file_name(number, highest), files[number], found
                ),
                files,
            )
        )
    return found


def _write_index(output_dir: str, mapping: dict[str, int], found: _Parts) -> None:
    size = sum(
        math.prod(_size_of(found[name])) * found[name][0][1].dtype.itemsize for name in mapping
    )
    highest = max(mapping.values())
    temporary = Path(output_dir) / f".{_metadata_fn}.tmp"
    temporary.write_text(
        index_text(
            {name: _gen_file_name(number, highest) for name, number in mapping.items()}, size
        )
    )
    temporary.replace(Path(output_dir) / _metadata_fn)


def consolidate_safetensors_files(
    input_dir: str, output_dir: str, fqn_to_index_mapping: dict[str, int], num_threads: int = 1
) -> None:
    """Makes files of whole tensors, and their list, of files that ``save_distributed=True`` has
    written.

    Args:
        input_dir: the folder of the parts.
        output_dir: the folder of the new files.
        fqn_to_index_mapping: the number of the file, from 1 on, of each tensor; others are left
            out.
        num_threads: how many files are written at once.

    Raises:
        ValueError: for names that no file has, parts that leave out elements, and damaged files.
    """
    found = _consolidate(input_dir, output_dir, fqn_to_index_mapping, num_threads, lambda _: True)
    _write_index(output_dir, fqn_to_index_mapping, found)


def consolidate_safetensors_files_on_every_rank(
    input_dir: str,
    output_dir: str,
    fqn_to_index_mapping: dict[str, int],
    num_threads: int = 1,
    process_group: ProcessGroup | None = None,
) -> None:
    """``consolidate_safetensors_files`` by all processes together, each some of the files.

    Args:
        input_dir: the folder of the parts.
        output_dir: the folder of the new files.
        fqn_to_index_mapping: the number of the file, from 1 on, of each tensor; others are left
            out.
        num_threads: how many files a process writes at once.
        process_group: the processes; all if it is None.

    Raises:
        ValueError: for names that no file has, parts that leave out elements, and damaged files.
    """
    distributed = torch.distributed
    several = distributed.is_available() and distributed.is_initialized()
    rank, size = (
        (distributed.get_rank(process_group), distributed.get_world_size(process_group))
        if several
        else (0, 1)
    )
    found = _consolidate(
        input_dir,
        output_dir,
        fqn_to_index_mapping,
        num_threads,
        lambda number: number % size == rank,
    )
    if rank == 0:
        _write_index(output_dir, fqn_to_index_mapping, found)
    if several:
        distributed.barrier(group=process_group)
