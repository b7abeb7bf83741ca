"""The persistent compilation cache: the second run of a script starts warm."""

from __future__ import annotations

import os
from pathlib import Path

import jax


def cache_folder() -> Path:
    """Where compiled programs are kept: ``JTORCH_CACHE_DIR``, or a folder in the user's cache."""
    own = os.environ.get("JTORCH_CACHE_DIR")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "jtorch" / "xla"


def enable() -> None:
    """Turns JAX's persistent cache on, unless the user configured it or set ``JTORCH_CACHE=0``."""
    if os.environ.get("JTORCH_CACHE", "1") == "0" or jax.config.jax_compilation_cache_dir is not None:
        return
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a read-only home: run without
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    # Small kernels are most of what eager programs compile; JAX keeps only slow ones by default.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
