"""Op declarations: torch's signature, docstring and kernel in one ``def`` each. Knows neither Tensor nor the override protocols.

As ``torch.ops`` the same package gives programs the operators by their ATen names: ``torch.ops.aten.add.Tensor``.
"""

from __future__ import annotations

import importlib.util
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__") or importlib.util.find_spec(f"{__name__}.{name}") is not None:  # a module that is being imported
        raise AttributeError(f"module 'torch.ops' has no attribute '{name}'")
    operators = importlib.import_module("jtorch._ops")
    return getattr(operators, name) if name in operators.OF_OPS else operators.namespace(name)
