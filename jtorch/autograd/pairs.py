"""The memory of dual tensors: that of the value that a tangent was given to, and that of the tangent."""

from __future__ import annotations

import weakref
from typing import Any

from .._src.engine import Laid, Value
from .._src.facts.errors import not_offered
from .._src.tensor.cells import Alias, Storage, put_through, writable
from .._src.tensor.running import converted
from .._src.tensor.view_steps import detaching
from .._src.tensor.writing import assign
from ..core import Tensor, alias_of, detached, from_value, lazy_bits
from . import dual
from .grad_mode import MODE


class Paired(Storage):
    """A storage whose value is a dual one, read from two other storages and written into both.

    Attributes:
        of: the tensor that was given a tangent, while it lives.
        primal: a tensor without history on its memory.
        tangent: the tensor that holds the tangent.
        pair: what was read last; ``n`` counts how often it was another one.
    """

    __slots__ = ("level", "n", "of", "pair", "primal", "tangent")
    resizable = False

    def __init__(self, primal: Tensor, tangent: Tensor, level: dual.Level) -> None:
        self.primal, self.tangent, self.level = detached(primal, False), tangent, level
        self.of = weakref.ref(primal)
        self.pair: Any = None
        self.n = 0
        al = alias_of(self.primal)
        self.host = self.moved = self.seen = None
        self.strides, self.aval, self.counter, self.birth = primal._strides, al.aval, al.counter, al.storage.birth
        self.address = al.storage.address + al.offset * al.aval.dtype.itemsize

    @property
    def value(self) -> Value:
        """What is there now; the value alone when the level has ended."""
        p, t = self.primal._read(), self.tangent._read()
        found = self.pair
        if not self.level.alive:
            if found is not p:
                self.pair = found = p
                self.n += 1
        elif type(found) is not dual.Dual or found.primal is not p or found.tangent is not t:
            self.pair = found = dual.dual(p, t, self.level)
            self.n += 1
        return found

    @property
    def version(self) -> int:
        """Grows whenever one of the two was written, whoever did it."""
        return self.n if self.value is self.pair else -1

    def put(self, alias: Alias, value: Value) -> int:
        """Writes the value, and the tangent: zeros if there is none, as after ``fill_``; not what a detached tensor shows nothing of."""
        if MODE.enabled and (of := self.of()) is not None and of._rg:
            if of._node is None:
                raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
            raise not_offered("a write into a dual tensor whose value has come to require grad since", "the two share no history")
        chain, paired = alias.chain, _is_of(value, self.level)
        if chain and not paired and any(step.get is detaching().get for step in chain):
            _put(self.primal, put_through(self.primal._read(), writable(alias, chain), value))
            return self.version
        if chain:
            value = put_through(self.value, writable(alias, chain), value)
            paired = _is_of(value, self.level)
        _put(self.primal, value.primal if paired else value)
        if paired:
            assign(self.tangent, value.tangent, None)
        elif self.level.alive and dual.FORWARD.enabled:
            assign(self.tangent, dual.zeros_like(self.tangent._read()), None)
        return self.version

    def plain(self, t: Tensor) -> Tensor:
        """The value of a tensor on this memory, as one on the memory of the value alone: what NumPy may share."""
        v: Any = t._read()
        return _part(self.primal, t._al, t, v.primal if _is_of(v, self.level) else v)


def _is_of(v: Value, level: dual.Level) -> bool:
    return type(v) is dual.Dual and v.level is level


class _Held(Alias):
    """How a dual tensor looks at its storage, which it shares with two others even if no tensor but itself looks at it."""

    __slots__ = ("keeps",)


def _put(t: Tensor, v: Value) -> None:
    """Writes into the value's memory; the dual tensor's change, which shares the counter, has been counted."""
    alias_of(t).counter.n -= 1
    assign(t, v, None)


def make(primal: Tensor, tangent: Tensor, level: dual.Level) -> Tensor:
    """The tensor of a value and its tangent, on the memory of both; of a copy of the tangent where that has another layout.

    Where one of them has a history that is recorded, the result has memory of its own.
    """
    tracked = MODE.enabled and (primal._rg or tangent._rg)
    if tracked or _without_memory(primal) or _without_memory(tangent):
        return dual.enter(primal, tangent, level)
    if not _alike(primal, tangent):
        tangent = _copied(primal, tangent)
    storage = Paired(primal, tangent, level)
    v = storage.value
    made = from_value(v)
    made._strides = primal._strides
    made._al = al = _Held(storage, (), v, None, 0, 0)
    al.keeps = storage
    made._v = None
    return made


def _without_memory(t: Tensor) -> bool:
    return isinstance(t._read(), Laid) or alias_of(t).storage.detach is not None


def _alike(primal: Tensor, tangent: Tensor) -> bool:
    """Whether the two lie in their memories alike."""
    if tangent._aval.dtype != primal._aval.dtype or tangent._strides != primal._strides or lazy_bits(tangent) != lazy_bits(primal):
        return False
    if any(hasattr(t._read(), "physical") for t in (primal, tangent)):
        return True  # one of them is an example of a vmap, whose memory has gaps
    one, two = alias_of(primal), alias_of(tangent)
    return (one.offset == two.offset or not primal._aval.size) and one.storage.aval.size == two.storage.aval.size


def _copied(primal: Tensor, tangent: Tensor) -> Tensor:
    """The tangent in memory of its own, laid out as the value is."""
    made = from_value(converted(tangent, primal._aval.torch_dtype)._read())
    made._strides = primal._strides
    return made


def unpack(t: Tensor, level: dual.Level) -> tuple[Tensor, Tensor] | None:
    """A dual tensor's value and tangent, or those of a part of it, on the memory of each; None where it has other memory, or a history."""
    al = t._al
    if al is None or type(storage := al.storage) is not Paired or storage.level is not level or (MODE.enabled and t._rg):
        return None
    v: Any = t._read()
    if not _is_of(v, level):
        return None
    return _part(storage.primal, al, t, v.primal), _part(storage.tangent, al, t, v.tangent) if al.chain else storage.tangent


def _part(whole: Tensor, of: Alias, t: Tensor, value: Value) -> Tensor:
    """The part of ``whole`` that ``t`` is of its pair."""
    r = detached(whole, False)
    al: Any = r._al
    r._al = mine = Alias(al.storage, (*al.chain, *of.chain), value, None, 0, al.offset + of.offset)
    mine.aval, mine.strides, mine.counter = of.aval, of.strides, al.counter
    r._strides = t._strides
    return r
