"""JAX's loops, which stay loops where kernels are traced with ``jax.numpy`` as plain Python (``engine/tracing.py``): JAX would take their
rounds one by one there."""

from __future__ import annotations

from typing import Any

import jax
from jax import lax


def scan(*args: Any, **kwargs: Any) -> Any:
    """``jax.lax.scan``."""
    with jax.disable_jit(False):
        return lax.scan(*args, **kwargs)


def fori_loop(*args: Any, **kwargs: Any) -> Any:
    """``jax.lax.fori_loop``."""
    with jax.disable_jit(False):
        return lax.fori_loop(*args, **kwargs)


def while_loop(*args: Any, **kwargs: Any) -> Any:
    """``jax.lax.while_loop``."""
    with jax.disable_jit(False):
        return lax.while_loop(*args, **kwargs)


def over_rows(*args: Any, **kwargs: Any) -> Any:
    """``jax.lax.map``."""
    with jax.disable_jit(False):
        return lax.map(*args, **kwargs)
