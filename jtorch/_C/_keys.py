"""The keys of PyTorch's dispatcher, as names: nothing is dispatched by them here."""

from __future__ import annotations

import enum
import re

from .._src import hooks as _hooks
from .._src.facts.errors import not_offered

_ORDER = """
    Undefined Dense=1 Quantized=5 Sparse=8 SparseCsr NestedTensor BackendSelect=11 Python=13
    FuncTorchDynamicLayerBackMode Functionalize Conjugate=16 Negative ZeroTensor ADInplaceOrView
    AutogradOther AutogradFunctionality AutogradNestedTensor AutocastCPU=24 AutocastMPS=31
    AutocastXPU=27 AutocastHPU=29 AutocastIPU=28 AutocastCUDA=32 AutocastPrivateUse1
    FuncTorchBatched=34 FuncTorchVmapMode=36 FuncTorchGradWrapper=39 PythonTLSSnapshot=41
    FuncTorchDynamicLayerFrontMode PreDispatch=45 PythonDispatcher Autograd=150
    CompositeImplicitAutograd FuncTorchBatchedDecomposition CompositeImplicitAutogradNestedTensor
    CompositeExplicitAutograd CompositeExplicitAutogradNonFunctional
"""
_BACKENDS = (
    "CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 PrivateUse2 PrivateUse3 Meta"
).split()
#: Functionality -> the number before that of its first backend.
_PER_BACKEND = {
    "Dense": 48,
    "Quantized": 65,
    "Sparse": 82,
    "SparseCsr": 99,
    "NestedTensor": 116,
    "Autograd": 133,
}


def _members() -> dict[str, int]:
    found: dict[str, int] = {}
    number = -1
    for name, given in re.findall(r"(\w+)(?:=(\d+))?", _ORDER):
        number = int(given) if given else number + 1
        found[name] = number
    for functionality, start in _PER_BACKEND.items():
        prefix = "" if functionality == "Dense" else functionality
        bounds = "AutogradFunctionality" if functionality == "Autograd" else functionality
        found[f"StartOf{bounds}Backends"] = start
        found |= {f"{prefix}{backend}": start + i for i, backend in enumerate(_BACKENDS, 1)}
        found[f"EndOf{bounds}Backends"] = start + len(_BACKENDS)
    return found


DispatchKey = enum.IntEnum("DispatchKey", _members(), module="torch._C")
DispatchKey.__doc__ = "A place in the order in which PyTorch's dispatcher asks."


class DispatchKeySet:
    """Several keys."""

    def __init__(self, *keys: DispatchKey) -> None:
        self._keys = frozenset(keys)

    def add(self, key: DispatchKey) -> DispatchKeySet:
        """These and one more."""
        return DispatchKeySet(*self._keys, key)

    def remove(self, key: DispatchKey) -> DispatchKeySet:
        """These without one."""
        return DispatchKeySet(*(self._keys - {key}))

    def has(self, key: DispatchKey) -> bool:
        """Whether a key is among them."""
        return key in self._keys

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys, *other._keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys & other._keys))

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*(self._keys - other._keys))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and other._keys == self._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(key.name for key in sorted(self._keys))})"


class _ExcludeDispatchKeyGuard:
    """A block in which PyTorch's dispatcher passes over some keys: those of autocasting, so that
    nothing is cast in it.

    Raises:
        NotImplementedError: for other keys.
    """

    def __init__(self, keys: DispatchKeySet | DispatchKey) -> None:
        given = keys._keys if isinstance(keys, DispatchKeySet) else {keys}
        other = next((key for key in sorted(given) if not key.name.startswith("Autocast")), None)
        if other is not None:
            raise not_offered(
                f"torch._C._ExcludeDispatchKeyGuard of {other.name}",
                "nothing is dispatched by keys here",
            )
        self._devices = [key.name.removeprefix("Autocast").lower() for key in sorted(given)]

    def __enter__(self) -> None:
        amp = _hooks.autocast.get()
        self._before = [
            kind
            for kind in self._devices
            if kind in ("cpu", "cuda", "xpu", "mps") and amp.is_autocast_enabled(kind)
        ]
        for kind in self._before:
            amp.set_autocast_enabled(kind, False)

    def __exit__(self, *exc: object) -> None:
        amp = _hooks.autocast.get()
        for kind in self._before:
            amp.set_autocast_enabled(kind, True)
