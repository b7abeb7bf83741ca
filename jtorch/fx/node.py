"""Nodes: the operations of a graph, in a doubly linked list."""

from __future__ import annotations

import builtins
import operator
import types
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._src.facts.tags import Tag
from jtorch.dispatch import PUBLIC
from jtorch.overrides import resolve_name

from ._compatibility import compatibility as compatibility
from .immutable_collections import immutable_dict, immutable_list
from .operator_schemas import normalize_function, normalize_module

if TYPE_CHECKING:
    from .._src.aten.overloads import OpOverload


Argument = Any
Target = Callable[..., Any] | str

_LEGAL = frozenset(
    ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root")
)
_side_effectful_functions: set[Callable[..., object]] = {
    torch._assert, torch._assert_async, torch.set_grad_enabled, torch._C._set_grad_enabled,
    operator.setitem,
}  # fmt: skip


def has_side_effect(fn: Callable[..., object]) -> Callable[..., Any]:
    """Says that calls of ``fn`` stay even where nobody uses their result."""
    _side_effectful_functions.add(fn)
    return fn


def _profiles(target: object) -> bool:
    """Whether an operator begins or ends what a profiler shows."""
    name = getattr(getattr(target, "_schema", None), "name", None) or getattr(
        target, "_qualified_op_name", ""
    )
    return str(name).startswith("profiler::_record_function_")


def _draws(target: object) -> bool:
    """Whether a function draws from the generator: an operator that says so, or a function of
    ``torch`` whose operator takes one."""
    if isinstance(target, torch._ops.OpOverload):
        return Tag.nondeterministic_seeded in target.tags
    name = getattr(target, "__name__", "")
    packet = (
        getattr(torch.ops.aten, name, None)
        if name and getattr(torch, name, None) is target
        else None
    )
    return packet is not None and any(
        "generator" in getattr(packet, o)._schema.places for o in packet.overloads()
    )


def map_aggregate(a: object, fn: Callable[[Any], Any]) -> Any:
    """``fn`` applied to everything in nested tuples, lists, dictionaries and slices, which become
    immutable."""
    if isinstance(a, tuple):
        made = [map_aggregate(x, fn) for x in a]
        return type(a)(*made) if hasattr(a, "_fields") else tuple(made)
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict({k: map_aggregate(v, fn) for k, v in a.items()})
    if isinstance(a, slice):
        return slice(
            map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn)
        )
    return fn(a)


def map_arg(a: object, fn: Callable[[Node], object]) -> Any:
    """``fn`` applied to every node in nested arguments."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


#: Where PyTorch has the functions of a namespace that it writes in C++, and what it calls them.
_PLACES_IN_C = {
    "torch.nn.functional": ("_nn", ""), "torch.special": ("_special", "special_"),
    "torch.linalg": ("_linalg", "linalg_"), "torch.fft": ("_fft", "fft_"),
}  # fmt: skip


def _place_in_c(func: Callable[..., object], path: str) -> str | None:
    """The name by which PyTorch's graphs call a function that is written in C++ there."""
    entry = PUBLIC.get(path)
    namespace, _, name = path.rpartition(".")
    if entry is None or not entry.native or namespace not in _PLACES_IN_C:
        return None
    if getattr(torch, name, None) is func:
        return f"torch.{name}"
    place, prefix = _PLACES_IN_C[namespace]
    there = getattr(getattr(torch._C, place), prefix + name, None)
    return f"torch._C.{place}.{prefix}{name}" if there is func else None


def _get_qualified_name(func: Callable[..., object]) -> str:
    """The dotted name by which generated code calls ``func``."""
    if hasattr(func, "overloadpacket") or hasattr(func, "_qualified_op_name"):  # an operator
        return f"torch.ops.{func}"
    if getattr(builtins, func.__name__, None) is func:
        return func.__name__
    known = resolve_name(func)
    if known is not None:
        return _place_in_c(func, known) or known
    if isinstance(
        func, (types.MethodDescriptorType, types.WrapperDescriptorType)
    ) and func is getattr(torch.Tensor, func.__name__, None):
        return f"torch.Tensor.{func.__name__}"
    name = (
        getattr(func, "__qualname__", func.__name__)
        if isinstance(func, types.FunctionType)
        else func.__name__
    )
    name = func.__name__ if "<locals>" in name or name == "<lambda>" else name
    module = getattr(func, "__module__", None) or "builtins"
    if module.partition(".")[0] == "jtorch":
        module = "torch" + module[len("jtorch") :]
    return f"{module}.{name}"


