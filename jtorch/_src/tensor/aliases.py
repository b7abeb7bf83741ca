"""How tensors look at storages, and what counts in a tensor's life: births, changes made in
inference mode. Knows no class of tensors."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ..engine import Meta, Transformed, Value
from .cells import Alias, Storage, bits_of, follow

if TYPE_CHECKING:
    from ...core import Tensor

#: Where counting the changes of a tensor made in inference mode begins. It never gets to 0, and a
#: count below 0 is the mark of such tensors: views share their base's counter, so that they need no
#: mark of their own and other tensors no look at it.
UNCOUNTED = -(1 << 60)
#: The same for ``detach()`` and ``data`` of such tensors outside of inference mode: torch gives
#: these a count of their own, so that they, but none of their views, may be written to.
DETACHED = -(1 << 50)

#: An item for each derivative of a function that is running, in any thread. Only while there are
#: any, new tensors are told their births, so that those that the function captured can be told from
#: its own.
BIRTHS: list[None] = []
_clock = itertools.count(1)


def born() -> int:
    """A number greater than all that were given before."""
    return next(_clock)


#: Views of more bytes that repeat their memory's elements are computed where they are used, mostly
#: as a part of what uses them.
WIDE = 1 << 26


def alias_of(t: Tensor) -> Alias:
    """How ``t`` looks at its storage; gives it one if it had none."""
    al = t._al
    if al is not None:
        if al.storage.moved is not None:
            follow(al)
        return al
    # Two threads may make a view of one tensor at the same moment: both must see one storage, so
    # the loser starts again with the winner's.
    while al is None:
        v = t._v
        storage = Storage(v, t._strides, t._ver)
        if t._address:
            storage.address = t._address
        if t._birth:
            storage.birth = t._birth
        made = Alias(storage, (), v, None, 0, 0)
        # No call between the question and the answer: no other thread comes in between. They look
        # for the value first, so it goes last.
        al = t._al
        if al is None and t._v is v:
            t._al = al = made
            t._v = None
    return al


def start_of(al: Alias) -> int:
    """Where the storage begins in the memory of all examples, in elements as the alias has them, if
    it is that of one example; else 0."""
    storage = al.storage
    value = storage.value
    found = value.start(storage) if isinstance(value, Transformed) else None
    return found * value.aval.dtype.itemsize // al.aval.dtype.itemsize if found else 0


def lazy_bits(t: Tensor) -> tuple[bool, bool]:
    """Whether the tensor shows the conjugates of the numbers in memory, and whether it shows their
    negatives."""
    return (False, False) if t._al is None else bits_of(t._al.chain)


def wide(al: Alias) -> bool:
    """Whether a view is large, and larger than its memory."""
    nbytes = al.aval.nbytes  # of sizes that vary, an expression
    return (
        type(nbytes) is int
        and nbytes > WIDE
        and 0 in al.strides
        and al.aval.size > al.storage.aval.size
    )


def derived(value: Value, source: Value | None) -> None:
    """Notes of what a value was made as a view: what is superseded by writes into one is so for
    both."""
    origin = None
    if source is not None and (origin := source.meta) is None:
        origin = source.meta = Meta()
    if value.meta is None:
        value.meta = Meta(False, None, origin)
    else:
        value.meta.source = origin
