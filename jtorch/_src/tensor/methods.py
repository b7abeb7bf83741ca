"""Tensor's methods that are no ops: copies, conversions and moves, writing, gradients."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from ...autograd import engine as autograd_engine
from ...autograd.accumulate import WATCHED
from ...autograd.grad_mode import MODE
from ...autograd.names import named, written
from ...autograd.nodes import handle
from ...autograd.tape import Node
from ...core import (
    BIRTHS,
    Tensor,
    born,
    contiguous_strides,
    format_strides,
    from_value,
    inside_transform,
    lazy_bits,
)
from .. import hooks
from ..bind.arguments import number
from ..bind.bound import BOUND
from ..bind.cores import composite
from ..engine import HOLDING, META, SPECIAL, Several, Value, concrete, meta_value, read
from ..facts import devices, dtypes, layouts
from ..facts.errors import (
    HIGHEST_LONG,
    LOWEST_LONG,
    broadcast_shapes,
    check_scalar,
    must_be_tensor,
    type_name,
)
from ..facts.warned_once import outside
from ..ops._declare import OPS
from ..ops._facts import schemas
from ..ops._fitting import check_fits, too_large
from ..ops._kernel import Fixed, T, call_of
from . import running as applying
from .numbers import numpy
from .running import apply, converted, inplace, preserve_layout
from .writing import check_inplace, check_overlap

if TYPE_CHECKING:
    from ..engine.calls import Call
    from ..facts.kinds import Values


def _cast_call(dtype: dtypes.dtype) -> Call:
    return call_of(OPS["_C._to_copy"], (T, Fixed(dtype.np)))


def install_cast() -> None:
    """Gives the floor below the conversion op."""
    applying.cast_call = _cast_call


# ---- to Python and NumPy -------------------------------------------------------------------------


numpy._plain = numpy  # type: ignore[attr-defined]


# ---- copies and moves ----------------------------------------------------------------------------


def _copy(t: Tensor) -> Tensor:
    """A tensor of the same elements that shares no writes. Arrays never change, so that both can
    hold the same one."""
    v = t._v or t._read()
    # (what is to become a program has it as a step)
    if v.array is None or v.trace is SPECIAL or (t._rg and MODE.enabled) or HOLDING.stack:
        return BOUND["clone"].core(t)
    r = object.__new__(Tensor)
    r._v = made = object.__new__(Value)
    made.aval, made.array = v.aval, v.array
    made.index, made.trace, made.meta = 0, None, None
    if BIRTHS:
        r._birth = born()
    return r


@composite(method=True, operands=("input",), opaque=True)
def clone(
    input: Tensor, *, memory_format: layouts.memory_format | None = layouts.preserve_format
) -> Any:
    """A copy with its own memory; gradients pass through.

    Args:
        memory_format: the memory format of the result; ``torch.preserve_format`` keeps that of the
            tensor.

    Shapes: that of ``input``.
    Dtypes: any -> the same.
    Gradient: the identity.

    Raises:
        RuntimeError: if ``memory_format`` is for another number of dimensions.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1, 2])
        >>> y = x.clone()
        >>> y[0] = 5
        >>> x
        tensor([1, 2])
    """
    if not isinstance(input, Tensor):
        raise must_be_tensor("clone", "input", 1, input)
    r = preserve_layout(_copy(input), input)
    if memory_format is not None and memory_format is not layouts.preserve_format:
        if memory_format is not layouts.contiguous_format and hasattr(r._v, "physical"):
            named = "".join(
                word.capitalize() for word in str(memory_format).removeprefix("torch.").split("_")
            )
            raise RuntimeError(
                "NYI: Tensor.clone(memory_format) inside vmap is only supported with memory_format "
                f"torch.preserve_format or torch.contiguous_format (got {named})"
            )
        strides = format_strides(input._aval.shape, memory_format)
        r._strides = None if strides == contiguous_strides(input._aval.shape) else strides
    return r


@composite(namespace="Tensor", operands=("self",))
@schemas("(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)")
def contiguous(
    self: Tensor, memory_format: layouts.memory_format = layouts.contiguous_format
) -> Tensor:
    """The tensor itself if its memory is in that order, else a copy that is.

    Args:
        memory_format: the order in memory that is wanted: ``torch.contiguous_format``, or a
            channels-last one.

    Shapes: that of the tensor.

    Raises:
        RuntimeError: if ``memory_format`` is for another number of dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2, 3).t().contiguous().stride()
        (2, 1)
    """
    if self.is_contiguous(memory_format):
        return self
    if memory_format is layouts.contiguous_format:
        r = _copy(self)
        r._strides = None
        return r
    return clone(self, memory_format=memory_format)


def moved(t: Tensor, device: devices.device | str) -> Tensor:
    """``t`` on another device, with history."""
    place = devices.placement(device)
    v = t._v or t._read()
    if place == v.aval.device or (
        isinstance(v.aval.device, Several) and _spread_there(v.aval.device, device)
    ):
        return t
    if place == META:
        r = from_value(meta_value(v.aval.shape, v.aval.dtype))
    elif v.aval.device == META:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    else:
        return spread(t, place)
    return preserve_layout(r, t)


def spread(t: Tensor, place: object) -> Tensor:
    """``t`` on another jax device, or cut and copied to several as a sharding says, with
    history."""
    v = t._v or t._read()
    array = read(v)
    r = from_value(concrete(array if v.trace is SPECIAL else jax.device_put(array, place)))
    if t._rg and MODE.enabled:
        r._node = _Move(v, r._v, t._edge(), r._aval.device)
        r._rg = True
    return preserve_layout(r, t)


def _spread_there(place: Several, device: object) -> bool:
    """Whether a tensor that is spread over several devices is where ``device`` says: on devices of
    that type, if it names none of them."""
    wanted = devices.as_device(device)
    return wanted.index is None and wanted.type == devices.of_placement(place).type


class _Move(Node):
    """The node of a move to another device: the gradient is moved back."""

    __slots__ = ("back", "there")

    def __init__(self, before: Any, after: Any, edge: object, there: object) -> None:
        super().__init__(call_of(OPS["clone"], (T,)), (before,), (edge,), (), (after,))
        self.back, self.there = before.aval.device, there
        self.label = "ToCopyBackward0"

    def apply(self, grads: Values) -> Values:
        return [_brought(grads[0], self.back)]

    def apply_tracked(self, grads: Values) -> Values:
        v, edge = grads[0]
        moved_back = _brought(v, self.back)
        return [(moved_back, None if edge is None else (_Move(v, moved_back, edge, self.back), 0))]


def _brought(v: Value, place: object) -> Value:
    """A value at a placement; itself if it is there."""
    if v.aval.device == place:
        return v
    return concrete(
        jax.device_put(read(v), place.replicated if isinstance(place, Several) else place)
    )


_PYTHON_TYPES = (float, int, bool, complex)


def _parse_to(args: tuple[object, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool, Any]:
    device, dtype, copy, memory_format = (
        kwargs.pop("device", None),
        kwargs.pop("dtype", None),
        kwargs.pop("copy", False),
        kwargs.pop("memory_format", None),
    )
    waits = kwargs.pop("non_blocking", False)
    other = kwargs.pop("other", None)
    if kwargs:
        raise TypeError(
            "to() received an invalid combination of arguments - got unexpected keyword "
            f"{next(iter(kwargs))!r}"
        )
    if _type(dtype) is _type:
        dtype = dtypes.meant(dtype)
    rest = list(args)
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
    elif rest and isinstance(rest[0], dtypes.dtype):
        dtype = rest.pop(0)
    elif rest and (
        rest[0] is None
        or (isinstance(rest[0], (str, int, devices.device)) and not isinstance(rest[0], bool))
    ):
        device = rest.pop(0)
        if rest and (
            isinstance(rest[0], dtypes.dtype) or rest[0] is None or rest[0] in _PYTHON_TYPES
        ):
            dtype = dtypes.meant(rest.pop(0))
    elif rest and _type(rest[0]) is _type and rest[0] in _PYTHON_TYPES:
        dtype = dtypes.meant(rest.pop(0))
    elif rest:
        raise TypeError(
            "to() received an invalid combination of arguments - got "
            f"({', '.join(a.__class__.__name__ for a in args)})"
        )
    if rest:
        waits = rest.pop(0)
    if rest:
        copy = rest.pop(0)
    if rest or _type(waits) is not bool or _type(copy) is not bool:
        raise TypeError(
            "to() received an invalid combination of arguments - got "
            f"({', '.join([*map(type_name, args), *kwargs])}), but the flags 'non_blocking' and "
            "'copy' must be bool"
        )
    if other is not None:
        device, dtype = other.device, other.dtype
    return device, dtype, bool(copy), memory_format


@composite(namespace="Tensor", operands=("self",), implicit=True)
@schemas(
    ".device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool "
    "copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
    ".dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? memory_format=None) -> Tensor(a)",
    ".other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? "
    "memory_format=None) -> Tensor(a)",
    ".dtype_layout(Tensor(a) self, ..., bool non_blocking=False, bool copy=False, MemoryFormat? "
    "memory_format=None) -> Tensor(a)",
)
def to(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    """The tensor in another dtype and on another device; itself if nothing changes and ``copy`` is
    false.

    ``to(dtype)``, ``to(device, dtype=None)`` and ``to(other)`` take, after these,
    ``non_blocking=False`` and ``copy=False``.

    Args:
        args: a dtype, a device and a dtype, or a tensor whose dtype and device are wanted; then
            ``non_blocking`` and ``copy``.
        kwargs: the same by name: ``dtype``, ``device``, ``other``, ``non_blocking`` (returns before
            the copy is done, where the device allows it), ``copy`` (a new tensor in any case),
            ``memory_format``.

    Shapes: that of the tensor.

    Raises:
        NotImplementedError: from the meta device, where there is no data.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1, 2]).to(torch.float32)
        tensor([1., 2.])
        >>> x = torch.tensor([1.0])
        >>> x.to(torch.float32) is x
        True
    """
    device, dtype, copy, memory_format = _parse_to(args, dict(kwargs))
    r = self
    if device is not None:
        r = moved(r, device)
    if dtype is not None and r._aval.torch_dtype is not dtype:
        r = _convert(r, dtype)
    if memory_format is not None and memory_format is not layouts.preserve_format:
        # A tensor that needs no conversion is copied only if its strides suggest another format:
        # transposed ones suggest none.
        shape = r._aval.shape
        if r is self:
            suits = layouts.suggested_format(shape, r.stride()) is memory_format
        else:  # in every dimension, also those of one element
            suits = r.stride() == layouts.format_strides(shape, memory_format)
        if not suits:
            return named(clone(r, memory_format=memory_format), "ToCopyBackward0")
    return named(clone(r), "ToCopyBackward0") if copy and r is self else r


def _convert(t: Tensor, dtype: dtypes.dtype) -> Tensor:
    if t.dtype.is_complex and not dtype.is_complex and dtype is not dtypes.bool_:
        import warnings

        warnings.warn(
            "Casting complex values to real discards the imaginary part", stacklevel=outside()
        )
    return preserve_layout(converted(t, dtype), t)


def _conversion(name: str, dtype: dtypes.dtype) -> Callable[..., object]:
    def convert(self: Tensor, memory_format: Any = layouts.preserve_format) -> Tensor:
        if memory_format is not layouts.preserve_format:
            return to(self, dtype, memory_format=memory_format)
        return self if self._aval.torch_dtype is dtype else _convert(self, dtype)

    convert.__name__ = name
    convert.__doc__ = f"""The tensor as {dtype!r}; itself if it has that dtype.

    Args:
        memory_format: the memory format of the result; ``torch.preserve_format`` keeps that of
            the tensor.

    Shapes: that of the tensor.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1, 0]).{name}().dtype
        {dtype!r}
    """
    return composite(namespace="Tensor", name=name, operands=("self",))(convert)


for _name, _dtype in {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16, "int": dtypes.int32, "long": dtypes.int64, "short": dtypes.int16,
    "char": dtypes.int8, "byte": dtypes.uint8, "bool": dtypes.bool_, "cfloat": dtypes.complex64,
    "cdouble": dtypes.complex128,
}.items():  # fmt: skip
    _conversion(_name, _dtype)


@composite(namespace="Tensor", operands=("self", "other"), implicit=True)
@schemas(".")
def type_as(self: Tensor, other: Tensor) -> Any:
    """The tensor in the dtype and on the device of ``other``.

    Args:
        other: the tensor whose dtype and device are wanted.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1, 2]).type_as(torch.tensor(0.5))
        tensor([1., 2.])
    """
    return to(self, other.device, other.dtype)


@composite(namespace="Tensor", operands=("self",), native=False)
def type(self: Tensor, dtype: dtypes.dtype | None = None, non_blocking: bool = False) -> Any:
    """The name of the tensor's type, such as ``torch.FloatTensor``; with an argument the tensor in
    that dtype.

    Args:
        dtype: the dtype, or a tensor type or its name; None asks for the name of the tensor's own.
        non_blocking: accepted: copies are put off in any case.

    Raises:
        ValueError: for the name of no type.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1.5]).type()
        'torch.FloatTensor'
        >>> torch.tensor([1.5]).type(torch.int64)
        tensor([1])
    """
    if dtype is None:
        prefix = "" if self.device.type == "cpu" else f"{self.device.type}."
        return f"torch.{prefix}{self.dtype.legacy}"
    if isinstance(dtype, str):
        legacy = dtype.removeprefix("torch.")
        found = next((d for d in dtypes.BY_NAME.values() if d.legacy == legacy), None)
        if found is None:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = found
    elif isinstance(dtype, _type):
        found = dtypes.get_default_dtype() if dtype is Tensor else getattr(dtype, "dtype", None)
        if not isinstance(found, dtypes.dtype):
            raise ValueError(f"invalid type: '{dtype.__name__}'")
        dtype = found
    elif not isinstance(dtype, dtypes.dtype):
        raise TypeError("dtype must be a type, str, or dtype object")
    return to(self, dtype)


@composite(namespace="Tensor", operands=("self",))
def cpu(self: Tensor, *, memory_format: Any = layouts.preserve_format) -> Tensor:
    """The tensor on the host; itself if it is there.

    Args:
        memory_format: the memory format of the result; ``torch.preserve_format`` keeps that of the
            tensor.

    Shapes: that of the tensor.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1]).cpu().device
        device(type='cpu')
    """
    return _on_device(self, "cpu", memory_format)


def _on_device(
    t: Tensor, device: str | devices.device, memory_format: layouts.memory_format | None
) -> Tensor:
    return (
        moved(t, device)
        if memory_format is layouts.preserve_format
        else to(t, device, memory_format=memory_format)
    )


@composite(namespace="Tensor", operands=("self",))
def cuda(
    self: Tensor,
    device: devices.device | str | int | None = None,
    non_blocking: bool = False,
    *,
    memory_format: Any = layouts.preserve_format,
) -> Tensor:
    """The tensor on a GPU; itself if it is there.

    Shapes: self (*) -> (*).

    Raises:
        RuntimeError: if there is none.

    Example:
        >>> import jtorch as torch
        >>> x = torch.ones(1)
        >>> (x.cuda() if torch.cuda.is_available() else x).is_cuda == torch.cuda.is_available()
        True
    """
    where = (
        "cuda"
        if device is None
        else devices.device("cuda", device)
        if isinstance(device, int)
        else device
    )
    return _on_device(self, where, memory_format)


def _same_memory(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are the same look at the same storage."""
    one, two = a._al, b._al
    if (
        one is None
        or two is None
        or one.storage.address != two.storage.address
        or one.offset != two.offset
    ):
        return False
    return (
        a._aval is b._aval
        and (a._strides or ()) == (b._strides or ())
        and lazy_bits(a) == lazy_bits(b)
    )


