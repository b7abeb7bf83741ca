"""Comparing models: functions that measure are offered, what goes into quantised models is not."""

from jtorch._src.refusals import stand_ins as _refusals

__getattr__ = _refusals.missing(__name__)
