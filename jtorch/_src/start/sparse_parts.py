"""Importing this loads what the functions on sparse tensors are made of."""

from __future__ import annotations

from ...sparse import _diagonals, _from_parts, _make, _products, _reductions, _tensor

LOADED = (_diagonals, _from_parts, _make, _products, _reductions, _tensor)
