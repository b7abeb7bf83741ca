"""The memory of dual tensors: that of the value that a tangent was given to, and that of the
tangent."""

from __future__ import annotations

import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

from .._src.engine import Laid, Lifted, Transformed, Value
from .._src.facts.errors import not_offered
from .._src.tensor.cells import Alias, Storage, look_below, look_from, put_through, rejoin, writable
from .._src.tensor.running import converted
from .._src.tensor.view_steps import detaching
from .._src.tensor.writing import assign
from ..core import Tensor, alias_of, detached, from_value, lazy_bits
from . import dual
from .grad_mode import FORWARD, MODE

if TYPE_CHECKING:
    from .._src.tensor.cells import Counter, Step


_new = object.__new__


class Paired(Storage):
    """A storage whose value is a dual one, read from two other storages and written into both.

    Attributes:
        of: the tensor that was given a tangent, while it lives; None where a tensor got its tangent
            by being written.
        primal: a tensor without history on its memory.
        tangent: the tensor that holds the tangent.
        pair: what was read last, made of ``read``; ``n`` counts how often it was another one.
    """

    __slots__ = ("level", "n", "of", "pair", "primal", "read", "tangent", "within")
    resizable = False

    def __init__(self, primal: Tensor, tangent: Tensor, level: dual.Level) -> None:
        self.primal, self.tangent, self.level = detached(primal, False), tangent, level
        self.of = weakref.ref(primal)
        self.pair: Any = None
        self.read: Any = None
        self.n = 0
        al = alias_of(self.primal)
        self.host = self.moved = self.seen = self.within = None
        self.apart = False
        self.strides, self.aval, self.counter, self.birth = (
            primal._strides,
            al.aval,
            al.counter,
            al.storage.birth,
        )
        self.address = al.storage.address + al.offset * al.aval.dtype.itemsize

    @property
    def value(self) -> Value:
        """What is there now; the value alone when the level has ended."""
        p, t = self.primal._read(), self.tangent._read()
        found = self.pair
        if not self.level.alive:
            if found is not p:
                self.pair, self.read = p, None
                self.n += 1
        elif self.read is None or self.read[0] is not p or self.read[1] is not t:
            self.pair, self.read = _joined(p, t, self.level), (p, t)
            self.n += 1
        return self.pair

    @property
    def version(self) -> int:
        """Grows whenever one of the two was written, whoever did it."""
        return self.n if self.value is self.pair else -1

    def put(self, alias: Alias, value: Value, since: int | None = None) -> int:
        """Writes the value, and the tangent: zeros if there is none, as after ``fill_``."""
        if MODE.enabled and (of := self.of()) is not None and of._rg:
            if of._node is None:
                raise RuntimeError(
                    "a view of a leaf Variable that requires grad is being used in an in-place "
                    "operation."
                )
            raise not_offered(
                "a write into a dual tensor whose value has come to require grad since",
                "the two share no history",
            )
        if alias.chain:
            value = put_through(self.value, writable(alias, alias.chain), value)
        value, tangent = _split(value, self.level)
        _put(self.primal, value)
        if tangent is not None:
            held = self.tangent._read()
            if (
                self.within is not None
                and isinstance(tangent, Lifted)
                and not tangent.may_replace(held)
            ):
                # of each example, where there were zeros for all
                self.tangent = from_value(tangent)
                self.tangent._strides = self.strides
            elif tangent is not held:
                assign(self.tangent, tangent, None)
        elif self.level.alive and FORWARD.enabled:
            assign(self.tangent, dual.zeros_like(self.tangent._read()), None)
        return self.version

    def touched(self) -> None:
        """Has all who look at the pair read it again."""
        self.n += 1

    def below(self) -> Alias:
        """How the tensor without history looks at the memory of the values."""
        return alias_of(self.primal)

    def plain(self, t: Tensor) -> Tensor:
        """The value of a tensor on this memory, as one on the memory of the value alone: what NumPy
        may share."""
        return _part(self.primal, t._al, t, _split(t._read(), self.level)[0])

    def give_up(self, root: Tensor | None) -> None:
        """Has a tensor look at the memory of its values alone again, which its views find out when
        they are read."""
        if root is not None and (al := root._al) is not None and al.storage is self:
            root._al = back = Alias(self, al.chain, None, None, al.gen, al.offset)
            back.origin, back.aval, back.strides, back.counter = (
                al.origin,
                al.aval,
                al.strides,
                al.counter,
            )
            look_below(back)
            self.touched()


def _joined(p: Value, t: Value, level: dual.Level) -> Value:
    """The value and the tangent as one; those of examples, example by example."""
    if (
        isinstance(p, Transformed)
        and p.order > level.order
        and type(p) is type(t) is not dual.Dual
        and p.level is t.level
    ):
        return p.over(_joined(p.physical, t.physical, level))
    return dual.dual(p, t, level)


