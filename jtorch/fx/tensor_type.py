"""Types of tensors in annotations, as gradual type checkers of graphs use them."""

from __future__ import annotations

from typing import Any

from ._compatibility import compatibility as compatibility


class TensorType:
    """A tensor with dimensions that are numbers or ``Dyn``."""

    def __init__(self, dim: Any) -> None:
        self.__origin__ = TensorType
        self.__args__ = tuple(dim)

    def __repr__(self) -> str:
        return f"TensorType[{self.__args__}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and self.__args__ == other.__args__

    def __hash__(self) -> int:
        return hash(self.__args__)

    @staticmethod
    def __class_getitem__(*args: Any) -> TensorType:
        return TensorType(args[0] if len(args) == 1 and isinstance(args[0], tuple) else args)


class _DynType:
    __name__ = "_DynType"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _DynType)

    def __hash__(self) -> int:
        return hash(_DynType)

    def __repr__(self) -> str:
        return "Dyn"


Dyn = _DynType()


def is_consistent(t1: object, t2: object) -> bool:
    """Whether two types agree wherever both are known."""
    if t1 in (t2, Dyn) or t2 == Dyn:
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        return len(t1.__args__) == len(t2.__args__) and all(
            is_consistent(a, b) for a, b in zip(t1.__args__, t2.__args__)
        )
    return False


def is_more_precise(t1: object, t2: object) -> bool:
    """Whether ``t1`` says all that ``t2`` says."""
    if t1 == t2 or t2 == Dyn:
        return True
    if isinstance(t1, TensorType) and isinstance(t2, TensorType):
        return len(t1.__args__) == len(t2.__args__) and all(
            is_more_precise(a, b) for a, b in zip(t1.__args__, t2.__args__)
        )
    return False
