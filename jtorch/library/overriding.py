"""Other kernels for PyTorch's own operators: a dispatch mode that every call of the program then
goes through."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch

from .._src.aten.calling import operands
from .._src.aten.composite_operators import parts_of
from .._src.aten.overloads import OpOverload, namespace_of
from .._src.aten.state import EVERYWHERE, STATE, push, remove
from .._src.facts.errors import not_offered
from ..dispatch import _count

if TYPE_CHECKING:
    from .definitions import Library


_DEVICES = {"CPU": "cpu", "CUDA": "cuda", "XPU": "xpu", "MPS": "mps", "XLA": "xla", "Meta": "meta"}


class _Kernels:
    """The dispatch mode that runs the kernels that programs have registered.

    Attributes:
        known: by operator and type of device, with whose they are; the last one counts.
    """

    def __init__(self) -> None:
        self.known: dict[tuple[OpOverload, str], list[tuple[int, Callable[..., Any]]]] = {}

    def __enter__(self) -> None:
        push(self)

    def __exit__(self, *exc: object) -> None:
        remove(self)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """True: programs' own modes come before it."""
        return True

    def __torch_dispatch__(
        self, func: Any, types: object, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        del types
        kwargs = kwargs or {}
        values = func.complete(args, kwargs)
        tensors = operands(func, values)
        place = func._schema.places.get("device")
        asked = (
            torch.device("cpu")
            if place is None or values[place] is None
            else torch.device(values[place])
        )
        found = self.known.get((func, tensors[0].device.type if tensors else asked.type))
        if not found:
            return func(*args, **kwargs)
        with self:  # the kernel's own calls look for others
            return found[-1][1](*args, **kwargs)


_KERNELS = _Kernels()


def override(library: Library, name: object, fn: Callable[..., object], key: str) -> None:
    """Gives an operator another kernel for a device, as long as a library is there.

    Raises:
        NotImplementedError: for another key, and for operators that are written with others before
            kernels are looked for.
        RuntimeError: for an operator that there is not.
    """
    func = name if isinstance(name, OpOverload) else _named(library.ns, str(name))
    if key.startswith("Composite"):
        return  # the kernels for devices, which there are, come first
    if key not in _DEVICES:
        name = f"Library.impl(dispatch_key={key!r}) of an operator of PyTorch's"
        raise not_offered(name, "only devices have kernels here; use a dispatch mode")
    if parts_of(func) is not None:
        raise not_offered(
            f"Library.impl of {func}",
            "it is written with other operators, which can be given other kernels",
        )
    _KERNELS.known.setdefault((func, _DEVICES[key]), []).append((id(library), fn))
    if _KERNELS not in EVERYWHERE:
        EVERYWHERE.append(_KERNELS)
    if _KERNELS not in STATE.modes:
        STATE.modes.insert(0, _KERNELS)
        _count(1)
    weakref.finalize(library, forget, id(library))


def _named(namespace: str, name: str) -> OpOverload:
    packet, _, overload = name.rpartition("::")[2].partition(".")
    try:
        return getattr(getattr(namespace_of(namespace), packet), overload or "default")
    except AttributeError:
        raise RuntimeError(
            f"Could not find schema for {namespace}::{packet}{'.' * bool(overload)}{overload}"
        ) from None


def forget(owner: int) -> None:
    """Takes out the kernels of a library; without any, calls are as quick as before."""
    for where, found in list(_KERNELS.known.items()):
        found[:] = [item for item in found if item[0] != owner]
        if not found:
            del _KERNELS.known[where]
    if not _KERNELS.known and _KERNELS in EVERYWHERE:
        EVERYWHERE.remove(_KERNELS)
        if _KERNELS in STATE.modes:
            STATE.modes.remove(_KERNELS)
            _count(-1)
