"""The tape: what was computed from what, and ``backward`` over it. Works on engine values; knows
single ops only through their calls."""

from __future__ import annotations

import heapq
import itertools
import operator
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from .._src.engine import Call, Transformed, Value, record
from .._src.hooks import walking
from .._src.ops._derivative_calls import kept_for, known_for, saved_results, vjp_of
from .grad_mode import MODE
from .names import OF_CLASSES, name_of, plain_name
from .nodes import Shown

if TYPE_CHECKING:
    from .._src.facts.kinds import Values
    from ..core import Tensor


_numbers = itertools.count().__next__


def next_seq() -> int:
    """The creation number that the next node will have, or a later one."""
    return _numbers()


_ONE = (True,)
#: What nodes have saved that save nothing; nobody writes into it.
_NOTHING: Values = []

#: Where a gradient goes: into a node's output (node, number), or a leaf tensor, or nowhere.
Edge: TypeAlias = Any


class _Saving(threading.local):
    """The thread's ``saved_tensors_hooks``, innermost last, and how a value becomes the tensor they
    are given."""

    wrap: Callable[[Value], Any]
    tensor: type

    def __init__(self) -> None:
        self.hooks = []
        self.disabled: list[str] = []  # what blocks that allow no hooks say, the innermost last
        self.lenient = False  # whether what was saved may have been changed in place since


SAVING = _Saving()


class _Apart:
    """What hooks made of the values that one inside a transformation is made of, and how it is made
    of them again."""

    __slots__ = ("make", "packed")

    def __init__(self, pack: Callable[..., object], v: Transformed) -> None:
        parts, self.make = v.apart()
        self.packed = [packed_by(pack, SAVING.wrap(part)) for part in parts]

    def together(self, unpack: Callable[..., object]) -> Tensor:
        return SAVING.wrap(
            self.make(*[unpacked_by(unpack, packed)._read() for packed in self.packed])
        )


def packed_by(pack: Callable[[Any], Any], t: Tensor) -> Any:
    """What a hook makes of a tensor that is saved; inside a transformation, of the tensors outside
    that it stands for.

    Raises:
        RuntimeError: if it writes into the tensor.
    """
    v = t._read() if MODE.transforms and t._v is None and t._al is not None else t._v
    if isinstance(v, Transformed):
        return _Apart(pack, v)
    version = t._writes
    packed = pack(t)
    if t._writes != version:
        raise RuntimeError(
            "A saved tensor pack hook is modifying its input in place. Tensors provided as input "
            "to pack hook cannot be modified by in-place operations as this can lead to unexpected "
            "side-effects. Please open an issue if you need to perform in-place operations on the "
            "input to a pack hook."
        )
    return packed


def unpacked_by(unpack: Callable[[Any], Any], packed: object) -> Tensor:
    """The tensor that a hook makes of what another one packed.

    Raises:
        TypeError: if it gives something else.
    """
    if type(packed) is _Apart:
        return packed.together(unpack)
    t = unpack(packed)
    if not isinstance(t, SAVING.tensor):
        raise TypeError(
            "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
            f"{type(t).__name__}"
        )
    return t


def _shown(results: Sequence[Value], visible: int, residual: int, number: int | None) -> Value:
    """A residual, as the result that it is: so its changes in place are noticed."""
    return results[visible + residual] if number is None or number >= visible else results[number]


class Rare:
    """What few nodes have: a name of their own, hooks, notes.

    Attributes:
        tensor_hooks: hooks of results, by their number: called first, each with the gradient of
            that result.
        retained: by number, what keeps the gradient of a result whose ``retain_grad`` was called.
        prehooks, hooks: those of the node itself, before and after its derivative.
        metadata: the user's own notes.
        ends: the ``AccumulateGrad`` objects shown for leaves, by operand, kept as long as this
            node.
    """

    __slots__ = ("label", "tensor_hooks", "retained", "prehooks", "hooks", "metadata", "ends")

    def __init__(self) -> None:
        self.label: str | None = None
        self.tensor_hooks: dict[int, OrderedDict[int, object]] | None = None
        self.retained: dict[int, Any] | None = None
        self.prehooks = None
        self.hooks = None
        self.metadata = None
        self.ends: dict[int, Any] | None = None


