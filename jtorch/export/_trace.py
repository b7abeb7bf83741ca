"""Tracing a module for export: its operators on fake tensors, composite ones whole, its parameters
and buffers as inputs."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import keyword
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._dynamo.exc import UserError
from jtorch._higher_order_ops.operators import HigherOrderOperator
from jtorch._src.refusals import stand_ins as _refusals
from jtorch._src.tensor import unknowns
from jtorch._src.tensor.shape_env import ShapeEnv
from jtorch._src.tensor.symbols import Float, Sym, Truth, shown
from jtorch._subclasses.fake_tensor import FakeTensorMode
from jtorch.compiler import exporting
from jtorch.fx.experimental.proxy_tensor import (
    STATE,
    GradTracer,
    ProxyTorchDispatchMode,
    _composites_whole,
    _running,
)
from jtorch.fx.node import Node
from jtorch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from jtorch.utils import _pytree as pytree

from ._asserts import is_assertion
from ._plan import Plan
from ._sources import Functions, source
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)

if TYPE_CHECKING:
    from .._src.facts.kinds import Named, Row, Values
    from ..fx.graph import Graph
    from ..nn.modules.module import Module


class _Stack:
    """The modules that are being called, for ``node.meta["nn_module_stack"]``."""

    def __init__(self, root: torch.nn.Module) -> None:
        self.names: dict[int, list[str]] = {}
        for name, module in root.named_modules(remove_duplicate=False):
            self.names.setdefault(id(module), []).append(name)
        self.now: dict[str, tuple[str, str]] = {}
        self.kinds: dict[str, type] = {}
        self.calls: dict[str, int] = {}

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """A block in which calls of modules are noted."""
        before = register_module_forward_pre_hook(self._enter)
        after = register_module_forward_hook(self._leave)
        try:
            yield
        finally:
            before.remove()
            after.remove()

    def _enter(self, module: object, args: tuple[torch.Tensor, ...]) -> None:
        del args
        names = self.names.get(id(module))
        if names is not None:
            name = self._called(names)
            number = self.calls[name] = self.calls.get(name, -1) + 1
            kind = type(module)
            key = _key(name) + (f"@{number}" if number else "")
            self.now[key], self.kinds[key] = (name, f"{kind.__module__}.{kind.__qualname__}"), kind

    def _called(self, names: list[str]) -> str:
        """Of a module's names that by which the one that calls it has it: the shortest below that
        module's."""
        caller = next(reversed(self.now.values()), ("", ""))[0]
        below = [n for n in names if not caller or n.startswith(caller + ".")]
        return min(below or names, key=lambda n: n.count("."))

    def _leave(
        self,
        module: object,
        args: tuple[torch.Tensor, ...],
        output: tuple[torch.Tensor | Sym | Truth, ...]
        | dict[str, torch.Tensor | Sym]
        | torch.Tensor,
    ) -> None:
        del args, output
        names = self.names.get(id(module), ())
        if any(name in names for name, _ in self.now.values()):
            # (calls that an error has left, which the program has caught)
            while self.now.popitem()[1][0] not in names:
                pass


def _key(name: str) -> str:
    return f"L__self__{name}" if name else "L__self__"


class ExportTracer(GradTracer):
    """Adds nodes with where they come from; tensors from outside become inputs named ``c_…``."""

    def __init__(self, stack: _Stack) -> None:
        super().__init__()
        self.record_stack_traces = True
        self.stack = stack
        self.functions = Functions()
        self.names = {}

    def create_node(self, *args: Any, **kwargs: object) -> object:
        """Adds a node to the graph."""
        node = super().create_node(*args, **kwargs)
        if node.op == "call_function":
            node.meta["nn_module_stack"] = dict(self.stack.now)
            if self.functions.called is not None:
                node.meta["torch_fn"] = self.functions.called
                if STATE.asserting:  # as where PyTorch reads the bytecode
                    kind = (
                        self.stack.kinds[next(reversed(self.stack.now))] if self.stack.now else None
                    )
                    found = source(self.functions.now, kind)
                    node.meta["source_fn_stack"] = [(self._call_name(found), found)]
        return node

    def _call_name(self, found: object) -> str:
        """A name for the call of the function that is going on."""
        called = self.functions.called
        assert called is not None
        name = found.__name__ if inspect.isbuiltin(found) else called[1].rpartition(".")[2]
        number = self.names.setdefault(
            (name, called, self.functions.now), len([n for n, *_ in self.names if n == name])
        )
        return f"{name}_{number}" if number else name


