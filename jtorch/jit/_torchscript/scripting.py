"""Scripted modules and functions as programs: their source, with names that mean the same in an
archive. Branches and loops stay what they are, and PyTorch finds the types as it reads it."""

from __future__ import annotations

import ast
import inspect
import math
import re
import textwrap
import typing
from typing import Any

import jtorch as torch
from jtorch import nn
from jtorch.ao.nn.quantized._linear import LinearPackedParams

from ..._src.facts.errors import not_offered
from ..._src.quantised.packed import ScriptObject
from .._script import EXPORTED, ScriptFunction
from . import forms, sequences
from .classes import Classes, declared, head_of, path_of
from .hints import is_named_tuple, kind_of_hint, kind_of_value, refused
from .kinds import Kind, dotted, parsed
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


class _Writer:
    """What one archive is to hold; where it is frozen, tensors are neither parameters nor
    buffers."""

    def __init__(self, frozen: bool = False) -> None:
        self.frozen = frozen
        self.classes = Classes()
        self._functions: dict[Any, str] = {}
        self._held: dict[int, Held] = {}
        self._named: dict[Any, str] = {}

    # ---- modules -----------------------------------------------------------------------------

    def module(self, module: Any) -> Held:
        """A module with its attributes and methods."""
        if id(module) in self._held:
            return self._held[id(module)]
        original = getattr(type(module), "_original", type(module))
        if isinstance(module, LoadedModule):
            raise refused(original.__name__, "code of another archive")
        if module._forward_hooks or module._forward_pre_hooks:
            raise refused(original.__name__, "hooks")
        own = _own_name(original)
        parameters = {n: p for n, p in module._parameters.items() if p is not None}
        buffers = {n: b for n, b in module._buffers.items() if b is not None}
        state: list[tuple[str, Kind | None, Any]] = []
        lines = [head_of([], []) if self.frozen else head_of(list(parameters), list(buffers))]
        children = {n: c for n, c in module._modules.items() if c is not None}
        for name, x in {**parameters, **buffers, "training": module.training}.items():
            kind = kind_of_value(x)
            lines.append(declared(name, str(kind)))
            state.append((name, kind, x))
        for name, child in children.items():
            held = self.module(child)
            lines.append(declared(name, held.path))
            state.append((name, None, held))
        methods = ""
        if own:
            methods = self._layer(module, own)
            packed = vars(module).get("_packed_params")
            if isinstance(packed, ScriptObject):
                lines.append(declared("_packed_params", packed._name))
                state.append(("_packed_params", None, packed))
        elif original.forward is not nn.Module.forward:
            methods, used = self._methods(module, original)
            hints = typing.get_type_hints(original) if original.__annotations__ else {}
            held = {n for n, *_ in state}
            beside = set(vars(module)) - used - set(vars(nn.Module())) - held
            for name in [*sorted(used - held), *sorted(beside)]:
                x, kind = getattr(module, name), self._kind_of(module, name, hints, name in used)
                if kind is not None:
                    lines.append(declared(name, str(kind)))
                    state.append((name, kind, x))
        text = "".join(lines) + methods
        path = self.classes.name(path_of(module), text)
        self.classes.add(path, f"class {path.rpartition('.')[2]}(Module):")
        if not own and _says_state(original):  # it says itself what files hold
            cls: Any = original
            value = cls.__getstate__(module)
            made = Held(id(module), path, [("", self.kind_of_state(module), value)], True)
        else:
            made = Held(id(module), path, state)
        self._held[id(module)] = made
        return made

    def kind_of_state(self, module: Any) -> Kind:
        """The type of what a module's ``__getstate__`` gives."""
        original = module._original
        hint = typing.get_type_hints(original.__getstate__).get("return")
        if hint is not None:
            return parsed(self.kind(hint, original.__name__))
        kind = kind_of_value(original.__getstate__(module))
        if kind is None:
            raise refused(original.__name__, "a state of no known type")
        return kind

    def _kind_of(self, module: Any, name: str, hints: dict[str, Any], used: bool) -> Kind | None:
        """The type of an attribute, None for one that no method uses and that has no type."""
        x, hint = getattr(module, name), hints.get(name)
        try:
            kind = kind_of_value(x) if hint is None else parsed(self.kind(hint, name))
        except NotImplementedError:
            if used:
                raise
            return None
        if kind is None and used:
            raise refused(module.original_name, f"the attribute {name}, of no known type")
        return kind

    def _layer(self, module: Any, name: str) -> str:
        """The method of a layer of this package."""
        if name in ("ModuleList", "ModuleDict", "ParameterList", "quantized.QFunctional"):
            return ""
        steps = ""
        if name == "Sequential":
            for child in module._modules:
                steps += f"    input = ({attribute('self', child)}).forward(input)\n"
            return f"  def forward(self: @, input: Tensor) -> Tensor:\n{steps}    return input\n"
        whole = sequences.of_layer(module, name)
        if whole is not None:
            return whole
        form = forms.of_layer(module, name)
        if form is None:
            raise not_offered(
                "torch.jit.save of a scripted program", f"what {module} computes has no text yet"
            )
        if name.startswith("BatchNorm") and module.track_running_stats:
            if module.momentum is None:
                raise refused(name, "no momentum")
            steps = "    if self.training:\n      _0 = self.num_batches_tracked.add_(1)\n"
        given = "".join(f", {parameter}: Tensor" for parameter in form.given)
        return f"  def forward(self: @{given}) -> Tensor:\n{steps}    return {form.text}\n"

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

    # ---- types -------------------------------------------------------------------------------

    def kind(self, hint: Any, where: str) -> str:
        """The text of a type that an annotation names."""
        return kind_of_hint(hint, where, self.named)

    def named(self, cls: Any) -> str:
        """The path of a class of named tuples, which is entered."""
        if cls not in self._named:
            hints = typing.get_type_hints(cls)
            lines = [
                declared(f, self.kind(hints.get(f, inspect.Parameter.empty), cls.__name__))
                for f in cls._fields
            ]
            path = self.classes.name(path_of(cls), "".join(lines))
            self.classes.add(path, f"class {path.rpartition('.')[2]}(NamedTuple):")
            self._named[cls] = path
        return self._named[cls]

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
                raise refused(name, "the name of another function")
            self.classes.function(home, _Source(self, function, None).text())
        return self._functions[function]


