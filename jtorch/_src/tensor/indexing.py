"""``t[index]`` and ``t[index] = value`` in torch's semantics.

The basic part of an index (ints, slices, None, Ellipsis) makes views; the advanced part (tensors,
masks, lists) goes to the kernels ``_index`` and ``_index_put``. Masks are turned into positions on
the host, except where a number or as many values as it selects are written through them.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ...autograd.names import named, written
from ...core import Tensor, alias_of, from_host, wrap
from ..bind.bound import BOUND
from ..bind.cores import bind
from ..bind.forms import repeats_of
from ..engine import SPECIAL, Value, numbers_of
from ..facts import dtypes
from ..facts.errors import HIGHEST_LONG, LOWEST_LONG, OVERFLOW, check_long
from ..facts.layouts import last_written
from ..facts.size import slice_bounds
from ..facts.warned_once import outside
from ..ops import scattering as _writing  # noqa: F401
from ..ops._declare import OPS, find
from ..ops._facts import writes
from ..ops._fitting import too_large
from ..ops.indexing import masked_fill
from ..ops.views import VIEWS, expanded_size
from . import running as applying
from .cells import Copied
from .parts_at_hand import is_there, part_of
from .reshaping import viewed
from .running import inplace
from .setting import set_at_once
from .view_steps import traced_step
from .views import SELECT_AT, make_view, select_at, slice_at, view
from .writing import check_inplace, check_overlap

if TYPE_CHECKING:
    from ..facts.kinds import Function, Operand, Row


#: Lists of at least this length are one index tensor, as in NumPy's old rule; shorter ones may be
#: tuples in disguise.
_LONG_LIST = 32
_UNSQUEEZE = VIEWS["unsqueeze"]


def _core(path: str) -> Function:
    """An op's function without override checks: whoever calls ``t[...]`` has been asked already."""
    return (BOUND.get(path) or bind(OPS[path])).core


_index = _core("_C._index")
_index_put = _core("_C._index_put")
_index_flat = _core("_C._index_flat")
_index_put_flat = _core("_C._index_put_flat")
_positions_of = _core("_C.index_by_mask")
_masked_fill = _core("masked_fill")
#: What is said of writes through this notation to elements that several indices share: as of the
#: functions that they stand for.
_LISTED = ("index_put_", "tensor[indices] = tensor")
_MASKED = repeats_of(find(masked_fill))
_masked_write = _core("_C._masked_write")
_nonzero = _core("nonzero")
_ne = _core("ne")
_argmax = _core("argmax")
_gather = _core("gather")
_to_copy = _core("_C._to_copy")


# ---- what an index says --------------------------------------------------------------------------


_LIST_AS_TUPLE = (
    "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in "
    "pytorch 2.9; use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as "
    "tensor index, x[torch.tensor(seq)], which will result either in an error or a different result"
)


def _items(index: object) -> Sequence[Any]:
    """The parts of an index: those of a tuple, or of a list that stands for one because it holds
    more than numbers."""
    if isinstance(index, tuple):
        return index
    if isinstance(index, list) and len(index) < _LONG_LIST:
        for item in index:
            if (
                item is None
                or item is Ellipsis
                or isinstance(item, (Tensor, slice, list, tuple, range, np.ndarray))
            ):
                warnings.warn(_LIST_AS_TUPLE, UserWarning, stacklevel=outside())
                return index
    return (index,)


def _is_mask(index: Tensor) -> bool:
    return index._aval.dtype == np.bool_ or index._aval.dtype == np.uint8


def _plain(item: Tensor, t: Tensor) -> Tensor | int:
    """One part of an index as an int, slice, None, Ellipsis, bool or index tensor.

    Raises:
        IndexError: for a tensor of another dtype, or an object of another kind.
        TypeError: for lists of what is no number.
    """
    if isinstance(item, Tensor):
        return _plain_tensor(item)
    if isinstance(item, bool) or item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, int):
        return int(item)  # of a subclass, such as IntEnum
    if isinstance(item, np.ndarray):
        return _plain_tensor(_from_numbers(item, t))
    if isinstance(item, jax.Array):
        return _plain_tensor(wrap(item))
    if isinstance(item, (list, tuple, range)):
        return _from_numbers(_numbers(item), t)
    if isinstance(item, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(item).__name__}'")
    if hasattr(item, "__index__") and not isinstance(item, np.bool_):
        return item.__index__()
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
        f"indices (got {_type_name(item)})"
    )


