"""What tests of ``__torch_dispatch__`` share: a class that notes its operators, and a mode that
does. Imports no torch."""

from __future__ import annotations

from typing import Any

import jtorch as torch
from jtorch.utils import _python_dispatch as pd
from jtorch.utils._pytree import tree_map


def wrapper(log: list[Any] | None = None, name: str = "Wrap") -> Any:
    """A new class that runs operators on an inner tensor and appends ``(name, args, kwargs)`` to
    ``log``."""
    log = [] if log is None else log

    class Wrap(torch.Tensor):
        @staticmethod
        def __new__(cls, elem, requires_grad=False):
            return torch.Tensor._make_wrapper_subclass(
                cls, elem.size(), strides=elem.stride(), storage_offset=elem.storage_offset(),
                dtype=elem.dtype, device=elem.device, requires_grad=requires_grad,
            )  # fmt: skip

        def __init__(self, elem, requires_grad=False):
            self.elem = elem

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            log.append((str(func), args, kwargs))
            inside = lambda x: x.elem if isinstance(x, cls) else x  # noqa: E731
            outside = lambda x: cls(x) if isinstance(x, torch.Tensor) else x  # noqa: E731
            return tree_map(
                outside, func(*tree_map(inside, args), **tree_map(inside, kwargs or {}))
            )

    Wrap.__name__ = name
    Wrap.log = log
    return Wrap


def names(log: list[Any]) -> list[str]:
    return [entry if isinstance(entry, str) else entry[0] for entry in log]


class Noting(pd.TorchDispatchMode):
    """Appends names of operators to a list and runs them."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.log.append(str(func))
        return func(*args, **(kwargs or {}))
