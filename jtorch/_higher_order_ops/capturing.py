"""How branches and loops of a program become graphs while it is traced.

A function that is given to an operator of ``torch.ops.higher_order`` is traced into a graph of its
own. What it takes from outside (parameters, other results, sizes) becomes an argument of that
graph, since a graph knows nothing but its inputs.
"""

from __future__ import annotations

import contextlib
import copy
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._dynamo.exc import UncapturedHigherOrderOpError
from jtorch._src.composites import control
from jtorch._src.facts.errors import not_offered
from jtorch._src.tensor.symbols import Sym, Truth, Undecided, exact
from jtorch._subclasses.fake_tensor import FakeTensor, active_mode
from jtorch.fx.experimental import proxy_tensor
from jtorch.fx.graph_module import GraphModule
from jtorch.fx.proxy import Proxy
from jtorch.utils import _pytree as pytree

from . import gradients
from .map import mapped
from .operators import OPERATORS
from .scan import scanned

if TYPE_CHECKING:
    from .._src.facts.kinds import Function, Operand, Tree
    from .._src.tensor.shape_env import ShapeEnv
    from ..fx.node import Node


__all__ = ["captured"]

_SIGNS: dict[str, object] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


# ---- graphs of functions -------------------------------------------------------------------------


def _as_tuple(found: tuple[torch.Tensor, ...]) -> tuple[Operand, ...]:
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


class _Body:
    """The graph of one function while a program is traced: what it takes from outside, and what it
    gives."""

    def __init__(self, what: str, mode: Any, values: list[torch.Tensor], names: list[str]) -> None:
        self.what, self.mode, self.outer = what, mode, mode.tracer
        tracer = self.tracer = copy.copy(mode.tracer)
        tracer.graph = type(mode.tracer.graph)(tracer_cls=type(mode.tracer))
        tracer.root = torch.nn.Module()
        tracer.known, tracer.constants, tracer.sizes, tracer.sources = {}, {}, {}, {}
        tracer.lift = self.lift
        #: Values from outside in the order in which they were met, with their placeholders.
        self.lifted = []
        self.versions = []
        self.inputs = []
        for value, name in zip(values, names, strict=True):
            proxy = tracer.create_proxy("placeholder", name, (), {})
            proxy.node.target = proxy.node.name  # which no other one has
            self.inputs.append(proxy.node)
            self._begin(value, proxy)

    def _begin(self, value: torch.Tensor, proxy: Proxy) -> None:
        self.tracer.begin(value, proxy)
        if isinstance(value, torch.Tensor):
            self.versions.append((value, value._version))

    def lift(self, value: torch.Tensor) -> Proxy:
        """The proxy, in this graph, of a tensor or a size from outside."""
        for held, proxy in self.lifted:
            if _is_same(held, value):
                return proxy
        node = self.outer.create_arg(value)  # which may lift it from further outside
        graph = self.tracer.graph
        first = next((n for n in graph.nodes if n.op != "placeholder"), None)
        with graph.inserting_before(first) if first is not None else contextlib.nullcontext():
            proxy = Proxy(graph.placeholder(node.name), self.tracer)
        proxy.node.target = proxy.node.name
        self.lifted.append((value, proxy))
        self._begin(value, proxy)
        return proxy

    def run(
        self,
        f: Callable[..., object],
        args: tuple[torch.Tensor, ...],
        shape: Callable[..., object] | type = tuple,
    ) -> Tree:
        """Traces the function; gives its result."""
        self.mode.tracer = self.tracer
        try:
            with proxy_tensor._asserts_kept():
                result = f(*args)
            self.flat, self.spec = pytree.tree_flatten(result)
            nodes = []
            for x in self.flat:
                if not isinstance(x, torch.Tensor):
                    raise not_offered(
                        f"torch.{self.what} in a program that is traced",
                        f"a function that gives a {type(x).__name__}",
                    )
                nodes.append(self.tracer.create_arg(x))
                self._check_result(nodes[-1])
            self.tracer.create_node("output", "output", (shape(nodes),), {})
        finally:
            self.mode.tracer = self.outer
        for value, version in self.versions:
            if value._version != version:
                raise UncapturedHigherOrderOpError(
                    f"torch.{self.what}: a function that it is given writes into a tensor from "
                    "outside, which is not supported. Give the new value back instead."
                )
        return result

    def _check_result(self, node: Node) -> None:
        while node.target is operator.getitem or (
            getattr(getattr(node.target, "_schema", None), "is_view", False) and not _converts(node)
        ):
            node = node.args[0]
        if node.op == "placeholder":
            raise UncapturedHigherOrderOpError(
                f"torch.{self.what}: a function that it is given returns one of its inputs, or a "
                "view of one. Higher order operators do not support aliasing: replace `return "
                "input` with `return input.clone()`."
            )

    def module(self, order: list[torch.Tensor]) -> GraphModule:
        """The graph as a module whose last inputs are the values in ``order``."""
        graph = self.tracer.graph
        last = self.inputs[-1] if self.inputs else None
        for value in order:
            node = next((proxy.node for held, proxy in self.lifted if _is_same(held, value)), None)
            if node is None:
                body = next(n for n in graph.nodes if n.op != "placeholder")
                with graph.inserting_before(body):
                    node = graph.placeholder(self.outer.create_arg(value).name)
                node.target = node.name
            if last is not None:
                last.append(node)
            last = node
        if self.what in ("while_loop", "scan"):
            for number, node in enumerate(n for n in graph.nodes if n.op == "placeholder"):
                node.name = node.target = f"arg{number}_1"
        return GraphModule(self.tracer.root, graph)


