"""The functions of ``torch.special`` by the names that PyTorch binds them by, ``special_`` before
each."""

from __future__ import annotations

from .. import special as _home
from ._published import bound as _bound

__getattr__, __dir__ = _bound(_home, "special_", __name__)
