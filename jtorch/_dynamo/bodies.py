"""Calls that are given functions, in the graphs of ``torch.compile``: each function becomes a graph
of its own, the call one node.

``torch.vmap``, ``torch.func.grad`` and their like, ``torch.cond`` and its like call what they are
given with tensors of their own. To learn with which, the call is made on tensors without data and
with a function that goes no further than that; the program's function is then recorded on tensors
like those. What it takes from outside is handed in. The node calls the same function with the graph
in its place.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._src.tensor.symbols import Float
from jtorch._subclasses.fake_tensor import FakeTensor
from jtorch.amp.autocast_mode import casting, enabled_now
from jtorch.fx.graph_module import GraphModule
from jtorch.fx.node import Node
from jtorch.overrides import _get_current_function_mode_stack
from jtorch.utils import _pytree as pytree

from .arguments import fingerprint, writable
from .hooks_in_graphs import identity
from .read_numbers import SYMBOLS

if TYPE_CHECKING:
    from .._src.facts.kinds import Function, Values
    from .pieces import Recorder


__all__ = ["Later", "Stopped", "holds_functions", "recorded_call"]


class Stopped(Exception):
    """A function that is given to another one cannot be a graph."""


class _Met(BaseException):
    """A function was called: with these arguments, in this mode."""

    def __init__(self, args: object, kwargs: object) -> None:
        super().__init__()
        self.given, self.grad, self.cast = (args, kwargs), torch.is_grad_enabled(), enabled_now()


class Later:
    """A function that a recorded call gave (that of ``torch.func.vjp``): calls of it are recorded
    too."""

    def __init__(self, recorder: Any, node: Node, function: Callable[..., Any]) -> None:
        self.recorder, self.piece, self.node, self.function = (
            recorder,
            recorder.piece,
            node,
            function,
        )

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """What the function gives, as nodes of the graph."""
        if self.recorder.piece is not self.piece:
            raise Stopped("a function that a recorded call gave is called outside of its graph")
        return recorded_call(
            self.recorder,
            getattr(self.function, "__name__", "call"),
            _call,
            (self, *args),
            kwargs,
            (),
        )


def _call(function: Callable[..., object], *args: object, **kwargs: object) -> Any:
    return function(*args, **kwargs)


_NO_FUNCTIONS = (
    type,
    torch.Tensor,
    torch.dtype,
    torch.device,
    torch.layout,
    torch.memory_format,
    Later,
)


def _is_function(x: torch.Tensor | int) -> bool:
    return callable(x) and not isinstance(x, _NO_FUNCTIONS)


def holds_functions(args: tuple[torch.Tensor | int, ...], kwargs: object) -> bool:
    """Whether there are functions among the arguments of a call."""
    return any(_is_function(x) for x in pytree.tree_leaves((args, kwargs)))


class _Body:
    """The graph of a function: what it is given, what it takes from outside, and what it gives."""

    def __init__(self, recorder: Any, function: Any, met: _Met) -> None:
        outer = recorder.piece
        flat, self.spec = pytree.tree_flatten(met.given)
        piece = type(outer)()
        piece.mode, piece.parent = outer.mode, outer
        piece.begun = piece.grad = met.grad
        piece.begun_casting = piece.casting = met.cast
        self.piece, self.is_given = piece, [isinstance(x, torch.Tensor) for x in flat]
        inside = [
            self._example(x) if given else x for x, given in zip(flat, self.is_given, strict=True)
        ]
        args, kwargs = pytree.tree_unflatten(inside, self.spec)
        busy, recorder.piece, recorder.busy = recorder.busy, piece, False
        stacked = recorder in _get_current_function_mode_stack()
        try:
            with (
                contextlib.nullcontext() if stacked else recorder,
                torch.set_grad_enabled(met.grad),
                casting(met.cast),
            ):
                found = function(*args, **kwargs)
            recorder.busy = True
            self._give(recorder, found)
        finally:
            recorder.piece, recorder.busy = outer, busy
        self.name = getattr(function, "__name__", repr(function))
        self.lifted = [x for x, _ in piece.lifted.values()]
        module = GraphModule(piece.root, piece.graph)
        self.module = recorder.compiled.bodies.setdefault(self.key, (module, piece.kept))[0]

    def _example(self, x: torch.Tensor) -> torch.Tensor:
        """A tensor without data like one that the function was called with, which is an input of
        its graph."""
        piece = self.piece
        with piece.mode, torch.no_grad():
            made = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device)
        if x.requires_grad:
            made.requires_grad_()
        name = f"arg_{len(piece.placeholders)}"
        node = piece.graph.create_node("placeholder", name, (), {}, name=name)
        node.meta["example_value"] = node.meta["val"] = made
        piece.placeholders[id(made)] = made, made, node
        piece.kinds.append(
            (tuple(map(str, made.shape)), made.stride(), made.dtype, made.requires_grad)
        )
        return made

    def _give(self, recorder: Recorder, found: object) -> None:
        piece = self.piece
        flat, self.out_spec = pytree.tree_flatten(found)
        self.out: list[Any] = [None if isinstance(x, (torch.Tensor, *SYMBOLS)) else x for x in flat]
        self.is_out = [isinstance(x, (torch.Tensor, *SYMBOLS)) for x in flat]
        if any(isinstance(x, Later) for x in flat):
            raise Stopped("a function that a recorded call gave is a result")
        nodes = tuple(
            [recorder._argument(x) for x, out in zip(flat, self.is_out, strict=True) if out]
        )
        recorder.leave_modes(piece)
        piece.graph.output(nodes)
        said = [fingerprint(x, piece.kept) for x in self.out]
        ends = tuple([n.name if isinstance(n, Node) else n for n in nodes])
        lifted = tuple([node.name for _, node in piece.lifted.values()])
        modes = piece.begun, tuple(piece.begun_casting.items())
        self.key = (
            tuple(piece.kinds),
            tuple(piece.key),
            ends,
            lifted,
            str(self.out_spec),
            tuple(said),
            modes,
        )

    def bound(self, module: Function, lifted: Iterable[object]) -> Callable[..., object]:
        """The function that the graph stands for."""

        def run(*args: object, **kwargs: object) -> Any:
            given = [
                x
                for x, is_given in zip(
                    pytree.tree_leaves((args, kwargs)), self.is_given, strict=True
                )
                if is_given
            ]
            found = iter(module(*given, *lifted))
            return pytree.tree_unflatten(
                [next(found) if out else x for x, out in zip(self.out, self.is_out, strict=True)],
                self.out_spec,
            )

        run.__name__ = run.__qualname__ = self.name
        return run


class _Called:
    """What a node calls: a function that is given others, with graphs in their places."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        spec: Any,
        flat: list[Any],
        bodies: dict[int, _Body],
    ) -> None:
        self.__name__ = self.__qualname__ = name
        self.function, self.spec, self.bodies = function, spec, bodies
        #: Arguments that are neither handed in nor functions.
        self.others = {i: x for i, x in enumerate(flat) if i not in bodies and not _is_handed(x)}
        self.count = len(flat)

    def __repr__(self) -> str:
        return f"<{self.__name__}>"

    def __call__(self, modules: Any, given: Any, lifted: Any) -> list[object]:
        """The flat results."""
        left = iter(given)
        made = {
            i: body.bound(m, more)
            for (i, body), m, more in zip(self.bodies.items(), modules, lifted, strict=True)
        }
        flat = [
            made[i] if i in made else self.others[i] if i in self.others else next(left)
            for i in range(self.count)
        ]
        args, kwargs = pytree.tree_unflatten(flat, self.spec)
        return pytree.tree_leaves(self.function(*args, **kwargs))


