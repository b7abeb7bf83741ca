"""Quantised modules: those that compute with floats until a model is quantised are offered, the
others say that they are not."""

from jtorch._src.refusals import stand_ins as _refusals

__getattr__ = _refusals.missing(__name__)
