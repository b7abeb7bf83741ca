"""From an exported program to a model of ONNX, operator by operator."""

# pyright: reportMissingImports=false

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import onnx_ir as ir
import onnxscript.evaluator

import jtorch as torch
from jtorch._src.aten.promoting import promotion
from jtorch.export.graph_signature import ConstantArgument, InputKind, OutputKind
from jtorch.fx.graph import Graph
from jtorch.fx.node import Node, map_arg
from jtorch.utils import _pytree as pytree
from jtorch.version import __version__

from . import library
from .failures import ConversionError, DispatchError, GraphConstructionError
from .missing import CHECKS, CONTROL, FUNCTIONS
from .recording import OPSET, Recorder, Symbol, op
from .types import DTYPES, dtype_of, shape_of, tensor_of

if TYPE_CHECKING:
    from jtorch.export import ExportedProgram

#: Arguments that decide where and how a result lies, not what it is; functions need not have them.
_PLACING = frozenset(
    ("device", "layout", "pin_memory", "memory_format", "non_blocking", "implicit", "requires_grad")
)
Own = Mapping[Any, Callable[..., Any]]


def is_kept(target: object, own: Own) -> bool:
    """Whether an operator is translated as it is, so that it shall not be taken apart."""
    return target in own or target in FUNCTIONS or library.has(target)


def untranslated(program: ExportedProgram, own: Own) -> set[Any]:
    """The operators of a program that are not translated as they are."""
    return {
        node.target
        for module in program.graph_module.modules()
        if isinstance(getattr(module, "graph", None), Graph)
        for node in module.graph.nodes
        if isinstance(node.target, torch._ops.OpOverload)
        and node.target not in CHECKS
        and not is_kept(node.target, own)
    }


