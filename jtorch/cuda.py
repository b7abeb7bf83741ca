"""``torch.cuda`` on what JAX offers: devices, synchronisation and memory figures of GPUs, where there are any."""

from __future__ import annotations

from typing import Any

from . import devices as _devices
from . import engine as _engine


def is_available() -> bool:
    """Whether JAX found a GPU."""
    return device_count() > 0


def device_count() -> int:
    """The number of GPUs that JAX found."""
    return len(_devices.jax_devices("cuda"))


def is_initialized() -> bool:
    """Whether there is a GPU: JAX starts with it."""
    return is_available()


def init() -> None:
    """Nothing to do: JAX starts by itself."""


def current_device() -> int:
    """The index of the GPU that ``cuda`` without index means."""
    _need()
    return _devices.current_index("cuda")


def set_device(device: Any) -> None:
    """Sets the GPU that ``cuda`` without index means."""
    index = device if isinstance(device, int) else _devices.as_device(device).index
    _devices.set_current_index("cuda", index or 0)


def _need() -> None:
    if not is_available():
        raise RuntimeError("No CUDA GPUs are available: JAX found none")


def _device(device: Any = None) -> Any:
    _need()
    if device is None:
        return _devices.placement("cuda")
    return _devices.placement(_devices.device("cuda", device) if isinstance(device, int) else device)


def synchronize(device: Any = None) -> None:
    """Runs what is pending and waits for the GPU."""
    _need()
    from . import interop

    interop.synchronize()


def get_device_name(device: Any = None) -> str:
    """The GPU's name."""
    return _device(device).device_kind


def _stats(device: Any = None) -> dict[str, int]:
    return _device(device).memory_stats() or {} if is_available() else {}


def memory_allocated(device: Any = None) -> int:
    """Bytes in use on the GPU; 0 without one."""
    return _stats(device).get("bytes_in_use", 0)


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that were in use on the GPU; 0 without one."""
    return _stats(device).get("peak_bytes_in_use", 0)


def memory_reserved(device: Any = None) -> int:
    """Bytes that the allocator holds on the GPU; 0 without one."""
    return _stats(device).get("pool_bytes", memory_allocated(device))


def empty_cache() -> None:
    """Runs what is pending; XLA keeps its pool."""
    _engine.flush()


def manual_seed(seed: int) -> None:
    """Seeds the generator; one generator serves all devices here."""
    from .random import manual_seed as seed_all

    if is_available():
        seed_all(seed)


manual_seed_all = manual_seed