def is_of_plain_memory(t: Tensor) -> bool:
    """Whether a tensor's memory is the engine's own, outside of transformations, and no history
    passes through it."""
    al = t._al
    if al is None:
        return t._v.trace is not SPECIAL
    value = al.storage.value
    return value is not None and value.trace is not SPECIAL and (al.base is None or not al.base._rg)


@composite(
    namespace="Tensor",
    operands=("self", "other"),
    numbers_do=True,
    opaque=2,
    refused_as="arithmetic",
    lazy="conj neg",
)
def copy_(self: Tensor, other: Any, non_blocking: bool = False) -> Any:
    """Writes ``other``, broadcast and cast, into the tensor.

    Args:
        other: the tensor to copy from; its shape is broadcast, its dtype converted.
        non_blocking: accepted: copies are put off in any case.

    Shapes: that of the tensor, to which ``other`` broadcasts.

    Raises:
        RuntimeError: if ``other`` does not broadcast, or the tensor is a leaf that requires grad.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(2, 2).copy_(torch.tensor([1, 2]))
        tensor([[1., 2.],
                [1., 2.]])
    """
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
            raise RuntimeError(
                f"output with shape {list(mine.shape)} doesn't match the broadcast shape "
                f"{list(both)}"
            )
    if not src._rg and not self._rg and v.aval is mine and is_of_plain_memory(self):
        result = apply(call_of(OPS["clone"], (T,)), (src,), (v,))
    else:
        me = self._v or self._read()
        result = apply(call_of(OPS["_C._copy"], (T, T)), (self, src), (me, v))
        if (
            isinstance(mine.device, Several)
            and isinstance(me.array, jax.Array)
            and me.trace is not SPECIAL
        ):
            result = spread(result, me.array.sharding)  # cut as before, not as what is written
    return inplace(self, result)


