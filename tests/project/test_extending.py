"""The guides: every block of their pages runs, and prints what it says."""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: The pages with blocks, and how many they have.
PAGES = {
    "accelerators.md": 1, "export.md": 16, "extending.md": 34, "profiling.md": 7,
    "quantization.md": 10, "tour.md": 12, "with-jax.md": 10,
}  # fmt: skip
#: Pages whose blocks need several processes: ``tests/distributed/programs/pages.py`` runs them.
WORLDS = {"dtensor.md", "processes.md", "sharded-training.md"}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run(text):
    """Runs the blocks of a page in order, in one namespace; returns how many there were.

    Raises:
        AssertionError: if one prints something else than the page says.
    """
    page = ModuleType("__main__")
    before = sys.modules["__main__"]
    sys.modules["__main__"] = page  # where pickle finds the page's classes
    try:
        return _run(text, page.__dict__)
    finally:
        sys.modules["__main__"] = before


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
            test = doctest.DocTestParser().get_doctest(
                source, names, f"line {line}", "extending.md", line
            )
            doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(
                test, out=problems.append, clear_globs=False
            )
            assert not problems, "".join(problems)
            names.update(test.globs)
        count += 1
    return count


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("page", PAGES)
def test_the_page_runs(page):
    assert run((DOCS / page).read_text()) == PAGES[page]


def test_every_page_with_blocks_is_run():
    with_blocks = {file.name for file in DOCS.glob("*.md") if BLOCK.search(file.read_text())}
    # which adds to the package: tests/project/test_operations_page.py
    assert with_blocks == set(PAGES) | WORLDS | {"operations.md"}
    worlds = (DOCS.parent / "tests" / "distributed" / "programs" / "pages.py").read_text()
    assert all(f'read("{page}"' in worlds for page in WORLDS)


@pytest.mark.parametrize(
    "source",
    [
        ">>> 1 + 1\n3",
        ">>> 1 / 0\nTraceback (most recent call last):\nTypeError: no",
        ">>> undefined",
    ],
)
def test_a_wrong_page_fails(source):
    with pytest.raises(AssertionError):
        run(f"```pycon\n{source}\n```\n")
    with pytest.raises(AssertionError, match="unknown kind"):
        run("```text\n```\n")