def can_be_one(nodes: Iterable[Node]) -> bool:
    """Whether nodes can be one call: nothing outside of them stands between two of them."""
    inside = set(nodes)
    seen: set[Node] = set()
    waiting = [user for node in inside for user in node.users if user not in inside]
    while waiting:
        node = waiting.pop()
        if node in inside:
            return False
        if node not in seen:
            seen.add(node)
            waiting += node.users
    return True


def _type_repr(obj: object) -> str:
    """How a type is written in code."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        if obj.__module__ == "builtins":
            return obj.__qualname__
        module = obj.__module__
        if module.startswith("jtorch") and getattr(torch, obj.__qualname__, None) is obj:
            return f"torch.{obj.__qualname__}"
        if module.partition(".")[0] == "jtorch":
            module = "torch" + module[len("jtorch") :]
        return f"{module}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj)


def _format_arg(arg: object, max_list_len: float = float("inf")) -> str:
    if hasattr(arg, "_custom_fx_repr_fn"):
        return arg._custom_fx_repr_fn()
    if isinstance(arg, list):
        shown = ", ".join(_format_arg(a) for i, a in enumerate(arg) if i < max_list_len)
        more = "" if len(arg) < max_list_len + 1 else f", ...[total_len={len(arg)}]"
        return f"[{shown}{more}]"
    if isinstance(arg, tuple):
        shown = ", ".join(_format_arg(a) for i, a in enumerate(arg) if i < max_list_len)
        more = "" if len(arg) < max_list_len + 1 else f", ...[total_len={len(arg)}]"
        comma = "," if len(arg) == 1 else ""
        return f"({shown}{comma}{more})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{k}: {_format_arg(v)}" for k, v in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


class Node:
    """One operation of a graph.

    ``op`` is ``placeholder``, ``get_attr``, ``call_function``, ``call_module``, ``call_method`` or
    ``output``; ``target`` says what of that kind; ``args`` and ``kwargs`` hold nodes and plain
    values; ``users`` are the nodes whose arguments this one is among.
    """

    def __init__(
        self,
        graph: Any,
        name: str,
        op: str,
        target: Any,
        args: tuple[object, ...],
        kwargs: dict[str, Any],
        return_type: Any = None,
    ) -> None:
        if op not in _LEGAL:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                    f"{torch.typename(target)} but a Callable is expected"
                )
        elif not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type "
                f"{torch.typename(target)} but a str is expected"
            )
        self.graph, self.name, self.op = graph, name, op
        self.target: Any = target
        self._input_nodes: dict[Node, None] = {}
        self.users: dict[Node, None] = {}
        self.type = return_type
        self._prev = self._next = self
        self._erased = False
        self._repr_fn: Callable[[Node], str] | None = None
        self.meta: dict[str, Any] = {}
        self._args: tuple[object, ...] = ()
        self._kwargs: dict[str, object] = {}
        self._update_args_kwargs(args, kwargs)

    # ---- place in the list -----------------------------------------------------------------------

    @property
    def next(self) -> Node:
        """The node after this one."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Moves ``x`` before this node."""
        if self.graph is not x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Moves ``x`` after this node."""
        self._next.prepend(x)

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def _order(self) -> dict[Node, int]:
        return {n: i for i, n in enumerate(self.graph.nodes)}

    def __lt__(self, other: Node) -> bool:
        order = self._order()
        return order[self] < order[other]

    def __gt__(self, other: Node) -> bool:
        return other < self

    def __le__(self, other: Node) -> bool:
        return self is other or self < other

    def __ge__(self, other: Node) -> bool:
        return self is other or self > other

    # ---- arguments -------------------------------------------------------------------------------

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments."""
        return self._args

    @args.setter
    def args(self, a: tuple[Any, ...]) -> None:
        self._update_args_kwargs(a, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The arguments by name."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, k: dict[str, Any]) -> None:
        self._update_args_kwargs(self._args, k)

    def _update_args_kwargs(self, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        for old in self._input_nodes:
            old.users.pop(self, None)
        self._input_nodes = {}

        def use(x: object) -> object:
            if isinstance(x, Node):
                self._input_nodes.setdefault(x)
                x.users.setdefault(self)
            return x

        self._args = map_aggregate(tuple(args), use)
        self._kwargs = map_aggregate(dict(kwargs), use)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Replaces one positional argument."""
        args = list(self.args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Inserts a positional argument."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Replaces one argument given by name."""
        self.kwargs = {**self.kwargs, key: arg}

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments."""
        return list(self._input_nodes)

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] | None = None,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Puts ``replace_with`` in place of this node wherever it is used (by users for which
        ``delete_user_cb`` holds); returns these."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but "
                    "replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        changed = []
        for user in list(self.users):
            if delete_user_cb is not None and not delete_user_cb(user):
                continue
            changed.append(user)
            user._replace_input_with(self, replace_with)
        return changed

    def _replace_input_with(self, old: Node, new: Node) -> None:
        def swap(n: Node) -> Node:
            return new if n is old else n

        self._update_args_kwargs(map_arg(self.args, swap), map_arg(self.kwargs, swap))

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Puts ``new_input`` in place of ``old_input`` in this node's arguments."""
        self._replace_input_with(old_input, new_input)

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether the node must stay even where nobody uses its result: it writes, checks, switches
        something, or draws numbers.

        Args:
            impure_random: whether drawing numbers counts, since those drawn later depend on it.
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            schema = getattr(self.target, "_schema", None)
            if (
                self.target in _side_effectful_functions
                or _profiles(self.target)
                or (schema is not None and (schema.is_mutable or not schema.returns))
            ):
                return True
            return impure_random and _draws(self.target)
        if self.op == "call_module":
            owner = self.graph.owning_module
            if owner is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            module = owner.get_submodule(self.target)
            return getattr(module, "_is_impure", False)
        return False

    @property
    def stack_trace(self) -> str | None:
        """Where the node was recorded, if that was asked for."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def normalized_arguments(
        self,
        root: Any,
        arg_types: Any = None,
        kwarg_types: Any = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:
        """The arguments as the target's signature names them, as ``(args, kwargs)``; None where it
        has no signature."""
        if self.op == "call_function":
            return normalize_function(
                self.target,
                self.args,
                self.kwargs,
                arg_types,
                kwarg_types,
                normalize_to_only_use_kwargs,
            )
        if self.op == "call_module":
            return normalize_module(
                root, self.target, self.args, self.kwargs, normalize_to_only_use_kwargs
            )
        return None

    # ---- texts -----------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn is not None else self.name

    def _pretty_print_target(self, target: OpOverload | Callable[..., object] | str) -> str:
        if isinstance(target, str):
            return target
        if getattr(target, "__module__", None) == "_operator":
            return f"operator.{target.__name__}"
        if getattr(builtins, getattr(target, "__name__", ""), None) is target:
            return f"builtins.{target.__name__}"
        return (
            _get_qualified_name(target)
            if hasattr(target, "__name__")
            else operator.attrgetter("__class__.__name__")(target)
        )

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """The node as one line of text."""
        del include_tensor_metadata
        if self.op == "placeholder":
            if placeholder_names is not None:
                arg = self.target + (f": {_type_repr(self.type)}" if self.type else "")
                placeholder_names.append(arg + (f" = {self.args[0]}" if self.args else ""))
                return None
            default = f"(default={self.args[0]})" if self.args else ""
            return f"{self._head()} = {self.op}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"{self._head()} = {self.op}[target={self._pretty_print_target(self.target)}]"
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        target = self._pretty_print_target(self.target)
        return (
            f"{self._head()} = {self.op}[target={target}](args = {_format_arg(self.args)}, kwargs "
            f"= {_format_arg(self.kwargs)})"
        )

    def _head(self) -> str:
        kind = f"{_type_repr(self.type)} " if self.type else ""
        return f"%{self.name} : {kind}[num_users={len(self.users)}]"

    def _rename(self, candidate: str) -> None:
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("'Node' object is not iterable")
