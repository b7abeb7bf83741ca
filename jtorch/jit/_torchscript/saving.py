"""What ``torch.jit.save`` writes for each kind of module."""

from __future__ import annotations

import io
from typing import Any

from ..._src.facts.errors import not_offered
from .._script import FrozenScriptModule, ScriptFunction, ScriptModule
from . import again, reading, scripting, traced, writing
from .objects import LoadedModule
from .writing import Program


def program_of(module: Any) -> Program:
    """The program of a module or function.

    Raises:
        NotImplementedError: with what stands against it.
    """
    inner = module._inner[0] if isinstance(module, FrozenScriptModule) else module
    if isinstance(inner, LoadedModule):
        if inner is not module:
            raise not_offered(
                "torch.jit.save of a frozen module", "it was loaded; save it before freeze()"
            )
        return again.program(inner)
    if getattr(inner, "_example", None) is not None:
        return traced.program(module)
    made = scripting.program(inner, frozen=inner is not module)
    written = io.BytesIO()
    writing.write(made, written, None)
    reading.load(io.BytesIO(written.getvalue()))  # it can be read
    return made


def save(module: Any, f: Any, extra: Any = None) -> None:
    """Writes a module to a path, or to what can be written to."""
    if not isinstance(module, (ScriptModule, ScriptFunction)):
        raise AttributeError(f"'{type(module).__name__}' object has no attribute 'save'")
    writing.write(program_of(module), f, extra)


def buffer(module: Any, extra: Any = None) -> bytes:
    """The bytes of the archive."""
    written = io.BytesIO()
    save(module, written, extra)
    return written.getvalue()
