"""The ends of the graph: gradients are added to leaves there, between the hooks of the leaf."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from .._src.engine import THREADS
from .nodes import InputMetadata
from .tape import Node, next_seq

if TYPE_CHECKING:
    from ..core import Tensor


#: Whether a leaf was ever given a hook: only then must a walk find out when a leaf's gradient is
#: complete.
WATCHED: list[bool] = [False]
#: How often a leaf was told of which dtype its gradients are to be.
KINDS: list[int] = [0]
#: Held while a gradient is added to a leaf's.
LOCK = THREADS.new_lock()


class AccumulateGrad(Node):
    """The node that adds a gradient to the ``grad`` of a leaf; the same object for as long as
    someone refers to it."""

    __slots__ = ("variable",)
    _is_shown = True
    __module__ = "builtins"  # what programs see when they print the class

    def __init__(self, variable: Any) -> None:
        self.call = None
        self.saved, self.hooked, self.rare = [], None, None
        self.avals = self.outs = self.edges = self.numbers = self.kept = ()
        self.visible = 1
        self.seq = next_seq()
        self.variable = variable

    def name(self) -> str:
        """The node's name, as torch gives it."""
        return "torch::autograd::AccumulateGrad"

    def __repr__(self) -> str:
        return f"<AccumulateGrad object at {id(self):#x}>"

    @property
    def _input_metadata(self) -> list[InputMetadata]:
        """What the gradient of the leaf is like."""
        return [InputMetadata(self.variable._aval)]

    def notes(self) -> Any:
        """The node's hooks and notes."""
        WATCHED[0] = True
        return super().notes()


def end_of(leaf: Tensor) -> AccumulateGrad:
    """The node at a leaf."""
    with LOCK:
        found = leaf._end() if leaf._end is not None else None
        if found is None:
            found = AccumulateGrad(leaf)
            leaf._end = weakref.ref(found)
        return found


def hooks_at(leaf: Tensor) -> None:
    """The rare attributes of a leaf's node, or None."""
    if leaf._end is None:
        return None
    end = leaf._end()
    return None if end is None else end.rare
