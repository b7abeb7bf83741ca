"""``torch.compile`` with a function as backend: the program's operations as graphs, one for each
piece that needs no values.

The Python code of the program runs in every call, on tensors without data that are recorded as a
graph. Where a value is needed, or something is called that cannot be recorded, the graph so far is
given to the backend, run, and the tensors without data become its results: the program goes on with
them. A graph is compiled once: a later call that records the same one, for tensors of the same
kind, finds what the backend made of it. So nothing has to be guarded: what Python decides, it
decides anew.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import gc
import inspect
import operator
import re
import sys
import traceback
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import jtorch as torch
from jtorch._src.aten.wrapping import become
from jtorch._src.protocol.recorded import RECORDED
from jtorch._src.tensor.symbols import GuardOnDataDependentSymNode
from jtorch._subclasses._constants import leaves
from jtorch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from jtorch.amp.autocast_mode import _enter_autocast, _exit_autocast, casting, enabled_now
from jtorch.autograd import forward_ad
from jtorch.autograd.function import _apply
from jtorch.autograd.grad_mode import MODE
from jtorch.autograd.tape import SAVING
from jtorch.compiler import Unsupported, config, exporting
from jtorch.compiler._watch import asserted_by, program_frame
from jtorch.fx.graph import Graph
from jtorch.fx.graph_module import GraphModule
from jtorch.fx.node import Node
from jtorch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from .arguments import fingerprint, makes_leaf, mapped, node_target, placed, writable
from .bodies import Later, Stopped, holds_functions, recorded_call
from .exc import BackendCompilerFailed, UserError
from .hooks_in_graphs import Hooks, running
from .read_numbers import SYMBOLS, Numbers, same_shape

if TYPE_CHECKING:
    from .._src.aten.recording import OperatorNode
    from .._src.facts.kinds import Arguments, Function, Keywords, Operand, Tree


#: What asks a tensor, and changes nothing.
_WRITING = frozenset(
    (
        "__setitem__ __iadd__ __isub__ __imul__ __itruediv__ __ipow__ __imod__ __ifloordiv__ "
        "__iand__ __ior__ __ixor__"
    ).split()
)
_QUESTIONS = frozenset(
    (
        "size stride dim numel is_contiguous storage_offset is_floating_point is_complex "
        "element_size __len__ nelement"
    ).split()
)
#: What PyTorch holds in one graph all the same, and Python cannot: it makes numbers and arrays of
#: its own of them at once.
_READ = frozenset("__int__ __float__ __index__ __complex__ numpy __array__".split())
#: What ends a piece before it is tried, as it has effects beyond its result, or makes a leaf that
#: must be the very tensor that is returned.
_APART = frozenset("backward grad data_ptr".split())


class Break(Exception):
    """A reason why a piece ends."""


class Piece:
    """One graph that is being recorded, and the tensors in it."""

    def __init__(self, recorder: Recorder | None = None) -> None:
        self.graph = Graph()
        #: What data decide, where nothing may end the piece.
        self.numbers = None if recorder is None else Numbers(self.graph, recorder.is_asked)
        # Functions make tensors of numbers on their way, which the mode takes.
        self.mode = (
            FakeTensorMode(allow_non_fake_inputs=True)
            if self.numbers is None
            else self.numbers.mode
        )
        self.inputs = []
        self.kinds = []
        self.placeholders = {}
        #: Results by identity, in the order in which they were given: weak references and the nodes
        #: that gave them. What is forgotten leaves at once: the next tensor made may stand at its
        #: address, and is another.
        self.results = {}
        self.key = []
        self.begun = self.grad = torch.is_grad_enabled()
        self.kept = []
        self.history = None
        #: In what autocast's blocks the piece began, in which its last node is, and the nodes that
        #: enter those.
        self.begun_casting = self.casting = enabled_now()
        self.entered: list[Node] = []
        #: Whether tensors stood for numbers in an index, so that it is not known where views begin.
        self.placed = False
        self.hooks = Hooks()
        #: Graphs of functions that calls in it are given.
        self.root = torch.nn.Module()
        #: For the graph of such a function: the piece that the call is in, and what is taken from
        #: there.
        self.parent: Piece | None = None
        self.lifted = {}


class Compiled:
    """A function with a backend, and what that made of the graphs that were met."""

    def __init__(
        self,
        fn: Callable[..., Any],
        backend: Callable[..., Any],
        fullgraph: bool,
        options: dict[str, Any],
    ) -> None:
        self.fn, self.backend, self.fullgraph, self.options = fn, backend, fullgraph, options
        self.made: dict[Any, Callable[..., Any]] = {}
        self.applied = {}
        self.bodies = {}
        self.reasons = []

    def reset(self) -> None:
        """Forgets all graphs."""
        self.made.clear()
        self.bodies.clear()

    def __call__(self, args: Arguments, kwargs: Keywords) -> object:
        """Calls the function piece by piece."""
        if RECORDED.recorder is not None or MODE.transforms or forward_ad._current_level >= 0:
            # part of the program that is being recorded, or of what no graph holds
            return self.fn(*args, **kwargs)
        recorder = Recorder(self, args, kwargs)
        RECORDED.recorder = recorder
        try:
            with recorder, exporting(export=False):
                result = self.fn(*args, **kwargs)
                return recorder.finish(None, result)
        except GuardOnDataDependentSymNode as error:
            recorder.abandon()
            raise UserError(
                f"{error}\n{_where(traceback.extract_tb(error.__traceback__))}"
            ) from None
        finally:
            RECORDED.recorder = None
            recorder.abandon()


class Recorder(TorchFunctionMode):
    """Records what a function does with tensors, piece after piece."""

    def __init__(
        self, compiled: Compiled, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> None:
        super().__init__()
        self.compiled = compiled
        self.piece = Piece(self if compiled.fullgraph else None)
        self.busy = False
        self.names = _names(compiled.fn, args, kwargs)
        owner = (
            compiled.fn
            if isinstance(compiled.fn, torch.nn.Module)
            else getattr(compiled.fn, "__self__", None)
        )
        self.buffers = (
            {id(b) for b in owner.buffers()} if isinstance(owner, torch.nn.Module) else set()
        )

    def is_asked(self) -> bool:
        """Whether it is the program that asks something now, or goes on after it was recorded."""
        return RECORDED.recorder is not self or (
            not self.busy and self in _get_current_function_mode_stack()
        )

    # ---- recording -------------------------------------------------------------------------------

    def __torch_function__(
        self,
        func: Any,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, bool] | None = None,
    ) -> Any:
        del types
        kwargs = kwargs or {}
        if self.busy:
            return func(*args, **kwargs)
        self.busy = True
        try:
            return self.call(func, args, kwargs)
        finally:
            self.busy = False

    def call(self, func: Callable[..., object], args: Arguments, kwargs: Keywords) -> Tree:
        """One call: recorded if it can be, else run after all that was recorded before."""
        name = getattr(func, "__name__", "")
        tensors = [t for t in leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        if name == "storage_offset" and self.piece.placed:
            return self._broken(
                func, args, kwargs, "storage_offset after an index that is a tensor"
            )
        if name == "__get__" or name in _QUESTIONS:
            if not any(id(t) in self.piece.results for t in tensors) and not self.piece.key:
                return func(*args, **kwargs)
            return self._asked(func, args, kwargs)
        if name == "__bool__":
            said = asserted_by(program_frame(sys._getframe()))
            if said is not None and len(tensors) == 1 and self.asserted(tensors[0], said):
                return True
        if (
            name in _READ
            and self.piece.parent is None
            and (self.piece.numbers is None or self.piece.numbers.none)
        ):
            self.finish(f"{name} reads values", allowed=True)
            return func(*args, **kwargs)
        if name in _APART or makes_leaf(name, args, kwargs):
            return self._broken(func, args, kwargs, name)
        if SAVING.hooks and torch.is_grad_enabled():
            return self._broken(func, args, kwargs, "saved_tensors_hooks")
        if forward_ad._current_level >= 0:
            return self._broken(func, args, kwargs, "forward mode")
        if name.startswith("register_") and name.endswith("hook") and len(tensors) == 1:
            return self._hooked(func, args, kwargs, tensors[0])
        if func is torch.tensor and isinstance(args[0] if args else None, np.ndarray):
            return func(*args, **kwargs)  # a copy of what is there: an input
        if holds_functions(args, kwargs) and type(func) is not Applied:
            try:
                return recorded_call(self, name, func, args, kwargs, id(func))
            except Stopped as error:
                return self._broken(func, args, kwargs, str(error))
        odd = next(
            (x for x in leaves((args, kwargs)) if not writable(x) and not isinstance(x, SYMBOLS)),
            None,
        )
        if odd is not None:
            return self._broken(func, args, kwargs, f"{name} is given a {type(odd).__name__}")
        if any(
            type(t) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer, FakeTensor)
            for t in tensors
        ):
            return self._broken(func, args, kwargs, f"{name} of a {type(tensors[0]).__name__}")
        piece = self.piece
        given, named, versions, out, failed = self._tried(func, args, kwargs)
        # (not within that block: an error that the call raises by itself is none during another)
        if failed:
            return self._broken(func, args, kwargs, failed)
        if out is None and name != "__setitem__":
            return self._broken(func, args, kwargs, f"{name} returns nothing")
        if isinstance(out, SYMBOLS) and tensors and piece.numbers is not None:
            piece.numbers.track(out, self._node(func, args, kwargs))
            return out
        if out is not None and not any(isinstance(t, FakeTensor) for t in leaves(out)):
            # A question about metadata, or a value: what it says of a real tensor may have been
            # changed by what is recorded.
            known = not self._has_values(out, tensors) or (isinstance(out, str) and name == "type")
            if known or all(_is_constant(t) for t in leaves((given, named))):
                return out
            return self._broken(func, args, kwargs, f"{name} gives a {type(out).__name__}")
        node = self._node(func, args, kwargs)
        self._track(out, node)
        result = self._returned(out, args)
        marked = type(func) is Applied and versions != [
            t._version for t in leaves((given, named)) if isinstance(t, FakeTensor)
        ]
        if not self.compiled.fullgraph and (marked or self._changes(name, args, kwargs)):
            # Code that reads it without calling a function of torch (an optimiser's step) must find
            # it changed.
            del out, given, named
            self.finish(f"{name} changes a tensor that is not the function's own")
        return result

    def _hooked(
        self,
        func: Callable[..., object],
        args: tuple[object, ...],
        kwargs: Mapping[str, object],
        tensor: object,
    ) -> object:
        """A hook of a tensor: the graph registers that of a result; one from outside has it at
        once, unless the graph writes to it."""
        piece = self.piece
        given = piece.placeholders.get(id(tensor))
        of_result = (
            type(tensor) is FakeTensor
            and tensor.requires_grad
            and "post_accumulate" not in func.__name__
        )
        if piece.parent is None and of_result and not kwargs:
            return piece.hooks.register(self, tensor, args[1])
        if (
            piece.parent is None
            and not isinstance(tensor, FakeTensor)
            and (given is None or not given[1]._version)
        ):
            return func(*args, **kwargs)
        return self._broken(func, args, kwargs, func.__name__)

    def asserted(self, tensor: torch.Tensor, message: str | None) -> bool:
        """Has the graph check that a tensor's one element is not zero; False where what is recorded
        does not give the tensor."""
        if id(tensor) not in self.piece.results or tensor.numel() != 1:
            return False
        target = (
            torch.ops.aten._assert_async.default
            if message is None
            else torch.ops.aten._assert_async.msg
        )
        self.add(
            "call_function",
            target,
            (self._argument(tensor), *(() if message is None else (message,))),
            {},
        )
        return True

    def _tried(
        self, func: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> tuple[Any, Any, list[int], Any, str]:
        """A call on tensors without data: its arguments and their versions, the result, and what
        failed."""
        name, piece = getattr(func, "__name__", ""), self.piece
        try:
            given, named = (
                mapped(self._fake, args),
                {k: mapped(self._fake, v) for k, v in kwargs.items()},
            )
            if name in ("__getitem__", "__setitem__"):
                index = placed(given[1])
                piece.placed = piece.placed or index is not given[1]
                given = (given[0], index, *given[2:])
            versions = [t._version for t in leaves((given, named)) if isinstance(t, FakeTensor)]
            with piece.mode:
                return given, named, versions, func(*given, **named), ""
        except GuardOnDataDependentSymNode:
            raise
        except Exception as error:
            return (
                (),
                {},
                [],
                None,
                (
                    f"{name}: {type(error).__name__}: "
                    f"{str(error).splitlines()[0] if str(error) else ''}"
                ),
            )

    def applied(self, function: object, args: tuple[object, ...]) -> Any:
        """A custom function's call: a node, if it can be told without data what the function
        gives."""
        known = self.compiled.applied
        if function not in known:
            known[function] = Applied(function)
        return self.__torch_function__(known[function], (), args)

    def _changes(self, name: str, args: tuple[object, ...], kwargs: Mapping[str, object]) -> bool:
        """Whether a call writes to a real tensor other than the module's buffers, which only
        modules read."""
        in_place = (
            (name.endswith("_") and not name.endswith("__"))
            or name in _WRITING
            or kwargs.get("inplace") is True
        )
        targets = [*(args[:1] if in_place else ()), kwargs.get("out")]
        return any(
            isinstance(t, torch.Tensor)
            and not isinstance(t, FakeTensor)
            and id(t) not in self.buffers
            for t in leaves(targets)
        )

    def _has_values(self, out: object, tensors: Sequence[object]) -> bool:
        return bool(tensors) and not isinstance(
            out, (torch.Size, bool, int, torch.dtype, torch.device, torch.layout)
        )

    def _asked(self, func: Function, args: tuple[torch.Tensor, ...], kwargs: Keywords) -> object:
        """Metadata of tensors that a recorded operation may have changed; tensors that a property
        gives are recorded."""
        name = getattr(getattr(func, "__self__", None), "__name__", "")
        try:
            given = mapped(self._fake, args)
            with self.piece.mode:
                out = func(*given, **kwargs)
        except Exception as error:
            return self._broken(func, args, kwargs, f"{name}: {type(error).__name__}")
        if (
            isinstance(out, FakeTensor)
            and id(out) not in self.piece.results
            and not any(out is g for g in leaves(given))
        ):
            if name in ("grad", "data", "_grad"):
                return self._broken(func, args, kwargs, f"{name} is read")
            node = self._node(getattr, (args[0], name), {})
            self._track(out, node)
            return out
        if name in ("grad", "_grad") and not isinstance(args[0], FakeTensor):
            return func(*args, **kwargs)  # nothing that is recorded changes which tensor that is
        if name in ("grad", "grad_fn", "_version", "_base", "__cuda_array_interface__"):
            return self._broken(func, args, kwargs, f"{name} is read")
        return self._returned(out, args)

    def _fake(self, x: torch.Tensor | int) -> Operand:
        if not isinstance(x, torch.Tensor):
            return x
        piece = self.piece
        if id(x) in piece.results:
            return x
        found = piece.placeholders.get(id(x))
        if found is None and piece.parent is not None:
            found = self._lifted(x, id(x))
        if found is None:
            if isinstance(x, FakeTensor):
                raise Break("a fake tensor of another mode")
            fake = piece.mode.from_tensor(x)
            name = self.names.get(id(x), f"L_tensor_{len(piece.inputs)}_")
            node = self._at_front(
                lambda: piece.graph.create_node("placeholder", name, (), {}, name=name.lower())
            )
            node.meta["example_value"] = node.meta["val"] = fake
            found = piece.placeholders[id(x)] = x, fake, node
            piece.inputs.append(x)
            piece.kinds.append(
                (
                    type(x),
                    tuple(x.shape),
                    x.stride(),
                    x.dtype,
                    str(x.device),
                    x.requires_grad,
                    x.is_leaf,
                )
            )
        return found[1]

    def _lifted(self, x: torch.Tensor | int, key: Any) -> Any:
        """What the function that is being recorded takes from outside: the value, that without
        data, and the placeholder of its graph."""
        piece = self.piece
        assert piece.parent is not None
        self.piece = piece.parent
        try:
            fake, name = self._fake(x), getattr(self._argument(x), "name", "number")
        finally:
            self.piece = piece
        node = self._at_front(
            lambda: piece.graph.create_node("placeholder", name, (), {}, name=name)
        )
        node.meta["example_value"] = node.meta["val"] = fake
        piece.lifted[key] = x, node
        if isinstance(x, torch.Tensor):
            piece.placeholders[key] = x, fake, node
        return x, fake, node

    def _at_front(self, make: Callable[[], Node]) -> Node:
        graph = self.piece.graph
        after = next((n for n in graph.nodes if n.op != "placeholder"), None)
        with graph.inserting_before(after) if after is not None else contextlib.nullcontext():
            return make()

    def enter_modes(self) -> None:
        """Has the nodes that follow stand in the modes of now."""
        piece = self.piece
        self._cast_as(enabled_now())
        now = torch.is_grad_enabled()
        if now != piece.grad:
            piece.graph.call_function(torch._C._set_grad_enabled, (now,))
            piece.key.append(("grad", now))
            piece.grad = now

    def _node(self, func: Callable[..., object], args: Arguments, kwargs: Keywords) -> Node:
        self.enter_modes()
        op, target, args = node_target(func, args, kwargs)
        named = {k: mapped(self._argument, v) for k, v in kwargs.items()}
        return self.add(op, target, mapped(self._argument, args), named)

    def add(
        self,
        op: str,
        target: Callable[..., object] | str,
        args: Arguments,
        kwargs: Keywords,
        identity: object = None,
    ) -> Node:
        """A node; ``identity`` tells what it calls, if not the object itself does."""
        piece = self.piece
        node = piece.graph.create_node(op, target, args, kwargs)
        node.stack_trace = "".join(traceback.format_list(_user_frames()))
        if identity is None:
            identity = target if isinstance(target, str) else id(target)
            piece.kept.append(target)
        piece.key.append(
            (op, identity, fingerprint(node.args, piece.kept), fingerprint(node.kwargs, piece.kept))
        )
        return node

    def transformed(
        self,
        name: str,
        function: object,
        again: Callable[..., object],
        options: object,
        args: Iterable[object],
        kwargs: Any,
    ) -> Any:
        """A call of a transformed function: ``again(function, *args, **kwargs)`` is the whole."""
        try:
            return recorded_call(self, name, again, (function, *args), kwargs, options)
        except Stopped as error:
            with self.apart(str(error)):
                return again(function, *args, **kwargs)

    def leave_modes(self, piece: Piece) -> None:
        """Ends the graph in the modes in which it began."""
        for node in reversed(piece.entered):
            piece.graph.call_function(_exit_autocast, (node,))
        if piece.grad != piece.begun:
            piece.graph.call_function(torch._C._set_grad_enabled, (piece.begun,))

    def _cast_as(self, now: dict[str, object]) -> None:
        """Has the nodes that follow stand in autocast's blocks as ``now``."""
        piece, begun = self.piece, self.piece.begun_casting
        if now == piece.casting:
            return
        for node in reversed(piece.entered):
            piece.graph.call_function(_exit_autocast, (node,))
        changed = [kind for kind in {**begun, **now} if now.get(kind) is not begun.get(kind)]
        piece.entered = [
            piece.graph.call_function(_enter_autocast, (kind, now.get(kind), kind in now, None))
            for kind in changed
        ]
        piece.key.append(("autocast", tuple(now.items())))
        piece.casting = now

    def _argument(self, x: torch.Tensor | int) -> Node | int:
        if isinstance(x, SYMBOLS) and self.piece.parent is not None:
            known = self.piece.lifted.get(repr(x))
            return self._lifted(x, repr(x))[2] if known is None else known[1]
        if isinstance(x, SYMBOLS) and self.piece.numbers is not None:
            self.piece.key.append(("number", repr(x)))
            return self.piece.numbers.node(x)
        if not isinstance(x, torch.Tensor):
            return x.item() if isinstance(x, np.generic) else x
        result = self.piece.results.get(id(x))
        if result is not None:
            return result[1]
        self._fake(x)
        return self.piece.placeholders[id(x)][2]

    def _track(self, out: Any, node: Node) -> None:
        piece = self.piece
        if isinstance(out, FakeTensor):
            # (which nobody but the graph has)
            node.meta["example_value"] = node.meta["val"] = copy.deepcopy(out)
            if piece.numbers is not None:
                piece.numbers.track(out, node)
            if out._node is not None:
                # its own would keep alive what the program has forgotten
                out._node, out._nr = self._history(), 0
            for _, fake, placed in piece.placeholders.values():
                if fake is out:  # changed in place: it is the input still
                    del placed
                    return
            key, results = id(out), piece.results
            results.pop(key, None)  # (a write: it was given again, by a later node)
            results[key] = weakref.ref(out, lambda _: results.pop(key, None)), node
        elif isinstance(out, (list, tuple)):
            for i, t in enumerate(out):
                if isinstance(t, (FakeTensor, list, tuple)):
                    item = piece.graph.call_function(operator.getitem, (node, i))
                    piece.key.append(("item", node.name, i))
                    self._track(t, item)

    def _history(self) -> OperatorNode:
        """The history that recorded tensors have: that they are no leaves is all that it says."""
        piece = self.piece
        if piece.history is None:
            with torch.enable_grad(), piece.mode:
                piece.history = (torch.ones((), requires_grad=True) * 1)._node
        return piece.history

    def _returned(self, out: Operand, args: tuple[torch.Tensor | int, ...]) -> object:
        """The result as the program gets it: the very tensors that were written to."""
        del args
        originals = {id(fake): real for real, fake, _ in self.piece.placeholders.values()}
        return mapped(lambda x: originals.get(id(x), x), out)

    # ---- breaking --------------------------------------------------------------------------------

    def _broken(
        self,
        func: Callable[..., object],
        args: tuple[object, ...],
        kwargs: Mapping[str, object],
        reason: str,
    ) -> object:
        self.finish(reason)
        return func(*args, **kwargs)

    def finish(
        self,
        reason: str | None,
        result: tuple[torch.Tensor | int, ...] | torch.Tensor | float | None = None,
        *,
        allowed: bool = False,
    ) -> tuple[torch.Tensor | int, ...] | torch.Tensor | float | None:
        """Has the piece compiled and run; tensors that it gave become what was computed. Gives
        ``result``, with numbers for symbols.

        ``allowed`` says that it may end where all is to be one graph.
        """
        piece, busy = self.piece, self.busy
        if piece.parent is not None and not self.compiled.fullgraph:
            raise Stopped(reason)
        if reason is not None:
            if self.compiled.fullgraph and not allowed:
                self.abandon()
                raise Unsupported(
                    (
                        f"{getattr(self.compiled.fn, '__name__', 'the function')} cannot be one "
                        f"graph: {reason}\n"
                    )
                    + _where()
                )
            self.compiled.reasons.append((reason, _user_frames()[-1:]))
        self.piece = Piece(self if allowed and self.compiled.fullgraph else None)
        if not piece.key:
            return result
        self.busy = True
        try:
            return self._run(piece, result)
        finally:
            self.busy = busy

    def _identified(self, piece: Piece) -> tuple[list[Any], Any]:
        """The results that somebody holds, and what tells the graph from others."""
        live = [(t, node) for ref, node in list(piece.results.values()) if (t := ref()) is not None]
        names = tuple([n.name for _, n in live])
        return live, (
            tuple(piece.kinds),
            tuple(piece.key),
            names,
            piece.begun,
            tuple(piece.begun_casting.items()),
        )

    def _run(self, piece: Piece, result: object) -> Tree:
        shown = []
        numbers = []
        if any(isinstance(x, Later) for x in leaves(result)):
            raise Unsupported(
                "a function that a recorded call gave is a result, which no graph gives"
            )
        if piece.numbers is not None:
            shown = [x for x in leaves(result) if isinstance(x, SYMBOLS)]
            numbers = [piece.numbers.node(x) for x in shown]
            piece.key += [*map(repr, shown), *piece.numbers.check()]
        live, key = self._identified(piece)
        if piece.numbers is not None and key not in self.compiled.made:
            live.clear()
            gc.collect()  # JAX's errors about symbols hold frames, and so tensors, in circles
            live, key = self._identified(piece)
        self.leave_modes(piece)
        piece.graph.output(tuple([node for _, node in live] + numbers))
        before = torch.is_grad_enabled()
        with running(piece.hooks):
            compiled = self.compiled.made.get(key)
            if compiled is None:
                compiled = self._compiled(piece, key)
            with torch.set_grad_enabled(piece.begun), casting(piece.begun_casting):
                outs = compiled(*piece.inputs)
        torch._C._set_grad_enabled(before)
        outs = list(outs) if isinstance(outs, (list, tuple)) else [outs]
        if len(outs) != len(live) + len(shown):
            raise RuntimeError(
                f"the backend's function gave {len(outs)} results for a graph of "
                f"{len(live) + len(shown)}"
            )
        seen: list[Any] = list(piece.inputs)
        given = {id(x): out for x, out in zip(shown, outs[len(live) :], strict=True)}
        for (t, _), out in zip(live, outs[: len(live)], strict=True):
            if not isinstance(out, torch.Tensor):
                raise TypeError(
                    f"the backend's function gave a {type(out).__name__} where the graph gives a "
                    "tensor"
                )
            if not same_shape(out, t) or out.dtype is not t.dtype:
                raise RuntimeError(
                    f"the backend's function gave a tensor of {list(out.shape)} and {out.dtype} "
                    f"where the graph gives one of {list(t.shape)} and {t.dtype}"
                )
            if any(out is s for s in seen):
                out = out.view_as(out)
            seen.append(out)
            become(t, out)
        return mapped(lambda x: given.get(id(x), x), result) if given else result

    def _compiled(self, piece: Piece, key: tuple[object, ...]) -> Function:
        _without_dead(piece.graph)
        module = GraphModule(piece.root, piece.graph)
        module.meta["dynamo_pieces"] = len(self.compiled.made)
        if len(self.compiled.made) >= config.accumulated_recompile_limit:
            # as PyTorch, which gives up compiling then: each call is another graph
            return module.forward
        try:
            made = self.compiled.backend(module, list(piece.inputs), **self.compiled.options)
        except Exception as error:
            raise BackendCompilerFailed(self.compiled.backend, error) from error
        if not callable(made):
            raise TypeError(
                f"compiler function must return a callable, but it returned {type(made).__name__}"
            )
        self.compiled.made[key] = _Kept(made, piece.kept)
        return made

    def apart(self, reason: str) -> _Apart:
        """Ends the piece; the block that it gives is run as it is written."""
        self.finish(reason)
        return _Apart(self)

    def abandon(self) -> None:
        """Tensors that were never computed say so when they are read."""
        self.piece = Piece()


