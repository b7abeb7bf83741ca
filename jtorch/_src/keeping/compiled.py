"""JAX's persistent compilation cache: what it keeps makes the second run of a script start warm."""

from __future__ import annotations

import importlib.util
from typing import Any

import jax

from . import files as _kept_files
from . import folders as _cache_folders

_HEADER = b"jtorch jax 1\n"


class _Files:
    """JAX's cache of files, for a folder of this package's own.

    JAX's own writes files in place and never replaces one: what a full disk or a killed process
    left of a file would be found, and warned of, for ever. It looks neither at who wrote a file nor
    at how many there are.
    """

    def __init__(self, store: _kept_files.Store) -> None:
        self._store = store
        self._path = self.path = store.folder

    def get(self, key: str) -> bytes | None:
        """What was kept under a key."""
        return self._store.read(key)

    def put(self, key: str, value: bytes) -> None:
        """Keeps something under a key."""
        self._store.write(key, value)

    def clear(self) -> None:
        """Forgets nothing: that is for tests of JAX."""


def _replace_files(store: _kept_files.Store) -> bool:
    """Has JAX keep its files by ``_Files`` where they lie in a folder of ours, and as ever in
    others that the user may name later."""
    try:
        from jax._src import compilation_cache

        given = compilation_cache.get_file_cache
    except (ImportError, AttributeError):
        return False

    def get_file_cache(path: str) -> Any:
        return (_Files(store), path) if path == str(store.folder) else given(path)

    compilation_cache.get_file_cache = get_file_cache
    return True


def enable() -> None:
    """Turns JAX's persistent cache on, unless the user configured it or set ``JTORCH_CACHE=0``, or
    others could write in its folder."""
    store = _cache_folders.store("jax", _HEADER)
    if store is None or jax.config.jax_compilation_cache_dir is not None:
        return
    if not _kept_files.make_folder(store.folder):  # a read-only home, for example: run without
        return
    # another JAX: its own way of writing files, which it can keep few of if it has what it needs
    # for that
    if not _replace_files(store):
        if importlib.util.find_spec("filelock") is None:
            return
        jax.config.update("jax_compilation_cache_max_size", store.most)
    jax.config.update("jax_compilation_cache_dir", str(store.folder))
    # Small kernels are most of what eager programs compile; JAX keeps only slow ones by default.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
