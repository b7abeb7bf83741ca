"""Programs that were exported, in files that are loaded and called without the module's code."""

from __future__ import annotations

from ..._src.refusals import stand_ins as _refusals
from .package import AOTICompiledModel as AOTICompiledModel
from .package import load_package as load_package

__getattr__ = _refusals.missing(__name__)
