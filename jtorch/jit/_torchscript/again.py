"""Modules that were loaded, as programs: their code is that of the archive they came from."""

from __future__ import annotations

from typing import Any

from .kinds import Kind
from .objects import LoadedModule, ScriptObject
from .reading import Unit
from .writing import Held, Program


def program(module: LoadedModule) -> Program:
    """What is written for a module that was loaded."""
    unit: Unit = module._unit
    return Program(_held(module), unit.texts(), unit.constants)


def _held(obj: Any) -> Held:
    spec = type(obj)._spec
    state: list[tuple[str, Kind | None, Any]] = []
    for name, kind in spec.attributes.items():
        value = getattr(obj, name, None)
        state.append((name, kind, _written(value)))
    own = spec.methods.get("__getstate__")
    if own is not None and "__setstate__" in spec.methods:  # they say themselves what files hold
        return Held(id(obj), spec.name, [("", own.returns, _written(own.run(obj)))], True)
    return Held(id(obj), spec.name, state)


def _written(value: Any) -> Any:
    if isinstance(value, (LoadedModule, ScriptObject)):
        return _held(value)
    if isinstance(value, list):
        return [_written(v) for v in value]
    if type(value) is tuple:
        return tuple([_written(v) for v in value])
    if isinstance(value, dict):
        return {k: _written(v) for k, v in value.items()}
    return value
