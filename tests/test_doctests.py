"""The examples in docstrings run and print what they say."""

from __future__ import annotations

import ast
import doctest
from pathlib import Path

import pytest

import jtorch

ROOT = Path(jtorch.__file__).parent


def _examples() -> list[doctest.DocTest]:
    """One test for each docstring with examples, found in the sources: what decorators make of a function does not matter."""
    parser, found = doctest.DocTestParser(), []
    for path in sorted(ROOT.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if ">>>" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                doc = ast.get_docstring(node)
                if doc and ">>>" in doc:
                    name = f"{path.relative_to(ROOT).with_suffix('')}:{getattr(node, 'name', 'module')}"
                    names = {"torch": jtorch, "__name__": "example"}
                    found.append(parser.get_doctest(doc, names, name, str(path), getattr(node, "lineno", 0)))
    return found


EXAMPLES = _examples()


def test_there_are_examples() -> None:
    assert len(EXAMPLES) > 20


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_example(example: doctest.DocTest) -> None:
    jtorch.manual_seed(0)
    text: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(example, out=text.append, clear_globs=False)
    assert not text, "".join(text)
