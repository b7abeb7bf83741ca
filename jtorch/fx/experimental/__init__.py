"""Names of PyTorch's experimental packages around graphs."""

from __future__ import annotations

from . import proxy_tensor, rewriter, symbolic_shapes

__all__ = ["proxy_tensor", "rewriter", "symbolic_shapes"]
