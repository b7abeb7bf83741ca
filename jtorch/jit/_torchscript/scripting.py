"""Scripted modules and functions as programs: their source, with names that mean the same in an
archive. Branches and loops stay what they are, and PyTorch finds the types as it reads it."""

from __future__ import annotations

import ast
import inspect
import math
import re
import textwrap
import typing
from functools import cache
from pathlib import Path
from typing import Any

import jtorch as torch
from jtorch import nn

from ..._src.facts.errors import not_offered
from .._script import EXPORTED, ScriptFunction
from .classes import Classes, declared, head_of, path_of
from .kinds import Kind, dotted, list_of, parsed
from .objects import LoadedModule
from .texts import attribute, literal
from .writing import Held, Program

_BUILTINS = ("len range int float bool str print min max abs enumerate zip sorted list isinstance "
             "sum any all round").split()  # fmt: skip
_MARKS = ("script", "export", "script_method", "script_if_tracing")
_STATEMENTS = (
    ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.If, ast.For, ast.While, ast.Return,
    ast.Pass, ast.Break, ast.Continue, ast.Raise, ast.Assert,
)  # fmt: skip
_EXPRESSIONS = (
    ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.BinOp, ast.UnaryOp, ast.BoolOp,
    ast.Compare, ast.IfExp, ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Dict, ast.keyword,
    ast.JoinedStr, ast.ListComp, ast.comprehension, ast.operator, ast.unaryop, ast.boolop,
    ast.cmpop, ast.expr_context,
)  # fmt: skip


def _refused(where: str, what: str) -> NotImplementedError:
    return not_offered("torch.jit.save of a scripted program", f"{where} has {what}")


def _kind_of_hint(hint: Any, where: str) -> str:
    """The text of a type that an annotation names."""
    plain = {
        int: "int", float: "float", bool: "bool", str: "str", type(None): "NoneType",
        torch.device: "Device", inspect.Parameter.empty: "Tensor", complex: "complex",
    }  # fmt: skip
    if hint in plain:
        return plain[hint]
    if isinstance(hint, type) and issubclass(hint, torch.Tensor):
        return "Tensor"
    origin, items = typing.get_origin(hint), typing.get_args(hint)
    if type(None) in items and len(items) == 2:
        (inner,) = [i for i in items if i is not type(None)]
        return f"Optional[{_kind_of_hint(inner, where)}]"
    names: dict[Any, str] = {list: "List", dict: "Dict", tuple: "Tuple"}
    if origin in names and items and Ellipsis not in items:
        return f"{names[origin]}[{', '.join(_kind_of_hint(i, where) for i in items)}]"
    raise _refused(where, f"the type {hint}")


def _kind_of_value(x: Any) -> Kind | None:
    """The type of an attribute, None if it has none."""
    if x is None:
        return Kind("NoneType")
    for kind in (bool, int, float, str):
        if type(x) is kind:
            return Kind(kind.__name__)
    if isinstance(x, torch.Tensor):
        return Kind("Tensor")
    if isinstance(x, list) and x and len({_kind_of_value(i) for i in x}) == 1:
        inner = _kind_of_value(x[0])
        return None if inner is None else list_of(inner)
    if type(x) is tuple and x:
        inner = [_kind_of_value(i) for i in x]
        return None if None in inner else Kind("Tuple", tuple([i for i in inner if i is not None]))
    return None


@cache
def _lines() -> list[str]:
    return Path(__file__).with_name("forwards.txt").read_text().splitlines()


@cache
def _plain() -> set[str]:
    """Functions of ``nn.functional`` that take what their operators do."""
    return {name for line in _lines() if line.startswith("=") for name in line[1:].split()}


@cache
def _layers() -> list[tuple[str, list[list[str]], str]]:
    found = []
    for line in _lines():
        if line and not line.startswith(("#", "=")):
            name, must, text = [part.strip() for part in line.split("|")]
            found.append((name, [m.split("=") for m in must.split()], text))
    return found


