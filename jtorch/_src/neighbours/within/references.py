"""``torch._refs``: PyTorch's functions written in Python, with the same meaning, so that the
functions themselves stand for them."""

from __future__ import annotations

from typing import Any

import jtorch as torch

#: Functions that PyTorch keeps in one place here and in others otherwise.
_PLACES = (torch, torch.nn.functional, torch.special, torch.linalg, torch.Tensor)


def __getattr__(name: str) -> Any:
    if not name.startswith("_") and name not in ("Tensor", "nn", "fft", "linalg", "special"):
        for place in _PLACES:
            found = getattr(place, name, None)
            if callable(found) and not isinstance(found, type):
                return found
    raise AttributeError(f"module 'torch._refs' has no attribute '{name}'")
