"""Which calls of operations are the same but for sizes: those of operands, and those given as
static numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..engine import Aval, Call
from ..engine.programs import identity
from ..engine.sized import Family, Kin
from ..engine.varying import FEW
from ._declare import OPS, Op

if TYPE_CHECKING:
    from ..facts.kinds import Row


#: In place of a static number that may be a size.
_SIZE = "a size"
families: dict[Any, Family] = {}


def kin_of(op: Op, layout: Row, forward: bool, made: Callable[[Row], Call]) -> Kin:
    """The family of a call of ``op``; ``made`` gives the call for a layout with other sizes."""
    numbers: list[int] = []
    opened = tuple(
        [
            type(entry)(_opened(entry.value, numbers)) if hasattr(entry, "value") else entry
            for entry in layout
        ]
    )
    key = op, opened, forward
    found = families.get(key)
    if found is None:
        own = OPS.get(op.path) is op and op.module.partition(".")[0] in ("jtorch", "torch")
        texts = tuple(
            [("fixed", entry.value) if hasattr(entry, "value") else entry for entry in opened]
        )
        name = identity(op.path, forward, texts) if own else None

        def of(items: Row) -> Call:
            sizes = iter(items)
            return made(
                tuple(
                    [
                        type(entry)(_closed(entry.value, sizes))
                        if hasattr(entry, "value")
                        else entry
                        for entry in opened
                    ]
                )
            )

        found = families.setdefault(key, Family(name, of))
    return Kin(found, tuple(numbers))


def derived_kin(
    call: Call,
    avals: tuple[Aval, ...],
    outs: tuple[Aval, ...],
    how: tuple[object, ...],
    made: Callable[[Call, Any, Any], Call],
    operands: Callable[[Sequence[Aval], Sequence[Aval]], tuple[Aval, ...]],
) -> Kin | None:
    """The family of what is derived from a call for operands and results of certain avals, in the
    way that ``how`` tells apart.

    ``operands`` gives its own operands' avals, by those.
    """
    kin = call.kin
    if kin is None:
        return None
    family = kin.family
    given, n = len(kin.items), len(avals)
    key = how, n, len(outs)
    found = family.derived.get(key)
    if found is None:

        def of(items: tuple[object, ...]) -> Call:
            return made(
                family.made(items[:given]) if given else call,
                items[given : given + n],
                items[given + n :],
            )

        found = family.derived.setdefault(
            key, Family(family.identity and identity("derived", family.identity, *key), of)
        )
    return Kin(found, (*kin.items, *avals, *outs), (call, avals), operands)


def _opened(value: object, numbers: list[int]) -> Any:
    """A static argument without what may be sizes in it, which are added to ``numbers``."""
    if type(value) is int and value >= FEW:
        numbers.append(value)
        return _SIZE
    if type(value) is tuple:
        return tuple([_opened(x, numbers) for x in value])
    return value


def _closed(value: tuple[int | str, ...] | int | str | None, sizes: Iterator[object]) -> Any:
    """The reverse of ``_opened``."""
    if value is _SIZE:
        return next(sizes)
    if type(value) is tuple:
        return tuple([_closed(x, sizes) for x in value])
    return value
