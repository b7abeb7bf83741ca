"""What programs of PyTorch's launcher import from it: loggers."""

from __future__ import annotations

from ...._src.refusals import stand_ins as _refusals
from .log_level import get_log_level as get_log_level

__getattr__ = _refusals.missing(__name__)
