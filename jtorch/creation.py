"""Tensors from Python and NumPy data (``tensor``, ``as_tensor``, ``from_numpy``, ...) and the factories with several signatures."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from . import dtypes, layouts
from .binding import composite, number
from .core import Tensor, from_host, share_host
from .factories import check_dtype, check_options, factory
from .ops import creation as _kernels  # noqa: F401  (declares the factories used below)
from .ops._declare import OPS

# ---- what a value is -------------------------------------------------------------------------------------------------------------

_BY_PYTHON_TYPE = {bool: 0, int: 1, float: 2, complex: 3}
_NOT_SEQUENCES = (str, bytes, dict, set, frozenset, Tensor)


def _is_sequence(value: Any) -> bool:
    """Whether torch descends into ``value``: anything with a length and positions but strings, mappings and tensors."""
    if isinstance(value, (list, tuple, range)):
        return True
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return not isinstance(value, (*_NOT_SEQUENCES, np.generic)) and hasattr(value, "__len__") and hasattr(value, "__getitem__")


def _flattened(data: Any) -> tuple[tuple[int, ...], list[Any]]:
    """The shape of nested sequences and their leaves, in order.

    Raises:
        ValueError: for ragged sequences, in torch's words.
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
                raise ValueError(f"expected sequence of length {size} at dim {len(shape)} (got {len(item)})")
        shape.append(size)
        level = list(chain.from_iterable(level)) if len(level) > 1 else list(level[0])
    return tuple(shape), level


def _leaf_dtype(value: Any) -> dtypes.dtype:
    """The dtype of one leaf.

    Raises:
        RuntimeError, TypeError: if torch could not tell.
    """
    if isinstance(value, Tensor):
        return value.dtype
    if isinstance(value, (np.generic, np.ndarray)):
        return dtypes.from_np(value.dtype)
    if isinstance(value, (bool, int, float, complex)):
        return dtypes.of_number(value)
    if isinstance(value, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(value).__name__}'")
    if _is_sequence(value):
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
    name = type(value).__name__
    raise RuntimeError(f"Could not infer dtype of {name if type(value).__module__ in ('builtins', '__main__') else _qualified(value)}")


def _qualified(value: Any) -> str:
    kind = type(value)
    # C types carry their module in their name, Python classes do not.
    return kind.__name__ if kind.__flags__ & (1 << 9) else f"{kind.__module__}.{kind.__name__}"


def _infer(leaves: list[Any]) -> dtypes.dtype:
    """The dtype torch gives the elements of a (flattened) sequence: the smallest that all can be converted to."""
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


def _values(leaves: list[Any], dtype: dtypes.dtype) -> np.ndarray:
    """The leaves as an array of ``dtype``.

    Raises:
        TypeError: for what is no number, or a complex number for a real dtype.
        ValueError, RuntimeError: for a number that does not fit.
    """
    if not all(type(x) in _BY_PYTHON_TYPE for x in leaves):
        leaves = [_python_number(x) for x in leaves]
    kind = dtype.category
    if kind == dtypes.COMPLEX:
        return np.array(leaves, np.complex128).astype(dtype.np)
    if any(type(x) is complex for x in leaves):
        raise TypeError("must be real number, not complex")
    if kind == dtypes.BOOL:
        return np.array([bool(x) for x in leaves], np.bool_)
    if kind == dtypes.FLOATING:
        with np.errstate(over="ignore"):  # too large numbers become infinite, as in torch
            return np.array(leaves, np.float64).astype(dtype.np)
    return _integers(leaves, dtype)


def _python_number(leaf: Any) -> Any:
    if isinstance(leaf, (Tensor, np.ndarray)):
        if (leaf.numel() if isinstance(leaf, Tensor) else leaf.size) != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return leaf.item()
    if isinstance(leaf, np.generic):
        return leaf.item()
    if isinstance(leaf, (bool, int, float, complex)):
        return leaf
    if isinstance(leaf, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(leaf).__name__}'")
    raise TypeError(f"'{type(leaf).__name__}' object cannot be interpreted as an integer")


