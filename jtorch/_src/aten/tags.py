"""The tags of PyTorch's operators, as far as schemas and declarations tell them."""

from __future__ import annotations

import functools

from ..bind.cores import COMPOSITES
from ..facts.tags import Tag
from .kernels import functional_of
from .overloads import OpOverload, OpOverloadPacket


def tags_of(func: OpOverload) -> list[Tag]:
    """What is said of an operator that a program did not define itself."""
    found = []
    if _changes_shape(func):
        found.append(Tag.inplace_view)
    if draws(func):
        found.append(Tag.nondeterministic_seeded)
    return found


def _changes_shape(func: OpOverload) -> bool:
    """Whether an operator writes no elements, but the sizes, strides or memory of the tensor
    itself."""
    schema = func._schema
    if schema.outs or not schema.writes:
        return False
    base = functional_of(func)
    return (base is not None and base.is_view) or func._opname in _laying_out()


def draws(func: OpOverload) -> bool:
    """Whether the generator decides the result: the operator, or another of its name, is given one,
    or drops elements."""
    if func._opname.endswith("_backward"):
        return False
    places = func._schema.places
    return (
        "dropout" in places
        or "dropout_p" in places
        or {"p", "train"} <= places.keys()
        or _takes_generator(func._overloadpacket)
    )


@functools.cache
def _takes_generator(packet: OpOverloadPacket) -> bool:
    return any("generator" in other._schema.places for other in packet.all())


@functools.cache
def _laying_out() -> frozenset[str]:
    return frozenset(c.name for c in COMPOSITES if c.lays_out)
