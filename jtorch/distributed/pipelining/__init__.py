"""Models cut into stages for several processes: not offered, but for the marks."""

from __future__ import annotations

import enum

from ..._src.refusals import stand_ins as _refusals


class SplitPoint(enum.Enum):
    """Where a model is cut."""

    BEGINNING = 1
    END = 2


__getattr__ = _refusals.missing(__name__)
