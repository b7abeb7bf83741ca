"""Views of wrappers: which tensor a view was taken of, and what an in-place change of a view does
to the history of its base."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...autograd.grad_mode import MODE
from ...autograd.tape import FREED, Above, Node, next_seq
from ...core import Tensor
from ..facts.layouts import contiguous_format
from ..tensor.symbols import exact
from .overloads import OpOverload, aten
from .values import Look

if TYPE_CHECKING:
    from ..facts.kinds import Values


def mark_view(func: OpOverload, values: Values, out: list[Tensor] | Tensor) -> None:
    """Notes that what a view operator gave shares its memory, and its version, with the operator's
    first operand."""
    source = values[0]
    if not isinstance(source, Tensor) or not isinstance(source._al, Look):
        return
    many = isinstance(out, (tuple, list))
    base, path = source._al.seen or (source, ())
    for j, t in enumerate(out if many else (out,)):
        if (
            isinstance(t, Tensor)
            and isinstance(t._al, Look)
            and t is not source
            and t._al.seen is None
        ):
            # outside of inference mode the view is an ordinary tensor
            if source._al.counter.n >= 0 or MODE.inference:
                t._al.counter = source._al.counter
            if func._opname != "detach":
                t._al.seen = (base, (*path, (func, tuple(values[1:]), j if many else None)))
                t._al.made = base._al.rebased


def look_again(base: Tensor, path: Any) -> Tensor:
    """The view of another tensor that has been taken along the same path."""
    for func, rest, j in path:
        base = func(base, *rest)
        if j is not None:
            base = base[j]
    return base


def refresh(t: Tensor) -> None:
    """Makes a view's history anew if that of its base was replaced."""
    look = t._al
    if look.seen is None or look.made == look.seen[0]._al.rebased:
        return
    base, path = look.seen
    look.made = base._al.rebased
    enabled, MODE.enabled = MODE.enabled, True
    try:
        again = look_again(base, path)
    finally:
        MODE.enabled = enabled
    t._node, t._nr, t._rg = again._node, again._nr, again._rg


def rebase(t: Tensor, node: Node, j: int) -> None:
    """Gives a wrapper that was changed in place its new history, and its base too if it is a
    view."""
    look = t._al
    if look.seen is None:
        t._node, t._nr, t._rg = node, j, True
        look.rebased += 1
        return
    base, path = look.seen
    base._node, base._nr, base._rg = CopySlices(base, node, path), 0, True
    base._al.rebased += 1
    refresh(t)


class CopySlices(Node):
    """The history of a base one of whose views was changed in place."""

    __slots__ = ("change", "path", "spent", "stride")

    def __init__(self, base: Tensor, change: Any, path: object) -> None:
        self.call = None
        self.saved, self.hooked, self.rare, self.kept, self.numbers = [], None, None, (), ()
        self.change, self.path = change, path
        self.edges = [base._edge(), *change.edges[1:]]
        self.avals = (base._aval, *change.avals[1:])
        self.outs = (base._aval,)
        self.visible = 1
        self.seq = next_seq()
        self.stride = list(exact(base.stride()))
        self.spent = False

    def name(self) -> str:
        """The name torch prints."""
        return "torch::autograd::CopySlices"

    def release(self) -> None:
        """Frees what was saved."""
        self.spent = True
        self.change.release()

    def apply(self, grads: list[object]) -> list[Any]:
        """Sends the walk to where gradients are tensors."""
        raise Above

    apply_tracked = apply

    def gradients(self, grads: Sequence[object]) -> list[Any]:
        """Outside the view the gradient passes; inside, the change's derivative takes its place."""
        if self.spent:
            raise RuntimeError(FREED)
        (g,) = grads
        whole = aten.new_empty_strided.default(g, list(self.outs[0].shape), self.stride)
        whole = aten.copy_.default(whole, g)
        part = look_again(whole, self.path)
        first, *others = self.change.gradients(
            [aten.clone.default(part, memory_format=contiguous_format)]
        )
        if first is None:
            first = aten.zeros_like.default(part, memory_format=contiguous_format)
        aten.copy_.default(part, first)
        return [None if self.edges[0] is None else whole, *others]
