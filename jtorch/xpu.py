"""Intel's GPUs, for which JAX has no backend here: the questions are answered, all else says that there are none."""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

from typing import Any


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
    ):

        def missing(*args: Any, **kwargs: Any) -> Any:
            raise RuntimeError("No XPU devices are available: JAX has no backend for them here")

        missing.__name__ = name
        return missing
    raise AttributeError(f"module 'torch.xpu' has no attribute '{name}'")
