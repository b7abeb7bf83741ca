"""``functorch.dim``: first-class dimensions, which can be named in checks of types, and refuse to
be made."""

from __future__ import annotations

from jtorch._src.refusals.stand_ins import make as _make

_WHY = "first-class dimensions are left out; use torch.func.vmap or einsum"

Dim, DimList, Tensor, DimensionBindError, DimensionMismatchError = (
    _make(f"functorch.dim.{_name}", _WHY)
    for _name in ("Dim", "DimList", "Tensor", "DimensionBindError", "DimensionMismatchError")
)
dims, dimlists, cat, stack, split = (
    _make(f"functorch.dim.{_name}", _WHY) for _name in ("dims", "dimlists", "cat", "stack", "split")
)
