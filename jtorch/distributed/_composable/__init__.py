"""Functions that change modules in place, where others wrap them: names of parameters stay as they
were."""

from __future__ import annotations

from ..._src.refusals import stand_ins as _refusals
from .checkpoint_activation import checkpoint as checkpoint
from .contract import contract as contract
from .replicate import replicate as replicate

__getattr__ = _refusals.missing(__name__)
