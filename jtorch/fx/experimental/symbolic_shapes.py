"""Symbolic sizes: the environment of their symbols, and questions about them. What decides by a
size that varies is a guard."""

from __future__ import annotations

import functools
from typing import Any

from jtorch import SymFloat, SymInt
from jtorch._src.tensor.shape_env import ConstraintViolation, ShapeEnv, hint_of
from jtorch._src.tensor.symbols import GuardOnDataDependentSymNode, Sym, Truth

from ..._src.refusals import stand_ins as _refusals

__all__ = [
    "ConstraintViolationError", "GuardOnDataDependentSymNode", "ShapeEnv", "definitely_true",
    "free_symbols", "free_unbacked_symbols", "guard_bool", "guard_float", "guard_int",
    "guard_or_false", "guard_or_true", "guard_scalar", "guard_size_oblivious",
    "guarding_hint_or_throw", "has_free_symbols", "has_free_unbacked_symbols", "has_hint",
    "has_static_value", "hint_int", "is_concrete_bool", "is_concrete_float", "is_concrete_int",
    "is_symbolic", "optimization_hint", "statically_known_false", "statically_known_true",
    "sym_and", "sym_eq", "sym_or",
]  # fmt: skip

ConstraintViolationError = ConstraintViolation


def _known(a: Truth) -> bool | None:
    """The truth value as far as the bounds of the symbols tell."""
    if isinstance(a, Truth):
        try:
            return a.holds()
        except Exception as error:
            if type(error).__name__ != "InconclusiveDimensionOperation":
                raise
            return None
    return bool(a)


def guard_or_false(a: Any) -> bool:
    """The truth value; False where it is not known for all sizes."""
    return bool(_known(a))


def guard_or_true(a: Any) -> bool:
    """The truth value; True where it is not known for all sizes."""
    return _known(a) is not False


def guard_size_oblivious(a: object) -> bool:
    """The truth value, which becomes a guard where it depends on sizes."""
    return bool(a)


guard_bool = guard_size_oblivious


def guard_int(a: Any) -> int:
    """The number, which becomes a guard where it is a size that varies."""
    return int(a)


guard_scalar = guard_int


def guard_float(a: Any) -> float:
    """The number, which becomes a guard where it depends on sizes that vary."""
    return float(a)


def guarding_hint_or_throw(a: Any) -> int | bool:
    """What a number or truth value is with the example's sizes.

    Raises:
        GuardOnDataDependentSymNode: where data decide.
    """
    if isinstance(a, Truth):
        return bool(a)
    return hint_of(a) if isinstance(a, Sym) else a


def statically_known_true(x: Any) -> bool:
    """Whether it is known to be true for all sizes."""
    return _known(x) is True


def statically_known_false(x: Any) -> bool:
    """Whether it is known to be false for all sizes."""
    return _known(x) is False


definitely_true = statically_known_true


def sym_eq(x: object, y: object) -> bool:
    """``x == y``; of tuples and lists whether all items are."""
    if isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)):
        return len(x) == len(y) and all(bool(sym_eq(a, b)) for a, b in zip(x, y, strict=True))
    return x == y


def is_symbolic(val: object) -> bool:
    """Whether a number depends on sizes that vary."""
    return isinstance(val, (Sym, Truth))


def is_concrete_int(a: object) -> bool:
    """Whether a size is a number."""
    return not isinstance(a, SymInt)


def is_concrete_bool(a: object) -> bool:
    """Whether a truth value is known."""
    return not isinstance(a, Truth)


def is_concrete_float(a: object) -> bool:
    """Whether a number does not depend on sizes that vary."""
    return not isinstance(a, (Sym, SymFloat))


def has_static_value(a: object) -> bool:
    """Whether a number or truth value is the same for all sizes."""
    if isinstance(a, Truth):
        return _known(a) is not None
    return not isinstance(a, Sym)


def has_hint(a: object) -> bool:
    """Whether the example says what a size is."""
    return not isinstance(a, Sym) or a.has_hint()


def hint_int(a: Any, fallback: int | None = None) -> int:
    """The example's size; ``fallback`` for one that data decide."""
    return fallback if fallback is not None and not has_hint(a) else hint_of(a)


def optimization_hint(a: SymInt | int, fallback: int | None = None) -> int:
    """The example's size, for estimates; ``fallback`` for one that data decide. It becomes no
    guard."""
    return hint_int(a, fallback)


def sym_and(x: object, *others: Any) -> Any:
    """``x and others``, without asking sizes that vary."""
    return functools.reduce(lambda a, b: a & b, others, x)


def sym_or(x: object, *others: Any) -> Any:
    """``x or others``, without asking sizes that vary."""
    return functools.reduce(lambda a, b: a | b, others, x)


def free_symbols(val: object) -> set[str]:
    """The names of the symbols in a size, or in a tensor's sizes."""
    if isinstance(val, Sym):
        text = str(val.expr)
        return {name for name in val.env.names if str(val.env._exprs[name]) in text}
    if isinstance(val, (tuple, list)):
        return set().union(*map(free_symbols, val)) if val else set()
    shape = getattr(val, "shape", None)
    return set() if shape is None else free_symbols(tuple(shape))


def free_unbacked_symbols(x: object) -> set[str]:
    """The names of the symbols in a size, or in a tensor's sizes, that stand for what was read from
    data."""
    if isinstance(x, Sym):
        return set() if x.env.data is None else set(x.env.data.names_in(x.expr))
    if isinstance(x, (tuple, list)):
        return set().union(*map(free_unbacked_symbols, x)) if x else set()
    shape = getattr(x, "shape", None)
    return set() if shape is None else free_unbacked_symbols(tuple(shape))


def has_free_symbols(val: object) -> bool:
    """Whether a size, or a tensor's, varies."""
    return bool(free_symbols(val))


def has_free_unbacked_symbols(x: object) -> bool:
    """Whether a size, or a tensor's, is decided by data."""
    return bool(free_unbacked_symbols(x))


__getattr__ = _refusals.missing(__name__)
