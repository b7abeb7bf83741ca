"""Arguments that are not what the fast path expects: each becomes what the op takes, or raises in
torch's words."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import Tensor
from ..engine import array_of
from ..facts import dtypes
from ..facts.errors import (
    HIGHEST_LONG,
    LOWEST_LONG,
    OVERFLOW,
    check_longs,
    check_scalar,
    must_be_tensor,
    type_name,
)
from ..facts.size import SYMBOLIC
from ..ops._declare import (
    DTYPE,
    Op,
    Param,
)
from ..ops._fitting import check_fits, single_of, too_large
from ..ops._kernel import NUMBERS

if TYPE_CHECKING:
    from ..facts.kinds import Row, Tree


_EMPTY = inspect.Parameter.empty
#: Python's kinds of numbers, bool before int, which it is too.
_PYTHON_NUMBERS: Row = (bool, int, float, complex)
NONE = "none"
#: Kind of a Python number by its exact type; everything else gets a closer look.
KINDS: dict[type, str] = {**NUMBERS, type(None): NONE}
NAMES_OF_KINDS = {kind: number_type.__name__ for number_type, kind in NUMBERS.items()}


def of_numpy(value: np.generic) -> object:
    """A NumPy scalar as the Python number that PyTorch takes it for: what is neither an integer nor
    a Python number counts as a float, so that ``numpy.complex64`` loses its imaginary part, of
    which NumPy warns."""
    return value.item() if isinstance(value, (np.integer, float, complex)) else float(value)


def coerce(name: str, argument: str, position: int, value: object) -> object:
    """A Python number from what was given where a tensor or a number is due.

    Raises:
        TypeError: for anything else.
    """
    if isinstance(value, (np.number, np.bool_)):
        return of_numpy(value)
    if isinstance(value, bool | int | float | complex):
        return next(kind(value) for kind in _PYTHON_NUMBERS if isinstance(value, kind))
    raise must_be_tensor(name, argument, position, value)


def number(name: str, argument: str, value: Tensor | float | int) -> Any:
    """A Python number from what was given where a number is due: NumPy scalars and 0-dim tensors
    serve too."""
    if type(value) in _PYTHON_NUMBERS:
        return value
    if isinstance(value, Tensor):
        if value._aval.ndim == 0 and not value._rg:
            return array_of(value._read()).item()
        raise TypeError(f"{name}(): argument '{argument}' must be Number, not Tensor")
    if isinstance(value, (np.number, np.bool_)):
        return of_numpy(value)
    if isinstance(value, bool | int | float | complex):
        return next(kind(value) for kind in _PYTHON_NUMBERS if isinstance(value, kind))
    raise TypeError(f"{name}(): argument '{argument}' must be Number, not {type_name(value)}")


def unsigned(
    value: int, exact: bool, operands: Sequence[Tensor], promote: object = None
) -> tuple[str, object]:
    """The kind and value of a Python int of more than 63 bits in an op on tensors, where PyTorch
    has unsigned numbers of 64 bits; ``promote`` is the op's way of promotion.

    Raises:
        OverflowError: if it has more bits.
        RuntimeError: if it must be ``exact`` and the tensors are of whole numbers, into which other
            numbers wrap around; for bools that are promoted.
    """
    check_scalar(value)
    kinds = {t.dtype.category for t in operands}
    if not kinds or max(kinds) >= dtypes.FLOATING:
        return KINDS[float], float(value)
    if exact and max(kinds) == dtypes.INTEGRAL:
        entries = tuple(
            (t.dtype, dtypes.DIMENSIONED if t._aval.ndim else dtypes.ZERO_DIM) for t in operands
        )
        raise RuntimeError(too_large(dtypes.result_type_of(entries).np))
    if max(kinds) == dtypes.BOOL and (exact or promote is None):
        return KINDS[int], 1  # bools ask for its truth
    if max(kinds) == dtypes.BOOL:
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            "Bool and UInt64"
        )
    return (KINDS[float], float(value)) if promote == "float" else (KINDS[int], value - (1 << 64))


def check_numbers(
    operands: Sequence[Tensor],
    given: dict[str, tuple[Any, Any]],
    promoted: Sequence[str],
    single: Sequence[str] = (),
    truncates: bool = False,
    say: Sequence[object] = (),
) -> None:
    """Refuses numbers that the dtype of an op's result cannot hold; ``given`` has each with its
    kind, ``promoted`` names those that have a say in the dtype, ``single`` those that halves are
    computed with in single precision. Where the op ``truncates``, fractions must fit whole numbers,
    too. ``say`` has the kinds of operands that are not looked at, of which the numbers have a say
    in the dtype as well.

    Raises:
        RuntimeError: in torch's words.
    """
    if not operands:
        return
    entries = [(t.dtype, dtypes.DIMENSIONED if t._aval.ndim else dtypes.ZERO_DIM) for t in operands]
    numbers = {
        name: value for name, (value, kind) in given.items() if kind in (KINDS[int], KINDS[float])
    }
    entries += [
        (dtypes.of_number(numbers[name]), dtypes.NUMBER) for name in promoted if name in numbers
    ]
    entries += [
        (dtypes.of_number(kind()), dtypes.NUMBER) for kind in _PYTHON_NUMBERS if KINDS[kind] in say
    ]
    target = dtypes.result_type_of(tuple(entries))
    for name, value in numbers.items():
        if target.category >= dtypes.FLOATING:
            check_fits(value, single_of(target.np) if name in single else target.np)
        # what else a fraction does to whole numbers, the op says
        elif truncates or (type(value) is int and name not in single):
            check_fits(value, target.np)


def checked_static(name: str, argument: str, annotation: str, value: object) -> Any:
    """A static argument as it may be used: whole numbers of more bits than PyTorch has for them are
    refused, or fractions where those do.

    Raises:
        ValueError, TypeError, OverflowError: in torch's words.
    """
    if "float" not in annotation and "Number" not in annotation and "Power" not in annotation:
        check_longs(name, argument, value)
    elif type(value) is int and not LOWEST_LONG <= value <= HIGHEST_LONG:
        if annotation.startswith("float"):
            return float(value)
        check_scalar(value)
    return value


def static(op: Op, p: Param, position: int, value: object) -> object:
    """A static argument as the kernel gets it, hashable.

    Raises:
        TypeError: if its type is wrong.
    """
    if p.kind == DTYPE:
        if value is None:
            return None
        found = value if isinstance(value, dtypes.dtype) else dtypes.OF_PYTHON.get(value)
        if found is None:
            raise TypeError(
                f"{op.name}(): argument '{p.name}' must be torch.dtype, not {type_name(value)}"
            )
        return found.np
    if p.name in op.listed and isinstance(value, Tensor):
        value = op.listed[p.name](value)
    return plain(op.name, p, position, value)


def check_counts(value: Tensor) -> None:
    """Refuses a tensor of a flag where a whole number is due.

    Raises:
        RuntimeError: as PyTorch does, which takes it for a number until it is asked for its value.
    """
    if value.dtype.category == dtypes.BOOL:
        raise RuntimeError("Expected a tensor of a whole number, but got one of Bool")


def whole(name: str, argument: str, value: Any, words: str = "int") -> int:
    """An int from what was given where one is due: tensors of one whole number and what Python can
    count with serve too.

    Raises:
        TypeError: for anything else, flags and fractions among them.
        ValueError: for a number of more than 64 bits.
    """
    if type(value) is int:
        if not LOWEST_LONG <= value <= HIGHEST_LONG:
            raise ValueError(OVERFLOW)
        return value
    if isinstance(value, Tensor):
        if value._aval.size == 1 and value.dtype.category <= dtypes.INTEGRAL:
            check_counts(value)
            return int(array_of(value._read()).item())
    elif type(value) in SYMBOLIC:
        return value
    elif not isinstance(value, (bool, np.bool_)) and not (
        isinstance(value, np.ndarray) and value.ndim
    ):
        try:
            return value.__index__()
        except (AttributeError, TypeError):
            pass
    raise TypeError(f"{name}(): argument '{argument}' must be {words}, not {type_name(value)}")


def sizes(name: str, argument: str, values: Tree) -> tuple[int, ...]:
    """Sizes as a tuple of ints; like PyTorch's parser, takes flags behind the first item.

    Raises:
        TypeError: if an item is no whole number.
    """
    return tuple(
        [
            int(x)
            if k and type(x) is bool
            else x
            if type(x) is int
            else whole(name, argument, x, "tuple of ints")
            for k, x in enumerate(values)
        ]
    )


#: What is annotated as one of these, or more of them, needs a number.
_OF_NUMBERS = {"int", "float", "Number"}


def words_of(p: Param) -> str:
    """What a parameter must be, in the words of errors."""
    return p.annotation.split(" |")[0].split("[")[0]


def plain(name: str, p: Param, position: int, value: Tree) -> Any:
    """Lists become tuples, 0-dim tensors, NumPy scalars and what Python can count with Python
    numbers."""
    wanted = p.annotation
    whole_numbers = "int" in wanted and "float" not in wanted and "Number" not in wanted
    if isinstance(value, Tensor):
        if value._aval.size != 1:
            raise TypeError(
                f"{name}(): argument '{p.name}' (position {position}) must be {words_of(p)}, not "
                "Tensor"
            )
        if whole_numbers and "bool" not in wanted:
            check_counts(value)
        value = array_of(value._read()).item()
    elif isinstance(value, (np.number, np.bool_)):
        value = value.item()
    elif isinstance(value, (list, tuple, range)):
        if wanted in (
            "tuple[int, ...]",
            "int | tuple[int, ...]",
            "int | tuple[int, ...] | None",
            "tuple[int, ...] | None",
        ):
            return sizes(name, p.name, value)
        return tuple(
            [_plain_item(name, p, position, x) if type(x) is not int else x for x in value]
        )
    if wanted in ("Any", ""):
        return value
    if value is None:
        # flags may be None, and some sizes and texts
        if p.default is None or not set(wanted.split(" | ")) <= _OF_NUMBERS:
            return None
        raise TypeError(
            f"{name}(): argument '{p.name}' (position {position}) must be {words_of(p)}, not "
            "NoneType"
        )
    kind = type(value)
    if (
        kind is float
        and "float" not in wanted
        and "Number" not in wanted
        and ("int" in wanted or "bool" in wanted)
    ) or (kind is bool and whole_numbers and "bool" not in wanted):
        raise TypeError(
            f"{name}(): argument '{p.name}' (position {position}) must be {words_of(p)}, not "
            f"{kind.__name__}"
        )
    if kind is str and "str" not in wanted:
        raise TypeError(
            f"{name}(): argument '{p.name}' (position {position}) must be {words_of(p)}, not str"
        )
    if (
        kind not in (int, bool, float, complex, str)
        and whole_numbers
        and hasattr(kind, "__index__")
    ):
        value = whole(name, p.name, value)
        kind = int
    if (
        kind is int
        and wanted.startswith("tuple[")
        and "int |" not in wanted
        and "| int" not in wanted
    ):
        return (value,)
    return value


def _plain_item(name: str, p: Param, position: int, value: object) -> Any:
    """An item of a tuple argument."""
    if isinstance(value, Tensor):
        if value._aval.size != 1:
            raise TypeError(
                f"{name}(): argument '{p.name}' (position {position}) must be tuple of ints, but "
                "found element of type Tensor"
            )
        return array_of(value._read()).item()
    if isinstance(value, (np.number, np.bool_)):
        return value.item()
    if isinstance(value, (list, tuple, range)):
        return tuple([_plain_item(name, p, position, x) for x in value])
    if isinstance(value, float) and "float" not in p.annotation and "int" in p.annotation:
        raise TypeError(
            f"{name}(): argument '{p.name}' (position {position}) must be tuple of ints, but found "
            "element of type float"
        )
    return value
