"""``torch.functional``: the functions of ``torch`` that PyTorch has written in Python; their
declarations say so."""

from __future__ import annotations

import importlib
from typing import Any

from ._src.bind.namespace import fill_home as _fill_home
from ._src.refusals.stand_ins import find as _find
from .core import Tensor as Tensor

__all__: list[str] = []
_fill_home(globals(), "functional")


def __getattr__(name: str) -> Any:
    if name == "F":  # what the module calls it in PyTorch's file, and read from there by programs
        return importlib.import_module(f"{__package__}.nn.functional")
    return _find(__name__, name)
