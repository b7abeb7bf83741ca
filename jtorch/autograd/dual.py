"""Values with tangents: forward derivatives, computed along with the values.

A tensor whose value is a ``Dual`` looks like any other; a call on it is recorded once for the
values and once for their tangents, so that views, in-place writes and composites need nothing of
their own. The tape lies above: it records calls on dual values, and where a value and its tangent
are taken apart, one node takes gradients of both to everything that they depend on, by walking back
with dual gradients.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from .._src.engine import SPECIAL, Aval, Call, Lifted, Transformed, Value, record
from .._src.engine.calls import shapes_of
from .._src.engine.values import default_device
from .._src.ops._declare import OPS
from .._src.ops._forward import jvp_of
from .._src.ops._kernel import T, call_of
from .._src.tensor.running import converted
from ..core import Tensor, from_value, lazy_bits
from .ends import ends_of
from .grad_mode import FORWARD, MODE
from .items import _add_pairs, _add_values, _item, _tensor
from .tape import FREED, Node, _Task, next_seq

if TYPE_CHECKING:
    from .._src.facts.kinds import Arguments, Operand, Values


_new = object.__new__
#: Levels of all transformations are numbered together: of several, the inner one handles a call
#: first.
orders = itertools.count(1).__next__


class _Inner:
    """What a transformation does with the values that its own are made of: ``aten`` replaces all,
    as modes and wrappers take part in it."""

    #: Runs a call on them.
    record: Callable[[Call, Sequence[Value], tuple[Any, ...]], Any] = staticmethod(record)
    #: The tensor of one, without history.
    tensor: Callable[[Value], Tensor] = staticmethod(from_value)
    #: Whether a dispatch mode is on.
    watched: Callable[[], bool] = staticmethod(lambda: False)


INNER = _Inner()


class Level:
    """One forward derivation that is going on, or has ended.

    Attributes:
        spans: creation numbers of the nodes that were recorded inside, as [start, end) pairs.
        alive: how often it has been entered; afterwards its values are plain.
        ends: what is then to be done.
    """

    __slots__ = ("alive", "ends", "order", "spans")

    def __init__(self) -> None:
        self.order = self.alive = 0
        self.ends: list[Callable[[], Any]] = []
        self.spans: list[tuple[int, float]] = []

    def __enter__(self) -> Level:
        self.order = orders()
        self.alive += 1
        self.spans.append((next_seq(), float("inf")))
        return self

    def __exit__(self, *exc: object) -> None:
        self.alive -= 1
        at = next(i for i in range(len(self.spans) - 1, -1, -1) if self.spans[i][1] == float("inf"))
        self.spans[at] = (self.spans[at][0], next_seq())
        if self.ends and not self.alive:
            ends, self.ends = self.ends, []
            for end in reversed(ends):
                end()

    def recorded(self, node: Node) -> bool:
        """Whether the node was made inside."""
        return any(start <= node.seq < end for start, end in self.spans)


class Dual(Transformed):
    """A value and its tangent."""

    __slots__ = ("given", "level", "primal", "tangent")

    given: Any  # the tensor that the program gave as the tangent, if it is shown as it was given
    level: Level
    primal: Value
    tangent: Value

    @property
    def order(self) -> int:
        """Which of several transformations this value belongs to."""
        return self.level.order

    def run(self, call: Call, ins: Sequence[Value], numbers: Arguments) -> Any:
        """Runs the call on the values, and its derivative on their tangents."""
        level = self.level
        mine = tuple([type(v) is Dual and v.level is level for v in ins])
        primals = [v.primal if m else v for v, m in zip(ins, mine, strict=True)]
        out = INNER.record(call, primals, numbers)
        if not level.alive or not call.extra.differentiable:
            return out
        # what is written meanwhile leaves the tangent as it was
        if not FORWARD.enabled and not call.view:
            into = ins[0]
            return (
                dual(out, into.tangent, level) if mine[0] and call.extra.op.family == "put" else out
            )
        shapes = shapes_of(call, tuple([v.aval for v in ins]), default_device()).outs
        outs: tuple[Aval, ...] = (shapes,) if type(shapes) is Aval else shapes
        if not any(a.differentiable for a in outs):
            return out
        if call.extra.op.refusal is not None:
            raise _without_forward(call.extra.op.refusal)
        tangents = [v.tangent for v, m in zip(ins, mine, strict=True) if m]
        found = iter(INNER.record(jvp_of(call, mine, outs), primals + tangents, numbers))
        if type(shapes) is Aval:
            return dual(out, next(found), level)
        return [
            dual(v, next(found), level) if a.differentiable else v
            for v, a in zip(out, outs, strict=True)
        ]

    def apart(self) -> tuple[tuple[Value, ...], Callable[..., Value]]:
        """The value and its tangent."""
        return (self.primal, self.tangent), partial(dual, level=self.level)

    def start(self, storage: Any) -> int | None:
        """Where the value that was given a tangent lies in its memory, or that of one example."""
        if (whole := storage.primal) is not None:
            return whole.storage_offset()
        return self.primal.start(storage) if isinstance(self.primal, Transformed) else None

    def may_replace(self, current: Value) -> bool:
        """Whether the value alone may."""
        inner = self.primal
        return not isinstance(inner, Lifted) or inner.may_replace(
            current.primal if type(current) is Dual else current
        )

    def overwritten(self, new: Value) -> Value:
        """The new value with the tangent that was there."""
        if not self.level.alive:
            return new
        value = new.primal if type(new) is Dual and new.level is self.level else new
        inner = self.primal
        return dual(
            inner.overwritten(value) if isinstance(inner, Lifted) else value,
            self.tangent,
            self.level,
        )

    def refuse_out(self, name: str) -> None:
        """Raises torch's error: nothing with ``out=`` has a forward derivative."""
        if self.level.alive and FORWARD.enabled:
            raise NotImplementedError(
                f"Trying to use forward AD with {name}_out that does not support it because it is "
                "an out= function"
            )
        if isinstance(self.primal, Lifted):
            self.primal.refuse_out(name)

    def plain(self, what: str = "item") -> Value:
        """The value alone, for reading it."""
        return self.primal