def _integers(leaves: list[Any], dtype: dtypes.dtype) -> np.ndarray:
    low, high = int(np.iinfo(dtype.np).min), int(np.iinfo(dtype.np).max)
    if low == 0:
        low = -high  # torch lets negative numbers wrap around in unsigned types
    whole = []
    for x in leaves:
        if type(x) is float and not math.isfinite(x):
            raise RuntimeError(f"value cannot be converted to type {dtype.np.name} without overflow")
        n = int(x)
        if not low <= n <= high:
            if type(x) is int and not -(2**63) <= n < 2**63 and dtype is not dtypes.uint64:
                raise ValueError("Overflow when unpacking long long")
            raise RuntimeError(f"value cannot be converted to type {dtype.np.name} without overflow")
        whole.append(n)
    if dtype is dtypes.uint64:
        return np.array([n % 2**64 for n in whole], np.uint64)
    return np.array(whole, np.int64).astype(dtype.np)


def _host_array(data: Any, dtype: dtypes.dtype | None) -> np.ndarray:
    """Numbers and nested sequences of them as an array, in torch's dtype for them unless one is given."""
    kind = type(data)
    if kind in _BY_PYTHON_TYPE:
        wanted = dtype or dtypes.of_number(data)
        if wanted is dtypes.int64 and kind is int:
            return _integers([data], wanted).reshape(())
        return _values([data], wanted).reshape(())
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{kind.__name__}'")
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], np.ndarray) and data[0].ndim:
        _warn_once(
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a single numpy.ndarray "
            "with numpy.array() before converting to a tensor."
        )
    shape, leaves = _flattened(data)
    if leaves and shape and isinstance(leaves[0], (str, bytes)) and len(leaves[0]) > 1:
        raise ValueError(f"too many dimensions '{type(leaves[0]).__name__}'")
    wanted = dtype or _infer(leaves)
    return _values(leaves, wanted).reshape(shape)


def _from_array(name: str, array: np.ndarray) -> np.ndarray:
    """Checks what torch cannot take from NumPy.

    Raises:
        TypeError: for a type that torch has not.
        ValueError: for foreign byte order or negative strides.
    """
    if array.dtype.byteorder not in "=|" and not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is currently not supported."
        )
    dtypes.from_np(array.dtype)
    if any(s < 0 for s in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently supported. "
            "(You can probably work around this by making a copy of your array  with array.copy().) "
        )
    if any(s % array.dtype.itemsize for s in array.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the memory."
        )
    return array


_warned: set[str] = set()


def _warn_once(text: str) -> None:
    """Gives a warning that torch gives once in the life of a program."""
    if text not in _warned:
        _warned.add(text)
        warnings.warn(text, UserWarning, stacklevel=5)


# ---- tensors from data -----------------------------------------------------------------------------------------------------------


def _made(array: np.ndarray, dtype: dtypes.dtype | None, device: Any, requires_grad: bool) -> Tensor:
    if dtype is not None and array.dtype != dtype.np:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # complex to real drops the imaginary part
            array = array.astype(dtype.np)
    if requires_grad and dtypes.from_np(array.dtype).category < dtypes.FLOATING:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return from_host(array, device, requires_grad)


def _copied(source: Tensor, dtype: dtypes.dtype | None, device: Any, requires_grad: bool, advice: str) -> Tensor:
    warnings.warn(
        "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
        f"sourceTensor.detach().clone().requires_grad_(True), rather than {advice}.",
        UserWarning,
        stacklevel=5,
    )
    made = source.detach().to(device=device or source.device, dtype=dtype or source.dtype, copy=True)  # type: ignore[attr-defined]
    return made.requires_grad_(True) if requires_grad else made


@composite(native=True)
def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False) -> Any:
    """A new tensor with a copy of ``data``: a number, nested sequences of numbers, a NumPy array or a tensor.

    Dtypes: NumPy arrays and scalars keep theirs; Python ints give int64, floats the default dtype, complex numbers its complex type.

    Raises:
        ValueError: for ragged sequences, or integers beyond 64 bits.
        TypeError, RuntimeError: for data that torch has no dtype for, or that does not fit the one given.
    """
    check_options("tensor", None, pin_memory)
    wanted = check_dtype("tensor", dtype)
    if isinstance(data, Tensor):
        return _copied(data, wanted, device, requires_grad, "torch.tensor(sourceTensor)")
    if isinstance(data, np.ndarray):
        return _made(_from_array("tensor", data), wanted, device, requires_grad)
    if isinstance(data, np.generic):
        dtypes.from_np(data.dtype)
        return _made(np.asarray(data), wanted, device, requires_grad)
    return _made(_host_array(data, wanted), None, device, requires_grad)