class Node(Shown):
    """One recorded operation: how to turn gradients of its results into gradients of its operands.

    Attributes:
        edges: for each flat operand, where its gradient goes.
        outs: avals of the results, hidden residuals included.
        seq: creation number; ``backward`` visits higher ones first.
    """

    __slots__ = (
        "call",
        "saved",
        "avals",
        "outs",
        "edges",
        "numbers",
        "kept",
        "hooked",
        "seq",
        "visible",
        "rare",
        "__weakref__",
    )

    call: Call | None

    def __init__(
        self,
        call: Call,
        ins: Sequence[Value],
        edges: Sequence[Edge],
        numbers: tuple[object, ...],
        results: Sequence[Value],
    ) -> None:
        info = call.extra
        self.call = call
        avals = tuple([v.aval for v in ins])
        known = info.known.get(avals)
        if known is None or len(results) != 1 or known[1][0] is not results[0].aval:
            known = known_for(info, avals, results)
        self.avals, self.outs = avals, outs = known
        needs = tuple([e is not None for e in edges])
        if False in needs or call.kinds:
            kept = info.masks.get((avals, needs))
            if kept is None:
                kept = kept_for(call, avals, outs, needs)
        else:
            kept = info.saved
        self.kept = kept
        saved = [v for v, keep in zip(ins, kept, strict=True) if keep]
        if info.hidden:
            visible = len(results) - info.hidden
            shown = info.shown
            saved += (
                [_shown(results, visible, i, n) for i, n in enumerate(shown[: info.hidden])]
                if shown
                else results[visible:]
            )
        elif info.saves_result:
            saved += results
        self.saved: list[Any] | None = saved or _NOTHING
        self.hooked = None
        self.edges = edges
        if SAVING.hooks:
            self.pack()
        self.visible = len(results) - info.hidden
        self.numbers = numbers
        self.seq = _numbers()
        self.rare: Rare | None = None

    def notes(self) -> Rare:
        """The node's rare attributes, made when first needed."""
        if self.rare is None:
            self.rare = Rare()
        return self.rare

    @property
    def label(self) -> str | None:
        """The name, where it is not the operation's."""
        return self.rare.label if self.rare is not None else None

    @label.setter
    def label(self, label: str) -> None:
        self.notes().label = label

    def name(self) -> str:
        """The name torch prints: ``MulBackward0``."""
        name = self.label or name_of(self)
        return OF_CLASSES.get(name, name)

    def release(self) -> None:
        """Frees what was saved: the graph cannot be walked again, unless nothing was saved in
        it."""
        if self.saved or self.hooked is not None or (self.numbers and self.call.extra.saves_number):
            self.saved = None
            self.hooked = None

    def apply(self, grads: list[Value | None]) -> list[Value | None]:
        """Gradients of the operands that need one, from gradients of the results (None: zero).
        Values only, nothing recorded."""
        saved = self.saved
        if saved is None:
            raise RuntimeError(FREED)
        if self.hooked is not None:
            saved = self.unpack()
        else:
            for v in saved:
                if v.meta is not None:
                    _check_version(self, v)
        needs = tuple([e is not None for e in self.edges])
        call = self.call
        there: Values = grads
        if len(grads) == 1:
            key = (self.avals, needs, _ONE, False, self.kept)
            given = _ONE
        else:
            given = tuple([g is not None for g in grads])
            key = (self.avals, needs, given, False, self.kept)
            there = [g for g in grads if g is not None]
        derivative = call.extra.vjps.get(key)
        if derivative is None:
            derivative = vjp_of(call, self.avals, self.outs, needs, given, kept=self.kept)  # type: ignore[arg-type]
        out = record(derivative, saved + there, self.numbers)
        if len(out) == len(needs):
            return out
        found = iter(out)
        return [next(found) if need else None for need in needs]

    def apply_tracked(self, grads: Values) -> Values:
        """As ``apply``, on (value, edge) pairs, recording the derivative so that it can be
        differentiated again."""
        saved = self.saved
        if saved is None:
            raise RuntimeError(FREED)
        call = self.call
        assert call is not None
        info = call.extra
        needs = tuple([e is not None for e in self.edges])
        given = tuple([g is not None for g in grads])
        kept = self.kept
        if self.hooked is not None:
            saved = self.unpack()
        else:
            for v in saved:
                if v.meta is not None:
                    _check_version(self, v)
        origins = self.origins()
        ins = list(zip(saved[: sum(kept)] if info.hidden else saved, origins, strict=False))
        derivative = vjp_of(
            call, self.avals, self.outs, needs, given, recompute=bool(info.hidden), kept=kept
        )
        ins += [g for g in grads if g is not None]
        found = iter(tracked(derivative, ins, self.numbers))
        return [next(found) if need else None for need in needs]

    def origins(self) -> list[Edge]:
        """The history of what is saved: the operands' edges, then the results as this node's own;
        hidden residuals have none."""
        found = [e for e, keep in zip(self.edges, self.kept, strict=True) if keep]
        info = self.call.extra
        if not info.hidden and saved_results(info, len(self.outs)):
            found += [(self, j) for j in range(len(self.outs))]
        return found

    def pack(self) -> None:
        """Gives what is saved to the innermost ``saved_tensors_hooks``: leaves themselves, other
        tensors with their history."""
        pack, unpack = SAVING.hooks[-1]
        assert self.saved is not None
        inner, SAVING.hooks = SAVING.hooks, []
        origins = self.origins()
        try:
            hooked = []
            for i, v in enumerate(self.saved):
                origin = origins[i] if i < len(origins) else None
                t = SAVING.wrap(v)
                if type(origin) is tuple:
                    t._node, t._nr, t._rg = origin[0], origin[1], True
                elif origin is not None and origin._v is v:
                    t = origin
                packed = packed_by(pack, t)
                # A result that is kept as it is would keep its own node alive.
                hooked.append(
                    (
                        SAVING.wrap(v)
                        if packed is t and type(origin) is tuple and origin[0] is self
                        else packed,
                        unpack,
                    )
                )
            self.hooked = hooked
        finally:
            SAVING.hooks = inner
        self.saved = []

    def kept_values(self) -> list[Value]:
        """What was saved, as the derivative may use it.

        Raises:
            RuntimeError: if it was freed, or changed in place since.
        """
        if self.saved is None:
            raise RuntimeError(FREED)
        if self.hooked is not None:
            return self.unpack()
        for v in self.saved:
            if v.meta is not None:
                _check_version(self, v)
        return self.saved

    def unpack(self) -> list[Value]:
        """What was saved, as the hooks give it back."""
        return [unpacked_by(unpack, packed)._read() for packed, unpack in self.hooked or ()]


FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you call "
    ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the "
    "graph a second time or if you need to access saved tensors after calling backward."
)


def _check_version(node: Node, v: Value) -> None:
    stale = v.meta.stale
    if stale is None and v.meta.source is not None:
        stale = v.meta.source.stale
    # The operation that overwrites its own first operand may still use what was there, unless that
    # is another operand too.
    if (
        stale is None
        or node.seq > stale[2]
        or SAVING.lenient
        or not _is_checked(node, v, 1 if node.seq == stale[2] else 0)
    ):
        return
    expected, holder, _ = stale
    owner = holder()
    current = owner._writes if owner is not None else expected + 1
    kind = v.aval.torch_dtype.legacy if v.aval.torch_dtype else "Tensor"
    produced = ""
    if (
        node.call is not None
        and node.call.extra.saves_result
        and any(v is s for s in node.saved[sum(node.kept) :])  # type: ignore[index]
    ):
        produced = f", which is output 0 of {plain_name(node.name())},"
    elif owner is not None and owner._node is not None:
        produced = f", which is output {owner._nr} of {plain_name(owner._node.name())},"
    raise RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [torch.{kind} {list(v.aval.shape)}]{produced} is at version {current}; "
        f"expected version {expected} instead. Hint: enable anomaly detection to find the "
        "operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )


