"""``torch.export.unflatten``: a program as modules again, nested and named as those that were
exported, so that parts can be replaced."""

from __future__ import annotations

import abc
import copy
import enum
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._src.refusals import stand_ins as _refusals
from jtorch.fx.graph import Graph
from jtorch.fx.interpreter import Interpreter
from jtorch.fx.node import Node, map_arg
from jtorch.utils import _pytree as pytree

from .exported_program import ExportedProgram
from .graph_signature import InputKind, OutputKind

if TYPE_CHECKING:
    from .._src.facts.kinds import Values


__all__ = ["FlatArgsAdapter", "InterpreterModule", "UnflattenedModule", "unflatten"]


class _AttrKind(enum.Enum):
    PARAMETER = "parameter"
    BUFFER = "buffer"
    CONSTANT = "constant"
    MODULE = "module"


def _assign_attr(
    from_obj: Any,
    to_module: torch.nn.Module,
    target: str,
    attr_kind: _AttrKind,
    persistent: bool = True,
) -> None:
    """Gives a module an attribute at a dotted path, with empty modules on the way: state, a
    submodule, or a tensor that is neither.

    Raises:
        AssertionError: for what is not of the kind.
    """
    path, _, leaf = target.rpartition(".")
    holder = _walk(to_module, path)
    kinds = {_AttrKind.PARAMETER: torch.nn.Parameter, _AttrKind.MODULE: torch.nn.Module}
    expected: type = kinds.get(attr_kind, torch.Tensor)
    if not isinstance(from_obj, expected):
        name = {torch.nn.Parameter: "torch.nn.Parameter", torch.nn.Module: "torch.nn.Module"}.get(
            expected, "torch.Tensor"
        )
        raise AssertionError(
            f"expected {name} for {attr_kind.name} attr_kind, got {type(from_obj)}"
        )
    if attr_kind is _AttrKind.PARAMETER:
        holder.register_parameter(leaf, from_obj)
    elif attr_kind is _AttrKind.BUFFER:
        holder.register_buffer(leaf, from_obj, persistent=persistent)
    else:
        setattr(holder, leaf, from_obj)


class FlatArgsAdapter(abc.ABC):
    """What makes arguments fit that are nested otherwise than those that a program was exported
    with."""

    @abc.abstractmethod
    def adapt(
        self,
        target_spec: pytree.TreeSpec,
        input_spec: pytree.TreeSpec,
        input_args: list[Any],
        metadata: Any = None,
        obj: Any = None,
    ) -> list[Any]:
        """The leaves in the order of ``target_spec``, of arguments that are nested as
        ``input_spec`` says.

        Args:
            target_spec: how the example's arguments were nested.
            input_spec: how those of this call are.
            input_args: the leaves of these.
            metadata: None; for PyTorch's signature.
            obj: the module that is called.
        """


