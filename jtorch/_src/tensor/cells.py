"""Storages: the mutable cells that tensors share. A tensor that was never viewed needs none and
holds its value itself."""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import hooks
from ..engine import (
    LOCAL,
    STOPPING,
    THREADS,
    Aval,
    Call,
    Meta,
    Value,
    copied,
    limits,
    numbers_of,
    passing,
    record,
    settled,
)
from ..facts.layouts import contiguous_strides
from .overwriting import put_at_once, region_of

if TYPE_CHECKING:
    from ..facts.kinds import Arguments, Function


_addresses = itertools.count(1)
#: Held by whoever uses memory that is a NumPy array's, or changes where the memory is.
HOST_LOCK = THREADS.new_lock()
#: In place of a version: nothing has been written, since somebody else has.
OVERTAKEN = -2


class Step:
    """One view operation: how to read the view from its parent, and how to write the view back into
    it.

    Attributes:
        get: call of the parent's value (and ``numbers``).
        put: call of the parent's and the view's value (and ``numbers``); None where elements
            repeat.
        geometric: whether shape, strides and offset describe the view; False where the dtype or the
            values change.
        bits: what becomes of the pair (conjugate bit, negative bit); None where both stay.
        repeats: whether elements of the view share memory although it can be written as a whole:
            its parts cannot be written into it.
        stops: whether it is that to the same elements without derivatives.
    """

    __slots__ = ("get", "put", "numbers", "geometric", "bits", "repeats", "stops")

    def __init__(
        self,
        get: Call,
        put: Call | None,
        numbers: Arguments,
        geometric: bool,
        bits: Function | None = None,
    ) -> None:
        self.get, self.put, self.numbers, self.geometric, self.bits = (
            get,
            put,
            numbers,
            geometric,
            bits,
        )
        self.repeats = self.stops = False


class First(Step):
    """The step from flat memory to its first ``numel`` elements, or to all and zeros: memory may
    get another size."""

    __slots__ = ("numel",)

    def __init__(self, get: Call, put: Call | None, numel: int) -> None:
        super().__init__(get, put, (), True)
        self.numel = numel


def bits_of(chain: Sequence[Step]) -> tuple[bool, bool]:
    """Whether what a chain of views shows is the conjugate of the numbers in memory, and whether it
    is their negative."""
    found = (False, False)
    for step in chain:
        if step.bits is not None:
            found = step.bits(*found)
    return found


class Counter:
    """Counts the in-place writes that a family of tensors can see; ``.data`` starts a family of its
    own on the same storage.

    Attributes:
        heeded: whether writes are noticed by ``backward`` although the storage has a counter of its
            own: a tensor given other ``data``.
    """

    __slots__ = ("heeded", "n")

    def __init__(self, n: int = 0, heeded: bool = False) -> None:
        self.n, self.heeded = n, heeded


