"""Traces of functions and modules as graphs: each operator that is called, on the example's values,
with the modules that call it."""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import nn
from jtorch.fx.experimental.proxy_tensor import _composites_whole
from jtorch.overrides import TorchFunctionMode
from jtorch.utils import _pytree as pytree
from jtorch.utils._python_dispatch import TorchDispatchMode

from .._C import _answers
from .._src.facts.errors import not_offered
from .._src.facts.warned_once import outside
from ._graphs import Graph, Node, Type, Value

if TYPE_CHECKING:
    from .._src.aten.schema import Schema
    from .._src.facts.kinds import Row


_DTYPES = {
    "torch.uint8": 0, "torch.int8": 1, "torch.int16": 2, "torch.int32": 3, "torch.int64": 4,
    "torch.float16": 5, "torch.float32": 6, "torch.float64": 7, "torch.complex32": 8,
    "torch.complex64": 9, "torch.complex128": 10, "torch.bool": 11, "torch.bfloat16": 15,
}  # fmt: skip
_FORMATS = {
    "torch.contiguous_format": 0,
    "torch.preserve_format": 1,
    "torch.channels_last": 2,
    "torch.channels_last_3d": 3,
}
#: What an operator that chooses a convolution by its dimensions is below: (dimensions, whether it
#: is transposed).
_CONVOLUTIONS = {f"conv{'_transpose' * t}{n}d": (n, t) for n in (1, 2, 3) for t in (False, True)}
_FIXED = (
    "Converting a tensor to a {} might cause the trace to be incorrect. We can't record the data "
    "flow of Python values, so this value will be treated as a constant in the future. This means "
    "that the trace might not generalize to other inputs!"
)


class TracingState:
    """One trace that is running: the modules that are being called, as hooks push and pop their
    names."""

    def __init__(self) -> None:
        self._scopes: list[str] = []

    def push_scope(self, name: str) -> None:
        """Says that a module is being called."""
        self._scopes.append(name)

    def pop_scope(self) -> None:
        """Says that the call of a module ended."""
        self._scopes.pop()

    def current_scope(self) -> str:
        """The modules that are being called, separated by slashes."""
        return "/".join(self._scopes)


_READS = {
    torch.Tensor.__bool__: "Python boolean", torch.Tensor.__int__: "Python integer",
    torch.Tensor.__float__: "Python float", torch.Tensor.tolist: "Python list",
    torch.Tensor.numpy: "NumPy array", torch.Tensor.item: "Python number",
}  # fmt: skip


