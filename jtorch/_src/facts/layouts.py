"""How elements lie in memory: layout and memory_format objects, and strides.

Of the layouts only strided data exists here; the others are names that programs pass and compare.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dispatch import add_plain
from .size import SYMBOLIC, less


class _Named:
    """A value that is nothing but its name; one object each, also after pickling and copying."""

    __slots__ = ("_name",)
    _name: str

    def __new__(cls, *_: object) -> _Named:
        raise TypeError(f"cannot create 'torch.{cls.__name__}' instances")

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name

    def __copy__(self) -> _Named:
        return self

    def __deepcopy__(self, memo: object) -> _Named:
        return self


class layout(_Named):
    """How a tensor's elements are stored: ``torch.strided`` and its sparse and nested relatives."""

    __slots__ = ()
    __module__ = "jtorch"  # where pickles find its values


class memory_format(_Named):
    """The order of a dense tensor's dimensions in memory."""

    __slots__ = ()
    __module__ = "jtorch"  # where pickles find its values


class qscheme(_Named):
    """How numbers are rounded to few bits: one scale for a tensor or for each channel, with a zero
    point or symmetric."""

    __slots__ = ()
    __module__ = "jtorch"  # where pickles find its values


def _make(cls: type[_Named], name: str) -> _Named:
    made = object.__new__(cls)
    made._name = name
    return made


strided = _make(layout, "strided")
sparse_coo = _make(layout, "sparse_coo")
sparse_csr = _make(layout, "sparse_csr")
sparse_csc = _make(layout, "sparse_csc")
sparse_bsr = _make(layout, "sparse_bsr")
sparse_bsc = _make(layout, "sparse_bsc")
_mkldnn = _make(layout, "_mkldnn")
jagged = _make(layout, "jagged")

per_tensor_affine = _make(qscheme, "per_tensor_affine")
per_channel_affine = _make(qscheme, "per_channel_affine")
per_tensor_symmetric = _make(qscheme, "per_tensor_symmetric")
per_channel_symmetric = _make(qscheme, "per_channel_symmetric")
per_channel_affine_float_qparams = _make(qscheme, "per_channel_affine_float_qparams")

contiguous_format: Any = _make(memory_format, "contiguous_format")
legacy_contiguous_format = contiguous_format
channels_last = _make(memory_format, "channels_last")
channels_last_3d = _make(memory_format, "channels_last_3d")
preserve_format: Any = _make(memory_format, "preserve_format")

add_plain(layout, memory_format)


# ---- strides -------------------------------------------------------------------------------------


def _room(n: object) -> Any:
    """What a dimension takes of the strides before it; a size that is not known is not taken for
    0."""
    return max(n, 1) if type(n) is int else n


_contiguous: dict[tuple[int, ...], tuple[int, ...]] = {}


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides."""
    found = _contiguous.get(shape)
    if found is None:
        strides = [1] * len(shape)
        for i in range(len(shape) - 2, -1, -1):
            strides[i] = strides[i + 1] * _room(shape[i + 1])
        found = _contiguous[shape] = tuple(strides)
    return found


def format_strides(shape: tuple[int, ...], memory_format: object) -> tuple[int, ...]:
    """The strides of a dense tensor in a memory format.

    Raises:
        RuntimeError: if the format does not fit the number of dimensions.
    """
    name = str(memory_format).removeprefix("torch.")
    if name in ("contiguous_format", "preserve_format"):
        return contiguous_strides(shape)
    ndim = {"channels_last": 4, "channels_last_3d": 5}.get(name)
    if ndim is None:
        raise TypeError(
            "argument 'memory_format' must be torch.memory_format, not "
            f"{type(memory_format).__name__}"
        )
    if len(shape) != ndim:
        raise RuntimeError(f"required rank {ndim} tensor to use {name} format")
    order = [0, *range(2, ndim), 1]
    strides = [0] * ndim
    step = 1
    for i in reversed(order):
        strides[i] = step
        step *= _room(shape[i])
    return tuple(strides)


def is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether strides are row-major, where sizes of 1 have any stride and empty tensors are always
    contiguous."""
    if 0 in shape:
        return True
    expected = 1
    for n, s in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1:
            if s != expected:
                return False
            expected *= n
    return True


