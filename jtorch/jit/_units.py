"""Functions that a program has as text."""

from __future__ import annotations
import __future__

import linecache
import math
import sys
import textwrap
import typing
from typing import Any

import jtorch as torch

from .._src.facts.errors import not_offered
from ._script import NO_PROGRAM, ScriptFunction

#: Names that such a text may use without further ado.
_KNOWN = ("Any", "Dict", "Final", "List", "NamedTuple", "Optional", "Tuple", "Union")


class CompilationUnit:
    """The functions that a text defines, each a ``ScriptFunction`` under its name.

    ``CompilationUnit(lang=None, _frames_up=0)``. Names that the text does not define are those of
    the caller, ``torch``, ``math``, ``Tensor`` and the generic types of ``typing``.

    Raises:
        RuntimeError: if it is no text of definitions of functions, or defines one again.

    Differs from torch: the functions run as Python, and what TorchScript cannot compile runs.
    """

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        self._functions: dict[str, ScriptFunction] = {}
        if lang is not None:
            self.define(lang, _frames_up=_frames_up + 1)

    def define(self, lang: str, rcb: object = None, _frames_up: int = 0) -> None:
        """Adds the functions that ``lang`` defines; ``rcb`` finds names instead of the caller.

        Raises:
            NotImplementedError: for ``rcb``.
        """
        if rcb is not None:
            raise not_offered("torch.jit.CompilationUnit.define(rcb=...)", NO_PROGRAM)
        caller = sys._getframe(_frames_up + 1)
        scope = {
            "torch": torch, "math": math, "Tensor": torch.Tensor,
            **{name: getattr(typing, name) for name in _KNOWN},
            **caller.f_globals, **caller.f_locals,
        }  # fmt: skip
        text = textwrap.dedent(lang)
        name = f"<torch.jit.CompilationUnit {id(self):x}.{len(self._functions)}>"
        try:
            code = compile(text, name, "exec", __future__.annotations.compiler_flag)
        except SyntaxError as e:
            raise RuntimeError(f"{e.msg}:\n{text}") from e
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        made: dict[str, Any] = {}
        exec(code, scope, made)
        scope.update(made)
        for key, function in made.items():
            if not isinstance(function, type(_nothing)):
                raise RuntimeError(f"Expected definitions of functions, but {key} is none")
            if key in self._functions:
                raise RuntimeError(f"method '{key}' already defined.")
            self._functions[key] = ScriptFunction(function)

    def get_functions(self) -> list[ScriptFunction]:
        """All functions, in their order."""
        return list(self._functions.values())

    def find_function(self, name: str) -> ScriptFunction | None:
        """The function of a name, None if there is none."""
        return self._functions.get(name)

    def __getattr__(self, attr: str) -> ScriptFunction:
        found = self.__dict__.get("_functions", {}).get(attr)
        if found is None:
            raise AttributeError(f"'CompilationUnit' has no attribute '{attr}'")
        return found


def _nothing() -> None:
    pass


CompilationUnit.__module__ = "torch.jit"
