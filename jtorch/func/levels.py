"""What one ``vmap`` is made of: batched values, the calls on them, and the ways in and out, with
history.

A batched value looks like one example, and holds the value of all of them, examples along the first
axis. A call on such values runs the call's kernel under ``jax.vmap`` on what they hold. The tape
records at the level of examples; where results leave, one node takes their gradients to everything
outside that they depend on, summing over the examples what all of them share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .._src.engine import SPECIAL, Call, Guarded, Lifted, Transformed, Value, aval_of, record
from .._src.engine.calls import shapes_of
from .._src.engine.programs import identity
from .._src.facts.layouts import contiguous_strides
from .._src.ops._kernel import caches
from .._src.tensor.cells import Step
from .._src.tensor.looking import small_view, view
from ..autograd.dual import INNER, orders
from ..autograd.ends import ends_of
from ..autograd.grad_mode import MODE
from ..autograd.items import _add_pairs, _add_values, _item, _tensor
from ..autograd.tape import FREED, Node, _Task, next_seq
from ..core import Tensor, alias_of, from_value
from ..dispatch import LAYOUTS
from .trees import broadcast_and_flatten, flatten, unflatten

if TYPE_CHECKING:
    from .._src.facts.kinds import Arguments, Values


_new = object.__new__

UNREADABLE = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling "
    ".item() on a Tensor, please try to rewrite what you're doing with other operations. If error "
    "is occurring somewhere inside PyTorch internals, please file a bug report."
)


#: Levels that are running, the innermost last.
RUNNING: list[Level] = []


class Level:
    """One running (or finished, and awaiting gradients) ``vmap``.

    Attributes:
        size: how many examples.
        order: the greater of two levels is the inner one, and handles a call first.
        depth: how many levels there are up to this one.
        sources: tensors of examples that came in, by identity, each with the history of all
            examples as it was then.
        spans: creation numbers of the nodes that were recorded inside, as [start, end) pairs.
        starts: storages of examples of memory that begins before them, by identity, each with the
            place where the first example lies.
    """

    __slots__ = ("depth", "order", "randomness", "size", "sources", "spans", "starts")

    def __init__(self, size: int, randomness: str = "error") -> None:
        self.size, self.randomness = size, randomness
        self.order = self.depth = 0
        self.sources: dict[int, tuple[Tensor, Any]] = {}
        self.spans: list[tuple[int, float]] = []
        self.starts: dict[int, tuple[Any, int]] = {}

    def __enter__(self) -> Level:
        self.order = orders()
        self.spans.append((next_seq(), float("inf")))
        RUNNING.append(self)
        self.depth = len(RUNNING)
        return self

    def __exit__(self, *exc: object) -> None:
        RUNNING.remove(self)
        self.spans[-1] = (self.spans[-1][0], next_seq())

    def spread(self, t: Tensor) -> Tensor:
        """One example of ``t``, whose first axis goes over them."""
        return enter(t, 0, self)

    def gathered(self, t: Tensor) -> Tensor:
        """All examples of ``t``, which has no history, along a new first axis."""
        return leave([t], self)[0]

    def recorded(self, node: Node) -> bool:
        """Whether the node was made inside."""
        return any(start <= node.seq < end for start, end in self.spans)


class Batched(Transformed):
    """The value of one example, standing for all of them."""

    __slots__ = ("level", "physical")

    physical: Value
    level: Level

    @property
    def order(self) -> int:
        """Which of several transformations this value belongs to."""
        return self.level.order

    @property
    def depth(self) -> int:
        """In how many levels this one is, counting itself."""
        return self.level.depth

    def run(self, call: Call, ins: Sequence[Value], numbers: Arguments) -> Any:
        """Runs the call on all examples of the innermost level at once."""
        level = max((v.level for v in ins if type(v) is Batched), key=lambda found: found.order)
        mine = tuple([type(v) is Batched and v.level is level for v in ins])
        physical = [v.physical if m else v for v, m in zip(ins, mine, strict=True)]
        try:
            out = INNER.record(vmapped(call, mine, len(numbers)), physical, numbers)
        except RuntimeError:
            if (misfit := _misfit(call, ins)) is not None:
                raise misfit from None
            raise
        return batched(out, level) if isinstance(out, Value) else [batched(v, level) for v in out]

    def over(self, physical: Value) -> Value:
        """The value of one example of others."""
        return batched(physical, self.level)

    def apart(self) -> tuple[tuple[Value, ...], Callable[..., Value]]:
        """The value of all examples."""
        return (self.physical,), partial(batched, level=self.level)

    def start(self, storage: Any) -> int | None:
        """Where the first of the examples lies in the memory of all."""
        found = self.level.starts.get(id(storage))
        return 0 if found is None else found[1]

    def may_replace(self, current: Value) -> bool:
        """Whether what is there has a place for each example too."""
        inner: Value = self.physical
        while isinstance(current, Lifted) and current.order > self.order:
            current = getattr(current, "physical", None) or current.primal
        if type(current) is not Batched or current.level is not self.level:
            return False
        return not isinstance(inner, Lifted) or inner.may_replace(current.physical)

    def unreadable(self, what: str = "item") -> Exception:
        """torch's error for looking at the value of one example."""
        if what == "bool":
            return RuntimeError(
                "vmap: It looks like you're attempting to use a Tensor in some data-dependent "
                "control flow. We don't support that yet, please file an issue at "
                "https://github.com/pytorch/pytorch/issues ."
            )
        if what.startswith("aten::"):
            return RuntimeError(
                "vmap: We do not support batching operators that can output dynamic shape. "
                f"Attempted to vmap over {what}. Please file an issue at "
                "https://github.com/pytorch/pytorch/issues if you need this feature."
            )
        if what == "a boolean mask":
            return RuntimeError(
                "vmap: We do not support batching operators that can support dynamic shape. "
                "Attempting to batch over indexing with a boolean mask."
            )
        return RuntimeError(UNREADABLE)


