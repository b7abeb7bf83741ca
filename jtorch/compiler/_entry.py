"""Compiled functions: programs by signature, guards, replays."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._src import hooks
from .._src.engine import SPECIAL, Value, flush, record
from .._src.engine.trie import State
from .._src.facts import devices, dtypes
from .._src.facts.determinism import ASKED
from .._src.tensor.cells import Alias, bits_of
from .._src.tensor.writing import assign, stale, undoable
from ..autograd.grad_mode import MODE
from ..autograd.tape import SAVING, Node, next_seq
from ..core import Tensor, alias_of, from_value
from ..dispatch import ACTIVE, mode_stack
from ..utils._pytree import tree_flatten, tree_unflatten
from ._capture import CAPTURING, Capture, Draw, Handle, New, Refused
from ._errors import FailOnRecompileLimitHit, RecompileError
from ._program import forward_call
from ._world import ATOMS, Place, same

if TYPE_CHECKING:
    from .._src.facts.kinds import Arguments, Keywords, Row, Tree


_new = object.__new__
#: Runs of one signature that may be given up before the function is left uncompiled.
_PATIENCE = 6
#: Signatures with programs from which on shapes are taken to vary, calls of a signature after which
#: it gets a program even so, and how many signatures are counted, and have programs, at most.
_SHAPES, _OFTEN, _COUNTED, _KEPT = 8, 4, 4096, 256
#: Held while a run is watched.
_watching = threading.Lock()


class Unsupported(RuntimeError):
    """``fullgraph=True`` was asked for, and the function cannot be one program."""


class Settings:
    """What ``compile`` was told; ``dynamic`` is None where the function's own calls are to show
    whether shapes vary."""

    __slots__ = ("dynamic", "fullgraph", "limit", "name")

    def __init__(
        self, fullgraph: bool, limit: int, name: str | None, dynamic: bool | None = None
    ) -> None:
        self.fullgraph, self.limit, self.name, self.dynamic = fullgraph, limit, name, dynamic


class Compiled:
    """A function with the programs made of it.

    Attributes:
        entries: programs by signature, the latest used first.
        seen: where shapes vary, how often signatures without a program have come.
    """

    def __init__(self, fn: Callable[..., Any], settings: Settings) -> None:
        self.fn, self.settings = fn, settings
        self.entries = {}
        self.failures: dict[object, int] = {}
        self.seen: dict[Any, int] = {}
        self.names: set[str] = set()
        self.codes = {}
        self.abandoned = False
        self.captures = self.replays = 0
        self.reason: str | None = None

    def __call__(self, args: Arguments, kwargs: Keywords) -> tuple[Tensor, ...] | Tensor | None:
        """The function's result, by a program if there is one that fits."""
        if self.abandoned or CAPTURING.now is not None or SAVING.hooks or STANCE.eager:
            return self.fn(*args, **kwargs)
        flat, treedef = _flatten((args, kwargs))
        tensors: list[Tensor] = []
        key = _signature(flat, tensors)
        if key is None:
            return self.fn(*args, **kwargs)
        key = (treedef, key)
        entries = self.entries.get(key)
        if entries is not None:
            for entry in entries:
                if entry.holds(tensors, flat):
                    self.replays += 1
                    # in a new list, as other threads may be looking at this one
                    if entries[0] is not entry:
                        self.entries[key] = [entry, *[e for e in entries if e is not entry]]
                    return entry.run(tensors)
            if len(entries) >= self.settings.limit:
                if Recompiling.limit:
                    raise FailOnRecompileLimitHit("Hard failure due to fail_on_recompile_limit_hit")
                self._give_up(
                    f"it was compiled {len(entries)} times already for different Python values "
                    "(recompile_limit)"
                )
                return self.fn(*args, **kwargs)
        # the first look at a call may only show what the second has to watch
        if STANCE.fail and key not in self.failures:
            raise RuntimeError(
                "Detected recompile when torch.compile stance is 'fail_on_recompile'"
            )
        if Recompiling.error and self.entries and key not in self.failures:
            raise RecompileError(f"Recompiling function {self._name()}")
        if entries is None and self._is_rare(key):
            return self.fn(*args, **kwargs)
        # what another thread changes meanwhile would look like a change that the function makes
        if not _watching.acquire(blocking=False):
            return self.fn(*args, **kwargs)
        try:
            return self._capture(key, flat, tensors, args, kwargs)
        finally:
            _watching.release()

    def _is_rare(self, key: tuple[object, ...]) -> bool:
        """Whether a signature is one of many that vary, and has not come often: then a program
        would cost more than it saves."""
        dynamic = self.settings.dynamic
        if self.settings.fullgraph or not (
            len(self.entries) >= _SHAPES if dynamic is None else dynamic
        ):
            return False
        self.seen[key] = times = self.seen.pop(key, 0) + 1
        if len(self.seen) > _COUNTED:
            for oldest in list(self.seen)[:1]:  # in a list, as other threads may be at it
                self.seen.pop(oldest, None)
        return times < _OFTEN

    def _capture(
        self,
        key: tuple[object, ...],
        flat: list[Tensor | int],
        tensors: list[Tensor],
        args: tuple[Tensor | int, ...],
        kwargs: object,
    ) -> tuple[Tensor, ...] | Tensor:
        self.captures += 1
        capture = Capture(self.fn, flat, key[0], self.names, self.codes)
        result = capture.run(args, kwargs)
        try:
            capture.learn(_flatten)
            made = Entry(self, capture, tensors, flat)
            entries = self.entries.get(key, [])
            for entry in entries:
                if entry.generalise(made):
                    break
            else:
                self.entries[key] = [made, *entries]
                self.seen.pop(key, None)
                for oldest in list(self.entries)[:-_KEPT]:
                    self.entries.pop(oldest, None)
        except Refused as refused:
            self.codes = {**self.codes, **capture.watch.codes}
            self.names |= capture.watch.names
            if self.settings.fullgraph and refused.reads and capture.watch.decides:
                path, line = capture.watch.decides
                raise Unsupported(
                    f"fullgraph=True, but {self._name()} cannot be one program: it decides by a "
                    f"value at {path}:{line}"
                ) from None
            self.failures[key] = self.failures.get(key, 0) + 1
            if refused.final or self.failures[key] >= _PATIENCE:
                self._give_up(str(refused))
        return result

    def _name(self) -> str:
        return getattr(self.fn, "__qualname__", None) or type(self.fn).__name__

    def _give_up(self, why: str) -> None:
        self.abandoned, self.reason = True, why
        self.entries.clear()
        text = (
            f"torch.compile: {self._name()} runs as it is written, recorded and fused as all code "
            f"is, because {why}"
        )
        warnings.warn(text, UserWarning, stacklevel=5)

    def reset(self) -> None:
        """Forgets all programs."""
        self.entries.clear()
        self.failures.clear()
        self.seen.clear()
        self.abandoned, self.reason = False, None


