"""Arguments of calls as the signatures name them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any, NamedTuple

import jtorch as torch
from jtorch._ops import OpOverloadPacket

from .._src.refusals import stand_ins as _refusals
from ._compatibility import compatibility as compatibility


class ArgsKwargsPair(NamedTuple):
    """Positional arguments, and arguments by name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def _normalised(
    signature: inspect.Signature, args: Iterable[object], kwargs: Any, only_kwargs: bool
) -> ArgsKwargsPair | None:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    if not only_kwargs:
        return ArgsKwargsPair(tuple(bound.args), dict(bound.kwargs))
    for p in signature.parameters.values():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY):
            return None
    return ArgsKwargsPair((), dict(bound.arguments))


def _of_overload(target: object) -> inspect.Signature | None:
    """The signature of an operator, whose first argument is ``input`` here; None for other
    functions."""
    schema = getattr(target, "_schema", None)
    if schema is None:
        return None
    parameters = []
    for a in schema.arguments:
        default = a.default_value if a.has_default_value() else inspect.Parameter.empty
        kind = (
            inspect.Parameter.KEYWORD_ONLY
            if a.kwarg_only
            else inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        parameters.append(
            inspect.Parameter("input" if a.name == "self" else a.name, kind, default=default)
        )
    return inspect.Signature(parameters)


def normalize_function(
    target: Any, args: tuple[object, ...], kwargs: object = None, arg_types: object = None,
    kwarg_types: object = None, normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:  # fmt: skip
    """The arguments of a function by name; None where it has no signature, or they do not fit."""
    if isinstance(target, OpOverloadPacket):
        found = [
            normalize_function(
                getattr(target, name), args, kwargs, arg_types, kwarg_types,
                normalize_to_only_use_kwargs,
            )
            for name in target.overloads()
        ]  # fmt: skip
        return next((f for f in found if f is not None), None)
    del arg_types, kwarg_types
    signature = _of_overload(target)
    if signature is None:
        try:
            signature = inspect.signature(inspect.unwrap(target))
        except (TypeError, ValueError):
            return None
    return _normalised(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def normalize_module(
    root: torch.nn.Module,
    target: str,
    args: tuple[object, ...],
    kwargs: object = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a submodule's ``forward`` by name; None where they do not fit."""
    module = root.get_submodule(target)
    return _normalised(
        inspect.signature(module.forward), args, kwargs or {}, normalize_to_only_use_kwargs
    )


def get_signature_for_torch_op(op: Any, return_schemas: bool = False) -> Any:
    """The signatures of a function of ``torch``: one here, where PyTorch may have overloads."""
    try:
        found = [inspect.signature(inspect.unwrap(op))]
    except (TypeError, ValueError):
        return (None, None) if return_schemas else None
    return (found, None) if return_schemas else found


__getattr__ = _refusals.missing(__name__)