class Translation:
    """One graph of operators as a graph of ONNX.

    Attributes:
        recorder: has the nodes of what is being translated.
        graph: has the nodes of what is done.
    """

    def __init__(self, graph: Graph, root: Any, own: Own, recorder: Recorder, target: Any) -> None:
        self.source, self.root, self.own = graph, root, own
        self.recorder, self.graph = recorder, target
        self.values: dict[Node, Any] = {}

    def run(self) -> list[Any]:
        """Translates all nodes; gives what the graph returns."""
        for node in self.source.nodes:
            if node.op in ("placeholder", "get_attr"):
                continue
            try:
                if node.op == "output":
                    return self._results(node)
                self._node(node)
            except Exception as error:
                raise ConversionError(
                    f"Error when translating node {node.format_node()}. See the stack trace for "
                    "more information."
                ) from error
        raise AssertionError("a graph ends with what it returns")

    def _results(self, node: Node) -> list[Any]:
        found = []
        for x in pytree.tree_leaves(node.args[0], is_leaf=lambda x: x is None):
            if x is not None and not isinstance(x, Node):
                raise TypeError(f"a model of ONNX returns tensors, not {x!r}")
            found.append(None if x is None else self.values[x])
        return found

    def _node(self, node: Node) -> None:
        if node.target in CHECKS:
            return
        if node.target is operator.getitem and isinstance(self.values[node.args[0]], (list, tuple)):
            value = self.values[node.args[0]][node.args[1]]
            self.values[node] = value
            if isinstance(value, ir.Value) and value.producer() is not None:
                value.name, value.shape = node.name, shape_of(node.meta["val"])
            return
        with onnxscript.evaluator.default_as(self.recorder):
            if node.target in CONTROL:
                out = CONTROL[node.target](self, node)
            else:
                out = self._called(node)
            out = self._conforming(out, node.meta.get("val"))
        self._named(node, out)
        self.values[node] = out
        nodes = self.recorder.taken()
        for made in nodes:
            describe(made, node)
        self.graph.extend(nodes)

    def _called(self, node: Node) -> Any:
        args, kwargs = list(node.args), dict(node.kwargs)
        function = self._function(node)
        if isinstance(node.target, torch._ops.OpOverload):
            self._promote(node.target, args, kwargs, node.meta.get("val"))
        parameters = _parameters_of(function)
        kwargs = {
            name: x
            for name, x in kwargs.items()
            if name not in _PLACING or (parameters is not None and name in parameters)
        }
        given = [self.given(x) for x in args]
        named = {name: self.given(x) for name, x in kwargs.items()}
        named = {name: x for name, x in named.items() if name != "dtype" or x is not None}
        try:
            return function(*given, **named)
        except Exception as error:
            raise GraphConstructionError(
                f"Error when calling function '{function}' with args '{given}' and kwargs '{named}'"
            ) from error

    def _function(self, node: Node) -> Callable[..., Any]:
        on_complex = any(
            isinstance(x.meta.get("val"), torch.Tensor) and x.meta["val"].dtype.is_complex
            for x in node.all_input_nodes
        )
        found = (
            self.own.get(node.target)
            or (None if on_complex else FUNCTIONS.get(node.target))
            or library.find(node.target, on_complex)
        )
        if found is None:
            kind = "complex" if on_complex else "real"
            raise DispatchError(
                f"No ONNX function found for {node.target!r}. Failure message: No decompositions "
                f"registered for the {kind}-valued input"
            )
        return found

    # ---- graphs within graphs --------------------------------------------------------------------

    def within(self, graph: Any) -> Translation:
        """What fills a graph that an attribute of a node holds; it sees the values outside."""
        return Translation(self.source, self.root, self.own, Recorder(self.recorder), graph)

    def inlined(self, graph_node: Node, values: list[Any]) -> list[Any]:
        """The results of a graph that an operator takes, given its arguments."""
        module = self.root.get_submodule(graph_node.target)
        inner = Translation(module.graph, module, self.own, self.recorder, self.graph)
        places = [n for n in module.graph.nodes if n.op == "placeholder"]
        inner.values.update(zip(places, values, strict=True))
        self.graph.extend(self.recorder.taken())
        return inner.run()

    def finish(self, results: list[Any]) -> None:
        """Has the graph return values of its own."""
        seen = set()
        for x in results:
            with onnxscript.evaluator.default_as(self.recorder):
                x = x if x.graph is self.graph and x not in seen else op.Identity(x)
            seen.add(x)
            self.graph.extend(self.recorder.taken())
            self.graph.outputs.append(x)

    # ---- operands --------------------------------------------------------------------------------

    def _promote(
        self, func: torch._ops.OpOverload, args: list[Any], kwargs: dict[str, Any], result: Any
    ) -> None:
        """Converts the operands that the operator converts: ONNX's take equal ones."""

        def meta(x: Any) -> Any:
            return x.meta.get("val") if isinstance(x, Node) else x

        values = func.complete(
            [map_arg(x, meta) for x in args], {k: map_arg(x, meta) for k, x in kwargs.items()}
        )
        first = values[0] if values else None
        given = func._schema.places.get("dtype")
        if (
            given is not None
            and values[given] is None
            and isinstance(first, torch.Tensor)
            and isinstance(result, torch.Tensor)
            and result.dtype != first.dtype
        ):  # sums of integers and bools
            args[0] = self.recorder.cast(self.given(args[0]), DTYPES[result.dtype])
        found = promotion(func, values)
        if found is None:
            return
        to = DTYPES[found.dtype]
        arguments = func._schema.arguments
        for place in found.places:
            name = arguments[place].name
            where: Any = args if place < len(args) else kwargs
            key: Any = place if place < len(args) else name
            if place < len(args) or name in kwargs:
                x = where[key]
                where[key] = (
                    [self._converted(y, to, found.dtype) for y in x]
                    if isinstance(x, (list, tuple))
                    else self._converted(x, to, found.dtype)
                )

    def _converted(self, x: Any, to: Any, dtype: torch.dtype) -> Any:
        if isinstance(x, (bool, int, float)):
            return float(x) if dtype.is_floating_point else x
        value = self.given(x)
        if not isinstance(value, ir.Value) or value.dtype in (None, to) or dtype.is_complex:
            return x
        return self.recorder.cast(value, to)

    def given(self, x: Any) -> Any:
        """An argument of a node as functions are given it."""
        if isinstance(x, Node):
            return self.values[x]
        if isinstance(x, ir.Value):
            return x
        if isinstance(x, (list, tuple)):
            return [self.given(y) for y in x]
        if isinstance(x, torch.dtype):
            return int(DTYPES[x])
        if isinstance(x, (torch.device, torch.memory_format, torch.layout)):
            return str(x)
        return x

    # ---- results ---------------------------------------------------------------------------------

    def _conforming(self, out: Any, meta: Any) -> Any:
        """Results with the dtype and shape that the program says."""
        if isinstance(out, (list, tuple)):
            metas = meta if isinstance(meta, (list, tuple)) else [meta] * len(out)
            return [self._conforming(x, m) for x, m in zip(out, metas, strict=False)]
        if not isinstance(out, ir.Value):
            return self.recorder.value(out, dtype_of(meta)) if out is not None else None
        if isinstance(meta, (list, tuple)) or meta is None or isinstance(out.type, ir.SequenceType):
            return out
        dtype = dtype_of(meta)
        if out.dtype is None:
            out.dtype = dtype
        elif out.dtype != dtype:
            out = self.recorder.cast(out, dtype)
        if out.producer() is not None:
            out.shape = shape_of(meta)
        return out

    def _named(self, node: Node, out: Any) -> None:
        made = set(self.recorder.nodes)
        several = isinstance(out, list)
        for place, value in enumerate(out if several else [out]):
            producer = value.producer() if isinstance(value, ir.Value) else None
            if producer in made and producer.op_type != "Constant":
                value.name = f"{node.name}__{place}" if several else node.name
                producer.name = f"node_{value.name}"


