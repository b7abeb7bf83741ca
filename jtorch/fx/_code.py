"""Python code of a graph: names, and one line for each node."""

from __future__ import annotations

import builtins
import enum
import keyword
import math
import re
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch.utils import _pytree as pytree

from . import _pytree as fx_pytree
from .node import Node, _get_qualified_name, _type_repr, map_arg

if TYPE_CHECKING:
    from .._src.facts.kinds import Named


#: What all generated code finds under its name.
_BUILTINS = {
    "inf": math.inf, "nan": math.nan, "NoneType": type(None), "torch": torch,
    "device": torch.device, "fx_pytree": fx_pytree, "pytree": pytree,
}  # fmt: skip

#: Functions of ``operator`` that are written as expressions.
MAGIC = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}",
    "ge": "{} >= {}",
    "pos": "+{}", "neg": "-{}", "invert": "~{}",
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}",
    "truediv": "{} / {}", "mod": "{} % {}", "pow": "{} ** {}", "lshift": "{} << {}",
    "rshift": "{} >> {}", "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}",
    "getitem": "{}[{}]", "matmul": "{} @ {}",
}  # fmt: skip
INPLACE = {
    "iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}",
    "imod": "{} %= {}", "imul": "{} *= {}", "imatmul": "{} @= {}", "ior": "{} |= {}",
    "ipow": "{} **= {}", "irshift": "{} >>= {}", "isub": "{} -= {}", "itruediv": "{} /= {}",
    "ixor": "{} ^= {}", "setitem": "{}[{}] = {}",
}  # fmt: skip


@dataclass
class PythonCode:
    """Generated source, and the globals it needs."""

    src: str
    globals: dict[str, Any]


def snake_case(s: str) -> str:
    """``SomeName`` as ``some_name``."""
    found = []
    lower = False
    for c in s:
        if lower and c.isupper():
            found.append("_")
        lower = c.islower()
        found.append(c.lower())
    return "".join(found)


class Namespace:
    """Names in use: new ones are made legal and different from all others."""

    def __init__(self) -> None:
        self._obj_to_name: dict[object, str] = {}
        self._used_names: set[str] = set()
        self._base_count: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any) -> str:
        """A name like ``candidate`` that is free; the same again for the same object."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        candidate = re.sub(r"[^0-9a-zA-Z_]+", "_", candidate)
        if not candidate:
            candidate = "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        match = re.match(r"(.+)_(\d+)$", candidate)
        base, num = (candidate, 0) if match is None else (match.group(1), int(match.group(2)))
        if match is None or candidate in self._used_names:
            num = self._base_count.get(base, 0)
        name = candidate
        while name in self._used_names or self._is_illegal(name, obj):
            num += 1
            name = f"{base}_{num}"
        self._used_names.add(name)
        self._base_count[base] = num
        if obj is not None:
            self._obj_to_name[obj] = name
        return name

    def associate_name_with_obj(self, name: str, obj: Node) -> None:
        """Gives an object a name that exists."""
        self._obj_to_name.setdefault(obj, name)

    def _rename_object(self, obj: Node, name: str) -> None:
        self._obj_to_name[obj] = name
        self._used_names.add(name)

    def _is_illegal(self, name: str, obj: Node | None) -> bool:
        if keyword.iskeyword(name):
            return True
        if name in builtins.__dict__:
            return builtins.__dict__[name] is not obj
        return name in _BUILTINS and _BUILTINS[name] is not obj


def is_from_torch(obj: object) -> bool:
    """Whether generated code reaches an object through ``torch``."""
    module = getattr(obj, "__module__", None)
    if module is not None:
        return module.partition(".")[0] in ("torch", "jtorch") and not module.startswith(
            ("torch._dynamo", "jtorch._dynamo")
        )
    return getattr(obj, "__name__", None) is not None and obj in vars(torch).values()


def path_of(module: str, target: str) -> str:
    """The expression ``self.a.b`` for an attribute path, with ``getattr`` for parts that are no
    identifiers."""
    expression = module
    for part in target.split("."):
        expression = (
            f"{expression}.{part}" if part.isidentifier() else f'getattr({expression}, "{part}")'
        )
    return expression


class CodeGen:
    """Writes the code of a graph. Subclasses change the signature and what surrounds the body."""

    def __init__(self) -> None:
        self._body_transformer = None
        self._func_name = "forward"

    def gen_fn_def(
        self, free_vars: list[str], maybe_return_annotation: str, *, expanded_def: bool = False
    ) -> str:
        """The line that begins the function."""
        del expanded_def
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any, *, descs: Any = None) -> str:
        """The line that returns."""
        del descs
        return f"return {_written(output_args, self._globals)}"

    def process_inputs(self, *args: Any) -> Any:
        """The arguments of a call as the placeholders get them."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """What the graph returns as the caller gets it."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """More globals for the code."""
        return []

    def generate(self, nodes: Iterable[Node], root_module: str, namespace: Namespace) -> PythonCode:
        """The function's source and globals."""
        self._globals = table = Globals(namespace)
        for name, obj in self.additional_globals():
            table.add(name, obj)
        nodes = list(nodes)
        last_uses = _last_uses(nodes)
        free_vars: list[str] = []
        body: list[str] = []
        returns = [""]
        for node in nodes:
            line = _line(node, root_module, table, free_vars, returns, self)
            if line is None:
                continue
            body.append(line)
            if node.op == "placeholder" or node.op == "output":
                body.append("\n")
            else:
                done = last_uses.get(node, []) + ([node] if not node.users else [])
                body.append(
                    f";  {' = '.join([repr(n) for n in done] + ['None'])}\n" if done else "\n"
                )
        body = [b for b in body if b]
        if not body or all(b == "\n" for b in body):
            body.append("pass\n")
        if self._body_transformer is not None:
            body = self._body_transformer(body)
        wrapped = list(dict.fromkeys(table.wrapped))
        prologue = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in wrapped)
        head = self.gen_fn_def(free_vars, returns[0])
        del self._globals  # it knows nodes, which a copy of this object must not take along
        code = "".join(body).lstrip("\n")
        code = "\n".join("    " + line for line in code.split("\n"))
        return PythonCode(f"\n{prologue}\n\n{head}\n{code}", table.names)


