"""Tensor's methods that are no ops: conversion to Python and NumPy, copies and moves, gradients, construction, Python's protocols."""

from __future__ import annotations

import copy as copy_module
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from . import devices, dtypes, layouts
from .applying import apply, converted, inplace, preserve_layout
from .autograd import engine as autograd_engine
from .autograd.accumulate import WATCHED
from .autograd.grad_mode import MODE
from .autograd.nodes import handle
from .autograd.tape import Node
from .binding import BOUND, composite, number
from .core import Tensor, alias_of, check_inplace, check_overlap, contiguous_strides, detached, format_strides, from_host, from_value
from .engine import META, SPECIAL, Lifted, concrete, read, record
from .engine.record import leaf
from .errors import broadcast_shapes, must_be_tensor, not_offered
from .ops._declare import OPS
from .ops._kernel import Fixed, T, call_of

_new = object.__new__


def _cast_call(dtype: dtypes.dtype) -> Any:
    return call_of(OPS["_C._to_copy"], (T, Fixed(dtype.np)))


def install_cast() -> None:
    """Gives the floor below the conversion op."""
    from . import applying

    applying.cast_call = _cast_call


# ---- to Python and NumPy ---------------------------------------------------------------------------------------------------------


def _data(t: Tensor, what: str) -> Any:
    v = t._v or t._read()
    while isinstance(v, Lifted):
        v = v.plain(what)
    if v.trace is SPECIAL and v.array is not None:
        raise jax.errors.TracerArrayConversionError(v.array) if what == "numpy" else jax.errors.ConcretizationTypeError(v.array)
    return read(v)


@composite(namespace="Tensor", operands=("self",))
def item(self: Any) -> Any:
    """The only element as a Python number.

    Raises:
        RuntimeError: unless there is exactly one element.
    """
    v = self._v or self._read()
    if v.aval.size != 1:
        raise RuntimeError(f"a Tensor with {v.aval.size} elements cannot be converted to Scalar")
    if v.aval.device == META:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")
    return _data(self, "item").item()


@composite(namespace="Tensor", operands=("self",))
def tolist(self: Any) -> Any:
    """The elements as nested lists of Python numbers (a number for a 0-dim tensor)."""
    found = np.asarray(_data(self, "tolist"))
    if found.dtype.kind not in "biufc":
        found = found.astype(np.float32)
    return found.tolist()


@composite(namespace="Tensor", operands=("self",))
def numpy(self: Any, *, force: bool = False) -> Any:
    """The data as a NumPy array on the same memory: changes made on either side are seen on the other.

    Raises:
        RuntimeError: if the tensor requires grad (unless ``force``).
        TypeError: if it lies on an accelerator (unless ``force``), or NumPy has no such dtype.
    """
    if force:
        return np.array(_data(detached(self), "numpy"))
    if self._rg or self.requires_grad:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if self.device.type != "cpu":
        raise TypeError(
            f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
        )
    if self._aval.dtype.kind not in "biufc" or self._aval.dtype.name.startswith(("bfloat", "float8")):
        raise TypeError(f"Got unsupported ScalarType {self.dtype.scalar_name}")
    return host_memory(self)


def host_memory(t: Tensor) -> np.ndarray:
    """A NumPy array that shares memory with ``t``: from here on the storage lives in NumPy until the array is dropped."""
    v = t._v or t._read()
    if v.trace is SPECIAL:
        _data(t, "numpy")
    al = alias_of(t)
    storage = al.storage
    if storage.adopt():
        storage.aval = storage.value.aval  # type: ignore[union-attr]
        storage.hosted(np.array(read(storage.value), copy=True))  # type: ignore[arg-type]
        if storage.strides is not None:
            order = sorted(range(len(storage.strides)), key=lambda i: -storage.strides[i])  # type: ignore[index]
            inner = np.ascontiguousarray(np.transpose(storage.host, order))  # type: ignore[arg-type]
            storage.host = np.transpose(inner, np.argsort(order))
    al.aval, al.strides = t._aval, t._strides or contiguous_strides(t._aval.shape)
    view = storage.host_view(al)
    if view is None:
        raise not_offered("Tensor.numpy()", "the tensor is a view of another dtype, which NumPy memory cannot follow; use .clone().numpy()")
    return view[...] if view is storage.host else view