class Storage:
    """A base value that several tensors look at.

    Attributes:
        value: the base's value, or None while the memory is a NumPy array's (``host``).
        strides: of the base; None means contiguous.
        version: counts all writes, so that views know when to read again.
        moved: the storage that holds the memory since it was given another size.
        counter: what ``Tensor._version`` shows for the tensors that share memory openly.
        birth: when the memory came to be (``core.born``).
        apart: whether tensors that know nothing of each other's history look at it, as after
            ``detach``.
        seen: the values that were read while the memory is NumPy's, the last one before, and those
            written over through ``.data``: the next write that counts supersedes them.
    """

    __slots__ = (
        "value",
        "host",
        "version",
        "strides",
        "aval",
        "address",
        "counter",
        "moved",
        "birth",
        "seen",
        "apart",
        "__weakref__",
    )

    #: the storage that a tensor and its views looked at before they got memory for tangents too
    within: Any = None
    #: a tensor on the memory of the values alone, where there is other memory for tangents
    primal: Any = None
    detach: Any = None  #: makes a tensor without history where there is no data to share
    resizable = True
    refusal: str | None = None  #: why nothing is written there

    def __init__(
        self,
        value: Value | None,
        strides: tuple[int, ...] | None,
        version: int,
        host: np.ndarray | None = None,
        aval: Aval | None = None,
    ) -> None:
        self.value = value
        self.host = host
        self.version = version
        self.strides = strides
        self.aval: Any = aval if value is None else value.aval
        self.address = next(_addresses) << 40
        self.counter = Counter(version)
        self.moved: Storage | None = None
        self.birth = 0
        self.apart = False
        self.seen: weakref.WeakSet[Value | Meta] | None = None

    def overwritten(self, value: Value) -> None:
        """Notes a value that a write has replaced of which ``backward`` is not told: it is of the
        next one that counts."""
        if self.seen is None:
            self.seen = weakref.WeakSet()
        # what was read from it has these facts, and not the value
        self.seen.add(value if value.meta is None else value.meta)

    def touched(self) -> None:
        """Has all who look at the memory read it again."""
        self.version += 1

    def below(self) -> Alias:
        """How ``primal`` looks at its memory."""
        raise NotImplementedError

    def hosted(self, array: np.ndarray, value: Value | None) -> bool:
        """Makes a NumPy array the memory, so that changes made on either side are seen on the
        other; False if ``value``, which is in it, is not what the storage holds any more."""
        seen = None if value is None else weakref.WeakSet((value,))
        # From the question on no call, so that no other thread writes in between: what it wrote
        # would be lost.
        if self.value is not value:
            return False
        self.host = array
        if seen is not None:
            self.seen = seen
        self.value = None
        return True

    def lent(self) -> np.ndarray | None:
        """NumPy's array that the memory is; None if the storage is free of NumPy, whose data it
        takes over if nobody else can see its array any more. Nobody takes it over while the caller
        has it."""
        if self.host is None:
            return None
        with HOST_LOCK:
            # The array is referred to by this slot and the call's argument alone, and owns its
            # memory: no view of it can exist.
            if self.host is not None and sys.getrefcount(self.host) <= 2 and self.host.base is None:
                value = copied(self.host)
                self.version += 1  # what was read from the array may have been written over since
                self.value, self.host = value, None
            return self.host

    def numbers(self) -> np.ndarray | Value | None:
        """What the memory is: an array of NumPy's, or the value that it holds; None where it has
        moved."""
        with HOST_LOCK:
            host = self.lent()
            return self.value if host is None else host

    def put(self, alias: Alias, value: Value, since: int | None = None) -> int:
        """Writes a view's value through its chain into the base; gives the version that this makes.

        With ``since``, a version, nothing is written and ``OVERTAKEN`` given if somebody else has
        written since.
        """
        chain = alias.chain
        if chain:
            chain = writable(alias, chain)
        while True:
            base = self.value
            if base is None:
                if self.moved is not None:
                    follow(alias)
                    return alias.storage.put(alias, value)
                with HOST_LOCK:
                    if since is not None and self.version != since:
                        return OVERTAKEN
                    if (host := self.lent()) is not None:
                        return self._put_in_host(host, alias, chain, value)
                    assert self.value is not None
                continue
            if chain and since is None and put_at_once(self, alias, base, value):
                return self.version
            new = put_through(base, chain, value) if chain else value
            # From the question on no call, so that no other thread comes in between: of two that
            # write, neither loses what it wrote.
            if self.value is base:
                if since is not None and self.version != since:
                    return OVERTAKEN
                self.value = new
                self.version = version = self.version + 1
                return version

    def _put_in_host(
        self, host: np.ndarray, alias: Alias, chain: Sequence[Step], value: Value
    ) -> int:
        target = host_view(host, alias)
        if target is not None:
            np.copyto(target, numbers_of(value))
        else:
            np.copyto(host, numbers_of(put_through(copied(host), chain, value)))
        self.version += 1
        return self.version

    def get(self, alias: Alias) -> Value:
        """The value of a view, now."""
        if LOCAL.trace is None and alias.aval.nbytes > limits.SMALL:
            limits.check_bytes(alias.aval.nbytes, alias.aval.device)
        value = self.value
        if value is None:
            if self.moved is not None:
                follow(alias)
                return alias.storage.get(alias)
            with HOST_LOCK:
                if (host := self.lent()) is not None:
                    found = host_view(host, alias)
                    if found is not None:
                        return copied(found)
                    value = copied(host)
                else:
                    value = self.value
                    assert value is not None
        if alias.direct and (found := self.part(value, alias)) is not None:
            return found
        if STOPPING.within is not None:  # whoever reads it, and where: it is what the memory holds
            with passing():
                return _through(value, alias.chain)
        for step in alias.chain:
            value = record(step.get, (value,), step.numbers)
        return value

    def part(self, value: Value, alias: Alias) -> Value | None:
        """The small view that an alias is, at once from the base's value if that is an array of
        NumPy's; None if it is not."""
        array = value.array
        if (
            type(array) is not np.ndarray
            or self.strides is not None
            or not array.flags.c_contiguous
            or array.dtype != alias.aval.dtype
        ):
            return None
        aval = alias.aval
        shape = aval.shape
        at = alias.offset
        if not shape:
            found = np.asarray(array.reshape(-1)[at])
        elif not aval.size:  # wherever it lies
            found = np.empty(shape, aval.dtype)
        elif alias.contiguous:
            found = (
                array.reshape(shape)
                if aval.size == array.size
                else array.reshape(-1)[at : at + aval.size].reshape(shape).copy()
            )
        else:
            found = region_of(array, alias).copy()
        return settled(found, aval)

    def number(self, alias: Alias) -> Any:
        """The first element of a direct view as a Python number; None if it is not at hand."""
        value = self.value
        if value is None or self.strides is not None:
            return None
        array = value.array
        if (
            type(array) is not np.ndarray
            or not array.flags.c_contiguous
            or array.dtype is not alias.aval.dtype
        ):
            return None
        return array.item(alias.offset)