def _misfit(call: Call, ins: Sequence[Value]) -> RuntimeError | None:
    """torch's error for a product of examples that have not the dimensions that it needs; None
    where they have, and for other calls."""
    ranks, shapes = (
        call.extra.op.ranks if call.extra.op is not None else (),
        [v.aval.shape for v in ins],
    )
    if not ranks or ranks == tuple(map(len, shapes)):
        return None
    name = call.name
    if MODE.batching:
        which = [
            _RANKS[n].format(which=which) for n, which in zip(ranks, ("self", "other"), strict=True)
        ]
        one, two = [
            f"{w} (got `{o}` of size {list(s)})"
            for w, o, s in zip(which, ("self", "other"), shapes, strict=True)
        ]
        return RuntimeError(
            f"{name}(self, other): Shape mismatch: {'expected ' * (ranks != (1, 1))}{one} and {two}"
        )
    if ranks == (1, 1):
        return RuntimeError(f"Got wrong shapes for {name}")
    return RuntimeError(
        f"Shape mismatch: Got incorrect dims for {name}(a, b). a has dim {len(shapes[0])}and b has "
        f"dim {len(shapes[1])}but expected them to have dim {ranks[0]} and dim {ranks[1]}"
    )


#: What the older ``vmap`` calls operands of so many dimensions.
_RANKS = {1: "vector", 2: "matrix", 3: "3D `{which}`"}


def batched(physical: Value, level: Level) -> Batched:
    """The value of one example of ``physical``."""
    v = _new(Batched)
    aval = physical.aval
    v.aval = aval_of(aval.shape[1:], aval.dtype, aval.device)
    v.array, v.index, v.meta, v.trace = None, 0, None, SPECIAL
    v.physical, v.level = physical, level
    return v


_vmapped: dict[Any, Call] = {}
caches.append(_vmapped)


def vmapped(call: Call, mine: tuple[bool, ...], numbers: int) -> Call:
    """The call that runs ``call`` for each example of the operands that are batched."""
    found = _vmapped.get((call, mine))
    if found is None:
        fn = call.fn
        axes = tuple([0 if m else None for m in mine]) + (None,) * numbers

        def over_examples(*flat: object) -> object:
            out = jax.vmap(fn, in_axes=axes)(*flat)
            return (
                Guarded(out.outs, _first_failure(out.flags), out.checks)
                if isinstance(out, Guarded)
                else out
            )

        # for who writes it with operators
        over_examples.of_examples = call, mine  # type: ignore[attr-defined]
        over_examples.__name__ = over_examples.__qualname__ = f"{call.name}_vmapped"
        name = call.identity and identity("vmap", call.identity, mine)
        found = _vmapped[call, mine] = Call(call.name, over_examples, call.kinds, call.extra, name)
    return found


def _first_failure(flags: Any) -> object:
    """Flags of all examples as those of one: of each check the first example that failed it."""
    bad = flags[:, :, 0]
    if not len(bad):  # no examples, so none that failed
        return jnp.zeros(flags.shape[1:], np.int64)
    value = jnp.take_along_axis(flags[:, :, 1], jnp.argmax(bad, axis=0)[None], axis=0)[0]
    return jnp.stack([jnp.max(bad, axis=0), value], axis=-1).astype(np.int64)


class VmapInfo(NamedTuple):
    """What a function's own rule for ``vmap`` is told."""

    batch_size: int
    randomness: str