@composite(namespace="Tensor", operands=("self",))
def __array__(self: Any, dtype: Any = None, copy: Any = None) -> Any:
    """What ``numpy.asarray`` sees: the tensor's own memory, or a copy in ``dtype``."""
    if dtype is None and not copy:
        return numpy._plain(self)  # type: ignore[attr-defined]
    found = numpy._plain(self)  # type: ignore[attr-defined]
    return np.array(found, dtype=dtype, copy=True) if copy else np.asarray(found, dtype=dtype)


numpy._plain = numpy  # type: ignore[attr-defined]


@composite(namespace="Tensor", operands=("self",))
def __array_wrap__(self: Any, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    """Turns the result of a NumPy function back into a tensor."""
    return from_host(np.asarray(array))


@composite(namespace="Tensor", operands=("self",))
def __bool__(self: Any) -> Any:
    """The truth of the only element.

    Raises:
        RuntimeError: unless there is exactly one element.
    """
    v = self._v or self._read()
    if v.aval.size != 1:
        if v.aval.size == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(_data(self, "bool").item())


def _scalar(t: Tensor, name: str) -> Any:
    v = t._v or t._read()
    if v.aval.size != 1:
        raise RuntimeError(f"a Tensor with {v.aval.size} elements cannot be converted to Scalar")
    return _data(t, name).item()


@composite(namespace="Tensor", operands=("self",))
def __float__(self: Any) -> Any:
    """The only element as a float."""
    return float(_scalar(self, "float"))


@composite(namespace="Tensor", operands=("self",))
def __int__(self: Any) -> Any:
    """The only element as an int, towards zero."""
    return int(_scalar(self, "int"))


@composite(namespace="Tensor", operands=("self",))
def __complex__(self: Any) -> Any:
    """The only element as a complex number."""
    return complex(_scalar(self, "complex"))


@composite(namespace="Tensor", operands=("self",))
def __index__(self: Any) -> Any:
    """The only element of an integer tensor, as an index."""
    if self.dtype.category > dtypes.INTEGRAL or self._aval.size != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(_scalar(self, "index"))


@composite(namespace="Tensor", operands=("self",))
def __len__(self: Any) -> Any:
    """The size of the first dimension."""
    if not self._aval.ndim:
        raise TypeError("len() of a 0-d tensor")
    return self._aval.shape[0]


@composite(namespace="Tensor", operands=("self",), native=False)
def __iter__(self: Any) -> Iterator[Any]:
    """Iterates over the first dimension, as ``unbind`` does."""
    if self.dim() == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


@composite(namespace="Tensor", operands=("self",), native=False)
def __reversed__(self: Any) -> Any:
    """The tensor flipped along its first dimension."""
    return self if self.dim() == 0 else self.flip(0)


@composite(namespace="Tensor", operands=("self",), native=False)
def __contains__(self: Any, element: Any) -> Any:
    """Whether an element equals ``element``."""
    if isinstance(element, (Tensor, int, float, complex, bool)):
        return bool((element == self).any().item())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {element.__class__}.")


@composite(namespace="Tensor", operands=("self",), native=False)
def __repr__(self: Any, *, tensor_contents: Any = None) -> Any:
    """The text that torch prints."""
    from .printing import tensor_repr

    return tensor_repr(self)


@composite(namespace="Tensor", operands=("self",), native=False)
def __format__(self: Any, format_spec: str) -> Any:
    """Formats the only element of a 0-dim tensor; other tensors as their repr."""
    if self.__class__ is Tensor and self.dim() == 0 and self.device.type != META:
        return self.item().__format__(format_spec)
    return object.__format__(self, format_spec)


@composite(namespace="Tensor", operands=("self",), native=False)
def __dlpack__(self: Any, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None) -> Any:
    """The data as a DLPack capsule."""
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    return self.jax().__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


@composite(namespace="Tensor", operands=("self",), native=False)
def __dlpack_device__(self: Any) -> Any:
    """The DLPack device of the data."""
    return self.jax().__dlpack_device__()


# ---- copies and moves ------------------------------------------------------------------------------------------------------------


@composite(method=True, operands=("input",))
def clone(input: Any, *, memory_format: Any = layouts.preserve_format) -> Any:
    """A copy with its own memory; gradients pass through."""
    if not isinstance(input, Tensor):
        raise must_be_tensor("clone", "input", 1, input)
    r = preserve_layout(BOUND["clone"].core(input), input)
    if memory_format is not layouts.preserve_format:
        strides = format_strides(input._aval.shape, memory_format)
        r._strides = None if strides == contiguous_strides(input._aval.shape) else strides
    return r


@composite(namespace="Tensor", operands=("self",))
def contiguous(self: Any, memory_format: Any = layouts.contiguous_format) -> Any:
    """The tensor itself if its memory is in that order, else a copy that is."""
    if self.is_contiguous(memory_format):
        return self
    return clone(self, memory_format=memory_format)


def moved(t: Tensor, device: Any) -> Tensor:
    """``t`` on another device, with history."""
    place = devices.placement(device)
    v = t._v or t._read()
    if place == v.aval.device:
        return t
    if place == META:
        from .engine import meta_value

        r = from_value(meta_value(v.aval.shape, v.aval.dtype))
    elif v.aval.device == META:
        raise NotImplementedError(
            "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when "
            "moving module from meta to a different device."
        )
    else:
        array = read(v)
        r = from_value(concrete(array if v.trace is SPECIAL else jax.device_put(array, place)))
        if t._rg and MODE.enabled:
            r._node = _Move(v, r._v, t._edge(), place)  # type: ignore[arg-type]
            r._rg = True
    return preserve_layout(r, t)


class _Move(Node):
    """The node of a move to another device: the gradient is moved back."""

    __slots__ = ("back", "there")

    def __init__(self, before: Any, after: Any, edge: Any, there: Any) -> None:
        super().__init__(call_of(OPS["clone"], (T,)), (before,), (edge,), (), (after,))
        self.back, self.there = before.aval.device, there
        self.label = "ToCopyBackward0"

    def apply(self, grads: list[Any]) -> list[Any]:
        return [concrete(jax.device_put(read(grads[0]), self.back))]

    def apply_tracked(self, grads: list[Any]) -> list[Any]:
        v, edge = grads[0]
        moved_back = concrete(jax.device_put(read(v), self.back))
        return [(moved_back, None if edge is None else (_Move(v, moved_back, edge, self.back), 0))]


def _parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool, Any]:
    device, dtype, copy, memory_format = (
        kwargs.pop("device", None),
        kwargs.pop("dtype", None),
        kwargs.pop("copy", False),
        kwargs.pop("memory_format", None),
    )
    kwargs.pop("non_blocking", None)
    other = kwargs.pop("other", None)
    if kwargs:
        raise TypeError(f"to() received an invalid combination of arguments - got unexpected keyword {next(iter(kwargs))!r}")
    rest = list(args)
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
    elif rest and isinstance(rest[0], dtypes.dtype):
        dtype = rest.pop(0)
    elif rest and (rest[0] is None or (isinstance(rest[0], (str, int, devices.device)) and not isinstance(rest[0], bool))):
        device = rest.pop(0)
        if rest and (isinstance(rest[0], dtypes.dtype) or rest[0] is None):
            dtype = rest.pop(0)
    elif rest:
        raise TypeError(f"to() received an invalid combination of arguments - got ({', '.join(a.__class__.__name__ for a in args)})")
    if rest:  # non_blocking
        rest.pop(0)
    if rest:
        copy = rest.pop(0)
    if other is not None:
        device, dtype = other.device, other.dtype
    return device, dtype, bool(copy), memory_format


