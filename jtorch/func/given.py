"""Arguments of a differentiated function that it is not differentiated by, and may write into."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core import Tensor
from .trees import flatten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def given_beside(
    args: tuple[object, ...], kwargs: Mapping[str, object], chosen: object
) -> list[Tensor]:
    """The tensors among arguments that are not differentiated, into which the function may
    write."""
    taken = set(map(id, flatten(chosen)[0]))
    return [x for x in flatten((args, kwargs))[0] if isinstance(x, Tensor) and id(x) not in taken]


class Given:
    """Arguments that are not differentiated, while the function runs: what it writes there the
    caller sees, without its history.

    Attributes:
        tensors: the arguments.
        before: what tells whether they were written: how often that was.
    """

    def __init__(self, tensors: list[Tensor]) -> None:
        self.tensors = tensors
        self.before = [t._writes for t in tensors]

    def written(self) -> list[Tensor]:
        """Those that were written, and what they are parts of."""
        found = []
        for t, n in zip(self.tensors, self.before, strict=True):
            if t._writes != n:
                found.append(t)
                if t._al is not None and t._al.base is not None:
                    found.append(t._al.base)
        return found

    def apart(self, outputs: Sequence[object]) -> list[Any]:
        """Results, with copies in the place of what is, or lies in, such an argument: they keep the
        history that it loses."""
        written = self.written()
        memory = {id(t._al.storage) for t in written if t._al is not None}
        same = set(map(id, written))
        return [
            o.clone()
            if isinstance(o, Tensor)
            and (id(o) in same or (o._al is not None and id(o._al.storage) in memory))
            else o
            for o in outputs
        ]

    def settle(self, start: int, leads_out: Callable[[list[Tensor]], bool]) -> None:
        """Takes the history that was made inside away from them, unless it leads out."""
        for t in self.written():
            if t._node is not None and t._node.seq >= start and not leads_out([t]):
                t._node, t._rg = None, False
