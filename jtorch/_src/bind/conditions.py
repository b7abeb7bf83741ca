"""``torch._check`` and its kin: conditions that raise a chosen error, with a message that is only
made when it is needed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ...core import Tensor
from ..facts.dtypes import BY_NAME
from ..facts.size import SymBool

_IS_SIZE = (
    "_check_is_size will be removed in a future PyTorch release along with "
    "guard_size_oblivious.     Use _check(i >= 0) instead."
)
_UNSAID = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please "
    "report an enhancement request to PyTorch.)"
)


def _text(message: object) -> str:
    if message is None:
        return _UNSAID
    if not callable(message):
        raise TypeError("message must be a callable")
    return str(message())


def _check_with(
    error_type: type[Exception], cond: object, message: Callable[[], object] | None
) -> None:
    """Raises ``error_type`` unless ``cond`` is true."""
    # of sizes, or numbers that data decide: the program says that it holds
    if isinstance(cond, SymBool):
        cond = cond.expected()
    if not isinstance(cond, bool):
        if isinstance(cond, Tensor):
            raise TypeError(
                "cond must be a bool, but got a Tensor. For tensor conditions, use "
                "torch._check_tensor_all() to assert that all elements are true."
            )
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not issubclass(error_type, Exception):
        raise TypeError(f"error_type must be a subclass of Exception, got {error_type}")
    if not cond:
        raise error_type(_text(message))


def _check(cond: object, message: Callable[[], object] | None = None) -> None:
    """Raises RuntimeError unless ``cond`` is true."""
    _check_with(RuntimeError, cond, message)


def _check_index(cond: object, message: Callable[[], object] | None = None) -> None:
    """Raises IndexError unless ``cond`` is true."""
    _check_with(IndexError, cond, message)


def _check_value(cond: object, message: Callable[[], object] | None = None) -> None:
    """Raises ValueError unless ``cond`` is true."""
    _check_with(ValueError, cond, message)


def _check_type(cond: object, message: Callable[[], object] | None = None) -> None:
    """Raises TypeError unless ``cond`` is true."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: object, message: Callable[[], object] | None = None) -> None:
    """Raises NotImplementedError unless ``cond`` is true."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: int, message: Callable[[], object] | None = None, *, max: Any = None) -> None:
    """Raises RuntimeError unless ``i`` is at least 0 and, if ``max`` is given, at most that."""
    warnings.warn(_IS_SIZE, FutureWarning, stacklevel=2)
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all_with(
    error_type: type[Exception], cond: object, message: Callable[[], object] | None = None
) -> None:
    """Raises ``error_type`` unless all elements of ``cond``, a tensor of dtype bool, are true."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not BY_NAME["bool"]:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all().item()), message)


def _check_tensor_all(cond: object, message: Callable[[], object] | None = None) -> None:
    """Raises RuntimeError unless all elements of ``cond``, a tensor of dtype bool, are true."""
    _check_tensor_all_with(RuntimeError, cond, message)