class Applied:
    """A custom function as graphs call it."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.__name__ = self.__qualname__ = f"{function.__name__}_apply"

    def __call__(self, *args: object) -> torch.Tensor | tuple[object, ...]:
        return _apply(self.function, args)

    def __repr__(self) -> str:
        return f"<{self.__name__}>"


class _Kept:
    """What a backend made, with the objects that its graph is told by."""

    def __init__(self, call: Callable[..., object], kept: list[object]) -> None:
        self.call, self.kept = call, kept

    def __call__(self, *args: torch.Tensor) -> object:
        return self.call(*args)


def _is_constant(x: object) -> bool:
    """Whether what is known of a value is all there is to it: a tensor of numbers that the program
    wrote down, or no tensor."""
    return not isinstance(x, torch.Tensor) or (isinstance(x, FakeTensor) and x.constant is not None)


def _without_dead(graph: Graph) -> None:
    """Takes out what nobody uses: fetched items, and inputs of nothing stay, since they are
    given."""
    for node in reversed(list(graph.nodes)):
        if node.op == "call_function" and node.target is operator.getitem and not node.users:
            graph.erase_node(node)


def _names(
    fn: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]
) -> dict[int, str]:
    """What the placeholders of tensors are called, as PyTorch calls them: by where they are
    found."""
    found: dict[int, str] = {}
    owner = getattr(fn, "__self__", None)
    forward = fn
    if isinstance(fn, torch.nn.Module):
        owner, forward = fn, fn.forward
    elif isinstance(owner, torch.nn.Module):
        forward = owner.forward
    try:
        bound = inspect.signature(forward).bind(*args, **kwargs)
        items = list(bound.arguments.items())
    except (TypeError, ValueError):
        items = [*((f"args_{i}", a) for i, a in enumerate(args)), *kwargs.items()]
    for name, value in items:
        if isinstance(value, torch.Tensor):
            found[id(value)] = f"L_{name}_"
        elif isinstance(value, (list, tuple)):
            found.update(
                {
                    id(v): f"L_{name}_{i}_"
                    for i, v in enumerate(value)
                    if isinstance(v, torch.Tensor)
                }
            )
        elif isinstance(value, dict):
            found.update(
                {
                    id(v): f"L_{name}_{_word(k)}_"
                    for k, v in value.items()
                    if isinstance(v, torch.Tensor)
                }
            )
    if isinstance(owner, torch.nn.Module):
        for kind, tensors in (
            ("parameters", owner.named_parameters()),
            ("buffers", owner.named_buffers()),
        ):
            for path, t in tensors:
                *modules, leaf = path.split(".")
                found.setdefault(
                    id(t),
                    "L_self_"
                    + "".join([f"modules_{_word(m)}_" for m in modules])
                    + f"{kind}_{leaf}_",
                )
    return found


def _word(x: str) -> str:
    return re.sub(r"\W", "_", str(x))


def _user_frames(frames: Any = None) -> list[traceback.FrameSummary]:
    frames = traceback.extract_stack(sys._getframe()) if frames is None else frames
    return [
        f
        for f in frames
        if "jtorch" not in f.filename.replace("\\", "/").split("/")[:-1]
        and not f.filename.startswith("<")
    ]


def _where(frames: Any = None) -> str:
    return "".join(traceback.format_list(_user_frames(frames)[-1:]))


_functions: weakref.WeakSet[Compiled] = weakref.WeakSet()


def with_backend(
    fn: Callable[..., object],
    backend: Callable[..., object],
    fullgraph: bool,
    options: dict[str, object],
) -> Callable[..., object]:
    """``fn`` whose graphs ``backend`` compiles."""
    compiled = Compiled(fn, backend, fullgraph, options)
    _functions.add(compiled)

    def call(*args: object, **kwargs: object) -> Tree:
        return compiled(args, kwargs)

    with contextlib.suppress(AttributeError, TypeError):
        functools.update_wrapper(call, fn)
    call._torchdynamo_orig_callable = fn  # type: ignore[attr-defined]
    call.compiled = compiled  # type: ignore[attr-defined]
    return call


def reset() -> None:
    """Forgets all graphs."""
    for compiled in list(_functions):
        compiled.reset()


def interrupt(reason: str) -> object:
    """Ends the piece that is being recorded, if one is: the block that it gives is run as it is
    written."""
    recorder = RECORDED.recorder
    if recorder is None or recorder.busy:
        return contextlib.nullcontext()
    return recorder.apart(reason)


class _Apart:
    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def __enter__(self) -> None:
        self.recorder.busy = True

    def __exit__(self, *exc: object) -> None:
        self.recorder.busy = False
