"""Measures how the package hangs together: how far what is known of an operation is spread, and
what imports what.

    python -m tools.structure [--names N] [--cycles]

An operation's name counts as written in a file if it stands there as a word of a text that is no
docstring; names without an underscore are words of their own and do not count. The imports that
count are all of jtorch in jtorch, those inside functions too.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent / "jtorch"
#: What speaks of operations by name because it gives each of them another meaning, or writes them
#: in another language; and the lists of what is left out, where functions of other modules have the
#: same names (those of quantised tensors).
APART = (
    "wrappers", "sparse", "masked", "nested", "distributed/tensor", "_src/refusals", "_src/onnx",
    "_src/quantised", "ao/nn", "ao/quantization",
)  # fmt: skip
#: The signatures of operators, a table of PyTorch's: it counts as one file.
TABLE = ROOT / "_src" / "aten" / "schemas.txt"
_WORD = re.compile(r"[A-Za-z_]\w*")


def sources() -> dict[Path, ast.Module]:
    """The parsed modules of the package."""
    return {path: ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}


def texts(tree: ast.Module) -> Iterator[str]:
    """The string constants of a module, without docstrings and annotations."""
    skipped: set[int] = set()
    for node in ast.walk(tree):  # parents come before what they hold
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str) and id(node) not in skipped:
                yield node.value
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                skipped.add(id(first.value))


def operations() -> dict[str, set[Path]]:
    """The public operations with an underscore in their names, and the files they are written
    in."""
    import jtorch  # noqa: F401  (declares them)
    from jtorch._src.bind.cores import COMPOSITES
    from jtorch._src.ops._declare import OPS

    found: dict[str, set[Path]] = {}
    parameters = {p.name for op in OPS.values() for p in op.params} | {
        p for c in COMPOSITES for p in inspect.signature(c.body).parameters
    }
    for made in (*OPS.values(), *COMPOSITES):
        if made.name in parameters:  # ``pin_memory``: texts do not tell which is meant
            continue
        if "_" in made.name.strip("_") and made.namespace != "_C" and not made.name.startswith("_"):
            parts = made.body.__module__.split(".")[1:]
            file = ROOT.joinpath(*parts).with_suffix(".py")
            found.setdefault(made.name, set()).add(
                file if file.exists() else ROOT.joinpath(*parts, "__init__.py")
            )
    return found


#: What operators and public functions are attributes of where they are named by themselves.
SPACES = ("A", "aten", "T", "F", "M", "L", "S", "FFT")


def named(tree: ast.Module) -> Iterator[str]:
    """What ``texts`` gives, and the operators and functions that a module names as attributes."""
    yield from texts(tree)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in SPACES
        ):
            yield node.attr


def spread(trees: dict[Path, ast.Module], references: bool = False) -> dict[str, set[str]]:
    """For each operation, the files beside its home that write its name as text; with
    ``references``, as an attribute too."""
    homes = operations()
    found: dict[str, set[str]] = {name: set() for name in homes}
    for path, tree in trees.items():
        relative = path.relative_to(ROOT)
        if relative.parts[0] in APART or "/".join(relative.parts[:2]) in APART:
            continue
        for word in {
            w for text in (named if references else texts)(tree) for w in _WORD.findall(text)
        }:
            for name in {word, word.removesuffix("_")} & found.keys():
                if path not in homes[name]:
                    found[name].add(str(relative))
    for name in set(_WORD.findall(TABLE.read_text())) & found.keys():
        found[name].add(str(TABLE.relative_to(ROOT)))
    return found


def module_of(path: Path) -> tuple[str, str]:
    """The dotted name of a module below ``jtorch``, and that of the package that relative imports
    start from."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    package = ".".join(parts[:-1])
    return (package if parts[-1] == "__init__" else ".".join(parts)), package


