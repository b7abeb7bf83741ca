"""``run_decompositions``: a program without composite operators and without writes in place.

Fake tensors have no data, so that a write is only this: from then on another node stands for the tensor, for what it is a view of, and
for the other views of that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jtorch as torch
from jtorch._decomp import core_aten_decompositions, is_taken_apart, taken_apart
from jtorch._src.aten.kernels import functional_of
from jtorch._src.facts.errors import not_offered
from jtorch._src.tensor.shape_env import hint_of
from jtorch._src.tensor.symbols import exact
from jtorch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from jtorch.fx import traceback as fx_traceback
from jtorch.fx.experimental.proxy_tensor import GradTracer, ProxyTorchDispatchMode, PythonKeyTracer, _composites_whole, _running
from jtorch.fx.node import Node, map_arg

from ._asserts import computed, is_assertion
from ._trace import _sizes_first, _without_dead, subgraphs
from .graph_signature import ConstantArgument, ExportGraphSignature, InputKind, OutputKind, OutputSpec, TensorArgument

A = torch.ops.aten


class _View:
    """A view: the tensor it was taken of, and the operator that takes it."""

    def __init__(self, tensor: Any, base: Any, func: Any, values: list[Any]) -> None:
        self.tensor, self.base, self.func, self.values = tensor, base, func, values


class FunctionalMode(ProxyTorchDispatchMode):
    """Adds operators to a graph: composite ones by their parts, those that write as those that do not."""

    def __init__(self, tracer: PythonKeyTracer, table: dict[Any, Callable[..., Any]]) -> None:
        super().__init__(tracer, table)
        self.views: list[_View] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not self.enabled:
            return func(*args, **kwargs)
        if func in _BATCH_NORMS:
            return self._batch_norm(func.complete(args, kwargs))
        found = self.decompositions.get(func)
        if found is None and is_taken_apart(func) and (func._schema.writes or func._schema.is_view):
            found = taken_apart(func)  # others are kept whole where the table does not have them
        if found is not None:
            with self:
                out = found(*args, **kwargs)
            if out is not NotImplemented:
                return out
        if func._schema.writes:
            return self._written(func, args, kwargs)
        out = super().__torch_dispatch__(func, types, args, kwargs)
        if func._schema.is_view:
            values = func.complete(args, kwargs)
            for t in out if isinstance(out, (list, tuple)) else [out]:
                if isinstance(t, FakeTensor) and t is not values[0]:
                    self.views.append(_View(t, values[0], func, values))
        return out

    def _written(self, func: Any, args: Any, kwargs: Any) -> Any:
        values = func.complete(args, kwargs)
        places = func._schema.outs or func._schema.writes
        targets = [values[i] for i in places]
        plain = A.copy.default if func is A.copy_.default else functional_of(func)
        if plain is None or any(not isinstance(t, torch.Tensor) for t in targets):
            raise not_offered("ExportedProgram.run_decompositions", f"{func} has no form that does not write")
        given = [v for i, v in enumerate(values) if i not in func._schema.outs]
        with self:
            found = plain(*[x for x, a in zip(given, plain._schema.arguments) if not a.kwarg_only],
                          **{a.name: x for x, a in zip(given, plain._schema.arguments) if a.kwarg_only})  # fmt: skip
        results = list(found) if isinstance(found, (list, tuple)) else [found]
        for target, result in zip(targets, results, strict=True):
            if plain._schema.is_view:
                self.views = [view for view in self.views if view.tensor is not result]
                if any(target is t for view in self.views for t in (view.tensor, view.base)):
                    raise not_offered("ExportedProgram.run_decompositions", f"{func} of a tensor with views, or of a view")
                func(*args, **kwargs)  # on the fake tensor itself: whoever holds it sees its new shape
            elif tuple(exact(result.shape)) != tuple(exact(target.shape)):
                raise not_offered("ExportedProgram.run_decompositions", f"{func} changes the shape of a tensor in place")
            if result.dtype is not target.dtype:
                with self:
                    result = A._to_copy.default(result, dtype=target.dtype)
            self.replace(target, result)
        return targets[0] if len(targets) == 1 else tuple(targets)

    def replace(self, target: Any, result: Any) -> None:
        """From now on ``target`` has the value of ``result``."""
        proxy = self.tracer.proxy_of(result)
        assert proxy is not None
        self.tracer.known[id(target)] = target, proxy
        made = next((v for v in reversed(self.views) if v.tensor is target), None)
        if made is not None:
            with self:
                whole = _put(made, result)
            self.replace(made.base, whole)  # its views, this one too, are taken anew
            return
        for view in [v for v in self.views if v.base is target]:
            self._retake(view)

    def _retake(self, view: _View) -> None:
        before = len(self.views)
        with self:
            again = view.func(*view.values[: view.func._schema.count])
        del self.views[before:]
        if isinstance(again, (list, tuple)):
            raise not_offered("ExportedProgram.run_decompositions", f"a write into what {view.func} was taken of")
        proxy = self.tracer.proxy_of(again)
        assert proxy is not None
        self.tracer.known[id(view.tensor)] = view.tensor, proxy
        for other in [v for v in self.views if v.base is view.tensor]:
            self._retake(other)

    def _batch_norm(self, values: list[Any]) -> Any:
        x, weight, bias, mean, var, training, momentum, eps = values[:8]
        with self:
            if mean is None or var is None:
                return A._native_batch_norm_legit.no_stats(x, weight, bias, True, momentum, eps)[0]
            if not training:
                return A._native_batch_norm_legit_no_training.default(x, weight, bias, mean, var, momentum, eps)[0]
            out = A._native_batch_norm_legit_functional.default(x, weight, bias, mean, var, True, momentum, eps)
        self.replace(mean, out[3])
        self.replace(var, out[4])
        return out[0]


_BATCH_NORMS = frozenset((A.batch_norm.default,))


def _put(view: _View, value: Any) -> Any:
    """The base of a view with another value in the view's place."""
    base, func = view.base, view.func
    name, rest = func._opname, view.values[1:]
    shape = list(base.shape)
    if name in ("view", "reshape", "unsqueeze", "squeeze", "_unsafe_view", "alias", "detach"):
        return value if name in ("alias", "detach") else A.view.default(value, shape)
    if name == "permute":
        order = [d % base.dim() for d in rest[0]]
        return A.permute.default(value, [order.index(i) for i in range(base.dim())])
    if name in ("transpose", "t"):
        return A.transpose.int(value, *(rest or (0, 1))) if base.dim() > 1 else value
    if name == "select":
        return A.select_scatter.default(base, value, *rest)
    if name == "slice":
        return A.slice_scatter.default(base, value, *rest)
    if name == "diagonal":
        return A.diagonal_scatter.default(base, value, *rest)
    raise not_offered("ExportedProgram.run_decompositions", f"a write through the view that {func} takes")