class Traced:
    """A traced program: the flat graph, what its inputs and outputs stand for, and how the caller's
    are nested."""

    def __init__(
        self,
        tracer: Any,
        root: Any,
        signature: ExportGraphSignature,
        constants: dict[str, Any],
        in_spec: pytree.TreeSpec,
        out_spec: pytree.LeafSpec | pytree.TreeSpec,
    ) -> None:
        self.tracer, self.graph, self.root, self.signature, self.constants = (
            tracer,
            tracer.graph,
            root,
            signature,
            constants,
        )
        self.in_spec, self.out_spec = in_spec, out_spec


def argument_names(
    forward: Callable[..., object], args: tuple[torch.Tensor, ...], kwargs: dict[str, float]
) -> list[str]:
    """What the arguments are called in the function's signature; those of ``*args`` get numbers."""
    names: list[str] = []
    variable = "args"
    for p in inspect.signature(forward).parameters.values():
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and len(names) < len(args):
            names.append(p.name)
        elif p.kind is p.VAR_POSITIONAL:
            variable = p.name
    names += [f"{variable}_{i}" for i in range(len(args) - len(names))]
    return [*names, *kwargs]


def by_position(
    forward: Callable[..., object],
    args: tuple[torch.Tensor, ...],
    kwargs: dict[str, float],
    shapes: Any,
) -> Any:
    """What varies, in the order of the arguments as they were given, where it is a sequence in the
    order of the signature."""
    parameters = inspect.signature(forward).parameters
    if (
        not isinstance(shapes, (list, tuple))
        or not kwargs
        or len(shapes) != len(args) + len(kwargs)
        or not kwargs.keys() <= parameters.keys()
    ):
        return shapes
    stated = dict(
        zip([name for name in parameters if name in kwargs], shapes[len(args) :], strict=True)
    )
    return [*shapes[: len(args)], *[stated[name] for name in kwargs]]


def joined_rest(forward: Callable[..., object], args: tuple[torch.Tensor, ...], shapes: Any) -> Any:
    """What varies, with an entry for each of ``*args``, where it is given as the signature has
    them: in one entry, under their name."""
    parameters = inspect.signature(forward).parameters.values()
    before = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
    count = len(args) - before
    if rest is None or count < 1:
        return shapes
    if isinstance(shapes, dict):
        given = shapes.get(rest)
    else:
        given = (
            shapes[before] if isinstance(shapes, (list, tuple)) and len(shapes) > before else None
        )
    if not isinstance(given, (list, tuple)) or len(given) != count:
        return shapes
    if isinstance(shapes, dict):
        return {
            **{k: v for k, v in shapes.items() if k != rest},
            **{f"{rest}_{i}": v for i, v in enumerate(given)},
        }
    return [*shapes[:before], *given, *shapes[before + 1 :]]


def _leaf_names(name: str, value: torch.Tensor | float) -> list[str]:
    paths = pytree.tree_flatten_with_path(value)[0]
    return ["_".join([name,
                      *[re.sub(r"[^a-zA-Z0-9_]", "_",
                               str(getattr(k, "key", getattr(k, "idx", k)))).strip("_")
                        for k in path]])
            for path, _ in paths]  # fmt: skip


def _placeholder_name(prefix: str, target: str) -> str:
    return prefix + re.sub(r"[^a-zA-Z0-9]", "_", target).removeprefix("self_")


def _free(name: str, taken: set[object]) -> str:
    """A name that no other input has: ``{"a_b": x}`` and ``{"a": {"b": x}}`` ask for the same."""
    found = name
    for i in itertools.count(1):
        if found not in taken:
            break
        found = f"{name}_{i}"
    taken.add(found)
    return found