def dual(primal: Value, tangent: Value, level: Level) -> Dual:
    """The value with that tangent."""
    v = _new(Dual)
    v.aval = primal.aval
    v.array, v.index, v.meta, v.trace = None, 0, None, SPECIAL
    v.primal, v.tangent, v.level, v.given = primal, tangent, level, None
    return v


def zeros_like(v: Value) -> Value:
    """Zeros of a value's aval."""
    return record(call_of(OPS["_C._fill"], (T, "i")), (v,), (0,))


# ---- in and out ----------------------------------------------------------------------------------


def enter(primal: Tensor, tangent: Tensor, level: Level) -> Tensor:
    """The tensor of a value and its tangent."""
    v, t = primal._read(), tangent._read()
    if t.aval.dtype != v.aval.dtype:
        tangent = converted(tangent, v.aval.torch_dtype)
        t = tangent._read()
    pair = dual(v, t, level)
    if tangent._strides == primal._strides and lazy_bits(tangent) == lazy_bits(primal):
        pair.given = tangent
    made = from_value(pair)
    made._strides = primal._strides
    if MODE.enabled and (primal._rg or tangent._rg):
        made._node = _Entering(level, primal, tangent, made)
        made._rg = True
    return made


def leave(t: Tensor, level: Level) -> tuple[Tensor, Tensor | None]:
    """The value of a tensor, and its tangent, or None if it has none."""
    v = t._read()
    if type(v) is not Dual or v.level is not level:
        return t, None
    primal, tangent = INNER.tensor(v.primal), INNER.tensor(v.tangent)
    if primal._v is v.primal:
        primal._strides = t._strides
    if MODE.enabled and t._rg:
        edge = t._edge()
        ends = _ends(edge, level)
        if ends:
            node = _Leaving(level, edge, ends, t)
            for j, out in enumerate((primal, tangent)):
                out._node, out._nr, out._rg = node, j, True
    return primal, tangent


def tangent_of(v: Value) -> Tensor | None:
    """The tangent of a value whose level has not ended."""
    return from_value(v.tangent) if type(v) is Dual and v.level.alive else None


def has_tangent(t: Tensor) -> bool:
    """Whether forward derivatives are being computed through a tensor."""
    v = t._v
    if v is not None and v.trace is not SPECIAL:
        return False
    v = t._read()
    return type(v) is Dual and bool(v.level.alive) and FORWARD.enabled


def with_tangent_of(t: Tensor, made: Tensor) -> Tensor:
    """What was made of a tensor's value alone, with the tensor's tangent."""
    v: Any = t._read()
    return from_value(dual(made._read(), v.tangent, v.level))


#: What torch says of functions that are to get a forward derivative.
NOT_YET = (
    "because it has not been implemented yet.\n"
    "Please file an issue to PyTorch at "
    "https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml so that we can "
    "prioritize its implementation or submit a PR adding the implementation to derivatives.yaml"
)


def _without_forward(refusal: Exception) -> NotImplementedError:
    """torch's error for an operation without a derivative, from that of the backward pass."""
    words = str(refusal)
    if isinstance(refusal, NotImplementedError) and "'" in words:
        return NotImplementedError(
            f"Trying to use forward AD with {words.split(chr(39))[1]} that does not support it "
            f"{NOT_YET}"
        )
    name = words.removeprefix("derivative for ").removesuffix(" is not implemented")
    return NotImplementedError(f"Trying to use forward AD with {name} that does not support it.")


def refuse_tangents(what: str, *tensors: Tensor) -> None:
    """Raises torch's error for a function without a forward derivative, if one of its operands has
    a tangent.

    ``what`` names it as the message does: ``aten::binomial that does not support it.``
    """
    if any(has_tangent(t) for t in tensors):
        raise NotImplementedError(f"Trying to use forward AD with {what}")


