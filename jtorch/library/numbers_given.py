"""What stands for numbers where programs call operators: NumPy's, truths, tensors of one
element."""

from __future__ import annotations

from typing import Any

import numpy as np

from jtorch import Tensor

_KINDS: dict[str, type] = {"float": float, "int": int, "SymInt": int, "bool": bool}


def as_number(kind: str, x: Any) -> Any:
    """The argument of a number's type that PyTorch makes of ``x``, or the list of them; None for
    what it refuses."""
    kind = kind.removesuffix("?")
    base, several, _ = kind.partition("[")
    make = _KINDS.get(base)
    if make is None:
        return None
    if several:
        found = [_one(make, i) for i in x] if isinstance(x, (list, tuple)) else [None]
        return None if any(i is None for i in found) else found
    return _one(make, x)


def _one(make: type, x: Any) -> Any:
    if isinstance(x, Tensor):
        return make(x.item()) if x.numel() == 1 and not x.is_complex() else None
    known = isinstance(x, (bool, int, float, np.bool_, np.integer, np.floating))
    # a float is no integer, but those of NumPy that are none of Python's lose their fraction
    return make(x) if known and not (make is int and isinstance(x, float)) else None


def of_numpy(x: Any) -> Any:
    """Python's number for one of NumPy's."""
    return x.item() if isinstance(x, np.generic) else x
