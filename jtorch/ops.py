"""``torch.ops``: the operators by their ATen names, ``torch.ops.aten.add.Tensor``, and those that
programs define."""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.ops' has no attribute '{name}'")
    operators = importlib.import_module(f"{__package__}._ops")
    if name in operators.OF_OPS:
        return getattr(operators, name)
    found = globals()[name] = operators.namespace(name)  # an attribute, which a program may delete
    return found