def _plain_tensor(index: Tensor) -> Tensor | int:
    """An index tensor as it is, but 0-dim integers as ints: they select, as views."""
    dtype = index._aval.dtype
    if index._aval.ndim == 0 and dtype.kind in "iu" and dtype != np.uint8:
        v = index._read()
        if v.trace is SPECIAL:  # a tracer, or without data: there is no number to read
            return index
        return int(numbers_of(v))
    if dtype not in (np.int64, np.int32, np.bool_, np.uint8):
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return mask_of_bytes(index) if dtype == np.uint8 else index


def mask_of_bytes(index: Tensor) -> Tensor:
    """What a mask of bytes selects, with torch's warning."""
    warnings.warn(
        "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
        UserWarning,
        stacklevel=outside(),
    )
    return BOUND["ne"].core(index, 0)


def _numbers(items: Tensor) -> np.ndarray:
    """A list of numbers, or of lists of them, or of 0-dim tensors, as an array.

    Raises:
        TypeError: for what is no number.
        ValueError: for ragged lists.
    """
    found = np.asarray(_plain_lists(items))
    if found.dtype.kind in "US":
        raise TypeError("new(): invalid data type 'str'")
    if found.dtype.kind == "c":
        raise TypeError("'complex' object cannot be interpreted as an integer")
    if found.dtype.kind == "O":
        raise TypeError(
            f"'{type(found.flat[0]).__name__}' object cannot be interpreted as an integer"
        )
    return found


def _plain_lists(items: Tensor) -> object:
    if isinstance(items, Tensor):
        return numbers_of(items._read())
    return [_plain_lists(i) if isinstance(i, (Tensor, list, tuple)) else i for i in items]


def _from_numbers(array: np.ndarray, t: Tensor) -> Tensor:
    """An index tensor from numbers on the host: bool masks stay masks, anything else is cut to
    int64."""
    keep = array.dtype in (np.bool_, np.uint8)
    return from_host(array if keep else array.astype(np.int64), t.device)


def _consumed(item: Tensor) -> int:
    """How many dimensions of the tensor a part of an index speaks of."""
    if isinstance(item, bool) or item is None or item is Ellipsis:
        return 0
    return item._aval.ndim if isinstance(item, Tensor) and _is_mask(item) else 1


_SIMPLE = (int, slice, type(None), type(Ellipsis), bool)


def _basic(t: Tensor, items: Sequence[Any]) -> tuple[Tensor, list[tuple[int, object]]]:
    """Applies the views that ``items`` ask for, and tells which index tensors and bools are left
    for which dimension of the result.

    Raises:
        IndexError: if there are more parts than dimensions, or an int is out of range.
    """
    if not all(type(item) in _SIMPLE for item in items):
        items = [_plain(item, t) for item in items]
    if sum([_consumed(item) for item in items]) > t._aval.ndim:
        raise IndexError(_too_many(t, items))
    advanced = []
    dim = 0
    for position, item in enumerate(items):
        kind = type(item)
        if kind is int:
            t = _selected(t, dim, item, position)
        elif kind is slice:
            if item.start is not None or item.stop is not None or item.step is not None:
                t = _sliced(t, dim, item)
            dim += 1
        elif item is None:
            t = make_view(_UNSQUEEZE, t, (dim,))
            dim += 1
        elif item is Ellipsis:
            dim = t._aval.ndim - sum([_consumed(i) for i in items[position + 1 :]])
        elif (
            kind is Tensor and not item._aval.ndim and (place := _traced(t, item, dim)) is not None
        ):
            strides = t._strides or applying.contiguous_strides(t._aval.shape)
            t = view(
                t,
                traced_step(SELECT_AT, dim, place),
                (*strides[:dim], *strides[dim + 1 :]),
                t._al.offset if t._al is not None else 0,
            )
        else:
            # a truth value gets a dimension of its own
            if kind is bool or (item._aval.ndim == 0 and _is_mask(item)):
                t = make_view(_UNSQUEEZE, t, (dim,))
            advanced.append((dim, item))
            dim += max(_consumed(item), 1)
    return t, advanced


