"""Data pipes: datasets that wrap one another, in the classes of ``iter`` and ``map`` and by the
methods that these register."""

from __future__ import annotations

from jtorch._src.refusals import stand_ins as _refusals

from . import iter as iter  # noqa: A004
from . import map as map  # noqa: A004

__getattr__ = _refusals.missing(__name__)
