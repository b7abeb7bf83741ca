"""Classes for the modules of a hierarchy, as archives declare them: parameters, buffers, and
submodules."""

from __future__ import annotations

import json
import keyword
import re
from typing import Any

from jtorch import nn

from .kinds import BOOL, TENSOR, Kind
from .writing import Held


def path_of(module: object) -> str:
    """The name of a class, or of a module's, in archives."""
    cls = module if isinstance(module, type) else type(module)
    original = getattr(cls, "_original", cls)
    home = original.__module__
    home = home[1:] if home == "jtorch" or home.startswith("jtorch.") else home
    parts = [] if home == "__main__" else home.split(".")
    name = original.__name__
    parts = [p if p.isidentifier() and not keyword.iskeyword(p) else re.sub(r"\W", "_", f"_{p}")
             for p in (*parts, name)]  # fmt: skip
    return ".".join(["__torch__", *parts])


class Classes:
    """The classes of one archive, with their texts."""

    def __init__(self) -> None:
        self._named: dict[str, str] = {}
        self._texts: dict[str, list[str]] = {}

    def name(self, wanted: str, text: str) -> str:
        """A name for a class with this text below its first line: the one that was wanted, or
        another where that is taken.

        Where the text names the class itself, it says ``@``.
        """
        n, path = 0, wanted
        while self._named.get(path, text) != text:
            home, _, leaf = wanted.rpartition(".")
            path, n = f"{home}.___torch_mangle_{n}.{leaf}", n + 1
        if path not in self._named:
            self._named[path] = text
        return path

    def add(self, path: str, head: str) -> None:
        """Enters the text of a class."""
        home = path.rpartition(".")[0].replace(".", "/")
        made = f"{head}\n{self._named[path].replace('@', path)}"
        if made not in self._texts.setdefault(f"code/{home}.py", []):
            self._texts[f"code/{home}.py"].append(made)

    def function(self, home: str, text: str) -> None:
        """Enters a function."""
        found = self._texts.setdefault(f"code/{home.replace('.', '/')}.py", [])
        if text not in found:
            found.append(text)

    def files(self) -> dict[str, str]:
        """The texts of all files."""
        return {name: "".join(texts) for name, texts in self._texts.items()}


def declared(name: str, kind: str) -> str:
    """The line that declares an attribute."""
    if name.isidentifier() and not keyword.iskeyword(name):
        return f"  {name} : {kind}\n"
    return f"  __annotations__[{json.dumps(name)}] = {kind}\n"


def head_of(parameters: list[str], buffers: list[str]) -> str:
    """The lines that say which attributes are parameters and buffers."""
    lists = [
        "[" + "".join(f"{json.dumps(n)}, " for n in names) + "]" for names in (parameters, buffers)
    ]
    return f"  __parameters__ = {lists[0]}\n  __buffers__ = {lists[1]}\n"


def described(
    module: nn.Module, classes: Classes, methods: str = "", memo: dict[int, Held] | None = None
) -> Held:
    """A module with its parameters, buffers and submodules, and these methods."""
    memo = {} if memo is None else memo
    if id(module) in memo:
        return memo[id(module)]
    state: list[tuple[str, Kind | None, Any]] = []
    parameters = {n: p for n, p in module._parameters.items() if p is not None}
    buffers = {n: b for n, b in module._buffers.items() if b is not None}
    lines = [head_of(list(parameters), list(buffers))]
    for name, tensor in (*parameters.items(), *buffers.items()):
        lines.append(declared(name, "Tensor"))
        state.append((name, TENSOR, tensor))
    lines.append(declared("training", "bool"))
    state.append(("training", BOOL, module.training))
    for name, child in module._modules.items():
        if child is not None:
            held = described(child, classes, "", memo)
            lines.append(declared(name, held.path))
            state.append((name, None, held))
    text = "".join(lines) + methods
    path = classes.name(path_of(module), text)
    classes.add(path, f"class {path.rpartition('.')[2]}(Module):")
    made = memo[id(module)] = Held(id(module), path, state)
    return made
