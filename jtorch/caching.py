"""The persistent compilation cache: the second run of a script starts warm."""

from __future__ import annotations

import jax

from ._code_cache import folder as cache_folder


def enable() -> None:
    """Turns JAX's persistent cache on, unless the user configured it or set ``JTORCH_CACHE=0``."""
    folder = cache_folder()
    if folder is None or jax.config.jax_compilation_cache_dir is not None:
        return
    folder /= "jax"  # apart from the programs that the engine keeps by other names
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # a read-only home: run without
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    # Small kernels are most of what eager programs compile; JAX keeps only slow ones by default.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
