"""Derivatives of plain operations seen as operators: the operation is repeated one operator at a
time, then that graph is walked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...autograd.grad_mode import MODE
from ...autograd.tape import FREED, Node, _check_version, next_seq
from ...core import Tensor, from_value
from ..engine import Value, meta_value, record
from ..ops._declare import OPS
from ..ops._derivative_calls import vjp_of
from ..ops._kernel import Fixed, call_of
from .calling import invoke
from .generic import step_of
from .lowering import perform
from .recording import OperatorNode, _Saved
from .state import STATE, modes_off

if TYPE_CHECKING:
    from ..engine.values import Aval
    from ..facts.kinds import Values
    from .walking import TensorTask


class _Entry(Node):
    """Where a repeated operation begins: its gradient goes on along the edge of the original
    operand."""

    __slots__ = ()

    def __init__(self, t: Tensor) -> None:
        self.call = None
        self.saved, self.hooked, self.rare, self.kept, self.numbers = [], None, None, (), ()
        self.edges = [None]  # the edge is set after the walk, which is to end here
        self.avals = self.outs = (t._aval,)
        self.visible = 1
        self.seq = next_seq()

    def apply(self, grads: list[object]) -> Values:
        """Passes the gradient on."""
        return grads

    apply_tracked = apply

    def name(self) -> str:
        """The name torch gives a node that only passes gradients."""
        return "AliasBackward0"


def _placeholder(aval: Aval) -> Value:
    return record(call_of(OPS["zeros"], (Fixed(aval.shape), Fixed(aval.dtype))), ())


def _use_results(outs: list[Tensor], results: list[Value]) -> bool:
    """Gives repeated operations the results that were saved: their operands may not have been.
    False if they do not save results."""
    for o in outs:
        last = o._node
        if (
            not isinstance(last, OperatorNode)
            or last.stored is None
            or not any(k.startswith("result") for k in last.stored)
        ):
            return False
        for name, kept in last.stored.items():
            if name.startswith("result") and type(kept) is tuple:
                last.stored[name] = (_Saved(from_value(results[kept[1]])), kept[1])
    return True


def _as_one(node: Node, saved: list[Value], grads: Values) -> list[object]:
    """The derivative of a plain operation as one operator."""
    needs = tuple([e is not None for e in node.edges])
    given = tuple([g is not None for g in grads])
    call = vjp_of(node.call, node.avals, node.outs, needs, given, kept=node.kept)  # type: ignore[arg-type]
    operands = [*[from_value(v) for v in saved], *[g for g in grads if g is not None]]
    found = iter(invoke(step_of(call, operands), [*operands, *node.numbers]))
    return [next(found) if need else None for need in needs]


def replay(node: Node, grads: list[Tensor], task: TensorTask) -> list[object]:
    """The gradients of a plain node's operands, by operators that modes and wrapper classes see;
    ``task`` is a walk for them to begin."""
    saved = node.saved
    if saved is None:
        raise RuntimeError(FREED)
    if node.hooked is not None:
        saved = node.unpack()
    else:
        for v in saved:
            if v.meta is not None:
                _check_version(node, v)
    there = iter(saved)
    # Where the results are what was saved, nothing is computed again: they take the place of what
    # comes out.
    no_values = node.call.extra.saves_result and not any(node.kept)
    tensors: list[Tensor] = []
    entries = []
    for aval, keep, edge in zip(node.avals, node.kept, node.edges, strict=True):
        t = from_value(
            next(there)
            if keep
            else meta_value(aval.shape, aval.dtype)
            if no_values
            else _placeholder(aval)
        )
        entry = None
        if edge is not None:
            entry = _Entry(t)
            t._node, t._nr, t._rg = entry, 0, True
        tensors.append(t)
        entries.append(entry)
    before = (STATE.forced, MODE.enabled)
    STATE.forced, MODE.enabled = True, True
    try:
        with modes_off():
            out = perform(node.call, tensors, node.numbers)
    finally:
        STATE.forced, MODE.enabled = before
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    if node.call.extra.saves_result and not _use_results(outs, list(there)):
        return _as_one(node, saved, grads)
    task.only_leaves = set()
    for entry in entries:
        if entry is not None:
            task.wanted.setdefault(entry, set()).add(0)
    roots = []
    for o, g in zip(outs, grads, strict=False):
        if g is not None and type(o._edge()) is tuple:
            task.give(o._edge(), g)
            roots.append(o._edge()[0])
    task.run(roots)
    for entry, edge in zip(entries, node.edges, strict=True):
        if entry is not None:
            entry.edges = [edge]
    return [None if entry is None else task.captured.get((id(entry), 0)) for entry in entries]
