"""Which derivative an operator has: a formula of its own, the general one, or none."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection

from .. import hooks
from ..bind.cores import COMPOSITES
from ..ops._declare import OPS
from ..ops._derivatives import STATED
from .by_names import differentiated_by
from .calling import invoke
from .functions import flat
from .generic import generic_rule
from .overloads import OpOverload, aten
from .rules import Rule

#: An operator of no public function that no gradient goes through; the others' declarations say it.
_WITHOUT = frozenset(("native_dropout_mask",))


@functools.cache
def without_gradient() -> set[str]:
    """The operators that no gradient goes through, by name."""
    found = set(_WITHOUT)
    for record in (*OPS.values(), *COMPOSITES):
        if not record.differentiable or getattr(record, "family", "") in ("factory", "like"):
            found |= {
                record.name,
                flat(record.path),
                (getattr(record, "aten", None) or record.name).partition(".")[0],
            }
    return found


@functools.cache
def constant_results() -> dict[str, Collection[int]]:
    """The results without a derivative, by their numbers, for the names of operators that have
    some."""
    return {
        (op.aten or flat(op.path)).partition(".")[0]: op.constant
        for op in OPS.values()
        if op.constant
    }


@functools.cache
def rules() -> dict[str, Rule]:
    """The derivatives by the names of operators' overloads: those that are stated, and general ones
    as they are asked for."""
    hooks.operator_derivatives.get()
    found = {}
    for stated in STATED:
        parts = []
        for operands, formula in stated.formulas.items():
            code = formula.__code__
            parts.append(
                (
                    tuple(operands.split("__")),
                    formula,
                    code.co_varnames[: code.co_argcount - len(formula.__defaults__ or ())],
                )
            )
        found.update(dict.fromkeys(stated.operators, Rule(parts, stated.results)))
    return found


def find(func: OpOverload, functional_of: Callable[[OpOverload], OpOverload | None]) -> Rule | None:
    """The derivative of an operator."""
    schema = func._schema
    if func._namespace == "aten":
        found = rules().get(f"{func._opname}.{func._overloadname}")
        if found is not None:
            return found
        if schema.writes:
            base = functional_of(func)
            return (
                None if base is None else find(base, functional_of) if schema.outs == [] else None
            )
        if func._opname in without_gradient():
            return None
        found = _by_name(func) or generic_rule(func)
        constant = constant_results().get(func._opname)
        if found is not None and constant is not None:
            found.results = tuple([j for j in range(len(schema.returns)) if j not in constant])
        if found is not None:
            rules()[func.__name__] = found
        return found
    return generic_rule(func)


def _by_name(func: OpOverload) -> Rule | None:
    """The derivative of a function of one tensor for which PyTorch has the operator
    ``<name>_backward``."""
    backward = getattr(getattr(aten, f"{func._opname}_backward", None), "default", None)
    if (
        len(func._schema.tensors) != 1
        or not isinstance(backward, OpOverload)
        or differentiated_by(backward) is not func
    ):
        return None
    names = tuple([a.name for a in backward._schema.arguments[1:]])
    return Rule(
        [(("self",), lambda g, *values: invoke(backward, [g, *values]), ("g", *names))], None
    )