class _Stance:
    """What ``set_stance`` asked for."""

    eager = False
    fail = False


class Recompiling:
    """What ``torch._dynamo.config`` says of calls that need another program."""

    #: ``error_on_recompile`` and ``fail_on_recompile_limit_hit``: that they raise, and that those
    #: do which would be too many.
    error = limit = False


STANCE = _Stance()


def _flatten(x: object) -> tuple[list[Any], Any]:
    return tree_flatten(x)


def _steps(al: Alias) -> int | tuple[int, tuple[bool, bool]]:
    """What a program may depend on of a view's steps, beside its geometry."""
    return (len(al.chain), bits_of(al.chain)) if al.chain else 0


def _signature(flat: list[object], tensors: list[Tensor]) -> object:
    """What two calls must agree in to be served by one program; None for a call that no program
    serves."""
    modes = _modes()
    if modes is None:
        return None
    parts: list[Any] = [
        MODE.enabled,
        MODE.inference,
        dtypes.get_default_dtype(),
        devices.get_default_device(),
        modes,
    ]
    parts += ASKED.on, ASKED.fills
    hooks = _global_hooks()
    if any(hooks):
        parts.append(tuple([tuple(table) for table in hooks]))
    memory: dict[int, int] = {}
    places: dict[int, int] = {}
    for x in flat:
        if isinstance(x, Tensor):
            if type(x) is not Tensor and not _is_parameter(x):
                return None
            v = x._v
            al = x._al
            if v is not None:
                if v.trace is SPECIAL:
                    return None
                shared = -1
            else:
                if al is None or (al.value is not None and al.value.trace is SPECIAL):
                    return None
                shared = memory.setdefault(id(al.storage), len(memory))
            again = places.setdefault(id(x), len(places))
            parts.append(
                (
                    x._aval,
                    x.requires_grad,
                    x._node is None,
                    x._strides,
                    shared,
                    _steps(al) if al is not None else 0,
                    again,
                )
            )
            parts.append(x._grad is None)
            tensors.append(x)
        elif type(x) in ATOMS:
            parts.append(type(x))
        else:
            parts.append(id(x))
    return tuple(parts)


