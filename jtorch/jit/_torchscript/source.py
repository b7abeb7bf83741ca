"""The code of archives as functions of Python.

It is read as a syntax tree, and each expression that TorchScript knows becomes one of Python that
can reach nothing but the functions of ``builtins.py``, and what the archive defines; all else is
refused. Names of variables get a prefix, so that none means anything else.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import textwrap
from collections.abc import Callable
from typing import Any

from .builtins import _to_bool, _to_float, _to_int, bare, builtin
from .kinds import CodeError, Kind, dotted, kind_of, shown

_NUMBERS = {"inf": math.inf, "nan": math.nan, "infj": complex(0, math.inf),
            "nanj": complex(0, math.nan)}  # fmt: skip
_BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv",
    ast.Mod: "remainder", ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "__and__",
    ast.BitOr: "__or__", ast.BitXor: "__xor__", ast.LShift: "__lshift__",
    ast.RShift: "__rshift__", ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.Gt: "gt",
    ast.LtE: "le", ast.GtE: "ge", ast.Is: "__is__", ast.IsNot: "__isnot__",
    ast.In: "__contains__",
}  # fmt: skip
_CONVERSIONS: dict[str, Callable[..., Any]] = {
    "int": _to_int, "float": _to_float, "bool": _to_bool, "complex": complex,
    "str": builtin("aten", "str"), "len": len, "print": print,
    "enumerate": lambda *args: list(enumerate(*args)), "zip": lambda *args: list(zip(*args)),
    "list": list, "range": lambda *args: list(range(*args)),
    "rangelist": builtin("prim", "rangelist"),
    "min": builtin("prim", "min"), "max": builtin("prim", "max"), "ord": ord,
    "abs": builtin("aten", "abs"), "round": builtin("aten", "round"), "hash": hash,
}  # fmt: skip


_IN_PLACE = {
    ast.Add: operator.iadd, ast.Sub: operator.isub, ast.Mult: operator.imul,
    ast.Div: operator.itruediv,
}  # fmt: skip


class Function:
    """A function of an archive.

    Attributes:
        name: its name.
        arguments: name, type and default (a list of one, or empty) of each parameter.
        returns: the type of what it returns.
        run: the function of Python.
    """

    def __init__(self, name: str, node: ast.FunctionDef, run: Callable[..., Any]) -> None:
        self.name, self.run, self.node = name, run, node
        self.arguments = [
            (a.arg, kind_of(a.annotation) if a.annotation else Kind("Tensor"))
            for a in node.args.args
        ]
        self.returns = kind_of(node.returns) if node.returns else Kind("NoneType")
        self.defaults = dict(
            zip(
                [a.arg for a in node.args.args][::-1],
                (run.__defaults__ or ())[::-1],
                strict=False,
            )
        )

    def code(self, text: str) -> str:
        """Its part of the text of the file."""
        lines = text.splitlines()[self.node.lineno - 1 : self.node.end_lineno]
        found = textwrap.dedent("\n".join(lines)) + "\n"
        return re.sub(r"^(def \w+\(\w+): __torch__[\w.]*", r"\1", found)

    def declaration(self) -> str:
        """Name, parameters and result, as errors show them."""
        given = [
            f"{shown(kind)} {name}" + (f"={self.defaults[name]}" if name in self.defaults else "")
            for name, kind in self.arguments
        ]
        result = shown(self.returns)
        result = f"({result})" if result.startswith("(") else result
        return f"{self.name}({', '.join(given)}) -> {result}"


class Late:
    """Something that the archive defines, found when it is first used."""

    def __init__(self, unit: Any, name: str) -> None:
        self._unit, self._name, self._found = unit, name, None

    def found(self) -> Any:
        """What it is."""
        if self._found is None:
            self._found = self._unit.find(self._name)
        return self._found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = self.found()
        return (found.run if isinstance(found, Function) else found)(*args, **kwargs)


class Translator(ast.NodeTransformer):
    """Makes one function of Python from one of an archive."""

    def __init__(self, unit: Any, file: str) -> None:
        self.unit, self.file = unit, file
        self.scope: dict[str, Any] = {"__builtins__": {}, **unit.helpers}
        self.local: set[str] = set()

    # ---- functions ---------------------------------------------------------------------------

    def function(self, node: ast.FunctionDef) -> Function:
        """The function of a definition."""
        made = self._define(node)
        module = ast.fix_missing_locations(ast.Module([made], []))
        exec(compile(module, self.file, "exec"), self.scope)
        return Function(node.name, node, self.scope[made.name])

    def _define(self, node: ast.FunctionDef) -> ast.FunctionDef:
        args = node.args
        if node.decorator_list or args.vararg or args.kwarg or args.posonlyargs or args.kwonlyargs:
            raise self._refused(node, "a function of this form")
        before, self.local = self.local, self.local | {a.arg for a in args.args} | _assigned(node)
        made = ast.FunctionDef(
            name=f"v_{node.name}",
            args=ast.arguments(
                posonlyargs=[],
                args=[ast.arg(f"v_{a.arg}") for a in args.args],
                kwonlyargs=[],
                kw_defaults=[],
                defaults=[self.visit(d) for d in args.defaults],
            ),
            body=self._block(node.body),
            decorator_list=[],
        )
        self.local = before
        if hasattr(node, "type_params"):
            made.type_params = []
        return ast.copy_location(made, node)

    def _block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        return [self.visit(statement) for statement in body] or [ast.Pass()]

    def _refused(self, node: Any, what: str) -> CodeError:
        return CodeError(f"{what} in line {getattr(node, 'lineno', 0)} of {self.file}")

    def _put(self, value: Any) -> ast.Name:
        """An expression that has a value."""
        name = f"k{len(self.scope)}"
        self.scope[name] = value
        return ast.Name(name, ast.Load())

    def _call(self, function: Any, *args: ast.expr) -> ast.Call:
        return ast.Call(self._put(function), list(args), [])

    # ---- statements --------------------------------------------------------------------------

    def generic_visit(self, node: ast.AST) -> Any:
        raise self._refused(node, f"{type(node).__name__} is not of TorchScript,")

    def visit(self, node: ast.AST) -> Any:
        made = super().visit(node)
        return ast.copy_location(made, node) if isinstance(made, ast.AST) else made

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        return self._define(node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        return ast.Expr(self.visit(node.value))

    def visit_Pass(self, node: ast.Pass) -> Any:
        return node

    def visit_Break(self, node: ast.Break) -> Any:
        return node

    def visit_Continue(self, node: ast.Continue) -> Any:
        return node

    def visit_Return(self, node: ast.Return) -> Any:
        return ast.Return(None if node.value is None else self.visit(node.value))

    def visit_If(self, node: ast.If) -> Any:
        return ast.If(
            self._condition(node.test), self._block(node.body),
            self._block(node.orelse) if node.orelse else [],
        )  # fmt: skip

    def visit_While(self, node: ast.While) -> Any:
        if node.orelse:
            raise self._refused(node, "else of a loop")
        return ast.While(self._condition(node.test), self._block(node.body), [])

    def _condition(self, node: ast.expr) -> ast.expr:
        return self.visit(node)

    def visit_For(self, node: ast.For) -> Any:
        if node.orelse:
            raise self._refused(node, "else of a loop")
        call = node.iter
        named = isinstance(call, ast.Call) and dotted(call.func) == "range"
        if named and "range" not in self.local:
            items: ast.expr = self._call(range, *map(self.visit, call.args))
            return ast.For(self._target(node.target), items, self._block(node.body), [])
        return ast.For(self._target(node.target), self.visit(call), self._block(node.body), [])

    def visit_With(self, node: ast.With) -> Any:
        items = [
            ast.withitem(
                self.visit(item.context_expr),
                None if item.optional_vars is None else self._target(item.optional_vars),
            )
            for item in node.items
        ]
        return ast.With(items, self._block(node.body))

    def visit_Assert(self, node: ast.Assert) -> Any:
        message = ast.Constant("AssertionError: ") if node.msg is None else self.visit(node.msg)
        raised = ast.Expr(self._call(builtin("prim", "RaiseException"), message))
        return ast.If(self.visit(node.test), [ast.Pass()], [raised])

    def visit_Assign(self, node: ast.Assign) -> Any:
        (target,) = node.targets
        if isinstance(target, ast.Attribute):
            call = ast.Call(
                ast.Name("S", ast.Load()),
                [self.visit(target.value), ast.Constant(target.attr), self.visit(node.value)],
                [],
            )
            return ast.Expr(call)
        if isinstance(target, ast.Subscript):
            return ast.Expr(
                self._call(
                    builtin("aten", "_set_item"),
                    self.visit(target.value),
                    self._place(target.slice),
                    self.visit(node.value),
                )
            )  # fmt: skip
        return ast.Assign([self._target(target)], self.visit(node.value))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return ast.Pass()
        return self.visit_Assign(ast.Assign([node.target], node.value))

    def _target(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Name):
            return ast.Name(f"v_{node.id}", ast.Store())
        if isinstance(node, (ast.Tuple, ast.List)):
            return ast.Tuple([self._target(t) for t in node.elts], ast.Store())
        raise self._refused(node, "an assignment to something else than a name")

    # ---- expressions -------------------------------------------------------------------------

    def visit_Constant(self, node: ast.Constant) -> Any:
        if node.value is None or type(node.value) in (int, float, complex, bool, str):
            return node
        raise self._refused(node, "a constant of another type")

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id in self.local:
            return ast.Name(f"v_{node.id}", ast.Load())
        if node.id in _NUMBERS:
            return self._put(_NUMBERS[node.id])
        raise self._refused(node, f"undefined value {node.id}")

    def visit_Tuple(self, node: ast.Tuple) -> Any:
        return ast.Tuple(list(map(self.visit, node.elts)), ast.Load())

    def visit_List(self, node: ast.List) -> Any:
        return ast.List(list(map(self.visit, node.elts)), ast.Load())

    def visit_Dict(self, node: ast.Dict) -> Any:
        keys = [self.visit(k) for k in node.keys if k is not None]
        return ast.Dict(keys, list(map(self.visit, node.values)))

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        return ast.Subscript(self.visit(node.value), self._place(node.slice), ast.Load())

    def _place(self, node: ast.expr) -> ast.expr:
        """What stands between brackets."""
        if isinstance(node, ast.Slice):
            bounds = [
                None if p is None else self.visit(p) for p in (node.lower, node.upper, node.step)
            ]
            return ast.Slice(*bounds)
        if isinstance(node, ast.Tuple):
            return ast.Tuple(list(map(self._place, node.elts)), ast.Load())
        if isinstance(node, ast.Constant) and node.value is ...:
            return node
        return self.visit(node)

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        (made,) = node.generators
        if made.ifs or made.is_async:
            raise self._refused(node, "a comprehension of this form")
        items = self.visit(made.iter)
        names = {n.id for n in ast.walk(made.target) if isinstance(n, ast.Name)}
        before, self.local = self.local, self.local | names
        part = ast.comprehension(self._target(made.target), items, [], 0)
        found = ast.ListComp(self.visit(node.elt), [part])
        self.local = before
        return found

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        target, value = node.target, self.visit(node.value)
        if isinstance(target, ast.Name):
            return ast.AugAssign(ast.Name(f"v_{target.id}", ast.Store()), node.op, value)
        if isinstance(target, ast.Subscript):
            place = ast.Subscript(self.visit(target.value), self._place(target.slice), ast.Store())
            return ast.AugAssign(place, node.op, value)
        if type(node.op) not in _IN_PLACE or not isinstance(target, ast.Attribute):
            raise self._refused(node, "an assignment of this form")
        owner, name = self.visit(target.value), ast.Constant(target.attr)
        now = ast.Call(ast.Name("G", ast.Load()), [owner, name], [])
        made = self._call(_IN_PLACE[type(node.op)], now, value)
        return ast.Expr(ast.Call(ast.Name("S", ast.Load()), [owner, name, made], []))

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        path = self._path(node)
        if path is None:
            return ast.Call(
                ast.Name("G", ast.Load()), [self.visit(node.value), ast.Constant(node.attr)], []
            )
        if path.startswith("CONSTANTS."):
            return self._put(self.unit.constant(path.partition(".")[2]))
        if path.startswith("__torch__."):
            found = self.unit.member(path)
            return self._put(Late(self.unit, path) if found is None else found)
        raise self._refused(node, f"{path} is not known,")

    def _path(self, node: ast.AST) -> str | None:
        """The whole name of what is no attribute of a variable."""
        path = dotted(node)
        head = None if path is None else path.partition(".")[0]
        known = ("torch", "ops", "CONSTANTS", "__torch__")
        return path if head in known and head not in self.local else None

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            return ast.UnaryOp(node.op, self.visit(node.operand))
        names = {ast.USub: "neg", ast.Not: "__not__"}
        if type(node.op) not in names:
            return self.visit(node.operand)
        return self._call(builtin("aten", names[type(node.op)]), self.visit(node.operand))

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        made = builtin("aten", _BINARY[type(node.op)])
        return self._call(made, self.visit(node.left), self.visit(node.right))

    def visit_Compare(self, node: ast.Compare) -> Any:
        if len(node.ops) != 1 or type(node.ops[0]) not in _BINARY:
            raise self._refused(node, "a comparison of this form")
        made, sides = builtin("aten", _BINARY[type(node.ops[0])]), [node.left, *node.comparators]
        if isinstance(node.ops[0], ast.In):
            sides.reverse()
        return self._call(made, *map(self.visit, sides))

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        return ast.BoolOp(node.op, list(map(self.visit, node.values)))

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        return ast.IfExp(*map(self.visit, (node.test, node.body, node.orelse)))

    def visit_Call(self, node: ast.Call) -> Any:
        function = node.func
        if isinstance(function, ast.Name) and function.id not in self.local:
            return self._named(node, function.id)
        args = list(map(self.visit, node.args))
        if isinstance(function, ast.Name):
            return ast.Call(ast.Name(f"v_{function.id}", ast.Load()), args, self._options(node))
        if not isinstance(function, ast.Attribute):
            raise self._refused(node, "a call of this form")
        path = self._path(function)
        if path is None:
            head = [ast.Name("C", ast.Load()), self.visit(function.value)]
            call = [*head[1:], ast.Constant(function.attr), *args]
            return ast.Call(head[0], call, self._options(node))
        parts = path.split(".")
        if parts[0] == "torch" and len(parts) == 2:
            return self._operator(node, "aten", parts[1], args)
        if parts[0] == "ops" and len(parts) == 3:
            return self._operator(node, parts[1], parts[2], args)
        if parts[0] == "__torch__":
            if parts[-1] == "__new__":
                late = Late(self.unit, path.rpartition(".")[0])
                return ast.Call(ast.Name("N", ast.Load()), [self._put(late)], [])
            return ast.Call(self._put(Late(self.unit, path)), args, self._options(node))
        raise self._refused(node, f"{path} is not known,")

    def _operator(
        self, node: ast.Call, namespace: str, name: str, args: list[ast.expr]
    ) -> ast.expr:
        if (namespace, name) == ("aten", "device") and len(args) == 1:
            given = getattr(node.args[0], "value", None)
            if isinstance(given, str):
                return self._put(self.unit.device(given))
        found = self.unit.upgraded(namespace, name) or builtin(namespace, name)
        return ast.Call(self._put(found), args, self._options(node, name))

    def _options(self, node: ast.Call, operator: str = "") -> list[ast.keyword]:
        made = []
        for k in node.keywords:
            if k.arg is None:
                raise self._refused(node, "arguments of this form")
            made.append(ast.keyword(k.arg if operator else f"v_{k.arg}", self.visit(k.value)))
        return made

    def _named(self, node: ast.Call, name: str) -> ast.expr:
        """A call of what TorchScript knows without a path."""
        args = node.args
        if name == "annotate" and len(args) == 2:
            kind, value = kind_of(args[0]), self.visit(args[1])
            wanted = _CONVERSIONS.get(kind.name) if kind.name in ("int", "float") else None
            return value if wanted is None else self._call(wanted, value)
        if name == "unchecked_cast" and len(args) == 2:
            return self.visit(args[1])
        if name == "uninitialized":
            return ast.Constant(None)
        if name in ("getattr", "hasattr") and len(args) == 2:
            if not (isinstance(args[1], ast.Constant) and isinstance(args[1].value, str)):
                raise self._refused(node, f"{name} with a name that is not written out")
            letter = "G" if name == "getattr" else "H"
            return ast.Call(ast.Name(letter, ast.Load()), [self.visit(args[0]), args[1]], [])
        if name == "isinstance" and len(args) == 2:
            many = isinstance(args[1], (ast.Tuple, ast.List)) and args[1].elts
            kinds = tuple(kind_of(t) for t in (many or [args[1]]))
            return ast.Call(ast.Name("I", ast.Load()), [self.visit(args[0]), self._put(kinds)], [])
        if name == "fork" and args:
            given = list(map(self.visit, args))
            return ast.Call(ast.Name("F", ast.Load()), given, self._options(node))
        if name in _CONVERSIONS and not node.keywords:
            return self._call(_CONVERSIONS[name], *map(self.visit, args))
        found = bare(name)
        if found is not None and not node.keywords:
            return self._call(found, *map(self.visit, args))
        raise self._refused(node, f"undefined value {name}")


def _assigned(node: ast.FunctionDef) -> set[str]:
    """The names that a function gives values."""
    found = set()
    todo: list[ast.AST] = list(node.body)
    while todo:
        part = todo.pop()
        if isinstance(part, ast.FunctionDef):
            found.add(part.name)
            continue
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            found.add(part.id)
        todo.extend(ast.iter_child_nodes(part))
    return found


def parse(text: str, file: str) -> ast.Module:
    """The syntax tree of a file of an archive.

    Raises:
        RuntimeError: if it has none.
    """
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as e:
        raise CodeError(f"{file}: {e}") from e
