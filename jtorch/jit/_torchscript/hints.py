"""Types of scripted programs, as their annotations and attributes tell them, for archives."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable
from typing import Any

import jtorch as torch

from ..._src.facts.errors import not_offered
from ..._src.quantised.packed import ScriptObject
from .kinds import Kind, list_of

_PLAIN = {
    int: "int", float: "float", bool: "bool", str: "str", type(None): "NoneType",
    torch.device: "Device", inspect.Parameter.empty: "Tensor", complex: "complex",
    torch.dtype: "int",
}  # fmt: skip
_CONTAINERS: dict[Any, str] = {list: "List", dict: "Dict", tuple: "Tuple"}


def refused(where: str, what: str) -> NotImplementedError:
    """The error for what has no text."""
    return not_offered("torch.jit.save of a scripted program", f"{where} has {what}")


def is_named_tuple(x: Any) -> bool:
    """Whether something is a class of named tuples."""
    return isinstance(x, type) and issubclass(x, tuple) and hasattr(x, "_fields")


def kind_of_hint(hint: Any, where: str, named: Callable[[type], str]) -> str:
    """The text of a type that an annotation names.

    Args:
        hint: the type.
        where: what has the annotation, for errors.
        named: gives the path of a class of named tuples.
    """
    if hint in _PLAIN:
        return _PLAIN[hint]
    if isinstance(hint, type) and issubclass(hint, torch.Tensor):
        return "Tensor"
    if is_named_tuple(hint):
        return named(hint)
    origin, items = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Final and items:
        return kind_of_hint(items[0], where, named)
    if origin in (typing.Union, types.UnionType):
        inner = [i for i in items if i is not type(None)]
        if len(inner) == 1 and len(items) == 2:
            return f"Optional[{kind_of_hint(inner[0], where, named)}]"
    elif origin is tuple and items == ():
        return "Tuple[()]"
    elif origin in _CONTAINERS and items and Ellipsis not in items:
        parts = ", ".join(kind_of_hint(i, where, named) for i in items)
        return f"{_CONTAINERS[origin]}[{parts}]"
    raise refused(where, f"the type {hint}")


def kind_of_value(x: Any) -> Kind | None:
    """The type of an attribute, None if it has none."""
    if x is None:
        return Kind("NoneType")
    for kind in (bool, int, float, str, complex):
        if type(x) is kind:
            return Kind(kind.__name__)
    if isinstance(x, torch.Tensor):
        return Kind("Tensor")
    if isinstance(x, torch.device):
        return Kind("Device")
    if isinstance(x, ScriptObject):
        return Kind(x._name)
    if isinstance(x, list):
        inner = _of_all(x)
        return None if inner is None else list_of(inner)
    if isinstance(x, dict):
        key, value = _of_all(list(x)), _of_all(list(x.values()))
        return None if key is None or value is None else Kind("Dict", (key, value))
    if type(x) is tuple and x:
        found = [kind_of_value(i) for i in x]
        return None if None in found else Kind("Tuple", tuple([i for i in found if i is not None]))
    return None


def _of_all(items: list[Any]) -> Kind | None:
    """The type of things that are of one type."""
    kinds = {kind_of_value(i) for i in items}
    return kinds.pop() if len(kinds) == 1 else None