def imports(path: Path, tree: ast.Module, modules: set[str]) -> Iterator[tuple[str, bool]]:
    """``(module, whether inside a function)`` of each import of a module of jtorch; what only the
    type checker sees does not count."""
    _, package = module_of(path)
    pending: list[tuple[ast.AST, bool]] = [(tree, False)]
    while pending:
        node, inside = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending += [(n, inside) for n in node.orelse]
            continue
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "jtorch":
                    yield alias.name.removeprefix("jtorch").lstrip("."), inside
        elif isinstance(node, ast.ImportFrom) and (
            node.level or (node.module or "").split(".")[0] == "jtorch"
        ):
            base = (
                (node.module or "").removeprefix("jtorch").lstrip(".")
                if not node.level
                else _base(node, package)
            )
            for target in {
                f"{base}.{a.name}".lstrip(".")
                if f"{base}.{a.name}".lstrip(".") in modules
                else base
                for a in node.names
            }:
                yield target, inside
        pending += [(n, inside) for n in ast.iter_child_nodes(node)]


def _base(node: ast.ImportFrom, package: str) -> str:
    parts = package.split(".") if package else []
    parts = parts[: len(parts) - (node.level - 1)]
    return ".".join([*parts, node.module] if node.module else parts)


def graph(trees: dict[Path, ast.Module]) -> tuple[dict[str, set[str]], int]:
    """Who imports whom, and the number of imports inside functions. The package's own ``__init__``
    gathers all and does not count."""
    modules = {module_of(path)[0] for path in trees}
    edges: dict[str, set[str]] = {m: set() for m in modules}
    inside = 0
    for path, tree in trees.items():
        module = module_of(path)[0]
        for target, late in imports(path, tree, modules):
            inside += late
            if target and target in modules and target != module:
                edges[module].add(target)
    edges.pop("", None)
    return edges, inside


def cycles(edges: dict[str, set[str]]) -> list[list[str]]:
    """The groups of modules that import each other, the largest first (Tarjan's strongly connected
    components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(root: str) -> None:
        pending = [(root, iter(sorted(edges[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        while pending:
            node, targets = pending[-1]
            for target in targets:
                if target not in edges:
                    continue
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    pending.append((target, iter(sorted(edges[target]))))
                    break
                if target in stack:
                    low[node] = min(low[node], index[target])
            else:
                pending.pop()
                if pending:
                    low[pending[-1][0]] = min(low[pending[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                    if len(group) > 1:
                        found.append(sorted(group))

    for module in sorted(edges):
        if module not in index:
            visit(module)
    return sorted(found, key=len, reverse=True)


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--names", type=int, default=0, help="show the files and names that are written most"
    )
    parser.add_argument("--cycles", action="store_true", help="show the modules of each cycle")
    options = parser.parse_args()
    trees = sources()
    files = spread(trees)
    edges, inside = graph(trees)
    groups = cycles(edges)
    also = spread(trees, references=True).values()
    counts = [len(where) for where in files.values()]
    apart = [len(where - {str(TABLE.relative_to(ROOT))}) for where in files.values()]
    lines = [
        (
            "files beside its home that write an operation's name: "
            f"{sum(counts) / len(counts):.2f} in the mean, at most {max(counts)}"
        ),
        f"  the table of operators' signatures apart: {sum(apart) / len(apart):.2f}",
        (
            "  names of operators and functions as attributes, which are checked, included: "
            f"{sum(map(len, also)) / len(also):.2f}"
        ),
        (
            f"modules in import cycles: {sum(map(len, groups))} (largest "
            f"{len(groups[0]) if groups else 0})"
        ),
        f"imports inside functions: {inside}",
        f"lines: {sum(len(path.read_text().splitlines()) for path in trees)}",
    ]
    if options.names:
        written = Counter(f for where in files.values() for f in where).most_common(options.names)
        lines += [f"{n:6d} {file}" for file, n in written]
        most = sorted(files.items(), key=lambda item: -len(item[1]))[: options.names]
        lines += [f"{len(where):4d} {name}: {' '.join(sorted(where))}" for name, where in most]
    if options.cycles:
        lines += [f"{len(group)}: {' '.join(group)}" for group in groups]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