@composite(namespace="Tensor", operands=("self",))
def to(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The tensor in another dtype and on another device; itself if nothing changes and ``copy`` is false."""
    device, dtype, copy, memory_format = _parse_to(args, dict(kwargs))
    r = self
    if device is not None:
        r = moved(r, device)
    if dtype is not None and r._aval.torch_dtype is not dtype:
        r = _convert(r, dtype)
    if memory_format is not None and memory_format is not layouts.preserve_format and not r.is_contiguous(memory_format):
        return clone(r, memory_format=memory_format)
    return clone(r) if copy and r is self else r


def _convert(t: Tensor, dtype: dtypes.dtype) -> Tensor:
    if t.dtype.is_complex and not dtype.is_complex and dtype is not dtypes.bool_:
        import warnings

        warnings.warn("Casting complex values to real discards the imaginary part", stacklevel=4)
    return preserve_layout(converted(t, dtype), t)


def _conversion(name: str, dtype: dtypes.dtype) -> Callable[..., Any]:
    def convert(self: Any, memory_format: Any = layouts.preserve_format) -> Any:
        return self if self._aval.torch_dtype is dtype else _convert(self, dtype)

    convert.__name__ = name
    convert.__doc__ = f"The tensor as {dtype!r}; itself if it has that dtype."
    return composite(namespace="Tensor", name=name, operands=("self",))(convert)


for _name, _dtype in {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16, "int": dtypes.int32,
    "long": dtypes.int64, "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8, "bool": dtypes.bool_,
    "cfloat": dtypes.complex64, "cdouble": dtypes.complex128,
}.items():  # fmt: skip
    _conversion(_name, _dtype)


@composite(namespace="Tensor", operands=("self", "other"))
def type_as(self: Any, other: Any) -> Any:
    """The tensor in the dtype and on the device of ``other``."""
    return to(self, other.device, other.dtype)


@composite(namespace="Tensor", operands=("self",), native=False)
def type(self: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Without argument the name of the tensor's type, ``torch.FloatTensor``; else the tensor in that dtype."""
    if dtype is None:
        prefix = "" if self.device.type == "cpu" else f"{self.device.type}."
        return f"torch.{prefix}{self.dtype.legacy}"
    if isinstance(dtype, str):
        legacy = dtype.removeprefix("torch.")
        found = next((d for d in dtypes.BY_NAME.values() if d.legacy == legacy), None)
        if found is None:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = found
    elif not isinstance(dtype, dtypes.dtype):
        dtype = getattr(dtype, "dtype", dtype)
    return to(self, dtype)


@composite(namespace="Tensor", operands=("self",))
def cpu(self: Any, memory_format: Any = layouts.preserve_format) -> Any:
    """The tensor on the host; itself if it is there."""
    return moved(self, "cpu")


@composite(namespace="Tensor", operands=("self",))
def cuda(self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = layouts.preserve_format) -> Any:
    """The tensor on a GPU."""
    return moved(self, "cuda" if device is None else devices.device("cuda", device) if isinstance(device, int) else device)


def _same_memory(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are the same look at the same storage."""
    one, two = a._al, b._al
    if one is None or two is None or one.storage is not two.storage or one.offset != two.offset:
        return False
    return a._aval is b._aval and (a._strides or ()) == (b._strides or ())


@composite(namespace="Tensor", operands=("self", "other"))
def copy_(self: Any, other: Any, non_blocking: bool = False) -> Any:
    """Writes ``other``, broadcast and cast, into the tensor."""
    src = other
    if not isinstance(src, Tensor):
        if isinstance(src, (bool, int, float, complex)):
            return fill_(self, src)
        raise must_be_tensor("copy_", "other", 1, src)
    if (src is self or _same_memory(self, src)) and not (MODE.enabled and (self._rg or src._rg)):
        check_inplace(self, idempotent=True)
        if self._al is None:
            self._ver += 1
        else:
            self._al.counter.n += 1
        return self
    check_inplace(self)
    check_overlap(self, (src,))
    mine, v = self._aval, src._v or src._read()
    if mine.device == META:
        return self
    if v.aval.device != mine.device and v.aval.device != META:
        src = moved(src, self.device)
        v = src._v or src._read()
    shape = v.aval.shape
    if shape != mine.shape:
        both = broadcast_shapes(mine.shape, shape)
        if both != mine.shape:
            raise RuntimeError(f"output with shape {list(mine.shape)} doesn't match the broadcast shape {list(both)}")
    if not src._rg and not self._rg and v.aval is mine and self._al is None:
        result = apply(call_of(OPS["clone"], (T,)), (src,), (v,))
    else:
        me = self._v or self._read()
        result = apply(call_of(OPS["_C._copy"], (T, T)), (self, src), (me, v))
    return inplace(self, result)


@composite(namespace="Tensor", operands=("self", "value"))
def fill_(self: Any, value: Any) -> Any:
    """Writes a number, or a 0-dim tensor's value, everywhere."""
    check_inplace(self, idempotent=not isinstance(value, Tensor))
    me = self._v or self._read()
    if isinstance(value, Tensor):
        if value._aval.ndim:
            raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value._aval.ndim} dimensions.")
        v = value._read()
        result = apply(call_of(OPS["_C._fill"], (T, T)), (self, value), (me, v))
    else:
        value = number("fill_", "value", value)
        if isinstance(value, complex) and not self.dtype.is_complex:
            raise RuntimeError("value cannot be converted to type " + self.dtype.scalar_name.lower() + " without overflow")
        kind = {bool: "b", int: "i", float: "f", complex: "c"}[_type(value)]
        result = apply(call_of(OPS["_C._fill"], (T, kind)), (self,), (me,), (value,))
    return inplace(self, result)


_type = __builtins__["type"] if isinstance(__builtins__, dict) else __builtins__.type


@composite(namespace="Tensor", operands=("self",))
def zero_(self: Any) -> Any:
    """Writes zero everywhere."""
    return fill_(self, 0)


# ---- gradients -------------------------------------------------------------------------------------------------------------------


@composite(namespace="Tensor", operands=("self", "gradient"), native=False)
def backward(self: Any, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None) -> None:
    """Adds the gradient of this tensor to the ``grad`` of the leaves it depends on; see ``autograd.backward``."""
    autograd_engine.backward(self, gradient, retain_graph, create_graph, inputs=inputs)


@composite(namespace="Tensor", operands=("self",), native=False)
def register_hook(self: Any, hook: Callable[[Any], Any]) -> Any:
    """Calls ``hook`` with the gradient of this tensor each time it is computed; what it returns replaces the gradient.

    Raises:
        RuntimeError: if the tensor does not require grad.
    """
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    return handle(hooks_of(self, make=True), hook)


def hooks_of(t: Tensor, make: bool = False) -> Any:
    """The hooks on a tensor's gradient, by handle: the leaf's own, or those of its node's result. None if there are none yet."""
    t.requires_grad  # noqa: B018  (brings the history up to date)
    node = t._node
    if node is None:
        if t._hooks is None and make:
            t._hooks = OrderedDict()
            WATCHED[0] = True
        return t._hooks
    if not make and (node.rare is None or node.rare.tensor_hooks is None):
        return None
    notes = node.notes()
    if notes.tensor_hooks is None:
        notes.tensor_hooks = {}
    return notes.tensor_hooks.setdefault(t._nr, OrderedDict()) if make else notes.tensor_hooks.get(t._nr)


@composite(namespace="Tensor", operands=("self",), native=False)
def register_post_accumulate_grad_hook(self: Any, hook: Callable[[Any], Any]) -> Any:
    """Calls ``hook`` with this leaf after a gradient was added to its ``grad``."""
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self._node is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    from .utils.hooks import RemovableHandle

    if self._post_hooks is None:
        self._post_hooks = OrderedDict()
    handle = RemovableHandle(self._post_hooks)
    self._post_hooks[handle.id] = hook
    return handle


@composite(namespace="Tensor", operands=("self",))
def retain_grad(self: Any) -> Any:
    """Makes a tensor that is no leaf keep its gradient in ``grad``."""
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if self.grad_fn is None or self._retains:
        return
    self._retains = True
    autograd_engine.retain(self)


# ---- copying and pickling --------------------------------------------------------------------------------------------------------


def __copy__(self: Tensor) -> Tensor:
    if self._al is not None and self._al.storage.detach is not None:  # no data of its own
        from .aten.wrapping import copied

        return copied(self)
    made = detached(self)
    made.__class__ = self.__class__
    made.requires_grad = (self.requires_grad and self.is_leaf) or self.requires_grad
    for k, v in self.__dict__.items():
        if not k.startswith("_"):
            made.__dict__[k] = v
    return made


@composite(namespace="Tensor", operands=("self",), native=False)
def __deepcopy__(self: Any, memo: Any) -> Any:
    """A copy with its own memory.

    Raises:
        RuntimeError: for tensors that have a history.
    """
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you were "
            "attempting "
            "to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    made = _deep(self, memo)
    cls = _type(self)
    if cls is not Tensor:
        if _type(self.new_empty([])) is not cls:
            raise RuntimeError(
                "The default implementation of __deepcopy__() for non-wrapper subclasses only works for subclass types that properly "
                "implement new_empty() and for which that function returns another instance of the same subclass. You should either "
                "properly implement new_empty() for your subclass or override __deepcopy__() if it is intended behavior for new_empty() "
                "to return an instance of a different type."
            )
        made = _retyped(made, cls)
    memo[id(self)] = made
    made._rg = self._rg
    if self._grad is not None:
        made._grad = self._grad.__deepcopy__(memo)
    for k, v in self.__dict__.items():
        if not k.startswith("_"):
            made.__dict__[k] = copy_module.deepcopy(v, memo)
    return made


def _deep(t: Tensor, memo: Any) -> Tensor:
    v = t._v or t._read()
    al = t._al
    if al is None or al.storage.host is not None or not al.chain:
        r = from_value(v if v.aval.device == META else record(call_of(OPS["clone"], (T,)), (v,)))
        r._strides = t._strides
        return r
    # Tensors that shared memory share it in the copy too.
    key = ("storage", id(al.storage))
    root = memo.get(key)
    if root is None:
        base = from_value(record(call_of(OPS["clone"], (T,)), (al.storage.value,)))  # type: ignore[arg-type]
        base._strides = al.storage.strides
        root = memo[key] = base
    whole = alias_of(root)
    r = _new(Tensor)
    from .storage import Alias

    r._al = Alias(whole.storage, al.chain, None, None, 0, al.offset)
    r._al.aval, r._al.strides = al.aval, al.strides
    r._strides = t._strides
    return r


def _rebuild(array: np.ndarray, dtype: dtypes.dtype, requires_grad: bool, cls: Any, attributes: dict[str, Any]) -> Tensor:
    t = from_host(array.view(dtype.np) if array.dtype != dtype.np else array)
    if cls is not None:
        t = t.as_subclass(cls)  # type: ignore[attr-defined]
    t._rg = requires_grad
    t.__dict__.update(attributes)
    return t


@composite(namespace="Tensor", operands=("self",), native=False)
def __reduce_ex__(self: Any, protocol: Any) -> Any:
    """Pickles data, dtype, ``requires_grad``, class and the attributes set on the instance."""
    if not self.is_leaf and self.requires_grad:
        raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) can be pickled")
    array = np.array(_data(self, "pickle"))
    if array.dtype.kind not in "biufc":
        array = array.view(f"u{array.dtype.itemsize}")
    attributes = {k: v for k, v in self.__dict__.items() if k not in Tensor.__annotations__}
    # The plain class is left out: under its public name, torch.Tensor, pickle may find PyTorch's own.
    cls = None if _type(self) is Tensor else _type(self)
    return _rebuild, (array, self.dtype, self.requires_grad, cls, attributes)


