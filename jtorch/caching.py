"""JAX's persistent compilation cache: what it keeps makes the second run of a script start warm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax

from . import _kept_files
from ._code_cache import folder as cache_folder

_HEADER = b"jtorch jax 1\n"
#: Bytes above which the programs not used for longest are removed.
MAX_BYTES = 1 << 30


class _Files:
    """JAX's cache of files, for a folder of this package's own.

    JAX's own writes files in place and never replaces one: what a full disk or a killed process left of a file would be found, and warned
    of, for ever. It looks neither at who wrote a file nor at how many there are.
    """

    def __init__(self, path: str) -> None:
        self._path = self.path = Path(path)
        self._wrote = False

    def get(self, key: str) -> bytes | None:
        """What was kept under a key."""
        return _kept_files.read(self.path / key, _HEADER)

    def put(self, key: str, value: bytes) -> None:
        """Keeps something under a key."""
        if not self._wrote:
            self._wrote = True
            _kept_files.make_room(self.path, MAX_BYTES)
        _kept_files.write(self.path / key, _HEADER, value)

    def clear(self) -> None:
        """Forgets nothing: that is for tests of JAX."""


def _replace_files(own: str) -> None:
    """Has JAX keep its files by ``_Files`` where they lie in the folder ``own``, and as ever in others that the user may name later."""
    try:
        from jax._src import compilation_cache

        given = compilation_cache.get_file_cache
    except (ImportError, AttributeError):  # another JAX: its own way of writing files, in a folder that was looked at
        return

    def get_file_cache(path: str) -> Any:
        return (_Files(path), path) if path == own else given(path)

    compilation_cache.get_file_cache = get_file_cache


def enable() -> None:
    """Turns JAX's persistent cache on, unless the user configured it or set ``JTORCH_CACHE=0``, or others could write in its folder."""
    folder = cache_folder()
    if folder is None or jax.config.jax_compilation_cache_dir is not None:
        return
    folder /= "jax"  # apart from the programs that the engine keeps by other names
    if not _kept_files.make_folder(folder):  # a read-only home, for example: run without
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    _replace_files(str(folder))
    # Small kernels are most of what eager programs compile; JAX keeps only slow ones by default.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
