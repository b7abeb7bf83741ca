"""Inner parts of exporting that programs name."""

from jtorch._src.refusals import stand_ins as _refusals

__getattr__ = _refusals.missing(__name__)
