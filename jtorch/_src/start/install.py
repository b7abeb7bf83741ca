"""Makes ``import torch`` mean jtorch: in this process, and in the processes that
``multiprocessing`` starts from it.

Imports only the standard library at the top and nothing of jtorch: child processes load this file
by itself, so that those which never import torch do not pay for it.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import re
import sys
from collections.abc import Iterator, Sequence
from inspect import get_annotations
from types import FunctionType, ModuleType
from typing import Any

_HERE = os.path.abspath(__file__)
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(_HERE))))


#: What PyTorch's wheel brings beside ``torch``.
_BESIDE = ("functorch", "torchgen")


def _real(name: str) -> str:
    """``jtorch.nn`` for ``torch.nn``."""
    return (
        f"jtorch._src.neighbours.beside.{name}" if name.partition(".")[0] in _BESIDE else "j" + name
    )


def _public(name: str) -> str:
    """``torch.nn`` for ``jtorch.nn``."""
    return (
        name.removeprefix("jtorch._src.neighbours.beside.")
        if name.startswith("jtorch._src.neighbours.beside.")
        else name[1:]
    )


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
        module.__name__ = _public(self.name)  # programs look at it, and errors of imports show it
        _keep_namesakes(self.name, module)
        if (
            self.name == "jtorch"
            and (withheld := sys.modules.get("jtorch._src.protocol.withheld")) is not None
        ):
            withheld.withhold()

    def is_package(self, fullname: str) -> bool:
        found = importlib.util.find_spec(self.name)
        return found is not None and found.submodule_search_locations is not None

    def get_code(self, fullname: str) -> object:
        """The code of ``jtorch.x``, for ``python -m torch.x``."""
        found = importlib.util.find_spec(self.name)
        return found.loader.get_code(self.name) if found is not None else None


def _keep_namesakes(name: str, module: ModuleType) -> None:
    """Has the import system find modules that a package has under the name of a function of theirs:
    it gives what it loads that name."""
    for attribute, x in list(vars(module).items()) if hasattr(module, "__path__") else ():
        hidden = None if isinstance(x, ModuleType) else sys.modules.get(f"{name}.{attribute}")
        if hidden is not None:
            hidden.__name__ = _public(f"{name}.{attribute}")
            sys.modules.setdefault(hidden.__name__, hidden)


class _Distribution(importlib.metadata.Distribution):
    """What ``importlib.metadata`` tells of ``torch``."""

    def read_text(self, filename: str) -> str | None:
        if filename in ("METADATA", "PKG-INFO"):
            version = importlib.import_module("jtorch.version").__version__
            return (
                "Metadata-Version: 2.1\n"
                "Name: torch\n"
                f"Version: {version}\n"
                "Summary: jtorch under PyTorch's name\n"
            )
        return None

    def locate_file(self, path: Any) -> object:
        from pathlib import Path

        return Path(_ROOT) / path


#: Modules of other packages that read a tensor's memory by its address, which here is not one, have
#: operators in C++, start Python anew, or look for distributions themselves; who adapts them.
_ADAPTED = {
    "safetensors.torch": "jtorch._src.neighbours.safetensors",
    "torchvision.extension": "jtorch._src.neighbours.torchvision",
    "torchaudio._extension.utils": "jtorch._src.neighbours.torchaudio",
    "pkg_resources": "jtorch._src.neighbours.distributions",
    "lightning_fabric.strategies.launchers.subprocess_script": "jtorch._src.neighbours.lightning",
    "lightning.fabric.strategies.launchers.subprocess_script": "jtorch._src.neighbours.lightning",
}


#: The packages that torch has too: under its name their modules and classes say so.
_PACKAGES = frozenset(
    "_dynamo _subclasses amp ao autograd backends compiler cpu cuda distributed distributions func "
    "futures fx hub jit library masked mps multiprocessing nested nn onnx optim overrides profiler "
    "random serialization signal sparse storage testing types utils xpu".split()
)
#: Classes that torch has elsewhere.
_PLACES = {
    "torch": {
        "_src.facts.devices": "device", "_src.facts.dtypes": "dtype finfo iinfo",
        "_src.engine.at_once": "OutOfMemoryError", "_src.borders.interop": "AcceleratorError",
        "_src.facts.layouts": "layout memory_format qscheme",
        "_src.facts.size": "Size SymBool SymFloat SymInt",
    },
    "torch.overrides": {"dispatch": "BaseTorchFunctionMode TorchFunctionMode"},
    "torch.autograd.function": {"autograd.function_node": "FunctionCtx"},
    "torch.autograd.graph": {"autograd.engine": "GradientEdge"},
    "torch.library": {"library.definitions": "Library"},
    "torch.storage": {"_src.tensor.untyped_storage": "UntypedStorage",
                      "_src.tensor.typed_storage": "TypedStorage"},
    "torch.serialization": {"_weights_only_unpickler": "StorageType"},
    "torch.fx.graph": {"fx._code": "CodeGen"},
    "torch.optim.lr_scheduler": {"optim._lr_base": "_LRScheduler"},
}  # fmt: skip


def _present(module: ModuleType, name: str) -> None:
    """Lets a module of jtorch, its classes and its functions say where torch has them: programs
    print classes, and look at where layers and functions come from."""
    public = name.split(".")[1] in _PACKAGES
    inner = name.removeprefix("jtorch.")
    places = {
        cls: place for place, table in _PLACES.items() for cls in table.get(inner, "").split()
    }
    if not public and not places:
        return
    for key, value in list(vars(module).items()):
        if public and isinstance(value, FunctionType) and value.__module__ == name:
            value.__module__ = name[1:]
        if (
            isinstance(value, type)
            and value.__module__ in (name, "jtorch")
            and (public or key in places)
        ):
            with contextlib.suppress(TypeError):  # one written in C
                line = vars(value).get("__firstlineno__")
                if key in places:  # its hints name what is known where it was written
                    value.__annotations__ = get_annotations(
                        value, globals=vars(module), eval_str=True
                    )
                value.__module__ = places.get(key, name[1:])
                # from Python 3.13 on a class forgets where it begins when it gets another module
                if line is not None:
                    value.__firstlineno__ = line
    if public:
        module.__name__ = name[1:]
        # where inspect and typing look a class's module up
        sys.modules.setdefault(name[1:], module)


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


def _adapted(fullname: str, path: Sequence[str] | None) -> importlib.machinery.ModuleSpec | None:
    spec = importlib.machinery.PathFinder.find_spec(fullname, path)
    if spec is not None and spec.loader is not None:
        spec.loader = _AdaptingLoader(spec.loader, _ADAPTED[fullname])
    return spec


#: How the dynamic linker names what is PyTorch's: its libraries, and functions of its namespaces in
#: C++ and of its interfaces in C.
_OF_PYTORCH = re.compile(
    r"\b(lib(?:torch|c10|caffe2)\w*)\.(?:so|dylib)"
    r"|symbol(?: not found)?\W+(_Z\w*?(?:2at|3c10|5torch)\d\w*|aoti_torch_\w+|_?THP\w+)"
)


def _explain(error: ImportError, name: str, path: str | None) -> None:
    """Says what an extension that could not be loaded would need, if that is PyTorch itself."""
    needed = _OF_PYTORCH.search(str(error))
    if needed is None:
        return
    error.msg = (
        f"{name} ({path}) is an extension in C++ for PyTorch's tensors, which jtorch has none of: "
        f"it needs {needed[1] or needed[2]}. Use the package without its extension, or write its "
        "operators with torch.library.custom_op, torch.library.jax_op or "
        "torch.utils.cpp_extension.load"
    )
    error.args = (error.msg,)


def _explain_extensions() -> None:
    """Lets failed imports of compiled modules say more; they stay the ``ImportError`` that packages
    catch to do without."""
    original = importlib.machinery.ExtensionFileLoader.create_module

    def create_module(self: Any, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        try:
            return original(self, spec)
        except ImportError as error:
            _explain(error, spec.name, spec.origin)
            raise

    importlib.machinery.ExtensionFileLoader.create_module = create_module


class _PresentingLoader(importlib.abc.Loader):
    """Loads a module of jtorch as it is, then lets it say that it is torch's."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        _present(module, self.loader.name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)


