"""Parts of PyTorch's ``aot_autograd`` that programs use by themselves."""

from __future__ import annotations

from jtorch._src.refusals import stand_ins as _refusals

__getattr__ = _refusals.missing(__name__)
