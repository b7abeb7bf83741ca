"""One operation as it is bound: the calls made for it so far, and the form of its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core import BIRTHS, Tensor, born
from ..engine import Value
from ..ops import _kernel
from ..ops._declare import DTYPE, STATIC, TENSOR, TENSOR_OR_NUMBER, TENSOR_OR_STATIC, Op
from ..ops._kernel import Fixed, T, as_given, call_of
from ..tensor.running import keep_layout
from .arguments import NAMES_OF_KINDS, NONE, checked_static, static

if TYPE_CHECKING:
    from ..facts.kinds import Function, Row, Values


#: Families whose results follow the memory order of their operands.
POINTWISE = {"unary", "binary", "comparison", "pointwise"}


class Bound:
    """One op at this floor: the calls made for it so far, by key, and its result's form."""

    __slots__ = ("op", "calls", "returns", "keep_layout", "core")

    def __init__(self, op: Op) -> None:
        self.op = op
        self.calls = {}
        _kernel.caches.append(self.calls)
        self.returns = None
        self.keep_layout = op.family in POINTWISE and op.strides is None
        self.core: Function = None

    def call(self, key: Row) -> Any:
        """The call for a key: one entry for each parameter that is not always a tensor."""
        op = self.op
        entries = iter(key)
        layout: list[Any] = []
        cacheable = True
        for i, p in enumerate(op.params):
            if p.kind == TENSOR:
                layout.append(T)
                continue
            entry = next(entries)
            if p.kind in (STATIC, DTYPE):
                if "float" in p.annotation:
                    entry = as_given(entry)
                fixed = checked_static(op.name, p.name, p.annotation, static(op, p, i + 1, entry))
                cacheable = cacheable and not _has_tensor(entry) and _ordinary(entry, p.annotation)
                layout.append(Fixed(fixed))
            else:
                if type(entry) is Fixed:
                    entry = Fixed(checked_static(op.name, p.name, p.annotation, entry.value))
                layout.append(None if entry is None or entry == NONE else entry)
        if not op.numbers_do and not any(e is T for e in layout):
            self._refuse_numbers(layout)
        found = call_of(op, tuple(layout))
        if cacheable:
            try:
                self.calls[key] = found
            except TypeError:  # an unhashable spelling, such as nested lists
                pass
        return found

    def _refuse_numbers(self, layout: Values) -> None:
        """Raises torch's error if an operand could have been a tensor, but only numbers were
        given."""
        operands = [
            e
            for p, e in zip(self.op.params, layout, strict=True)
            if p.kind in (TENSOR_OR_NUMBER, TENSOR_OR_STATIC) and p.required
        ]
        if operands:
            got = ", ".join(
                type(e.value).__name__
                if isinstance(e, Fixed)
                else NAMES_OF_KINDS.get(e, "NoneType")
                for e in operands
            )
            raise TypeError(
                f"{self.op.name}() received an invalid combination of arguments - got ({got}), but "
                "expected a Tensor too"
            )

    def wrapped(self, values: list[Value]) -> tuple[Tensor, ...]:
        """Several results as tensors."""
        made = []
        for v in values:
            r = _new(Tensor)
            r._v = v
            if BIRTHS:
                r._birth = born()
            made.append(r)
        return tuple(made)

    def finish(self, result: Tensor, tensors: Sequence[Tensor]) -> Any:
        """The result as the caller gets it: memory order, named tuples."""
        if self.keep_layout:
            number = len(tensors) == 1 and self.op.family in ("binary", "comparison")
            for t in tensors:
                if t._strides is not None:
                    if type(result) is tuple:
                        for r in result:
                            keep_layout(r, tensors, number)
                    else:
                        keep_layout(result, tensors, number)
                    break
        if self.returns is not None and type(result) is tuple:
            return self.returns(result)
        return result


def _ordinary(value: Any, annotation: str) -> bool:
    """Whether a static argument is of a type that its parameter says it takes. Others are equal to
    such (``True == 1 == 1.0``), so that what became of them, an error mostly, must not be
    remembered under their key."""
    if type(value) in (tuple, list):
        return all(_ordinary(x, annotation) for x in value)
    if type(value) is bool:
        return "bool" in annotation or annotation in ("", "Any")
    return (
        type(value) is not float
        or any(word in annotation for word in ("float", "Number", "Any"))
        or not annotation
    )


def _has_tensor(value: object) -> bool:
    return isinstance(value, Tensor) or (
        isinstance(value, (list, tuple)) and any(_has_tensor(x) for x in value)
    )


_new = object.__new__
#: By public path.
BOUND: dict[str, Bound] = {}
