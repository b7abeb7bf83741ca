"""What functions that export an operator are written with: importable, and refused when called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _refusing


def parse_args(*arg_descriptors: str) -> Callable[[Any], Any]:
    """A decorator for functions that export an operator; as none is called, it leaves them as they
    are."""
    return lambda function: function


def quantized_args(*arg_q_descriptors: object, **options: object) -> Callable[[Any], Any]:
    """A decorator for functions that export an operator; as none is called, it leaves them as they
    are."""
    return lambda function: function


__getattr__ = _refusing("symbolic_helper")
