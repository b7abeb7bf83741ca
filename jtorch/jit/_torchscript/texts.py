"""How values stand in the code of archives."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import jtorch as torch

from ..._src.facts.errors import not_offered
from .operators import FORMATS, NUMBERS

_FORMATS = {made: number for number, made in FORMATS.items()}


def number(x: float) -> str:
    """A number; floats with a point, as others are whole."""
    if isinstance(x, float):
        if math.isnan(x):
            return "nan"
        if math.isinf(x):
            return "inf" if x > 0 else "-inf"
    return repr(x)


def literal(x: Any) -> str:
    """A constant.

    Raises:
        NotImplementedError: for what has no text.
    """
    if x is None or isinstance(x, bool):
        return str(x)
    if isinstance(x, (int, float)):
        return number(x)
    if isinstance(x, complex):
        return f"complex({number(x.real)}, {number(x.imag)})"
    if isinstance(x, str):
        return json.dumps(x)
    if isinstance(x, torch.dtype):
        if x not in NUMBERS:
            raise not_offered("torch.jit.save", f"{x} has no number in files")
        return str(NUMBERS[x])
    if isinstance(x, torch.device):
        return f"torch.device({json.dumps(str(x))})"
    if isinstance(x, torch.memory_format):
        return str(_FORMATS[x])
    if isinstance(x, torch.layout):
        if x is not torch.strided:
            raise not_offered("torch.jit.save", f"tensors of {x}")
        return "0"
    raise not_offered("torch.jit.save", f"a {type(x).__name__} in the code")


def listed(items: list[Any], kind: str, text: Callable[[Any], str]) -> str:
    """A list for a parameter whose schema says ``kind``."""
    inner = kind.partition("[")[0].replace("SymInt", "int").replace("Scalar", "number")
    made = "[" + ", ".join(map(text, items)) + "]"
    if inner.endswith("?"):
        inner = f"Optional[{inner[:-1]}]"
        return f"annotate(List[{inner}], {made})"
    return made if items else f"annotate(List[{inner}], [])"


def attribute(owner: str, name: str) -> str:
    """``owner.name``, whatever the name is."""
    return f"{owner}.{name}" if name.isidentifier() else f"getattr({owner}, {json.dumps(name)})"


def chain(owner: str, path: str) -> str:
    """The attribute at the end of a path."""
    for name in path.split("."):
        owner = attribute(owner, name)
    return owner
