"""The classes behind ``torch.ops``: operators by name and signature."""

from __future__ import annotations

import importlib
import os
from typing import Any

from ._src.aten import lowering as _lowering  # noqa: F401  (calls of operators need it)
from ._src.aten.overloads import OpOverload as OpOverload
from ._src.aten.overloads import OpOverloadPacket as OpOverloadPacket
from ._src.aten.overloads import _OpNamespace as _OpNamespace
from ._src.aten.overloads import namespace_of as _namespace_of
from ._src.refusals import stand_ins as _refusals


def namespace(name: str) -> _OpNamespace:
    """``torch.ops.<name>``; a namespace without operators if nobody has defined any."""
    if name == "higher_order":
        importlib.import_module("jtorch._higher_order_ops.operators")
    return _namespace_of(name)


#: What ``torch.ops`` has beside namespaces.
OF_OPS = ("load_library", "loaded_libraries")
loaded_libraries: set[str] = set()


def load_library(path: str) -> None:
    """Refuses a library of operators in C++: they are compiled against PyTorch's own tensors, which
    are not here.

    Raises:
        OSError: always, as for a library that cannot be loaded, which is what packages with kernels
            in C++ catch.
    """
    path = os.fspath(path)
    if os.path.exists(path):
        raise OSError(
            f"Could not load this library: {path}. It is an extension in C++ for PyTorch's "
            "tensors, which jtorch has none of; use the package without its extension, or define "
            "its operators with torch.library.custom_op or torch.library.jax_op"
        )
    raise OSError(f"Could not load this library: {path}")


_missing = _refusals.missing(__name__)


def __getattr__(name: str) -> Any:
    return importlib.import_module("jtorch.ops") if name == "ops" else _missing(name)