def _converts(node: Node) -> bool:
    """Whether an operator that may give a view has given a copy of another dtype."""
    before, after = node.args[0].meta.get("val"), node.meta.get("val")
    return node.target is not torch.ops.aten.view.dtype and getattr(
        before, "dtype", None
    ) is not getattr(after, "dtype", None)


def _is_same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two values from outside are one: the same tensor, or equal sizes."""
    return a is b or (isinstance(a, Sym) and isinstance(b, Sym) and str(a.expr) == str(b.expr))


def _in_order(tracer: proxy_tensor.PythonKeyTracer, *bodies: _Body) -> list[torch.Tensor]:
    """All values that the functions take from outside, by the names of their nodes."""
    found: dict[int, Any] = {}
    for body in bodies:
        for value, _ in body.lifted:
            if not any(_is_same(v, value) for v in found.values()):
                found[id(value)] = value
    return sorted(found.values(), key=lambda v: tracer.create_arg(v).name)


def _attached(tracer: proxy_tensor.PythonKeyTracer, name: str, module: GraphModule) -> Proxy:
    """A node for a graph, which becomes a child of the traced module."""
    number = 0
    while f"{name}_{number}" in tracer.root._modules:
        number += 1
    tracer.root.add_module(f"{name}_{number}", module)
    proxy = tracer.create_proxy("get_attr", f"{name}_{number}", (), {})
    proxy.node.meta["val"] = module
    return proxy


def _leaves(what: str, tree: tuple[torch.Tensor, ...]) -> list[Operand]:
    found = pytree.tree_leaves(tree)
    for x in found:
        if not isinstance(x, torch.Tensor):
            raise not_offered(
                f"torch.{what} in a program that is traced",
                f"{x!r} among its operands, which is no tensor",
            )
    return found


def _apart(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Each tensor once."""
    found: dict[int, Any] = {}
    for t in tensors:
        found.setdefault(id(t), t)
    return list(found.values())


def _mismatch(what: str, a: torch.Tensor, b: torch.Tensor) -> str | None:
    if tuple(exact(a.shape)) != tuple(exact(b.shape)):
        return f"{what} give tensors of the sizes {list(a.shape)} and {list(b.shape)}"
    if a.dtype is not b.dtype:
        return f"{what} give tensors of the dtypes {a.dtype} and {b.dtype}"
    if a.device != b.device:
        return f"{what} give tensors on {a.device} and {b.device}"
    return None


def _require_same(
    name: str,
    what: str,
    first: _Body,
    flat: list[torch.Tensor],
    spec: pytree.LeafSpec | pytree.TreeSpec,
) -> None:
    if first.spec != spec:
        raise UncapturedHigherOrderOpError(
            f"torch.{name}: {what} give results of another structure: {first.spec} and {spec}"
        )
    for a, b in zip(first.flat, flat, strict=True):
        wrong = _mismatch(what, a, b)
        if wrong is not None:
            raise UncapturedHigherOrderOpError(f"torch.{name}: {wrong}")


def _given(
    tracer: proxy_tensor.PythonKeyTracer, name: str, results: list[torch.Tensor], *args: object
) -> None:
    """Adds the operator's node, whose results the tensors are."""
    proxy = tracer.create_proxy("call_function", OPERATORS[name], args, {}, name)
    proxy.node.meta["val"] = tuple(results)
    tracer.track(tuple(results), proxy)


def _condition(tracer: Any, pred: Truth) -> Proxy:
    """The node of a comparison of sizes."""
    sign, left, right = pred.sides
    return tracer.create_proxy(
        "call_function", _SIGNS[sign], (pred.env.wrap(left), pred.env.wrap(right)), {}
    )


# ---- what is captured ----------------------------------------------------------------------------


