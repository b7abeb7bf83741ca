"""``python -m jtorch typings``: writes stubs that tell type checkers and editors what
``import torch`` is under jtorch. Floor 5.

The stubs hold no types of their own: each module of the namespace names what the module of the same
name in this package has, and there checkers find the types.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import jtorch

_USAGE = "usage: python -m jtorch typings [folder]"
_HEADER = "# Written by `python -m jtorch typings`: `import torch` means jtorch.\n"
#: What this package has beside torch's modules, and what is its own affair: its floors below the
#: namespace.
_INSIDE = {"engine", "ops", "composites", "aten"}


def _packages() -> set[str]:
    """The names of the namespace that are modules."""
    stub = (Path(jtorch.__file__).parent / "__init__.pyi").read_text()
    said = {
        line.rpartition(" ")[2] for line in stub.splitlines() if line.startswith("from . import ")
    }
    return said - _INSIDE


def modules() -> Iterator[str]:
    """The paths of the namespace's modules below ``torch``, ``nn.functional`` for instance."""
    root = Path(jtorch.__file__).parent
    for package in sorted(_packages()):
        yield package
        for file in sorted((root / package).rglob("*.py")):
            path = (
                file.relative_to(root)
                .with_suffix("")
                .as_posix()
                .replace("/", ".")
                .removesuffix(".__init__")
            )
            if path != package and not file.name.startswith("__main__"):
                yield path


def _is_foreign(name: str, value: object, public: bool) -> bool:
    """Whether a module has ``name`` for its own use: ``np``, ``Any``, ``annotations``."""
    if public:
        return False
    if isinstance(value, ModuleType):
        return not value.__name__.startswith(("jtorch.", "torch."))
    if isinstance(value, type) or callable(value):
        return not str(getattr(value, "__module__", "torch")).startswith(("jtorch", "torch"))
    return name == "TYPE_CHECKING" or type(value).__module__ in ("typing", "__future__")


def _names(module: ModuleType) -> list[str]:
    public = set(getattr(module, "__all__", ()))
    found = {
        n
        for n, v in vars(module).items()
        if not n.startswith("__") and not _is_foreign(n, v, n in public)
    }
    return sorted(found | {n for n in public if n.isidentifier()})


def _stub(path: str, below: set[str]) -> str:
    place = f"jtorch.{path}" if path else "jtorch"
    module = importlib.import_module(place)
    source = Path(module.__file__ or "").with_suffix(".pyi")
    names = _said(source) if source.exists() else _names(module)
    # a function may hide its module
    below = {name for name in below if isinstance(getattr(module, name, None), ModuleType | None)}
    lines = [f"from . import {name} as {name}\n" for name in sorted(below)]
    lines += [f"from {place} import {name} as {name}\n" for name in sorted(set(names) - below)]
    return "".join(lines)


def _said(stub: Path) -> set[str]:
    """The names that a stub of this package exports."""
    names: set[str] = set()
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            names |= {a.name for a in node.names if a.asname == a.name}
            if node.names[0].name == "*":
                module = importlib.import_module(f"jtorch.{node.module}")
                own = {
                    n
                    for n, v in vars(module).items()
                    if getattr(v, "__module__", None) == module.__name__ and not n.startswith("_")
                }
                names |= set(getattr(module, "__all__", own))
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return {name for name in names if not name.startswith("_return_")}


def stubs() -> dict[str, str]:
    """The text of each stub by its path below the folder, ``torch/nn/__init__.pyi`` for
    instance."""
    importable = []
    for path in modules():
        try:
            importlib.import_module(f"jtorch.{path}")
        except (ImportError, NotImplementedError):  # needs a package that is not installed
            continue
        importable.append(path)
    below: dict[str, set[str]] = {}
    for path in importable:
        parent, _, name = path.rpartition(".")
        below.setdefault(parent, set()).add(name)
    found = {"torch/__init__.pyi": _HEADER + _stub("", below.pop("", set()))}
    for path in importable:
        place = path.replace(".", "/")
        file = f"torch/{place}/__init__.pyi" if path in below else f"torch/{place}.pyi"
        found[file] = _HEADER + _stub(path, below.get(path, set()))
    return found


def run(arguments: list[str]) -> int:
    """The command: writes the stubs into a folder, ``typings`` if none is named.

    Nothing is written into a folder that has a ``torch`` of another origin.
    """
    if len(arguments) > 1 or any(a.startswith("-") for a in arguments):
        print(_USAGE, file=sys.stderr)
        return 2
    folder = Path(arguments[0] if arguments else "typings")
    first = folder / "torch" / "__init__.pyi"
    if (folder / "torch").exists() and not (
        first.exists() and first.read_text().startswith(_HEADER)
    ):
        print(f"{folder / 'torch'} is there and was not written by this command", file=sys.stderr)
        return 1
    written = stubs()
    for old in (folder / "torch").rglob("*.pyi"):
        if old.relative_to(folder).as_posix() not in written and old.read_text().startswith(
            _HEADER
        ):
            old.unlink()
    for file, text in written.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    print(
        f"wrote {len(written)} stubs to {folder / 'torch'}; pyright reads them there if the folder "
        "is named typings or is its stubPath,"
    )
    print(f"mypy with mypy_path = {folder}")
    return 0
