"""Nodes of the graph as programs see them: names, what comes next, hooks, notes, saved tensors.
Knows the tape by its attributes only."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from .._src.facts.devices import of_placement
from .._src.hooks import call_of_node, end_of, removable_handle, saved
from .._src.ops._declare import TENSOR_LIST, TENSOR_OR_NUMBER
from .._src.tensor.shape_env import visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from .tape import Node


_classes: dict[tuple[type, str], type] = {}


def shown(node: Node) -> Any:
    """The node, its class named as torch names that kind of node."""
    kind = type(node)
    if hasattr(kind, "shown"):
        return node.shown()
    if kind.__dict__.get("_is_shown"):
        return node
    name = node.name().rpartition("::")[2]
    made = _classes.get((kind, name))
    if made is None:
        made = _classes[kind, name] = type(
            name, (kind,), {"__slots__": (), "_is_shown": True, "__module__": "builtins"}
        )
    node.__class__ = made
    return node


def handle(hooks: OrderedDict[int, object], hook: object) -> Any:
    """Adds a hook and gives what removes it again."""
    found = removable_handle(hooks)
    hooks[found.id] = hook
    return found


#: Operands that torch's derivatives do not count, where they hold indices or truth values.
_UNCOUNTED = frozenset(
    (
        "index",
        "indices",
        "condition",
        "mask",
        "target",
        "offsets",
        "boundaries",
        "repeats",
        "source_index",
    )
)


class InputMetadata:
    """What a gradient that a node takes is like: ``shape``, ``dtype`` and ``device``.

    Differs from torch: of a nested tensor's node these are those of the tensor that holds its
    components.
    """

    __slots__ = ("device", "dtype", "shape")

    def __init__(self, aval: Any) -> None:
        self.shape: list[Any] = list(visible(aval.shape))
        self.dtype, self.device = aval.torch_dtype, of_placement(aval.device)


class Shown:
    """The public side of a node."""

    __slots__ = ()

    rare: Any
    edges: Any
    call: Any
    saved: Any
    avals: Any
    outs: Any
    visible: int
    seq: int

    def __repr__(self) -> str:
        return f"<{self.name().rpartition('::')[2]} object at {id(self):#x}>"

    def __call__(self, *grads: object) -> Any:
        """The gradients of the operands, from those of the results: one, or a tuple; None where
        there is none.

        Raises:
            TypeError: for too many or too few gradients, or what is no tensor.
            RuntimeError: if the graph was freed.
        """
        return call_of_node.get()(self, grads)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's own notes on this node."""
        notes = self.notes()
        if notes.metadata is None:
            notes.metadata = {}
        return notes.metadata

    @property
    def requires_grad(self) -> bool:
        """True: nothing else is recorded."""
        return True

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that gradients go to, each with its output number; leaves appear as
        ``AccumulateGrad``."""
        found: list[tuple[Any, int]] = []
        for i, (e, counted, _) in enumerate(self._operands()):
            if not counted:
                continue
            if e is None:
                found.append((None, 0))
            elif type(e) is tuple:
                found.append((shown(e[0]), e[1]))
            else:
                notes = self.notes()
                if notes.ends is None:
                    notes.ends = {}
                notes.ends[i] = end_of(e)
                found.append((notes.ends[i], 0))
        return tuple(found)

    @property
    def _input_metadata(self) -> list[InputMetadata]:
        """What the gradients that this node takes are like: one for each result of the operation
        that can have one."""
        return [InputMetadata(a) for a in self.outs[: self.visible] if a is not None]

    def _operands(self) -> list[tuple[Any, bool, int | None]]:
        """The edge of each operand, in torch's order, whether torch counts it, and which it is
        here: none, for numbers in place of tensors, which count in torch."""
        call = self.call
        info = getattr(call, "extra", None)
        if info is None or not info.layout or len(info.layout) != len(info.op.params):
            return [(e, True, i) for i, e in enumerate(self.edges)]
        op = info.op
        found: list[tuple[Any, bool, int | None]] = []
        names: list[str] = []
        operands = enumerate(zip(self.edges, self.avals, strict=True))
        for p, entry in zip(op.params, info.layout, strict=True):
            if p.kind == TENSOR_LIST:
                for present in entry or ():
                    if present:
                        i, (e, aval) = next(operands)
                        found.append((e, aval.differentiable, i))
            elif type(entry) is not str:
                continue
            elif entry == "T":
                i, (e, aval) = next(operands)
                found.append((e, aval.differentiable or p.name not in _UNCOUNTED, i))
            elif p.kind == TENSOR_OR_NUMBER and (
                op.wraps_numbers
                if isinstance(op.wraps_numbers, bool)
                else p.name in op.wraps_numbers
            ):
                found.append((None, True, None))
            names += [p.name] * (len(found) - len(names))
        if op.counts:
            order = sorted(range(len(found)), key=lambda i: op.counts.index(names[i]))
            found = [found[i] for i in order]
        return found

    def register_hook(self, fn: object) -> Any:
        """Calls ``fn(grad_inputs, grad_outputs)`` after this node's derivative; a tuple that it
        returns replaces ``grad_inputs``."""
        notes = self.notes()
        if notes.hooks is None:
            notes.hooks = OrderedDict()
        return handle(notes.hooks, fn)

    def register_prehook(self, fn: Callable[..., object]) -> Any:
        """Calls ``fn(grad_outputs)`` before this node's derivative; a tuple that it returns
        replaces ``grad_outputs``."""
        notes = self.notes()
        if notes.prehooks is None:
            notes.prehooks = OrderedDict()
        return handle(notes.prehooks, fn)

    def _sequence_nr(self) -> int:
        """The creation number; later nodes have greater ones."""
        return self.seq

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *saved.get().saved_names(self)]

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_saved_", "_raw_saved_")):
            return saved.get().saved_attribute(self, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