class _Functions(TorchFunctionMode):
    """Shows ``einsum`` whole, and warns of data that are read."""

    def __init__(self, tracer: Tracer) -> None:
        super().__init__()
        self.tracer = tracer

    def __torch_function__(
        self, func: Any, types: object, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func in _READS and not self.tracer.quiet:
            warnings.warn(
                _FIXED.format(_READS[func]), torch.jit.TracerWarning, stacklevel=outside()
            )
            with self.tracer.silent():
                return func(*args, **(kwargs or {}))
        if func is torch.einsum and args and isinstance(args[0], str):
            operands = (
                args[1] if len(args) == 2 and isinstance(args[1], (list, tuple)) else args[1:]
            )
            return torch.ops.aten.einsum.default(args[0], list(operands))
        return func(*args, **(kwargs or {}))


class Tracer(TorchDispatchMode):
    """Adds a node for each operator, which runs on the tensors given."""

    def __init__(self) -> None:
        super().__init__()
        self.graph, self.state, self.quiet = Graph(), TracingState(), False
        #: Tensors and their values by identity, kept alive, with what computed them.
        self.known: dict[int, tuple[Any, Value]] = {}

    def track(self, tensor: torch.Tensor, value: Value) -> None:
        """Says that a tensor is a value of the graph."""
        for key in (tensor, tensor._read()):
            self.known[id(key)] = key, value

    def node(
        self, kind: str, inputs: list[Value], types: list[Type], **options: Any
    ) -> list[Value]:
        """The values of a node that is added."""
        return self.graph.add(Node(kind, inputs, self.state.current_scope(), **options), types)

    def constant(self, value: object) -> Value:
        """A constant."""
        if isinstance(value, torch.Tensor):
            kind = Type("Tensor", value)
        else:
            kind = Type("Device" if isinstance(value, torch.device) else type(value).__name__)
        (made,) = self.node("prim::Constant", [], [kind])
        made.node()._value = value
        if value is not None:
            made.node()._attributes["value"] = (
                str(value) if isinstance(value, torch.device) else value
            )
        return made

    def value_of(self, x: object, kind: str) -> Value:
        """What an operator is given for a parameter whose schema says ``kind``."""
        if isinstance(x, torch.Tensor):
            found = self.known.get(id(x)) or self.known.get(id(x._read()))
            if found is None:
                made = self.constant(x.detach())
                self.track(x, made)
                return made
            return found[1]
        if isinstance(x, (list, tuple)) or (
            kind.endswith("]") and not kind.endswith("[]") and x is not None
        ):
            items = (
                list(x) if isinstance(x, (list, tuple)) else [x] * int(kind.rpartition("[")[2][:-1])
            )
            inner = kind.rpartition("[")[0] or (
                "Tensor" if any(isinstance(i, torch.Tensor) for i in items) else "int"
            )
            name = inner.replace("SymInt", "int").replace("Scalar", "number")
            return self.node(
                "prim::ListConstruct", [self.value_of(i, inner) for i in items], [Type(name + "[]")]
            )[0]
        if isinstance(x, torch.dtype):
            return self.constant(_DTYPES[str(x)])
        if isinstance(x, torch.memory_format):
            return self.constant(_FORMATS[str(x)])
        if isinstance(x, torch.layout):
            return self.constant(0 if x is torch.strided else 1)
        if kind == "Tensor" and isinstance(x, (bool, int, float, complex)):
            return self.constant(
                torch.tensor(x, dtype=torch.float64 if isinstance(x, float) else None)
            )
        return self.constant(float(x) if kind == "float" and type(x) is int else x)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if self.quiet:
            return func(*args, **kwargs)
        schema, name = func._schema, func.overloadpacket.__name__
        given = func.complete(args, kwargs)
        with self.silent():
            if name == "lift_fresh":  # a tensor of Python data is a constant
                result = func(*args, **kwargs)
                self.track(result, self.constant(result.detach().clone()))
                return result
            kind, inputs = (
                f"{func.namespace}::{name}",
                [self.value_of(x, a.type) for x, a in zip(given, schema.arguments, strict=True)],
            )
            if name in _CONVOLUTIONS and isinstance(given[4], str):
                kind = "aten::_convolution_mode"
            elif name in _CONVOLUTIONS:
                kind, inputs = "aten::_convolution", self._convolution(*_CONVOLUTIONS[name], inputs)
            result = func(*args, **kwargs)
            self._note(kind, inputs, schema, result)
        return result

    def _convolution(self, n: int, transposed: bool, given: list[Value]) -> list[Value]:
        x, weight, bias, stride, padding, *rest = given
        if transposed:
            output_padding, groups, dilation = rest
        else:
            (dilation, groups), output_padding = rest, self.value_of([0] * n, "int[]")
        flags = [self.constant(flag) for flag in (False, False, True, True)]
        return [
            x,
            weight,
            bias,
            stride,
            padding,
            dilation,
            self.constant(transposed),
            output_padding,
            groups,
            *flags,
        ]

    def _note(self, kind: str, inputs: list[Value], schema: Schema, result: object) -> None:
        """Adds a node with what it computed."""
        several = isinstance(result, (list, tuple))
        a_list = several and len(schema.returns) == 1
        items = list(result) if several else [] if result is None else [result]
        types = [
            Type("Tensor", x) if isinstance(x, torch.Tensor) else Type(type(x).__name__)
            for x in items
        ]
        values = self.node(kind, inputs, [Type("Tensor[]")] if a_list else types, schema=schema)
        self.graph._nodes[-1]._kept = bool(schema.is_mutable)
        if a_list:
            values = self.node("prim::ListUnpack", values, types)
        for x, value in zip(items, values, strict=True):
            if isinstance(x, torch.Tensor):
                self.track(x, value)

    def call_function(
        self,
        function: Callable[..., object],
        name: str,
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> Any:
        """Runs a scripted function as one node."""
        with self.silent():
            flat = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
            inputs = [
                self.node("prim::Constant", [], [Type("Function")])[0],
                *[self.value_of(x, "Tensor") for x in flat],
            ]
            result = function(*args, **kwargs)
            items = [x for x in pytree.tree_leaves(result) if isinstance(x, torch.Tensor)]
            values = self.node(
                "prim::CallFunction", inputs, [Type("Tensor", x) for x in items], name=name
            )
            self.graph._nodes[-1]._kept = True
            for x, value in zip(items, values, strict=True):
                self.track(x, value)
        return result

    @contextlib.contextmanager
    def silent(self) -> Iterator[None]:
        """A block in which no operator becomes a node."""
        before, self.quiet = self.quiet, True
        try:
            yield
        finally:
            self.quiet = before

    def run(
        self, f: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]
    ) -> Any:
        """What ``f`` returns; its operators are in the graph then."""
        before, _answers.TRACING.now = _answers.TRACING.now, self
        try:
            with self, _Functions(self), _composites_whole():
                result = f(*args, **kwargs)
        finally:
            _answers.TRACING.now = before
        self.graph._return._inputs = [self._returned(result)]
        self.graph.let_go()
        return result

    def _returned(self, result: object) -> Value:
        if isinstance(result, dict):
            result = tuple(result.values())
        if not isinstance(result, (list, tuple)):
            return self.value_of(result, "Tensor" if isinstance(result, torch.Tensor) else "")
        values = [self._returned(x) for x in result]
        if isinstance(result, list):
            return self.node("prim::ListConstruct", values, [Type("Tensor[]")])[0]
        shown = "(" + ", ".join(v.type().shown() for v in values) + ")"
        return self.node("prim::TupleConstruct", values, [Type(shown)])[0]

    def begin(self, tensor: torch.Tensor, name: str = "") -> None:
        """A tensor that the function is given."""
        value = self.graph.value(self.graph._param, Type("Tensor", tensor)).setDebugName(name)
        self.track(tensor, value)


def state_of(module: nn.Module) -> dict[str, torch.Tensor]:
    """A module's parameters and buffers by name, each once."""
    found: dict[int, tuple[str, torch.Tensor]] = {}
    for name, tensor in module.state_dict(keep_vars=True).items():
        if isinstance(tensor, torch.Tensor):
            found.setdefault(id(tensor), (name, tensor))
    return dict(found.values())


def get_trace_graph(
    f: Any,
    args: object = (),
    kwargs: Any = None,
    strict: bool = True,
    _force_outplace: bool = False,
    return_inputs: bool = False,
    _return_inputs_states: bool = False,
) -> Row:
    """The graph of one call of a module, whose parameters and buffers are its last inputs, and what
    the call returned.

    ``return_inputs`` adds the tensors among the arguments.

    Raises:
        NotImplementedError: for the other two options of tracing.

    Differs from torch: sizes are constants, functions of ``torch.autograd.Function`` are seen as
    the operators that they call, values have no ``requires_grad``, and there are no passes over
    graphs.
    """
    del strict  # containers may be returned as they are
    if _force_outplace or _return_inputs_states:
        raise not_offered(
            "torch.jit._get_trace_graph(_force_outplace=..., _return_inputs_states=...)",
            "graphs show the calls as they are",
        )
    args, kwargs = args if isinstance(args, tuple) else (args,), kwargs or {}
    tracer = Tracer()
    given = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
    for tensor in (*given, *(state_of(f).values() if isinstance(f, nn.Module) else ())):
        tracer.begin(tensor)
    out = tracer.run(f, args, kwargs)
    return (tracer.graph, out, tuple(given)) if return_inputs else (tracer.graph, out)


def function_graph(function: Any, args: tuple[object, ...], names: list[str]) -> Graph:
    """The graph of a traced function, found by a call more on its example."""
    tracer = Tracer()
    for i, tensor in enumerate(x for x in pytree.tree_leaves(args) if isinstance(x, torch.Tensor)):
        tracer.begin(tensor, names[i] if i < len(names) and len(names) == len(args) else "")
    with torch.random.fork_rng():
        tracer.run(function, args, {})
    return tracer.graph


def _kind_of(module: nn.Module) -> Type:
    original = getattr(type(module), "_original", type(module))
    home = original.__module__
    return Type(
        f"__torch__.{home[1:] if home.startswith('jtorch.') else home}.{original.__qualname__}"
    )


def module_graph(module: nn.Module, args: tuple[object, ...], kwargs: dict[str, object]) -> Graph:
    """The graph of a traced module with its submodules' operators, found by a call of a copy."""
    module = copy.deepcopy(module)
    tracer, graph = Tracer(), None
    graph = tracer.graph
    owners = {"": graph.value(graph._param, _kind_of(module)).setDebugName("self")}
    for tensor in (x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)):
        tracer.begin(tensor)
    hooks = []
    for name, child in module.named_modules():
        if name:
            above, _, leaf = name.rpartition(".")
            owners[name] = _attribute(tracer, owners[above], leaf, _kind_of(child))
            hooks.append(
                child.register_forward_pre_hook(
                    lambda *_, n=name: tracer.state.push_scope(f"__module.{n}")
                )
            )
            hooks.append(child.register_forward_hook(lambda *_: tracer.state.pop_scope()))
    for name, tensor in state_of(module).items():
        above, _, leaf = name.rpartition(".")
        tracer.track(tensor, _attribute(tracer, owners[above], leaf, Type("Tensor")))
    with torch.random.fork_rng():
        tracer.run(module, args, kwargs)
    return graph


def _attribute(tracer: Tracer, owner: Value, name: str, kind: Type) -> Value:
    (made,) = tracer.node("prim::GetAttr", [owner], [kind])
    made.node()._attributes["name"] = name
    return made
