"""What functions that change modules in place keep of each module."""

from __future__ import annotations

from .._src.refusals import stand_ins as _refusals


class _State:
    """Base of what such a function keeps of a module."""


__getattr__ = _refusals.missing(__name__)