def own_rule(rule: Callable[..., object], args: Sequence[object], level: Level) -> Tensor:
    """Calls a function's own rule with the tensors of all examples, also of those in containers,
    and takes examples of its results."""
    flat, spec = flatten(tuple(args))
    mine = [
        isinstance(a, Tensor) and type(v := a._read()) is Batched and v.level is level for a in flat
    ]
    examples = [a for a, m in zip(flat, mine, strict=True) if m]
    settle(examples)
    outside = iter(
        leave(examples, level)
        if MODE.enabled
        else [INNER.tensor(a._read().physical) for a in examples]
    )
    given = unflatten([next(outside) if m else a for a, m in zip(flat, mine, strict=True)], spec)
    in_dims = unflatten([0 if m else None for m in mine], spec)
    found = rule(VmapInfo(level.size, level.randomness), in_dims, *given)
    if not isinstance(found, tuple) or len(found) != 2:
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with "
            f"pytree structure compatible with the output. Got a {type(found)} instead"
        )
    output, out_dims = found
    flat, spec = flatten(output)
    dims = broadcast_and_flatten(out_dims, spec)
    if dims is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) "
            f"tuple. Expected out_dims={out_dims} to be compatible with the structure of `output`. "
            f"out_dims has structure {flatten(out_dims)[1]} but output has structure {spec}. For "
            "more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
        )
    return unflatten(
        [o if d is None else enter(o, d, level) for o, d in zip(flat, dims, strict=True)], spec
    )


# ---- in and out ----------------------------------------------------------------------------------


def enter(t: Tensor, dim: int, level: Level) -> Tensor:
    """One example of ``t``, whose examples lie along ``dim``."""
    moved = t.movedim(dim, 0) if dim else t
    found = from_value(batched(moved._read(), level))
    strides = moved._strides
    if strides is not None and strides[1:] != contiguous_strides(found._aval.shape):
        # what views of an example are possible follows from where its elements lie
        found._strides = strides[1:]
    if start := moved.storage_offset():
        storage = alias_of(found).storage
        level.starts[id(storage)] = (storage, start)
    if MODE.enabled and moved.requires_grad:
        found._rg = True
        source, edge = found, moved._edge()
        if type(edge) is tuple:  # it is no leaf, and may be written to
            source = from_value(found._v or found._read())
            source._rg = True
            found._node = Entering(source)
        level.sources[id(source)] = (source, edge)
    return found


class Entering(Node):
    """The node of an example of what has a history outside."""

    __slots__ = ()

    def __init__(self, source: Tensor) -> None:
        self.call = None
        self.saved, self.kept = [], ()
        self.hooked = self.rare = None
        self.avals, self.numbers = (source._aval,), ()
        self.outs = (source._aval,)
        self.visible = 1
        self.seq = next_seq()
        self.edges = [source]
        self.label = "AliasBackward0"

    def apply(self, grads: list[Value | None]) -> list[Value | None]:
        """The gradient as it is."""
        return grads[:1]

    def apply_tracked(self, grads: Values) -> Values:
        """The gradient as it is."""
        return grads[:1]


def looked_at(t: Tensor, example: Tensor, source: Tensor) -> Tensor | None:
    """All examples of ``t`` as a view of ``source``, whose first axis goes over them, if ``t`` is a
    view of ``example``; None otherwise.

    What is part of a graph is none: its history leads through the examples.
    """
    al, mine = t._al, example._al
    if al is None or mine is None or al.storage is not mine.storage or t._rg or not al.chain:
        return None
    steps = []
    aval: Any = source._aval
    for step in al.chain:
        put = step.put and vmapped(step.put, (True, True), len(step.numbers))
        whole = Step(
            vmapped(step.get, (True,), len(step.numbers)),
            put,
            step.numbers,
            step.geometric,
            step.bits,
        )
        whole.repeats, whole.stops = step.repeats, step.stops
        steps.append(whole)
        aval = shapes_of(steps[-1].get, (aval,), aval.device).outs
    wide, narrow = source._aval.dtype.itemsize, aval.dtype.itemsize
    strides = (
        source.stride(0) * wide // narrow,
        *(t._strides or contiguous_strides(t._aval.shape)),
    )
    # Where the source itself lies: that of an example, which an outer vmap made, is told from where
    # all of them lie.
    offset = (source._al.offset if source._al is not None else 0) * wide // narrow + al.offset
    if not source._rg and (found := small_view(source, tuple(steps), strides, offset)) is not None:
        return found
    before: Any = source
    # where these lie is not known, so that they must be computed, not looked up there
    for step in steps[:-1]:
        value: Any = record(step.get, (before._read(),), step.numbers)
        before = view(before, step, contiguous_strides(value.aval.shape), 0, value)
    return view(before, steps[-1], strides, offset)


