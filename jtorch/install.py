"""Makes ``import torch`` mean jtorch: in this process, and in the processes that ``multiprocessing`` starts from it.

Imports only the standard library at the top and nothing of jtorch: child processes load this file by itself, so that those which never
import torch do not pay for it.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

_HERE = os.path.abspath(__file__)
_ROOT = os.path.dirname(os.path.dirname(_HERE))


def _real(name: str) -> str:
    """``jtorch.nn`` for ``torch.nn``."""
    return "j" + name


class _Loader(importlib.abc.Loader):
    """Gives the module ``torch.x`` by importing ``jtorch.x``: one object under both names."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.spec: Any = None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.name)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import system has just set its own
        module.__name__ = "t" + self.name[2:]  # programs look at it, and errors of imports show it

    def is_package(self, fullname: str) -> bool:
        found = importlib.util.find_spec(self.name)
        return found is not None and found.submodule_search_locations is not None

    def get_code(self, fullname: str) -> Any:
        """The code of ``jtorch.x``, for ``python -m torch.x``."""
        found = importlib.util.find_spec(self.name)
        return found.loader.get_code(self.name) if found is not None else None  # type: ignore[union-attr]


class _Distribution(importlib.metadata.Distribution):
    """What ``importlib.metadata`` tells of ``torch``."""

    def read_text(self, filename: str) -> str | None:
        if filename in ("METADATA", "PKG-INFO"):
            version = importlib.import_module("jtorch.version").__version__
            return f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\nSummary: jtorch under PyTorch's name\n"
        return None

    def locate_file(self, path: Any) -> Any:
        from pathlib import Path

        return Path(_ROOT) / path


#: Modules of other packages that read a tensor's memory by its address, which here is not one, and who replaces those functions.
_ADAPTED = {"safetensors.torch": "jtorch._safetensors"}


class _AdaptingLoader(importlib.abc.Loader):
    """Loads a module as it is, and lets an adaptation replace functions in it."""

    def __init__(self, loader: Any, adaptation: str) -> None:
        self.loader, self.adaptation = loader, adaptation

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        importlib.import_module(self.adaptation).adapt(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)


def _adapted(fullname: str, path: Any) -> importlib.machinery.ModuleSpec | None:
    spec = importlib.machinery.PathFinder.find_spec(fullname, path)
    if spec is not None and spec.loader is not None:
        spec.loader = _AdaptingLoader(spec.loader, _ADAPTED[fullname])
    return spec


class _Finder(importlib.abc.MetaPathFinder):
    """Resolves ``torch`` and ``torch.*``, as modules and as a distribution."""

    stands_for_torch = True

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if fullname in _ADAPTED:
            return _adapted(fullname, path)
        if fullname != "torch" and not fullname.startswith("torch."):
            return None
        name = _real(fullname)
        loaded = sys.modules.get(name)
        if loaded is not None and loaded.__spec__ is None:  # made at run time
            return importlib.machinery.ModuleSpec(fullname, _Loader(name))
        found = importlib.util.find_spec(name)
        if found is None:
            return None  # so that the usual error names torch.x
        spec = importlib.machinery.ModuleSpec(fullname, _Loader(name), origin=found.origin)
        spec.submodule_search_locations = found.submodule_search_locations
        spec.has_location = found.has_location
        return spec

    def find_distributions(self, context: Any = None) -> Iterator[importlib.metadata.Distribution]:  # type: ignore[override]
        """The distribution ``torch``."""
        name = getattr(context, "name", None)
        if name is None or name.lower() == "torch":
            yield _Distribution()


def is_installed() -> bool:
    """Whether ``import torch`` means jtorch in this process."""
    return any(getattr(finder, "stands_for_torch", False) for finder in sys.meta_path)


def install() -> None:
    """Makes ``import torch`` and ``import torch.x`` give jtorch's modules from now on.

    Both names stand for the same module objects. ``importlib.metadata.version("torch")`` answers with ``torch.__version__``. Processes
    that ``multiprocessing`` starts (spawn and forkserver as well) do the same. Calling it again changes nothing.

    Raises:
        ImportError: if PyTorch itself has been imported already: the two cannot stand under one name.
    """
    other = sys.modules.get("torch")
    if other is not None and other is not sys.modules.get("jtorch"):
        raise ImportError("jtorch.install() must come before the first 'import torch': PyTorch itself is already imported in this process")
    if is_installed():
        return
    sys.meta_path.insert(0, _Finder())
    _extend_multiprocessing()


class _InstallInChild:
    """Unpickled by a child process before it imports the main module, this makes torch mean jtorch there."""

    def __reduce__(self) -> tuple[Any, ...]:
        source = (
            "import importlib.util\n"
            f"spec = importlib.util.spec_from_file_location('_jtorch_install', {_HERE!r})\n"
            "module = importlib.util.module_from_spec(spec)\n"
            "spec.loader.exec_module(module)\n"
            "module.install()\n"
        )
        return (exec, (source, {}))


def _extend_multiprocessing() -> None:
    from multiprocessing import spawn

    original = spawn.get_preparation_data

    def get_preparation_data(name: str) -> dict[str, Any]:
        data = original(name)
        if _ROOT not in data.get("sys_path", [_ROOT]):
            data["sys_path"] = [*data["sys_path"], _ROOT]
        data["jtorch"] = _InstallInChild()
        return data

    spawn.get_preparation_data = get_preparation_data
