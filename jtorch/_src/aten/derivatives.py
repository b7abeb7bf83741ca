"""Which derivative an operator has: a formula of its own, the general one, or none."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import hooks
from ..bind.cores import COMPOSITES
from ..ops._declare import OPS
from .by_names import differentiated_by
from .calling import invoke
from .functions import flat
from .generic import generic_rule
from .overloads import OpOverload, OpOverloadPacket, aten
from .rules import Rule

RULES: dict[str, Rule] = {}
#: Operators of no public function, and one without a formula, that no gradient goes through; the others' declarations say it.
_WITHOUT = frozenset(("detach_", "native_dropout_mask", "nextafter"))


@functools.cache
def without_gradient() -> set[str]:
    """The operators that no gradient goes through, by name."""
    found = set(_WITHOUT)
    for record in (*OPS.values(), *COMPOSITES):
        if not record.differentiable or getattr(record, "family", "") in ("factory", "like"):
            found |= {record.name, flat(record.path), (getattr(record, "aten", None) or record.name).partition(".")[0]}
    return found


def rule(*operators: OpOverload | OpOverloadPacket, results: Any = None, **formulas: Callable[..., Any]) -> None:
    """States the derivative of operators, of a packet its default overload: for each operand a function of what its parameters name.

    Parameters of a function: ``g`` (the gradient of the first result), ``grads`` (of all), ``node``, operands and other arguments by their
    names, ``result`` or ``result1`` (results), ``self_`` and ``result_`` (what is known without the data: shape, dtype, ...), ``mask``
    (which of several operands need a gradient). A function that serves several operands is given under their names joined with ``__``.
    """
    parts = []
    for key, fn in formulas.items():
        code = fn.__code__
        parts.append((tuple(key.split("__")), fn, code.co_varnames[: code.co_argcount - len(fn.__defaults__ or ())]))
    for operator in operators:
        overload = operator.default if isinstance(operator, OpOverloadPacket) else operator
        RULES[overload.__name__] = Rule(parts, results)


def find(func: OpOverload, functional_of: Callable[[OpOverload], OpOverload | None]) -> Rule | None:
    """The derivative of an operator."""
    hooks.operator_derivatives.get()
    schema = func._schema
    if func._namespace == "aten":
        found = RULES.get(f"{func._opname}.{func._overloadname}")
        if found is not None:
            return found
        if schema.writes:
            base = functional_of(func)
            return None if base is None else find(base, functional_of) if schema.outs == [] else None
        if func._opname in without_gradient():
            return None
        found = _by_name(func) or generic_rule(func)
        if found is not None:
            RULES[func.__name__] = found
        return found
    return generic_rule(func)


def _by_name(func: OpOverload) -> Rule | None:
    """The derivative of a function of one tensor for which PyTorch has the operator ``<name>_backward``."""
    backward = getattr(getattr(aten, f"{func._opname}_backward", None), "default", None)
    if len(func._schema.tensors) != 1 or not isinstance(backward, OpOverload) or differentiated_by(backward) is not func:
        return None
    names = tuple([a.name for a in backward._schema.arguments[1:]])
    return Rule([(("self",), lambda g, *values: invoke(backward, [g, *values]), ("g", *names))], None)