def _is_checked(node: Node, v: Value, first: int = 0) -> bool:
    """Whether a saved value is one that in-place changes must not touch; looks at operands from
    ``first`` on."""
    info = node.call.extra
    operands = [i for i, keep in enumerate(node.kept) if keep]
    for at, saved in enumerate(node.saved or ()):
        if saved is v:
            if at >= len(operands):
                return not first
            if operands[at] >= first:
                return info.checked[operands[at]]
    return not first


def track(
    call: Call,
    ins: Sequence[Value],
    edges: Sequence[Edge],
    numbers: tuple[object, ...],
    results: Sequence[Value],
) -> Node:
    """The node of an operation that was run on operands some of which have edges."""
    return Node(call, ins, edges, numbers, results)


def tracked(
    call: Call, ins: Sequence[tuple[Value, Edge]], numbers: tuple[object, ...] = ()
) -> list[tuple[Value, Edge]]:
    """Runs a call on (value, edge) pairs and returns its results as such pairs, recorded if any
    operand has an edge."""
    values = [v for v, _ in ins]
    edges = [e if v.aval.differentiable else None for v, e in ins]
    info = call.extra
    if not any(e is not None for e in edges) or not MODE.enabled:
        out = record(call, values, numbers)
        return [(v, None) for v in (out if isinstance(out, list) else [out])]
    if info.tracked is not None:
        call = info.tracked
    out = record(call, values, numbers)
    results = out if isinstance(out, list) else [out]
    node = Node(call, values, edges, numbers, results)
    return [
        (v, (node, j) if v.aval.differentiable else None)
        for j, v in enumerate(results[: node.visible])
    ]


#: Histories of so many nodes are worth remembering for who asks again for the gradient of their
#: result, and of so few results at once.
_LONG, _FEW = 256, 8
#: For nodes whose gradients were asked for: the identities of all that lies behind them, nodes and
#: leaves, once it was asked for twice.
_behind: weakref.WeakKeyDictionary[Node, frozenset[int] | None] = weakref.WeakKeyDictionary()
_SEQ = operator.attrgetter("seq")


def _dead_ends(wanted: dict[Node, set[int]], leaves: set[int]) -> set[Node]:
    """Those of the wanted nodes behind which nothing is wanted, as far as that is remembered: a
    walk need not go on there.

    Solvers that go back step by step (adjoint methods) ask at each step for gradients of the same
    tensors with the same long history.
    """
    found: set[Node] = set()
    for node in wanted:
        if node in _behind:
            known = _behind[node]
            if known is None:
                known = _behind[node] = frozenset(_all_behind(node))
            if known.isdisjoint(leaves) and known.isdisjoint([id(n) for n in wanted]):
                found.add(node)
    return found


def _note_size(wanted: dict[Node, set[int]], size: int) -> None:
    """Notes that a walk for these nodes was long, if it was."""
    if size > _LONG and len(wanted) <= _FEW:
        for node in wanted:
            _behind.setdefault(node, None)


def _all_behind(node: Node) -> set[int]:
    """The identities of the nodes and leaves that lead to a node, which live as long as it does."""
    found: set[int] = set()
    stack = [node]
    while stack:
        for e in stack.pop().edges:
            there = e[0] if type(e) is tuple else e
            if there is not None and id(there) not in found:
                found.add(id(there))
                if there is not e:
                    stack.append(there)
    return found


class Above(Exception):
    """Raised by a node that works on tensors rather than values: the walk is taken over by one on
    tensors."""


_TASKS = itertools.count()


