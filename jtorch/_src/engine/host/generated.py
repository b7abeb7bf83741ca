"""Functions made of generated lines of Python."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any


def made(lines: Sequence[str], names: dict[str, Any], name: str = "run") -> Callable[..., Any]:
    """The function that lines made of nothing but numbers define."""
    exec(_code("\n".join(lines)), names)
    return names[name]


@functools.lru_cache(maxsize=1024)
def _code(text: str) -> types.CodeType:
    """Its code: most kernels of a program share theirs with others, and differ in what they find
    under the names."""
    return compile(text, "<jtorch kernel>", "exec")