# ---- subclasses ------------------------------------------------------------------------------------------------------------------


def as_subclass(self: Tensor, cls: Any) -> Any:
    """The same data and history as an instance of a Tensor subclass."""
    if not issubclass(cls, Tensor):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your class "
            "inherits from Tensor."
        )
    r = _retyped(self, cls)
    self._read()
    if self._rg and MODE.enabled:
        v = self._v or self._read()
        call = call_of(OPS["clone"], (T,))
        r._node = Node(call, (v,), (self._edge(),), (), (v,))
        r._node.label = "AliasBackward0"
        r._rg = True
        r._al.base = self._al.base if self._al.base is not None else self  # type: ignore[union-attr]
        r._al.gen = r._al.counter.n  # type: ignore[union-attr]
    return r


def _retyped(t: Tensor, cls: Any) -> Any:
    plain = detached(t)
    r = _new(cls)
    r._al, r._v, r._strides = plain._al, None, plain._strides
    return r


def _make_subclass(
    cls: Any,
    data: Tensor,
    require_grad: bool = False,
    dispatch_strides: bool = False,
    dispatch_device: bool = False,
    device_for_backend_keys: Any = None,
) -> Any:
    """``data`` detached, as a leaf of class ``cls``; the other arguments steer PyTorch's dispatcher and mean nothing here."""
    del dispatch_strides, dispatch_device, device_for_backend_keys
    if require_grad and not data._aval.differentiable:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    if _type(data) is Tensor and data._al is None and not data._rg:
        r = _new(cls)
        # The usual case, ``Parameter(torch.empty(...))``: shares the storage only if somebody keeps ``data``.
        al = alias_of(data)
        r._al, r._strides = _fresh_alias(al), data._strides
    else:
        r = _retyped(data, cls)
    r._rg = require_grad
    return r


