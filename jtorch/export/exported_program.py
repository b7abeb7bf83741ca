"""``ExportedProgram``: a graph of operators with its parameters, buffers and constants as inputs,
and what its sizes may be."""

from __future__ import annotations

import copy
import dataclasses
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._src.tensor.size_texts import evaluate
from jtorch.fx.graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from jtorch.fx.graph_module import GraphModule
from jtorch.fx.traceback import NodeSource, NodeSourceAction
from jtorch.utils import _pytree as pytree

from ._functional import decomposed
from .graph_signature import ConstantArgument, ExportGraphSignature, InputKind, OutputKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._src.facts.kinds import Named
    from ..fx.node import Node
    from .graph_signature import InputSpec


__all__ = ["ExportedProgram", "ModuleCallEntry", "ModuleCallSignature"]


@dataclasses.dataclass
class ModuleCallSignature:
    """How a module is called: its nested inputs and outputs."""

    inputs: list[Any]
    outputs: list[Any]
    in_spec: Any
    out_spec: Any


@dataclasses.dataclass
class ModuleCallEntry:
    """A module of what was exported, in its order, and how it is called, which is kept of the root
    alone."""

    fqn: str
    signature: ModuleCallSignature | None = None


class ExportedProgram:
    """A program that was traced once, to be saved, lowered, or run without its Python code.

    Attributes:
        graph_module: the graph as a module without state; all state is among the inputs.
        graph: its graph.
        graph_signature: what inputs and outputs stand for.
        state_dict: parameters and persistent buffers by name.
        constants: other buffers, and tensors that the program found elsewhere.
        range_constraints: the numbers that each symbol may be.
        example_inputs: what it was traced with.
    """

    def __init__(
        self,
        root: object,
        graph: Graph,
        graph_signature: ExportGraphSignature,
        state_dict: dict[str, Any],
        range_constraints: dict[Any, Any],
        module_call_graph: list[ModuleCallEntry],
        example_inputs: object = None,
        constants: dict[str, Any] | None = None,
        *,
        sizes: list[Any] | None = None,
        names: list[str] | None = None,
    ) -> None:
        self._graph_module = (
            root if isinstance(root, GraphModule) else GraphModule(root or torch.nn.Module(), graph)
        )
        self._graph_signature, self._state_dict = graph_signature, state_dict
        self._range_constraints, self._module_call_graph = range_constraints, module_call_graph
        self._example_inputs, self._constants = example_inputs, constants or {}
        #: For each leaf of the inputs its sizes: numbers, and texts in the symbols' names; None for
        #: what is no tensor.
        self._sizes = sizes or []
        self._names = names or []

    @property
    def graph_module(self) -> GraphModule:
        """The graph as a module without state."""
        return self._graph_module

    @property
    def graph(self) -> Any:
        """The graph."""
        return self._graph_module.graph

    @property
    def graph_signature(self) -> ExportGraphSignature:
        """What inputs and outputs stand for."""
        return self._graph_signature

    @property
    def state_dict(self) -> dict[str, Any]:
        """Parameters and persistent buffers by name."""
        return self._state_dict

    @property
    def constants(self) -> dict[str, Any]:
        """Other buffers, and tensors that the program found elsewhere."""
        return self._constants

    tensor_constants = constants

    @property
    def range_constraints(self) -> dict[Any, Any]:
        """The numbers that each symbol may be."""
        return self._range_constraints

    @property
    def module_call_graph(self) -> list[ModuleCallEntry]:
        """How the program is called."""
        return self._module_call_graph

    @property
    def example_inputs(self) -> Any:
        """What the program was traced with: positional and keyword arguments."""
        return self._example_inputs

    @property
    def call_spec(self) -> Any:
        """How the caller's inputs and outputs are nested."""
        return self._module_call_graph[0].signature

    @property
    def dialect(self) -> str:
        """``"ATEN"``."""
        return "ATEN"

    @property
    def verifiers(self) -> list[Any]:
        """None."""
        return []

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        """The parameters."""
        for name in self._graph_signature.parameters:
            yield name, self._state_dict[name]

    def parameters(self) -> Iterator[Any]:
        """The parameters."""
        for _, p in self.named_parameters():
            yield p

    def named_buffers(self) -> Iterator[tuple[str, torch.Tensor]]:
        """The buffers."""
        loose = set(self._graph_signature.non_persistent_buffers)
        for name in self._graph_signature.buffers:
            yield name, (self._constants if name in loose else self._state_dict)[name]

    def buffers(self) -> Iterator[torch.Tensor]:
        """The buffers."""
        for _, b in self.named_buffers():
            yield b

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: ``module()`` is what can be called."""
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` "
            "instead."
        )

    def __str__(self) -> str:
        text = self._graph_module.print_readable(print_output=False).replace("\n", "\n    ")
        return (
            "ExportedProgram:\n"
            f"    {text}\n"
            f"Graph signature: {str(self._graph_signature).replace(chr(10), chr(10) + '    ')}\n"
            f"Range constraints: {self._range_constraints}\n"
        )

    __repr__ = __str__

    # ---- running ---------------------------------------------------------------------------------

    def value_of(self, spec: Any) -> torch.Tensor:
        """The parameter, buffer or constant that an input stands for."""
        if spec.kind is InputKind.CONSTANT_TENSOR or (
            spec.kind is InputKind.BUFFER and not spec.persistent
        ):
            return self._constants[spec.target]
        return self._state_dict[spec.target]

    def flat_inputs(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> list[Any]:
        """The leaves of a call's arguments, which are checked.

        Raises:
            ValueError: where they are nested otherwise.
            AssertionError: for tensors of other shapes and values than the program allows.
        """
        flat = self.nested_inputs(args, kwargs)
        self._check(flat)
        return flat

    def nested_inputs(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> list[Any]:
        """The leaves of a call's arguments.

        Raises:
            ValueError: where they are nested otherwise.
        """
        signature = self._module_call_graph[0].signature
        assert signature is not None
        order = self._names[len(args) :]
        if set(order) == set(kwargs):
            kwargs = {n: kwargs[n] for n in order}  # in the order of the example
        flat, spec = pytree.tree_flatten((args, kwargs))
        if spec != signature.in_spec:
            first = signature.in_spec
            positional = (
                self._names[: first.children()[0].num_children]
                if hasattr(first, "children")
                else self._names
            )
            moved = {n: kwargs[n] for n in positional[len(args) :] if n in kwargs}
            again = ((*args, *moved.values()), {k: v for k, v in kwargs.items() if k not in moved})
            flat, spec = pytree.tree_flatten(again)
            if spec != signature.in_spec:
                raise ValueError(
                    "Trying to flatten user inputs with exported input tree spec:\n"
                    f"{signature.in_spec}\n"
                    f"but got {spec}"
                )
        return flat

    def _check(self, flat: list[object]) -> None:
        users = [s for s in self._graph_signature.input_specs if s.kind is InputKind.USER_INPUT]
        known: dict[str, tuple[int, str]] = {}
        derived: list[tuple[str, str, int]] = []
        for spec, value, sizes in zip(users, flat, self._sizes, strict=True):
            name = spec.arg.name
            if isinstance(spec.arg, ConstantArgument):
                _guard(value == spec.arg.value, f"{name} == {spec.arg.value!r}", value)
                continue
            if not isinstance(value, torch.Tensor):
                raise TypeError(
                    f"Guard failed: expected {name} to be a tensor, got {type(value).__name__}"
                )
            if value.ndim < len(sizes):
                raise IndexError(
                    f"tuple index out of range: {name}.dim() is {value.ndim}, expected {len(sizes)}"
                )
            for d, (n, size) in enumerate(zip(value.shape, sizes, strict=False)):
                where = f"{name}.size()[{d}]"
                if not isinstance(size, str):
                    _guard(n == size, f"{where} == {size}", n)
                elif size not in self.ranges:
                    derived.append((size, where, n))
                else:
                    first, there = known.setdefault(size, (n, where))
                    _guard(n == first, f"{where} == {there}", n)
                    allowed = self.ranges[size]
                    _guard(n >= allowed.lower, f"{where} >= {allowed.lower}", n)
                    _guard(
                        allowed.upper is None or n <= allowed.upper,
                        f"{where} <= {allowed.upper}",
                        n,
                    )
        numbers = {size: n for size, (n, _) in known.items()}
        derived.sort(
            key=lambda found: len(_names_in(found[0]))
        )  # products come after their factors
        for text, where, n in derived:
            new = [name for name in _names_in(text) if name not in numbers]
            _guard(_fits(text, n, numbers), f"{where} == {text}", n)
            for name in new:
                allowed = self.ranges[name]
                _guard(
                    numbers[name] >= allowed.lower,
                    f"{where} >= {evaluate(text, {**numbers, name: allowed.lower})}",
                    n,
                )
                _guard(
                    numbers[name] in allowed,
                    f"{where} <= {evaluate(text, {**numbers, name: allowed.upper or 0})}",
                    n,
                )

    @property
    def ranges(self) -> Named:
        """``range_constraints`` by the symbols' names."""
        return {str(k): v for k, v in self._range_constraints.items()}

    def module(self, check_guards: bool = True) -> GraphModule:
        """The program as a module: parameters and buffers are its own, inputs and outputs are
        nested as the traced module's were.

        What is called is checked against the sizes that the program allows, nothing else is:
        neither dtypes nor further dimensions.
        """
        return _unlifted(self, check_guards)

    def run_decompositions(
        self,
        decomp_table: dict[Any, Callable[..., Any]] | None = None,
        decompose_custom_triton_ops: bool = False,
    ) -> ExportedProgram:
        """The program with composite operators taken apart, by PyTorch's rules and
        ``decomp_table``, and without writes in place.

        What buffers become are outputs then, named in the signature as mutations. By default
        operators outside of the core set are written with those in it.
        """
        del decompose_custom_triton_ops
        return decomposed(self, decomp_table)

    def _copy(self, root: object, graph: Graph, signature: ExportGraphSignature) -> ExportedProgram:
        return ExportedProgram(
            root, graph, signature, self._state_dict, self._range_constraints,
            self._module_call_graph, self._example_inputs, self._constants, sizes=self._sizes,
            names=self._names,
        )  # fmt: skip

    def __deepcopy__(self, memo: dict[int, Any]) -> ExportedProgram:
        module = copy.deepcopy(self._graph_module, memo)
        for old, new in zip(self.graph.nodes, module.graph.nodes, strict=True):
            # the signature's names, such as ``input``, which a graph would give no node
            new.name = old.name
        made = self._copy(module, module.graph, copy.deepcopy(self._graph_signature))
        made._state_dict, made._constants = (
            copy.deepcopy(self._state_dict, memo),
            copy.deepcopy(self._constants, memo),
        )
        return made


