"""A lower floor never imports a higher one (``docs/internals.md``), and what is known of a function
stands with it; read from the source of every module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from jtorch._src import hooks
from tools import structure

ROOT = Path(__file__).parents[2] / "jtorch"

#: Module or package below ``jtorch`` -> floor. What is not listed is floor 5.
FLOORS = {
    "dispatch": 0, "torch_version": 0, "version": 0, "_src.hooks": 0,
    "_src.facts": 0, "_src.keeping": 0, "_src.protocol": 0, "_src.refusals": 0,
    "_src.ops": 1, "_src.engine": 1,
    "core": 2, "autograd": 2,
    **dict.fromkeys((f"_src.tensor.{name}" for name in (
        "aliases", "described", "recorded", "looking",
        "cells", "overwriting", "setting", "view_steps", "running", "writing", "view_history",
        "result_strides", "resizing", "module_state", "shape_env", "size_texts", "symbols",
    )), 2),
    "_src.tensor": 3, "_src.bind": 3, "_src.draws": 3, "_src.borders": 3, "_src.composites": 3,
    "random": 3, "return_types": 3, "": 4, "_C": 4, "_ops": 4, "_src.aten": 4, "linalg": 4,
    "fft": 4, "special": 4, "overrides": 4, "func": 4, "functional": 4, "ops": 4, "_VF": 4,
    "compiler": 4, "library": 4, "types": 4, "sparse": 4, "amp.policies": 4, "accelerator": 4,
    "cuda": 4, "cpu": 4, "mps": 4, "xpu": 4, "_src.files.saving": 4, "_src.files.archive": 3,
    "_src.files.archive_records": 3, "_src.start": 6,  # imported by `__init__.py` alone
    # what stands in a folder for what it is about, on another floor than the rest of it
    **dict.fromkeys((f"_src.start.{name}" for name in ("pausing", "install", "tracebacks",
                                                       "variables", "old_pickles")), 0),
    "_src.tensor.own_attributes": 0, "_src.keeping.compiled": 3, "_src.bind.namespace": 4,
    "_src.tensor.opaque": 4, "_src.quantised": 4, "_src.tensor.legacy_classes": 4,
    "utils._pytree": 3, "utils._pytree_nodes": 3,
    # written on the public namespace
    "_src.keeping.command": 5, "_src.start.typings": 5, "_src.refusals.functions": 5,
    "_src.tensor.legacy_storage": 5, "_src.bind.underscored": 5, "_src.bind.fused_layers": 5,
    "_src.bind.conditions": 5, "_src.borders.streams": 5, "_src.files": 5, "_src.neighbours": 5,
    "_src.onnx": 5,
    "autograd._profiler_modes": 5, "autograd.functional": 5, "autograd.gradcheck": 5,
    "autograd.jacobians": 5, "autograd.sparse_inputs": 5, "cuda.amp": 5, "cpu.amp": 5, "_C._nn": 5,
    "_C._distributed_c10d": 5, "storage": 5,
}  # fmt: skip

#: Floor 5 is written on the public namespace: these are not its business.
KERNELS = ("_src.ops", "_src.engine")


def floor(module: str) -> int:
    """The floor of a dotted name below ``jtorch`` (``""`` is the package itself)."""
    while module and module not in FLOORS:
        module = module.rpartition(".")[0]
        if not module:
            return 5
    return FLOORS[module]


def imports_of(source: str, package: str) -> Iterator[tuple[int, str]]:
    """``(line, module)`` of each import of something in jtorch that runs at import time.

    ``package`` is the dotted package of the module relative to ``jtorch``. Imports inside functions
    run later and break no order, so they do not count; neither do those under ``if TYPE_CHECKING``.
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
    # `from package import x` imports the module x where there is one, else a name of the package
    return [
        full if _is_module(full := f"{base}.{alias.name}".lstrip(".")) else base
        for alias in node.names
    ]


def _is_module(name: str) -> bool:
    path = ROOT / name.replace(".", "/")
    return path.with_suffix(".py").exists() or path.is_dir()


def violations(source: str, module: str, package: str) -> list[str]:
    """What ``module`` imports against the order, in words."""
    here = floor(module)
    found = []
    for line, name in imports_of(source, package):
        target = floor(name)
        if target > here:
            found.append(f"line {line}: floor {here} imports jtorch.{name} of floor {target}")
        elif here == 5 and f"{name}.".startswith(tuple(f"{kernels}." for kernels in KERNELS)):
            found.append(f"line {line}: floor 5 imports jtorch.{name}, below the public namespace")
    return found


