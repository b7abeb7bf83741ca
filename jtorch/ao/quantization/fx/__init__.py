"""Operators of quantised graphs; preparing and converting graphs is not offered."""

from __future__ import annotations

from jtorch._src.refusals import stand_ins as _refusals

__getattr__ = _refusals.missing(__name__)
