"""Helpers of tests of quantised operators, which are left out: the choice of a library of
kernels."""

from __future__ import annotations

from jtorch._src.refusals import stand_ins as _refusals

from .common_quantization import override_quantized_engine as override_quantized_engine

__getattr__ = _refusals.missing(__name__)
