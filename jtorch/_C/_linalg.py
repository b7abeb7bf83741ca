"""The functions of ``torch.linalg`` by the names that PyTorch binds them by, ``linalg_`` before
each."""

from __future__ import annotations

from .. import linalg as _home
from ._published import bound as _bound

__getattr__, __dir__ = _bound(_home, "linalg_", __name__)
