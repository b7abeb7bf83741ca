"""The choice of algorithm for ``scaled_dot_product_attention``: JAX has one, and only
``__torch_dispatch__`` sees which was chosen."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator

from jtorch._src.facts.attention_kernels import ENABLED
from jtorch._src.facts.errors import not_offered

__all__ = [
    "SDPBackend", "sdpa_kernel", "WARN_FOR_UNFUSED_KERNELS", "register_flash_attention_impl",
    "activate_flash_attention_impl", "list_flash_attention_impls", "current_flash_attention_impl",
    "restore_flash_attention_impl",
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


#: Each by its switch, in the order in which PyTorch names them.
_SWITCHES = {
    SDPBackend.CUDNN_ATTENTION: "cudnn",
    SDPBackend.FLASH_ATTENTION: "flash",
    SDPBackend.EFFICIENT_ATTENTION: "mem_efficient",
    SDPBackend.MATH: "math",
    SDPBackend.OVERRIDEABLE: "overrideable",
}
_priority = [
    SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH,
    SDPBackend.CUDNN_ATTENTION, SDPBackend.OVERRIDEABLE,
]  # fmt: skip


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    """The backends that are enabled now."""
    return [b for b in (_priority if with_priority else _SWITCHES) if ENABLED[_SWITCHES[b]]]


@contextlib.contextmanager
def sdpa_kernel(
    backends: list[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[dict[str, object]]:
    """Enables only ``backends`` inside the ``with`` block.

    Differs from torch: all backends compute the same function, by the one implementation, which XLA
    compiles for the device. What changes is what is reported as enabled, and the operators that
    ``__torch_dispatch__`` sees: without ``FLASH_ATTENTION`` products and a softmax. A call that no
    enabled backend of PyTorch's would take is not refused.
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    global _priority
    before, order = dict(ENABLED), _priority
    chosen = list(dict.fromkeys([backends] if isinstance(backends, SDPBackend) else backends))
    ENABLED.update({switch: backend in chosen for backend, switch in _SWITCHES.items()})
    if set_priority:
        _priority = [*[b for b in chosen if b in _SWITCHES], *[b for b in order if b not in chosen]]
    try:
        yield {}
    finally:
        ENABLED.update(before)
        _priority = order


def list_flash_attention_impls() -> list[str]:
    """The other implementations of the flash kernel that can be activated: none, as XLA has one."""
    return []


def current_flash_attention_impl() -> str | None:
    """The implementation that was activated: none."""
    return None


# refused
def register_flash_attention_impl(impl: str, *, register_fn: object) -> None:  # noqa: ARG001
    """Not offered.

    Raises:
        NotImplementedError: always: XLA compiles attention.
    """
    raise not_offered(
        "torch.nn.attention.register_flash_attention_impl",
        "XLA compiles attention, whose kernels cannot be replaced",
    )


def activate_flash_attention_impl(impl: str) -> None:
    """Activates another implementation of the flash kernel.

    Raises:
        ValueError: always, as there is none.
    """
    raise ValueError(
        f"Unknown flash attention impl '{impl}'. Available implementations: "
        f"{list_flash_attention_impls()}"
    )


def restore_flash_attention_impl(_raise_warn: bool = True) -> None:
    """Nothing to do: no other implementation was activated."""
