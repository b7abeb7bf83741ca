"""Which names of torch a package's source mentions, and which of them jtorch lacks.

``python -m tools.package_names FOLDER_OR_FILE ...`` prints the names that do not resolve, with the
first place that mentions each; nothing of the package is run. ``--list`` prints all names with what
they are here; ``--store FILE`` adds them to the list that the tests check. ``--as torch`` asks
PyTorch instead, where it is installed.

A name is what follows ``torch`` in an import or a chain of attributes; aliases of imports and plain
assignments in the same module are followed. What packages reach through getattr, strings or each
other is not seen.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

#: The top-level modules of PyTorch's wheel.
ROOTS = ("torch", "functorch", "torchgen")
STORED = Path(__file__).resolve().parent.parent / "tests" / "package_names.txt"


class _Names(ast.NodeVisitor):
    """Collects the names of one module."""

    def __init__(self) -> None:
        # a name of the module -> the path of torch that it stands for
        self.known: dict[str, str] = {}
        self.found: dict[str, int] = {}

    def _note(self, path: str, line: int) -> None:
        self.found.setdefault(path, line)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.partition(".")[0] in ROOTS:
                self._note(alias.name, node.lineno)
                root = alias.name.partition(".")[0]
                self.known[alias.asname or root] = alias.name if alias.asname else root

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or node.module is None or node.module.partition(".")[0] not in ROOTS:
            return
        self._note(node.module, node.lineno)
        for alias in node.names:
            if alias.name != "*":
                self._note(f"{node.module}.{alias.name}", node.lineno)
                self.known[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def _path(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self.known.get(node.id)
        if isinstance(node, ast.Attribute):
            inner = self._path(node.value)
            return None if inner is None else f"{inner}.{node.attr}"
        return None

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = self._path(node)
        if path is None:
            self.generic_visit(node)
        elif isinstance(node.ctx, ast.Load):
            self._note(path, node.lineno)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        path = self._path(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                if path is None:
                    self.known.pop(target.id, None)
                else:
                    self.known[target.id] = path
            else:
                self.visit(target)


def mentioned(source: str) -> dict[str, int]:
    """The names of torch in a module's source, with the line of the first mention.

    Raises:
        SyntaxError: if it is no Python.
    """
    seen = _Names()
    tree = ast.parse(source)
    # imports in functions and below conditions count for the whole module
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            seen.visit(node)
    seen.visit(tree)
    return seen.found


def files_of(places: Iterable[str]) -> Iterator[Path]:
    """The Python files in folders, and files themselves."""
    for place in map(Path, places):
        yield from [place] if place.is_file() else sorted(place.rglob("*.py"))


def scan(places: Iterable[str]) -> dict[str, str]:
    """Name -> ``file:line`` of its first mention."""
    found: dict[str, str] = {}
    for file in files_of(places):
        try:
            source = file.read_text()
            if any(root in source for root in ROOTS):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    lines = mentioned(source)
                for name, line in lines.items():
                    found.setdefault(name, f"{file}:{line}")
        except (SyntaxError, UnicodeDecodeError) as error:
            print(f"{file}: not read: {error}", file=sys.stderr)  # noqa: T201
    return found


def _module(path: str) -> ModuleType | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(path)
    except Exception:  # as for attributes
        return None


def resolved(name: str, root: str = "jtorch") -> Any:
    """What a name of torch stands for.

    Raises:
        AttributeError: if there is no such name.
    """
    head, _, rest = name.partition(".")
    found: Any = _module(
        root
        if head == "torch"
        else f"{root}._src.neighbours.beside.{head}"
        if root == "jtorch"
        else head
    )
    path = found.__name__ if found is not None else head
    for part in rest.split(".") if rest else ():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                following = getattr(found, part)
        except Exception as error:  # properties and modules that load late may raise anything
            following = _module(f"{path}.{part}") if isinstance(found, ModuleType) else None
            if following is None:
                raise AttributeError(f"{name}: {error}") from None
        found, path = following, f"{path}.{part}"
    if found is None and not rest:
        raise AttributeError(name)
    return found


def kind(name: str, root: str = "jtorch") -> str:
    """``there``, ``refused`` (it says so when it is used) or ``missing``."""
    try:
        found = resolved(name, root)
    except AttributeError:
        return "missing"
    return (
        "refused"
        if (getattr(found, "__doc__", None) or "").startswith("Not offered: ")
        else "there"
    )


def reached(names: Iterable[str], root: str = "jtorch") -> set[str]:
    """The names of torch that a program reaches as attributes once it has imported ``torch``, and
    no more; asked of a new process."""
    script = (
        "import contextlib, sys, warnings\n"
        "warnings.simplefilter('ignore')\n"
        f"import {root} as torch\n"
        "for name in sys.stdin.read().split():\n"
        "    found = torch\n"
        "    with contextlib.suppress(Exception):\n"
        "        for part in name.split('.')[1:]:\n"
        "            found = getattr(found, part)\n"
        "        print(name)\n"
    )
    asked = "\n".join(name for name in names if name.partition(".")[0] == "torch")
    return set(
        subprocess.run(
            [sys.executable, "-c", script], input=asked, text=True, capture_output=True, check=True
        ).stdout.split()
    )


def stored(file: Path = STORED) -> dict[str, str]:
    """The list of the tests: name -> ``attribute``, ``imported`` or ``missing``."""
    lines = (
        line.split() for line in file.read_text().splitlines() if line and not line.startswith("#")
    )
    return {name: rest[0] if rest else "attribute" for name, *rest in lines}


_HEADER = """\
# Names of torch that packages mention, made by `python -m tools.package_names PACKAGES --store \
FILE`, which asks PyTorch 2.13.
# `imported` after a name: something of it must be imported first. `missing`: PyTorch has none such.
"""


def store(names: Iterable[str], file: Path) -> None:
    """Adds names to the list; PyTorch says what they are, so it must be installed."""
    known = stored(file) if file.exists() else {}
    new = sorted(set(names) - set(known))
    attributes = reached(new, "torch")
    for name in new:
        known[name] = (
            "attribute"
            if name in attributes
            else "missing"
            if kind(name, "torch") == "missing"
            else "imported"
        )
    lines = (
        name if state == "attribute" else f"{name} {state}" for name, state in sorted(known.items())
    )
    file.write_text(_HEADER + "\n".join(lines) + "\n")


def main(argv: list[str] | None = None) -> int:
    """Prints the names, or what is missing of them; 1 if anything is."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.package_names", description=__doc__.partition("\n\n")[0]
    )
    parser.add_argument("places", nargs="+")
    parser.add_argument("--list", action="store_true", help="all names, not only what is missing")
    parser.add_argument("--store", type=Path, metavar="FILE", help="add the names to this list")
    parser.add_argument(
        "--as", dest="root", default="jtorch", choices=("jtorch", "torch"), help="whom to ask"
    )
    options = parser.parse_args(argv)
    found = scan(options.places)
    if options.store is not None:
        store(found, options.store)
    kinds = {name: kind(name, options.root) for name in sorted(found)}
    for name, what in kinds.items():
        if options.list or what == "missing":
            print(f"{what:8} {name:60} {found[name]}")  # noqa: T201
    return int("missing" in kinds.values())


if __name__ == "__main__":
    sys.exit(main())
