"""The module where PyTorch defines its tensors."""

from __future__ import annotations

from ._utils import _rebuild_from_type_v2 as _rebuild_from_type_v2
from .core import Tensor as Tensor
from .dispatch import _convert as _convert
