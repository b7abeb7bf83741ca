"""Functions made of generated lines of Python."""

from __future__ import annotations

import functools
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...facts.kinds import Function, Named


def made(lines: Sequence[str], names: Named, name: str = "run") -> Function:
    """The function that lines made of nothing but numbers define."""
    exec(_code("\n".join(lines)), names)
    return names[name]


@functools.lru_cache(maxsize=1024)
def _code(text: str) -> types.CodeType:
    """Its code: most kernels of a program share theirs with others, and differ in what they find
    under the names."""
    return compile(text, "<jtorch kernel>", "exec")