def _guard(holds: bool, condition: str, given: object) -> None:
    if not holds:
        raise AssertionError(f"Guard failed: {condition}, got {given!r}")


def _fits(text: str, n: int, known: dict[str, int]) -> bool:
    missing = [name for name in _names_in(text) if name not in known]
    if missing:  # only multiples of it are seen: it is what makes this one right
        name = missing[0]
        low, high = (evaluate(text, {**known, name: k}) for k in (0, 1))
        root, rest = divmod(n - low, high - low)
        known[name] = root
        return not rest
    return evaluate(text, known) == n


def _names_in(text: str) -> list[str]:
    import re

    return re.findall(r"[A-Za-z_]\w*", text)


class _Nested(_PyTreeCodeGen):
    """Code for a module whose inputs and outputs are nested, with keyword arguments."""

    def gen_fn_def(
        self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False
    ) -> str:
        """The line that begins the function, and the one that takes its arguments apart."""
        del expanded_def
        leaves = [v.partition(" ")[0].partition(":")[0] for v in free_vars if v != "self"]
        names = self.pytree_info.orig_args
        positional, keywords = self.pytree_info.in_spec.children()
        first = names[: positional.num_children]
        rest = ", ".join(
            [
                f"{key!r}:{name}"
                for key, name in zip(
                    keywords.context, names[positional.num_children :], strict=True
                )
            ]
        )
        head = f"def {self._func_name}({', '.join(['self', *names])}){maybe_return_annotation}:"
        taken = f"{', '.join(leaves)}, = " if leaves else ""
        return (
            f"{head}\n"
            f"    {taken}fx_pytree.tree_flatten_spec(([{', '.join(first)}], {{{rest}}}), "
            "self._in_spec)"
        )


