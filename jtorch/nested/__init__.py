"""``torch.nested``: tensors whose items differ in size. ``jtorch.wrappers.nested`` holds the
implementation."""

from __future__ import annotations

from jtorch._src.refusals import stand_ins as _refusals

from ..wrappers.nested import as_nested_tensor as as_nested_tensor
from ..wrappers.nested import masked_select as masked_select
from ..wrappers.nested import narrow as narrow
from ..wrappers.nested import nested_tensor as nested_tensor
from ..wrappers.nested import nested_tensor_from_jagged as nested_tensor_from_jagged
from ..wrappers.nested import to_padded_tensor as to_padded_tensor

__all__ = [
    "to_padded_tensor",
    "as_nested_tensor",
    "nested_tensor",
    "nested_tensor_from_jagged",
    "narrow",
    "masked_select",
]

__getattr__ = _refusals.missing(__name__)
