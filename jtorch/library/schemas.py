"""Schemas of user operators from the annotations of Python functions:
``(Tensor x, SymInt n=2) -> Tensor``."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Callable, Iterable

import jax

import jtorch as torch

_PLAIN: dict[object, str] = {
    torch.Tensor: "Tensor", jax.Array: "Tensor", int: "SymInt", float: "float", bool: "bool",
    str: "str", torch.dtype: "ScalarType", torch.device: "Device",
}  # fmt: skip
_NUMBERS = frozenset((int, float, bool))
_LISTS = (list, collections.abc.Sequence)
_RETURNS = {
    torch.Tensor: "Tensor",
    jax.Array: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
}


def _is_union(kind: object) -> bool:
    return typing.get_origin(kind) in (typing.Union, types.UnionType)


def type_of(kind: object) -> str | None:
    """The schema's name of an annotated type, or None if there is none."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    if _is_union(kind):
        parts = frozenset(typing.get_args(kind))
        rest = parts - {type(None)}
        if rest == _NUMBERS:
            return "Scalar" if rest == parts else "Scalar?"
        if len(rest) == 1 and rest != parts:
            (only,) = rest
            inner = type_of(only)
            return (
                None
                if inner is None or inner.endswith("?") or inner.startswith("Tensor[")
                else f"{inner}?"
            )
        return None
    if typing.get_origin(kind) in _LISTS:
        (item,) = typing.get_args(kind)
        inner = type_of(item)
        return (
            None
            if inner is None or "[" in inner or inner in ("str", "ScalarType", "Device", "SymInt?")
            else f"{inner}[]"
        )
    return None


def _default_text(value: float | int | str | None) -> str | None:
    """A default value as a schema writes it; None if it cannot."""
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, torch.device):
        return f'"{value}"'
    return None


def infer_schema(
    prototype_function: Callable[..., object],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: object = (),
) -> str:
    """The schema of an operator that has the parameters of ``prototype_function``, all annotated.

    ``mutates_args`` names the parameters that it writes to, or is ``"unknown"``, which means all
    tensors.

    Raises:
        ValueError: if something is not annotated, or cannot stand in a schema.
    """
    del tags  # operators have no tags here
    signature = inspect.signature(prototype_function)

    def refuse(what: str) -> typing.NoReturn:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    hints = typing.get_type_hints(prototype_function)
    mutated = mutates_args if isinstance(mutates_args, str) else set(mutates_args)
    if isinstance(mutated, str) and mutated != "unknown":
        raise ValueError(
            "infer_schema(func): mutates_args must either be a sequence of the names of the "
            "arguments that are mutated or the string 'unknown'. Got func with signature "
            f"{signature})"
        )
    parts: list[str] = []
    keyword_only = False
    for place, (name, p) in enumerate(signature.parameters.items()):
        if p.kind in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL, p.VAR_KEYWORD):
            refuse("We do not support positional-only args, varargs, or varkwargs.")
        if p.kind is p.KEYWORD_ONLY and not keyword_only:
            parts.append("*")
            keyword_only = True
        if p.annotation is p.empty:
            refuse(f"Parameter {name} must have a type annotation.")
        kind = hints[name]
        text = type_of(kind)
        if text is None:
            if typing.get_origin(kind) is tuple:
                refuse(
                    f"Parameter {name} has unsupported type {kind}. We do not support Tuple inputs "
                    "in schema. As a workaround, please try to use List instead."
                )
            refuse(
                f"Parameter {name} has unsupported type {kind}. The valid types are: "
                f"{list(_PLAIN)}, optional and lists of them."
            )
        if (mutated == "unknown" and text.startswith("Tensor")) or (
            mutated != "unknown" and name in mutated
        ):
            if not text.startswith("Tensor"):
                refuse(
                    f"Parameter {name} is in mutable_args but only Tensors or collections of "
                    "Tensors can be mutated"
                )
            text = f"Tensor(a{place}!){text.removeprefix('Tensor')}"
        if p.default is p.empty:
            parts.append(f"{text} {name}")
            continue
        default = _default_text(p.default)
        if default is None:
            refuse(
                f"Parameter {name} has an unsupported default value type {type(p.default)}. Please "
                "file an issue on GitHub so we can prioritize this."
            )
        parts.append(f"{text} {name}={default}")
    if mutated != "unknown":
        unknown = set(mutated) - set(signature.parameters)
        if unknown:
            refuse(
                f"{unknown} in mutates_args were not found in the custom op's signature. "
                "mutates_args should contain the names of all args that the custom op mutates, or "
                "just the string 'unknown' if you don't know."
            )
    if signature.return_annotation is signature.empty:
        refuse("No return type annotation was provided. Please add one.")
    returns = _return_text(hints.get("return"))
    if returns is None:
        refuse(
            f"Return has unsupported type {hints.get('return')}. The valid types are: "
            f"{list(_RETURNS)}, tuples and lists of tensors."
        )
    return f"{op_name or ''}({', '.join(parts)}) -> {returns}"


def _return_text(kind: object) -> str | None:
    if kind is None or kind is type(None):
        return "()"
    if kind in _RETURNS:
        return _RETURNS[kind]
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple and Ellipsis not in args:
        items = [_return_text(a) for a in args]
        return None if None in items else f"({', '.join(items)})"  # type: ignore[arg-type]
    if origin in _LISTS and args[0] in (torch.Tensor, jax.Array):
        return "Tensor[]"
    return None