class _Nesting:
    """Looks at the nesting of what a program's module is called with."""

    def __init__(self, program: ExportedProgram) -> None:
        self.program = program

    def __call__(self, module: object, args: tuple[object, ...], kwargs: dict[str, float]) -> None:
        """Raises what the program raises for arguments that are nested otherwise."""
        del module
        self.program.nested_inputs(args, kwargs)

    def __deepcopy__(self, memo: dict[int, object]) -> _Nesting:
        return self


class GuardsFn(torch.nn.Module):
    """Checks the leaves of what a program's module is called with against the sizes and values that
    the program allows."""

    #: Its calls give nothing and must stay.
    _is_impure = True

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__()
        self.nesting = _Nesting(program)

    def forward(self, *flat: object) -> None:
        """Raises AssertionError for what the program does not allow."""
        self.nesting.program._check(list(flat))


def _unlifted(program: ExportedProgram, check: bool) -> GraphModule:
    root = torch.nn.Module()
    graph = Graph()
    copies = {}
    specs = {s.arg.name: s for s in program.graph_signature.input_specs}
    written = {
        s.arg.name: s
        for s in program.graph_signature.output_specs
        if s.kind is not OutputKind.USER_OUTPUT
    }
    checked = not check
    for node in program.graph.nodes:
        if node.op != "placeholder" and not checked:
            checked = True
            root.add_module("_guards_fn", GuardsFn(program))
            guards = graph.call_module(
                "_guards_fn",
                tuple([copies[n] for n in copies if specs[n.name].kind is InputKind.USER_INPUT]),
            )
            called = next(
                (
                    n.meta["nn_module_stack"]
                    for n in program.graph.nodes
                    if n.meta.get("nn_module_stack")
                ),
                {},
            )
            guards.meta["nn_module_stack"] = dict(list(called.items())[:1])
        spec = specs.get(node.name) if node.op == "placeholder" else None
        if spec is not None and spec.kind is not InputKind.USER_INPUT:
            _place(root, spec, _part(spec, program.value_of(spec)))
            copies[node] = graph.create_node(
                "get_attr", _attribute(spec), (), {}, name=_attribute(spec).replace(".", "_")
            )
            _come_from(
                copies[node],
                node,
                ["ExportedProgram.module()", "ExportedProgram.module().unlift()"],
            )
        elif node.op == "output":
            _write_back(program, graph, node, copies, written)
            _come_from(
                graph.output_node(),
                node,
                ["ExportedProgram.module()", "ExportedProgram.module().unlift()"],
            )
        elif node.op == "get_attr":  # a graph that an operator takes
            root.add_module(node.target, program.graph_module.get_submodule(node.target))
            copies[node] = graph.node_copy(node, lambda n: copies[n])
        else:
            copies[node] = graph.node_copy(node, lambda n: copies[n])
            _come_from(copies[node], node, ["ExportedProgram.module()"])
    signature = program.module_call_graph[0].signature
    assert signature is not None
    names = list(program._names)
    graph.set_codegen(
        _Nested(_PyTreeInfo(names, copy.deepcopy(signature.in_spec), signature.out_spec))
    )
    made = GraphModule(root, graph, "GraphModule")
    for spec in specs.values():  # which copies of modules do not keep
        if spec.kind is InputKind.BUFFER and not spec.persistent:
            path, _, leaf = _attribute(spec).rpartition(".")
            holder = made.get_submodule(path)
            if leaf in holder._buffers:
                holder._non_persistent_buffers_set.add(leaf)
    made.register_forward_pre_hook(_Nesting(program), with_kwargs=True)
    made.train(True)
    made.train = _no_mode("train")
    made.eval = _no_mode("eval")
    return made


