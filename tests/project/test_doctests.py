"""The examples in docstrings run and print what they say: those in the sources, and those of
docstrings that are generated."""

from __future__ import annotations

import ast
import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import jtorch
from jtorch._src.bind.everything import PUBLIC

ROOT = Path(jtorch.__file__).parent
NAMES = {"torch": jtorch, "__name__": "example"}


def _written() -> Iterator[tuple[str, str, Path, int]]:
    """Name, docstring and place of everything in the sources: what decorators make of a function
    does not matter."""
    for path in sorted(ROOT.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if ">>>" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                doc = ast.get_docstring(node)
                if doc and ">>>" in doc:
                    name = (
                        f"{path.relative_to(ROOT).with_suffix('')}:"
                        f"{getattr(node, 'name', 'module')}"
                    )
                    yield name, doc, path, getattr(node, "lineno", 0)


def _generated(written: set[str]) -> Iterator[tuple[str, str]]:
    """Public path and docstring of what is made at import."""
    properties = {
        f"Tensor.{name}": found
        for name, found in vars(jtorch.Tensor).items()
        if isinstance(found, property)
    }
    for path, found in {**PUBLIC, **properties}.items():
        doc = inspect.cleandoc(found.__doc__ or "").rstrip()
        if ">>>" in doc and doc not in written:
            yield path, doc


def _examples() -> list[doctest.DocTest]:
    parser = doctest.DocTestParser()
    written = list(_written())
    found = [
        parser.get_doctest(doc, NAMES, name, str(path), line) for name, doc, path, line in written
    ]
    generated = _generated({doc.rstrip() for _, doc, _, _ in written})
    return found + [
        parser.get_doctest(doc, NAMES, f"generated:{path}", None, 0) for path, doc in generated
    ]


EXAMPLES = _examples()


def test_there_are_examples() -> None:
    names = {e.name for e in EXAMPLES}
    assert len(names) > 500
    assert {"generated:_foreach_abs_", "generated:Tensor.float", "core:Tensor"} <= names


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_example(example: doctest.DocTest) -> None:
    jtorch.manual_seed(0)
    text: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(
        example, out=text.append, clear_globs=False
    )
    assert not text, "".join(text)
