"""``Variable``, the old name under which tensors were differentiated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import Tensor
from .engine import queue_callback

__all__ = ["Variable"]


class _Engine:
    """What programs do with the engine itself."""

    @staticmethod
    def queue_callback(callback: Callable[..., object]) -> None:
        """Calls a function when the ``backward`` that is going on has come to its end.

        Raises:
            RuntimeError: if none is.
        """
        queue_callback(callback)


class VariableMeta(type):
    """Of which kind ``Variable`` is: every tensor is an instance."""

    _execution_engine = _Engine()

    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """``Variable(data, requires_grad=False)`` gives a tensor on the same data; every tensor is an
    instance.

    Example:
        >>> import jtorch as torch
        >>> x = torch.autograd.Variable(torch.tensor([1.0]), requires_grad=True)
        >>> isinstance(x, torch.autograd.Variable), x.requires_grad
        (True, True)
    """

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        """A tensor on the same data, without history."""
        found = data.detach()
        return found.requires_grad_(requires_grad and not volatile)