@contextlib.contextmanager
def _swapped(root: torch.nn.Module, fakes: dict[int, torch.Tensor]) -> Iterator[None]:
    """A block in which a module has fake parameters and buffers."""
    undo = []
    for module in root.modules():
        for table in (module._parameters, module._buffers):
            for name, value in table.items():
                if value is not None:
                    undo.append((table, name, value))
                    table[name] = fakes[id(value)]
    try:
        yield
    finally:
        for table, name, value in undo:
            table[name] = value


def trace(
    module: torch.nn.Module,
    args: tuple[torch.Tensor, ...],
    kwargs: dict[str, float],
    plan: Plan,
    env: ShapeEnv,
    sizes: Values,
) -> Traced:
    """Calls ``module`` once on fake tensors, with the given sizes for each leaf of the
    arguments."""
    mode = FakeTensorMode(
        shape_env=env, allow_non_fake_inputs=True, static_shapes=True, export=True
    )
    tracer = ExportTracer(_Stack(module))
    tracer.data = unknowns.of(env)
    fakes = {}
    inputs: list[InputSpec] = []
    owners = {}
    taken: set[object] = set()
    names = argument_names(module.forward, args, kwargs)
    leaf_names = [
        _free(n, taken)
        for name, value in zip(names, (*args, *kwargs.values()), strict=True)
        for n in _leaf_names(name, value)
    ]

    def take(
        prefix: str, name: str, value: torch.Tensor, kind: InputKind, persistent: bool | None = None
    ) -> None:
        target = _free(_placeholder_name(prefix, name), taken)
        proxy = tracer.create_proxy("placeholder", target, (), {})
        fakes[id(value)] = fake = mode.from_tensor(value, static_shapes=True)
        tracer.begin(fake, proxy)
        inputs.append(InputSpec(kind, TensorArgument(proxy.node.name), name, persistent))

    for name, parameter in module.named_parameters():
        take("p_", name, parameter, InputKind.PARAMETER)
    for name, buffer in module.named_buffers():
        holder = module.get_submodule(name.rpartition(".")[0])
        leaf = name.rpartition(".")[2]
        take("b_", name, buffer, InputKind.BUFFER, leaf not in holder._non_persistent_buffers_set)
        owners[id(buffer)] = holder, leaf, fakes[id(buffer)]

    flat, in_spec = pytree.tree_flatten((args, kwargs))
    given = []
    first_user = None
    for name, value, wanted in zip(leaf_names, flat, sizes, strict=True):
        proxy = tracer.create_proxy("placeholder", name, (), {})
        first_user = first_user or proxy.node
        if (
            proxy.node.name == f"{name}_1"
            and not any(n.name == name for n in tracer.graph.nodes)
            and not keyword.iskeyword(name)
        ):
            proxy.node.name = name  # though it is a name of Python's own, such as ``input``
        if isinstance(value, torch.Tensor):
            fake = _input(mode, env, value, wanted)
            tracer.begin(fake, proxy)
            given.append(fake)
            inputs.append(InputSpec(InputKind.USER_INPUT, TensorArgument(proxy.node.name), None))
        else:
            proxy.node.meta["val"] = value
            given.append(value)
            inputs.append(
                InputSpec(InputKind.USER_INPUT, ConstantArgument(proxy.node.name, value), None)
            )
    result = _called(module, tracer, mode, fakes, pytree.tree_unflatten(given, in_spec), owners)
    leaves, out_spec = pytree.tree_flatten(result)
    outputs = [_output(tracer, x) for x in leaves]
    tracer.create_node("output", "output", (tuple([n for n, _ in outputs]),), {})
    graph = tracer.graph
    constants = _lifted(module, tracer, graph, inputs, first_user)
    _without_dead(graph)
    _sizes_first(graph)
    if STATE.asserting:
        inputs = _without_unused(graph, inputs)
        _sources_of_state(graph, inputs)
    signature = ExportGraphSignature(
        inputs, [OutputSpec(OutputKind.USER_OUTPUT, arg, None) for _, arg in outputs]
    )
    del plan
    return Traced(tracer, subgraphs(tracer.root), signature, constants, in_spec, out_spec)


