"""Tracing with assertions: ``assert`` statements of ``forward`` become calls of ``torch._assert``,
which a graph can hold."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
from types import FunctionType
from typing import Any

import jtorch as torch

from .._symbolic_trace import Tracer
from ..graph import Graph

__all__ = ["AST_Rewriter", "RewritingTracer"]


class AST_Rewriter(ast.NodeTransformer):
    """Rewrites the source of a function. Give it a ``visit_`` method for each kind of statement to
    be replaced."""

    def rewrite(self, fn: FunctionType) -> FunctionType:
        """A function like ``fn`` whose source is what this makes of it; it has the globals and
        cells of ``fn``.

        Raises:
            OSError: if the source cannot be found.
        """
        source = inspect.getsource(fn)
        if source[:1].isspace():  # as it is, since its strings may have lines of their own
            tree = ast.Module(ast.parse(f"if 1:\n{source}").body[0].body, [])
            ast.increment_lineno(tree, -1)
        else:
            tree = ast.parse(source)
        definition = self.visit(tree).body[0]
        definition.decorator_list = []
        # Inside a function that has its free names, the code finds its cells again.
        outer = ast.parse(
            "def outer():\n"
            f"    {'; '.join(f'{n} = None' for n in fn.__code__.co_freevars) or 'pass'}"
        )
        outer.body[0].body.append(definition)
        whole = compile(
            ast.fix_missing_locations(outer),
            inspect.getsourcefile(fn) or "<rewritten>",
            "exec",
            dont_inherit=True,
        )
        code = next(c for c in whole.co_consts if inspect.iscode(c))
        code = next(
            c for c in code.co_consts if inspect.iscode(c) and c.co_name == fn.__code__.co_name
        )
        cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or ()))
        made = FunctionType(
            code,
            fn.__globals__,
            fn.__name__,
            fn.__defaults__,
            tuple([cells[n] for n in code.co_freevars]),
        )
        functools.update_wrapper(made, fn)
        del made.__dict__["__wrapped__"]
        made.__kwdefaults__ = copy.copy(fn.__kwdefaults__)
        return made

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """``assert a, b`` as ``torch._assert(a, b)``."""
        called = ast.parse(f"__import__({torch.__name__!r})._assert", mode="eval").body
        message = node.msg if node.msg is not None else ast.Constant("")
        return ast.copy_location(ast.Expr(ast.Call(called, [node.test, message], [])), node)


class RewritingTracer(Tracer):
    """A tracer that rewrites the ``forward`` of all modules which it goes into."""

    def trace(self, root: Any, concrete_args: Any = None) -> Graph:
        """The graph of a module's or function's rewritten code."""
        return super().trace(_rewritten(root), concrete_args)


def _rewritten(root: object) -> object:
    if isinstance(root, FunctionType):
        return AST_Rewriter().rewrite(root)
    if not isinstance(root, torch.nn.Module):
        return root
    cls = type(root)
    rewritten: dict[str, object] = {}
    if not cls.__module__.startswith(("torch.nn", "jtorch.nn")) and isinstance(
        cls.forward, FunctionType
    ):
        rewritten["forward"] = AST_Rewriter().rewrite(cls.forward)
    names = {**rewritten, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    made: Any = torch.nn.Module.__new__(type(cls.__name__, (cls,), names))
    made.__dict__.update(root.__dict__)
    made._modules = {name: _rewritten(child) for name, child in root._modules.items()}
    return made
