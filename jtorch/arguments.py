"""Arguments that are not what the fast path expects: each becomes what the op takes, or raises in torch's words."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from . import dtypes
from .core import Tensor
from .engine import read
from .errors import must_be_tensor
from .ops._declare import (
    DTYPE,
    Op,
    Param,
)
from .ops._kernel import NUMBERS

_EMPTY = inspect.Parameter.empty
#: Python's kinds of numbers, bool before int, which it is too.
_PYTHON_NUMBERS: tuple[Any, ...] = (bool, int, float, complex)
NONE = "none"
#: Kind of a Python number by its exact type; everything else gets a closer look.
KINDS: dict[type, str] = {**NUMBERS, type(None): NONE}
#: Ops that take two numbers, as if they were tensors.
NUMBERS_DO = frozenset(("add", "sub", "mul", "div", "true_divide", "floor_divide"))
NAMES_OF_KINDS = {kind: number_type.__name__ for number_type, kind in NUMBERS.items()}


def coerce(name: str, argument: str, position: int, value: Any) -> Any:
    """A Python number from what was given where a tensor or a number is due.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(value, (np.number, np.bool_)):
        return value.item()
    if isinstance(value, bool | int | float | complex):
        return next(kind(value) for kind in _PYTHON_NUMBERS if isinstance(value, kind))
    raise must_be_tensor(name, argument, position, value)


def number(name: str, argument: str, value: Any) -> Any:
    """A Python number from what was given where a number is due: NumPy scalars and 0-dim tensors serve too."""
    if isinstance(value, Tensor):
        if value._aval.ndim == 0 and not value._rg:
            return read(value._read()).item()
        raise TypeError(f"{name}(): argument '{argument}' must be Number, not Tensor")
    if isinstance(value, (np.number, np.bool_)):
        return value.item()
    if isinstance(value, bool | int | float | complex):
        return next(kind(value) for kind in _PYTHON_NUMBERS if isinstance(value, kind))
    raise TypeError(f"{name}(): argument '{argument}' must be Number, not {type(value).__name__}")


_PYTHON_DTYPES = {float: dtypes.float64, int: dtypes.int64, bool: dtypes.bool_, complex: dtypes.complex128}


def static(op: Op, p: Param, position: int, value: Any) -> Any:
    """A static argument as the kernel gets it, hashable.

    Raises:
        TypeError: if its type is wrong.
    """
    if p.kind == DTYPE:
        if value is None:
            return None
        found = value if isinstance(value, dtypes.dtype) else _PYTHON_DTYPES.get(value)
        if found is None:
            raise TypeError(f"{op.name}(): argument '{p.name}' must be torch.dtype, not {type(value).__name__}")
        return found.np
    return plain(op.name, p, position, value)


def plain(name: str, p: Param, position: int, value: Any) -> Any:
    """Lists become tuples, 0-dim tensors and NumPy scalars Python numbers."""
    if isinstance(value, Tensor):
        if value._aval.size != 1:
            raise TypeError(f"{name}(): argument '{p.name}' (position {position}) must be {p.annotation.split(' |')[0]}, not Tensor")
        value = read(value._read()).item()
    elif isinstance(value, (np.number, np.bool_)):
        value = value.item()
    elif isinstance(value, (list, tuple, range)):
        return tuple([_plain_item(name, p, position, x) if type(x) is not int else x for x in value])
    wanted = p.annotation
    if value is None or wanted in ("Any", ""):
        return value
    kind = type(value)
    if (
        kind is float
        and "float" not in wanted
        and "Number" not in wanted
        and "complex" not in wanted
        and ("int" in wanted or "bool" in wanted)
    ):
        raise TypeError(f"{name}(): argument '{p.name}' (position {position}) must be {wanted.split(' |')[0].split('[')[0]}, not float")
    if kind is str and "str" not in wanted:
        raise TypeError(f"{name}(): argument '{p.name}' (position {position}) must be {wanted.split(' |')[0].split('[')[0]}, not str")
    if kind is int and wanted.startswith("tuple[") and "int |" not in wanted and "| int" not in wanted:
        return (value,)
    return value


def _plain_item(name: str, p: Param, position: int, value: Any) -> Any:
    """An item of a tuple argument."""
    if isinstance(value, Tensor):
        if value._aval.size != 1:
            raise TypeError(f"{name}(): argument '{p.name}' (position {position}) must be tuple of ints, but found element of type Tensor")
        return read(value._read()).item()
    if isinstance(value, (np.number, np.bool_)):
        return value.item()
    if isinstance(value, (list, tuple, range)):
        return tuple([_plain_item(name, p, position, x) for x in value])
    if isinstance(value, float) and "float" not in p.annotation and "int" in p.annotation:
        raise TypeError(f"{name}(): argument '{p.name}' (position {position}) must be tuple of ints, but found element of type float")
    return value