def _traced(t: Tensor, index: Tensor, dim: int) -> object:
    """The place that an index names which JAX traces, as it traces what is indexed: the result is a
    view then as ever. Else None."""
    if not _is_traced(index) or not _has_tracer(t):
        return None
    place = index._read().array
    return jax.numpy.where(place < 0, place + t._aval.shape[dim], place)


def _has_tracer(t: Tensor) -> bool:
    v = t._read()
    return type(v) is Value and isinstance(v.array, jax.core.Tracer)


def _is_traced(index: Tensor) -> bool:
    """Whether JAX traces the number that an index without dimensions is."""
    return _has_tracer(index) and not _is_mask(index)


def _too_many(t: Tensor, items: Sequence[object]) -> str:
    if t._aval.ndim == 0 and len(items) == 1:
        if type(items[0]) is int:
            return (
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"
            )
        if type(items[0]) is slice:
            return "slice() cannot be applied to a 0-dim tensor."
    return f"too many indices for tensor of dimension {t._aval.ndim}"


def _selected(t: Tensor, dim: int, index: int, position: int) -> Tensor:
    n = t._aval.shape[dim]
    if not -n <= index < n:
        check_long(index)
        raise IndexError(f"index {index} is out of bounds for dimension {position} with size {n}")
    return select_at(t, dim, index + n if index < 0 else index)


def _sliced(t: Tensor, dim: int, index: slice) -> Tensor:
    start, stop, step = slice_bounds(index, t._aval.shape[dim])
    if step < 0:
        raise ValueError("step must be greater than zero")
    return slice_at(t, dim, start, stop, step)


def _check_mask(t: Tensor, dim: int, mask: Tensor) -> None:
    """Raises torch's error unless the mask has the sizes of the dimensions it selects from."""
    sizes = mask._aval.shape
    for j, size in enumerate(sizes):
        if t._aval.shape[dim + j] != size:
            raise IndexError(
                f"The shape of the mask {list(sizes)} at index {j} does not match the shape of the "
                f"indexed tensor {list(t._aval.shape)} at index {dim + j}"
            )


def as_positions(t: Tensor, advanced: list[tuple[int, Any]]) -> list[Tensor | None]:
    """One integer index tensor, or None, for each dimension of ``t`` up to the last indexed one;
    masks become as many as they have dimensions."""
    indices: list[Tensor | None] = []
    for dim, item in advanced:
        indices.extend([None] * (dim - len(indices)))
        if isinstance(item, bool):
            indices.append(from_host(np.zeros(int(item), np.int64), t.device))
        elif not _is_mask(item):
            indices.append(item)
        elif item._aval.ndim == 0:
            indices.append(_positions_of(item))
        else:
            _check_mask(t, dim, item)
            indices.extend(_nonzero(item, as_tuple=True))
    return indices


# ---- reading -------------------------------------------------------------------------------------


def getitem(t: Tensor, index: Any) -> Tensor:
    """``t[index]``: a view for ints, slices, None and Ellipsis; a copy where a tensor, mask or list
    takes part.

    Raises:
        IndexError: for an index of a wrong kind, rank, shape or value.
        ValueError: for a slice with a negative step.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([[1, 2, 3], [4, 5, 6]])
        >>> x[0, 1:]
        tensor([2, 3])
        >>> x[x > 3]
        tensor([4, 5, 6])
        >>> x[[0, 1], [2, 0]]
        tensor([3, 4])
    """
    kind = type(index)
    if (
        (kind is int or kind is slice or kind is tuple or kind is NoneType)
        and not t._rg
        and (part := part_of(t, index)) is not None
    ):
        return part
    if kind is int:
        if t._aval.ndim:
            return _selected(t, 0, index, 0)
    elif kind is slice:
        if t._aval.ndim:
            return _sliced(t, 0, index)
    elif kind is tuple and (places := _places_alone(t, index)) is not None:
        return _index(t, places)
    elif kind is Tensor and index._aval.ndim and t._aval.ndim:
        if index._aval.dtype == np.int64:
            found = _index(t, (index,))
            return (
                found
                if t._strides is None and index._strides is None
                else _ordered(found, t, [index])
            )
        if (
            index._aval.dtype == np.bool_
            and index._aval.shape == t._aval.shape
            and t._strides is None
        ):
            return _index_flat(t, _positions_of(index), 0, t._aval.ndim)
    result, advanced = _basic(t, _items(index))
    if advanced:
        found = _gathered(result, advanced)
        if all(
            type(item) is Tensor and not item._aval.ndim and _is_traced(item)
            for _, item in advanced
        ):
            alias_of(found).storage.__class__ = Copied
        return found
    if result is t:
        result = named(viewed(t, t._aval.shape), "AliasBackward0")
        result._strides = t._strides  # those of dimensions of size 1 as well
    return result


