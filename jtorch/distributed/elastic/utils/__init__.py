"""What programs of PyTorch's launcher import from it: loggers."""

from __future__ import annotations

from ...._src.refusals import stand_ins as _refusals

__getattr__ = _refusals.missing(__name__)
