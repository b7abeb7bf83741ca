"""Streams and events. XLA orders its work itself, in one stream to the eye of a program."""

from __future__ import annotations

import time
from typing import Any

from .._src.borders.interop import synchronize
from .._src.facts import devices as _devices
from .._src.refusals import stand_ins as _refusals


def need() -> None:
    """Raises where JAX found no GPU, as PyTorch does where it was built for none."""
    if not _devices.jax_devices("cuda"):
        raise AssertionError("Torch not compiled with CUDA enabled")


def _wait() -> None:
    synchronize()


class Stream:
    """The only order in which work is done on a device."""

    def __init__(self, device: Any = None, priority: int = 0, **kwargs: object) -> None:
        need()
        self.device = (
            _devices.device("cuda", _devices.current_index("cuda"))
            if device is None
            else _devices.as_device(device)
        )
        self.priority = priority

    def synchronize(self) -> None:
        """Runs what is pending and waits for it."""
        _wait()

    def query(self) -> bool:
        """True, after what is pending was run."""
        _wait()
        return True

    def wait_stream(self, stream: Stream) -> None:
        """Nothing to do: all work is in one order."""

    def wait_event(self, event: Event) -> None:
        """Nothing to do: all work is in one order."""

    def record_event(self, event: Event | None = None) -> Event:
        """An event recorded now."""
        found = Event() if event is None else event
        found.record()
        return found

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        pass


class Event:
    """A moment: ``record`` waits for the device and reads the clock, so that ``elapsed_time`` is
    right."""

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        self.enable_timing = enable_timing
        self._time: float | None = None

    def record(self, stream: Any = None) -> None:
        """Marks the moment."""
        if self.enable_timing:
            _wait()
        self._time = time.perf_counter()

    def synchronize(self) -> None:
        """Runs what is pending and waits for it."""
        _wait()

    def wait(self, stream: Stream | None = None) -> None:
        """Nothing to do: all work is in one order."""

    def query(self) -> bool:
        """True."""
        return True

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another.

        Raises:
            ValueError: if one was not recorded, or measures no time.
        """
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._time is None or end_event._time is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event._time - self._time) * 1e3


__getattr__ = _refusals.missing(__name__)