def _global_hooks() -> Row:
    """The hooks that all modules have."""
    _hooks = hooks.nn.get().modules._hooks
    return (
        _hooks._global_forward_hooks, _hooks._global_forward_pre_hooks,
        _hooks._global_backward_hooks, _hooks._global_backward_pre_hooks,
    )  # fmt: skip


def _is_parameter(x: object) -> bool:
    return type(x) is hooks.nn.get().Parameter


def _modes() -> object:
    """The active function modes, as far as programs can be made under them; None if not."""
    if not ACTIVE.modes:
        return ()
    found = []
    for mode in mode_stack():
        if type(mode).__module__ not in ("jtorch.amp.autocast_mode", "torch.amp.autocast_mode"):
            return None
        found.append((type(mode), getattr(mode, "kind", None) or getattr(mode, "device", None)))
    amp = hooks.autocast.get()
    return (
        *found,
        *[
            (kind, amp.is_autocast_enabled(kind), amp.get_autocast_dtype(kind))
            for kind in ("cpu", "cuda")
        ],
    )


class Entry:
    """A program, what must hold for it to serve, and how it is run."""

    def __init__(
        self, owner: Compiled, capture: Capture, args: list[Tensor], flat: list[Any]
    ) -> None:
        self.places: list[Place] = capture.world.places
        self.world = capture.world
        self.statics = [x if type(x) in ATOMS else None for x in flat]
        self.state: State = capture.state
        self.numbers = capture.numbers
        backward = capture.backward
        if backward is not None:
            self.numbers = self.numbers + backward.numbers
        self.sources, self.new, self.result, self.treedef = (
            capture.sources,
            capture.new,
            capture.result,
            capture.treedef,
        )
        self.writes, self.grads, self.slots = capture.writes, capture.grads, capture.slots
        self.outs, self.visible, self.edges, self.hinted = (
            capture.outs,
            capture.visible,
            capture.edges,
            capture.hinted,
        )
        self.position = {value: i for i, value in reversed([*enumerate(self.outs)])}
        self.live = [i for i, n in enumerate(self.new) if n.history == "live"]
        self.call = forward_call(
            owner.settings.name or owner._name(),
            self.state.steps(),
            len(self.sources),
            self.outs,
            len(self.outs) - self.visible,
            backward,
        )
        self.loose_numbers: list[tuple[int, Place, int]] = []
        for place, i, _ in self.slots:
            place.loose |= {i}
            place.values[i] = None  # what was there is replaced, and must not be kept alive
        self.shared = capture.shared()
        self._note_guards(capture, args)
        capture.output = capture.leaves = capture._tensors = capture.watch = capture.given = None

    def _note_guards(self, capture: Capture, args: list[Tensor]) -> None:
        handles: dict[int, Handle] = {}
        for s in self.sources:
            handle = s[1] if isinstance(s, tuple) else s
            if isinstance(handle, Handle):
                handles[id(handle)] = handle
        for handle, *_ in [*self.writes, *self.grads]:
            handles[id(handle)] = handle
        #: Tensors that are always the same: (tensor, aval, requires_grad, whether they have a
        #: history, strides, whether they are views).
        self.fixed = []
        #: Tensors to be found anew: (handle, aval, requires_grad, strides).
        self.found: list[tuple[Any, ...]] = []
        for handle in handles.values():
            if handle.kind == "arg":
                continue
            t = handle.find(args)
            if handle.kind == "fixed":
                self.fixed.append((t, t._aval, t._rg, t._node is None, t._strides))
            elif handle.kind == "slot" or t is not None:
                self.found.append((handle, t._aval, t._rg, t._strides))
        self.graded = list(capture.grads_before)
        ids = {id(t): i for i, (t, *_) in enumerate(self.fixed)}
        memory = {id(t._al.storage): i for i, (t, *_) in enumerate(self.fixed) if t._al is not None}
        #: Which arguments are fixed tensors too, or share memory with them.
        self.overlaps = [
            (ids.get(id(a), -1), -1 if a._al is None else memory.get(id(a._al.storage), -1))
            for a in args
        ]
        self.ids = ids

    # ---- whether it serves -----------------------------------------------------------------------

    def holds(self, args: list[Tensor], flat: list[Tensor | int]) -> bool:
        """Whether everything is as it was when the program was recorded."""
        for a, b in zip(flat, self.statics):
            if b is not None and not same(a, b):
                return False
        if not self.world.holds():
            return False
        for t, aval, rg, is_leaf, strides in self.fixed:
            v = t._v
            if v is None:
                if t._aval is not aval or t.requires_grad is not rg:
                    return False
            elif v.aval is not aval or t._rg is not rg:
                return False
            if (t._node is None) is not is_leaf or t._strides != strides:
                return False
        for t, was_none in self.graded:
            if (t._grad is None) is not was_none:
                return False
        for handle, aval, rg, strides in self.found:
            t = handle.find(args)
            if (
                type(t) is not Tensor
                or t._aval is not aval
                or t._rg is not rg
                or t._node is not None
                or t._strides != strides
            ):
                return False
        for group in self.shared:
            first = group[0]._v or group[0]._read()
            for t in group:
                if (t._v or t._read()) is not first:
                    return False
        ids = self.ids
        for a, (known, memory) in zip(args, self.overlaps):
            if ids.get(id(a), -1) != known:
                return False
            if a._al is not None:
                now = next(
                    (
                        i
                        for i, (t, *_) in enumerate(self.fixed)
                        if t._al is not None and t._al.storage is a._al.storage
                    ),
                    -1,
                )
                if now != memory:
                    return False
        for k, place, i in self.loose_numbers:
            value = place.get(i)
            if type(value) is not float or (value == 0) is not (self.numbers[k] == 0):
                return False
        return True

    def generalise(self, other: Entry) -> bool:
        """Makes numbers that optimisers keep in their groups, such as learning rates, inputs, if
        ``other`` differs in nothing else."""
        if (
            self.state is not other.state
            or self.outs != other.outs
            or [n.key() for n in self.new] != [n.key() for n in other.new]
            or [r[1] for r in self.result if r[0] == "atom"]
            != [r[1] for r in other.result if r[0] == "atom"]
            or len(self.numbers) != len(other.numbers)
            or len(self.sources) != len(other.sources)
            or any(isinstance(s, Value) for s in self.sources)
            or self.statics != other.statics
        ):
            return False
        differing = [
            k for k, (a, b) in enumerate(zip(self.numbers, other.numbers)) if not same(a, b)
        ]
        changes = self.world.changes()
        if changes is None:
            return False
        loose = []
        explained: set[int] = set()
        for place, i in changes:
            if i in place.loose:
                continue
            old, new = place.values[i], place.get(i)
            if type(old) is not float or type(new) is not float or not _is_group(place):
                return False
            for k in differing:
                if same(self.numbers[k], old) and same(other.numbers[k], new):
                    explained.add(k)
                    loose.append((k, place, i))
        if explained != set(differing):
            return False
        for _, place, i in loose:
            place.loose |= {i}
        known = {k for k, _, _ in self.loose_numbers}
        self.loose_numbers += [entry for entry in loose if entry[0] not in known]
        return True

    # ---- running ---------------------------------------------------------------------------------

    def run(self, args: list[Tensor]) -> Tree:
        """Does what the function would do."""
        ins = []
        for s in self.sources:
            if type(s) is Handle:
                t = s.what if s.kind == "fixed" else args[s.at] if s.kind == "arg" else s.find(args)
                ins.append(t._v or t._read())
            elif type(s) is tuple:
                ins.append(alias_of(s[1].find(args)).storage.value)
            elif type(s) is Draw:
                ins.append(s.again())
            else:
                ins.append(s)
        numbers = self.numbers
        if self.loose_numbers:
            numbers = list(numbers)
            for k, place, i in self.loose_numbers:
                numbers[k] = place.get(i)
        numbers = tuple(numbers)
        targets = [handle.find(args) for handle, *_ in self.writes]
        graded = [handle.find(args) for handle, _ in self.grads]
        out = record(self.call, ins, numbers)
        node = None
        if self.live:
            edges: list[Any] = [None] * len(ins)
            for i, handle in self.edges.items():
                edges[i] = handle.find(args)._edge()
            if any(e is not None for e in edges):
                node = Node(self.call, ins, edges, numbers, out)
        del ins
        undoable(targets)
        at = self.position
        for t, (_, value, bumps, on_storage) in zip(targets, self.writes):
            _write(t, out[at[value]], bumps, on_storage)
        made = [self._make(i, n, out, node, args) for i, n in enumerate(self.new)]
        for t, (_, i) in zip(graded, self.grads):
            t._grad = None if i is None else made[i]
        for place, i, k in self.slots:
            place.put(i, made[k])
        found = [
            made[what] if kind == "new" else what.find(args) if kind == "there" else what
            for kind, what in self.result
        ]
        if MODE.inference:
            for t, n in zip(made, self.new, strict=True):
                if n.base is None:
                    t._uncount()
        del out
        if self.hinted:
            flush()
        return tree_unflatten(found, self.treedef)

    def _make(
        self, i: int, n: New, out: list[Value], node: Node | None, args: Sequence[Tensor]
    ) -> Tensor:
        if n.base is not None:
            return _view(n, n.base.find(args))
        if n.history == "live":
            k = self.live.index(i)
            r = from_value(out[k])
            if node is not None:
                r._node, r._nr, r._rg = node, k, True
        else:
            r = from_value(out[self.position[n.value]])
            if n.history == "leaf":
                r._rg = True
            elif n.history == "dead":
                r._node, r._nr, r._rg = _dead(n), n.number, True
        if n.strides is not None:
            r._strides = n.strides
        return r


