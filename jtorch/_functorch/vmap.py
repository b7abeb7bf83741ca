"""The stages of ``torch.vmap``, which libraries with containers of their own replace here, and what
they take from it besides."""

from __future__ import annotations

from typing import Any

from .._C._functorch import is_batchedtensor as is_batchedtensor
from .._src.refusals import stand_ins as _refusals
from ..core import Tensor as Tensor
from ..func import batching as _batching
from ..func import vmap as vmap
from ..func.batching import _name as _get_name
from ..func.stages import _add_batch_dim as _add_batch_dim
from ..func.stages import _create_batched_inputs as _create_batched_inputs
from ..func.stages import _flat_vmap as _flat_vmap
from ..func.stages import _maybe_remove_batch_dim as _maybe_remove_batch_dim
from ..func.stages import _process_batched_inputs as _process_batched_inputs
from ..func.stages import _remove_batch_dim as _remove_batch_dim
from ..func.stages import _unwrap_batched as _unwrap_batched
from ..func.stages import vmap_impl as vmap_impl
from ..func.stages import vmap_increment_nesting as vmap_increment_nesting
from ..utils._pytree import _broadcast_to_and_flatten as _broadcast_to_and_flatten
from ..utils._pytree import tree_flatten as tree_flatten
from ..utils._pytree import tree_map_ as tree_map_
from ..utils._pytree import tree_unflatten as tree_unflatten

in_dims_t = int | tuple[Any, ...]
out_dims_t = int | tuple[int, ...]

__all__ = [
    "Tensor", "_add_batch_dim", "_broadcast_to_and_flatten", "_create_batched_inputs", "_flat_vmap",
    "_get_name", "_maybe_remove_batch_dim", "_process_batched_inputs", "_remove_batch_dim",
    "_unwrap_batched", "is_batchedtensor", "tree_flatten", "tree_map_", "tree_unflatten", "vmap",
    "vmap_impl", "vmap_increment_nesting",
]  # fmt: skip

__getattr__ = _refusals.missing(__name__)

_batching.STAGES = globals()  # torch.vmap asks here which stages there are
