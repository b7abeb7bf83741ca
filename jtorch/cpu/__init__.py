"""The host as a device: one, always there."""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from .._src.facts.devices import device as _device
from . import _capabilities


class Stream:
    """The host's only stream."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Any) -> None:
        """Nothing to do: there is one stream."""

    def record_event(self) -> None:
        """Nothing to do."""

    def wait_event(self, event: Any) -> None:
        """Nothing to do."""


class Event:
    """A moment that has always passed."""

    def query(self) -> bool:
        """True."""
        return True

    def record(self, stream: Any = None) -> None:
        """Nothing to do."""

    def synchronize(self) -> None:
        """Runs what is pending."""
        synchronize()

    def wait(self, stream: Any = None) -> None:
        """Nothing to do."""


StreamContext = contextlib.nullcontext
_stream = Stream()


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1."""
    return 1


def current_device() -> str:
    """``"cpu"``."""
    return "cpu"


def set_device(device: _device | str | int | None) -> None:
    """Nothing to do: there is one."""


def current_stream(device: _device | str | int | None = None) -> Stream:
    """The only stream."""
    return _stream


def stream(stream: Stream) -> Any:
    """A block without effect: there is one stream."""
    return contextlib.nullcontext()


def synchronize(device: _device | str | int | None = None) -> None:
    """Runs what is pending in this thread and waits for it, as ``jtorch.synchronize`` does."""
    from .._src.borders.interop import synchronize as wait

    wait()


def get_capabilities() -> Mapping[str, Any]:
    """What the processor can do, where the operating system tells (Linux): instruction sets by
    PyTorch's names (``avx2``, ``avx512_bf16``, on other processors ``neon`` and the like), its
    ``architecture`` and ``cpu_name``, its numbers of cores, and the sizes of its caches in bytes.

    Example:
        >>> import jtorch as torch
        >>> isinstance(torch.cpu.get_capabilities()["architecture"], str)
        True
    """
    return _capabilities.capabilities()


def _is_avx2_supported() -> bool:
    """Whether the processor has AVX2, where the operating system tells."""
    return _has("avx2")


def _is_avx512_supported() -> bool:
    """Whether the processor has AVX-512, where the operating system tells."""
    return _has("avx512f")


def _is_vnni_supported() -> bool:
    """Whether the processor has AVX-512's products of bytes, where the operating system tells."""
    return _has("avx512_vnni")


def _is_avx512_bf16_supported() -> bool:
    """Whether the processor has AVX-512's products of bfloat16, where the operating system
    tells."""
    return _has("avx512_bf16")


def _is_amx_tile_supported() -> bool:
    """Whether the processor has tiles, where the operating system tells."""
    return _has("amx_tile")


def _is_amx_fp16_supported() -> bool:
    """Whether the processor has tiles of float16, where the operating system tells."""
    return _has("amx_fp16")


def _init_amx() -> bool:
    """Whether the processor has tiles, where the operating system tells. They are not asked for
    here; XLA takes what it can use."""
    return _is_amx_tile_supported()


def _has(flag: str) -> bool:
    return flag in _capabilities.flags()


def __getattr__(name: str) -> Any:
    if name == "amp":  # most programs need it not
        import importlib

        return importlib.import_module(f"{__name__}.amp")
    raise AttributeError(f"module 'torch.cpu' has no attribute '{name}'")
