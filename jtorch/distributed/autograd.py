"""Gradients through remote procedure calls, which are not offered: that much can be asked."""

from __future__ import annotations

from .._src.refusals import stand_ins as _refusals


def is_available() -> bool:
    """False: there are no remote procedure calls."""
    return False


__getattr__ = _refusals.missing(__name__)
