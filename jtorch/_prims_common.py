"""Names of PyTorch's reference implementations that libraries use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import Any, TypeAlias

from ._src.facts import dtypes as _dtypes
from ._src.facts import layouts as _layouts
from ._src.facts.determinism import alert as _alert
from ._src.facts.devices import device as _device
from ._src.facts.dtypes import dtype as _dtype
from ._src.facts.errors import canonical_dim
from ._src.facts.layouts import memory_format as _memory_format
from ._src.facts.size import Size as _Size
from ._src.facts.size import SymBool as _SymBool
from ._src.facts.size import SymFloat as _SymFloat
from ._src.facts.size import SymInt as _SymInt
from .core import Tensor as Tensor
from .core import contiguous_strides as _strides

__path__: list[str] = []  # it has submodules in PyTorch

DeviceLikeType: TypeAlias = str | _device | int
TensorLike = Tensor
ShapeType: TypeAlias = _Size | list[int] | tuple[int, ...]
StrideType: TypeAlias = list[int] | tuple[int, ...]
DimsType: TypeAlias = int | list[int] | tuple[int, ...]
NumberType: TypeAlias = bool | int | float | complex
Number = (bool, int, float, complex)


def is_contiguous_or_false(a: Tensor) -> bool:
    """``a.is_contiguous()``: shapes are always known here."""
    return a.is_contiguous()


def make_contiguous_strides_for(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a contiguous tensor of that shape."""
    return _strides(tuple(shape))


