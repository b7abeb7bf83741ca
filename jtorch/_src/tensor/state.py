"""What a program has set on a tensor: attributes, slots of subclasses, and what classes say of
themselves when they are copied or saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core import Tensor

if TYPE_CHECKING:
    from ..facts.kinds import Tree


#: What tensors are made of: attributes with defaults in the class.
PARTS = frozenset(Tensor.__annotations__)


def slots_of(cls: type) -> list[str]:
    """The slots that subclasses of Tensor have declared."""
    found: list[str] = []
    for base in cls.__mro__[: cls.__mro__.index(Tensor)]:
        names = base.__dict__.get("__slots__", ())
        found += [
            n
            for n in ((names,) if isinstance(names, str) else names)
            if n not in ("__dict__", "__weakref__")
        ]
    return found


def state_of(t: Tensor) -> Tree:
    """The state of a tensor: what its class's ``__getstate__`` gives, else its attributes, with its
    slots behind them if it has any."""
    cls = type(t)
    if "__getstate__" in _defined(cls):
        return t.__getstate__()
    attributes = attributes_of(t)
    slots = {n: getattr(t, n) for n in slots_of(cls) if hasattr(t, n)}
    return (attributes, slots) if slots else attributes


def attributes_of(t: Tensor) -> dict[str, object]:
    """What a program has set on a tensor; classes for other layouts name what else their tensors
    are made of (``_made_of``)."""
    own = getattr(type(t), "_made_of", ())
    return {k: v for k, v in getattr(t, "__dict__", {}).items() if k not in PARTS and k not in own}


def restored(t: Tensor, state: tuple[object, ...] | dict[str, object]) -> Tensor:
    """The tensor, with a state: by its class's ``__setstate__``, else attribute by attribute
    (``put``)."""
    if "__setstate__" in _defined(type(t)):
        t.__setstate__(state)
        return t
    return put(t, state)


def put(t: Tensor, state: Any) -> Tensor:
    """The tensor, with the attributes and slots of a state: what a class's own ``__setstate__`` may
    go on with.

    Raises:
        RuntimeError: for a state that ``state_of`` does not give.
    """
    if isinstance(state, tuple) and len(state) != 2:
        raise RuntimeError(f"Invalid serialized state: {state}")
    for part in state if isinstance(state, tuple) else (state,):
        for name, value in (part or {}).items():
            # files must not reach what a tensor is made of
            if name.startswith("_") and hasattr(Tensor, name):
                raise RuntimeError(
                    f"Invalid serialized state: {name!r} is not an attribute that programs set"
                )
            setattr(t, name, value)
    return t


def _defined(cls: type) -> set[str]:
    """The names that subclasses of Tensor define."""
    return {name for base in cls.__mro__[: cls.__mro__.index(Tensor)] for name in base.__dict__}