def _presented(fullname: str, path: Sequence[str] | None) -> importlib.machinery.ModuleSpec | None:
    spec = importlib.machinery.PathFinder.find_spec(fullname, path)
    if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
        spec.loader = _PresentingLoader(spec.loader)
    return spec


class _Finder(importlib.abc.MetaPathFinder):
    """Resolves ``torch`` and ``torch.*``, as modules and as a distribution."""

    stands_for_torch = True

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname in _ADAPTED:
            return _adapted(fullname, path)
        if fullname.startswith("jtorch."):
            return _presented(fullname, path)
        if fullname.partition(".")[0] not in ("torch", *_BESIDE):
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

    def find_distributions(
        self, context: object = None
    ) -> Iterator[importlib.metadata.Distribution]:
        """The distribution ``torch``."""
        name = getattr(context, "name", None)
        if name is None or name.lower() == "torch":
            yield _Distribution()


def is_installed() -> bool:
    """Whether ``import torch`` means jtorch in this process."""
    return any(getattr(finder, "stands_for_torch", False) for finder in sys.meta_path)


def install() -> None:
    """Makes ``import torch`` and ``import torch.x`` give jtorch's modules from now on.

    Both names stand for the same module objects. ``importlib.metadata.version("torch")`` answers
    with ``torch.__version__``. Processes that ``multiprocessing`` starts (spawn and forkserver as
    well) do the same. Calling it again changes nothing.

    Raises:
        ImportError: if PyTorch itself has been imported already: the two cannot stand under one
            name.
    """
    other = sys.modules.get("torch")
    if other is not None and other is not sys.modules.get("jtorch"):
        raise ImportError(
            "jtorch.install() must come before the first 'import torch': PyTorch itself is already "
            "imported in this process"
        )
    if is_installed():
        return
    sys.meta_path.insert(0, _Finder())
    for name, module in list(sys.modules.items()):
        if name.startswith("jtorch.") and module is not None:
            _present(module, name)
    _extend_multiprocessing()
    _explain_extensions()


class _InstallInChild:
    """Unpickled by a child process before it imports the main module, this makes torch mean jtorch
    there."""

    def __reduce__(self) -> tuple[object, ...]:
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

    def get_preparation_data(name: str) -> dict[str, object]:
        data = original(name)
        if _ROOT not in data.get("sys_path", [_ROOT]):
            data["sys_path"] = [*data["sys_path"], _ROOT]
        data["jtorch"] = _InstallInChild()
        return data

    spawn.get_preparation_data = get_preparation_data
