"""``torch.Stream`` and ``torch.Event``: the one order in which each device works, and moments in
it."""

from __future__ import annotations

from typing import Any

from ...cuda.streams import Event as _Moment
from ...cuda.streams import _wait
from ..facts import devices as _devices
from ..facts.errors import not_offered

#: The kinds of devices that are here, with PyTorch's numbers for them.
_TYPES = {"cpu": 0, "cuda": 1, "xla": 9, "meta": 14}


def _device_of(device: object) -> _devices.device:
    if device is None:
        return _devices.device(_devices.accelerator_type() or "cpu")
    found = _devices.as_device(device)
    _devices.placement(found)  # raises where there is no such device
    return found


class Stream:
    """The order in which a device works. There is one to the eye of a program: XLA orders its work
    itself.

    Args:
        device: that whose work is meant; the accelerator's otherwise, or the CPU's.
        stream_id, device_index, device_type: all three, without ``device``: the parts of a stream
            that a program has been told of, which it shows again. Streams are distinguished by
            them, work is not.

    Raises:
        TypeError: for only some of the three.
        NotImplementedError: for a ``device_type`` whose kind of device is not here.
    """

    def __init__(
        self,
        device: Any = None,
        *,
        priority: int = 0,
        stream_id: int | None = None,
        device_index: int | None = None,
        device_type: int | None = None,
    ) -> None:
        if stream_id is None and device_index is None and device_type is None:
            self.device = _device_of(device)
        elif device is not None or stream_id is None or device_index is None or device_type is None:
            raise TypeError(
                "Stream() takes stream_id, device_index and device_type together, and without "
                "device"
            )
        elif device_type not in _TYPES.values():
            raise not_offered(f"Stream(device_type={device_type})", "there is no such device here")
        else:
            kind = next(k for k, number in _TYPES.items() if number == device_type)
            self.device = _devices.device(kind, device_index)
        self.priority = priority
        self.stream_id = stream_id or 0

    @property
    def device_type(self) -> int:
        """PyTorch's number for the device's kind."""
        return _TYPES[self.device.type]

    @property
    def device_index(self) -> int:
        """The device's index, -1 if it has none."""
        return -1 if self.device.index is None else self.device.index

    def query(self) -> bool:
        """True, after what is pending was run."""
        _wait()
        return True

    def synchronize(self) -> None:
        """Runs what is pending and waits for it."""
        _wait()

    def wait_event(self, event: object) -> None:
        """Nothing to do: all work is in one order."""

    def wait_stream(self, stream: object) -> None:
        """Nothing to do: all work is in one order."""

    def record_event(self, event: Any = None) -> Event:
        """An event recorded now."""
        found = Event(self.device) if event is None else event
        found.record(self)
        return found

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Stream)
            and other.device == self.device
            and other.stream_id == self.stream_id
        )

    def __hash__(self) -> int:
        return hash((self.device.type, self.device_index, self.stream_id))

    def __repr__(self) -> str:
        return (
            f"torch.Stream device_type={self.device.type}, device_index={self.device_index}, "
            f"stream_id={self.stream_id}"
        )


class Event(_Moment):
    """A moment in a device's work."""

    def __init__(
        self,
        device: Any = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> None:
        super().__init__(enable_timing, blocking, interprocess)
        self.device = _device_of(device)
        self.event_id = 0

    def __repr__(self) -> str:
        index = -1 if self.device.index is None else self.device.index
        return (
            f"torch.Event device_type={self.device.type}, device_index={index}, "
            f"event_flag={int(self._time is not None)}, event_id=0"
        )


Stream.__module__ = Event.__module__ = "torch"
