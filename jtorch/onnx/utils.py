"""Functions of ``torch.onnx.utils``: importable, and refused when called."""

from __future__ import annotations

from typing import Any

from . import _refused


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.onnx.utils' has no attribute '{name}'")

    def refused(*args: Any, **kwargs: Any) -> Any:
        raise _refused(f"utils.{name}")

    return refused