def settle(outputs: Iterable[object]) -> None:
    """Brings the histories of views up to date, which writes into their memory have changed. To be
    called before the level is left."""
    for t in outputs:
        if isinstance(t, Tensor) and type(t) not in LAYOUTS and t._v is None and t._al is not None:
            t._sync()


def leave(outputs: Sequence[Tensor], level: Level) -> list[Tensor]:
    """All examples of each output (see ``settle``), along the first axis. To be called when the
    level has been left."""
    made: list[Tensor] = []
    tracked: list[tuple[Tensor, Tensor]] = []
    for t in outputs:
        v = t._read()
        if type(v) is Batched and v.level is level:
            made.append(INNER.tensor(v.physical))
            if t._rg:
                tracked.append((made[-1], t))
        else:
            made.append(t.unsqueeze(0).expand(level.size, *t.shape))
    if tracked:
        roots = [t._edge() for _, t in tracked]
        ends = _ends(roots, level)
        if ends:
            node = _Leaving(level, roots, ends, [out for out, _ in tracked])
            for j, (out, _) in enumerate(tracked):
                out._node, out._nr, out._rg = node, j, True
    return made


def _ends(roots: Sequence[object], level: Level) -> list[object]:
    """Where the history of examples ends: sources, and leaves and nodes outside of the level. Each
    once."""

    def outside(leaf: Tensor) -> bool:
        v = leaf._read()
        return id(leaf) in level.sources or not (type(v) is Batched and v.level is level)

    return ends_of(roots, outside, lambda node: not level.recorded(node))


class _ExampleTask(_Task):
    """A walk over the history of examples that stops where it leaves the level: what lies outside
    is walked once for all examples."""

    level: Level

    def needed(self, roots: Sequence[Node]) -> set[Node] | None:
        found = super().needed(roots)
        return None if found is None else {node for node in found if self.level.recorded(node)}


class _Leaving(Node):
    """The node of what leaves a level: from gradients of all examples to gradients of what came in
    or is shared."""

    __slots__ = ("ends", "level", "roots")

    def __init__(
        self,
        level: Level,
        roots: Sequence[object],
        ends: Sequence[object],
        results: Sequence[Tensor],
    ) -> None:
        self.call = None
        self.saved = []
        self.kept = ()
        self.hooked = self.rare = None
        self.avals, self.numbers = (), ()
        self.outs = tuple([t._aval for t in results])
        self.visible = len(results)
        self.label = "VmapBackward"
        self.seq = next_seq()
        self.level, self.roots, self.ends = level, list(roots), list(ends)
        edges = []
        for end in ends:
            source = level.sources.get(id(end)) if type(end) is not tuple else None
            edges.append(end if source is None else source[1])
        self.edges = edges

    def release(self) -> None:
        self.saved = None
        self.roots = self.ends = []

    def apply(self, grads: list[Value | None]) -> list[Value | None]:
        return self._run([None if g is None else from_value(g) for g in grads], False)

    def apply_tracked(self, grads: list[object]) -> list[object]:
        return self._run([None if g is None else _tensor(g, True) for g in grads], True)

    def _run(self, grads: list[Tensor | None], create_graph: bool) -> Values:
        if self.saved is None:
            raise RuntimeError(FREED)
        level = self.level
        enabled, MODE.enabled = MODE.enabled, create_graph
        try:
            with level:
                found = self._examples(
                    [None if g is None else enter(g, 0, level) for g in grads], create_graph
                )
            there = [t for t in found if t is not None]
            out = iter(leave(there, level))
            result = []
            for end, t in zip(self.ends, found, strict=True):
                if t is None:
                    result.append(None)
                    continue
                g = next(out)
                shared = type(end) is tuple or id(end) not in level.sources
                result.append(_item(g.sum(0) if shared else g, create_graph))
            return result
        finally:
            MODE.enabled = enabled

    def _examples(self, grads: list[Tensor | None], create_graph: bool) -> list[Tensor | None]:
        """Gradients at the ends, as tensors of examples."""
        task = _ExampleTask(create_graph, True, _add_pairs if create_graph else _add_values)
        task.level = self.level
        task.only_leaves = {id(e) for e in self.ends if type(e) is not tuple}
        for e in self.ends:
            if type(e) is tuple:
                task.wanted.setdefault(e[0], set()).add(e[1])
        nodes = []
        for root, g in zip(self.roots, grads, strict=True):
            if g is not None:
                task.give(root, _item(g, create_graph))
                if type(root) is tuple:
                    nodes.append(root[0])
        task.run(nodes)
        found = []
        for e in self.ends:
            if type(e) is tuple:
                item = task.captured.get((id(e[0]), e[1]))
            else:
                entry = task.leaf_grads.get(id(e))
                item = None if entry is None else entry[1]
            found.append(None if item is None else _tensor(item, create_graph))
        return found