@composite(namespace="Tensor", operands=("self", "value"), refused_as="name")
def fill_(self: Tensor, value: Any) -> Tensor:
    """Writes a number, or a 0-dim tensor's value, everywhere.

    Args:
        value: a number, or a tensor of one element.

    Raises:
        RuntimeError: for a tensor with dimensions, or a complex number in a real tensor.

    Example:
        >>> import jtorch as torch
        >>> torch.zeros(3).fill_(2)
        tensor([2., 2., 2.])
    """
    check_inplace(self, idempotent=not isinstance(value, Tensor))
    me = self._v or self._read()
    if isinstance(value, Tensor):
        if value._aval.ndim:
            raise RuntimeError(
                "fill_ only supports 0-dimension value tensor but got tensor with "
                f"{value._aval.ndim} dimensions."
            )
        v = value._read()
        result = apply(call_of(OPS["_C._fill"], (T, T)), (self, value), (me, v))
    else:
        value = number("fill_", "value", value)
        dtype = me.aval.dtype
        if not isinstance(value, complex):
            if value:
                if _type(value) is int and not LOWEST_LONG <= value <= HIGHEST_LONG:
                    check_scalar(value)
                    value = (
                        float(value)
                        if dtype.kind not in "iu"
                        else value - (1 << 64)
                        if dtype == np.uint64
                        else value
                    )
                check_fits(value, dtype)
        elif dtype.kind not in "bc":
            raise RuntimeError(too_large(dtype))
        elif dtype.kind == "b":
            value = bool(value)
        kind = {bool: "b", int: "i", float: "f", complex: "c"}[_type(value)]
        result = apply(call_of(OPS["_C._fill"], (T, kind)), (self,), (me,), (value,))
    return inplace(self, result)