def decomposed(program: Any, table: dict[Any, Callable[..., Any]] | None) -> Any:
    """``ExportedProgram.run_decompositions``."""
    tracer = GradTracer()
    mode = FunctionalMode(tracer, dict(core_aten_decompositions() if table is None else table))
    env: dict[Any, Any] = {}
    vals = [n.meta.get("val") for n in program.graph.nodes if n.op == "placeholder"]
    fake = next((v.fake_mode for v in vals if isinstance(v, FakeTensor)), None)
    if fake is None:
        return program
    tracer.data = None if fake.shape_env is None else fake.shape_env.data
    first: dict[str, tuple[Any, Any]] = {}
    results: tuple[Any, ...] = ()
    _running.append(mode)
    try:
        with torch.set_grad_enabled(torch.is_grad_enabled()), fake, mode, _composites_whole(), fx_traceback.preserve_node_meta():
            for node in program.graph.nodes:
                if node.op == "placeholder":
                    value = node.meta["val"]
                    proxy = tracer.create_proxy("placeholder", node.target, (), {})
                    proxy.node.name = node.name
                    if isinstance(value, torch.Tensor):
                        value = value if isinstance(value, FakeTensor) else fake.from_tensor(value, static_shapes=True)
                        # Another object for each run, since nodes are found by the tensors that they give.
                        value = fake.from_tensor(_like(value), symbolic_context=list(value.shape))
                    tracer.begin(value, proxy)
                    proxy.node.meta.setdefault("val", value)
                    env[node], first[node.name] = value, (value, proxy.node)
                elif node.op == "output":
                    results = map_arg(node.args[0], lambda n: env[n])
                elif node.op == "get_attr":  # a graph that an operator takes: it is traced again
                    env[node] = program.graph_module.get_submodule(node.target)
                elif is_assertion(node):
                    checked = tracer.truth_of(node.args[0].meta["val"])
                    tracer.create_proxy("call_function", node.target, (checked, node.args[1]), {}, "_assert_scalar_default")
                elif (found := computed(node, args := map_arg(node.args, lambda n: env[n]))) is not None:
                    env[node] = found
                else:
                    if tracer.data is not None:
                        tracer.data.again = list(node.meta.get("unbacked_bindings", ()))
                    with fx_traceback.set_current_meta(node):  # what it becomes stands where it stood
                        env[node] = node.target(*args, **map_arg(node.kwargs, lambda n: env[n]))
                    for name, dim in node.meta.get("unbacked_sizes", {}).items():  # (which may have been said to equal something else)
                        proxy = tracer.proxy_of(env[node])
                        assert proxy is not None
                        tracer.size_of_data(name, str(fake.shape_env.symbol(name).expr), proxy, dim)
    finally:
        _running.pop()
    return _finished(program, tracer, first, results)


