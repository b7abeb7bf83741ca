"""Tensors spread over a mesh of processes (``docs/dtensor.md``)."""

from __future__ import annotations

from ..._src.refusals import stand_ins as _refusals
from ..device_mesh import DeviceMesh as DeviceMesh
from ..device_mesh import init_device_mesh as init_device_mesh
from ._api import DTensor as DTensor
from ._api import distribute_module as distribute_module
from ._api import distribute_tensor as distribute_tensor
from ._api import empty as empty
from ._api import full as full
from ._api import ones as ones
from ._api import rand as rand
from ._api import randn as randn
from ._api import zeros as zeros

# libraries import it from here
from ._dtensor_spec import DTensorSpec as _DTensorSpec  # noqa: F401
from .placement_types import Partial as Partial
from .placement_types import Placement as Placement
from .placement_types import Replicate as Replicate
from .placement_types import Shard as Shard

__all__ = [
    "DTensor", "distribute_tensor", "distribute_module", "Shard", "Replicate", "Partial",
    "Placement", "ones", "empty", "full", "rand", "randn", "zeros",
]  # fmt: skip

for _thing in (
    DTensor,
    distribute_tensor,
    distribute_module,
    ones,
    empty,
    full,
    rand,
    randn,
    zeros,
):
    _thing.__module__ = __name__

__getattr__ = _refusals.missing(__name__)