def _come_from(made: Node, node: Node, passes: list[str]) -> None:
    """Notes where a node of a program's module comes from."""
    made.meta = dict(node.meta)
    for name in passes:
        actions = (
            [NodeSourceAction.CREATE, NodeSourceAction.REPLACE]
            if name.endswith("unlift()")
            else NodeSourceAction.CREATE
        )
        source = NodeSource(node, name, actions)
        source.from_node = list(made.meta.get("from_node", []))
        made.meta["from_node"] = [source]


def _no_mode(name: str) -> Callable[..., None]:
    def refuse(*args: object) -> None:
        del args
        raise NotImplementedError(
            f"Calling {name}() is not supported yet: the mode was decided when the module was "
            "exported."
        )

    return refuse


def _attribute(spec: Any) -> str:
    return (
        spec.target if spec.kind is not InputKind.CONSTANT_TENSOR else spec.target.replace(".", "_")
    )


def _part(spec: Any, value: Any) -> Any:
    """What a program's module is given for a state of the program's."""
    if spec.kind is not InputKind.CONSTANT_TENSOR or not value.requires_grad:
        return value
    warnings.warn(
        f"A model attribute `{spec.target}` requires gradient. but it's not properly registered as "
        "a parameter. torch.export will detach it and treat it as a constant tensor but please "
        "register it as parameter instead.",
        stacklevel=2,
    )
    return value.detach()


def _place(root: torch.nn.Module, spec: InputSpec, value: Any) -> None:
    path, _, leaf = _attribute(spec).rpartition(".")
    holder = root
    for part in path.split(".") if path else ():
        if part not in holder._modules:
            holder.add_module(part, torch.nn.Module())
        holder = holder._modules[part]
    if spec.kind is InputKind.PARAMETER:
        holder.register_parameter(leaf, value)
    else:
        holder.register_buffer(
            leaf, value, persistent=spec.kind is InputKind.BUFFER and bool(spec.persistent)
        )


def _write_back(
    program: ExportedProgram, graph: Graph, node: Any, copies: dict[Node, Node], written: object
) -> None:
    """The return, after writing what the functional program gives for buffers and arguments."""
    targets = {
        s.target: n
        for n, s in ((n, s) for s in program.graph_signature.input_specs for n in [s.arg.name])
    }
    by_name = {n.name: c for n, c in copies.items()}
    user = []
    for value, spec in zip(node.args[0], program.graph_signature.output_specs, strict=True):
        if spec.kind is OutputKind.BUFFER_MUTATION:
            graph.call_function(
                torch.ops.aten.copy_.default, (by_name[targets[spec.target]], copies[value])
            )
        elif spec.kind is OutputKind.USER_INPUT_MUTATION:
            graph.call_function(torch.ops.aten.copy_.default, (by_name[spec.target], copies[value]))
        else:
            user.append(copies[value] if hasattr(value, "op") else value)
    del written
    graph.output(tuple(user))
