"""Where compiled programs are kept."""

from __future__ import annotations

import os

import jax


def cache_dir() -> str:
    """The folder of JAX's cache of compiled programs."""
    found = jax.config.jax_compilation_cache_dir
    return str(found) if found else os.path.join(os.path.expanduser("~"), ".cache")
