"""Which derivative an operator has: a formula of its own, the general one, or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .overloads import OpOverload
from .recording import Rule

RULES: dict[str, Rule] = {}
#: Operators with floating point results that no gradient goes through.
WITHOUT = frozenset(
    """detach detach_ zeros ones full empty rand randn zeros_like ones_like full_like empty_like rand_like randn_like randint_like
    new_zeros new_ones new_full new_empty new_empty_strided empty_strided empty_permuted arange linspace logspace eye scalar_tensor
    randint randperm isnan isinf eq ne lt le gt ge logical_and logical_or logical_xor logical_not argmax argmin
    native_dropout_mask nextafter bincount histc tril_indices triu_indices searchsorted bucketize""".split()
)


def rule(*names: str, results: Any = None, **formulas: Callable[..., Any]) -> None:
    """States the derivative of operators by ``packet.overload``: for each operand a function of what its parameters name.

    Parameters of a function: ``g`` (the gradient of the first result), ``grads`` (of all), ``node``, operands and other arguments by their
    names, ``result`` or ``result1`` (results), ``self_`` and ``result_`` (what is known without the data: shape, dtype, ...), ``mask``
    (which of several operands need a gradient). A function that serves several operands is given under their names joined with ``__``.
    """
    parts = []
    for key, fn in formulas.items():
        code = fn.__code__
        parts.append((tuple(key.split("__")), fn, code.co_varnames[: code.co_argcount - len(fn.__defaults__ or ())]))
    for name in names:
        RULES[name if "." in name else f"{name}.default"] = Rule(parts, results)


def find(func: OpOverload, functional_of: Callable[[OpOverload], OpOverload | None]) -> Rule | None:
    """The derivative of an operator."""
    from . import formulas, formulas_index, formulas_linalg, formulas_nn, formulas_special  # noqa: F401  (state rules)

    schema = func._schema
    if func._namespace == "aten":
        found = RULES.get(f"{func._opname}.{func._overloadname}")
        if found is not None:
            return found
        if schema.writes:
            base = functional_of(func)
            return None if base is None else find(base, functional_of) if schema.outs == [] else None
        if func._opname in WITHOUT:
            return None
    from .generic import generic_rule

    return generic_rule(func)
