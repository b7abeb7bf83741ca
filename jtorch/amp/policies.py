"""What autocast does to each public function: the policies that declarations state with
``autocast=``.

Source of what they state: the tables of PyTorch's documentation of automatic mixed precision, for
CPU and CUDA.
"""

from __future__ import annotations

import functools
from typing import Any

from .._src import hooks
from .._src.aten.functions import flat
from .._src.aten.kernels import POLICIES
from .._src.aten.overloads import OpOverload, OpOverloadPacket
from .._src.bind.cores import COMPOSITES
from .._src.bind.everything import PUBLIC
from .._src.bind.forms import paths_of
from .._src.ops._declare import OPS


def policy(stated: str, kind: str) -> str:
    """The policy for a type of device that a declaration states: one for all (``"lower"``), or by
    device (``"cpu lower, cuda widest"``).

    ``lower`` runs in the lower precision, ``float32`` in float32, ``widest`` in that of the widest
    operand; of the CPU alone are ``matrices`` (lower, but for vectors), ``state`` (lower, but in
    the state's dtype), ``result`` (float32, with a lower result) and ``edges`` (float32 for what
    mirrors or repeats edges, but for volumes mirrored). What is stated for CUDA holds for all
    devices but the CPU.
    """
    parts = [part.split() for part in stated.split(", ")]
    by_device = {part[0]: part[-1] for part in parts if len(part) == 2}
    return by_device.get("cpu" if kind == "cpu" else "cuda", "") if by_device else stated


@functools.cache
def table(kind: str) -> dict[Any, str]:
    """The policy of each public callable: functions of every namespace, methods and operators."""
    found: dict[Any, str] = {}
    for record in (*OPS.values(), *COMPOSITES):
        if record.autocast and (word := policy(record.autocast, kind)):
            found.update({PUBLIC[path]: word for path in paths_of(record) if path in PUBLIC})
    # A number is divided by a tensor as it is multiplied by the reciprocal.
    if word := policy(OPS["reciprocal"].autocast, kind):
        found[PUBLIC["Tensor.__rtruediv__"]] = word
    return found


@functools.cache
def _operators(kind: str) -> dict[str, str]:
    """The policy of each of ATen's operators by name: that of the function which it is."""
    found: dict[str, str] = {}
    for record in (*OPS.values(), *COMPOSITES):
        if record.autocast and (word := policy(record.autocast, kind)):
            name = (
                getattr(record, "through", None)
                or getattr(record, "aten", None)
                or flat(record.path)
            )
            found.update(
                dict.fromkeys([name.partition(".")[0], *map(flat, paths_of(record))], word)
            )
    hooks.operator_kernels.get()  # which state the rest
    for name, stated in POLICIES.items():
        found[name] = policy(stated, kind)
    return found


def policy_of(func: object, kind: str) -> str | None:
    """The policy of a public callable, or of an operator."""
    if isinstance(func, OpOverload):
        func = func._overloadpacket
    if isinstance(func, OpOverloadPacket):
        return _operators(kind).get(func.__name__) if func._namespace == "aten" else None
    return table(kind).get(func)


class Callables(set[Any]):
    """What has a policy for some types of devices: public callables, and operators, which are only
    looked up when they are called."""

    def __init__(self, kinds: tuple[str, ...]) -> None:
        self.kinds = kinds
        super().__init__([f for kind in self.kinds for f in table(kind)])

    def __contains__(self, func: object) -> bool:
        if set.__contains__(self, func):
            return True
        return isinstance(func, (OpOverload, OpOverloadPacket)) and any(
            policy_of(func, kind) for kind in self.kinds
        )


callables = functools.cache(Callables)