class _Writer:
    """What one archive is to hold."""

    def __init__(self) -> None:
        self.classes = Classes()
        self._functions: dict[Any, str] = {}
        self._held: dict[int, Held] = {}

    # ---- modules -----------------------------------------------------------------------------

    def module(self, module: Any) -> Held:
        """A module with its attributes and methods."""
        if id(module) in self._held:
            return self._held[id(module)]
        original = getattr(type(module), "_original", type(module))
        if isinstance(module, LoadedModule):
            raise _refused(original.__name__, "code of another archive")
        if module._forward_hooks or module._forward_pre_hooks:
            raise _refused(original.__name__, "hooks")
        own = getattr(nn, original.__name__, None) is original
        parameters = {n: p for n, p in module._parameters.items() if p is not None}
        buffers = {n: b for n, b in module._buffers.items() if b is not None}
        state: list[tuple[str, Kind | None, Any]] = []
        lines = [head_of(list(parameters), list(buffers))]
        children = {n: c for n, c in module._modules.items() if c is not None}
        for name, x in {**parameters, **buffers, "training": module.training}.items():
            kind = _kind_of_value(x)
            lines.append(declared(name, str(kind)))
            state.append((name, kind, x))
        for name, child in children.items():
            held = self.module(child)
            lines.append(declared(name, held.path))
            state.append((name, None, held))
        methods = ""
        if own:
            methods = self._layer(module, original)
        elif original.forward is not nn.Module.forward:
            methods, used = self._methods(module, original)
            hints = typing.get_type_hints(original) if original.__annotations__ else {}
            for name in sorted(used - {n for n, *_ in state}):
                x, hint = getattr(module, name), hints.get(name)
                kind = _kind_of_value(x) if hint is None else parsed(_kind_of_hint(hint, name))
                if kind is None:
                    raise _refused(original.__name__, f"the attribute {name}, of no known type")
                lines.append(declared(name, str(kind)))
                state.append((name, kind, x))
        text = "".join(lines) + methods
        path = self.classes.name(path_of(module), text)
        self.classes.add(path, f"class {path.rpartition('.')[2]}(Module):")
        made = self._held[id(module)] = Held(id(module), path, state)
        return made

    def _layer(self, module: Any, original: type) -> str:
        """The method of a layer of this package."""
        name = original.__name__
        if name in ("ModuleList", "ModuleDict", "ParameterList"):
            return ""
        steps = ""
        if name == "Sequential":
            for child in module._modules:
                steps += f"    input = ({attribute('self', child)}).forward(input)\n"
            return f"  def forward(self: @, input: Tensor) -> Tensor:\n{steps}    return input\n"
        text = next(
            (
                found
                for known, must, found in _layers()
                if known == name and all(str(getattr(module, k)) == v for k, v in must)
            ),
            None,
        )
        if text is None:
            raise not_offered(
                "torch.jit.save of a scripted program", f"what {module} computes has no text yet"
            )
        if name.startswith("BatchNorm"):
            if module.momentum is None:
                raise _refused(name, "no momentum")
            steps = "    if self.training:\n      _0 = self.num_batches_tracked.add_(1)\n"

        def put(match: re.Match[str]) -> str:
            x = getattr(module, match[1])
            if isinstance(x, torch.Tensor):
                return f"self.{match[1]}"
            return (
                literal(list(x) if isinstance(x, tuple) else x)
                if not isinstance(x, (tuple, list))
                else "[" + ", ".join(map(literal, x)) + "]"
            )

        made = re.sub(r"\$(\w+)", put, text)
        given = ", other: Tensor" if "other" in text else ""
        return (
            f"  def forward(self: @, input: Tensor{given}) -> Tensor:\n{steps}    return {made}\n"
        )

    def _methods(self, module: Any, original: type) -> tuple[str, set[str]]:
        """The texts of ``forward`` and what it calls, and the attributes that they use."""
        exported = [n for n in dir(original) if hasattr(getattr(original, n), EXPORTED)]
        todo, texts, used = ["forward", *exported], {}, set()
        while todo:
            name = todo.pop()
            if name in texts:
                continue
            source = _Source(self, getattr(original, name), module)
            texts[name] = source.text()
            todo += sorted(source.methods)
            used |= source.attributes
        return "".join(texts.values()), used

    # ---- functions ---------------------------------------------------------------------------

    def function(self, function: Any) -> str:
        """The path of a function, which is entered."""
        function = getattr(function, "_function", function)
        if function not in self._functions:
            home = "__torch__" + (
                "" if function.__module__ == "__main__" else f".{function.__module__}"
            )
            name = re.sub(r"\W", "_", function.__name__)
            self._functions[function] = f"{home}.{name}"
            if list(self._functions.values()).count(f"{home}.{name}") > 1:
                raise _refused(name, "the name of another function")
            self.classes.function(home, _Source(self, function, None).text())
        return self._functions[function]


