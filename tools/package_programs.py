"""Runs the programs of ``tests/packages/programs``: ``python [-m jtorch] -m tools.package_programs
PROGRAM [PART ...] [--to FILE]``.

A program is a module with ``NEEDS`` (the packages to import) and functions, its parts, each of
which is seeded anew and gives numbers, texts, lists or dicts of them. The same file runs on PyTorch
and, under ``python -m jtorch``, on jtorch, and ``differences`` compares what came out. What PyTorch
gave is kept in ``tests/packages/numbers``, with the versions that it ran with.
"""

from __future__ import annotations

import argparse
import ast
import importlib.metadata
import importlib.util
import inspect
import json
import math
import random
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).parents[1] / "tests" / "packages"
NUMBERS = FOLDER / "numbers"

#: Distributions whose modules have other names.
_DISTRIBUTIONS = {
    "ignite": "pytorch-ignite", "backpack": "backpack-for-pytorch", "pyro": "pyro-ppl",
    "sklearn": "scikit-learn", "blitz": "blitz-bayesian-pytorch", "laplace": "laplace-torch",
    "curvlinops": "curvlinops-for-pytorch", "open_clip": "open_clip_torch",
    "pytorch_grad_cam": "grad-cam", "kan": "pykan", "neuralop": "neuraloperator",
    "pina": "pina-mathlab",
}  # fmt: skip

#: How far floats may be apart, relative and absolute: sums in another order, over some steps of
#: training.
RELATIVE, ABSOLUTE = 1e-3, 1e-4


def names() -> list[str]:
    """The programs."""
    return sorted(path.stem for path in (FOLDER / "programs").glob("*.py"))


def about(name: str) -> tuple[list[str], str]:
    """The packages that a program needs, and what it says of itself; it is not imported."""
    tree = ast.parse((FOLDER / "programs" / f"{name}.py").read_text())
    for node in tree.body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == "NEEDS"
        ):
            return ast.literal_eval(node.value), ast.get_docstring(tree) or ""
    raise ValueError(f"the program {name} does not say what it needs")


def missing(name: str) -> list[str]:
    """The packages that a program needs and that are not installed."""
    return [package for package in about(name)[0] if importlib.util.find_spec(package) is None]


def versions(name: str) -> dict[str, str]:
    """The versions of the packages that a program needs, where they are known."""
    found = {}
    for package in about(name)[0]:
        try:
            found[package] = importlib.metadata.version(_DISTRIBUTIONS.get(package, package))
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _load(name: str) -> ModuleType:
    path = FOLDER / "programs" / f"{name}.py"
    # not the package's own name
    spec = importlib.util.spec_from_file_location(f"program_of_{name}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no program")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _parts(program: ModuleType) -> dict[str, Callable[[], Any]]:
    """The parts of a program: its public functions."""
    found = vars(program).items()
    return {
        k: v
        for k, v in found
        if inspect.isfunction(v) and not k.startswith("_") and v.__module__ == program.__name__
    }


def _plain(value: Any) -> Any:
    """Tensors and arrays as lists, numbers as Python's."""
    import numpy as np
    import torch

    if isinstance(value, torch.Tensor):
        value = value.detach()
        return _plain((value.double() if value.is_floating_point() else value).tolist())
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    return float(value) if isinstance(value, float) else str(value)


def run(name: str, wanted: list[str] | None = None) -> dict[str, Any]:
    """What the parts of a program give; of one that fails the error."""
    import numpy as np
    import torch

    warnings.simplefilter("ignore")
    results: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    for part, function in _parts(_load(name)).items():
        if wanted and part not in wanted:
            continue
        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(0)
        start = time.perf_counter()
        try:
            results[part] = _plain(function())
        except Exception as error:
            traceback.print_exc()
            results[part] = {"error": f"{type(error).__name__}: {error}"}
        seconds[part] = round(time.perf_counter() - start, 1)
    return {
        "versions": {"torch": torch.__version__, **versions(name)},
        "seconds": seconds,
        "parts": results,
    }


def _apart(expected: Any, given: Any, where: str) -> Iterator[str]:
    if isinstance(expected, dict) and isinstance(given, dict) and expected.keys() == given.keys():
        for key in expected:
            yield from _apart(expected[key], given[key], f"{where}[{key!r}]")
    elif isinstance(expected, list) and isinstance(given, list) and len(expected) == len(given):
        for i, pair in enumerate(zip(expected, given)):
            yield from _apart(*pair, f"{where}[{i}]")
    elif isinstance(expected, float) and isinstance(given, float):
        if not (
            math.isclose(expected, given, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
            or (math.isnan(expected) and math.isnan(given))
        ):
            yield f"{where}: {given} instead of {expected}"
    elif expected != given or type(expected) is not type(given):
        yield f"{where}: {given!r} instead of {expected!r}"


def differences(expected: dict[str, Any], given: dict[str, Any]) -> dict[str, list[str]]:
    """For each part of a program, where the second of two results differs from the first."""
    second = given["parts"]
    return {
        part: list(_apart(value, second.get(part), part))
        for part, value in expected["parts"].items()
    }


def main(argv: list[str] | None = None) -> int:
    """Runs a program, and writes what it gives."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.package_programs", description=__doc__.partition("\n\n")[0]
    )
    parser.add_argument("program", choices=names())
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--to", type=Path)
    options = parser.parse_args(argv)
    result = run(options.program, options.parts)
    text = json.dumps(result, indent=1) + "\n"
    if options.to:
        options.to.write_text(text)
    else:
        sys.stdout.write(text)
    return any(isinstance(part, dict) and "error" in part for part in result["parts"].values())


if __name__ == "__main__":
    sys.exit(main())
