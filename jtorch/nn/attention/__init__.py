"""The choice of algorithm for ``scaled_dot_product_attention``: accepted and remembered, without effect on JAX."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator
from typing import Any

from jtorch._src.facts.errors import not_offered

__all__ = [
    "SDPBackend", "sdpa_kernel", "WARN_FOR_UNFUSED_KERNELS", "register_flash_attention_impl", "activate_flash_attention_impl",
    "list_flash_attention_impls", "current_flash_attention_impl", "restore_flash_attention_impl",
]  # fmt: skip

#: Whether torch explains why it does not use a fused kernel; XLA alone decides here.
WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(enum.IntEnum):
    """The algorithms that PyTorch knows for attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __repr__(self) -> str:
        return f"<SDPBackend.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"SDPBackend.{self.name}"


_enabled: list[SDPBackend] = [
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
    SDPBackend.OVERRIDEABLE,
]


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:  # noqa: ARG001 (in order in any case)
    """The backends that are enabled now."""
    return list(_enabled)


@contextlib.contextmanager
def sdpa_kernel(
    backends: list[SDPBackend] | SDPBackend,
    set_priority: bool = False,  # noqa: ARG001 (one implementation)
) -> Iterator[dict[str, object]]:
    """Enables only ``backends`` inside the ``with`` block.

    Differs from torch: it changes what is reported as enabled and nothing else, as there is one implementation of attention, which XLA
    compiles for the device. All backends compute the same function.
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {type(backends).__name__}")
    global _enabled
    before = _enabled
    _enabled = list(dict.fromkeys([backends] if isinstance(backends, SDPBackend) else backends))
    try:
        yield {}
    finally:
        _enabled = before


def list_flash_attention_impls() -> list[str]:
    """The other implementations of the flash kernel that can be activated: none, as XLA has one."""
    return []


def current_flash_attention_impl() -> str | None:
    """The implementation that was activated: none."""
    return None


def register_flash_attention_impl(impl: str, *, register_fn: Any) -> None:  # noqa: ARG001 (refused)
    """Not offered.

    Raises:
        NotImplementedError: always: XLA compiles attention.
    """
    raise not_offered("torch.nn.attention.register_flash_attention_impl", "XLA compiles attention, whose kernels cannot be replaced")


def activate_flash_attention_impl(impl: str) -> None:
    """Activates another implementation of the flash kernel.

    Raises:
        ValueError: always, as there is none.
    """
    raise ValueError(f"Unknown flash attention impl '{impl}'. Available implementations: {list_flash_attention_impls()}")


def restore_flash_attention_impl(_raise_warn: bool = True) -> None:
    """Nothing to do: no other implementation was activated."""
