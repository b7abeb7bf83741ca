"""How ``torch.load`` and ``torch.save`` read and write where a call does not say it.

Attributes:
    load.mmap: read storages from the file when they are first used.
    load.mmap_flags: how files are mapped; ``mmap.MAP_SHARED`` is refused when a file is loaded so.
    load.endianness: the byte order of files that do not say it
        (``torch.serialization.LoadEndianness``); None is little.
    load.calculate_storage_offsets: kept; places are read from the archive's directory in any case.
    save.compute_crc32: kept; files always have checksums, which takes a small part of the time to
        write them.
    save.storage_alignment: at multiples of so many bytes of the file storages begin.
    save.use_pinned_memory_for_d2h: kept; JAX brings arrays of accelerators to the host by itself.

Example:
    >>> import jtorch as torch
    >>> with torch.utils.serialization.config.patch("load.mmap", True):
    ...     torch.utils.serialization.config.load.mmap
    True
"""

from __future__ import annotations

import mmap
from typing import Any

from ..._src.neighbours.within.settings import patches


class _Settings:
    """Settings of one name, that take no others."""

    def __init__(self, name: str, **settings: object) -> None:
        self.__dict__.update(settings)
        self.__dict__["_name"] = name

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"torch.utils.serialization.config.{self._name}.{name} does not exist")

    def __setattr__(self, name: str, value: object) -> None:
        getattr(self, name)
        self.__dict__[name] = value


load: Any = _Settings(
    "load",
    mmap=False,
    endianness=None,
    mmap_flags=getattr(mmap, "MAP_PRIVATE", None),
    calculate_storage_offsets=False,
)
save: Any = _Settings(
    "save", compute_crc32=True, use_pinned_memory_for_d2h=False, storage_alignment=64
)
patch = patches(__name__)
