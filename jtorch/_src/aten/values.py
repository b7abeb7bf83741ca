"""Tensors without data: how a wrapper looks to the floors below, which read values and record calls
on them.

Reading a wrapper gives a ``Held`` value: every call on it comes back up as an operator, so that
functions written for plain tensors serve wrappers too. The same is done to plain tensors while a
dispatch mode is on, where a function has no operator of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...core import BIRTHS, Tensor, born, contiguous_strides, from_value
from ..engine import SPECIAL, Aval, Lifted, Value
from ..tensor.cells import Alias, Storage
from ..tensor.own_attributes import OwnRef
from .overloads import aten
from .state import Below

if TYPE_CHECKING:
    from ..facts.kinds import Row


_new = object.__new__


class Unreadable(RuntimeError):
    """What looking at the data of a tensor that has none raises."""


class Held(Lifted):
    """A value that stands for a whole tensor."""

    __slots__ = ("tensor",)

    tensor: Any
    #: Runs a call as operators; set by ``lowering``.
    runner: Callable[..., object]

    def run(self, call: object, ins: Sequence[Value], numbers: tuple[object, ...]) -> Any:
        """Runs the call as operators on the tensors that the values stand for."""
        return Held.runner(call, ins, numbers)

    def unreadable(self, what: str = "item") -> Exception:
        """The error for reading it on the host."""
        return Unreadable(f".{what}() is not supported for tensor subclasses.")


def held(t: Tensor) -> Held:
    """The value that stands for ``t``."""
    v = _new(Held)
    v.aval = t._aval
    v.array, v.index, v.meta, v.trace = None, 0, None, SPECIAL
    v.tensor = t
    return v


class NoData(Storage):
    """The storage of a wrapper: metadata only."""

    __slots__ = ()

    def detach(self, t: Tensor) -> Tensor:
        """A tensor without history, as the wrapper's own operator gives it."""
        with Below():
            return aten.detach.default(t)

    def __init__(self, aval: Aval, strides: tuple[int, ...] | None) -> None:
        super().__init__(None, strides, 0, aval=aval)
        if BIRTHS:
            self.birth = born()

    def get(self, alias: Alias) -> Value:
        """The value that stands for the wrapper."""
        t = alias.tensor() if isinstance(alias, Look) else None
        if t is None:
            raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
        return held(t)

    def put(self, alias: Alias, value: Value, since: int | None = None) -> int:
        """Refused: only the wrapper's own operators write to it."""
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


class Look(Alias):
    """How a wrapper looks at its storage. The value is made anew each time, so that the two do not
    keep each other alive."""

    __slots__ = ("tensor", "seen", "made", "rebased")

    def __init__(self, t: Tensor, storage: NoData, aval: Aval, offset: int) -> None:
        super().__init__(storage, (), None, None, 0, offset)
        self.tensor = OwnRef(t)
        self.aval = aval
        #: For a view, the wrapper it was taken of and the steps from there.
        self.seen: tuple[Tensor, Row] | None = None
        #: How often the history was replaced by an in-place change, and for a view, at which count
        #: of its base its own was made.
        self.rebased = self.made = 0

    @property
    def value(self) -> Value:
        """The value that stands for the wrapper."""
        t = self.tensor()
        assert t is not None
        return held(t)

    @value.setter
    def value(self, _v: Value | None) -> None:
        pass

    @property
    def version(self) -> int:
        """Never that of the storage, so that the value is always asked for."""
        return -1

    @version.setter
    def version(self, _n: int) -> None:
        pass


def tensor_of(v: Value) -> Tensor:
    """The tensor that a value stands for, or a new one on it."""
    return v.tensor if type(v) is Held else from_value(v)


def shadow(t: Tensor) -> Tensor:
    """A plain tensor whose value stands for ``t``."""
    made = from_value(held(t))
    made._strides = t._strides
    return made


def strides_or_none(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...] | None:
    """Strides as tensors keep them: None for the usual ones."""
    return None if tuple(strides) == contiguous_strides(shape) else tuple(strides)
