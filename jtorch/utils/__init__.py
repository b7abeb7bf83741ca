"""Data loading, checkpointing, trees and hooks."""

from __future__ import annotations

import importlib
from typing import Any

#: Loaded when first touched: most programs need one of them.
_SUBMODULES = ("_pytree", "checkpoint", "data", "hooks")


def set_module(obj: Any, mod: str) -> None:
    """Says that an object belongs to the module named ``mod``."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def __getattr__(name: str) -> Any:
    try:
        return importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__name__}.{name}":
            raise
    raise AttributeError(f"module 'torch.utils' has no attribute '{name}'")
