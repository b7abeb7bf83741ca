"""``grad_fn._saved_self`` and its like: what a node keeps, looked at from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._src.ops._declare import TENSOR_OR_NUMBER, TENSOR_OR_STATIC
from .._src.tensor.shape_env import visible
from .tape import FREED, SAVING, packed_by, unpacked_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._src.facts.kinds import Named
    from ..core import Tensor
    from .tape import Node


#: torch's names of operands where they are not ours.
_TORCH_NAMES = {"input": "self"}


def _named(node: Node) -> Named:
    """For each name that torch gives what is saved, the place among the saved values, or a fixed
    argument as a 1-tuple."""
    info = node.call.extra
    found: dict[str, tuple[Any, ...]] = {}
    at = operand = number = 0
    kept = node.kept
    for p, entry in zip(info.op.params, info.layout, strict=False):
        name: str = _TORCH_NAMES.get(p.name) or p.name
        if type(entry) is tuple:
            for i, present in enumerate(entry):
                if present:
                    if kept[operand]:
                        found[f"{name}_{i}"] = (at, node.edges[operand])
                        at += 1
                    operand += 1
        elif entry == "T" and type(entry) is str:
            if kept[operand]:
                found[name] = (at, node.edges[operand])
                at += 1
            operand += 1
        elif type(entry) is str:
            found[name] = (node.numbers[number],)
            number += 1
        elif hasattr(entry, "value"):
            found[name] = (entry.value,)
    if info.saves_result and not info.hidden:
        for j in range(len(node.outs)):
            found["result" if len(node.outs) == 1 else f"result{j}"] = (at + j, (node, j))
    return found


def saved_names(node: Node) -> list[str]:
    """The attributes under which a node shows what it keeps: ``_saved_self``, and
    ``_raw_saved_self`` for tensors."""
    if getattr(node.call, "extra", None) is None:
        return []
    op = node.call.extra.op
    # Numbers in the place of operands count only if the operand would; other numbers and options
    # are all kept.
    dropped = {
        _TORCH_NAMES.get(p.name) or p.name
        for p in op.params
        if p.kind in (TENSOR_OR_NUMBER, TENSOR_OR_STATIC)
        and op.saves is not None
        and p.name not in op.saves
    }
    found = {
        name: place
        for name, place in _named(node).items()
        if len(place) == 2 or name not in dropped
    }
    return [f"_saved_{name}" for name in found] + [
        f"_raw_saved_{name}" for name, place in found.items() if len(place) == 2
    ]


#: In the place of an attribute that there is none of.
_NOTHING: Any = object()


def _told(node: Node, name: str) -> Any:
    """What nodes of torch's tell beside what they keep: None for an operand whose value this call's
    derivative does not need, and the sizes of one whose value none needs."""
    op = node.call.extra.op
    own = {torch: ours for ours, torch in _TORCH_NAMES.items()}
    sizes = name.removesuffix("_sym_sizes")
    wanted = own.get(sizes, sizes)
    operand = 0
    for p, entry in zip(op.params, node.call.extra.layout, strict=False):
        if type(entry) is tuple:
            operand += sum(map(bool, entry))
        elif entry == "T" and type(entry) is str:
            if p.name == wanted:
                if sizes != name:
                    return tuple(visible(node.avals[operand].shape))
                needed = op.saves is None or p.name in op.saves
                return None if needed and not node.kept[operand] else _NOTHING
            operand += 1
    return _NOTHING


def saved_attribute(node: Node, attribute: str) -> Any:
    """The value of ``grad_fn._saved_<name>``, or with ``_raw_`` an object that hooks can be put on.

    Raises:
        AttributeError: if nothing of that name is saved.
        RuntimeError: if the graph was freed.
    """
    raw = attribute.startswith("_raw_saved_")
    name = attribute.removeprefix("_raw_saved_" if raw else "_saved_")
    of_op = getattr(node.call, "extra", None) is not None
    found = _named(node).get(name) if of_op else None
    if found is None:
        if of_op and not raw and (told := _told(node, name)) is not _NOTHING:
            return told
        raise AttributeError(f"'{type(node).__name__}' object has no attribute '{attribute}'")
    if type(found) is tuple and len(found) == 1:
        return found[0]
    place, edge = found
    if raw:
        return SavedTensor._of(node, place, edge)
    return _tensor(node, place, edge)


def _tensor(node: Node, place: int, edge: tuple[object, ...] | Tensor) -> Any:
    if node.saved is None:
        raise RuntimeError(FREED)
    if node.hooked is not None:
        packed, unpack = node.hooked[place]
        found = unpacked_by(unpack, packed)
        if type(edge) is tuple and found._node is None:
            found = SAVING.wrap(found._read())
            found._node, found._nr, found._rg = edge[0], edge[1], True
        return found
    value = node.saved[place]
    if edge is not None and type(edge) is not tuple and edge._v is value:
        return edge  # the leaf itself
    t = SAVING.wrap(value)
    if edge is not None and type(edge) is tuple:
        t._node, t._nr, t._rg = edge[0], edge[1], True
    return t


class SavedTensor:
    """One saved tensor of a node, as ``grad_fn._raw_saved_<name>``."""

    _node: Any
    _place: int
    _edge: Any

    def __init__(self, *args: object) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    @classmethod
    def _of(
        cls, node: Node, place: int, edge: tuple[Node | int, ...] | None = None
    ) -> SavedInput | SavedTensor:
        made = object.__new__(cls)
        made._node, made._place, made._edge = node, place, edge
        return made

    @property
    def data(self) -> Any:
        """What is kept: the tensor, or what a pack hook made of it."""
        node = self._node
        return (
            node.hooked[self._place][0]
            if node.hooked is not None
            else _tensor(node, self._place, self._edge)
        )

    @staticmethod
    def _check_hooks(*hooks: object) -> None:
        if not all(map(callable, hooks)):
            raise TypeError(
                "register_hooks(): incompatible function arguments. The following argument types "
                "are supported:\n"
                "    1. (self: torch._C._autograd.SavedTensor, arg0: collections.abc.Callable, "
                "arg1: collections.abc.Callable) -> None"
            )

    def register_hooks(self, pack_hook: Any, unpack_hook: Any = None) -> None:
        """Packs the saved tensor now; ``backward`` unpacks it.

        Raises:
            RuntimeError: if it has hooks already, or the graph was freed.
        """
        self._check_hooks(pack_hook, unpack_hook)
        node = self._node
        if node.saved is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. " + FREED
            )
        if node.hooked is None:
            node.hooked = [(v, _plain) for v in map(SAVING.wrap, node.saved)]
            node.saved = []
        if node.hooked[self._place][1] is not _plain:
            raise RuntimeError(_SET)
        node.hooked[self._place] = (packed_by(pack_hook, node.hooked[self._place][0]), unpack_hook)


class SavedInput(SavedTensor):
    """One of the tensors that a ``Function`` saved."""

    @property
    def data(self) -> Any:
        """What is kept: the tensor, or what a pack hook made of it."""
        return self._node.stored[self._place][0]

    def register_hooks(
        self, pack_hook: Any, unpack_hook: Callable[..., object] | int | None = None
    ) -> None:
        """Packs the saved tensor now; ``backward`` unpacks it.

        Raises:
            RuntimeError: if it is None or has hooks already, or the graph was freed.
            TypeError: if the hooks cannot be called.
        """
        self._check_hooks(pack_hook, unpack_hook)
        node = self._node
        if node.freed:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. " + FREED
            )
        t, _, place, hook = node.stored[self._place]
        if t is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with value None is forbidden"
            )
        if hook is not None:
            raise RuntimeError(_SET)
        stored = list(node.stored)
        stored[self._place] = (
            packed_by(pack_hook, t),
            t._edge() if place is None else None,
            place,
            unpack_hook,
        )
        node.stored = tuple(stored)


_SET = (
    "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one "
    "pair of hooks is allowed at a time."
)


def _plain(t: object) -> Any:
    return t
