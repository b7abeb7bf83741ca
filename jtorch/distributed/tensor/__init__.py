"""Tensors spread over processes: their placements are values as in PyTorch, the tensors themselves are JAX's sharded arrays here."""

from __future__ import annotations

from ... import _refusals
from ..device_mesh import DeviceMesh as DeviceMesh
from ..device_mesh import init_device_mesh as init_device_mesh
from .placement_types import Partial as Partial
from .placement_types import Placement as Placement
from .placement_types import Replicate as Replicate
from .placement_types import Shard as Shard

__getattr__ = _refusals.missing(__name__)
