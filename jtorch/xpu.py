"""Intel's GPUs, for which JAX has no backend here: the questions are answered, all else says that
there are none."""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from ._src.facts.devices import device as torch_device
from ._src.refusals import stand_ins as _refusals
from .core import Tensor

__path__: list[str] = []  # it has submodules in PyTorch, which are left out


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


def manual_seed(seed: int) -> None:
    """Nothing to do: there are none."""


manual_seed_all = manual_seed


def memory_reserved(device: device | str | int | None = None) -> int:
    """0."""
    return 0


def max_memory_allocated(device: device | str | int | None = None) -> int:
    """0."""
    return 0


def memory_stats(device: device | str | int | None = None) -> OrderedDict[str, Any]:
    """Empty."""
    return OrderedDict()


def get_rng_state_all() -> list[Tensor]:
    """Empty."""
    return []


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Sets the state of each device's generator: there are none."""
    for i, state in enumerate(new_states):
        __getattr__("set_rng_state")(state, i)


class device:
    """A block in which another device is the current one; for None or a negative index, without
    effect."""

    def __init__(self, device: Any) -> None:
        self.idx = (
            device
            if isinstance(device, int)
            else -1
            if device is None
            else torch_device(device).index or 0
        )

    def __enter__(self) -> None:
        if self.idx >= 0:
            __getattr__("set_device")(self.idx)

    def __exit__(self, *exc: object) -> None:
        pass


def empty_cache() -> None:
    """Nothing to do: there are none."""


def __getattr__(name: str) -> Any:
    if name in (
        "synchronize",
        "current_device",
        "set_device",
        "get_device_name",
        "get_device_properties",
        "memory_allocated",
        "mem_get_info",
        "get_device_capability",
        "reset_peak_memory_stats",
        "get_rng_state",
        "set_rng_state",
        "is_current_stream_capturing",
    ):

        def missing(*args: object, **kwargs: object) -> Any:
            raise RuntimeError("No XPU devices are available: JAX has no backend for them here")

        missing.__name__ = name
        return missing
    return _refusals.find(__name__, name)