def _is_handed(x: object) -> bool:
    return isinstance(x, (torch.Tensor, Later, *SYMBOLS))


def recorded_call(
    recorder: Recorder,
    name: str,
    function: Callable[..., object],
    args: object,
    kwargs: object,
    options: object,
) -> object:
    """Adds the node of a call that is given functions; gives what it gives, without data.
    ``options`` tell such calls apart.

    Raises:
        Stopped: if one of the functions cannot be a graph.
    """
    flat, spec = pytree.tree_flatten((args, kwargs))
    odd = next((x for x in flat if not (_is_handed(x) or _is_function(x) or writable(x))), None)
    if odd is not None:
        raise Stopped(f"{name} is given a {type(odd).__name__}")
    bodies: dict[int, _Body] = {}
    busy, recorder.busy = recorder.busy, True
    try:
        fake = [
            recorder._fake(x)
            if isinstance(x, torch.Tensor)
            else x.function
            if isinstance(x, Later)
            else x
            for x in flat
        ]
        found = _run(recorder, function, fake, flat, spec, bodies)
        return _noted(recorder, _Called(name, function, spec, flat, bodies), flat, found, options)
    finally:
        recorder.busy = busy


def _noted(
    recorder: Any, called: _Called, flat: Sequence[object], found: Any, options: object
) -> object:
    """Adds the nodes of a call; gives its results as the program gets them."""
    piece, name, bodies = recorder.piece, called.__name__, called.bodies
    recorder.enter_modes()
    modules = [_attached(recorder, body.module) for body in bodies.values()]
    given = [
        x.node if isinstance(x, Later) else recorder._argument(x) for x in flat if _is_handed(x)
    ]
    lifted = [[recorder._argument(x) for x in body.lifted] for body in bodies.values()]
    key = (name, str(called.spec), fingerprint(options, piece.kept),
           tuple([(i, b.key) for i, b in bodies.items()]),
           tuple([(i, identity(recorder, x, piece.kept)) for i,
                  x in called.others.items()]))  # fmt: skip
    node = recorder.add("call_function", called, (modules, given, lifted), {}, key)
    flat_out: Values
    flat_out, out_spec = pytree.tree_flatten(found)
    # which go back from these results: the program gets others, whose history says nothing
    if any(map(_is_function, flat_out)):
        with piece.mode:
            flat_out = [x.view_as(x) if isinstance(x, FakeTensor) else x for x in flat_out]
    results = []
    for i, x in enumerate(flat_out):
        if isinstance(x, FakeTensor) or _is_function(x):
            item = recorder.add("call_function", _item, (node, i), {}, ("item", node.name, i))
            if isinstance(x, FakeTensor):
                recorder._track(x, item)
            else:
                x = Later(recorder, item, x)
        elif isinstance(x, (torch.Tensor, *SYMBOLS)):
            raise Stopped(f"{name} gives a {type(x).__name__}")
        results.append(x)
    return recorder._returned(pytree.tree_unflatten(results, out_spec), ())