def are_strides_like_channels_last_or_false(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether strides of four or five dimensions are those of a tensor with its channels last; not
    where that is ambiguous."""
    return len(shape) in (4, 5) and _layouts.suggests_channels_last(tuple(shape), tuple(strides))


def suggest_memory_format(x: Tensor) -> _memory_format:
    """The memory format that the strides of a tensor are like, ``torch.contiguous_format`` where
    they are like none of the others."""
    if x.layout != _layouts.strided:
        return _layouts.contiguous_format
    return _layouts.suggested_format(tuple(x.shape), x.stride())


def is_float_dtype(dtype: _dtype) -> bool:
    """Whether a dtype is a real floating-point one."""
    return dtype.is_floating_point


def is_complex_dtype(dtype: _dtype) -> bool:
    """Whether a dtype is complex."""
    return dtype.is_complex


_INTEGERS = (
    _dtypes.uint8, _dtypes.uint16, _dtypes.uint32, _dtypes.uint64,
    _dtypes.int8, _dtypes.int16, _dtypes.int32, _dtypes.int64,
)  # fmt: skip
_COMPLEX = {
    _dtypes.float16: _dtypes.complex32,
    _dtypes.bfloat16: _dtypes.complex64,
    _dtypes.float32: _dtypes.complex64,
    _dtypes.float64: _dtypes.complex128,
}


def is_boolean_dtype(dtype: _dtype) -> bool:
    """Whether a dtype is ``bool``."""
    return dtype is _dtypes.bool_


def is_integer_dtype(dtype: _dtype) -> bool:
    """Whether a dtype is one of whole numbers; bools are none."""
    return dtype in _INTEGERS


def corresponding_real_dtype(dtype: _dtype) -> _dtype:
    """The dtype of the parts of a complex one.

    Raises:
        KeyError: for other dtypes.
    """
    if not dtype.is_complex:
        raise KeyError(dtype)
    return dtype.to_real()


def corresponding_complex_dtype(dtype: _dtype) -> _dtype:
    """The complex dtype whose parts have a dtype.

    Raises:
        KeyError: if there is none.
    """
    return _COMPLEX[dtype]


def dtype_to_type(dtype: _dtype) -> type:
    """Python's type of numbers of a dtype: ``bool``, ``int``, ``float`` or ``complex``.

    Raises:
        ValueError: if there is none.
    """
    if not isinstance(dtype, _dtype):
        raise AssertionError(f"Expected torch.dtype, got {type(dtype)}")
    if is_boolean_dtype(dtype):
        return bool
    if is_integer_dtype(dtype):
        return int
    if dtype.is_floating_point:
        return float
    if dtype.is_complex:
        return complex
    raise ValueError("Invalid dtype!")


def type_to_dtype(typ: type) -> _dtype:
    """The dtype of tensors of a type of Python's numbers.

    Raises:
        ValueError: for other types.
    """
    if not isinstance(typ, type):
        raise AssertionError(f"Expected type, got {type(typ)}")
    if typ in (bool, _SymBool):
        return _dtypes.bool_
    if typ in (int, _SymInt):
        return _dtypes.int64
    if typ in (float, _SymFloat):
        return _dtypes.get_default_dtype()
    if typ is complex:
        return corresponding_complex_dtype(_dtypes.get_default_dtype())
    raise ValueError(f"Invalid type {typ}!")


def get_dtype(x: Tensor | NumberType) -> _dtype:
    """The dtype of a tensor, or of tensors of a number."""
    return x.dtype if isinstance(x, Tensor) else type_to_dtype(type(x))


def canonicalize_dim(rank: int, idx: int, wrap_scalar: bool = True) -> int:
    """A dimension counted from the front.

    Raises:
        IndexError: if there is no such dimension.
    """
    if rank == 0 and not wrap_scalar:
        raise IndexError(f"Dimension specified as {idx} but tensor has no dimensions")
    return canonical_dim(idx, rank)


def numel(shape: Sequence[int]) -> int:
    """The number of elements of a tensor of that shape."""
    return math.prod(shape)


def alert_not_deterministic(caller: str) -> None:
    """Says that ``caller`` is not deterministic, where the program has asked for that.

    Raises:
        RuntimeError: under ``torch.use_deterministic_algorithms(True)``, unless that only warns.
    """
    _alert(caller)


def canonicalize_dims(rank: int, indices: Any, wrap_scalar: bool = True) -> object:
    """One dimension, or each of several, counted from the front.

    Raises:
        IndexError: if there is no such dimension.
    """
    if isinstance(indices, int):
        return canonicalize_dim(rank, indices, wrap_scalar)
    return tuple([canonicalize_dim(rank, i, wrap_scalar) for i in indices])


class ELEMENTWISE_TYPE_PROMOTION_KIND(Enum):
    """How a function of elements chooses the dtypes that it computes in and gives."""

    DEFAULT = (0,)
    NO_OPMATH = (1,)
    INT_TO_FLOAT = (2,)
    ALWAYS_BOOL = (3,)
    COMPLEX_TO_FLOAT = (4,)
    BOOL_TO_LONG = (5,)


def _operand(a: object) -> tuple[_dtype, int]:
    """The dtype of a tensor or number, and how much it counts."""
    if isinstance(a, Tensor):
        return a.dtype, _dtypes.DIMENSIONED if a.dim() else _dtypes.ZERO_DIM
    if isinstance(a, bool):
        return _dtypes.bool_, _dtypes.NUMBER
    if isinstance(a, int):
        return _dtypes.int64, _dtypes.NUMBER
    default = _dtypes.get_default_dtype()
    return default.to_complex() if isinstance(a, complex) else default, _dtypes.NUMBER


_WIDE = {_dtypes.float16: _dtypes.float32, _dtypes.bfloat16: _dtypes.float32}


def get_computation_dtype(dtype: _dtype) -> _dtype:
    """The dtype that numbers of ``dtype`` are computed in: float32 for those of half the size."""
    return _WIDE.get(dtype, dtype)


def elementwise_dtypes(
    *_args: object, type_promotion_kind: ELEMENTWISE_TYPE_PROMOTION_KIND
) -> tuple[_dtype, _dtype]:
    """The dtypes that a function of elements computes in and gives, from tensors and numbers; None
    among them is passed over."""
    result = _dtypes.result_type_of(tuple([_operand(a) for a in _args if a is not None]))
    kinds = ELEMENTWISE_TYPE_PROMOTION_KIND
    if type_promotion_kind is kinds.NO_OPMATH:
        return result, result
    if type_promotion_kind is kinds.INT_TO_FLOAT and result.category < _dtypes.FLOATING:
        result = _dtypes.get_default_dtype()
    elif type_promotion_kind is kinds.BOOL_TO_LONG and result is _dtypes.bool_:
        result = _dtypes.int64
    computed = get_computation_dtype(result)
    if type_promotion_kind is kinds.ALWAYS_BOOL:
        result = _dtypes.bool_
    elif type_promotion_kind is kinds.COMPLEX_TO_FLOAT and result.is_complex:
        result = result.to_real()
    return computed, result
