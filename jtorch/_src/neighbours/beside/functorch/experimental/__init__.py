"""``functorch.experimental``."""

from __future__ import annotations

from jtorch._src.neighbours.within.transforms import chunk_vmap
from jtorch.func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_

from . import control_flow as control_flow

__all__ = [
    "chunk_vmap",
    "functionalize",
    "hessian",
    "jacfwd",
    "jvp",
    "replace_all_batch_norm_modules_",
]