def _places_alone(t: Tensor, index: Row) -> list[Tensor | None] | None:
    """The index tensors of ``t[:, i, j]`` and the like, where each is one of integers for one
    dimension and everything lies row by row, so that nothing is left to be found out; else None."""
    if t._strides is not None or len(index) > t._aval.ndim:
        return None
    found: list[Tensor | None] = []
    last = 0
    for item in index:
        kind = type(item)
        if kind is Tensor:
            aval = item._aval
            if aval.dtype != np.int64 or not aval.ndim or item._strides is not None:
                return None
            found.append(item)
            last = len(found)
        elif kind is slice and item.start is None and item.stop is None and item.step is None:
            found.append(None)
        else:
            return None
    return found[:last] if last else None


def _gathered(t: Tensor, advanced: list[tuple[int, Any]]) -> Tensor:
    if len(advanced) == 1:
        dim, item = advanced[0]
        if isinstance(item, bool):
            return _index_flat(t, from_host(np.zeros(int(item), np.int64), t.device), dim, 1)
        if _is_mask(item):
            _check_mask(t, dim, item)
            count = max(item._aval.ndim, 1)
            positions = _positions_of(item)
            return _ordered(
                _index_flat(t, positions, dim, count), t, [None] * dim + [positions] * count
            )
    indices = as_positions(t, advanced)
    return _ordered(_index(t, indices), t, indices)


def _ordered(result: Tensor, t: Tensor, indices: list[Tensor | None]) -> Tensor:
    """The result in the memory order that torch's iterator chooses from the strides of what is
    indexed and of the indices."""
    given = [i for i in indices if i is not None]
    if t._strides is None and all(i._strides is None for i in given):
        return result
    strides = t._strides or applying.contiguous_strides(t._aval.shape)
    dims = [d for d, i in enumerate(indices) if i is not None]
    rest = [d for d in range(t._aval.ndim) if d not in dims]
    # indices apart from each other come to the front
    before = dims[0] if dims == list(range(dims[0], dims[-1] + 1)) else 0
    shape = result._aval.shape
    middle = len(shape) - len(rest)
    operands = [
        (
            shape,
            (
                *[strides[d] for d in rest[:before]],
                *(0,) * middle,
                *[strides[d] for d in rest[before:]],
            ),
        )
    ]
    sizes = shape[before : before + middle]
    operands += [_spread(i, sizes, before, len(rest) - before) for i in given]
    found = applying.pointwise_strides(shape, tuple(operands))
    if found is not None:
        result._strides = found
    return result