_type = __builtins__["type"] if isinstance(__builtins__, dict) else __builtins__.type


@composite(namespace="Tensor", operands=("self",), opaque=True)
@schemas("zero. ; _ =out")
def zero_(self: Tensor) -> Tensor:
    """Writes zero everywhere.

    Raises:
        RuntimeError: while operations are recorded, for a leaf that requires grad.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1, 2]).zero_()
        tensor([0, 0])
    """
    return written(fill_(self, 0), "ZeroBackward0")


# ---- gradients -----------------------------------------------------------------------------------


@composite(namespace="Tensor", operands=("self", "gradient"), native=False, dispatched="never")
def backward(
    self: Tensor,
    gradient: Any = None,
    retain_graph: Any = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Adds the gradient of this tensor to the ``grad`` of the leaves it depends on; see
    ``autograd.backward``.

    Args:
        gradient: the gradient of what is wanted with respect to this tensor; 1 for a tensor of one
            element if it is None.
        retain_graph: keep what the graph saved, for another pass; as ``create_graph`` if it is
            None.
        create_graph: record the pass itself, for derivatives of higher order.
        inputs: the leaves to accumulate into; all that the graph leads to if it is None.

    Raises:
        RuntimeError: if the tensor does not require grad, is no scalar and has no ``gradient``, or
            its graph was freed.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 4.])
    """
    autograd_engine.refuse_inside()
    autograd_engine.backward(self, gradient, retain_graph, create_graph, inputs=inputs)


@composite(namespace="Tensor", operands=("self",), native=False, dispatched="never")
def register_hook(self: Tensor, hook: Callable[[Any], Any]) -> Any:
    """Calls ``hook`` with the gradient of this tensor each time it is computed; what it returns
    replaces the gradient.

    Returns: a handle, whose ``remove`` takes the hook away.

    Raises:
        RuntimeError: if the tensor does not require grad.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> handle = x.register_hook(lambda g: 10 * g)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([20., 40.])
    """
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    return handle(hooks_of(self, make=True), hook)


def hooks_of(t: Tensor, make: bool = False) -> Any:
    """The hooks on a tensor's gradient, by handle: the leaf's own, or those of its node's result.
    None if there are none yet."""
    t.requires_grad  # noqa: B018  (brings the history up to date)
    if make and t._al is not None and t._al.origin is not None:
        t._check_origin()
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
    return (
        notes.tensor_hooks.setdefault(t._nr, OrderedDict())
        if make
        else notes.tensor_hooks.get(t._nr)
    )


@composite(namespace="Tensor", operands=("self",), native=False, dispatched="never")
def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Any], Any]) -> Any:
    """Calls ``hook`` with this leaf after a gradient was added to its ``grad``.

    Returns: a handle, whose ``remove`` takes the hook away.

    Raises:
        RuntimeError: for tensors that do not require grad or are no leaves.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([1.0], requires_grad=True)
        >>> handle = x.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad))
        >>> (3 * x).backward()
        tensor([3.])
    """
    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self._node is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if self._post_hooks is None:
        self._post_hooks = OrderedDict()
    handle = hooks.removable_handle(self._post_hooks)
    self._post_hooks[handle.id] = hook
    return handle


@composite(namespace="Tensor", operands=("self",), dispatched="never", implicit=True)
@schemas("(Tensor(a!) self) -> ()")
def retain_grad(self: Tensor) -> None:
    """Makes a tensor that is no leaf keep its gradient in ``grad``.

    Raises:
        RuntimeError: if the tensor does not require grad.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> y = x * x
        >>> y.retain_grad()
        >>> (3 * y).backward()
        >>> y.grad
        tensor(3.)
    """
    if MODE.transforms:
        raise RuntimeError(inside_transform("Tensor.retain_grad()"))
    if not self.requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if self.grad_fn is None or self._retains:
        return
    self._retains = True
    autograd_engine.retain(self)
