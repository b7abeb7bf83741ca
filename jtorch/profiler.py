"""Names of ``torch.profiler``: labels go to JAX's profiler, blocks of ``profile`` write JAX's traces where a folder is asked for."""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from . import _refusals
from .autograd.profiler import profile as _timed
from .autograd.profiler import record_function as record_function

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity(enum.Enum):
    """What to look at."""

    CPU, XPU, MTIA, CUDA, HPU, PrivateUse1 = range(6)


class ProfilerAction(enum.Enum):
    """What to do in a step."""

    NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)


#: Modules below this one: ``profiler.profiler``.
__path__: list[str] = []


def kineto_available() -> bool:
    """False: PyTorch's profiler of operators is not there."""
    return False


def _default_schedule_fn(_: int) -> ProfilerAction:
    """Records every step."""
    return ProfilerAction.RECORD


def supported_activities() -> set[ProfilerActivity]:
    """CPU and CUDA."""
    return {ProfilerActivity.CPU, ProfilerActivity.CUDA}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """What to do in which step: ``wait``, ``warmup`` and ``active`` steps in turn, ``repeat`` times (0: forever)."""

    def action(step: int) -> ProfilerAction:
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        period = wait + warmup + active
        if repeat > 0 and step // period >= repeat:
            return ProfilerAction.NONE
        place = step % period
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < period - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


class profile(_timed):
    """A block whose wall time is measured; ``on_trace_ready`` is called at its end, and where its ``schedule`` says so."""

    def __init__(self, *, activities: Any = None, schedule: Any = None, on_trace_ready: Any = None, **options: Any) -> None:
        super().__init__(True, activities=activities, **options)
        self.schedule, self.on_trace_ready = schedule, on_trace_ready
        self.step_num = 0

    def start(self) -> None:
        """Begins."""
        self.__enter__()

    def stop(self) -> None:
        """Ends."""
        self.__exit__(None, None, None)

    def step(self) -> None:
        """Says that the next step begins."""
        if self.schedule is not None and self.on_trace_ready is not None and self.schedule(self.step_num) is ProfilerAction.RECORD_AND_SAVE:
            self.on_trace_ready(self)
        self.step_num += 1

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        if self.schedule is None and self.on_trace_ready is not None:
            self.on_trace_ready(self)


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Callable[[Any], None]:
    """Not offered: use ``jax.profiler.trace(dir_name)``, which TensorBoard reads."""
    from .errors import not_offered

    raise not_offered("torch.profiler.tensorboard_trace_handler", "operations are fused; jax.profiler.trace writes what TensorBoard reads")


__getattr__ = _refusals.missing(__name__)
