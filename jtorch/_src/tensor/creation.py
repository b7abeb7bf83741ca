"""Tensors from Python and NumPy data: ``tensor``, ``as_tensor``, ``from_numpy`` and their
relatives."""

from __future__ import annotations

import math
import warnings
from itertools import chain
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ...core import Tensor, from_host, requiring, share_host, wrap
from ...dispatch import ACTIVE
from ..bind.cores import composite
from ..bind.factories import check_dtype, check_options, factory
from ..borders.interop import from_dlpack
from ..facts import dtypes, layouts
from ..facts.devices import device
from ..facts.errors import check_flag, type_name
from ..facts.warned_once import outside, warn_once
from ..hooks import seen_making
from ..ops import creation as _kernels  # noqa: F401  (declares the factory used below)
from ..ops._declare import OPS

if TYPE_CHECKING:
    from ..facts.kinds import Values


# ---- what a value is -----------------------------------------------------------------------------

_BY_PYTHON_TYPE = {bool: 0, int: 1, float: 2, complex: 3}
_NOT_SEQUENCES = (str, bytes, dict, set, frozenset, Tensor)


def _is_sequence(value: object) -> bool:
    """Whether torch descends into ``value``: anything with a length and positions but strings,
    mappings and tensors."""
    if isinstance(value, (list, tuple, range)):
        return True
    if isinstance(value, (np.ndarray, jax.Array)):
        return value.ndim > 0
    return (
        not isinstance(value, (*_NOT_SEQUENCES, np.generic))
        and hasattr(value, "__len__")
        and hasattr(value, "__getitem__")
    )


_ITERATED = frozenset((list, tuple, range))


def _indexed(sequence: Any) -> list[object]:
    """The items of a sequence as torch reads them: their values by a loop, their kind by index.
    pandas gives Python's numbers to loops, and NumPy's to an index, which may be a label.

    Raises:
        ValueError: if it has no item of some number, in torch's words.
    """
    try:
        kinds = [sequence[i] for i in range(len(sequence))]
    except (LookupError, TypeError):
        raise ValueError(
            f"could not determine the shape of object type '{type(sequence).__name__}'"
        ) from None
    return [
        x.dtype.type(item) if isinstance(x, np.generic) else item
        for item, x in zip(sequence, kinds, strict=True)
    ]


#: PyTorch's limit for nested sequences, which may hold themselves.
_MOST_DIMS = 128


def _flattened(data: tuple[float, ...] | list[object]) -> tuple[tuple[int, ...], Values]:
    """The shape of nested sequences and their leaves, in order.

    Raises:
        ValueError: for ragged sequences, and those nested without end, in torch's words.
        TypeError: where a number stands beside a sequence.
    """
    shape: list[int] = []
    level: list[Any] = [data]
    while level and _is_sequence(level[0]):
        size = len(level[0])
        for item in level:
            if not _is_sequence(item):
                raise TypeError("not a sequence")
            if len(item) != size:
                raise ValueError(
                    f"expected sequence of length {size} at dim {len(shape)} (got {len(item)})"
                )
        shape.append(size)
        if len(shape) > _MOST_DIMS:
            raise ValueError(f"too many dimensions '{type(level[0]).__name__}'")
        if not _ITERATED.issuperset(map(type, level)):
            level = [
                item
                if isinstance(item, (list, tuple, range, np.ndarray, Tensor))
                else _indexed(item)
                for item in level
            ]
        level = list(chain.from_iterable(level)) if len(level) > 1 else list(level[0])
    return tuple(shape), level


def _leaf_dtype(value: object) -> dtypes.dtype:
    """The dtype of one leaf.

    Raises:
        RuntimeError, TypeError: if torch could not tell.
    """
    if isinstance(value, Tensor):
        return value.dtype
    if isinstance(value, (np.generic, np.ndarray, jax.Array)):
        return dtypes.from_np(value.dtype)
    if isinstance(value, (bool, int, float, complex)):
        return dtypes.of_number(value)
    if isinstance(value, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(value).__name__}'")
    if _is_sequence(value):
        if isinstance(value, (list, tuple)) and any(item is value for item in value):
            raise TypeError("new(): self-referential lists are incompatible")
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
    name = type(value).__name__
    raise RuntimeError(
        "Could not infer dtype of "
        f"{name if type(value).__module__ in ('builtins', '__main__') else _qualified(value)}"
    )


