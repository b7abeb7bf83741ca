"""Names of PyTorch's experimental packages around graphs."""

from __future__ import annotations

from . import _config as _config
from . import const_fold, proxy_tensor, rewriter, symbolic_shapes

__all__ = ["const_fold", "proxy_tensor", "rewriter", "symbolic_shapes"]
