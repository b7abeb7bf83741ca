"""Modules that compute their activations again, or keep them on the host."""

from __future__ import annotations

from jtorch._src.refusals import stand_ins as _refusals

__getattr__ = _refusals.missing(__name__)
