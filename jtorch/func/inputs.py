"""Arguments that a function is differentiated by, as it is given them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._src.engine import Lifted, Transformed
from ..autograd.dual import INNER
from ..autograd.grad_mode import MODE
from ..autograd.items import _alias_node
from ..autograd.tape import next_seq
from ..core import Tensor, adopted, born, from_value
from .trees import flatten, unflatten

if TYPE_CHECKING:
    pass


def _stands(v: object) -> bool:
    """Whether a value stands for a tensor that has no data of its own."""
    return isinstance(v, Lifted) and not isinstance(v, Transformed)


class Inputs:
    """The differentiated arguments of one transformation, as tensors of its own.

    Attributes:
        tensors: what the function is given: each on the data of the caller's, and with its history
            if that requires grad.
        outer: whether recording was on outside, so that results keep the history that leads out.
        writes: the caller's tensors, and how often these and the own ones had been written before.
        made: leaves that the function made.
        start: nodes from this creation number on were made inside.
        birth: when the function began: what is older it captured.
    """

    def __init__(self, flat: Sequence[Any]) -> None:
        self.outer = MODE.enabled
        self.birth = born()
        self.tensors = [self._own(x) for x in flat]
        self.writes = [(x, x._writes, t._writes) for x, t in zip(flat, self.tensors, strict=True)]
        leaves = [t for t in self.tensors if t._node is None]
        self.fresh = set(map(id, leaves))
        for t in leaves:  # to a transformation around this one, no history leads out by them
            adopted(t)
        self.made: list[Tensor] = []
        self.start = next_seq()

    def _own(self, x: Tensor) -> Tensor:
        if not isinstance(x, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
        v = x._read()
        if not v.aval.differentiable:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if self.outer and x.requires_grad and (_stands(v) or INNER.watched()):
            t = x.view_as(x)
        elif _stands(v):
            t = x.detach()
            t._rg = True
        elif self.outer and x.requires_grad:
            t = _alias_node(v, x._edge())
        else:
            t = from_value(v)
            t._strides = x._strides
            t._rg = True
        t._birth = born()
        return t

    def give_back(self) -> None:
        """Writes what the function wrote into its arguments without a history (through ``detach``,
        under ``no_grad``) into the caller's."""
        for t, (x, theirs, own) in zip(self.tensors, self.writes, strict=True):
            al = t._al
            if al is not None and x._al is not None and al.storage is x._al.storage:
                continue  # it has been written
            # (``data`` counts for itself)
            if (t._writes != own and x._writes == theirs) or (
                al is not None and al.storage.version
            ):
                give_back(x.detach(), t.detach())

    def adopt(self, t: Tensor) -> None:
        """Counts a leaf that the function made among what no history leads out by."""
        self.made.append(t)  # kept, so that no other tensor gets its id
        self.fresh.add(id(t))

    def differentiates_by(self, t: Tensor) -> bool:
        """Whether a tensor is an input, or what such a one is a view of."""
        return any(t is own or (own._al is not None and t is own._al.base) for own in self.tensors)

    def owns(self, t: Tensor) -> bool:
        """Whether a tensor is an input, or was made by the function."""
        return (
            id(t) in self.fresh
            or any(t is own for own in self.tensors)
            or (t._node is not None and t._node.seq >= self.start)
        )

    def leads_out(self, tensors: Sequence[Tensor]) -> bool:
        """Whether the history of one of the tensors reaches something else than these inputs."""
        if not self.outer:
            return False
        stack = [t._edge() for t in tensors if isinstance(t, Tensor) and t._rg]
        seen: set[Any] = set()
        while stack:
            edge = stack.pop()
            if edge is None:
                continue
            if type(edge) is not tuple:
                if id(edge) not in self.fresh:
                    return True
            elif edge[0] not in seen:
                seen.add(edge[0])
                stack.extend(edge[0].edges)
        return False

    def settled(self, tree: object) -> Any:
        """Results as the caller gets them: without history, unless it leads out."""
        flat, spec = flatten(tree)
        return unflatten([self._settled(x) for x in flat], spec)

    def _settled(self, x: Tensor | None) -> Tensor | None:
        if not isinstance(x, Tensor) or not x._rg:
            return x
        if self.leads_out([x]):
            return x
        if _stands(x._read()):
            return x.detach()
        t = from_value(x._read())
        t._strides = x._strides
        return t


def give_back(given: Tensor, now: Tensor) -> None:
    """Writes what a function made of its argument into the caller's."""
    if given.shape == now.shape:
        given.copy_(now)