class _Source(ast.NodeTransformer):
    """One function's source with names as archives have them."""

    def __init__(self, writer: _Writer, function: Any, module: Any) -> None:
        self.writer, self.function, self.module = writer, function, module
        self.where = getattr(function, "__qualname__", str(function))
        self.methods: set[str] = set()
        self.attributes: set[str] = set()
        #: Variables of loops over submodules, which are unrolled.
        self.aliases: dict[str, tuple[str, Any]] = {}
        try:
            (self.node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
            found = inspect.getclosurevars(function)
        except (OSError, TypeError, SyntaxError, ValueError) as e:
            raise _refused(self.where, "no source that can be read") from e
        if not isinstance(self.node, ast.FunctionDef):
            raise _refused(self.where, "no definition by def")
        for mark in self.node.decorator_list:
            if (dotted(mark) or "").rpartition(".")[2] not in _MARKS:
                raise _refused(self.where, f"the decorator {ast.unparse(mark)}")
        self.outer = {**found.builtins, **function.__globals__, **found.nonlocals}
        self.local = {a.arg for a in self.node.args.args}
        for part in ast.walk(self.node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                self.local.add(part.id)
        self.me = self.node.args.args[0].arg if module is not None else None

    def text(self) -> str:
        """The definition."""
        node = self.node
        args = node.args
        if args.vararg or args.kwarg or args.kwonlyargs or args.posonlyargs:
            raise _refused(self.where, "parameters that are no plain ones")
        hints = typing.get_type_hints(self.function)
        given = []
        defaults = dict(zip([a.arg for a in args.args][::-1], args.defaults[::-1], strict=False))
        for i, a in enumerate(args.args):
            kind = _kind_of_hint(hints.get(a.arg, inspect.Parameter.empty), self.where)
            text = f"{a.arg}: {'@' if self.me is not None and i == 0 else kind}"
            if a.arg in defaults:
                if not isinstance(defaults[a.arg], (ast.Constant, ast.UnaryOp)):
                    raise _refused(self.where, f"a default of {a.arg} that is no constant")
                text += f"={ast.unparse(defaults[a.arg])}"
            given.append(text)
        result = f" -> {_kind_of_hint(hints['return'], self.where)}" if "return" in hints else ""
        body = node.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]
        depth = "  " if self.me is not None else ""
        lines = "\n".join(ast.unparse(ast.fix_missing_locations(s)) for s in self._all(body))
        return (
            f"{depth}def {node.name}({', '.join(given)}){result}:\n"
            f"{textwrap.indent(lines or 'pass', depth + '  ')}\n"
        )

    def _all(self, body: list[ast.stmt]) -> list[ast.stmt]:
        made = []
        for statement in body:
            found = self.visit(statement)
            made += found if isinstance(found, list) else [found]
        return made

    def visit(self, node: ast.AST) -> Any:
        if not isinstance(node, (*_STATEMENTS, *_EXPRESSIONS)):
            raise _refused(
                self.where, f"{type(node).__name__} in line {getattr(node, 'lineno', 0)}"
            )
        return super().visit(node)

    def visit_Raise(self, node: ast.Raise) -> Any:
        call = node.exc
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and len(call.args) == 1:
            message = ast.unparse(self.visit(call.args[0]))
            name = f"builtins.{call.func.id}"
            return _statement(f"ops.prim.RaiseException({message}, {literal(name)})")
        raise _refused(self.where, f"raise of this form in line {node.lineno}")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        text, values = "", []
        for part in node.values:
            if isinstance(part, ast.Constant):
                text += str(part.value)
            elif isinstance(part, ast.FormattedValue) and part.conversion < 0:
                if part.format_spec is not None:
                    raise _refused(self.where, f"a format of a value in line {node.lineno}")
                text, values = f"{text}{{}}", [*values, self.visit(part.value)]
        if "{" in text.replace("{}", "") or text.count("{}") != len(values):
            raise _refused(self.where, f"braces in a text in line {node.lineno}")
        return ast.Call(ast.Attribute(ast.Constant(text), "format", ast.Load()), values, [])

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        if len(node.generators) != 1 or node.generators[0].ifs:
            raise _refused(self.where, f"a comprehension of this form in line {node.lineno}")
        if self._module_at(node.generators[0].iter) is not None:
            raise _refused(self.where, f"a comprehension over modules in line {node.lineno}")
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None or not isinstance(node.target, ast.Name):
            raise _refused(self.where, f"an annotation alone in line {node.lineno}")
        hint = eval(  # the program's own annotation, as Python evaluates it
            compile(ast.Expression(node.annotation), "<annotation>", "eval"), dict(self.outer)
        )
        kind = _kind_of_hint(hint, self.where)
        return _statement(f"{node.target.id} : {kind} = {ast.unparse(self.visit(node.value))}")

    def visit_For(self, node: ast.For) -> Any:
        if node.orelse:
            raise _refused(self.where, f"else of a loop in line {node.lineno}")
        items, counted = node.iter, False
        if isinstance(items, ast.Call) and dotted(items.func) == "enumerate":
            items, counted = items.args[0], True
        held = self._module_at(items)
        if held is None:
            return self.generic_visit(node)
        return self._unrolled(node, held, counted)

    def _unrolled(self, node: ast.For, held: tuple[str, Any], counted: bool) -> list[ast.stmt]:
        """A loop over submodules as its steps, one after the other."""
        if any(isinstance(p, (ast.Break, ast.Continue)) for p in ast.walk(node)):
            raise _refused(self.where, f"break or continue over modules in line {node.lineno}")
        made: list[ast.stmt] = []
        names = (
            node.target.elts if counted and isinstance(node.target, ast.Tuple) else [node.target]
        )
        if not all(isinstance(n, ast.Name) for n in names) or len(names) != 1 + counted:
            raise _refused(self.where, f"a loop over modules of this form in line {node.lineno}")
        bound = [n.id for n in names if isinstance(n, ast.Name)]
        text, module = held
        for i, name in enumerate(module._modules):
            if counted:
                made.append(_statement(f"{bound[0]} = {i}"))
            self.aliases[bound[-1]] = (attribute(text, name), module._modules[name])
            for statement in node.body:
                copied = ast.parse(ast.unparse(statement)).body
                made += self._all(copied)
        del self.aliases[bound[-1]]
        return made

    def _module_at(self, node: ast.AST) -> tuple[str, Any] | None:
        """The text and the object of an expression that is a submodule."""
        if isinstance(node, ast.Name):
            if node.id == self.me:
                return node.id, self.module
            return self.aliases.get(node.id)
        if isinstance(node, ast.Attribute):
            above = self._module_at(node.value)
            if above is not None and above[1]._modules.get(node.attr) is not None:
                return attribute(above[0], node.attr), above[1]._modules[node.attr]
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            above = self._module_at(node.value)
            if above is not None:
                names = list(above[1]._modules)
                key = node.slice.value
                name = names[key] if isinstance(key, int) else str(key)
                return attribute(above[0], name), above[1]._modules[name]
        return None

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        held = self._module_at(node)
        if held is not None:
            return _expression(held[0])
        owner = self._module_at(node.value)
        if owner is not None:
            if owner[1] is not self.module:
                raise _refused(self.where, f"{ast.unparse(node)}, an attribute of a submodule")
            self.attributes.add(node.attr)
            return node
        path = dotted(node)
        if path is not None and path.split(".")[0] not in self.local:
            return self._constant(path)
        return ast.Attribute(self.visit(node.value), node.attr, node.ctx)

    def _outer(self, path: str) -> Any:
        """What a name outside of the function means."""
        head, *rest = path.split(".")
        if head not in self.outer:
            raise _refused(self.where, f"the name {head}, which means nothing")
        found = self.outer[head]
        for name in rest:
            found = getattr(found, name)
        return found

    def _constant(self, path: str) -> Any:
        found = self._outer(path)
        try:
            return _expression(literal(found))
        except NotImplementedError:
            raise _refused(self.where, f"{path}, which is no constant") from None

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id in self.aliases:
            return _expression(self.aliases[node.id][0])
        return node if node.id in self.local else self._constant(node.id)

    def visit_Call(self, node: ast.Call) -> Any:
        if not node.args and (path := dotted(node.func)) and path.split(".")[0] in self.outer:
            found = self._outer(path) if path.split(".")[0] not in self.local else None
            if found in (torch.jit.is_scripting, torch.jit.is_tracing):
                return ast.Constant(found is torch.jit.is_scripting)
        args = [self.visit(a) for a in node.args]
        options = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        if any(k.arg is None for k in node.keywords):
            raise _refused(self.where, f"** in line {node.lineno}")
        called = self._called(node.func)
        path = dotted(node.func)
        if path is not None and path.split(".")[0] in self.outer and path not in self.local:
            found = self._outer(path)
            beside = {"inplace", "_stacklevel", "return_indices"}
            given = {*_parameters(found)[: len(args)], *[k.arg for k in node.keywords]}
            if getattr(nn.functional, path.rpartition(".")[2], None) is found and given & beside:
                raise _refused(self.where, f"arguments of {path} that its operator has not")
        return ast.Call(called, args, options)

    def _called(self, node: ast.expr) -> ast.expr:
        held = self._module_at(node)
        if held is not None:
            return _expression(f"({held[0]}).forward")
        if isinstance(node, ast.Attribute):
            owner = self._module_at(node.value)
            if owner is not None:
                if owner[1] is not self.module or not callable(
                    getattr(self.module, node.attr, None)
                ):
                    raise _refused(self.where, f"a call of {ast.unparse(node)}")
                self.methods.add(node.attr)
                return node
            path = dotted(node)
            if path is None or path.split(".")[0] in self.local:
                return ast.Attribute(self.visit(node.value), node.attr, node.ctx)
            return self._function(path)
        if isinstance(node, ast.Name) and node.id not in self.local:
            if node.id in _BUILTINS and node.id not in getattr(self.function, "__globals__", {}):
                return node
            return self._function(node.id)
        raise _refused(self.where, f"a call of {ast.unparse(node)}")

    def _function(self, path: str) -> ast.expr:
        """What a function outside of the program is called."""
        found = self._outer(path)
        name = path.rpartition(".")[2]
        if isinstance(found, ScriptFunction):
            return _expression(self.writer.function(found))
        if found is torch.device:
            return _expression("torch.device")
        if getattr(math, name, None) is found and name in ("sqrt", "exp", "log", "floor", "ceil"):
            return _expression(f"torch.{name}")
        if name in torch.functional.__all__ and getattr(torch, name, None) is found:
            raise _refused(self.where, f"a call of {path}, which is no operator in PyTorch")
        own = getattr(torch, name, None) is found or getattr(nn.functional, name, None) is found
        if own and name in _plain() and hasattr(torch.ops.aten, name):
            return _expression(f"torch.{name}")
        if own and getattr(torch, name, None) is found and hasattr(torch.ops.aten, name):
            return _expression(f"torch.{name}")
        home = getattr(found, "__module__", "") or ""
        if inspect.isfunction(found) and home.split(".")[0] not in ("jtorch", "torch"):
            return _expression(self.writer.function(found))
        raise _refused(self.where, f"a call of {path}, which has no text yet")


def _parameters(function: Any) -> list[str]:
    """The names of a function's parameters, as far as it tells."""
    try:
        return list(inspect.signature(function).parameters)
    except ValueError:
        return []


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _statement(text: str) -> ast.stmt:
    return ast.parse(text).body[0]


def program(module: Any) -> Program:
    """What is written for a scripted module or function.

    Raises:
        NotImplementedError: for what has no text in archives; it names the function.
    """
    writer = _Writer()
    if isinstance(module, nn.Module):
        held = writer.module(module)
        return Program(held, writer.classes.files(), ())
    path = writer.function(module)
    source = _Source(writer, getattr(module, "_function", module), None).text()
    head = source[source.index("(") + 1 : source.index(":\n")]
    names = [a.arg for a in ast.parse(source).body[0].args.args]  # type: ignore[attr-defined]
    text = (
        "  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"
        f"  def forward(self: @, {head}:\n    return {path}({', '.join(names)})\n"
    )
    name = writer.classes.name("__torch__.PlaceholderModule", text)
    writer.classes.add(name, "class PlaceholderModule(Module):")
    held = Held(0, name, [("training", Kind("bool"), False)])
    return Program(held, writer.classes.files(), ())
