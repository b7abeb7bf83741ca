"""The functions of ``torch.fft`` by the names that PyTorch binds them by, ``fft_`` before each."""

from __future__ import annotations

from .. import fft as _home
from ._published import bound as _bound

__getattr__, __dir__ = _bound(_home, "fft_", __name__)