def _qualified(value: object) -> str:
    kind = type(value)
    # C types carry their module in their name, Python classes do not.
    return kind.__name__ if kind.__flags__ & (1 << 9) else f"{kind.__module__}.{kind.__name__}"


def _infer(leaves: list[object]) -> dtypes.dtype:
    """The dtype torch gives the elements of a (flattened) sequence: the smallest that all can be
    converted to."""
    if not leaves:
        return dtypes.get_default_dtype()
    kinds = set(map(type, leaves))
    if kinds <= _BY_PYTHON_TYPE.keys():
        widest = max(kinds, key=_BY_PYTHON_TYPE.__getitem__)
        return dtypes.of_number(widest())
    found: dtypes.dtype | None = None
    for leaf in leaves:
        mine = _leaf_dtype(leaf)
        found = mine if found is None else dtypes.promote_types(found, mine)
    assert found is not None
    return found


def values_of(leaves: list[complex | float | int], dtype: dtypes.dtype) -> np.ndarray:
    """The leaves as an array of ``dtype``.

    Raises:
        TypeError: for what is no number, or a complex number for a real dtype.
        ValueError, RuntimeError: for a number that does not fit.
    """
    if not all(type(x) in _BY_PYTHON_TYPE for x in leaves):
        leaves = [_python_number(x, dtype) for x in leaves]
    kind = dtype.category
    if kind == dtypes.COMPLEX:
        return np.array(leaves, np.complex128).astype(dtype.np)
    if kind == dtypes.BOOL:
        return np.array([bool(x) for x in leaves], np.bool_)
    if any(type(x) is complex for x in leaves):
        whole = kind < dtypes.FLOATING
        raise TypeError(
            "'complex' object cannot be interpreted as an integer"
            if whole
            else "must be real number, not complex"
        )
    if kind == dtypes.FLOATING:
        with np.errstate(over="ignore"):  # too large numbers become infinite, as in torch
            return dtypes.converted(np.array(leaves, np.float64), dtype.np)
    return _integers(leaves, dtype)


def _python_number(leaf: object, dtype: dtypes.dtype) -> Any:
    if isinstance(leaf, Tensor):
        return (
            leaf.__index__()
            if dtype.category < dtypes.FLOATING
            else complex(leaf)
            if dtype.category == dtypes.COMPLEX
            else float(leaf)
        )
    if isinstance(leaf, np.ndarray):
        if leaf.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return leaf.item()
    if isinstance(leaf, (np.generic, jax.Array)):
        return leaf.item()
    if isinstance(leaf, (bool, int, float, complex)):
        return leaf
    if dtype.category >= dtypes.FLOATING:
        raise TypeError(f"must be real number, not {type(leaf).__name__}")
    raise TypeError(f"'{type(leaf).__name__}' object cannot be interpreted as an integer")


def _integers(leaves: Values, dtype: dtypes.dtype) -> np.ndarray:
    low, high = int(np.iinfo(dtype.np).min), int(np.iinfo(dtype.np).max)
    if low == 0:
        low = -high  # torch lets negative numbers wrap around in unsigned types
    whole = []
    for x in leaves:
        if dtype is dtypes.uint64 and type(x) is not bool:
            if type(x) is not int:
                raise TypeError("an integer is required")
            if x < 0:
                raise OverflowError("can't convert negative int to unsigned")
        if type(x) is float and (not math.isfinite(x) or (x < 0 and not dtype.is_signed)):
            raise RuntimeError(
                f"value cannot be converted to type {dtype.np.name} without overflow"
            )
        n = int(x)
        if not low <= n <= high:
            if type(x) is int and not -(2**63) <= n < 2**63 and dtype is not dtypes.uint64:
                raise ValueError("Overflow when unpacking long long")
            raise RuntimeError(
                f"value cannot be converted to type {dtype.np.name} without overflow"
            )
        whole.append(n)
    if dtype is dtypes.uint64:
        return np.array([n % 2**64 for n in whole], np.uint64)
    return np.array(whole, np.int64).astype(dtype.np)