def column_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of batches of matrices that lie one column after the other."""
    found = _columns.get(shape)
    if found is None:
        *batch, m, n = shape
        step = max(m, 1) * max(n, 1)
        found = _columns[shape] = (
            *[s * step for s in contiguous_strides(tuple(batch))],
            1,
            max(m, 1),
        )
    return found


_columns: dict[tuple[int, ...], tuple[int, ...]] = {}


def in_format(shape: tuple[int, ...], strides: tuple[int, ...], memory_format: object) -> bool:
    """Whether a dense tensor is in a memory format; strides of dimensions of size 1 do not matter.
    False for another number of them."""
    if memory_format in (contiguous_format, preserve_format):
        return is_contiguous(shape, strides)
    try:
        format_strides(shape, memory_format)
    except RuntimeError:
        return False
    expected = 1
    for d in (1, *range(len(shape) - 1, 1, -1), 0):
        if shape[d] != 1:
            if strides[d] != expected:
                return False
            expected *= shape[d]
    return True


def suggests_channels_last(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether the order of strides is that of channels-last memory, with or without gaps; ambiguous
    ones count as row-major."""
    if strides[1] == 0:
        return False
    least = 0
    for d in (1, *range(len(shape) - 1, 1, -1), 0):
        if (
            shape[d] == 0
            or (less(strides[d], least) if SYMBOLIC else strides[d] < least)
            or (d == 0 and least == strides[1])
        ):
            return False
        least = strides[d] * max(shape[d], 1)
    return True


def suggested_format(shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """The memory format that results of operations on images have; the contiguous one where strides
    say nothing else."""
    if len(shape) in (4, 5) and suggests_channels_last(shape, strides):
        return channels_last if len(shape) == 4 else channels_last_3d
    return contiguous_format


def is_dense(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether the elements fill a stretch of memory without gaps or overlaps, in whatever order."""
    expected = 1
    if SYMBOLIC and not {type(n) for n in (*shape, *strides)} <= {int}:
        left = [(s, n) for n, s in zip(shape, strides, strict=True) if n != 1]
        while left:
            inner = next((i for i, (s, _) in enumerate(left) if s == expected), None)
            if inner is None:
                return False
            expected *= left.pop(inner)[1]
        return True
    for s, n in sorted((s, n) for n, s in zip(shape, strides, strict=True) if n != 1):
        if n == 0:
            return True
        if s != expected:
            return False
        expected *= n
    return True


def coincide(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether several indices mean one place in memory, in whatever way: an expanded dimension,
    windows that overlap, strides too small."""
    reach = 0
    # row by row, as nearly all are
    for step, n in zip(reversed(strides), reversed(shape), strict=True):
        if type(n) is not int or type(step) is not int or (step <= reach and n != 1):
            break
        reach += step * (n - 1)
    else:
        return False
    if SYMBOLIC.intersection(map(type, (*shape, *strides))) or 0 in shape:
        return False
    pairs = sorted([(abs(s), n) for s, n in zip(strides, shape, strict=True) if n > 1])
    reach = 0
    for step, n in pairs:
        if step <= reach:  # within what the smaller strides reach: they may still miss each other
            return _last(tuple(shape), tuple(strides)) is not None
        reach += step * (n - 1)
    return False


def last_written(shape: Sequence[int], strides: Sequence[int]) -> np.ndarray:
    """For each index the one, counted through, that is written last at its place in memory; what
    ``coincide`` says must hold.

    In the order of memory, as PyTorch's loops go: the smallest stride is innermost, of equal ones
    the last dimension.
    """
    found = _last(tuple(shape), tuple(strides))
    assert found is not None
    return found


@functools.lru_cache(maxsize=64)
def _last(shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray | None:
    order = sorted(range(len(shape)), key=lambda d: (-abs(strides[d]), d))
    # in the order of memory
    numbers = np.arange(math.prod(shape)).reshape(shape).transpose(order).reshape(-1)
    at = np.zeros([shape[d] for d in order], np.int64)
    for axis, d in enumerate(order):
        at += (np.arange(shape[d]) * strides[d]).reshape(
            [-1 if k == axis else 1 for k in range(len(shape))]
        )
    places, inverse = np.unique(at.reshape(-1), return_inverse=True)
    if places.size == numbers.size:
        return None
    last = np.zeros(places.size, np.int64)
    np.maximum.at(last, inverse, np.arange(numbers.size))
    found = np.empty(numbers.size, np.int64)
    found[numbers] = numbers[last[inverse]]
    return found.reshape(shape)