def _capture_cond(
    mode: proxy_tensor.ProxyTorchDispatchMode | None,
    pred: torch.Tensor | Truth | bool,
    true_fn: Callable[..., object],
    false_fn: Callable[..., object],
    operands: tuple[torch.Tensor, ...],
) -> object:
    if isinstance(pred, Truth):
        with contextlib.suppress(Undecided):
            pred = pred.holds()
    if not isinstance(pred, (torch.Tensor, Truth)):
        return true_fn(*operands) if pred else false_fn(*operands)
    if mode is None:
        return _unrecorded(lambda m: _capture_cond(m, pred, true_fn, false_fn, operands))
    tracer = mode.tracer
    values = _apart(_leaves("cond", operands))
    names = [tracer.create_arg(v).name for v in values]
    bodies = []
    for fn in (true_fn, false_fn):
        body = _Body("cond", mode, values, names)
        body.run(fn, operands)
        bodies.append(body)
    true, false = bodies
    _require_same("cond", "the branches", true, false.flat, false.spec)
    order = _in_order(tracer, true, false)
    modules = [true.module(order), false.module(order)]
    nodes = [
        _attached(tracer, f"{n}_graph", m) for n, m in zip(("true", "false"), modules, strict=True)
    ]
    chosen = true.flat
    if type(pred) is not Truth and not any(
        isinstance(x, FakeTensor) for x in (pred, *true.flat, *false.flat)
    ):
        with proxy_tensor.disable_proxy_modes_tracing():  # there is data: the branch that is taken
            chosen = true.flat if bool(pred) else false.flat
    differentiable = [
        a.requires_grad or b.requires_grad for a, b in zip(true.flat, false.flat, strict=True)
    ]
    chosen = gradients.of_cond(
        pred, modules[0], modules[1], [*values, *order], chosen, differentiable
    )
    condition = _condition(tracer, pred) if isinstance(pred, Truth) else pred
    _given(tracer, "cond", chosen, condition, *nodes, (*values, *order))
    return pytree.tree_unflatten(chosen, true.spec)


def _capture_while(
    mode: proxy_tensor.ProxyTorchDispatchMode | None,
    cond_fn: Callable[..., object],
    body_fn: Function,
    carried: tuple[torch.Tensor, ...],
) -> object:
    if mode is None:
        return _unrecorded(lambda m: _capture_while(m, cond_fn, body_fn, carried))
    tracer = mode.tracer
    values = _leaves("while_loop", carried)
    spec = pytree.tree_structure(tuple(carried))
    # what is carried is another tensor in every round
    with proxy_tensor.disable_proxy_modes_tracing():
        inside = [v.clone() for v in values]
    names = [f"arg{i}_1" for i in range(len(values))]
    test = _Body("while_loop", mode, inside, names)
    test.run(cond_fn, pytree.tree_unflatten(inside, spec), lambda nodes: nodes[0])
    if len(test.flat) != 1 or test.flat[0].numel() != 1:
        raise UncapturedHigherOrderOpError(
            "torch.while_loop: cond_fn must give a boolean tensor of one element"
        )
    body = _Body("while_loop", mode, inside, names)
    body.run(lambda *x: _as_tuple(body_fn(*x)), pytree.tree_unflatten(inside, spec))
    if len(body.flat) != len(values):
        raise UncapturedHigherOrderOpError(
            f"torch.while_loop: body_fn gives {len(body.flat)} tensors for {len(values)} that are "
            "carried"
        )
    _require_same("while_loop", "body_fn and what is carried", body, values, body.spec)
    order = _in_order(tracer, test, body)
    nodes = [
        _attached(tracer, f"while_loop_{n}_graph", b.module(order))
        for n, b in (("cond", test), ("body", body))
    ]
    results = body.flat
    if values and not isinstance(values[0], FakeTensor):
        with proxy_tensor.disable_proxy_modes_tracing():
            results = pytree.tree_leaves(control.while_loop(cond_fn, body_fn, carried))
    results = gradients.underived("while_loop", [*values, *order], results)
    _given(tracer, "while_loop", results, *nodes, tuple(values), tuple(order))
    return pytree.tree_unflatten(results, spec)