def _host_array(data: Any, dtype: dtypes.dtype | None) -> np.ndarray:
    """Numbers and nested sequences of them as an array, in torch's dtype for them unless one is
    given."""
    kind = type(data)
    if kind in _BY_PYTHON_TYPE:
        wanted = dtype or dtypes.of_number(data)
        if wanted is dtypes.int64 and kind is int:
            return _integers([data], wanted).reshape(())
        return values_of([data], wanted).reshape(())
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{kind.__name__}'")
    if (
        isinstance(data, (list, tuple))
        and data
        and isinstance(data[0], np.ndarray)
        and data[0].ndim
    ):
        warn_once(
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider "
            "converting the list to a single numpy.ndarray with numpy.array() before converting to "
            "a tensor."
        )
    shape, leaves = _flattened(data)
    # A letter is a sequence of one letter, and so on without end.
    if leaves and shape and isinstance(leaves[0], str):
        raise ValueError("too many dimensions 'str'")
    wanted = dtype or _infer(leaves)
    return values_of(leaves, wanted).reshape(shape)


def _from_array(array: np.ndarray) -> np.ndarray:
    """Checks what torch cannot take from NumPy.

    Raises:
        TypeError: for a type that torch has not.
        ValueError: for foreign byte order or negative strides.
    """
    if array.dtype.byteorder not in "=|" and not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. "
            "Conversion between byte orders is currently not supported."
        )
    dtypes.from_np(array.dtype)
    if any(s < 0 for s in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a "
            "copy of your array  with array.copy().) "
        )
    if any(s % array.dtype.itemsize for s in array.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy "
            "array to reallocate the memory."
        )
    return array


# ---- tensors from data ---------------------------------------------------------------------------


def _made(
    array: np.ndarray, dtype: dtypes.dtype | None, device: device | None, requires_grad: bool
) -> Tensor:
    if dtype is not None and array.dtype != dtype.np:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # complex to real drops the imaginary part
            array = dtypes.converted(array, dtype.np)
    if requires_grad and dtypes.from_np(array.dtype).category < dtypes.FLOATING:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return from_host(array, device, requires_grad)


def _copied(
    source: Tensor, dtype: dtypes.dtype | None, device: object, requires_grad: bool, advice: str
) -> Tensor:
    warnings.warn(
        "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() "
        f"or sourceTensor.detach().clone().requires_grad_(True), rather than {advice}.",
        UserWarning,
        stacklevel=outside(),
    )
    made = source.detach().to(
        device=device or source.device, dtype=dtype or source.dtype, copy=True
    )
    return requiring(made) if requires_grad else made