def _modules() -> list[tuple[str, str, Path]]:
    """``(module, package, path)``, dotted relative to ``jtorch``; executables such as ``__main__``
    see everything."""
    rows = []
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        package = ".".join(parts[:-1])
        rows.append((package if parts[-1] == "__init__" else ".".join(parts), package, path))
    return rows


#: Tools around the package: they may look at everything. `__init__` itself gathers every floor's
#: names.
FREE = {"", "__main__", "stubs"}


@pytest.mark.parametrize(
    ("module", "package", "path"), [pytest.param(*row, id=row[0] or "jtorch") for row in _modules()]
)
def test_no_floor_imports_a_higher_one(module: str, package: str, path: Path) -> None:
    if module not in FREE:
        assert violations(path.read_text(), module, package) == []


@pytest.mark.parametrize(
    ("source", "module", "package", "count"),
    [
        ("from jtorch.core import Tensor", "_src.ops.pointwise", "_src.ops", 1),
        ("from ...core import Tensor", "_src.ops.pointwise", "_src.ops", 1),
        ("import jtorch.nn", "core", "", 1),
        ("import jtorch", "autograd.tape", "autograd", 1),
        ("from jtorch._src.ops import pointwise", "nn.functional", "nn", 1),
        ("from .. import engine", "_src.bind.everything", "_src.bind", 0),
        ("from ._declare import op", "_src.ops.pointwise", "_src.ops", 0),
        ("def f():\n    from jtorch.core import Tensor", "_src.ops.pointwise", "_src.ops", 0),
        (
            "if TYPE_CHECKING:\n    from jtorch.core import Tensor",
            "_src.ops.pointwise",
            "_src.ops",
            0,
        ),
        ("import jtorch as torch\nfrom jtorch.nn import Module", "optim.sgd", "optim", 0),
        ("import jax\nimport numpy as np", "_src.ops.pointwise", "_src.ops", 0),
    ],
)
def test_the_check_itself(source: str, module: str, package: str, count: int) -> None:
    assert len(violations(source, module, package)) == count


# ---- how the package hangs together --------------------------------------------------------------

#: What serves all functions reads declarations; these know none of them by name. The exceptions are
#: no tables: each is one case.
GENERAL: dict[str, set[str]] = {
    "dispatch.py": set(),
    "_src/protocol/overridable.py": set(),
    "_src/protocol/slow_path.py": set(),
    "_src/facts/static_types.py": set(),
    "_src/facts/errors.py": set(),
    "_src/facts/devices.py": set(),
    "_src/bind/deprecated_overloads.py": set(),
    "_src/bind/argument_errors.py": {
        "true_divide",
        "pin_memory",
        "new_tensor",
    },  # overloads that messages do not list, and hand-written parsers
    "_src/bind/arguments.py": set(),
    "_src/tensor/running.py": set(),
    "_src/tensor/writing.py": set(),
    "func/capturing.py": set(),
    "_src/bind/cores.py": set(),
    "_src/bind/host_cores.py": set(),
    "_src/bind/forms.py": set(),
    "_src/bind/everything.py": {
        "element_size",
        "storage_offset",
        "is_contiguous",
        "requires_grad_",
        "data_ptr",
    },  # methods of the class itself
    "autograd/names.py": set(),
    "amp/policies.py": set(),
    "amp/autocast_mode.py": set(),
    "_src/aten/functions.py": {"can_cast", "result_type"},  # not declared as functions of tensors
    "_src/aten/schema.py": set(),
    "_src/aten/declared.py": set(),
    "_src/ops/_declare.py": set(),
    "_src/ops/_facts.py": {"sum", "istft"},
    "_src/ops/_kernel.py": set(),
    "_src/ops/_derivative_calls.py": set(),
    "_src/ops/_nodes.py": set(),
}


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    return structure.sources()


@pytest.fixture(scope="module")
def spread(trees: dict[Path, ast.Module]) -> dict[str, set[str]]:
    return structure.spread(trees)


@pytest.mark.parametrize("file", GENERAL)
def test_what_serves_all_functions_knows_none_by_name(
    file: str, spread: dict[str, set[str]]
) -> None:
    assert (structure.ROOT / file).exists()
    assert {name for name, files in spread.items() if file in files} <= GENERAL[file]


