"""The page that tells how an operation lives: it is added to a copy of the package, and its
examples print what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import jtorch

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
PACKAGE = Path(jtorch.__file__).parent
RUN = """
import doctest, sys
import jtorch
assert jtorch.__file__.startswith(sys.argv[2]), jtorch.__file__
failed, tried = doctest.testfile(sys.argv[1], module_relative=False,
                                 optionflags=doctest.NORMALIZE_WHITESPACE)
sys.exit(1 if failed or tried < 10 else 0)
"""


def mirrored(source: Path, target: Path, *inner: str) -> None:
    """A folder of links to what another holds; ``inner`` is the folder in it that is to be a folder
    of links itself, and so on."""
    target.mkdir()
    for entry in source.iterdir():
        if inner and entry.name == inner[0]:
            mirrored(entry, target / entry.name, *inner[1:])
        elif entry.name != "__pycache__":
            (target / entry.name).symlink_to(entry, target_is_directory=entry.is_dir())


def test_an_operation_that_is_added(tmp_path: Path) -> None:
    mirrored(PACKAGE, tmp_path / "jtorch", "_src", "ops")
    code = re.search(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert code is not None
    (tmp_path / "jtorch" / "_src" / "ops" / "smooth_step.py").write_text(code[1])
    examples = tmp_path / "examples.txt"
    examples.write_text(
        "\n".join(re.findall(r"^```pycon\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL))
    )
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "JTORCH_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", RUN, str(examples), str(tmp_path)]
    done = subprocess.run(
        command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