def _says_state(cls: type) -> bool:
    """Whether a class exports ``__getstate__`` and ``__setstate__``."""
    names = ("__getstate__", "__setstate__")
    return all(hasattr(getattr(cls, name, None), EXPORTED) for name in names)


def _own_name(cls: type) -> str:
    """The name of a layer of the package, behind the folder that it is in; empty for others."""
    homes = {
        "": nn, "quantized.": torch.ao.nn.quantized, "dynamic.": torch.ao.nn.quantized.dynamic,
        "fused.": torch.ao.nn.intrinsic.quantized,
    }  # fmt: skip
    name = cls.__name__
    if cls is LinearPackedParams:
        return f"quantized.{name}"
    return next((f"{h}{name}" for h, m in homes.items() if getattr(m, name, None) is cls), "")


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
            raise refused(self.where, "no source that can be read") from e
        if not isinstance(self.node, ast.FunctionDef):
            raise refused(self.where, "no definition by def")
        for mark in self.node.decorator_list:
            if (dotted(mark) or "").rpartition(".")[2] not in _MARKS:
                raise refused(self.where, f"the decorator {ast.unparse(mark)}")
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
            raise refused(self.where, "parameters that are no plain ones")
        hints = typing.get_type_hints(self.function)
        given = []
        defaults = dict(zip([a.arg for a in args.args][::-1], args.defaults[::-1], strict=False))
        for i, a in enumerate(args.args):
            kind = self.writer.kind(hints.get(a.arg, inspect.Parameter.empty), self.where)
            if node.name == "__setstate__" and i == 1 and a.arg not in hints:
                kind = str(self.writer.kind_of_state(self.module))
            text = f"{a.arg}: {'@' if self.me is not None and i == 0 else kind}"
            if a.arg in defaults:
                if not isinstance(defaults[a.arg], (ast.Constant, ast.UnaryOp)):
                    raise refused(self.where, f"a default of {a.arg} that is no constant")
                text += f"={ast.unparse(defaults[a.arg])}"
            given.append(text)
        result = f" -> {self.writer.kind(hints['return'], self.where)}" if "return" in hints else ""
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
            raise refused(self.where, f"{type(node).__name__} in line {getattr(node, 'lineno', 0)}")
        return super().visit(node)

    def visit_Raise(self, node: ast.Raise) -> Any:
        call = node.exc
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and len(call.args) == 1:
            message = ast.unparse(self.visit(call.args[0]))
            name = f"builtins.{call.func.id}"
            return _statement(f"ops.prim.RaiseException({message}, {literal(name)})")
        raise refused(self.where, f"raise of this form in line {node.lineno}")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        text, values = "", []
        for part in node.values:
            if isinstance(part, ast.Constant):
                text += str(part.value)
            elif isinstance(part, ast.FormattedValue) and part.conversion < 0:
                if part.format_spec is not None:
                    raise refused(self.where, f"a format of a value in line {node.lineno}")
                text, values = f"{text}{{}}", [*values, self.visit(part.value)]
        if "{" in text.replace("{}", "") or text.count("{}") != len(values):
            raise refused(self.where, f"braces in a text in line {node.lineno}")
        return ast.Call(ast.Attribute(ast.Constant(text), "format", ast.Load()), values, [])

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        if len(node.generators) != 1 or node.generators[0].ifs:
            raise refused(self.where, f"a comprehension of this form in line {node.lineno}")
        if self._module_at(node.generators[0].iter) is not None:
            raise refused(self.where, f"a comprehension over modules in line {node.lineno}")
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None or not isinstance(node.target, ast.Name):
            raise refused(self.where, f"an annotation alone in line {node.lineno}")
        kind = self._kind_at(node.annotation)
        return _statement(f"{node.target.id} : {kind} = {ast.unparse(self.visit(node.value))}")

    def _kind_at(self, node: ast.expr) -> str:
        """The text of a type in the program, as Python evaluates it."""
        code = compile(ast.Expression(node), "<annotation>", "eval")
        return self.writer.kind(eval(code, dict(self.outer)), self.where)

    def visit_For(self, node: ast.For) -> Any:
        if node.orelse:
            raise refused(self.where, f"else of a loop in line {node.lineno}")
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
            raise refused(self.where, f"break or continue over modules in line {node.lineno}")
        made: list[ast.stmt] = []
        names = (
            node.target.elts if counted and isinstance(node.target, ast.Tuple) else [node.target]
        )
        if not all(isinstance(n, ast.Name) for n in names) or len(names) != 1 + counted:
            raise refused(self.where, f"a loop over modules of this form in line {node.lineno}")
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
                raise refused(self.where, f"{ast.unparse(node)}, an attribute of a submodule")
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
            raise refused(self.where, f"the name {head}, which means nothing")
        found = self.outer[head]
        for name in rest:
            found = getattr(found, name)
        return found

    def _constant(self, path: str) -> Any:
        found = self._outer(path)
        try:
            return _expression(literal(found))
        except NotImplementedError:
            raise refused(self.where, f"{path}, which is no constant") from None

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id in self.aliases:
            return _expression(self.aliases[node.id][0])
        return node if node.id in self.local else self._constant(node.id)

    def visit_Call(self, node: ast.Call) -> Any:
        found = self._meant(node.func)
        if not node.args and found in (torch.jit.is_scripting, torch.jit.is_tracing):
            return ast.Constant(found is torch.jit.is_scripting)
        if found is torch.jit.annotate and len(node.args) == 2:
            kind = self._kind_at(node.args[0])
            return ast.Call(
                _expression("annotate"), [_expression(kind), self.visit(node.args[1])], []
            )
        args = [self.visit(a) for a in node.args]
        options = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        if any(k.arg is None for k in node.keywords):
            raise refused(self.where, f"** in line {node.lineno}")
        if found is None:
            held = (
                self._module_at(node.func.value) if isinstance(node.func, ast.Attribute) else None
            )
            if held is not None and isinstance(held[1], torch.ao.nn.quantized.QFunctional):
                made = forms.of_method(held[1], node.func.attr, args, options)
                if made is not None:
                    return made
            return ast.Call(self._called(node.func), args, options)
        path = ast.unparse(node.func)
        if is_named_tuple(found):
            return ast.Call(
                _expression(self.writer.named(found)), *self._fields(found, args, options)
            )
        name = getattr(found, "__name__", "")
        if any(found is getattr(home, name, None) for home in (nn.functional, torch)):
            made = forms.of_call(found, args, options)
            if made is not None:
                return made
        if getattr(nn.functional, name, None) is found:
            beside = {"inplace", "_stacklevel", "return_indices"}
            if beside & {*_parameters(found)[: len(args)], *[k.arg for k in node.keywords]}:
                raise refused(self.where, f"arguments of {path} that its operator has not")
        return ast.Call(self._function(found, path), args, options)

    def _fields(
        self, cls: Any, args: list[ast.expr], options: list[ast.keyword]
    ) -> tuple[list[ast.expr], list[ast.keyword]]:
        """The arguments of a named tuple, all by position: files have no names and no defaults."""
        given = {k.arg: k.value for k in options}
        for field in cls._fields[len(args) :]:
            if field in given:
                args.append(given[field])
            elif field in cls._field_defaults:
                args.append(_expression(literal(cls._field_defaults[field])))
            else:
                raise refused(self.where, f"a {cls.__name__} without {field}")
        return args, []

    def _meant(self, node: ast.expr) -> Any:
        """What is called, if it is neither a method, a submodule nor a local variable."""
        path = dotted(node)
        head = path.split(".")[0] if path is not None else ""
        if isinstance(node, ast.Attribute) and head == self.me and head:
            owner = self._module_at(node.value)
            if owner is not None and owner[1] is self.module:
                found = vars(self.module).get(node.attr)
                own = not hasattr(getattr(type(self.module), "_original", object), node.attr)
                return found if own and callable(found) else None
            return None
        if path is None or head in self.local or head == self.me or head in self.aliases:
            return None
        if path in _BUILTINS and path not in getattr(self.function, "__globals__", {}):
            return None
        return self._outer(path)

    def _called(self, node: ast.expr) -> ast.expr:
        held = self._module_at(node)
        if held is not None:
            return _expression(f"({held[0]}).forward")
        if isinstance(node, ast.Attribute):
            owner = self._module_at(node.value)
            if owner is None:
                return ast.Attribute(self.visit(node.value), node.attr, node.ctx)
            if owner[1] is self.module and callable(getattr(self.module, node.attr, None)):
                self.methods.add(node.attr)
                return node
        elif isinstance(node, ast.Name) and node.id in _BUILTINS and node.id not in self.local:
            return node
        raise refused(self.where, f"a call of {ast.unparse(node)}")

    def _function(self, found: Any, path: str) -> ast.expr:
        """What a function outside of the program is called."""
        name = getattr(found, "__name__", path.rpartition(".")[2])
        if isinstance(found, ScriptFunction):
            return _expression(self.writer.function(found))
        if found is torch.device:
            return _expression("torch.device")
        if getattr(math, name, None) is found and name in ("sqrt", "exp", "log", "floor", "ceil"):
            return _expression(f"torch.{name}")
        if name in torch.functional.__all__ and getattr(torch, name, None) is found:
            raise refused(self.where, f"a call of {path}, which is no operator in PyTorch")
        own = getattr(torch, name, None) is found
        plain = getattr(nn.functional, name, None) is found and name in forms.plain()
        if (own or plain) and hasattr(torch.ops.aten, name):
            return _expression(f"torch.{name}")
        home = getattr(found, "__module__", "") or ""
        if inspect.isfunction(found) and home.split(".")[0] not in ("jtorch", "torch"):
            return _expression(self.writer.function(found))
        raise refused(self.where, f"a call of {path}, which has no text yet")


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


def program(module: Any, frozen: bool = False) -> Program:
    """What is written for a scripted module, which may be frozen, or function.

    Raises:
        NotImplementedError: for what has no text in archives; it names the function.
    """
    writer = _Writer(frozen)
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