def _split(v: Any, level: dual.Level) -> tuple[Value, Value | None]:
    """What ``_joined`` made one of; None if there is no tangent."""
    if type(v) is dual.Dual:
        return (v.primal, v.tangent) if v.level is level else (v, None)
    if isinstance(v, Transformed):
        inner: Any = v
        p, t = _split(inner.physical, level)
        if t is not None:
            return v.over(p), v.over(t)
    return v, None


class _Held(Alias):
    """How a dual tensor looks at its storage, which it shares with two others even if no tensor but
    itself looks at it."""

    __slots__ = ("keeps",)


def _put(t: Tensor, v: Value) -> None:
    """Writes into the value's memory; the dual tensor's change, which shares the counter, has been
    counted."""
    alias_of(t).counter.n -= 1
    assign(t, v, None)


def make(primal: Tensor, tangent: Tensor, level: dual.Level) -> Tensor:
    """The tensor of a value and its tangent, on the memory of both; of a copy of the tangent where
    that has another layout.

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


def set_apart(t: Tensor, v: Transformed) -> None:
    """Where detached tensors look at the memory of a tensor that is about to get its first tangent,
    gives that and its views other memory for tangents: the others are to see the numbers alone."""
    if not FORWARD.enabled:
        return
    root = t if (al := t._al).base is None else al.base
    missing = _levels(v).difference(_levels(root._read()))
    if not missing or (al := root._al) is None:
        return
    level = max(missing, key=lambda found: found.order)
    storage, cut = al.storage, any(step.stops for step in al.chain)
    if (
        not (cut or storage.apart or storage.host is not None or storage.primal is not None)
        or not storage.aval.differentiable
    ):
        return
    if not cut and type(storage) is Paired and storage.level.order >= level.order:
        return  # an outer level's tangent, for its value
    whole = _all_of(storage, al.counter, (detaching(),) if cut else ())
    zeros = from_value(dual.zeros_like(whole._read()))
    zeros._strides = storage.strides
    paired = Paired(whole, zeros, level)
    paired.within = storage
    held = _Held(storage, al.chain, None, None, al.gen, al.offset)
    held.origin, held.aval, held.strides, held.counter, held.keeps = (
        al.origin,
        al.aval,
        al.strides,
        al.counter,
        paired,
    )
    look_from(held, paired)
    root._al = held
    storage.touched()  # so that views find out when they are read
    level.ends.append(partial(_end, weakref.ref(root), paired))
    if t is not root:
        rejoin(t._al)


def _end(root: Any, paired: Paired) -> None:
    paired.give_up(root())


def _all_of(storage: Storage, counter: Counter, chain: tuple[Step, ...]) -> Tensor:
    """A tensor without history on all of a storage."""
    r = _new(Tensor)
    r._al = al = Alias(storage, chain, None, None, 0, 0)
    al.counter = counter
    r._strides = storage.strides
    return r


def _levels(v: object) -> set[dual.Level]:
    """The levels that go on and of which a value has a tangent."""
    found = set()
    while isinstance(v, Transformed):
        if type(v) is dual.Dual and v.level.alive:
            found.add(v.level)
        v = v.primal if type(v) is dual.Dual else getattr(v, "physical", None)
    return found


def _without_memory(t: Tensor) -> bool:
    return isinstance(t._read(), Laid) or alias_of(t).storage.detach is not None


def _alike(primal: Tensor, tangent: Tensor) -> bool:
    """Whether the two lie in their memories alike."""
    if (
        tangent._aval.dtype != primal._aval.dtype
        or tangent._strides != primal._strides
        or lazy_bits(tangent) != lazy_bits(primal)
    ):
        return False
    if any(hasattr(t._read(), "physical") for t in (primal, tangent)):
        return True  # one of them is an example of a vmap, whose memory has gaps
    one, two = alias_of(primal), alias_of(tangent)
    return (
        one.offset == two.offset or not primal._aval.size
    ) and one.storage.aval.size == two.storage.aval.size


def _copied(primal: Tensor, tangent: Tensor) -> Tensor:
    """The tangent in memory of its own, laid out as the value is."""
    made = from_value(converted(tangent, primal._aval.torch_dtype)._read())
    made._strides = primal._strides
    return made


def unpack(t: Tensor, level: dual.Level) -> tuple[Tensor, Tensor] | None:
    """A dual tensor's value and tangent, or those of a part of it, on the memory of each; None
    where it has other memory, or a history."""
    al = t._al
    if (
        al is None
        or type(storage := al.storage) is not Paired
        or storage.level is not level
        or (MODE.enabled and t._rg)
    ):
        return None
    value, tangent = _split(t._read(), level)
    if tangent is None:
        return None
    return _part(storage.primal, al, t, value), _part(
        storage.tangent, al, t, tangent
    ) if al.chain else storage.tangent


def _part(whole: Tensor, of: Alias, t: Tensor, value: Value) -> Tensor:
    """The part of ``whole`` that ``t`` is of its pair."""
    r = detached(whole, False)
    al: Any = r._al
    r._al = mine = Alias(al.storage, (*al.chain, *of.chain), value, None, 0, al.offset + of.offset)
    mine.aval, mine.strides, mine.counter = of.aval, of.strides, al.counter
    r._strides = t._strides
    return r