def _spread(
    index: Tensor, sizes: tuple[int, ...], before: int, after: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides of an index tensor, expanded to ``sizes`` and with so many dimensions of
    size 1 around."""
    own = index._strides or applying.contiguous_strides(index._aval.shape)
    lead = len(sizes) - len(own)
    expanded = [
        0 if n != m else s for n, m, s in zip(index._aval.shape, sizes[lead:], own, strict=True)
    ]
    last = expanded[-1] if expanded else 1
    shape = (*(1,) * before, *sizes, *(1,) * after)
    strides: list[int] = []
    # a reshape gives dimensions of size 1 the stride that would continue their neighbours'
    for d in range(len(shape) - 1, -1, -1):
        place = d - before - lead
        if shape[d] == 1:
            strides.append(shape[d + 1] * strides[-1] if strides else last)
        else:
            strides.append(expanded[place] if 0 <= place < len(expanded) else 0)
    return shape, tuple(reversed(strides))


# ---- writing -------------------------------------------------------------------------------------


def setitem(t: Tensor, index: Any, value: Any) -> None:
    """``t[index] = value``: writes a number or a tensor, broadcast, through the views and positions
    that the index means.

    Raises:
        IndexError: for an index of a wrong kind, rank, shape or value.
        RuntimeError: if the value does not broadcast to the indexed shape, or is of another dtype
            where positions are written.
        TypeError: if the value is neither a number nor a tensor.
        ValueError: for a whole number of more than 64 bits.

    Example:
        >>> import jtorch as torch
        >>> x = torch.zeros(2, 3)
        >>> x[0, 1:] = torch.tensor([1.0, 2.0])
        >>> x[x == 0] = -1
        >>> x
        tensor([[-1.,  1.,  2.],
                [-1., -1., -1.]])
    """
    if (type(value) is Tensor and is_there(t, index, value)) or set_at_once(t, index, value):
        return None
    if not isinstance(value, Tensor):
        value = _number(t, value)
        if type(value) is int and not LOWEST_LONG <= value <= HIGHEST_LONG:
            raise ValueError(OVERFLOW)
    kind = type(index)
    if kind is int and t._aval.ndim:
        return _copy_to(_selected(t, 0, index, 0), value)
    if kind is bool and not index:
        return None
    if kind is slice and t._aval.ndim and _is_whole(index, t._aval.shape[0]):
        return _copy_to(t, value, True)  # torch makes no view here
    target, advanced = _basic(t, _items(index))
    if not advanced or (len(advanced) == 1 and advanced[0][1] is True):
        return _copy_to(target, value, target is t)
    if any(item is False for _, item in advanced):
        return None
    _scattered(target, advanced, value)
    return None


def _number(t: Tensor, value: object) -> Any:
    """A Python number, from what torch accepts as one.

    Raises:
        TypeError: for anything else, NumPy's other floating types included.
    """
    if type(value) in (int, float, bool, complex):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, complex)):
        return complex(value) if isinstance(value, complex) else float(value)
    raise TypeError(f"can't assign a {_type_name(value)} to a torch.{t.dtype.legacy}")


def _type_name(value: object) -> str:
    kind = type(value)
    return f"{kind.__module__}.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


def _is_whole(index: slice, size: int) -> bool:
    """Whether a slice is of everything, from 0 on."""
    start, stop, step = index.start, index.stop, index.step
    if (
        type(start) not in (int, NoneType)
        or type(stop) not in (int, NoneType)
        or type(step) not in (int, NoneType)
    ):
        return False
    return not start and (stop is None or stop >= size) and (step is None or step == 1)


@writes("copy_")
def _copy_to(target: Tensor, value: Tensor | complex | float, whole: bool = False) -> None:
    if whole and target._rg and not (isinstance(value, Tensor) and value._aval.ndim):
        written(target.fill_(value), "FillBackward3")
    elif isinstance(value, Tensor):
        if value._aval.shape != target._aval.shape:
            value = _without_leading_ones(value, target)
        shape = target._aval.shape
        target.copy_(
            value
            if value._aval.shape == shape or value._aval.ndim > len(shape)
            else value.expand(shape)
        )
    else:
        value = _number_for(target, value)
        check_inplace(target)
        target.fill_(value)


def _number_for(target: Tensor, value: object) -> Operand:
    """A number to be written: PyTorch makes a tensor of it first, so that what halves cannot hold
    is infinite and no error."""
    dtype = target._aval.dtype
    half = dtype.itemsize == 2 and dtype.kind not in "iu"
    if type(value) is complex and dtype.kind not in "bc":
        raise RuntimeError(too_large(np.dtype(np.float64) if half else dtype))
    if not half or not isinstance(value, (int, float)):
        return value
    with np.errstate(over="ignore"):
        return float(dtypes.converted(np.float64(value), dtype))


def _without_leading_ones(value: Tensor, target: Tensor) -> Tensor:
    """``value`` with leading dimensions of size 1 dropped where it has more dimensions than the
    target.

    Raises:
        RuntimeError: if it does not broadcast to the target's shape.
    """
    shape, sizes = value._aval.shape, target._aval.shape
    extra = len(shape) - len(sizes)
    if extra > 0 and all(n == 1 for n in shape[:extra]):
        shape = shape[extra:]
        value = value.reshape(shape)
    elif extra > 0:
        shape = shape[next(i for i, n in enumerate(shape) if n != 1) :]
    expanded_size(shape, sizes)
    return value


def _settled(target: Tensor, result: Tensor) -> Tensor:
    """What is written into a tensor of which several indices mean one place.

    Of an expanded dimension what changes first; otherwise what is written last.
    """
    shape, strides = target._aval.shape, target._strides or ()
    if not any(step == 0 and n > 1 for n, step in zip(shape, strides, strict=True)):
        last = from_host(last_written(shape, strides).reshape(-1))
        return _gather(result.reshape(-1), 0, last).reshape(shape)
    for d, (n, step) in enumerate(zip(target._aval.shape, target._strides or (), strict=True)):
        if step == 0 and n > 1:
            changed = _ne(result, target)
            place = _argmax(_to_copy(changed, dtypes.uint8), d, True)
            result = _gather(result, d, place).expand(target._aval.shape)
    return result


applying.settled = _settled


@writes("index_put_")
def _scattered(target: Tensor, advanced: list[tuple[int, object]], value: Operand) -> None:
    """Writes at positions and through masks."""
    check_inplace(target, idempotent=_LISTED)
    is_tensor = isinstance(value, Tensor)
    dim, item = advanced[0]
    if len(advanced) == 1 and isinstance(item, Tensor) and _is_mask(item):
        _check_mask(target, dim, item)
        if not is_tensor or value._aval.size == 1:
            _fill_by_mask(target, dim, item, value)
            return
        _check_dtype(target, value, advanced)
        check_overlap(target, (item, value), True)
        if item._aval.ndim == target._aval.ndim and value._aval.ndim == 1:
            # As many values as the mask selects: no need to know how many, but to check it when the
            # trace runs.
            inplace(target, _masked_write(target, item, value))
            return
        inplace(
            target,
            _index_put_flat(target, _positions_of(item), value, dim, max(item._aval.ndim, 1)),
        )
        return
    if is_tensor:
        _check_dtype(target, value, advanced)
    check_overlap(target, (value, *[x for _, x in advanced]), True)
    inplace(target, _index_put(target, as_positions(target, advanced), value))


def _fill_by_mask(target: Tensor, dim: int, mask: Tensor, value: Tensor | float | int) -> None:
    """One value wherever the mask is true; needs no positions."""
    if target._strides is not None:
        check_inplace(target, idempotent=_MASKED)
    if isinstance(value, Tensor) and value._aval.ndim:
        value = value.reshape(())
    rest = target._aval.ndim - dim - max(mask._aval.ndim, 1)
    if rest or mask._aval.ndim == 0:
        mask = mask.reshape((*(mask._aval.shape or (1,)), *(1,) * rest))
    written(
        inplace(target, _masked_fill(target, mask, _number_for(target, value))), "IndexPutBackward0"
    )


def _check_dtype(target: Tensor, value: Tensor, advanced: list[tuple[int, object]]) -> None:
    if target._aval.dtype != value._aval.dtype:
        index = []
        for dim, item in advanced:  # a shape that does not fit is the first thing that torch says
            behind = sum(
                max(x._aval.ndim, 1) if isinstance(x, Tensor) and _is_mask(x) else 1 for x in index
            )
            index += [slice(None)] * (dim - behind) + [item]
        full = target.detach()[tuple(index)].shape
        if value._aval.ndim > len(full) or any(
            n not in (1, m) for n, m in zip(value.shape[::-1], full[::-1], strict=False)
        ):
            raise RuntimeError(
                f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to "
                f"indexing result of shape {list(full)}"
            )
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{target.dtype.scalar_name} for the destination and {value.dtype.scalar_name} for the "
            "source."
        )
