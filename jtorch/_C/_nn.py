"""What modules reach for in ``torch._C._nn``: how ``Module.to`` reads its arguments, and functions under their low-level names."""

from __future__ import annotations

from typing import Any

from ..nn import functional as _functional
from ..nn.modules._moving import _parse_to as _parse_to


def gelu_(input: Any, *, approximate: str = "none") -> Any:
    """``nn.functional.gelu`` in place."""
    return input.copy_(_functional.gelu(input, approximate=approximate))


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch._C._nn' has no attribute '{name}'")
    return getattr(_functional, name)
