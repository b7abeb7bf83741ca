"""What a checkpoint holds, and where: the classes whose pickle is the file ``.metadata``. Their
fields are those of PyTorch's files."""

from __future__ import annotations

import enum
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jtorch as torch

from .stateful import StatefulT

__all__ = [
    "BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "MetadataIndex", "StorageMeta",
    "TensorProperties", "TensorStorageMetadata",
]  # fmt: skip

STATE_DICT_TYPE = dict[str, StatefulT | Any]


@dataclass
class ChunkStorageMetadata:
    """A box of a tensor's elements: where it begins and its sizes."""

    offsets: torch.Size
    sizes: torch.Size


class _MEM_FORMAT_ENCODING(enum.Enum):
    """How files spell memory formats."""

    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


_FORMATS = {
    torch.contiguous_format: _MEM_FORMAT_ENCODING.TORCH_CONTIGUOUS_FORMAT,
    torch.channels_last: _MEM_FORMAT_ENCODING.TORCH_CHANNELS_LAST,
    torch.preserve_format: _MEM_FORMAT_ENCODING.TORCH_PRESERVE_FORMAT,
}


@dataclass
class TensorProperties:
    """What is needed to make a tensor, beside its size."""

    dtype: torch.dtype = field(default_factory=torch.get_default_dtype)
    layout: Any = field(default=torch.strided)
    requires_grad: bool = False
    memory_format: torch.memory_format = field(default=torch.contiguous_format)
    pin_memory: bool = False

    def __getstate__(self) -> tuple[Any, ...]:
        if self.memory_format not in _FORMATS:
            raise RuntimeError(f"Invalid torch.memory_format: {self.memory_format}")
        return (
            self.dtype,
            self.layout,
            self.requires_grad,
            _FORMATS[self.memory_format],
            self.pin_memory,
        )

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dtype, self.layout, self.requires_grad, spelt, self.pin_memory = state
        self.memory_format = next(
            known for known, encoding in _FORMATS.items() if encoding == spelt
        )

    @staticmethod
    def create_from_tensor(tensor: torch.Tensor) -> TensorProperties:
        """Those of a tensor."""
        return TensorProperties(
            dtype=tensor.dtype,
            layout=tensor.layout,
            requires_grad=tensor.requires_grad,
            memory_format=torch.contiguous_format,
            pin_memory=tensor.is_pinned(),
        )


@dataclass
class TensorStorageMetadata:
    """A tensor: its size, and the boxes that its elements were written in."""

    properties: TensorProperties
    size: torch.Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """Something else than a tensor."""


@dataclass
class StorageMeta:
    """The checkpoint's name, and those of the calls that wrote and read it."""

    checkpoint_id: str | os.PathLike[str] | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """All of a checkpoint but its data."""

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]
    #: What the planner wants to know when it loads: for the default planner, the keys that lead to
    #: each name.
    planner_data: Any = None
    #: What the storage wants to know: for files, where in which file each piece lies.
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True)
class MetadataIndex:
    """Names a piece: a name of the state, and the offset of a box if it is a tensor. ``index`` is a
    hint where the box is in its list."""

    fqn: str
    offset: torch.Size | None = None
    index: int | None = field(hash=False, compare=False, default=None)

    def __init__(
        self, fqn: str, offset: Sequence[int] | None = None, index: int | None = None
    ) -> None:
        object.__setattr__(self, "fqn", fqn)
        object.__setattr__(self, "index", index)
        if offset is not None:
            object.__setattr__(self, "offset", torch.Size(offset))
