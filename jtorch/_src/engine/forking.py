"""What forked processes can do. Floor 1.

A fork has none of the threads of XLA's client, and compiling or running waits for them forever. The
forks of a process that has run nothing yet get a client each. The forks of others run what NumPy
can run, and refuse the rest: once it has compiled, XLA has threads that it never starts anew, and
ends a process that it finds without.
"""

from __future__ import annotations

import contextlib
import gc
import os
from typing import TYPE_CHECKING, NoReturn

import jax
import numpy as np

from ..facts import devices
from . import ahead, calls, room, values
from .homes import THREADS
from .record import flush
from .values import META, Value

if TYPE_CHECKING:
    from ..facts.kinds import Values


#: Clients that forks got from their parents. Never freed: that waits for their threads.
_kept: Values = []
_compiled = False


def _heard(event: str, duration_secs: float, **_: object) -> None:  # noqa: ARG001
    global _compiled
    if event == "/jax/core/compile/backend_compile_duration":
        _compiled = True


def _before() -> None:
    """What is pending runs, so that the fork can read it; if that fails, whoever reads is told."""
    with contextlib.suppress(Exception):
        flush()
    ahead.pause()


def _in_child() -> None:
    THREADS.forked()  # locks that other threads held are held for good
    # Loading a kept program hangs in the fork of a fork, whose parent has made a client, too.
    if (
        room._made
        or _compiled
        or _kept
        or values.EARLY
        or values.alone is refuse
        or jax.default_backend() != "cpu"
    ):
        _refuse_all()
        return
    try:
        _begin_again()
    except Exception:  # the error that says what cannot be done is clearer than this one
        _refuse_all()


def _refuse_all() -> None:
    """Leaves what NumPy can run."""
    values.alone = refuse
    if values.tier == "auto":
        values.tier = "host"
    for call in list(calls.CALLS):
        for avals, shapes in call.shapes.items():
            if shapes.on_host and values.tier == "xla":
                shapes.quick, shapes.on_host = None, False
            if not shapes.on_host:
                calls.begin(call, avals, shapes)


def cannot_run() -> bool:
    """Whether this process cannot compile anything, nor run what is compiled, for those who can do
    without."""
    return values.alone is refuse


def refuse(*_args: object) -> NoReturn:
    """Raises the error for running something."""
    raise RuntimeError(
        "Cannot run compiled operations in a forked process, because the parent had run some "
        "before the fork: the threads that compile and run them exist only there. Tensors made "
        "before the fork can be read, and what NumPy can compute (docs/host-tier.md) works. To "
        "compute everything in other processes, start them with the 'spawn' or 'forkserver' method "
        "of multiprocessing, or fork before the first operation."
    )


def _begin_again() -> None:
    """Makes a client for this process, and brings to it what there is."""
    from jax.extend.backend import clear_backends

    _kept.append(jax.devices())
    held = [v for v in gc.get_objects() if isinstance(v, Value) and isinstance(v.array, jax.Array)]
    arrays = [(v, np.asarray(v.array), v.array.committed) for v in held]
    clear_backends()
    values._default.clear()
    values._jax_default.clear()
    devices.jax_devices.cache_clear()
    device = {d.id: d for d in jax.devices()}
    for aval in values._avals.values():
        if aval.device != META:
            aval.device = device[aval.device.id]
    moved = {(a.shape, a.dtype, a.device): a for a in values._avals.values()}
    values._avals.clear()
    values._avals.update(moved)
    for v, array, committed in arrays:
        _kept.append(v.array)
        v.array = jax.device_put(array, v.aval.device if committed else None)


def watch() -> None:
    """Has the process's forks looked after."""
    if hasattr(os, "register_at_fork"):
        jax.monitoring.register_event_duration_secs_listener(_heard)
        os.register_at_fork(before=_before, after_in_child=_in_child, after_in_parent=ahead.resume)