def _fresh_alias(al: Any) -> Any:
    from .storage import Alias

    mine = Alias(al.storage, al.chain, al.value, None, 0, al.offset)
    mine.version, mine.aval, mine.strides = al.version, al.aval, al.strides
    return mine


def _construct(cls: Any, *args: Any, device: Any = None, **kwargs: Any) -> Any:
    """``Tensor()``, ``Tensor(2, 3)``, ``Tensor([1., 2.])``, ``Tensor(tensor)``: default dtype; sizes give uninitialised data."""
    from .creation import tensor as make_tensor

    if not args and "data" in kwargs:
        args = (kwargs["data"],)
    default = dtypes.get_default_dtype()
    if len(args) == 1 and isinstance(args[0], Tensor):
        source = args[0]
        made = detached(source)
    elif len(args) == 1 and not isinstance(args[0], int) and not (isinstance(args[0], tuple) and _type(args[0]).__name__ == "Size"):
        made = make_tensor(args[0], dtype=default, device=device)
    else:
        size = tuple(args[0]) if len(args) == 1 and isinstance(args[0], tuple) else args
        if not size:
            size = (0,)
        made = from_host(np.zeros(size, default.np), device)
    return made if cls is Tensor else _retyped(made, cls)


def _new_tensor(cls: Any, *args: Any, **kwargs: Any) -> Any:
    if cls is not Tensor and (args or kwargs) and cls.__init__ is not object.__init__ and not args:
        return _construct(cls)
    return _construct(cls, *args, **kwargs)


def wrap_jax(x: Any) -> Tensor:
    """A tensor of a ``jax.Array`` or tracer, without a copy."""
    return from_value(leaf(x))
