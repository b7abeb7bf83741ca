"""Names of ``torch.profiler``: operators timed one by one, in the steps that a schedule names."""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Iterable
from typing import Any

from . import cuda as _cuda
from ._src.facts.errors import not_offered
from ._src.refusals import stand_ins as _refusals
from .autograd.device_types import DeviceType as DeviceType
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
    """True: ``profile`` measures steps by a schedule, and writes traces; it does so without
    PyTorch's library, Kineto."""
    return True


def _default_schedule_fn(_: int) -> ProfilerAction:
    """Records every step."""
    return ProfilerAction.RECORD


def supported_activities() -> set[ProfilerActivity]:
    """CPU, and CUDA where it is available."""
    return {ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if _cuda.is_available() else [])}


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """What to do in which step: ``wait``, ``warmup`` and ``active`` steps in turn, ``repeat`` times
    (0: forever)."""

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
    """A block whose operators run one by one, each timed, in the steps that ``schedule`` names
    (otherwise in all).

    See ``torch.autograd.profiler.profile`` for what is measured.

    Args:
        activities: what to look at; everything that there is is, whatever it says.
        schedule: which action each step takes, by its number; see ``schedule``. The program says by
            ``step()`` where steps end.
        on_trace_ready: called with the profiler where a recording ends.
        record_shapes, profile_memory, with_stack, with_flops, programs: as for
            ``torch.autograd.profiler.profile``.
        with_modules: without effect; PyTorch's notes modules of TorchScript only.
        acc_events: whether the events of all recordings are kept, instead of those of the last.
        experimental_config, use_cuda, custom_trace_id_callback: without effect; they choose how
            PyTorch's library measures.

    Raises:
        NotImplementedError: for an ``execution_trace_observer``.

    Example:
        >>> import jtorch as torch
        >>> with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as prof:
        ...     with torch.profiler.record_function("double"):
        ...         y = torch.ones(3) * 2
        >>> [(event.key, event.count) for event in prof.key_averages()]
        [('double', 1), ('aten::ones', 1), ('aten::mul', 1)]
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity | dict[ProfilerActivity, list[str]]] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Any = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: object = None,
        execution_trace_observer: object = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        programs: bool = False,
    ) -> None:
        super().__init__(
            True,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            programs=programs,
        )
        if execution_trace_observer is not None:
            raise not_offered(
                "profile(execution_trace_observer=...)",
                "nothing here writes PyTorch's execution traces",
            )
        self.activities = set(activities) if activities else supported_activities()
        self.schedule, self.on_trace_ready = schedule or _default_schedule_fn, on_trace_ready
        self._scheduled = schedule is not None
        self.with_modules, self.acc_events = with_modules, acc_events
        self._metadata = {}
        self.step_num = 0
        self.current_action = self.schedule(0)
        self._step = None

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begins."""
        self.current_action = self.schedule(self.step_num)
        self._arrange()

    def stop(self) -> None:
        """Ends."""
        self._end_step()
        if self._recorder is not None:
            self._finish()
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)

    @property
    def profiler(self) -> profile:
        """What measures: this object."""
        return self

    def _finish(self) -> None:
        before = self._events
        super()._finish()
        if self.acc_events and before is not None and self._events is not before:
            self._events = before.followed_by(self._measured())

    def step(self) -> None:
        """Says that the next step begins."""
        self._end_step()
        saved = self.current_action is ProfilerAction.RECORD_AND_SAVE
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        if saved:
            self._finish()
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
        self._arrange()

    def _arrange(self) -> None:
        if self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            if self._recorder is None:
                self._record()
            if self._scheduled:
                self._step = record_function(f"ProfilerStep#{self.step_num}")
                self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def add_metadata(self, key: str, value: str) -> None:
        """Adds a text to the trace."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Adds what a JSON text says to the trace."""
        self._metadata[key] = json.loads(value)

    def preset_metadata_json(self, key: str, value: str) -> None:
        """As ``add_metadata_json``, also before the recording begins."""
        self.add_metadata_json(key, value)

    def export_chrome_trace(self, path: str) -> None:
        """Writes the events as a file for Perfetto (ui.perfetto.dev) and ``chrome://tracing``;
        compressed if it is named ``.gz``."""
        self._measured().export_chrome_trace(path, self._metadata)

    def events(self) -> Any:
        """The events of the last recording."""
        return self._measured()


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[Any], None]:
    """What writes each recording as a file of the folder, for ``on_trace_ready``.

    Args:
        dir_name: the folder, which is made if it is not there.
        worker_name: how the files' names begin; the host and the process if it is not given.
        use_gzip: whether the files are compressed.
    """
    import os
    import socket
    import time

    def handler(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        prof.export_chrome_trace(
            os.path.join(dir_name, f"{worker}.{time.time_ns()}.pt.trace.json" + ".gz" * use_gzip)
        )

    return handler


__getattr__ = _refusals.missing(__name__)