def _is_group(place: Place) -> bool:
    """Whether a place is a parameter group of an optimiser, whose numbers only enter formulas."""
    return type(place.container) is dict and "params" in place.container and "lr" in place.container


def _write(t: Tensor, v: Value, bumps: int, on_storage: bool) -> None:
    """Gives a tensor (or the memory it looks at) a new value, counted as often as the function
    counted."""
    if on_storage:
        al = alias_of(t)
        storage = al.storage
        if bumps:
            stale(storage.value, t, al.counter.n)
            stale(al.value, t, al.counter.n)
        storage.value = v
        storage.version += 1
        al.counter.n += bumps
        return
    version = t._writes
    if t._al is None:
        old = t._v
        t._v = v
        t._ver = version + bumps
        if t._rg and bumps:
            stale(old, t, version)
    else:
        assign(t, v, None)
        t._al.counter.n = version + bumps


def _view(n: New, source: Tensor) -> Tensor:
    """A tensor that looks at the memory of ``source`` as one of the function's results did."""
    al = alias_of(source)
    chain, offset, aval, strides, origin = n.alias
    r = _new(Tensor)
    r._al = mine = Alias(
        al.storage, chain, None, al.base if al.base is not None else source, al.counter.n, offset
    )
    mine.aval, mine.strides, mine.counter, mine.origin = aval, strides, al.counter, origin
    if n.strides is not None:
        r._strides = n.strides
    return r


def _dead(n: New) -> Node:
    """A node whose graph was freed."""
    node = _new(Node)
    node.call, node.saved, node.hooked, node.rare = None, None, None, None
    node.avals = node.outs = node.edges = node.numbers = node.kept = ()
    node.seq, node.visible = next_seq(), n.number + 1
    node.label = n.name
    return node


__all__ = ["STANCE", "Compiled", "Entry", "Recompiling", "Settings", "Unsupported"]
