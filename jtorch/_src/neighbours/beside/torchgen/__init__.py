"""``torchgen``, the generator of PyTorch's C++ code: it can be imported, and what is asked of it
says that it is not there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jtorch._src.refusals.stand_ins import make as _make


def _refusing(module: str) -> Callable[[str], object]:
    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return _make(f"{module}.{name}", "it generates PyTorch's C++ code, which is not there")

    return __getattr__