@composite(namespace="Tensor", operands=("self",))
def new_tensor(
    self: Any, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, layout: Any = layouts.strided, pin_memory: bool = False
) -> Any:
    """A new tensor with a copy of ``data``, of this tensor's dtype and device unless they are given."""
    check_options("new_tensor", layout, pin_memory)
    wanted = check_dtype("new_tensor", dtype) or self.dtype
    place = self.device if device is None else device
    if isinstance(data, Tensor):
        return _copied(data, wanted, place, requires_grad, "tensor.new_tensor(sourceTensor)")
    if isinstance(data, np.ndarray):
        return _made(_from_array("new_tensor", data), wanted, place, requires_grad)
    return _made(_host_array(data, wanted), wanted, place, requires_grad)


@composite(native=True)
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """``data`` as a tensor: itself if it is one already, sharing the memory of a NumPy array, else a copy.

    A conversion to another dtype or device makes a copy.
    """
    wanted = check_dtype("as_tensor", dtype)
    if isinstance(data, Tensor):
        keep_dtype = wanted is None or wanted is data.dtype
        if keep_dtype and (device is None or data.to(device=device) is data):  # type: ignore[attr-defined]
            return data
        return data.to(device=device or data.device, dtype=wanted or data.dtype)  # type: ignore[attr-defined]
    if isinstance(data, np.ndarray):
        _from_array("as_tensor", data)
        return _shared(data, wanted, device)
    if isinstance(data, np.generic):
        return _made(np.asarray(data), wanted, device, False)
    return _made(_host_array(data, wanted), None, device, False)


def _shared(array: np.ndarray, dtype: dtypes.dtype | None, device: Any) -> Tensor:
    made = share_host(array)
    if device is None and (dtype is None or dtype is made.dtype):
        return made
    return made.to(device=device or made.device, dtype=dtype or made.dtype)  # type: ignore[attr-defined]


@composite(native=True)
def from_numpy(ndarray: Any) -> Any:
    """A tensor on the memory of a NumPy array: what either side writes, the other sees.

    Raises:
        TypeError: if it is no array, or of a type that torch has not.
        ValueError: for negative strides or foreign byte order.
    """
    if not isinstance(ndarray, np.ndarray):
        kind = type(ndarray)
        raise TypeError(f"expected np.ndarray (got {kind.__module__ + '.' if kind.__module__ == 'numpy' else ''}{kind.__name__})")
    if not ndarray.flags.writeable:
        _warn_once(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to this tensor "
            "will result in undefined behavior. You may want to copy the array to protect its data or make it writable before converting "
            "it to a tensor. This type of warning will be suppressed for the rest of this program."
        )
    return share_host(_from_array("from_numpy", ndarray))


