"""Passes that programs give to PyTorch's compiler. They can be defined and called; compiled
functions are made by XLA, which runs none."""

from __future__ import annotations

import abc
import hashlib
from collections.abc import Callable
from typing import Any

from jtorch._src.refusals import stand_ins as _refusals
from jtorch.fx.graph import Graph


class CustomGraphPass(abc.ABC):
    """A pass over graphs, with what tells it from others."""

    @abc.abstractmethod
    def __call__(self, graph: Graph) -> None:
        """Changes a graph in place."""

    @abc.abstractmethod
    def uuid(self) -> Any:
        """What is the same only for passes that do the same."""


class CustomGraphModulePass(abc.ABC):
    """A pass over modules with graphs, with what tells it from others."""

    @abc.abstractmethod
    def __call__(self, gm: object) -> None:
        """Changes a module's graph in place."""

    @abc.abstractmethod
    def uuid(self) -> Any:
        """What is the same only for passes that do the same."""


CustomGraphPassType = CustomGraphPass | Callable[[Graph], None] | None


def get_hash_for_files(paths: tuple[str, ...], extra: str = "") -> bytes:
    """A hash of what is in files, and of ``extra``; for ``uuid``."""
    found = hashlib.sha256()
    found.update(extra.encode("utf-8"))
    for path in paths:
        with open(path, "rb") as file:
            found.update(path.encode("utf-8"))
            found.update(file.read())
    return found.digest()


__getattr__ = _refusals.missing(__name__)
