"""What libraries that have a ``vmap`` of their own take from PyTorch's: the work on trees; its batched tensors are not offered."""

from __future__ import annotations

from typing import Any

from .._src.refusals import stand_ins as _refusals
from ..core import Tensor as Tensor
from ..func import vmap as vmap
from ..func.batching import _name as _get_name
from ..utils._pytree import _broadcast_to_and_flatten as _broadcast_to_and_flatten
from ..utils._pytree import tree_flatten as tree_flatten
from ..utils._pytree import tree_map_ as tree_map_
from ..utils._pytree import tree_unflatten as tree_unflatten

in_dims_t = int | tuple[Any, ...]
out_dims_t = int | tuple[int, ...]

__all__ = ["Tensor", "_broadcast_to_and_flatten", "_get_name", "tree_flatten", "tree_map_", "tree_unflatten", "vmap"]

__getattr__ = _refusals.missing(__name__)
