"""One watched run of a function, and what is learnt from it: the recorded trace, where its inputs
come from, what it changes."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from .._src.engine import HOLDING, LOCAL, SPECIAL, Value, concrete, flush
from .._src.engine.record import MAX_OPS, _enter, number_in, release, start
from ..autograd import tape
from ..autograd.items import _add_values
from ..core import Tensor, alias_of
from ..random import Generator, default_generator
from ._program import Backward
from ._watch import Draw, Watch
from ._world import ATOMS, Place, World

if TYPE_CHECKING:
    from .._src.engine.record import Trace
    from .._src.facts.kinds import Tree


class Refused(Exception):
    """This run cannot be made a program, and why. ``final`` says that no later one can."""

    def __init__(self, why: str, final: bool = True, reads: bool = False) -> None:
        super().__init__(why)
        self.final, self.reads = final, reads


class _Capturing(threading.local):
    """What is being captured in this thread, if anything."""

    now: Capture | None = None


CAPTURING = _Capturing()


class Handle:
    """How a replay finds a tensor again: an argument, a certain tensor, what is in a place, or the
    ``grad`` of one of these."""

    __slots__ = ("at", "kind", "what")

    def __init__(self, kind: str, what: Any, at: int = 0) -> None:
        self.kind, self.what, self.at = kind, what, at

    def find(self, args: Sequence[Tensor]) -> Any:
        """The tensor."""
        if self.kind == "fixed":
            return self.what
        if self.kind == "arg":
            return args[self.at]
        if self.kind == "slot":
            return self.what.get(self.at)
        return self.what.find(args)._grad


class Before:
    """The state of a tensor before the run."""

    __slots__ = (
        "base",
        "counter",
        "grad",
        "handle",
        "hooks",
        "node",
        "rg",
        "storage",
        "tensor",
        "value",
        "version",
    )

    def __init__(self, tensor: Tensor, handle: Handle) -> None:
        self.tensor, self.handle = tensor, handle
        self.value = tensor._read()
        self.version = tensor._writes
        al = tensor._al
        self.storage = None if al is None else al.storage
        self.base = None if al is None else al.storage.value
        self.counter = 0 if al is None else al.counter.n
        self.grad = tensor._grad
        self.node, self.rg = tensor._node, tensor._rg
        self.hooks = len(tensor._hooks) if tensor._hooks else 0


class New:
    """A tensor that the run made: which value it has, and how it stands to others.

    Attributes:
        value: number of the value among the trace's, or -n for input n.
        history: ``""``, ``"leaf"``, ``"dead"`` (its graph was walked and freed) or ``"live"``.
        base: for a view of memory that was there before: the handle of a tensor on it; then
            ``alias`` says how it looks at it.
    """

    __slots__ = ("alias", "base", "history", "name", "number", "strides", "value")

    def __init__(self, value: int, strides: object) -> None:
        self.value, self.strides = value, strides
        self.history = ""
        self.name = ""
        self.number = 0
        self.base: Handle | None = None
        self.alias: Any = None

    def key(self) -> Any:
        """What must agree for two runs to be one program."""
        return self.value, self.strides, self.history, self.number


class Capture:
    """Runs a function watched, and keeps what a program needs to know.

    Attributes:
        arranging: above zero while what arranges a computation reads values that the program does
            not depend on.
        state: the node of the trie where the recorded trace ends.
        sources: for each input of the trace: a ``Handle``, ``("base", handle)``, a ``Draw`` or a
            constant value.
        new: tensors that the run made and that are still seen from outside.
        result: the flat result: ``("new", i)``, ``("there", handle)`` or ``("atom", value)``.
        writes: values written to tensors that were there: (handle, number of the value, counts of
            versions, whether to the storage).
        grads: (handle, index into ``new`` or None).
        slots: (place, position, index into ``new``).
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        flat: Sequence[Tensor | int],
        form: Any,
        names: set[str],
        codes: dict[Any, Any],
    ) -> None:
        self.fn, self.flat, self.form = fn, flat, form
        self.hinted = False
        self.arranging = 0
        self.refusal: str | None = None
        flush()
        roots = [fn, *[x for x in flat if not isinstance(x, Tensor) and type(x) not in ATOMS]]
        self.world = World(names, codes).walk(roots)
        self.before: dict[int, Before] = {}
        self._generators = {id(default_generator): default_generator}
        self._generators.update(
            (i, x) for i, x in self.world._seen.items() if isinstance(x, Generator)
        )
        self._positions = {i: g._twister.get_state() for i, g in self._generators.items()}
        self.args = [x for x in flat if isinstance(x, Tensor)]
        for at, t in enumerate(self.args):
            self._note(t, Handle("arg", None, at))
        for t in self.world.tensors.values():
            self._note(t, Handle("fixed", t))
        flush()
        ends = [
            b for b in self.before.values() if b.handle.kind == "fixed" and b.rg and b.node is None
        ]
        #: Whether tensors had gradients: programs ask.
        self.grads_before = [(b.tensor, b.grad is None) for b in ends]
        self.watch = Watch(self)
        self.start = tape.next_seq()

    def _note(self, t: Tensor, handle: Handle) -> None:
        if id(t) in self.before:
            return
        if t._v is None and t._al is None:
            return
        self.before[id(t)] = Before(t, handle)
        if t._grad is not None:
            self._note(t._grad, Handle("grad", handle))

    # ---- running ---------------------------------------------------------------------------------

    def run(self, args: tuple[Tensor | int, ...], kwargs: object) -> Tree:
        """Calls the function, recording everything into one trace. What it does is done, whether or
        not a program comes of it."""
        outer = LOCAL.trace
        self.given = (args, kwargs)
        self.trace: Any = None
        self.whole = False
        try:  # an interrupt in the middle of this, too, must find its end
            trace = self.trace = start(LOCAL, 1 << 60)
            trace.nbytes = -(1 << 60)
            CAPTURING.now = self
            HOLDING.stack.append(self)
            self.output = self.watch.run(self.fn, args, kwargs)
            self.whole = LOCAL.trace is trace
        finally:
            CAPTURING.now = None
            if self in HOLDING.stack:
                HOLDING.stack.remove(self)
            if not self.whole or self.watch.impure is not None:
                self._leave(outer)
            self._outer = outer
        return self.output

    def _leave(self, outer: object) -> None:
        if outer is None:
            flush()
            LOCAL.trace = None
        elif LOCAL.trace is self.trace:
            self.trace.limit = MAX_OPS
            self.trace.nbytes = 0

    def learn(self, treedef_of: Callable[[Any], tuple[list[Any], Any]]) -> None:
        """Finds out what the run read and wrote.

        Raises:
            Refused: if a program cannot do the same.
        """
        try:
            self._learn(treedef_of)
        finally:
            if LOCAL.trace is self.trace:
                self._leave(self._outer)
                flush()
            self.world._seen.clear()
            self.before.clear()

    def _check_arguments(self, treedef_of: Callable[[Any], tuple[list[Any], Any]]) -> None:
        """Whether the arguments are made of the same objects as before: what is in them is handed
        over, not compared."""
        flat, treedef = treedef_of(self.given)
        if (
            treedef != self.form
            or len(flat) != len(self.flat)
            or any(a is not b for a, b in zip(flat, self.flat))
        ):
            raise Refused("it changes a container that it is given")

    def _learn(self, treedef_of: Callable[[Any], tuple[list[Any], Any]]) -> None:
        if not self.whole or self.watch.reads:
            line = self.watch.line
            raise Refused(
                "it reads a value" + (f" at {line[0]}:{line[1]}" if line else ""), reads=True
            )
        for why in (self.refusal, self.watch.impure, self.world.refusal):
            if why is not None:
                raise Refused(why)
        unknown = set(self.watch.codes) - set(self.world.codes)
        if unknown:
            raise Refused("its code was not known", final=False)
        self._check_arguments(treedef_of)
        self._resolve_slots()
        self.new: list[New] = []
        self._tensors: list[Tensor] = []
        self._made: dict[int, int] = {}
        self._holders: dict[int, list[Tensor]] = {}
        # A tensor that was viewed shares its memory from then on.
        self._bases = {
            id(b.tensor._al.storage): b for b in self.before.values() if b.tensor._al is not None
        }
        self.result: list[tuple[str, Any]] = []
        leaves, self.treedef = treedef_of(self.output)
        for x in leaves:
            self.result.append(self._described(x))
        self.writes = self._written()
        self.grads = self._graded()
        self.slots = [(place, i, self._new(place.get(i))) for place, i in self._rebound]
        self._check_sharing()
        # What is live is known: the trace runs now, as any trace does.
        trace = self.trace
        self.state, self.numbers = trace.state, list(trace.numbers)
        self.leaves = list(trace.leaves)
        self.sources = [self._source(v) for v in self.leaves]
        alive = [weakref.ref(v) for v in trace.values]
        live = [self._tensors[i] for i, n in enumerate(self.new) if n.history == "live"]
        self._leave(self._outer)
        flush()
        index = {id(v): i for i, r in enumerate(alive) if (v := r()) is not None}
        self.backward, self.residuals, self.edges = None, [], {}
        if live:
            self._learn_backward(live, index)
        self._check_draws()
        self.keep_outputs()

    def keep_outputs(self) -> None:
        """Orders the values that the program returns: those with a gradient first, then those that
        are written back, in the order of the inputs that they replace, whose memory they take
        over."""
        place_of = {id(s): k for k, s in enumerate(self.sources)}
        order = sorted(self.writes, key=lambda w: place_of.get(id(w[0]), 1 << 30))
        wanted = [w[1] for w in order]
        wanted += [n.value for n in self.new if n.base is None]
        first = [n.value for n in self.new if n.history == "live"]
        self.outs = first + [i for i in dict.fromkeys(wanted) if i not in set(first)]
        self.visible = len(self.outs)
        self.outs += self.residuals

    # ---- results ---------------------------------------------------------------------------------

    def _described(self, x: Tensor) -> tuple[str, Any]:
        if isinstance(x, Tensor):
            known = self.before.get(id(x))
            if known is not None:
                return "there", known.handle
            return "new", self._new(x)
        if type(x) in ATOMS or id(x) in self.world._seen or any(x is y for y in self.flat):
            return "atom", x
        if isinstance(x, type) or (
            type(x).__module__.partition(".")[0] in ("jtorch", "torch")
            and not isinstance(x, self.world.modules)
        ):
            return "atom", x  # dtypes, devices, sizes
        raise Refused(f"it returns a new object of type {type(x).__name__}")

    def _new(self, t: Tensor) -> int:
        found = self._made.get(id(t))
        if found is not None:
            return found
        if type(t) is not Tensor:
            raise Refused(f"it makes a tensor of type {type(t).__name__}")
        al = t._al
        n: New
        if al is not None and id(al.storage) in self._bases:
            if t.requires_grad:
                raise Refused("it returns a view of a tensor that was there before, with history")
            n = New(0, t._strides)
            n.base, n.alias = (
                self._bases[id(al.storage)].handle,
                (al.chain, al.offset, al.aval, al.strides, al.origin),
            )
        else:
            n = New(self._number(t._read()), t._strides)
            if al is not None and t._al is not None:
                self._holders.setdefault(id(t._al.storage), []).append(t)
            self._history(t, n)
        if t._hooks or t._retains:
            raise Refused("it gives a tensor that it returns hooks")
        self._made[id(t)] = len(self.new)
        self._tensors.append(t)
        self.new.append(n)
        return len(self.new) - 1

    def _history(self, t: Tensor, n: New) -> None:
        if not t._rg:
            return
        node = t._node
        if node is None:
            n.history = "leaf"
            return
        n.name = node.name()
        n.number = t._nr
        stack, seen = [node], {node}
        n.history = "live"
        while stack:
            at = stack.pop()
            if at.seq < self.start:
                if at is node:
                    raise Refused("it returns a new tensor with an old history")
                continue
            if at.saved is None:
                n.history = "dead"
                return
            for e in at.edges:
                if type(e) is tuple and e[0] not in seen:
                    seen.add(e[0])
                    stack.append(e[0])

    def _check_sharing(self) -> None:
        if any(len(ts) > 1 for ts in self._holders.values()):
            raise Refused("it returns several views of the same new memory")

    def _number(self, v: Value) -> int:
        """The number of a value in the trace; an input is added for one that is not in it."""
        found = number_in(self.trace, v)
        if found is None:
            if v.array is None or v.trace is SPECIAL:
                raise Refused("it returns a value of another thread or transformation")
            found = _enter(self.trace, v)
        return found

    # ---- what was changed ------------------------------------------------------------------------

    def _resolve_slots(self) -> None:
        """Tells rebound tensors (which a program can rebind) from other changes of Python's state
        (which it cannot)."""
        changes = self.world.changes()
        if changes is None:
            raise Refused("it changes Python objects: a container grew or shrank", final=False)
        self._rebound: list[tuple[Place, int]] = []
        for place, i in changes:
            old, new = place.values[i], place.get(i)
            if not isinstance(old, Tensor) or not isinstance(new, Tensor) or id(new) in self.before:
                name = place.names[i] if place.names is not None else i
                raise Refused(
                    f"it changes Python objects: {name!r} was {_short(old)}, and is {_short(new)} "
                    "now",
                    final=False,
                )
            self._rebound.append((place, i))
            known = self.before.get(id(old))
            if known is not None:
                known.handle.kind, known.handle.what, known.handle.at = "slot", place, i

    def _written(self) -> list[tuple[Handle, int, int, bool]]:
        found = []
        storages: set[int] = set()
        for b in self.before.values():
            t = b.tensor
            if t._node is not b.node or t._rg != b.rg:
                raise Refused("it changes the history of a tensor that was there before")
            if (len(t._hooks) if t._hooks else 0) != b.hooks:
                raise Refused("it gives a tensor that was there before hooks")
            if b.storage is not None:
                if id(b.storage) in storages:
                    continue
                storages.add(id(b.storage))
                al = alias_of(t)
                if al.storage is not b.storage:
                    raise Refused("it gives a tensor that was there before other memory")
                value = b.storage.value
                number = None if value is None else number_in(self.trace, value)
                if number is None:
                    if b.storage.host is None and value is not None and al.counter.n != b.counter:
                        raise Refused("it writes to a tensor what was there before")
                    continue
                if number < 0 and al.counter.n == b.counter:
                    continue
                found.append((b.handle, number, al.counter.n - b.counter, True))
                continue
            al = t._al
            value: Any = t._v if al is None else al.storage.value
            if al is not None and al.chain:
                raise Refused("it makes a tensor that was there before a view of another")
            if value is not b.value or t._writes != b.version:
                found.append((b.handle, self._number(value), t._writes - b.version, False))
        return found

    def _graded(self) -> list[tuple[Handle, int | None]]:
        found = []
        for b in list(self.before.values()):
            grad = b.tensor._grad
            if grad is b.grad:
                continue
            if grad is not None and id(grad) in self.before:
                raise Refused("it makes one tensor the gradient of several")
            found.append((b.handle, None if grad is None else self._new(grad)))
        return found

    # ---- where inputs come from ------------------------------------------------------------------

    def _source(self, v: Value) -> Any:
        alias = self.watch.hosted.get(id(v))
        if alias is not None:  # NumPy's memory: read anew each time
            for b in self.before.values():
                if b.tensor._al is alias[0]:
                    return b.handle
            raise Refused("it uses a view of NumPy's memory")
        for b in self.before.values():
            if b.value is v:
                return b.handle
        for b in self.before.values():
            if b.base is v:
                return ("base", b.handle)
        for draw, value in self.watch.draws:
            if value is v:
                return draw
        if id(v) in self.watch.made:
            return v
        raise Refused("it uses a tensor that was not found")

    def shared(self) -> list[list[Tensor]]:
        """Tensors that held one and the same value: a program that has one input for them needs
        them to do so again."""
        groups: dict[int, list[Tensor]] = {}
        for b in self.before.values():
            if b.handle.kind == "fixed":
                groups.setdefault(id(b.value), []).append(b.tensor)
        used = {id(v) for v in self.leaves}
        return [g for i, g in groups.items() if len(g) > 1 and i in used]

    def _check_draws(self) -> None:
        """Whether the random numbers that are drawn again before each replay are all that were
        drawn."""
        if self.watch.waiting is not None:
            raise Refused("random numbers were drawn and used on the host")
        for i, generator in self._generators.items():
            twister = generator._twister
            after = twister.get_state()
            twister.set_state(self._positions[i])
            for draw, _ in self.watch.draws:
                if draw.arguments[1] is twister:
                    draw.again()
            fine = bool((twister.get_state() == after).all())
            twister.set_state(after)
            if not fine:
                raise Refused("it draws random numbers in a way that cannot be repeated")
        if any(
            all(draw.arguments[1] is not g._twister for g in self._generators.values())
            for draw, _ in self.watch.draws
        ):
            raise Refused("it draws from a generator of its own")

    # ---- the derivative --------------------------------------------------------------------------

    def _learn_backward(self, tensors: list[Tensor], index: dict[int, int]) -> None:
        """Records the walk from the results to everything outside that they depend on."""
        roots = list(dict.fromkeys(t._node for t in tensors))
        ends = {}
        stack, seen = list(roots), set(roots)
        while stack:
            for e in stack.pop().edges:
                if type(e) is not tuple:
                    if e is not None:
                        ends[id(e)] = e
                elif e[0].seq < self.start:
                    ends[id(e[0]), e[1]] = e
                elif e[0] not in seen:
                    seen.add(e[0])
                    stack.append(e[0])
        handles = {}
        for b in self.before.values():
            if b.rg:
                handles[id(b.tensor) if b.node is None else (id(b.node), b.tensor._nr)] = b.handle
        outside = {key: e for key, e in ends.items() if key in handles}
        if any(type(key) is tuple and key not in handles for key in ends):
            raise Refused("its results depend on a history that was not found")
        if any(type(key) is int and key not in handles and key in self._made for key in ends):
            raise Refused("it returns a leaf that its other results depend on")
        input_of = {id(s): k for k, s in enumerate(self.sources) if isinstance(s, Handle)}
        trace = start(LOCAL, 1 << 60)
        trace.nbytes = -(1 << 60)
        task: Any = tape._Task(False, True, _add_values)
        task.only_leaves = {key for key in outside if type(key) is int}
        for key in outside:
            if type(key) is tuple:
                task.wanted.setdefault(outside[key][0], set()).add(key[1])
        task.roots = roots
        cotangents = [concrete(jnp.zeros(t._aval.shape, t._aval.dtype)) for t in tensors]
        enabled, tape.MODE.enabled = tape.MODE.enabled, False
        try:
            for t, c in zip(tensors, cotangents, strict=True):
                task.give((t._node, t._nr), c)
            task.run(roots)
            if LOCAL.trace is not trace:
                raise Refused("its backward pass reads a value")
            gradients = {}
            for key in outside:
                entry = task.leaf_grads.get(key) if type(key) is int else None
                gradients[key] = entry[1] if entry is not None else task.captured.get(key)
            sources, residuals = self._backward_sources(trace, cotangents, index)
            per_input: list[int | None] = [None] * len(self.sources)
            for key, g in gradients.items():
                at = input_of.get(id(handles[key]))
                if g is not None and at is not None:
                    number = number_in(trace, g)
                    per_input[at] = (
                        self._passed(g, cotangents, sources) if number is None else number
                    )
                elif g is not None:
                    raise Refused("a gradient goes to what is no input")
            self.backward = Backward(trace.state.steps(), sources, per_input, list(trace.numbers))
            self.residuals = residuals
            self.edges = {
                input_of[id(handles[key])]: handles[key]
                for key, g in gradients.items()
                if g is not None
            }
        except NotImplementedError as error:
            raise Refused(str(error)) from None
        finally:
            tape.MODE.enabled = enabled
            release(trace)
            if self._outer is None:
                LOCAL.trace = None
            elif LOCAL.trace is trace:
                start(LOCAL)

    def _passed(self, g: Value, cotangents: list[Value], sources: list[tuple[str, int]]) -> int:
        """The number of a gradient that is passed on as it came: minus its place among the
        inputs."""
        for i, c in enumerate(cotangents):
            if c is g:
                sources.append(("gradient", i))
                return -len(sources)
        raise Refused("a gradient is a constant")

    def _backward_sources(
        self, trace: Trace, cotangents: list[Value], index: dict[int, int]
    ) -> tuple[list[tuple[str, int]], list[int]]:
        of_input = {id(v): i for i, v in enumerate(self.leaves)}
        of_cotangent = {id(c): i for i, c in enumerate(cotangents)}
        residuals: list[int] = []
        sources: list[tuple[str, int]] = []
        for v in trace.leaves:
            if id(v) in of_cotangent:
                sources.append(("gradient", of_cotangent[id(v)]))
            elif id(v) in of_input:
                sources.append(("operand", of_input[id(v)]))
            elif id(v) in index:
                i = index[id(v)]
                if i not in residuals:
                    residuals.append(i)
                sources.append(("residual", residuals.index(i)))
            else:
                source = self._source(v)  # only the backward pass needs it
                of_input[id(v)] = len(self.leaves)
                sources.append(("operand", len(self.leaves)))
                self.leaves.append(v)
                self.sources.append(source)
        return sources, residuals


def _short(x: object) -> str:
    text = f"a {type(x).__name__}" if type(x) not in ATOMS else repr(x)
    return text if len(text) < 60 else text[:57] + "..."


__all__ = ["CAPTURING", "Before", "Capture", "Draw", "Handle", "New", "Refused"]