@composite(native=True)
def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Any:
    """A one-dimensional tensor on the memory of an object with Python's buffer protocol, ``count`` elements from byte ``offset`` on.

    Raises:
        ValueError: if the object has no buffer, or it does not hold that many elements.
    """
    wanted = check_dtype("frombuffer", dtype)
    if wanted is None:
        raise TypeError("frombuffer(): argument 'dtype' must be torch.dtype, not NoneType")
    try:
        memory = np.frombuffer(buffer, np.uint8) if memoryview(buffer).nbytes else np.empty(0, np.uint8)
        writable = not memoryview(buffer).readonly
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    length, size = memory.size, wanted.itemsize
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1")
    if count > 0 and offset + count * size > length:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({length} bytes)"
        )
    if count < 0 and (length - offset) % size:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of element size ({size})"
        )
    if not writable:
        _warn_once(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can write to the underlying "
            "(supposedly non-writable) buffer using the tensor. You may want to copy the buffer to protect its data or make it writable before "
            "converting it to a tensor. This type of warning will be suppressed for the rest of this program."
        )
    made = share_host(np.frombuffer(buffer, wanted.np, (length - offset) // size if count < 0 else count, offset))
    return made.requires_grad_(True) if requires_grad else made


@composite(native=True)
def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False) -> Any:
    """``obj`` as a tensor: shared where it can be (tensors, NumPy arrays, buffers), copied where it must or ``copy=True`` asks for it.

    Raises:
        ValueError: if ``copy=False`` and only a copy can be made.
    """
    wanted = check_dtype("asarray", dtype)
    if isinstance(obj, (np.ndarray, np.generic)):
        source: Any = share_host(_from_array("asarray", obj)) if isinstance(obj, np.ndarray) else from_host(np.asarray(obj))
        if isinstance(obj, np.generic) and copy is False:
            raise ValueError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray.")
    elif isinstance(obj, Tensor):
        source = obj
    elif hasattr(obj, "__dlpack__"):
        source = from_dlpack(obj)
    else:
        source = _from_buffer(obj, wanted)
    if source is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return _made(_host_array(obj, wanted), None, device, requires_grad)
    converts = wanted is not None and wanted is not source.dtype
    moves = device is not None and source.to(device=device) is not source
    if copy is False and converts:
        raise ValueError(
            f"can't alias tensor with dtype '{source.dtype.scalar_name}' into dtype '{wanted.scalar_name}'."  # type: ignore[union-attr]
        )
    if copy is False and moves:
        raise ValueError(f"can't alias tensor from device '{source.device}' to '{device}'.")
    made = source
    if converts or moves or copy:
        made = source.to(device=device or source.device, dtype=wanted or source.dtype, copy=True)
    if requires_grad and not made.requires_grad:
        made = made.detach() if made is obj else made
        made.requires_grad_(True)
    elif not requires_grad and made.requires_grad:
        made = made.detach()
    return made


def _from_buffer(obj: Any, dtype: dtypes.dtype | None) -> Tensor | None:
    """A tensor on the memory of an object with a buffer; None if it has none. The elements are of the default dtype if none is given."""
    if isinstance(obj, (str, list, tuple, range)):
        return None
    try:
        memoryview(obj)
    except TypeError:
        return None
    return frombuffer(obj, dtype=dtype or dtypes.get_default_dtype())


def from_dlpack(obj: Any) -> Any:
    """A tensor of an object with DLPack's protocol."""
    import jax

    from .core import wrap

    return wrap(jax.dlpack.from_dlpack(obj))


# ---- ranges ----------------------------------------------------------------------------------------------------------------------

_arange = factory(OPS["_C._arange"], "_C._arange")


def _bounds(name: str, args: Sequence[Any], start: Any, end: Any, step: Any) -> tuple[Any, Any, Any]:
    """``start, end, step`` from up to three positional arguments and keywords.

    Raises:
        TypeError: for a combination that no signature has.
    """
    given = {k: v for k, v in (("start", start), ("end", end), ("step", step)) if v is not None}
    order = ("end",) if len(args) == 1 and "end" not in given else ("start", "end", "step")
    if len(args) > 3 or any(k in given for k in order[: len(args)]):
        raise TypeError(_no_such_arange(name, args, given))
    given.update(zip(order, args, strict=False))
    if "end" not in given or ("step" in given and "start" not in given):
        raise TypeError(_no_such_arange(name, args, given))
    found = []
    for k in ("start", "end", "step"):
        value = given.get(k, 0 if k == "start" else 1)
        position = order.index(k) + 1 if k in order else 1
        if isinstance(value, (str, bytes, list, tuple)) or value is None:
            raise TypeError(f"{name}(): argument '{k}' (position {position}) must be Number, not {type(value).__name__}")
        found.append(number(name, k, value))
    return found[0], found[1], found[2]


def _no_such_arange(name: str, args: Sequence[Any], given: dict[str, Any]) -> str:
    shown = ", ".join([type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in given.items()])
    return (
        f"{name}() received an invalid combination of arguments - got ({shown}), but expected one of:\n"
        " * (Number end, *, Tensor out = None, torch.dtype dtype = None, torch.layout layout = None, torch.device device = None, "
        "bool pin_memory = False, bool requires_grad = False)\n"
        " * (Number start, Number end, Number step = 1, *, Tensor out = None, torch.dtype dtype = None, torch.layout layout = None, "
        "torch.device device = None, bool pin_memory = False, bool requires_grad = False)\n"
    )


def _check_range(start: Any, end: Any, step: Any) -> None:
    for value in (start, end, step):
        if isinstance(value, complex):
            raise RuntimeError("value cannot be converted to type double without overflow")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {_double(start)} -> {_double(end)}")
    if (step > 0 and end < start) or (step < 0 and end > start):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def _double(value: Any) -> str:
    return f"{value:g}"


def _range_dtype(given: dtypes.dtype | None, out: Any, values: Sequence[Any]) -> dtypes.dtype:
    if given is not None:
        return given
    if isinstance(out, Tensor):
        return out.dtype
    return dtypes.get_default_dtype() if any(isinstance(v, float) for v in values) else dtypes.int64


def _spread(name: str, args: Any, start: Any, end: Any, step: Any, closed: bool, out: Any, dtype: Any, options: dict[str, Any]) -> Any:
    first, last, stride = _bounds(name, args, start, end, step)
    given = check_dtype(name, dtype)
    wanted = (given or dtypes.get_default_dtype()) if closed else _range_dtype(given, out, (first, last, stride))
    if wanted.category in (dtypes.BOOL, dtypes.COMPLEX):
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{wanted.scalar_name}'")
    _check_range(first, last, stride)
    if wanted.category == dtypes.INTEGRAL:
        first, last, stride = int(first), int(last), int(stride)
        if stride == 0:
            raise ValueError("step must be nonzero")
        length = (last - first) // stride + 1 if closed else -((first - last) // stride)
    else:
        steps = (last - first) / stride
        length = math.floor(steps) + 1 if closed else math.ceil(steps)
    return _arange(first, stride, max(length, 0), out=out, dtype=wanted, **options)


@composite(native=True)
def arange(
    *args: Any,
    start: Any = None,
    end: Any = None,
    step: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """``arange(end)``, ``arange(start, end, step=1)``: numbers from ``start`` (0) up to, but without, ``end``.

    Dtypes: int64 if all arguments are integers, else the default dtype.

    Raises:
        RuntimeError: if ``step`` is zero, or leads away from ``end``.
    """
    options = {"layout": layout, "device": device, "pin_memory": pin_memory, "requires_grad": requires_grad}
    return _spread("arange", args, start, end, step, False, out, dtype, options)


@composite(name="range", native=True)
def range_(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """Numbers from ``start`` to ``end`` inclusive. Deprecated, as in torch: use ``arange``."""
    if end is None:
        raise TypeError('range() missing 1 required positional arguments: "end"')
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's range "
        "builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning,
        stacklevel=4,
    )
    options = {"layout": layout, "device": device, "pin_memory": pin_memory, "requires_grad": requires_grad}
    return _spread("range", (start, end, step), None, None, None, True, out, dtype, options)


_linspace = factory(OPS["_C._linspace"], "_C._linspace")
_logspace = factory(OPS["_C._logspace"], "_C._logspace")


def _ends(name: str, start: Any, end: Any) -> tuple[Any, Any]:
    """The ends of a line as numbers.

    Raises:
        RuntimeError: for tensors with dimensions.
    """
    for which, value in (("start", start), ("end", end)):
        if isinstance(value, Tensor) and value.dim():
            raise RuntimeError(
                f"{name} only supports 0-dimensional start and end tensors, but got {which} with {value.dim()} dimension(s)."
            )
    return number(name, "start", start), number(name, "end", end)


@composite(native=True)
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """``steps`` evenly spaced values from ``start`` to ``end``, both included.

    Raises:
        RuntimeError: if ``steps`` is negative or an end is a tensor with dimensions.
    """
    first, last = _ends("linspace", start, end)
    options = {"layout": layout, "device": device, "pin_memory": pin_memory, "requires_grad": requires_grad}
    return _linspace(first, last, steps, out=out, dtype=dtype, **options)


@composite(native=True)
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    out: Any = None,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """``base`` to the power of ``steps`` evenly spaced exponents from ``start`` to ``end``, both included.

    Raises:
        RuntimeError: if ``steps`` is negative or an end is a tensor with dimensions.
    """
    first, last = _ends("logspace", start, end)
    options = {"layout": layout, "device": device, "pin_memory": pin_memory, "requires_grad": requires_grad}
    return _logspace(first, last, steps, base, out=out, dtype=dtype, **options)


# ---- memory order ----------------------------------------------------------------------------------------------------------------

_empty = factory(OPS["empty"], "_C.empty")
_zeros = factory(OPS["zeros"], "_C.zeros")
_ones = factory(OPS["ones"], "_C.ones")
_full = factory(OPS["full"], "_C.full")


@composite(native=True)
def empty_strided(
    size: Any,
    stride: Any,
    *,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A tensor of the given sizes and strides whose values the caller means to overwrite (they are zeros here)."""
    size, stride = tuple(size), tuple(stride)
    if len(size) != len(stride):
        raise RuntimeError(f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})")
    length = 0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    flat = _empty((length,), dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    made = flat.as_strided(size, stride).detach()
    return made.requires_grad_(True) if requires_grad else made


@composite(native=True)
def empty_permuted(
    size: Any,
    physical_layout: Any,
    *,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A tensor whose dimensions lie in memory in the order ``physical_layout``, from the slowest to the fastest."""
    size, order = tuple(size), tuple(physical_layout)
    if len(size) != len(order):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; "
            f"i.e. len(size) = {len(size)} is not equal to len(physical_layout) = {len(order)}"
        )
    for d in order:
        if not 0 <= d < len(size):
            raise RuntimeError(f"Dimension out of range (expected to be in range of [0, {len(size) - 1}], but got {d})")
    if len(set(order)) != len(order):
        raise RuntimeError("Duplicate dim not allowed")
    flat = _empty(tuple(size[d] for d in order), dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    made = flat.permute(tuple(order.index(d) for d in range(len(order)))).detach()
    return made.requires_grad_(True) if requires_grad else made


# ---- new tensors of a tensor's dtype and device ------------------------------------------------------------------------------------


def _new(make: Any, name: str, self: Any, size: Sequence[Any], more: Sequence[Any], options: dict[str, Any]) -> Any:
    if len(size) == 1 and isinstance(size[0], (list, tuple)):
        size = size[0]
    elif not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    options["dtype"] = check_dtype(name, options["dtype"]) or self.dtype
    if options["device"] is None:
        options["device"] = self.device
    return make(tuple(size), *more, **options)


def _new_sized(name: str, make: Any, what: str) -> None:
    def body(
        self: Any,
        *size: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        layout: Any = layouts.strided,
        pin_memory: bool = False,
        **named: Any,
    ) -> Any:
        if "size" in named:
            size = (named.pop("size"),)
        if named:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(named))}'")
        options = {"dtype": dtype, "device": device, "requires_grad": requires_grad, "layout": layout, "pin_memory": pin_memory}
        return _new(make, name, self, size, (), options)

    body.__name__ = body.__qualname__ = name
    body.__doc__ = f"A tensor of {what}, of this tensor's dtype and device unless they are given."
    composite(namespace="Tensor", name=name, operands=("self",))(body)


_new_sized("new_zeros", _zeros, "zeros")
_new_sized("new_ones", _ones, "ones")
_new_sized("new_empty", _empty, "values that the caller means to overwrite")


@composite(namespace="Tensor", operands=("self",))
def new_full(
    self: Any,
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = layouts.strided,
    pin_memory: bool = False,
) -> Any:
    """A tensor of one number, of this tensor's dtype and device unless they are given."""
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad, "layout": layout, "pin_memory": pin_memory}
    return _new(_full, "new_full", self, (tuple(size),), (fill_value,), options)


@composite(namespace="Tensor", operands=("self",))
def new_empty_strided(
    self: Any,
    size: Any,
    stride: Any,
    dtype: Any = None,
    layout: Any = layouts.strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """``empty_strided`` of this tensor's dtype and device unless they are given."""
    return empty_strided(
        size,
        stride,
        dtype=check_dtype("new_empty_strided", dtype) or self.dtype,
        device=self.device if device is None else device,
        layout=layout,
        pin_memory=pin_memory,
        requires_grad=requires_grad,
    )