class Globals:
    """The globals that generated code refers to."""

    def __init__(self, namespace: Namespace) -> None:
        self.namespace = namespace
        self.names: Named = dict(_BUILTINS)
        self.wrapped: list[str] = []

    def add(self, hint: str, obj: Any) -> str:
        """The name by which code reaches ``obj``."""
        if is_from_torch(obj) and obj is not torch.device:
            return (
                _get_qualified_name(obj)
                if hasattr(obj, "__name__") and not isinstance(obj, type)
                else _type_repr(obj)
            )
        name = self.namespace.create_name(hint.replace(".", "_"), obj)
        self.names.setdefault(name, obj)
        return name


def _last_uses(nodes: list[Node]) -> dict[Node, list[Node]]:
    seen: set[Node] = set()
    found: dict[Node, list[Node]] = {}
    for user in reversed(nodes):

        def use(n: Node, user: Node = user) -> Node:
            if n not in seen:
                seen.add(n)
                found.setdefault(user, []).append(n)
            return n

        map_arg(user.args, use)
        map_arg(user.kwargs, use)
    return found


def _written(arg: object, table: Globals) -> str:
    """An argument as code."""
    if isinstance(arg, tuple):
        if hasattr(arg, "_fields"):
            name = table.add(_type_repr(type(arg)), type(arg))
            return f"{name}({', '.join(_written(a, table) for a in arg)})"
        if type(arg) is not tuple:
            return (
                "("
                + ", ".join(_written(a, table) for a in arg)
                + ("," if len(arg) == 1 else "")
                + ")"
            )
        return (
            "(" + ", ".join(_written(a, table) for a in arg) + ("," if len(arg) == 1 else "") + ")"
        )
    if isinstance(arg, list):
        return "[" + ", ".join(_written(a, table) for a in arg) + "]"
    if isinstance(arg, dict):
        return (
            "{"
            + ", ".join(f"{_written(k, table)}: {_written(v, table)}" for k, v in arg.items())
            + "}"
        )
    if isinstance(arg, slice):
        return (
            f"slice({_written(arg.start, table)}, {_written(arg.stop, table)}, "
            f"{_written(arg.step, table)})"
        )
    if isinstance(arg, Node):
        return repr(arg)
    if isinstance(arg, enum.Enum):
        kind = table.add(type(arg).__qualname__, type(arg))
        named = arg.name is not None and getattr(type(arg), arg.name, None) is arg
        return f"{kind}.{arg.name}" if named else f"{kind}({arg.value!r})"
    if isinstance(arg, (torch.dtype, torch.layout, torch.memory_format)):
        return str(arg)
    if isinstance(arg, type):
        return _type_repr(arg) if arg.__module__ == "builtins" else table.add(_type_repr(arg), arg)
    if callable(arg) and hasattr(arg, "__name__"):
        return table.add(_get_qualified_name(arg), arg)
    return repr(arg)


