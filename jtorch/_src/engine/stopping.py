"""Derivatives of JAX's that end at ``no_grad``: in which function that JAX transforms the thread
has turned recording off.

What a function does under a ``no_grad`` of its own has no derivative, while one that was entered
outside of the transformation says nothing of what is inside, as in ``torch.func``. JAX has a trace
for each function that it transforms, so the trace tells the two apart.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import jax

try:
    from jax._src.core import get_opaque_trace_state, trace_state_clean
except ImportError:  # the public name, which takes longer to import
    from jax.extend.core import get_opaque_trace_state

    def trace_state_clean() -> bool:
        """Whether no transformation of JAX is running."""
        return False


class _Stopping(threading.local):
    """``within``: what JAX was tracing as recording was turned off; None where it is on, or JAX was
    tracing nothing."""

    within: Any = None


STOPPING = _Stopping()


def here() -> Any:
    """What JAX is tracing, to be compared; None if nothing."""
    return None if trace_state_clean() else get_opaque_trace_state()


def stopping() -> bool:
    """Whether derivatives end here: recording was turned off in the function that JAX is tracing
    now."""
    within = STOPPING.within
    return within is not None and within == get_opaque_trace_state()


@contextlib.contextmanager
def passing() -> Iterator[None]:
    """A block in which derivatives pass all the same: what tensors hold is computed there, by
    whomever it is asked for first."""
    before, STOPPING.within = STOPPING.within, None
    try:
        yield
    finally:
        STOPPING.within = before


def stopped(array: jax.Array) -> jax.Array:
    """A traced array through which no derivative passes if they end here."""
    return jax.lax.stop_gradient(array) if stopping() else array
