"""The functions with which ``onnxscript`` writes ATen's operators in ONNX."""

# pyright: reportMissingImports=false

from __future__ import annotations

import builtins
import importlib
import importlib.abc
import importlib.machinery
import sys
import threading
from collections.abc import Callable, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import jtorch as torch

#: The module of theirs that imports ``torch``.
_ON_TORCH = "onnxscript.function_libs.torch_lib.ops.core"
_loading = threading.Lock()


def _import(name: str, *given: Any) -> Any:
    """``__import__`` for that module: ``torch`` is this package, whether it has that name or not,
    and PyTorch, where it is installed, is left alone."""
    if name == "torch":
        return torch
    found = builtins.__import__(name, *given)
    names = given[2] if len(given) > 2 and given[2] else ()
    if "version_utils" not in names:
        return found
    # asks for PyTorch's version
    asked = {**vars(found.version_utils), "torch_older_than": lambda _: False}
    shown = {n: getattr(found, n) for n in names}
    return SimpleNamespace(**{**shown, "version_utils": SimpleNamespace(**asked)})


class _Loader(importlib.machinery.SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": _import}
        super().exec_module(module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _ON_TORCH:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def _registry() -> Any:
    with _loading:
        if _ON_TORCH not in sys.modules:
            finder = _Finder()
            sys.meta_path.insert(0, finder)
            try:
                importlib.import_module("onnxscript.function_libs.torch_lib.ops")
            finally:
                sys.meta_path.remove(finder)
    return importlib.import_module(
        "onnxscript.function_libs.torch_lib.registration"
    ).default_registry


def _key(target: Any) -> str:
    """The name under which the registry knows a target of a graph's nodes."""
    if isinstance(target, torch._ops.OpOverload):
        name = target.overloadpacket.__name__
        overload = target._overloadname
        return f"{target.namespace}::{name}" + ("" if overload == "default" else f".{overload}")
    module = getattr(target, "__module__", "") or ""
    return f"{module}::{getattr(target, '__name__', target)}"


def find(target: object, on_complex: bool) -> Callable[..., Any] | None:
    """The function that writes an operator, for complex operands another one than for real ones;
    None if there is none."""
    registry = _registry()
    key = _key(target)
    if key not in registry:
        return None
    found = registry[key]
    functions = found.complex if on_complex else found.overloads
    return functions[0] if functions else None


def has(target: object) -> bool:
    """Whether there is a function for an operator."""
    return _key(target) in _registry()
