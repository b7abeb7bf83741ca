"""Data loading, checkpointing, trees and hooks."""

from __future__ import annotations

import copyreg
import importlib
import weakref
from typing import Any

from .._src.tensor.own_attributes import OwnRef, everything, take_over
from ..core import Tensor

#: Loaded when first touched: most programs need one of them.
_SUBMODULES = ("_pytree", "checkpoint", "data", "hooks")


def set_module(obj: object, mod: str) -> None:
    """Says that an object belongs to the module named ``mod``."""
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def swap_tensors(t1: Any, t2: Any) -> None:
    """Exchanges the contents of two tensors (data, class, attributes), which stay the objects they
    are.

    Differs from torch: a graph recorded before keeps adding to the ``grad`` of the objects it was
    recorded with.

    Raises:
        RuntimeError: if one of them has weak references, or their classes have different slots.
    """
    for name, t in (("t1", t1), ("t2", t2)):
        if any(not isinstance(ref, OwnRef) for ref in weakref.getweakrefs(t)):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    _exchange(t1, t2)


def _exchange(t1: Tensor, t2: Tensor) -> None:
    """Exchanges the contents of two tensors, whoever refers to them.

    Raises:
        RuntimeError: if their classes have different slots.
    """
    slots = set(copyreg._slotnames(type(t1)))
    if slots != set(copyreg._slotnames(type(t2))):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    first, second = (
        {slot: getattr(t, slot) for slot in slots if hasattr(t, slot)} for t in (t1, t2)
    )
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    mine, its = everything(t1), everything(t2)
    take_over(t1, its)
    take_over(t2, mine)
    for t, values in ((t1, second), (t2, first)):
        for slot in slots:
            if slot in values:
                setattr(t, slot, values[slot])
            elif hasattr(t, slot):
                delattr(t, slot)


def __getattr__(name: str) -> Any:
    try:
        return importlib.import_module(f"{__name__}.{name}")
    # also of a package that a module needs: asking whether there is such an attribute is no import
    except ModuleNotFoundError as error:
        why = None if error.name == f"{__name__}.{name}" else error
    raise AttributeError(f"module 'torch.utils' has no attribute '{name}'") from why
