"""Graphs: lists of nodes that stand for a function, with means to edit them and to write their
code."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jtorch as torch
from jtorch.utils import _pytree as pytree

from ._code import CodeGen, Namespace, PythonCode, snake_case
from ._compatibility import compatibility as compatibility
from .node import Argument, Node, Target, _get_qualified_name, _type_repr, map_arg

_Namespace = Namespace


class _node_list:
    """The nodes of a graph in order, or backwards."""

    def __init__(self, graph: Graph, direction: str = "_next") -> None:
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root = self.graph._root
        at = getattr(root, self.direction)
        while at is not root:
            if not at._erased:
                yield at
            at = getattr(at, self.direction)

    def __reversed__(self) -> _node_list:
        return _node_list(self.graph, "_next" if self.direction == "_prev" else "_prev")


class _Insertion:
    """A block in which new nodes are put before a node."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self.graph, self.before = graph, graph._insert
        graph._insert = insert

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        self.graph._insert = self.before


class _PyTreeInfo(NamedTuple):
    """The names of a function's arguments, and the containers of these and of its result."""

    orig_args: list[str]
    in_spec: Any
    out_spec: Any


class _PyTreeCodeGen(CodeGen):
    """Code for a function whose arguments and result are nested containers."""

    def __init__(self, pytree_info: Any) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def gen_fn_def(
        self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False
    ) -> str:
        """The line that begins the function, and the one that takes its arguments apart."""
        info = self.pytree_info
        if info.in_spec is None:
            return super().gen_fn_def(free_vars, maybe_return_annotation, expanded_def=expanded_def)
        leaves = [v.partition(" ")[0] for v in free_vars if v != "self"]
        head = super().gen_fn_def(list(info.orig_args), maybe_return_annotation)
        given = f"[{', '.join(info.orig_args)}]"
        return (
            (
                f"{head}\n"
                f"    {', '.join(leaves)}, = fx_pytree.tree_flatten_spec({given}, self._in_spec)"
            )
            if leaves
            else head
        )

    def generate_output(self, output_args: Argument, *, descs: Sequence[str] | None = None) -> str:
        """The line that puts the result together."""
        written = super().generate_output(output_args, descs=descs).removeprefix("return ")
        return (
            f"return {written}"
            if self.pytree_info.out_spec is None
            else f"return pytree.tree_unflatten({written}, self._out_spec)"
        )

    def process_inputs(self, *args: object) -> object:
        """The leaves of the arguments."""
        return pytree.tree_flatten(args)[0]

    def process_outputs(self, outputs: Iterable[object]) -> object:
        """The result in its containers."""
        spec = self.pytree_info.out_spec
        return outputs if spec is None else pytree.tree_unflatten(outputs, spec)