class _Run(Interpreter):
    """Finds modules by their path at each call, so that they may be replaced, also by one that has
    another name too."""

    def call_module(
        self, target: str, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> object:
        """Calls a module of the module."""
        return self.module.get_submodule(target)(*args, **kwargs)


class InterpreterModule(torch.nn.Module):
    """A module of an unflattened program: its part of the graph, run node by node.

    Its arguments are the values from outside that the part uses, in the order of their first use,
    and it gives those that are used outside: one, or a tuple.

    Args:
        graph: the nodes; attributes and modules that they name are this module's.
    """

    graph: Graph

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.graph = graph

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the graph.

        Raises:
            TypeError: for arguments that it does not have, or that are missing.
        """
        names = [n.target for n in self.graph.nodes if n.op == "placeholder"]
        rest = names[len(args) :]
        if len(args) > len(names) or set(kwargs) != set(rest):
            raise TypeError(
                f"forward() takes {', '.join(map(str, names))}; got {len(args)} positional "
                f"arguments and {sorted(kwargs)}"
            )
        return _Run(self, graph=self.graph).run(
            *args, *[kwargs[str(n)] for n in rest], enable_io_processing=False
        )


class UnflattenedModule(torch.nn.Module):
    """A program as modules; made by ``unflatten``. It is called as the module that was exported,
    with copies of its state.

    Args:
        export_module: the program.
        flat_args_adapter: makes arguments fit that are nested otherwise.
    """

    graph: Graph

    def __init__(
        self, export_module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None
    ) -> None:
        super().__init__()
        self.graph_signature = export_module.graph_signature
        self.module_call_graph = export_module.module_call_graph
        self.range_constraints = export_module.range_constraints
        self.flat_args_adapter = flat_args_adapter
        self._program = copy.copy(export_module)  # its checks of what it is called with
        self._program._state_dict, self._program._constants = {}, {}
        _Builder(export_module, self).build()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program.

        Raises:
            TypeError: for arguments that are nested otherwise, without an adapter.
            AssertionError: for tensors of other shapes and values than the program allows.
        """
        signature = self.module_call_graph[0].signature
        assert signature is not None
        try:
            flat = self._program.flat_inputs(args, kwargs)
        except ValueError as error:
            if self.flat_args_adapter is None:
                raise TypeError(
                    (
                        "There is no flat args adapter specified. Are you sure you are calling "
                        "this with the right arguments? "
                    )
                    + str(error)
                ) from None
            given, spec = pytree.tree_flatten((args, kwargs))
            flat = self.flat_args_adapter.adapt(
                target_spec=signature.in_spec,
                input_spec=spec,
                input_args=given,
                metadata=None,
                obj=self,
            )
            self._program._check(flat)
        found = _Run(self, graph=self.graph).run(*flat, enable_io_processing=False)
        return pytree.tree_unflatten(list(found), signature.out_spec)


def unflatten(
    module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None
) -> UnflattenedModule:
    """The program as modules that are nested and named as those of the module that was exported.

    Each module holds the operators that it called, and has parameters and buffers of its own,
    copies of the program's: ``state_dict()`` has the names that it had. A module can be replaced by
    another that takes and gives the same tensors. Calls of one module that run different operators
    are modules of their own, ``name@1`` and so on, which share its state.

    Args:
        module: the program.
        flat_args_adapter: makes arguments fit that are nested otherwise than the example's.

    Raises:
        TypeError: if ``module`` is no program.

    Example:
        >>> import jtorch as torch
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
        >>> parts = torch.export.unflatten(torch.export.export(net, (torch.ones(4, 2),)))
        >>> sorted(parts.state_dict())
        ['0.bias', '0.weight']
        >>> _ = setattr(parts, "1", torch.nn.Identity())
        >>> torch.equal(parts(torch.ones(4, 2)), net[0](torch.ones(4, 2)))
        True
    """
    if not isinstance(module, ExportedProgram):
        raise TypeError(f"unflatten(): expected an ExportedProgram, got {type(module).__name__}")
    return UnflattenedModule(module, flat_args_adapter)


class _Call:
    """One call of a module: its nodes and the calls within, in order, the values that it takes from
    outside and those it gives."""

    def __init__(self, key: str, path: str) -> None:
        self.key, self.path = key, path
        self.items: list[Node | _Call] = []
        self.nodes: set[Node] = set()
        self.inputs: list[Node] = []
        self.outputs: list[Node] = []


def _frames(node: Node) -> list[tuple[str, str]]:
    """The calls that a node was made in, below the root: a key for each, and the module's path. One
    that is not below the module that called it is taken for a part of that."""
    if node.target is torch.ops.aten.sym_size.int and node.args[0].op == "placeholder":
        return []  # sizes of inputs stand first, whoever asked
    found: list[tuple[str, str]] = []
    for key, (path, _) in node.meta.get("nn_module_stack", {}).items():
        if path and _below(path, found[-1][1] if found else ""):
            found.append((key, path))
    return found


def _below(path: str, parent: str) -> bool:
    return not parent or path.startswith(parent + ".")


def _relative(path: str, parent: str) -> str:
    return path[len(parent) + 1 :] if parent else path


class _Builder:
    """Makes the modules of a program, and fills its root."""

    def __init__(self, program: ExportedProgram, root: UnflattenedModule) -> None:
        self.program, self.root = program, root
        self.specs = {s.arg.name: s for s in program.graph_signature.input_specs}
        #: Copies of the state by all names that it has, and those names by the tensor that they are
        #: for.
        self.state: dict[str, torch.Tensor] = {}
        self.names: dict[int, list[str]] = {}
        self.loose = set(program.graph_signature.non_persistent_buffers)
        copies: dict[int, torch.Tensor] = {}
        for name, value in [
            *program.state_dict.items(),
            *((n, program.constants[n]) for n in sorted(self.loose)),
        ]:
            if isinstance(value, torch.Tensor):
                self.state[name] = copies.setdefault(id(value), _copy(value))
                self.names.setdefault(id(value), []).append(name)
        #: The modules of each path, one for each form that its calls have; how many calls there
        #: were.
        self.forms: dict[str, list[InterpreterModule]] = {}
        self.count: dict[str, int] = {}
        #: What the nodes that call modules call, and in whose graphs they stand: only when all is
        #: made are the paths known.
        self.called: dict[Node, tuple[torch.nn.Module, InterpreterModule]] = {}

    def build(self) -> None:
        """Fills the root."""
        call = self._calls()
        self._bounds(call)
        graph = self._graph(call, self.root)
        self.root.graph = graph
        for node, (owner, inner) in self.called.items():
            node.target = _path(owner, inner, str(node.target))
        for path, modules in [("", [self.root]), *self.forms.items()]:
            for module in modules:
                self._fill(path, module)
        for entry in self.program.module_call_graph:  # those that were never called, too
            _walk(self.root, entry.fqn)
        order = {entry.fqn: i for i, entry in enumerate(self.program.module_call_graph)}
        for path, modules in [("", [self.root]), *self.forms.items()]:
            for module in modules:
                self._arrange(path, module, order)

    def _calls(self) -> _Call:
        root = _Call("", "")
        opened = [root]
        for node in self.program.graph.nodes:
            if node.op != "call_function":
                continue
            frames = _frames(node)
            same = 0
            while (
                same < min(len(frames), len(opened) - 1) and opened[same + 1].key == frames[same][0]
            ):
                same += 1
            del opened[same + 1 :]
            for key, path in frames[same:]:
                inner = _Call(key, path)
                opened[-1].items.append(inner)
                opened.append(inner)
            opened[-1].items.append(node)
            for call in opened:
                call.nodes.add(node)
        return root

    def _bounds(self, call: _Call) -> None:
        """Finds what calls take and give."""
        for item in call.items:
            if isinstance(item, Node):
                needed = [n for n in item.all_input_nodes if n not in call.nodes]
            else:
                self._bounds(item)
                needed = [n for n in item.inputs if n not in call.nodes]
            for n in needed:
                if n not in call.inputs and not self._is_held(n, call.path):
                    call.inputs.append(n)
        call.outputs = [
            n
            for n in self.program.graph.nodes
            if n in call.nodes and any(u not in call.nodes for u in n.users)
        ]

    def _is_held(self, node: Node, path: str) -> bool:
        """Whether a value is an attribute of the module at a path: its state, a constant, a graph
        that an operator takes."""
        if node.op != "placeholder":
            return node.op == "get_attr"
        spec = self.specs[node.name]
        return spec.kind is InputKind.CONSTANT_TENSOR or (
            spec.kind is not InputKind.USER_INPUT and self._name(spec, path) is not None
        )

    def _name(self, spec: Any, path: str) -> str | None:
        """What a parameter or buffer is called by the module at a path, which may be another name
        for it than the program's."""
        names = [spec.target, *self.names[id(self.program.value_of(spec))]]
        return next((_relative(n, path) for n in names if _below(n, path)), None)

    # ---- graphs ----------------------------------------------------------------------------------

    def _graph(self, call: _Call, module: torch.nn.Module) -> Graph:
        graph = Graph()
        made: dict[Node, Node] = {}
        whole = call.path == ""
        taken = (
            [n for n in self.program.graph.nodes if n.op == "placeholder" and self._is_users(n)]
            if whole
            else call.inputs
        )
        for n in taken:
            made[n] = graph.placeholder(n.name)
            made[n].meta = dict(n.meta)

        def value(n: Node) -> Node:
            if n not in made:
                made[n] = self._attribute(n, call.path, module, graph)
            return made[n]

        for item in call.items:
            if isinstance(item, Node):
                for n in item.all_input_nodes:
                    value(n)
                made[item] = graph.node_copy(item, value)
            else:
                self._inner(item, call.path, module, graph, value, made)
        self._output(call, graph, value)
        return graph

    def _is_users(self, node: Node) -> bool:
        return self.specs[node.name].kind is InputKind.USER_INPUT

    def _attribute(self, node: Node, path: str, module: torch.nn.Module, graph: Graph) -> Node:
        if node.op == "get_attr":
            name = str(node.target)
            if name not in module._modules:
                module.add_module(name, self.program.graph_module.get_submodule(name))
        else:
            spec = self.specs[node.name]
            if spec.kind is InputKind.CONSTANT_TENSOR:
                name = _free(
                    module, str(spec.target).rpartition(".")[2], self.program.value_of(spec)
                )
            else:
                name = self._name(spec, path) or ""
        found = graph.create_node("get_attr", name, (), {}, name=name.replace(".", "_"))
        found.meta = dict(node.meta)
        return found

    def _inner(
        self,
        call: _Call,
        path: str,
        module: torch.nn.Module,
        graph: Graph,
        value: Callable[[Node], Node],
        made: dict[Node, Node],
    ) -> None:
        inner = InterpreterModule(Graph())
        inner.graph = self._graph(call, inner)
        forms = self.forms.setdefault(call.path, [])
        described = self._described(inner)
        inner = next((form for form in forms if self._described(form) == described), inner)
        if inner not in forms:
            forms.append(inner)
        name = self._add(module, _relative(call.path, path), inner)
        arguments = tuple([value(n) for n in call.inputs])
        number = self.count[call.path] = self.count.get(call.path, -1) + 1
        own = call.path.rpartition(".")[2]
        node = graph.create_node(
            "call_module", name, arguments, {}, name=f"{own}_{number}" if number else own
        )
        self.called[node] = module, inner
        if len(call.outputs) == 1:
            made[call.outputs[0]] = node
            node.meta = {
                k: v for k, v in call.outputs[0].meta.items() if k in ("val", "tensor_meta")
            }
            return
        node.meta["val"] = [n.meta.get("val") for n in call.outputs]
        for i, n in enumerate(call.outputs):
            made[n] = graph.call_function(operator.getitem, (node, i))
            made[n].meta = dict(n.meta)

    def _output(self, call: _Call, graph: Graph, value: Callable[[Node], Node]) -> None:
        if call.path:
            found = tuple([value(n) for n in call.outputs])
            graph.output(found[0] if len(found) == 1 else found)
            return
        given = next(n for n in self.program.graph.nodes if n.op == "output").args[0]
        placeholders = {n.name: n for n in self.program.graph.nodes if n.op == "placeholder"}
        by_target = {
            s.target: placeholders[s.arg.name]
            for s in self.program.graph_signature.input_specs
            if s.target
        }
        results = []
        for n, spec in zip(given, self.program.graph_signature.output_specs, strict=True):
            if spec.kind is OutputKind.USER_OUTPUT:
                results.append(map_arg(n, value))
            else:
                target = (by_target if spec.kind is OutputKind.BUFFER_MUTATION else placeholders)[
                    str(spec.target)
                ]
                graph.call_function(torch.ops.aten.copy_.default, (value(target), value(n)))
        graph.output(tuple(results))

    def _described(self, module: InterpreterModule) -> Values:
        """What tells whether two modules run the same operators."""
        number: dict[Node, int] = {}
        found: list[Any] = []
        for node in module.graph.nodes:
            number[node] = len(number)
            target: Any = "" if node.op == "placeholder" else node.target
            if node.op == "get_attr" and node.target in module.__dict__:
                target = id(module.__dict__[str(node.target)])
            if node.op == "call_module":  # of one path there is one module for each form
                target = id(self.called[node][1])
            found.append(
                (
                    node.op,
                    target,
                    repr(map_arg((node.args, node.kwargs), lambda n: _Numbered(number[n]))),
                )
            )
        return found

    # ---- modules ---------------------------------------------------------------------------------

    def _add(self, parent: torch.nn.Module, name: str, inner: InterpreterModule) -> str:
        """Puts a module below another under its name, or under that with a number where another one
        has it; gives what it is called."""
        way, _, leaf = name.rpartition(".")
        holder = _walk(parent, way)
        number, called = 0, leaf
        while (there := holder._modules.get(called)) is not None:
            if there is inner:
                break
            if not isinstance(there, InterpreterModule):
                _take(there, inner)
                break
            number += 1
            called = f"{leaf}@{number}"
        holder._modules[called] = inner
        return f"{way}.{called}" if way else called

    def _fill(self, path: str, module: torch.nn.Module) -> None:
        """Registers the state that belongs below a path."""
        for name, value in self.state.items():
            if not _below(name, path):
                continue
            way, _, leaf = _relative(name, path).rpartition(".")
            holder = _walk(module, way)
            if isinstance(value, torch.nn.Parameter):
                holder.register_parameter(leaf, value)
            else:
                holder.register_buffer(leaf, value, persistent=name not in self.loose)

    def _arrange(self, path: str, module: torch.nn.Module, order: dict[str, int]) -> None:
        """Puts modules in the order that they had in what was exported; further forms come last."""
        paths = {name: f"{path}.{name}" if path else name for name in module._modules}
        children = sorted(
            module._modules.items(), key=lambda item: order.get(paths[item[0]], len(order))
        )
        module._modules.clear()
        module._modules.update(children)
        for name, child in children:
            if type(child) is torch.nn.Module:
                self._arrange(paths[name], child, order)


def _copy(value: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        made = value.detach().clone()
    return (
        torch.nn.Parameter(made, requires_grad=value.requires_grad)
        if isinstance(value, torch.nn.Parameter)
        else made
    )


def _free(module: torch.nn.Module, name: str, value: torch.Tensor) -> str:
    """Makes a tensor an attribute that is not state, under a name that is free or has it
    already."""
    number, called = 0, name
    while called in module._modules or module.__dict__.get(called, value) is not value:
        number += 1
        called = f"{name}_{number}"
    module.__dict__[called] = value
    return called


def _walk(module: torch.nn.Module, way: str) -> torch.nn.Module:
    for part in way.split(".") if way else ():
        if module._modules.get(part) is None:
            module._modules[part] = torch.nn.Module()
        module = module._modules[part]
    return module


def _take(there: torch.nn.Module, inner: InterpreterModule) -> None:
    """Gives a module the children of one that only held them, since they were called first without
    it."""
    for leaf, child in there._modules.items():
        called, number = leaf, 0
        while inner._modules.get(called, child) is not child:
            number += 1
            called = f"{leaf}@{number}"
        inner._modules[called] = child


def _path(owner: torch.nn.Module, inner: torch.nn.Module, expected: str) -> str:
    """Where a module stands below another: as it is expected, or, if it had to give way, under
    another name."""
    found = [
        name for name, module in owner.named_modules(remove_duplicate=False) if module is inner
    ]
    return expected if expected in found or not found else min(found, key=len)


class _Numbered:
    """A node of a description."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:
        return f"%{self.number}"


__getattr__ = _refusals.missing(__name__)
