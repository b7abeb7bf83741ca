"""The checked-in stubs are what the declarations say, are valid, and type what users write."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from jtorch._src.bind.everything import PUBLIC

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def generator():
    spec = importlib.util.spec_from_file_location("gen_stubs", ROOT / "tools" / "gen_stubs.py")
    module = importlib.util.module_from_spec(spec)
    path = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = path
    return module


@pytest.fixture(scope="module")
def texts(generator):
    return generator.stubs()


def test_stubs_are_not_stale(texts):
    stale = [
        str(path.relative_to(ROOT))
        for path, text in texts.items()
        if not path.exists() or path.read_text() != text
    ]
    assert not stale, "run python tools/gen_stubs.py"


def test_check_tells_what_is_stale(generator, texts, monkeypatch, capsys):
    path = next(iter(texts))
    monkeypatch.setattr(
        generator, "stubs", lambda: {path: texts[path] + "def new_function() -> Tensor: ...\n"}
    )
    assert generator.main(["--check"]) == 1
    assert "new_function" in capsys.readouterr().out
    assert path.read_text() == texts[path]


def test_every_public_callable_is_there(generator, texts):
    said = set()
    files = {"": "__init__.pyi", **generator.NAMESPACES}
    for prefix, file in files.items():
        for node in ast.parse(texts[generator.PACKAGE / file]).body:
            if isinstance(node, ast.FunctionDef):
                said.add(f"{prefix}.{node.name}".lstrip("."))
            elif isinstance(node, ast.ClassDef) and node.name == "Tensor":
                said |= {f"Tensor.{x.name}" for x in node.body if isinstance(x, ast.FunctionDef)}
    named_in_source = ("_C", "sparse")  # modules whose source states each name
    missing = {p for p in PUBLIC if p not in said and p.split(".")[0] not in named_in_source}
    assert not missing


USE = """
import jtorch as torch
import jtorch.nn.functional as F
from typing import assert_type

x = torch.zeros(2, 3)
assert_type(torch.zeros((2, 3), dtype=torch.float32), torch.Tensor)
assert_type(x.permute(1, 0), torch.Tensor)
assert_type(x.permute((1, 0)), torch.Tensor)
assert_type(x.sum(dim=(0, 1), keepdim=True), torch.Tensor)
assert_type(2 * x + x[0] - 1, torch.Tensor)
assert_type(x == 1, torch.Tensor)
assert_type(x.topk(2).values, torch.Tensor)
assert_type(x.split(1), tuple[torch.Tensor, ...])
assert_type(torch.linalg.inv(x), torch.Tensor)
assert_type(F.relu(x).add_(1, alpha=0.5), torch.Tensor)
assert_type(x.ndim, int)
assert_type(x.is_contiguous(), bool)
assert_type(x.shape, torch.Size)
torch.add(x, x, beta=2)
x.sum("rows")
"""


def test_pyright_accepts_the_stubs_and_knows_their_types(generator, tmp_path):
    pytest.importorskip("pyright")
    program = tmp_path / "use.py"
    program.write_text(USE)
    (tmp_path / "pyrightconfig.json").write_text(
        f'{{"extraPaths": ["{ROOT}"], "pythonVersion": "3.11"}}'
    )
    files = [
        str(generator.PACKAGE / file) for file in ["__init__.pyi", *generator.NAMESPACES.values()]
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pyright", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "0 errors" in done.stdout, done.stdout
    command = [
        sys.executable,
        "-m",
        "pyright",
        "--project",
        str(tmp_path),
        "--pythonpath",
        sys.executable,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wrong = [line for line in done.stdout.splitlines() if " error: " in line]
    assert len(wrong) == 2, done.stdout
    assert "beta" in wrong[0]
    assert "rows" in wrong[1]
