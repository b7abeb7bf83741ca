"""Every test asserts something: itself, or through a function of the tests that it calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parents[1]
#: Calls that fail where something is not as it should be.
FAILING = (
    "raises",
    "warns",
    "deprecated_call",
    "fail",
    "gradcheck",
    "gradgradcheck",
    "check_call",
    "check_output",
)


class Function(NamedTuple):
    """A function of the tests: whether it asserts by itself, and the names that it mentions."""

    asserts: bool
    mentions: frozenset[str]


def function_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Function:
    asserts, mentions = False, set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assert | ast.Raise):
            asserts = True
        name = (
            inner.attr
            if isinstance(inner, ast.Attribute)
            else inner.id
            if isinstance(inner, ast.Name)
            else ""
        )
        asserts = (
            asserts
            or name in FAILING
            or name.lower().startswith("assert")
            or name == "check_returncode"
        )
        mentions.add(name)
        if (
            isinstance(inner, ast.keyword)
            and inner.arg == "check"
            and isinstance(inner.value, ast.Constant)
        ):
            asserts = asserts or inner.value.value is True  # ``subprocess.run(..., check=True)``
    return Function(asserts, frozenset(mentions))


def functions_of(tree: ast.Module) -> dict[str, Function]:
    """The functions and methods of a module by name."""
    return {
        n.name: function_of(n)
        for n in ast.walk(tree)
        if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def imported(tree: ast.Module) -> Iterator[str]:
    """The last names of the modules that a module imports, or imports from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield (node.module or "").rpartition(".")[2]
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name.rpartition(".")[2] for alias in node.names)


def without_assertion(files: dict[str, ast.Module]) -> list[str]:
    """The tests, as ``file::name``, that assert nothing; ``files`` are the modules of the tests by
    path."""
    functions = {file: functions_of(tree) for file, tree in files.items()}
    by_stem: dict[str, list[str]] = {}
    for file in files:
        by_stem.setdefault(Path(file).stem, []).append(file)
    near = {
        file: [file, *[f for stem in {*imported(tree), "conftest"} for f in by_stem.get(stem, [])]]
        for file, tree in files.items()
    }
    asserting = {
        (file, name) for file, made in functions.items() for name, f in made.items() if f.asserts
    }
    while True:
        more = {
            (file, name)
            for file, made in functions.items()
            for name, f in made.items()
            if (file, name) not in asserting
            and any((other, n) in asserting for other in near[file] for n in f.mentions)
        }
        if not more:
            break
        asserting |= more
    return [
        f"{file}::{name}"
        for file, tree in files.items()
        for name in collected(tree)
        if Path(file).name.startswith("test_") and (file, name) not in asserting
    ]


def collected(tree: ast.Module) -> Iterator[str]:
    """The functions that pytest takes for tests: those of the module and of its classes, not those
    inside functions."""
    for node in tree.body:
        for inner in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and inner.name.startswith(
                "test"
            ):
                yield inner.name


def test_every_test_asserts_something() -> None:
    files = {
        path.relative_to(TESTS).as_posix(): ast.parse(path.read_text())
        for path in sorted(TESTS.rglob("*.py"))
    }
    assert len(files) > 100
    assert without_assertion(files) == []


def test_what_counts_as_an_assertion() -> None:
    helper = "def same(a, b):\n    assert a == b\n\ndef shown(a):\n    print(a)\n"
    tests = (
        "from helper import same, shown\nimport pytest\n"
        "def test_itself():\n    assert 1\n"
        "def test_by_a_helper():\n    same(1, 1)\n"
        "def test_by_another():\n    local(1)\n"
        "def local(a):\n    same(a, a)\n"
        "def test_that_something_is_refused():\n"
        "    with pytest.raises(TypeError):\n"
        "        len(1)\n"
        "def test_nothing():\n    shown(1)\n"
    )
    assert without_assertion({"helper.py": ast.parse(helper), "test_it.py": ast.parse(tests)}) == [
        "test_it.py::test_nothing"
    ]