class ForeignStorage(Storage):
    """A storage whose memory others have a say in, as NumPy or a buffer do, and which can therefore
    not be given another size."""

    __slots__ = ()
    resizable = False


def host_view(host: np.ndarray, alias: Alias) -> np.ndarray | None:
    """The view of NumPy's memory that an alias is, or None where its dtype or its values are
    others."""
    if not alias.chain:
        return host
    if not alias.chain[-1].geometric and not alias.strides and alias.aval.ndim:
        return None
    if any(bits_of(alias.chain)):
        return None
    dtype = alias.aval.dtype
    interface = {
        "version": 3,
        "data": (host.ctypes.data + alias.offset * dtype.itemsize, False),
        "shape": alias.aval.shape,
        "strides": tuple(s * dtype.itemsize for s in alias.strides),
        "typestr": dtype.str,
    }
    return np.asarray(_Memory(interface, host)).view(dtype)


def follow(alias: Alias) -> None:
    """Has an alias look at the memory where it is since it was given another size."""
    before = now = alias.storage
    while now.moved is not None:
        now = now.moved
    base = now.aval if now.value is None else now.value.aval
    chain = alias.chain
    # the memory had become too small in between, and may have grown again
    if chain and isinstance(chain[0], First):
        chain, shape, strides = chain[1:], (chain[0].numel,), (1,)
    else:
        shape, strides = before.aval.shape, before.strides or contiguous_strides(before.aval.shape)
    if base.shape != shape or base.dtype != before.aval.dtype or strides != (1,):
        chain = (*hooks.memory_steps(base, None, shape, strides, 0, before.aval.dtype), *chain)
    alias.strided = alias.direct = False
    alias.chain = chain
    alias.version = -1
    alias.storage = now


def rejoin(alias: Alias) -> bool:
    """Has a view look at the memory that its base has moved to, or come back to; tells whether it
    has."""
    if alias.storage.moved is not None:
        follow(alias)
    base = alias.base
    if base is None or (al := base._al) is None or (mine := alias.storage) is (its := al.storage):
        return False
    if _is_within(mine, its):
        look_from(alias, its)
    elif _is_within(its, mine):
        while alias.storage is not its:
            look_below(alias)
    else:
        return False  # the base was given other data
    return True


def _is_within(inner: Storage, storage: Storage | None) -> bool:
    while storage is not None and storage is not inner:
        storage = storage.within
    return storage is inner


def look_from(alias: Alias, storage: Storage) -> None:
    """Has an alias look at a storage with memory for tangents on its own, in which nothing is
    detached."""
    alias.chain = tuple([step for step in alias.chain if not step.stops])
    alias.strided = alias.direct = False
    alias.version = -1
    alias.storage = storage