class _Task:
    """One ``backward`` or ``grad``: gradients waiting at each node, and what to do with those that
    reach their end.

    A node's operands were made before it, so visiting nodes by creation number, the latest first,
    visits each after all that use it.
    """

    hooks: Any  # runs hooks of nodes, which see tensors: set by the module above
    convert: Any  # to the dtype that a leaf wants: set there, too

    def __init__(self, create_graph: bool, keep_graph: bool, add: Callable[..., object]) -> None:
        self.create_graph = create_graph
        self.keep_graph = keep_graph
        self.add = add
        self.waiting = {}
        self.heap: list[tuple[int, Node]] = []
        self.leaf_grads = {}  # id(tensor) -> [tensor, gradient]
        self.captured = {}  # (id(node), output) -> gradient
        self.wanted: dict[Node, set[int]] = {}
        self.only_leaves: set[int] | None = None
        self.roots: Sequence[Node] = ()
        self.done = False
        # whether gradients are handed out rather than added to those of leaves
        self.gathers = False
        # whether nodes whose gradients are wanted are run, too, as those of
        # ``backward(inputs=...)`` are
        self.passes = False
        self.reached: set[int] | None = None
        self.number = next(_TASKS)
        # what is to be called when the walk has come to its end
        self.callbacks: list[Callable[[], object]] = []

    def will_reach(self, end: Shown) -> bool:
        """Whether the walk comes to a node, or adds a gradient to a leaf (given as its
        ``AccumulateGrad``)."""
        if self.reached is None:
            needed = self.needed(self.roots)
            stack = [n for n in self.roots if needed is None or n in needed or n in self.wanted]
            self.reached = set(map(id, stack))
            while stack:
                node = stack.pop()
                if needed is not None and node not in needed:
                    continue
                for e in node.edges:
                    there = e[0] if type(e) is tuple else e
                    if (
                        there is None
                        or id(there) in self.reached
                        or (needed is not None and not self._asked(e, needed))
                    ):
                        continue
                    self.reached.add(id(there))
                    if there is not e:
                        stack.append(there)
        return (
            id(end.variable if hasattr(type(end), "variable") else getattr(end, "_node", end))
            in self.reached
        )

    def needed(self, roots: Sequence[Node]) -> set[Node] | None:
        """Nodes on a path to a wanted end; None if all are."""
        if self.only_leaves is None:
            return None
        wanted = self.wanted
        ends = _dead_ends(wanted, self.only_leaves)
        # Nothing was made of what came later: with nodes alone to look for, what is older than all
        # of them is of no interest.
        oldest = -1 if self.only_leaves or not wanted else min([node.seq for node in wanted])
        seen = set(roots)
        stack = list(seen)
        while stack:
            node = stack.pop()
            if node.seq <= oldest or node in ends:
                continue
            for e in node.edges:
                if type(e) is tuple and e[0] not in seen:
                    seen.add(e[0])
                    stack.append(e[0])
        _note_size(wanted, len(seen))
        found: set[Node] = set()
        for node in sorted(seen, key=_SEQ):  # operands were made before their node
            if node in ends:
                continue
            for e in node.edges:
                if e is None:
                    continue
                if type(e) is tuple:
                    if e[0] in found or e[0] in wanted:
                        found.add(node)
                        break
                elif id(e) in self.only_leaves:
                    found.add(node)
                    break
        if self.passes:
            found.update(seen.intersection(wanted))
        return found

    def give(self, edge: Edge, grad: object) -> None:
        """Adds a gradient to where an edge leads."""
        if type(edge) is tuple:
            node, j = edge
            slots = self.waiting.get(node)
            if slots is None:
                if node.visible == 1:
                    self.waiting[node] = [grad]
                else:
                    slots = self.waiting[node] = [None] * node.visible
                    slots[j] = grad
                heapq.heappush(self.heap, (-node.seq, node))
            else:
                slots[j] = grad if slots[j] is None else self.add(slots[j], grad)
        else:
            have = self.leaf_grads.get(id(edge))
            if edge._grad_kind is not None:
                grad = self.convert(self, grad, edge._grad_kind, have)
            if have is None:
                self.leaf_grads[id(edge)] = [edge, grad]
            else:
                have[1] = self.add(have[1], grad)

    def give_nothing(self, node: Node) -> None:
        """Lets the walk come to a node although it has got no gradient: custom functions are called
        all the same, as in torch."""
        if node not in self.waiting:
            self.waiting[node] = [None] * node.visible
            heapq.heappush(self.heap, (-node.seq, node))

    def expected(self, roots: Sequence[Node], needed: set[Node] | None) -> dict[int, int]:
        """How many gradients each leaf will be given, by its identity, so that its hooks run as
        soon as the last one is there."""
        counts: dict[int, int] = {}
        seen = set(roots)
        stack = list(seen)
        while stack:
            node = stack.pop()
            if needed is not None and node not in needed:
                continue
            for e in node.edges:
                if type(e) is tuple:
                    if e[0] not in seen:
                        seen.add(e[0])
                        stack.append(e[0])
                elif e is not None:
                    counts[id(e)] = counts.get(id(e), 0) + 1
        return counts

    def run(self, roots: Sequence[Node], finish: Callable[..., object] | None = None) -> None:
        """Visits nodes, the latest first. ``finish`` is called with a leaf and its gradient when
        that is complete, if hooks wait for it."""
        needed = self.needed(roots)
        heap, waiting, give = self.heap, self.waiting, self.give
        tracked_, keep, wanted = self.create_graph, self.keep_graph, self.wanted
        counts = None if finish is None else self.expected(roots, needed)
        while heap:
            node = heapq.heappop(heap)[1]
            grads = waiting.pop(node)
            rare = node.rare
            if needed is not None and node not in needed:
                if node in wanted:
                    self._capture(node, self._before(node, grads))
                continue
            if node in wanted:
                self._capture(node, grads)
            if rare is not None:
                grads = self._before(node, grads)
                if rare.prehooks:
                    grads = self.hooks.before(self, node, grads)
            try:
                if grads[0] is None and node.call is not None and all(g is None for g in grads):
                    found = [None] * len(node.edges)
                else:
                    found = node.apply_tracked(grads) if tracked_ else node.apply(grads)
            except Above:  # from here on gradients are tensors of other classes
                walking.get().continue_on_tensors(self, node, grads, needed, finish, counts)
                return
            if rare is not None and rare.hooks:
                if needed is not None and node.call is not None:
                    found = [
                        g if self._asked(e, needed) else None
                        for e, g in zip(node.edges, found, strict=True)
                    ]
                found = self.hooks.after(self, node, found, grads)
            for edge, grad in zip(node.edges, found, strict=True):
                if edge is not None:
                    if grad is not None:
                        give(edge, grad)
                    elif type(edge) is tuple:
                        self.give_nothing(edge[0])
            if counts is not None:
                for edge in node.edges:
                    if edge is not None and type(edge) is not tuple:
                        counts[id(edge)] -= 1
                        if not counts[id(edge)] and id(edge) in self.leaf_grads:
                            finish(*self.leaf_grads.pop(id(edge)))  # type: ignore[misc]
            if not keep:
                node.release()

    def _asked(self, edge: tuple[object, ...] | Tensor | None, needed: set[Node]) -> bool:
        """Whether somebody waits for the gradient that goes along an edge."""
        if type(edge) is tuple:
            return edge[0] in needed or edge[0] in self.wanted
        return edge is not None and self.only_leaves is not None and id(edge) in self.only_leaves

    def _capture(self, node: Node, grads: Values) -> None:
        """Keeps the gradients that are wanted. As in torch they are those before hooks where the
        walk goes on, else those after them."""
        for j in self.wanted[node]:
            self.captured[id(node), j] = grads[j]

    def _before(self, node: Node, grads: Values) -> Values:
        """Hooks of results, which come first, then ``retain_grad``."""
        rare = node.rare
        if rare is not None and rare.tensor_hooks:
            grads = self.hooks.results(self, node, grads)
        if rare is not None and rare.retained:
            for j, keep in rare.retained.items():
                if grads[j] is not None:
                    keep(self, grads[j])
        return grads