class Graph:
    """A function as a list of nodes.

    Args:
        owning_module: the ``GraphModule`` that runs it.
        tracer_cls: the tracer that made it.
    """

    def __init__(
        self,
        owning_module: object = None,
        tracer_cls: Any = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._used_names: dict[str, int] = {}
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._graph_namespace = Namespace()
        self._owning_module = owning_module
        self._owners = 0
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()

    @property
    def owning_module(self) -> Any:
        """The module whose graph this is."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: Any) -> None:
        self._owning_module = mod

    @property
    def nodes(self) -> Any:
        """The nodes in order."""
        return _node_list(self)

    def output_node(self) -> Node:
        """The node that returns."""
        node = next(iter(reversed(self.nodes)))
        assert node.op == "output"
        return node

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind (and target), in order."""
        del sort
        if op == "call_function" and target is None:
            raise AssertionError("target must be provided for call_function")
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    # ---- adding ----------------------------------------------------------------------------------

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Adds a node where nodes are being inserted, by default at the end."""
        args = () if args is None else args
        kwargs = {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError("args must be a tuple")
        if not isinstance(kwargs, dict):
            raise AssertionError("kwargs must be a dict")
        candidate = name if name is not None else self._target_to_str(target)
        name = self._graph_namespace.create_name(candidate, None)
        node = Node(self, name, op, target, args, kwargs, type_expr)
        if (
            self.owning_module is not None
            and getattr(self.owning_module, "_create_node_hooks", None) is not None
        ):
            for hook in self.owning_module._create_node_hooks:
                hook(node)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        self._len += 1
        return node

    def _target_to_str(self, target: Callable[..., object] | str) -> str:
        if callable(target):
            return snake_case(getattr(target, "__name__", type(target).__name__))
        if target.startswith("__") and target.endswith("__"):
            target = target[2:-2]
        return snake_case("_" + target.lstrip("*") if target.startswith("*") else target)

    def placeholder(
        self, name: str, type_expr: Any | None = None, default_value: Any = ...
    ) -> Node:
        """Adds an argument of the function."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any | None = None) -> Node:
        """Adds the fetching of a parameter, buffer or attribute."""
        import warnings

        owner = self.owning_module
        if owner is not None:
            place: Any = owner
            for part in qualified_name.split("."):
                if not hasattr(place, part):
                    warnings.warn(
                        "Attempted to insert a get_attr Node with no underlying reference in the "
                        "owning GraphModule! Call GraphModule.add_submodule to add the necessary "
                        "submodule, GraphModule.add_parameter to add the necessary Parameter, or "
                        "nn.Module.register_buffer to add the necessary buffer",
                        stacklevel=2,
                    )
                    break
                place = getattr(place, part)
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Adds the call of a submodule."""
        if self.owning_module is not None and module_name not in dict(
            self.owning_module.named_modules()
        ):
            import warnings

            warnings.warn(
                "Attempted to insert a call_module Node with no underlying reference in the owning "
                "GraphModule! Call GraphModule.add_submodule to add the necessary submodule",
                stacklevel=2,
            )
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
    ) -> Node:
        """Adds the call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any | None = None,
        name: str | None = None,
    ) -> Node:
        """Adds the call of a function."""
        return self.create_node(
            "call_function", the_function, args, kwargs, name=name, type_expr=type_expr
        )

    def output(self, result: Argument, type_expr: Any | None = None) -> Node:
        """Adds the return."""
        return self.create_node("output", "output", args=(result,), type_expr=type_expr)

    def node_copy(
        self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x
    ) -> Node:
        """Adds a copy of a node, usually of another graph, whose arguments ``arg_transform`` maps
        to nodes of this one."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        if not isinstance(args, tuple):
            raise AssertionError("args must be a tuple")
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Any:
        """Adds copies of all nodes of ``g`` but the output, whose copied value is returned.
        ``val_map`` maps nodes to their copies."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], lambda n: val_map[n])
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: Any = None) -> Graph:
        made = Graph(tracer_cls=self._tracer_cls)
        values: dict[Node, Node] = {}
        found = made.graph_copy(self, values, return_output_node=True)
        made._codegen = copy.deepcopy(self._codegen)
        if found is not None:
            output = made.output(found[0], type_expr=getattr(found[1], "type", None))
            output.meta = copy.copy(found[1].meta)
        return made

    # ---- editing ---------------------------------------------------------------------------------

    def inserting_before(self, n: Node | None = None) -> _Insertion:
        """A block in which new nodes are put before ``n`` (None: at the beginning)."""
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")
        return _Insertion(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _Insertion:
        """A block in which new nodes are put after ``n`` (None: at the end)."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertionError("Node to insert after is not in graph.")
        return _Insertion(self, n.append)

    def erase_node(self, to_erase: Node) -> None:
        """Takes a node out.

        Raises:
            RuntimeError: if it is still used.
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in "
                f"the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            import warnings

            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        # numbers and texts can be looked at still
        arguments: Any = map_arg((to_erase.args, to_erase.kwargs), lambda _: None)
        to_erase._update_args_kwargs(*arguments)

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Takes out nodes whose results nobody uses and that have no side effect; tells whether
        there were any."""
        self.lint()
        changed = False
        for node in reversed(self.nodes):
            impure = node.is_impure() if is_impure_node is None else is_impure_node(node)
            if not impure and not node.users:
                self.erase_node(node)
                changed = True
        return changed

    def lint(self) -> None:
        """Checks that the graph is well formed: arguments come first, names are unique, targets
        exist.

        Raises:
            RuntimeError: if it is not.
        """
        seen: set[Node] = set()
        names: set[str] = set()

        def check(n: Node, by: Node) -> None:
            if n.graph is not self:
                raise RuntimeError(
                    f"Argument '{n}' of Node '{by}' does not belong to this Graph, but was used as "
                    "an argument! If you are copying nodes from another graph, make sure to use "
                    "``arg_transform`` on node_copy() to remap values\n"
                    f"{self}")  # fmt: skip
            if n not in seen:
                raise RuntimeError(
                    f"Argument '{n}' of Node '{by}' was used before it has been defined! Please "
                    "check that Nodes in the graph are topologically ordered\n"
                    f"{self}"
                )

        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            map_arg(node.args, lambda n, node=node: check(n, node))
            map_arg(node.kwargs, lambda n, node=node: check(n, node))
            seen.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
        if self.owning_module is None:
            return
        for node in self.nodes:
            if node.op not in ("get_attr", "call_module"):
                continue
            place: Any = self.owning_module
            parts = node.target.split(".")
            for i, part in enumerate(parts):
                if not hasattr(place, part):
                    where = place if i == 0 else f"{'.'.join(parts[:i])} of GraphModule"
                    raise RuntimeError(
                        f"Node {node} target {node.target} references nonexistent attribute {part} "
                        f"of {where}"
                    )
                place = getattr(place, part)
                if (
                    node.op == "call_module"
                    and i == len(parts) - 1
                    and not isinstance(place, torch.nn.Module)
                ):
                    raise RuntimeError(
                        f"Node {node} target {node.target} {part} of {place} does not reference an "
                        "nn.Module"
                    )

    # ---- code and texts --------------------------------------------------------------------------

    def python_code(self, root_module: str, *, verbose: bool = False, **options: Any) -> PythonCode:
        """The graph as Python source, a function whose first argument is ``self``, with the globals
        it needs."""
        del verbose, options
        namespace = Namespace()
        for node in self.nodes:  # names of nodes are taken; globals find others
            namespace.create_name(node.name, node)
            namespace._rename_object(node, node.name)
        return self._codegen.generate(self.nodes, root_module, namespace)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Sets what writes the code."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Callable[[Any], Any]) -> Any:
        """Registers a function on the lines of code: ``make_transformer`` is given the one before.
        A block undoes it."""
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def undo() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return undo()

    def process_inputs(self, *args: Any) -> tuple[torch.Tensor, ...]:
        """The arguments of a call as the placeholders get them."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """What the graph returns as the caller gets it."""
        return self._codegen.process_outputs(out)

    def __str__(self) -> str:
        lines = [n.format_node() for n in self.nodes]
        return "graph():" + "".join("\n    " + line for line in lines if line is not None)

    def print_tabular(self) -> None:
        """Prints the nodes as a table."""
        rows = [["opcode", "name", "target", "args", "kwargs"]]
        rows += [[str(x) for x in (n.op, n.name, n.target, n.args, n.kwargs)] for n in self.nodes]
        widths = [max(len(rows[0][i]) + 2, *[len(row[i]) for row in rows]) for i in range(5)]
        rows.insert(1, ["-" * w for w in widths])
        for row in rows:
            # that is what it is for
            print("  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip())  # noqa: T201


__all__ = ["CodeGen", "Graph", "PythonCode", "_PyTreeCodeGen", "_get_qualified_name", "_type_repr"]