def _item(found: Any, i: int) -> Any:
    return found[i]


def _run(
    recorder: Any,
    function: Callable[..., object],
    fake: Values,
    flat: Values,
    spec: pytree.TreeSpec,
    bodies: dict[int, _Body],
) -> Any:
    """The call on tensors without data; what it calls is recorded when it is first met."""
    mode = recorder.piece.mode
    while True:
        here = list(fake)
        met = []
        for i, x in enumerate(flat):
            if i in bodies:
                here[i] = bodies[i].bound(
                    bodies[i].module, [_without_data(recorder, t) for t in bodies[i].lifted]
                )
            elif _is_function(x):
                here[i] = _probe(i, met)
        args, kwargs = pytree.tree_unflatten(here, spec)
        try:
            with mode:
                return function(*args, **kwargs)
        except _Met as found:
            if not met or met[-1][1] is not found:
                raise
        number, how = met[-1]
        called: Any = flat[number]
        bodies[number] = _Body(recorder, called, how)


def _without_data(recorder: Any, x: object) -> object:
    """What is taken from outside, as far as the kinds of results depend on it: floats that data
    decide may be any."""
    return recorder._fake(x) if isinstance(x, torch.Tensor) else 1.0 if type(x) is Float else x


def _probe(number: int, met: list[object]) -> Callable[..., None]:
    def probe(*args: object, **kwargs: object) -> None:
        found = _Met(args, kwargs)
        met.append((number, found))
        raise found

    return probe


def _attached(recorder: Any, module: GraphModule) -> Node:
    """A node for a function's graph, which becomes a child of the module."""
    piece = recorder.piece
    name = f"body_{len(piece.root._modules)}"
    piece.root.add_module(name, module)
    return piece.graph.create_node("get_attr", name, (), {}, name=name)
