"""Printing of tensors under its low-level names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .printing import _options as PRINT_OPTS
from .printing import add_suffixes as _add_suffixes
from .printing import get_printoptions as get_printoptions
from .printing import numbers as _numbers
from .printing import printoptions as printoptions
from .printing import set_printoptions as set_printoptions
from .printing import tensor_repr as _tensor_repr

if TYPE_CHECKING:
    from ...core import Tensor


__all__ = [
    "PRINT_OPTS",
    "_add_suffixes",
    "_str",
    "_str_intern",
    "_tensor_str",
    "get_printoptions",
    "printoptions",
    "set_printoptions",
]


def _tensor_str(self: Tensor, indent: int) -> str:
    """The elements in brackets, ``indent`` characters from the left."""
    return _numbers(self.detach().cpu().jax().__array__(), indent)


def _str_intern(inp: Tensor, *, tensor_contents: str | None = None) -> str:
    """What ``repr`` gives."""
    return _tensor_repr(inp, tensor_contents=tensor_contents)


def _str(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """What ``repr`` gives."""
    return _tensor_repr(self, tensor_contents=tensor_contents)
