"""``parallel_apply``, in torch's place."""

from __future__ import annotations

import jtorch as torch
from jtorch.utils._pytree import tree_leaves

from .replicate import parallel_apply as parallel_apply

__all__ = ["get_a_var", "parallel_apply"]


def get_a_var(obj: object) -> torch.Tensor | None:
    """The first tensor in lists, tuples and dicts; None if there is none."""
    return next((x for x in tree_leaves(obj) if isinstance(x, torch.Tensor)), None)
