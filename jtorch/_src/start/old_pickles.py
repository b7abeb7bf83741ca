"""Pickles of earlier versions name functions and classes by modules that are no more: these are
made when a pickle asks for them.

New pickles name public modules only, so that this table need not grow when inner modules move.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
from types import ModuleType
from typing import Any

_ROOT = __name__.partition(".")[0]
#: Module -> name -> where it stands, below the package.
_NAMES = {
    "aten": {},
    "aten.overloads": {"_find": "_utils._operator_by_name"},
    "devices": {"device": "device"},
    "dtypes": {"_by_name": "_utils._dtype_by_name", "dtype": "dtype"},
    "engine": {},
    "engine.run": {"OutOfMemoryError": "OutOfMemoryError"},
    "interop": {"AcceleratorError": "AcceleratorError"},
    "layouts": dict.fromkeys((
        "strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "_mkldnn",
        "jagged", "contiguous_format", "preserve_format", "channels_last", "channels_last_3d",
        "layout", "memory_format",
    ), ""),
    "size": dict.fromkeys(("Size", "SymInt", "SymFloat", "SymBool"), ""),
    "storages": {"_load_from_bytes": "storage._load_from_bytes"},
    "tensor_methods": {"_rebuild": "_utils._rebuild_from_array"},
}  # fmt: skip


class _Loader(importlib.abc.Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        names = _NAMES[module.__name__.partition(".")[2]]
        module.__doc__ = "What pickles of earlier versions name."

        def __getattr__(name: str) -> Any:
            if name not in names:
                raise AttributeError(f"module '{module.__name__}' has no attribute '{name}'")
            place, _, leaf = f"{_ROOT}.{names[name] or name}".rpartition(".")
            return getattr(importlib.import_module(place), leaf)

        module.__getattr__ = __getattr__


class Finder(importlib.abc.MetaPathFinder):
    """Finds these modules; asked after all others."""

    @staticmethod
    def find_spec(
        fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module's spec, if pickles name it."""
        root, _, own = fullname.partition(".")
        if root != _ROOT or own not in _NAMES:
            return None
        return importlib.machinery.ModuleSpec(fullname, _Loader(), is_package=True)
