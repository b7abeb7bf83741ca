"""``torch.classes``: classes of TorchScript that C++ extensions register. No such extension can be
loaded, so there are none."""

from __future__ import annotations

from typing import Any

from ._ops import load_library as load_library

#: A package without folders, as programs that look through loaded modules expect.
__path__: list[str] = []
loaded_libraries: set[str] = set()


class _Namespace:
    """``torch.classes.<namespace>``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError(
            f"Tried to instantiate class '{self.name}.{name}', but it does not exist! Ensure that "
            "it is registered via torch::class_"
        )


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.classes' has no attribute '{name}'")
    return _Namespace(name)
