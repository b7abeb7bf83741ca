"""Bases of data pipes, and the methods that classes register on them. PyTorch's own pipes are left out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from jtorch import _refusals

from .dataset import Dataset, IterableDataset

__all__ = ["DataChunk", "IterDataPipe", "MapDataPipe", "functional_datapipe"]

T_co = TypeVar("T_co", covariant=True)

_WHY = "data pipes are left out; use datasets, samplers and loaders"


class _Registry:
    """What both kinds of pipe have in common: functions that act as methods."""

    functions: dict[str, Callable[..., Any]]

    def __getattr__(self, name: str) -> Any:
        found = type(self).functions.get(name)
        if found is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}")
        return functools.partial(found, self)

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Lets ``pipe.function_name(...)`` call ``function(pipe, ...)``."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: Any, enable_df_api_tracing: bool = False) -> None:
        """Lets ``pipe.function_name(...)`` make another pipe.

        Raises:
            Exception: if the name is taken.
        """
        del enable_df_api_tracing
        if function_name in cls.functions and not hasattr(cls.functions[function_name], "_left_out"):
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")
        cls.functions[function_name] = cls_to_register

    def __repr__(self) -> str:
        return self.__class__.__qualname__

    def __reduce_ex__(self, protocol: Any) -> Any:
        return object.__reduce_ex__(self, protocol)

    def __getstate__(self) -> Any:
        return self.__dict__


def _left_out(owner: str, names: str) -> dict[str, Callable[..., Any]]:
    found = {}
    for name in names.split():
        refused = _refusals.make(f"torch.utils.data.{owner}.{name}", _WHY)
        refused._left_out = True
        found[name] = refused
    return found


class IterDataPipe(_Registry, IterableDataset[T_co]):
    """Base of datasets that are gone through, and have the methods that other pipes register."""

    functions = _left_out(
        "IterDataPipe",
        "map collate shuffle concat fork demux mux zip list_files open_files batch unbatch groupby routed_decode filter sharding_filter "
        "read_from_stream",
    )

    def reset(self) -> None:
        """Called where the pipe is gone through again; nothing to do unless a class says so."""


class DFIterDataPipe(IterDataPipe[T_co]):
    """Base of pipes of data frames."""

    def _is_dfpipe(self) -> bool:
        return True


class MapDataPipe(_Registry, Dataset[T_co]):
    """Base of datasets whose items are asked for by key, and have the methods that other pipes register."""

    functions = _left_out("MapDataPipe", "map shuffle concat zip batch")


class functional_datapipe:
    """A class decorator: pipes get a method of that name which makes the class around them."""

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name, self.enable_df_api_tracing = name, enable_df_api_tracing

    def __call__(self, cls: Any) -> Any:
        """Registers the class.

        Raises:
            TypeError: if it is no pipe.
        """
        if not (isinstance(cls, type) and issubclass(cls, (IterDataPipe, MapDataPipe))):
            raise TypeError("`functional_datapipe` can only decorate IterDataPipe")
        base: Any = IterDataPipe if issubclass(cls, IterDataPipe) else MapDataPipe
        base.register_datapipe_as_function(self.name, cls, self.enable_df_api_tracing)
        return cls


class DataChunk(list[Any]):
    """A batch of a pipe: a list."""

    def __init__(self, items: Any) -> None:
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent: str = "") -> str:
        """The items in brackets."""
        return indent + "[" + ", ".join(str(item) for item in iter(self)) + "]"

    def raw_iterator(self) -> Any:
        """The items."""
        yield from self.items