def _capture_scan(
    mode: proxy_tensor.ProxyTorchDispatchMode | None,
    combine_fn: Function,
    init: list[torch.Tensor],
    xs: list[torch.Tensor],
) -> object:
    """``init`` and ``xs`` are lists of tensors, scanned along the first dimension; ``combine_fn``
    gives two lists."""
    if mode is None:
        return _unrecorded(lambda m: _capture_scan(m, combine_fn, init, xs))
    tracer, many = mode.tracer, len(init)
    with proxy_tensor.disable_proxy_modes_tracing():
        inside = [v.clone() for v in init] + [x.select(0, 0).clone() for x in xs]
    body = _Body("scan", mode, inside, [f"arg{i}_1" for i in range(len(inside))])
    split = []

    def both(*_: object) -> list[torch.Tensor]:
        carry, ys = combine_fn(inside[:many], inside[many:])
        split.append(len(carry))
        return [*carry, *ys]

    body.run(both, (), list)
    if split[0] != many:
        raise UncapturedHigherOrderOpError(
            f"scan: the carry has {split[0]} tensors, and had {many}"
        )
    for a, b in zip(body.flat, init, strict=False):
        wrong = _mismatch("init and the new carry", b, a)
        if wrong is not None:
            raise UncapturedHigherOrderOpError(f"scan: {wrong}")
    order = _in_order(tracer, body)
    module = body.module(order)
    node = _attached(tracer, "scan_combine_graph", module)
    with proxy_tensor.disable_proxy_modes_tracing():
        if isinstance(xs[0], FakeTensor):
            results = [*body.flat[:many], *[_repeated(y, xs[0].shape[0]) for y in body.flat[many:]]]
        else:
            carry, ys = scanned(combine_fn, init, xs)
            results = [*carry, *ys]
    differentiable = [t.dtype.is_floating_point or t.dtype.is_complex for t in results]
    results = gradients.of_scan(module, list(init), list(xs), order, results, differentiable)
    _given(tracer, "scan", results, node, list(init), list(xs), tuple(order))
    return results[:many], results[many:]


def _capture_map(
    mode: proxy_tensor.ProxyTorchDispatchMode | None,
    f: Function,
    xs: list[torch.Tensor],
    args: tuple[torch.Tensor, ...],
) -> object:
    """``xs`` is a list of tensors; ``f`` takes such a list, and gives one."""
    if mode is None:
        return _unrecorded(lambda m: _capture_map(m, f, xs, args))
    tracer = mode.tracer
    more = _leaves("map", args)
    with proxy_tensor.disable_proxy_modes_tracing():
        inside = [x.select(0, 0).clone() for x in xs]
    names = [tracer.create_arg(v).name for v in (*xs, *more)]
    body = _Body("map", mode, [*inside, *more], names)
    body.run(lambda *_: f(inside, *args), ())
    order = _in_order(tracer, body)
    module = body.module(order)
    node = _attached(tracer, "body_graph", module)
    with proxy_tensor.disable_proxy_modes_tracing():
        results = (
            [_repeated(y, xs[0].shape[0]) for y in body.flat]
            if isinstance(xs[0], FakeTensor)
            else mapped(f, xs, *args)
        )
    results = gradients.of_map(
        module, list(xs), [*more, *order], results, [y.requires_grad for y in body.flat]
    )
    _given(tracer, "map_impl", results, node, list(xs), [*more, *order])
    return results


def _repeated(y: torch.Tensor, length: Sym | int) -> torch.Tensor:
    """A tensor without data of as many of the given one's size as there are steps."""
    return y.new_empty((length, *y.shape))


class _Loose(proxy_tensor.PythonKeyTracer):
    """A tracer whose graph nobody wants: it takes any tensor and size for an input."""

    def _constant(self, tensor: torch.Tensor) -> Proxy:
        if self.lift is not None:
            return self.lift(tensor)
        proxy = self._placeholder("x")
        self.track(tensor, proxy)
        return proxy

    def _placeholder(self, name: str) -> Proxy:
        proxy = self.create_proxy("placeholder", name, (), {})
        proxy.node.target = proxy.node.name  # which no other one has
        return proxy

    def _size(self, env: ShapeEnv, text: str) -> Any:
        if self.lift is not None:
            return super()._size(env, text)
        return self.sizes.setdefault(text, self._placeholder("s"))


def _unrecorded(run: Callable[..., object]) -> object:
    """The same with tensors that have no data, where nobody wants the graph."""
    mode = proxy_tensor.ProxyTorchDispatchMode(_Loose())
    with proxy_tensor.running(mode), mode:
        return run(mode)


_CAPTURES: dict[str, Callable[..., object]] = {
    "cond": _capture_cond, "while_loop": _capture_while, "scan": _capture_scan, "map": _capture_map,
}  # fmt: skip


def captured(name: str, *args: object) -> Tree:
    """What a call gives while a program is traced, or on tensors without data; ``NotImplemented``
    where it just runs."""
    mode = proxy_tensor.get_proxy_mode()
    if mode is None and active_mode() is None:
        return NotImplemented
    if mode is not None and not mode.enabled:
        if not any(isinstance(x, FakeTensor) for x in pytree.tree_leaves(args)):
            return NotImplemented
        mode = None
    return _CAPTURES[name](mode, *args)
