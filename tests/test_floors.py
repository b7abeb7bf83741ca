"""A lower floor never imports a higher one (``docs/internals.md``), read from the source of every module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "jtorch"

#: Module or package below ``jtorch`` -> floor. What is not listed is floor 5.
FLOORS = {
    "dispatch": 0, "static_types": 0, "_code_cache": 0, "_cache_folders": 0, "_kept_files": 0, "_whole_files": 0, "_startup": 0,
    "_refusals": 0, "_tracebacks": 0, "_refused": 0, "_refused_more": 0,
    "torch_version": 0, "warned_once": 0,
    "overridable": 0, "callers": 0, "errors": 0, "dtypes": 0, "devices": 0, "layouts": 0, "size": 0, "version": 0, "install": 0,
    "ops": 1, "engine": 1,
    "core": 2, "attributes": 0, "writing": 2, "view_history": 2, "result_strides": 2, "storage": 2, "steps": 2, "applying": 2,
    "autograd": 2, "resizing": 2,
    "arguments": 3, "binding": 3, "public_forms": 3, "factories": 3, "functional": 3, "creation": 3, "indexing": 3, "views": 3,
    "view_splits": 3, "tensor_methods": 3, "tensor_numbers": 3, "tensor_objects": 3, "tensor_state": 3, "storages": 3, "typed_storages": 3,
    "module_state": 2, "_key_sampling": 3,
    "printing": 3, "random": 3, "composites": 3, "interop": 3, "pytree": 3, "caching": 3, "return_types": 3, "_mt19937": 3, "_sampling": 3,
    "_box_muller": 3, "_rejection": 3, "argument_errors": 3,
    "": 4, "_C": 4, "_ops": 4, "aten": 4, "_namespace": 4, "linalg": 4, "fft": 4, "special": 4, "overrides": 4, "_overrides": 4, "func": 4,
    "cuda": 4,
    "opaque": 4, "_VF": 4, "compiler": 4, "library": 4, "types": 4, "legacy": 4, "sparse": 4,
    "accelerator": 4, "cpu": 4, "mps": 4, "xpu": 4, "_saving": 4,
    "autograd._profiler_modes": 5, "autograd.functional": 5, "autograd.gradcheck": 5, "autograd.jacobians": 5, "cuda.amp": 5,
    "cpu.amp": 5, "_C._nn": 5, "_C._distributed_c10d": 5,  # written on the public namespace
}  # fmt: skip

#: Floor 5 is written on the public namespace: these are not its business.
KERNELS = {"ops", "engine"}


def floor(module: str) -> int:
    """The floor of a dotted name below ``jtorch`` (``""`` is the package itself)."""
    return FLOORS.get(module, FLOORS.get(module.split(".")[0], 5))


def imports_of(source: str, package: str) -> Iterator[tuple[int, str]]:
    """``(line, module)`` of each import of something in jtorch that runs at import time.

    ``package`` is the dotted package of the module relative to ``jtorch``. Imports inside functions run later and break no order, so
    they do not count; neither do those under ``if TYPE_CHECKING``.
    """
    pending: list[ast.AST] = [ast.parse(source)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending += node.orelse
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "jtorch":
                    yield node.lineno, alias.name.removeprefix("jtorch").lstrip(".")
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, name) for name in _from(node, package))
        pending += ast.iter_child_nodes(node)


def _from(node: ast.ImportFrom, package: str) -> list[str]:
    if node.level == 0:
        if (node.module or "").split(".")[0] != "jtorch":
            return []
        base = (node.module or "").removeprefix("jtorch").lstrip(".")
    else:
        parts = package.split(".") if package else []
        parts = parts[: len(parts) - (node.level - 1)]
        base = ".".join([*parts, node.module] if node.module else parts)
    # `from jtorch import x` imports the module x where there is one, else a public name of the package
    return [alias.name if _is_module(alias.name) else "" for alias in node.names] if not base else [base]


def _is_module(name: str) -> bool:
    return (ROOT / f"{name}.py").exists() or (ROOT / name).is_dir()


def violations(source: str, module: str, package: str) -> list[str]:
    """What ``module`` imports against the order, in words."""
    here = floor(module)
    found = []
    for line, name in imports_of(source, package):
        target = floor(name)
        if target > here:
            found.append(f"line {line}: floor {here} imports jtorch.{name} of floor {target}")
        elif here == 5 and name.split(".")[0] in KERNELS:
            found.append(f"line {line}: floor 5 imports jtorch.{name}, below the public namespace")
    return found


def _modules() -> list[tuple[str, str, Path]]:
    """``(module, package, path)``, dotted relative to ``jtorch``; executables such as ``__main__`` see everything."""
    rows = []
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        package = ".".join(parts[:-1])
        rows.append((package if parts[-1] == "__init__" else ".".join(parts), package, path))
    return rows


#: Tools around the package: they may look at everything. `__init__` itself gathers every floor's names.
FREE = {"", "__main__", "stubs"}


@pytest.mark.parametrize(("module", "package", "path"), [pytest.param(*row, id=row[0] or "jtorch") for row in _modules()])
def test_no_floor_imports_a_higher_one(module: str, package: str, path: Path) -> None:
    if module not in FREE:
        assert violations(path.read_text(), module, package) == []


@pytest.mark.parametrize(
    ("source", "module", "package", "count"),
    [
        ("from jtorch.core import Tensor", "ops.pointwise", "ops", 1),
        ("from ..core import Tensor", "ops.pointwise", "ops", 1),
        ("import jtorch.nn", "core", "", 1),
        ("import jtorch", "autograd.tape", "autograd", 1),
        ("from jtorch.ops import pointwise", "nn.functional", "nn", 1),
        ("from . import engine", "functional", "", 0),
        ("from ._declare import op", "ops.pointwise", "ops", 0),
        ("def f():\n    from jtorch.core import Tensor", "ops.pointwise", "ops", 0),
        ("if TYPE_CHECKING:\n    from jtorch.core import Tensor", "ops.pointwise", "ops", 0),
        ("import jtorch as torch\nfrom jtorch.nn import Module", "optim.sgd", "optim", 0),
        ("import jax\nimport numpy as np", "ops.pointwise", "ops", 0),
    ],
)
def test_the_check_itself(source: str, module: str, package: str, count: int) -> None:
    assert len(violations(source, module, package)) == count