def _like(t: FakeTensor) -> torch.Tensor:
    """A real tensor that is only looked at: its metadata are those of the example."""
    with unset_fake_temporarily():
        made = torch.empty_strided([hint_of(n) for n in t.shape], [hint_of(n) for n in t.stride()], dtype=t.dtype, device="cpu")
        return made.requires_grad_() if t.requires_grad else made


def _finished(program: Any, tracer: PythonKeyTracer, first: dict[str, tuple[Any, Any]], results: tuple[Any, ...]) -> Any:
    old = program.graph_signature
    kinds = {InputKind.BUFFER: OutputKind.BUFFER_MUTATION, InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION,
             InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION}  # fmt: skip
    outputs: list[Any] = []
    specs: list[OutputSpec] = []
    for spec in old.input_specs:
        value, node = first[spec.arg.name]
        if not isinstance(value, torch.Tensor):
            continue
        now = tracer.create_arg(value)
        if now is not node:
            outputs.append(now)
            target = spec.arg.name if spec.kind is InputKind.USER_INPUT else spec.target
            specs.append(OutputSpec(kinds[spec.kind], TensorArgument(now.name), target))
    before = [s for s in old.output_specs if s.kind is not OutputKind.USER_OUTPUT]
    if before:
        raise not_offered("ExportedProgram.run_decompositions", "the program is functional already; give the table when it is run first")
    for x, spec in zip(results, old.output_specs, strict=True):
        node = tracer.create_arg(x)
        outputs.append(node)
        arg = spec.arg if isinstance(spec.arg, ConstantArgument) else type(spec.arg)(node.name if isinstance(node, Node) else "")
        specs.append(OutputSpec(OutputKind.USER_OUTPUT, arg, None))
    tracer.create_node("output", "output", (tuple(outputs),), {})
    _without_dead(tracer.graph)
    _sizes_first(tracer.graph)
    return program._copy(subgraphs(tracer.root), tracer.graph, ExportGraphSignature(list(old.input_specs), specs))
