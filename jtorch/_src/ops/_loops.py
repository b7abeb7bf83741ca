"""JAX's loops, which stay loops where kernels are traced with ``jax.numpy`` as plain Python (``engine/tracing.py``): JAX would take their
rounds one by one there. What they carry differs between devices where what they look at does (``_mapped.py``)."""

from __future__ import annotations

from typing import Any

import jax
from jax import lax

from ._mapped import varying_alike


def scan(f: Any, init: Any, xs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """``jax.lax.scan``."""
    with jax.disable_jit(False):
        return lax.scan(f, varying_alike(init, xs), xs, *args, **kwargs)


def fori_loop(lower: Any, upper: Any, body_fun: Any, init_val: Any, **kwargs: Any) -> Any:
    """``jax.lax.fori_loop``."""
    with jax.disable_jit(False):
        return lax.fori_loop(lower, upper, body_fun, varying_alike(init_val, ()), **kwargs)


def while_loop(cond_fun: Any, body_fun: Any, init_val: Any) -> Any:
    """``jax.lax.while_loop``."""
    with jax.disable_jit(False):
        return lax.while_loop(cond_fun, body_fun, varying_alike(init_val, ()))


def over_rows(*args: Any, **kwargs: Any) -> Any:
    """``jax.lax.map``."""
    with jax.disable_jit(False):
        return lax.map(*args, **kwargs)
