"""``torch._VF``: the functions of ``torch`` under the name that PyTorch's layers call them by."""

from __future__ import annotations

from typing import Any

import jtorch


def unique_dim(
    self: jtorch.Tensor,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:
    """The distinct slices along a dimension, the place of each slice among them, and how often each
    occurs, whatever is asked for."""
    del return_inverse, return_counts
    return jtorch.unique(self, sorted, True, True, dim)


def __getattr__(name: str) -> Any:
    found = None if name.startswith("__") else getattr(jtorch, name, None)
    if not callable(found):
        raise AttributeError(f"'torch._C._VariableFunctionsClass' object has no attribute '{name}'")
    return found