@composite(native=True, factory=True, asks="modes")
def tensor(
    data: Any,
    *,
    dtype: dtypes.dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A new tensor with a copy of ``data``: a number, nested sequences of numbers, a NumPy array or
    a tensor.

    Args:
        data: a number, nested sequences of numbers, an array of NumPy's or JAX's, or a tensor; it
            is copied.
        dtype: the dtype of the result; found from the data if it is None.
        device: where the result lies; where ``data`` does, or the default device, if it is None.
        requires_grad: whether autograd records what is done with the result.
        pin_memory: whether the memory is to be page-locked, for copies to an accelerator.

    Shapes: that of the nesting; () for a number.

    Dtypes: NumPy arrays and scalars keep theirs; Python ints give int64, floats the default dtype,
    complex numbers its complex type.

    Raises:
        ValueError: for ragged sequences, or integers beyond 64 bits.
        TypeError, RuntimeError: for data that torch has no dtype for, or that does not fit the one
            given.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([[1, 2], [3, 4]])
        tensor([[1, 2],
                [3, 4]])
        >>> torch.tensor([1, 2.5])
        tensor([1.0000, 2.5000])
    """
    check_options("tensor", None, pin_memory)
    if type(requires_grad) is not bool:
        raise TypeError(
            f"tensor(): argument 'requires_grad' must be bool, not {type_name(requires_grad)}"
        )
    wanted = check_dtype("tensor", dtype)
    if isinstance(data, Tensor):
        return _copied(data, wanted, device, requires_grad, "torch.tensor(sourceTensor)")
    if isinstance(data, np.ndarray):
        return _made(_from_array(data), wanted, device, requires_grad)
    if isinstance(data, np.generic):
        dtypes.from_np(data.dtype)
        return _made(np.asarray(data), wanted, device, requires_grad)
    if isinstance(data, jax.Array):
        return _of_jax(data, wanted, device, requires_grad)
    if hasattr(type(data), "__dlpack__"):
        return _of_dlpack(data, wanted, device, requires_grad, copy=True)
    if type(data) in _BY_PYTHON_TYPE:
        found = wanted or dtypes.of_number(data)
        # a number becomes part of the program, which costs less than a copy to the device
        if _fits(data, found):
            return _scalar(data, dtype=found, device=device, requires_grad=requires_grad)
    if hasattr(data, "untyped"):
        return _made(_of_storage(data, wanted), None, device, requires_grad)
    return _made(_host_array(data, wanted), None, device, requires_grad)


def _of_jax(
    array: jax.Array, dtype: dtypes.dtype | None, device: object, requires_grad: bool
) -> Tensor:
    """A tensor on an array of JAX's (or a tracer): nobody can write into it, so that sharing it is
    as good as a copy."""
    dtypes.from_np(array.dtype)
    made = wrap(array)
    if device is not None or dtype is not None:
        made = made.to(device=device or made.device, dtype=dtype or made.dtype)
    return requiring(made) if requires_grad else made


def _of_dlpack(
    data: object,
    dtype: dtypes.dtype | None,
    device: object,
    requires_grad: bool = False,
    copy: bool = False,
) -> Tensor:
    """A tensor on the memory of an object that gives it away by DLPack's protocol, or with a copy
    of it."""
    made = from_dlpack(data)
    made = made.to(device=device or made.device, dtype=dtype or made.dtype, copy=copy)
    return requiring(made) if requires_grad else made


def _of_storage(source: Any, wanted: dtypes.dtype | None) -> np.ndarray:
    """The elements of a storage; an untyped one holds whole elements of the dtype that is asked
    for.

    Raises:
        RuntimeError: if the storage is of another dtype.
    """
    mine = getattr(source, "dtype", None)
    if mine is not None and wanted not in (None, mine):
        raise RuntimeError(
            f"Expected a Storage of type {wanted.scalar_name} or an UntypedStorage, but got "
            f"{mine.scalar_name}"
        )
    dtype = (
        wanted
        or mine
        or (dtypes.int64 if source.untyped().nbytes() else dtypes.get_default_dtype())
    )
    data = source.untyped().memory().view(np.uint8)
    return data[: data.size // dtype.itemsize * dtype.itemsize].view(dtype.np).copy()


_scalar = factory(OPS["_C._scalar"], "_C._scalar")


def _fits(value: float | int, dtype: dtypes.dtype) -> bool:
    """Whether a number can be cast to ``dtype`` without the checks that others need."""
    kind = type(value)
    if kind is bool:
        return True
    if kind is complex:
        return dtype.is_complex
    if dtype is dtypes.int64:
        return kind is int and -(2**63) <= value < 2**63
    return dtype.category >= dtypes.FLOATING and (kind is float or -(2**53) <= value <= 2**53)


@composite(namespace="Tensor", operands=("self",), ignored=True)
def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: dtypes.dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = layouts.strided,
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor with a copy of ``data``, of this tensor's dtype and device unless they are
    given.

    Shapes: that of the nesting; () for a number.

    Raises:
        ValueError, TypeError, RuntimeError: as ``torch.tensor``.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(1, dtype=torch.int64).new_tensor([1, 2])
        tensor([1, 2])
    """
    check_options("new_tensor", layout, pin_memory)
    wanted = check_dtype("new_tensor", dtype) or self.dtype
    place = self.device if device is None else device
    if isinstance(data, Tensor):
        return _copied(data, wanted, place, requires_grad, "tensor.new_tensor(sourceTensor)")
    if isinstance(data, np.ndarray):
        return _made(_from_array(data), wanted, place, requires_grad)
    if isinstance(data, jax.Array):
        return _of_jax(data, wanted, place, requires_grad)
    if hasattr(type(data), "__dlpack__"):
        return _of_dlpack(data, wanted, place, requires_grad, copy=True)
    return _made(_host_array(data, wanted), wanted, place, requires_grad)


@composite(native=True, factory=True, asks="modes", ignored=True)
def as_tensor(data: Any, dtype: dtypes.dtype | None = None, device: Any = None) -> Tensor:
    """``data`` as a tensor: itself if it is one already, sharing the memory of a NumPy array, else
    a copy.

    A conversion to another dtype or device makes a copy.

    Args:
        data: what ``torch.tensor`` takes; memory is shared where dtype and device allow it.
        dtype: the dtype of the result; found from the data if it is None.
        device: where the result lies; where ``data`` does if it is None.

    Shapes: that of ``data``.

    Dtypes: as ``torch.tensor``, unless ``dtype`` is given.

    Raises:
        ValueError, TypeError, RuntimeError: as ``torch.tensor``.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1, 2])
        >>> torch.as_tensor(x) is x
        True
        >>> torch.as_tensor([1, 2], dtype=torch.float32)
        tensor([1., 2.])
    """
    wanted = check_dtype("as_tensor", dtype)
    if isinstance(data, Tensor):
        keep_dtype = wanted is None or wanted is data.dtype
        if keep_dtype and (device is None or data.to(device=device) is data):
            return data
        return data.to(device=device or data.device, dtype=wanted or data.dtype)
    if isinstance(data, np.ndarray):
        _from_array(data)
        return _shared(data, wanted, device)
    if isinstance(data, np.generic):
        return _made(np.asarray(data), wanted, device, False)
    if isinstance(data, jax.Array):
        return _of_jax(data, wanted, device, False)
    if hasattr(type(data), "__dlpack__"):
        return _of_dlpack(data, wanted, device)
    if hasattr(data, "untyped"):
        return _made(_of_storage(data, wanted), None, device, False)
    return _made(_host_array(data, wanted), None, device, False)


def _shared(array: np.ndarray, dtype: dtypes.dtype | None, device: object) -> Tensor:
    made = share_host(array)
    if device is None and (dtype is None or dtype is made.dtype):
        return made
    return made.to(device=device or made.device, dtype=dtype or made.dtype)


@composite(native=True, asks="nobody")
def from_numpy(ndarray: Any) -> Any:
    """A tensor on the memory of a NumPy array: what either side writes, the other sees.

    Args:
        ndarray: an array of NumPy's, whose memory is shared.

    Shapes: that of the array.

    Raises:
        TypeError: if it is no array, or of a type that torch has not.
        ValueError: for negative strides or foreign byte order.

    Example:
        >>> import jtorch as torch
        >>> import numpy as np
        >>> array = np.array([1, 2])
        >>> x = torch.from_numpy(array)
        >>> array[0] = 5
        >>> x
        tensor([5, 2])
    """
    if not isinstance(ndarray, np.ndarray):
        kind = type(ndarray)
        raise TypeError(
            "expected np.ndarray (got "
            f"{kind.__module__ + '.' if kind.__module__ == 'numpy' else ''}{kind.__name__})"
        )
    if not ndarray.flags.writeable:
        warn_once(
            "The given NumPy array is not writable, and PyTorch does not support non-writable "
            "tensors. This means writing to this tensor will result in undefined behavior. You may "
            "want to copy the array to protect its data or make it writable before converting it "
            "to a tensor. This type of warning will be suppressed for the rest of this program."
        )
    if not ACTIVE.modes:
        return share_host(_from_array(ndarray))
    return seen_making(lambda: share_host(_from_array(ndarray)))


@composite(native=True, asks="nobody")
def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A one-dimensional tensor on the memory of an object with Python's buffer protocol, ``count``
    elements from byte ``offset`` on.

    Shapes: (count), or as many as there are.

    Raises:
        ValueError: if the object has no buffer, or it does not hold that many elements.

    Example:
        >>> import jtorch as torch
        >>> torch.frombuffer(bytearray([1, 0, 2, 0]), dtype=torch.int16)
        tensor([1, 2], dtype=torch.int16)
    """
    wanted = check_dtype("frombuffer", dtype)
    if wanted is None:
        raise TypeError("frombuffer(): argument 'dtype' must be torch.dtype, not NoneType")
    try:
        memory = (
            np.frombuffer(buffer, np.uint8) if memoryview(buffer).nbytes else np.empty(0, np.uint8)
        )
        writable = not memoryview(buffer).readonly
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    length, size = memory.size, wanted.itemsize
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({length} bytes) minus 1"
        )
    if count > 0 and offset + count * size > length:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must "
            f"not be greater than actual buffer length ({length} bytes)"
        )
    if count < 0 and (length - offset) % size:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a "
            f"multiple of element size ({size})"
        )
    if not writable:
        warn_once(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. "
            "This means you can write to the underlying (supposedly non-writable) buffer using the "
            "tensor. You may want to copy the buffer to protect its data or make it writable "
            "before converting it to a tensor. This type of warning will be suppressed for the "
            "rest of this program."
        )
    made = share_host(
        np.frombuffer(buffer, wanted.np, (length - offset) // size if count < 0 else count, offset)
    )
    return requiring(made) if requires_grad else made


@composite(native=True, factory=True, asks="modes", ignored=True)
def asarray(
    obj: Any,
    *,
    dtype: dtypes.dtype | None = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Any:
    """``obj`` as a tensor: shared where it can be (tensors, NumPy arrays, buffers), copied where it
    must or ``copy=True`` asks for it.

    Shapes: that of ``obj``.

    Dtypes: as ``torch.tensor``, unless ``dtype`` is given; buffers are read in the default dtype.

    Gradient: that of ``obj``, if it is a tensor that has one and ``requires_grad`` is not given
    (with a warning, once); ``False`` detaches what was computed, and both ``True`` and ``False``
    are set at ``obj`` itself where it is what is given back.

    Raises:
        ValueError: if ``copy=False`` and only a copy can be made.
        RuntimeError: if ``copy=False`` and ``obj`` is a scalar of NumPy; if ``requires_grad`` is
            asked of integers.

    Example:
        >>> import jtorch as torch
        >>> torch.asarray([1, 2])
        tensor([1, 2])
    """
    wanted = check_dtype("asarray", dtype)
    check_flag("asarray", "copy", copy)
    check_flag("asarray", "requires_grad", requires_grad)
    if type(obj).__name__ == "UntypedStorage":
        obj = obj.memory().view(np.uint8)
    if isinstance(obj, (np.ndarray, np.generic)):
        source: Any = (
            share_host(_from_array(obj))
            if isinstance(obj, np.ndarray)
            else from_host(np.asarray(obj))
        )
        if isinstance(obj, np.generic) and copy is False:
            raise RuntimeError(
                "can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. "
            )
    elif isinstance(obj, Tensor):
        source = obj
    elif isinstance(obj, jax.Array):
        source = _of_jax(obj, None, None, False)
    elif hasattr(obj, "__dlpack__") or type(obj).__name__ == "PyCapsule":
        source = from_dlpack(obj)
    else:
        source = _from_buffer(obj, wanted)
    if source is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return _made(_host_array(obj, wanted), None, device, bool(requires_grad))
    converts = wanted is not None and wanted is not source.dtype
    moves = device is not None and source.to(device=device) is not source
    if copy is False and converts:
        raise ValueError(
            f"can't alias tensor with dtype '{source.dtype.scalar_name}' into dtype "
            f"'{wanted.scalar_name}'."
        )
    if copy is False and moves:
        raise ValueError(f"can't alias tensor from device '{source.device}' to '{device}'.")
    made = source
    if converts or moves:
        made = source.to(device=device or source.device, dtype=wanted or source.dtype, copy=True)
    elif copy:
        made = source.clone()
    if requires_grad is None:
        if made.requires_grad:
            warn_once(
                "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad "
                "instead of False. Pass requires_grad=False explicitly to get the old behavior and "
                "silence this warning."
            )
    elif requires_grad:
        if not made.requires_grad:
            requiring(made)
    elif made.requires_grad:
        made = made.requires_grad_(False) if made.is_leaf else made.detach()
    return made


def _from_buffer(obj: Any, dtype: dtypes.dtype | None) -> Tensor | None:
    """A tensor on the memory of an object with a buffer; None if it has none. The elements are of
    the default dtype if none is given."""
    if isinstance(obj, (str, list, tuple, range)):
        return None
    try:
        memoryview(obj)
    except TypeError:
        return None
    return frombuffer(obj, dtype=dtype or dtypes.get_default_dtype())