def _arguments(args: tuple[object, ...], kwargs: dict[str, object], table: Globals) -> str:
    return ", ".join(
        [
            *(_written(a, table) for a in args),
            *(f"{k} = {_written(v, table)}" for k, v in kwargs.items()),
        ]
    )


def _annotation(kind: Any, table: Globals) -> str:
    """A type as code: names of classes, of the forms of ``typing``, and of their arguments."""
    if kind is type(None) or kind is torch.device:
        return kind.__name__
    if isinstance(kind, str) or kind is ...:
        return table.add("_" if kind is ... else repr(kind), kind)
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is None and not isinstance(kind, type) and hasattr(kind, "__origin__"):
        origin, args = kind.__origin__, kind.__args__  # no form of typing's: TensorType((1, Dyn))
    if isinstance(kind, types.UnionType):
        return "|".join([_annotation(a, table) for a in args])
    if isinstance(kind, list):
        return f"[{', '.join([_annotation(a, table) for a in kind])}]"
    form = typing.Union if origin is typing.Union else None
    if origin is not None and form is None and type(kind).__module__ == "typing":
        form = getattr(typing, kind._name or "", None)
    if origin is None or kind is form:  # a class, or one of the forms alone
        plain = kind if origin is None else origin
        return (
            plain.__name__
            if getattr(plain, "__module__", None) == "builtins"
            else table.add(_type_repr(plain), plain)
        )
    if form is None and not isinstance(origin, type) and origin is not typing.Literal:
        return table.add(repr(kind), kind)
    if origin is typing.Literal:
        return f"{table.add('typing.Literal', origin)}[{', '.join(map(repr, args))}]"
    bare = _annotation(origin, table) if form is None else table.add(f"typing.{form._name}", form)
    return f"{bare}[{','.join([_annotation(a, table) for a in args])}]" if args else bare


def _line(
    node: Node,
    root: str,
    table: Globals,
    free_vars: list[str],
    returns: list[str],
    generator: CodeGen,
) -> str | None:
    kind = "" if node.type is None else f" : {_annotation(node.type, table)}"
    if node.op == "placeholder":
        default = "" if not node.args else f" = {_written(node.args[0], table)}"
        free_vars.append(f"{node.target}{kind}{default}")
        raw = node.target.replace("*", "")
        return f"{node!r} = {raw}" if raw != repr(node) else None
    if node.op == "call_method":
        return (
            f"{node!r}{kind} = {_receiver(node.args[0], table)}.{node.target}("
            f"{_arguments(node.args[1:], node.kwargs, table)})"
        )
    if node.op == "call_function":
        return _call(node, kind, table)
    if node.op == "call_module":
        return (
            f"{node!r}{kind} = "
            f"{path_of(root, node.target)}({_arguments(node.args, node.kwargs, table)})"
        )
    if node.op == "get_attr":
        return f"{node!r}{kind} = {path_of(root, node.target)}"
    if node.type is not None:
        returns[0] = f" -> {_annotation(node.type, table)}"
    return generator.generate_output(node.args[0])


def _receiver(arg: Node, table: Globals) -> str:
    return _written(arg, table)


def _call(node: Node, kind: str, table: Globals) -> str:
    target = node.target
    name = getattr(target, "__name__", type(target).__name__)
    if getattr(target, "__module__", None) == "_operator":
        if name in MAGIC and not node.kwargs:
            return (
                f"{node!r}{kind} = {MAGIC[name].format(*[_written(a, table) for a in node.args])}"
            )
        if name in INPLACE and not node.kwargs:
            text = INPLACE[name].format(*[_written(a, table) for a in node.args])
            return f"{text};  {node!r}{kind} = {_written(node.args[0], table)}"
    qualified = _get_qualified_name(target)
    if (
        target is getattr
        and len(node.args) == 2
        and isinstance(node.args[1], str)
        and node.args[1].isidentifier()
    ):
        return f"{node!r}{kind} = {_written(node.args[0], table)}.{node.args[1]}"
    if getattr(builtins, name, None) is target:
        called = name
    else:
        called = table.add(qualified, target)
        if (
            getattr(target, "__module__", "")
            and called in table.names
            and called != "torch"
            and _is_wrapped(target)
        ):
            table.wrapped.append(called)
    return f"{node!r}{kind} = {called}({_arguments(node.args, node.kwargs, table)})"


#: Functions that ``wrap`` was given, which tracing takes as one step.
WRAPPED: set[object] = set()


def _is_wrapped(target: Callable[..., object]) -> bool:
    """Whether generated code must wrap a function again, so that it can itself be traced."""
    return target in WRAPPED or getattr(target, "__module__", None) == "math"
