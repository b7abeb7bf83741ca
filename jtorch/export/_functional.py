"""``run_decompositions``: a program without composite operators and without writes in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._decomp import core_aten_decompositions, is_taken_apart, taken_apart
from jtorch._src.facts.errors import not_offered
from jtorch._src.tensor.shape_env import hint_of
from jtorch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from jtorch.fx import traceback as fx_traceback
from jtorch.fx.experimental._functional import WithoutWrites
from jtorch.fx.experimental.proxy_tensor import (
    GradTracer,
    PythonKeyTracer,
    _composites_whole,
    _running,
)
from jtorch.fx.node import Node, map_arg

from ._asserts import computed, is_assertion
from ._trace import _sizes_first, _without_dead, subgraphs
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    OutputKind,
    OutputSpec,
    TensorArgument,
)

if TYPE_CHECKING:
    from .._src.facts.kinds import Arguments
    from .exported_program import ExportedProgram


A = torch.ops.aten


class FunctionalMode(WithoutWrites):
    """Adds operators to a graph: composite ones by their parts, those that write as those that do
    not."""

    doing = "ExportedProgram.run_decompositions"

    def __torch_dispatch__(
        self,
        func: Any,
        types: tuple[type, ...],
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> Any:
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
        return super().__torch_dispatch__(func, types, args, kwargs)

    def _batch_norm(self, values: list[torch.Tensor | bool | float]) -> torch.Tensor:
        x, weight, bias, mean, var, training, momentum, eps = values[:8]
        with self:
            if mean is None or var is None:
                return A._native_batch_norm_legit.no_stats(x, weight, bias, True, momentum, eps)[0]
            if not training:
                return A._native_batch_norm_legit_no_training.default(
                    x, weight, bias, mean, var, momentum, eps
                )[0]
            out = A._native_batch_norm_legit_functional.default(
                x, weight, bias, mean, var, True, momentum, eps
            )
        self.replace(mean, out[3])
        self.replace(var, out[4])
        return out[0]


_BATCH_NORMS = frozenset((A.batch_norm.default,))


def decomposed(program: Any, table: dict[object, Callable[..., object]] | None) -> ExportedProgram:
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
    results: Arguments = ()
    _running.append(mode)
    try:
        with (
            torch.set_grad_enabled(torch.is_grad_enabled()),
            fake,
            mode,
            _composites_whole(),
            fx_traceback.preserve_node_meta(),
        ):
            for node in program.graph.nodes:
                if node.op == "placeholder":
                    value = node.meta["val"]
                    proxy = tracer.create_proxy("placeholder", node.target, (), {})
                    proxy.node.name = node.name
                    if isinstance(value, torch.Tensor):
                        value = (
                            value
                            if isinstance(value, FakeTensor)
                            else fake.from_tensor(value, static_shapes=True)
                        )
                        # Another object for each run, since nodes are found by the tensors that
                        # they give.
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
                    tracer.create_proxy(
                        "call_function",
                        node.target,
                        (checked, node.args[1]),
                        {},
                        "_assert_scalar_default",
                    )
                elif (
                    found := computed(node, args := map_arg(node.args, lambda n: env[n]))
                ) is not None:
                    env[node] = found
                else:
                    if tracer.data is not None:
                        tracer.data.again = list(node.meta.get("unbacked_bindings", ()))
                    # what it becomes stands where it stood
                    with fx_traceback.set_current_meta(node):
                        env[node] = node.target(*args, **map_arg(node.kwargs, lambda n: env[n]))
                    # (which may have been said to equal something else)
                    for name, dim in node.meta.get("unbacked_sizes", {}).items():
                        proxy = tracer.proxy_of(env[node])
                        assert proxy is not None
                        tracer.size_of_data(name, str(fake.shape_env.symbol(name).expr), proxy, dim)
    finally:
        _running.pop()
    return _finished(program, tracer, first, results)


def _like(t: FakeTensor) -> torch.Tensor:
    """A real tensor that is only looked at: its metadata are those of the example."""
    with unset_fake_temporarily():
        made = torch.empty_strided(
            [hint_of(n) for n in t.shape],
            [hint_of(n) for n in t.stride()],
            dtype=t.dtype,
            device="cpu",
        )
        return made.requires_grad_() if t.requires_grad else made


def _finished(
    program: ExportedProgram,
    tracer: PythonKeyTracer,
    first: dict[str, tuple[object, object]],
    results: tuple[object, ...],
) -> ExportedProgram:
    old = program.graph_signature
    kinds = {InputKind.BUFFER: OutputKind.BUFFER_MUTATION,
             InputKind.PARAMETER: OutputKind.PARAMETER_MUTATION,
             InputKind.USER_INPUT: OutputKind.USER_INPUT_MUTATION}  # fmt: skip
    outputs = []
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
        raise not_offered(
            "ExportedProgram.run_decompositions",
            "the program is functional already; give the table when it is run first",
        )
    for x, spec in zip(results, old.output_specs, strict=True):
        node = tracer.create_arg(x)
        outputs.append(node)
        arg = (
            spec.arg
            if isinstance(spec.arg, ConstantArgument)
            else type(spec.arg)(node.name if isinstance(node, Node) else "")
        )
        specs.append(OutputSpec(OutputKind.USER_OUTPUT, arg, None))
    tracer.create_node("output", "output", (tuple(outputs),), {})
    _without_dead(tracer.graph)
    _sizes_first(tracer.graph)
    return program._copy(
        subgraphs(tracer.root), tracer.graph, ExportGraphSignature(list(old.input_specs), specs)
    )