def test_what_is_known_of_a_function_is_not_spread(
    trees: dict[Path, ast.Module], spread: dict[str, set[str]]
) -> None:
    """Bounds that are to fall: the mean number of files beside its home that write a function's
    name, and the greatest."""
    counts = [len(files) for files in spread.values()]
    assert sum(counts) / len(counts) <= 0.41
    assert max(counts) <= 4
    # an attribute is found when it is loaded, but it is a place to look at, too
    also = structure.spread(trees, references=True).values()
    assert sum(map(len, also)) / len(also) <= 1.445


#: Modules that import each other, inside functions too, and why.
CYCLES = {
    "_src.engine.calls _src.engine.checks _src.engine.room _src.engine.tiers _src.engine.trie": (
        "the way of a call, in which each step may lead back to the first"
    ),
    "wrappers.masked.functions wrappers.masked.handlers wrappers.masked.sparse "
    "wrappers.masked.tensor": ("the class asks its table of functions, which make it"),
    "wrappers.nested.custom wrappers.nested.tensor": (
        "the class hands custom functions on, which make it"
    ),
    "fx._symbolic_trace fx.graph_module": (
        "a graph module is traced again from its code, tracing makes one"
    ),
    "distributed.checkpoint.state_dict distributed.fsdp._wrapper": (
        "the older wrapper is written with the newer functions, which know it"
    ),
    "_src.draws.box_muller _src.draws.sampling": (
        "one computation in two forms, the compiled one loaded for large tensors"
    ),
}


def test_imports_inside_functions_and_cycles_do_not_grow(trees: dict[Path, ast.Module]) -> None:
    edges, inside = structure.graph(trees)
    assert inside <= 117
    assert {" ".join(group) for group in structure.cycles(edges)} == CYCLES.keys()


def test_ignored_types_do_not_grow(trees: dict[Path, ast.Module]) -> None:
    """What the type checker is told not to see: a bound that is to fall."""
    assert (
        sum(
            line.count("# type: ignore") for path in trees for line in path.read_text().splitlines()
        )
        <= 203
    )


def test_nothing_is_imported_upward_inside_functions(trees: dict[Path, ast.Module]) -> None:
    """A lower floor that needs a higher one has a hook for it."""
    names = {structure.module_of(path)[0] for path in trees}
    found = []
    for path, tree in trees.items():
        module = structure.module_of(path)[0]
        if module not in FREE:
            found += [
                (module, target)
                for target, late in structure.imports(path, tree, names)
                if late and floor(target) > floor(module)
            ]
    assert found == []


def test_every_hook_is_filled_asked_for_and_described() -> None:
    """Each leads to something, has its line in the documents, and somebody who asks for it."""
    import jtorch  # noqa: F401  (fills them)
    from jtorch._src.hooks import HOOKS

    assert len(HOOKS) > 30
    page = (ROOT.parent / "docs" / "internals.md").read_text()
    sources = [
        path.read_text()
        for path in ROOT.rglob("*.py")
        if path.relative_to(ROOT).as_posix() not in ("_src/hooks.py", "_src/start/hooks.py")
    ]
    for name, hook in HOOKS.items():
        assert hook.get() is not None, name
        assert f"`{name}`" in page, name
        assert any(
            re.search(rf"hooks\.{name}\b|from [.\w]*hooks import [^\n]*\b{name}\b", source)
            for source in sources
        ), name


def test_a_hook_is_filled_once_and_before_it_is_asked_for() -> None:
    hook = hooks.Hook("for_this_test")
    del hooks.HOOKS["for_this_test"]
    with pytest.raises(RuntimeError, match="for_this_test is asked for before it is filled"):
        hook()
    hook.fill(lambda: max)
    assert hook(1, 2) == 2
    assert hook.get() is max
    with pytest.raises(RuntimeError, match="for_this_test is filled already"):
        hook.fill(lambda: min)


def test_the_measure_itself() -> None:
    tree = ast.parse('"""Docstring of x_y."""\ndef f():\n    "a_b"\n    return "c_d", "e f_g"\n')
    assert sorted(structure.texts(tree)) == ["c_d", "e f_g"]
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert structure.cycles(edges) == [["a", "b", "c"]]