class _Entering(Node):
    """The node of a value that was given a tangent."""

    __slots__ = ("level",)

    def __init__(self, level: Level, primal: Tensor, tangent: Tensor, made: Tensor) -> None:
        self.call = None
        self.saved, self.kept = [], ()
        self.hooked = self.rare = None
        self.avals, self.numbers = (primal._aval, tangent._aval), ()
        self.outs = (made._aval,)
        self.visible = 1
        self.seq = next_seq()
        self.level = level
        self.edges = [primal._edge(), tangent._edge()]
        self.label = "ViewBackward0"

    def apply(self, grads: list[Value | None]) -> list[Value | None]:
        return [grads[0], None]

    def apply_tracked(self, grads: list[object]) -> Values:
        return [grads[0], None]


def _ends(root: tuple[_Entering | Node | int, ...], level: Level) -> list[object]:
    """Where the history made at a level ends: what entered, what left before, and leaves and nodes
    outside. Each once."""
    return ends_of(
        [root],
        lambda _: True,
        lambda n: (type(n) in _BORDERS and n.level is level) or not level.recorded(n),
    )


class _DualTask(_Task):
    """A walk over the history made at a level, that stops where it leaves the level."""

    level: Level

    def needed(self, roots: Sequence[Node]) -> set[Node] | None:
        found = super().needed(roots)
        level = self.level
        return (
            None
            if found is None
            else {
                n
                for n in found
                if level.recorded(n) and not (type(n) in _BORDERS and n.level is level)
            }
        )


class _Leaving(Node):
    """The node of a value and its tangent, taken apart: a walk back with dual gradients gives the
    gradients of both.

    For a function f at x with tangent t it gives f(x) and J t. Of cotangents p and q of these two,
    the gradient of t is Jᵀq, and that of x is Jᵀp plus the derivative of Jᵀq in the direction t:
    value and tangent of what ``backward`` makes of the dual gradient (q, p).
    """

    __slots__ = ("ends", "level", "places", "root")

    def __init__(self, level: Level, root: Any, ends: Sequence[Any], t: Tensor) -> None:
        self.call = None
        self.saved, self.kept = [], ()
        self.hooked = self.rare = None
        self.avals, self.numbers = (), ()
        self.outs = (t._aval, t._aval)
        self.visible = 2
        self.seq = next_seq()
        self.level, self.root, self.ends = level, root, list(ends)
        self.edges = []
        for end in ends:
            entering = (
                end[0]
                if type(end) is tuple and type(end[0]) is _Entering and end[0].level is level
                else None
            )
            self.edges += [end, None] if entering is None else entering.edges
        self.label = "UnpackDualBackward0"

    def release(self) -> None:
        """Lets go of the history."""
        self.saved = self.root = None
        self.ends = []

    def apply(self, grads: list[Value | None]) -> list[Value | None]:
        return self._run([None if g is None else from_value(g) for g in grads], False)

    def apply_tracked(self, grads: list[object]) -> list[object]:
        return self._run([None if g is None else _tensor(g, True) for g in grads], True)

    def _run(self, grads: list[Operand], create_graph: bool) -> Values:
        if self.saved is None:
            raise RuntimeError(FREED)
        level = self.level
        enabled, MODE.enabled = MODE.enabled, create_graph
        try:
            with level:
                p, q = grads
                # A gradient that is absent is no tangent of zeros: these times an infinite value
                # would be NaN.
                start = p if q is None else q if p is None else enter(q, p, level)
                found = []
                for end, t in zip(self.ends, self._walk(start, create_graph), strict=True):
                    value, tangent = (None, None) if t is None else leave(t, level)
                    # Without a gradient of the tangent, what came back is the gradient of the value
                    # itself.
                    first, second = (value, None) if q is None else (tangent, value)
                    entered = (
                        type(end) is tuple and type(end[0]) is _Entering and end[0].level is level
                    )
                    found += [first, second if entered else None]
            return [
                None if t is None or e is None else _item(t, create_graph)
                for t, e in zip(found, self.edges, strict=True)
            ]
        finally:
            MODE.enabled = enabled

    def _walk(self, start: Tensor, create_graph: bool) -> list[Tensor | None]:
        """Gradients at the ends."""
        task = _DualTask(create_graph, True, _add_pairs if create_graph else _add_values)
        task.level = self.level
        task.only_leaves = {id(e) for e in self.ends if type(e) is not tuple}
        for e in self.ends:
            if type(e) is tuple:
                task.wanted.setdefault(e[0], set()).add(e[1])
        task.give(self.root, _item(start, create_graph))
        task.run([self.root[0]] if type(self.root) is tuple else [])
        found = []
        for e in self.ends:
            if type(e) is tuple:
                item = task.captured.get((id(e[0]), e[1]))
            else:
                entry = task.leaf_grads.get(id(e))
                item = None if entry is None else entry[1]
            found.append(None if item is None else _tensor(item, create_graph))
        return found


_BORDERS = (_Entering, _Leaving)
