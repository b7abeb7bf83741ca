"""The guides: every block of their pages runs, and prints what it says."""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path
from types import ModuleType
from unittest import mock

import pytest

DOCS = Path(__file__).parent.parent / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run(text):
    """Runs the blocks of a page in order, in one namespace; returns how many there were.

    Raises:
        AssertionError: if one prints something else than the page says.
    """
    page = ModuleType("__main__")
    with mock.patch.dict(sys.modules, {"__main__": page}):  # where pickle finds the page's classes
        return _run(text, page.__dict__)


def _run(text, names):
    count = 0
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        kind, source = found.groups()
        assert kind in ("python", "pycon"), f"line {line}: a block of unknown kind {kind!r}"
        if kind == "python":
            exec(compile("\n" * line + source, "extending.md", "exec"), names)
        else:
            problems = []
            test = doctest.DocTestParser().get_doctest(source, names, f"line {line}", "extending.md", line)
            doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(test, out=problems.append, clear_globs=False)
            assert not problems, "".join(problems)
            names.update(test.globs)
        count += 1
    return count


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("page", "blocks"),
    [("extending.md", 34), ("quantization.md", 3), ("with-jax.md", 10), ("profiling.md", 7), ("export.md", 8)],
)
def test_the_page_runs(page, blocks):
    assert run((DOCS / page).read_text()) == blocks


@pytest.mark.parametrize("source", [">>> 1 + 1\n3", ">>> 1 / 0\nTraceback (most recent call last):\nTypeError: no", ">>> undefined"])
def test_a_wrong_page_fails(source):
    with pytest.raises(AssertionError):
        run(f"```pycon\n{source}\n```\n")
    with pytest.raises(AssertionError, match="unknown kind"):
        run("```text\n```\n")