def _input(
    mode: FakeTensorMode, env: ShapeEnv | None, value: torch.Tensor, wanted: list[int | str]
) -> torch.Tensor:
    sizes = [
        env.wrap(env.parse(s)) if isinstance(s, str) and env is not None else s for s in wanted
    ]
    plain = value.detach()
    if value.requires_grad:
        plain.requires_grad_()
    # (one for each argument, though a tensor is given twice)
    return mode.from_tensor(plain, symbolic_context=sizes)


def _called(
    module: Module,
    tracer: ExportTracer,
    mode: FakeTensorMode,
    fakes: dict[int, torch.Tensor],
    call: Row,
    owners: Any,
) -> object:
    args, kwargs = call
    proxies = ProxyTorchDispatchMode(tracer)
    _running.append(proxies)
    try:
        with (
            _swapped(module, fakes),
            tracer.stack.watched(),
            mode,
            proxies,
            _composites_whole(),
            exporting(),
            tracer.functions,
        ):
            result = module(*args, **kwargs)
            for holder, name, fake in owners.values():
                now = holder._buffers.get(name)
                if now is not fake and isinstance(now, torch.Tensor):  # assigned anew
                    torch.ops.aten.copy_.default(fake, now)
            return result
    finally:
        _running.pop()


def _output(tracer: ExportTracer, x: object) -> tuple[object, ...]:
    if isinstance(x, torch.Tensor):
        node = tracer.create_arg(x)
        return node, TensorArgument(node.name)
    for kind, argument in (
        (Sym, SymIntArgument),
        (Float, SymFloatArgument),
        (Truth, SymBoolArgument),
    ):
        if isinstance(x, kind):
            node = tracer.create_arg(x)
            return node, argument(node.name)
    if x is None or isinstance(x, (int, float, str, bool, complex)):
        return x, ConstantArgument("", x)
    raise UserError(
        f"It looks like one of the outputs with type `{type(x)}` is not supported or "
        "pytree-flattenable."
    )


def _lifted(
    module: Module, tracer: ExportTracer, graph: Any, inputs: list[InputSpec], first_user: object
) -> Named:
    """Makes tensors from outside inputs, before the caller's; gives them by name."""
    constants = {}
    attributes = {
        id(x): f"{path}.{n}" if path else n
        for path, m in module.named_modules()
        for n, x in vars(m).items()
        if isinstance(x, torch.Tensor)
    }
    at = next((i for i, s in enumerate(inputs) if s.kind is InputKind.USER_INPUT), len(inputs))
    taken: set[object] = {n.target for n in graph.nodes if n.op == "placeholder"}
    before = first_user or next((n for n in graph.nodes if n.op != "placeholder"), None)
    for number, (value, held) in enumerate(tracer.constants.values()):
        name = attributes.get(id(value), f"lifted_tensor_{number}")
        with graph.inserting_before(before):
            node = graph.placeholder(_free(_placeholder_name("c_", name), taken))
        for use in [n for n in graph.nodes if n.op == "get_attr" and n.target == held]:
            node.meta.setdefault("val", use.meta.get("val", value))
            use.replace_all_uses_with(node)
            graph.erase_node(use)
        constants[name] = value
        inputs.insert(at, InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), name))
        at += 1
    return constants


def subgraphs(root: Module) -> torch.nn.Module:
    """A module with nothing of another one but the graphs that operators take."""
    made = torch.nn.Module()
    for name, child in root._modules.items():
        made.add_module(name, child)
    return made


def keeps(node: Node) -> bool:
    """Whether an operator does more than give a result: it writes, or draws random numbers, or
    takes graphs with such operators."""
    if isinstance(node.target, HigherOrderOperator):
        return any(
            keeps(n) for a in node.args if getattr(a, "op", "") == "get_attr" for n in _inside(a)
        )
    if node.op in ("placeholder", "output") or node.target is torch._C._set_grad_enabled:
        return True
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return False
    if is_assertion(node) or node.meta.get("unbacked_bindings"):
        return True
    return (
        bool(schema.writes)
        or any(a.type.startswith("Generator") for a in schema.arguments)
        or "dropout" in node.target._opname
    )


