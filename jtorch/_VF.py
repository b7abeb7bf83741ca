"""``torch._VF``: the functions of ``torch`` under the name that PyTorch's layers call them by."""

from __future__ import annotations

from typing import Any

import jtorch


def __getattr__(name: str) -> Any:
    found = None if name.startswith("__") else getattr(jtorch, name, None)
    if not callable(found):
        raise AttributeError(f"'torch._C._VariableFunctionsClass' object has no attribute '{name}'")
    return found