def _parameters_of(function: Any) -> set[str] | None:
    """The names of a function's parameters."""
    signature = getattr(function, "op_signature", None)
    if signature is not None:
        return {p.name for p in signature.params}
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return None


def describe(made: Any, node: Node) -> None:
    """Notes where a node comes from, under the names that PyTorch uses."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    classes = [
        cls if isinstance(cls, str) else f"{cls.__module__}.{cls.__qualname__}" for _, cls in stack
    ]
    names = [name for name, _ in stack]
    target = str(node.target)
    made.metadata_props["namespace"] = "/".join(
        [*(f"{n}: {c}" for n, c in zip(names, classes, strict=True)), f"{node.name}: {target}"]
    )
    made.metadata_props["pkg.torch.onnx.class_hierarchy"] = repr([*classes, target])
    made.metadata_props["pkg.torch.onnx.name_scopes"] = repr([*names, node.name])
    made.metadata_props["pkg.torch.onnx.fx_node"] = str(node.format_node())
    made.metadata_props["pkg.torch.onnx.stack_trace"] = node.meta.get("stack_trace") or ""


def translated(program: ExportedProgram, own: Own) -> Any:
    """A program of which nothing shall be taken apart further, as a model of ONNX."""
    graph = ir.Graph([], [], nodes=[], name="main_graph", opset_imports={"": OPSET})
    recorder = Recorder()
    work = Translation(program.graph, program.graph_module, own, recorder, graph)
    nodes = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    for spec in program.graph_signature.input_specs:
        node = nodes.get(getattr(spec.arg, "name", ""))
        if node is None or isinstance(spec.arg, ConstantArgument):
            continue
        value = Symbol(name=node.name)
        if spec.kind is not InputKind.USER_INPUT:
            value.name = str(spec.target)
            value.const_value = tensor_of(program.value_of(spec), value.name)
        value.dtype, value.shape = dtype_of(node.meta["val"]), shape_of(node.meta["val"])
        prefix = "pkg.torch.export.graph_signature.InputSpec."
        value.metadata_props[f"{prefix}kind"] = spec.kind.name
        value.metadata_props[f"{prefix}persistent"] = str(spec.persistent)
        work.values[node] = value
        if not node.users and spec.kind is not InputKind.USER_INPUT:
            continue
        if spec.kind is InputKind.USER_INPUT:
            graph.inputs.append(value)
        else:
            graph.register_initializer(value)
    results = work.run()
    for spec, value in zip(program.graph_signature.output_specs, results, strict=True):
        if spec.kind is OutputKind.USER_OUTPUT and value is not None:
            value.metadata_props["pkg.torch.export.graph_signature.OutputSpec.kind"] = (
                spec.kind.name
            )
            graph.outputs.append(value)
    prefix = "pkg.torch.export.ExportedProgram."
    graph.metadata_props[f"{prefix}graph_signature"] = str(program.graph_signature)
    graph.metadata_props[f"{prefix}range_constraints"] = str(program.range_constraints)
    model = ir.Model(graph, ir_version=10, producer_name="pytorch", producer_version=__version__)
    for identifier, function in recorder.functions.items():
        model.functions[identifier] = function
        for domain, version in function.opset_imports.items():
            graph.opset_imports.setdefault(domain, version)
        graph.opset_imports.setdefault(function.domain, 1)
    return model