def _checks(node: Node) -> bool:
    """Whether an operator looks at a tensor and gives nothing, or takes graphs with such operators;
    what is said of sizes is not meant."""
    if isinstance(node.target, HigherOrderOperator):
        return any(
            _checks(n) for a in node.args if getattr(a, "op", "") == "get_attr" for n in _inside(a)
        )
    schema = getattr(node.target, "_schema", None)
    return (
        schema is not None
        and not schema.returns
        and any(a.type == "Tensor" for a in schema.arguments)
    )


def _inside(node: Any) -> Iterator[Any]:
    """The operators of the graph that a node stands for."""
    for inner in node.meta["val"].graph.nodes:
        if inner.op == "call_function":
            yield inner


def _without_dead(graph: Graph) -> None:
    for node in reversed(list(graph.nodes)):
        if not node.users and not keeps(node) and not _checks(node):
            graph.erase_node(node)


def _sizes_first(graph: Graph) -> None:
    """Moves the sizes of inputs to the front, where PyTorch has them."""
    size_of = torch.ops.aten.sym_size.int
    found = [n for n in graph.nodes if n.target is size_of and n.args[0].op == "placeholder"]
    body = next((n for n in graph.nodes if n.op != "placeholder"), None)
    for node in reversed(found):
        if node is not body and body is not None:
            body.prepend(node)
            body = node


def _without_unused(graph: Graph, inputs: list[InputSpec]) -> list[InputSpec]:
    """The inputs without state that the program does not use, which PyTorch leaves out of graphs
    where it reads the bytecode."""
    placeholders = {n.name: n for n in graph.nodes if n.op == "placeholder"}
    kept = []
    for spec in inputs:
        node = placeholders[spec.arg.name]
        if spec.kind is InputKind.USER_INPUT or node.users:
            kept.append(spec)
        else:
            graph.erase_node(node)
    return kept


def _sources_of_state(graph: Any, inputs: list[InputSpec]) -> None:
    """Gives parameters, buffers and constants the source of the operator that takes them."""
    state = {s.arg.name for s in inputs if s.kind is not InputKind.USER_INPUT}
    for node in graph.nodes:
        if node.op == "placeholder" and node.name in state:
            last = next(
                (
                    u.meta["source_fn_stack"]
                    for u in reversed(node.users)
                    if "source_fn_stack" in u.meta
                ),
                None,
            )
            if last is not None:
                node.meta["source_fn_stack"] = last


def evaluated(graph: Graph, sizes: dict[str, int]) -> list[object]:
    """The operators of a graph with numbers in place of sizes, to be compared with those of
    another."""
    number = {}
    found = []

    def value(x: object) -> Any:
        if isinstance(x, Node):
            val = x.meta.get("val")
            if isinstance(val, Sym):
                found = val.env.with_hints(val.expr, val.env.names)
                return found if type(found) is int else shown(found)
            if isinstance(val, Truth):
                return repr(val)
            if isinstance(val, Float) and val.on_data:
                return repr(val)
            if isinstance(val, Float):
                return val.where(lambda size: size.env.with_hints(size.expr, size.env.names))
            return number.get(x, x.meta.get("val")) if type(val) is int else ("node", number.get(x))
        if isinstance(x, (list, tuple)):
            return [value(i) for i in x]
        return x

    for node in graph.nodes:
        if (
            isinstance(node.meta.get("val"), (Sym, Float, Truth, int)) or is_assertion(node)
        ) and node.op == "call_function":
            continue
        if node.op == "get_attr":  # a graph that an operator takes
            found += evaluated(node.meta["val"].graph, sizes)
        number[node] = len(number)
        found.append(
            (
                node.op,
                str(node.target) if node.op != "placeholder" else "",
                value(node.args),
                value(list(node.kwargs.items())),
            )
        )
    return found


__getattr__ = _refusals.missing(__name__)
