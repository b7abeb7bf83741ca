"""What PyTorch's compiler knows while it traces, which is nothing here."""

from __future__ import annotations

from typing import Any

from . import _refusals


def detect_fake_mode(inputs: Any = None) -> None:
    """None: there is no fake mode."""
    del inputs


def active_fake_mode() -> None:
    """None: there is no fake mode."""


__getattr__ = _refusals.missing(__name__)