def look_below(alias: Alias) -> None:
    """Has an alias look at the memory of the values alone, where there is other memory for
    tangents."""
    below = alias.storage.below()
    alias.chain = (*below.chain, *alias.chain)
    alias.offset += below.offset
    alias.strided = alias.direct = False
    alias.version, alias.value = -1, None
    alias.storage = below.storage


class _Memory:
    """Lets NumPy make an array of a piece of another array's memory, which it keeps alive."""

    def __init__(self, interface: Mapping[str, object], owner: np.ndarray) -> None:
        self.__array_interface__ = interface
        self.owner = owner


def writable(alias: Alias, chain: Sequence[Step]) -> Sequence[Step]:
    """The chain, or where a step of it repeats elements, the strided look at the memory that comes
    to the same."""
    if not repeating(chain):
        return chain
    storage = alias.storage
    base = storage.aval if storage.value is None else storage.value.aval
    return hooks.memory_steps(
        base,
        storage.strides,
        alias.aval.shape,
        alias.strides,
        alias.offset,
        alias.aval.dtype,
        bits_of(chain),
    )


def repeating(chain: Sequence[Step]) -> bool:
    """Whether a view cannot be written step by step, as one of them repeats elements."""
    return any(step.put is None or (step.repeats and step is not chain[-1]) for step in chain)


def _through(value: Value, chain: Sequence[Step]) -> Value:
    for step in chain:
        value = record(step.get, (value,), step.numbers)
    return value


def put_through(base: Value, chain: Sequence[Step], value: Value) -> Value:
    """The base's new value after ``value`` was written to the view that ``chain`` describes."""
    parents = [base]
    for step in chain[:-1]:
        parents.append(record(step.get, (parents[-1],), step.numbers))
    for step, parent in zip(reversed(chain), reversed(parents), strict=True):
        assert step.put is not None
        value = record(step.put, (parent, value), step.numbers)
    return value


OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location. Please clone() the tensor before performing the operation."
)


class Copied(Storage):
    """The memory of a copy, where PyTorch has a view: what is written there would be lost."""

    __slots__ = ()

    refusal = (
        "x[i] is a copy where JAX traces the index and x is a constant, so that what is written "
        "into it would be lost: write x[i] = ..., clone() it first, or make x of something that is "
        "traced."
    )


class Alias:
    """How one tensor looks at a storage.

    Attributes:
        value, version: the view's value and the storage version at which it was read.
        base: the tensor whose history this one shares (None for a base, and after ``detach``).
        gen: the write count at which this tensor's history was made.
        aval, strides, offset: the geometry, which views of NumPy's memory are read by.
        strided: that geometry tells all about the view of a storage's value; ``direct``: that it is
            small as well, and computed when it is read; ``contiguous``: of these, that it is in one
            piece.
        origin: ``"no_grad"``, ``"multi"`` or ``"function"`` for views that in-place operations
            treat specially under autograd.
    """

    __slots__ = (
        "storage", "chain", "value", "version", "base", "gen", "offset", "origin", "aval",
        "strides", "counter", "strided", "direct", "contiguous",
    )  # fmt: skip

    #: what the class of a wrapper computes of what its tensors tell, which ``told`` gives then
    asks: frozenset[str] = frozenset()
    told: Callable[..., object]

    def __init__(
        self,
        storage: Storage,
        chain: tuple[Step, ...],
        value: Value | None,
        base: Any,
        gen: int,
        offset: int,
    ) -> None:
        self.storage, self.chain, self.value = storage, chain, value
        self.version = storage.version if value is not None else -1
        self.base, self.gen, self.offset = base, gen, offset
        self.origin: str | None = None
        self.aval: Aval = storage.aval if value is None else value.aval
        self.strides: tuple[int, ...] = ()
        self.counter = storage.counter
        self.strided = self.direct = False

    def now(self, value: Value, version: int) -> None:
        """Takes note of the view's value at a version of the storage, which must not be a later one
        than the value's."""
        before = self.value  # kept until the end: freeing it could let another thread in between
        self.value = value
        self.version = version
        del before
