"""The accelerator, whichever JAX found."""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from jtorch._src.refusals import stand_ins as _refusals

from ._src import engine as _engine
from ._src import hooks as _hooks
from ._src.borders.interop import synchronize as wait
from ._src.facts import devices as _devices
from ._src.facts.dtypes import BY_NAME, dtype

#: Modules below this one: ``accelerator.memory``, which has the same names.
__path__: list[str] = []
from ._src.facts.errors import not_offered


def is_available() -> bool:
    """Whether JAX found another device than the CPU."""
    return device_count() > 0


def device_count() -> int:
    """How many of its type there are."""
    kind = _devices.accelerator_type()
    return 0 if kind is None else len(_devices.jax_devices(kind))


def current_accelerator(check_available: bool = False) -> _devices.device | None:
    """Its device, without index; None if there is none."""
    kind = _devices.accelerator_type()
    return None if kind is None else _devices.device(kind)


def _kind() -> str:
    kind = _devices.accelerator_type()
    if kind is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return kind


def current_device_index() -> int:
    """The index that its type without one means."""
    return _devices.current_index(_kind())


def set_device_index(device: _devices.device | str | int | None, /) -> None:
    """Sets that index."""
    index = device if isinstance(device, int) else _devices.as_device(device).index or 0
    _devices.set_current_index(_kind(), index)


current_device_idx, set_device_idx = current_device_index, set_device_index


class device_index:
    """A block in which another index is the current one."""

    def __init__(self, device: int | None, /) -> None:
        self.index, self.before = device, 0

    def __enter__(self) -> None:
        if self.index is not None:
            self.before = current_device_index()
            set_device_index(self.index)

    def __exit__(self, *exc: object) -> None:
        if self.index is not None:
            set_device_index(self.before)


def synchronize(device: _devices.device | str | int | None = None, /) -> None:
    """Runs what is pending and waits for it."""
    _kind()
    wait()


def _stats(device: Any, name: str) -> int:
    kind = _kind()
    place = kind if device is None else device
    found = (
        _devices.placement(
            _devices.device(kind, place) if isinstance(place, int) else place
        ).memory_stats()
        or {}
    )
    return found.get(name, 0)


def memory_allocated(device: object = None, /) -> int:
    """Bytes in use."""
    return _stats(device, "bytes_in_use")


def max_memory_allocated(device: object = None, /) -> int:
    """The most bytes that were in use."""
    return _stats(device, "peak_bytes_in_use")


def memory_reserved(device: object = None, /) -> int:
    """Bytes that the allocator holds."""
    return _stats(device, "pool_bytes")


def get_memory_info(device: object = None, /) -> tuple[int, int]:
    """Bytes free, and all there are."""
    limit = _stats(device, "bytes_limit")
    return limit - _stats(device, "bytes_in_use"), limit


def max_memory_reserved(device: object = None, /) -> int:
    """The most bytes that the allocator held."""
    return _stats(device, "peak_pool_bytes")


def memory_stats(device: object = None, /) -> OrderedDict[str, Any]:
    """What XLA counts of the device's memory, with PyTorch's names of the numbers that it counts
    too."""
    names = {
        "allocated_bytes.all.current": "bytes_in_use",
        "allocated_bytes.all.peak": "peak_bytes_in_use",
        "reserved_bytes.all.current": "pool_bytes",
        "reserved_bytes.all.peak": "peak_pool_bytes",
    }
    return OrderedDict((name, _stats(device, counted)) for name, counted in names.items())


def reset_peak_memory_stats(device: object = None, /) -> None:
    """Not offered: XLA counts from the start of the process."""
    _kind()
    raise not_offered(
        "torch.accelerator.reset_peak_memory_stats",
        "XLA keeps its peak figures from the start of the process",
    )


def reset_accumulated_memory_stats(device: object = None, /) -> None:
    """Nothing to do: no figure accumulates."""
    _kind()


def get_device_capability(
    device: _devices.device | str | int | None = None, /
) -> dict[str, set[dtype]]:
    """``{"supported_dtypes": ...}``: the dtypes of tensors on it."""
    _kind()
    return {"supported_dtypes": set(BY_NAME.values())}


def current_stream(device: _devices.device | str | int | None = None, /) -> Any:
    """The only order in which it works."""
    kind = _kind()
    return _hooks.stream_class(
        kind
        if device is None
        else _devices.device(kind, device)
        if isinstance(device, int)
        else device
    )


def set_stream(stream: object) -> None:
    """Nothing to do: there is one stream."""
    _kind()


def empty_cache() -> None:
    """Runs what is pending; XLA keeps its pool."""
    _kind()
    _engine.flush()


empty_host_cache = empty_cache


class Graph:
    """Not offered: XLA makes graphs of its programs by itself."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise not_offered("torch.accelerator.Graph", "XLA makes graphs of its programs by itself")


__getattr__ = _refusals.missing(__name__)
