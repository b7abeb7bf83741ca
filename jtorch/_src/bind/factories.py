"""Factories as public callables: sizes spread or packed, dtype, device and ``requires_grad``
handled in one place."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax

from ...core import Tensor, contiguous_strides, format_strides, from_value
from .. import hooks
from ..engine import META, concrete, default_device, meta_value, record
from ..engine.at_once import unguarded
from ..engine.calls import abstract
from ..facts import devices, dtypes, layouts
from ..facts.determinism import ASKED
from ..facts.errors import (
    HIGHEST_LONG,
    LOWEST_LONG,
    check_flag,
    check_scalar,
    given_twice,
    must_be_tensor,
    no_kernel,
)
from ..facts.size import Size
from ..facts.static_types import Static, static_of
from ..facts.warned_once import outside
from ..ops._declare import DTYPE, NUMBER, OPS, TENSOR, Op
from ..ops._fitting import too_large
from ..ops._kernel import Fixed, T, caches, call_of
from ..protocol.overridable import specialise
from ..tensor.running import preserve_layout, write_out
from .arguments import KINDS, checked_static, number, plain

if TYPE_CHECKING:
    from ..engine.calls import Call
    from ..facts.kinds import Arguments, Function, Named


#: What says that the elements lie in memory by strides.
_STRIDED = (None, layouts.strided)
_KW = inspect.Parameter.KEYWORD_ONLY
_POS = inspect.Parameter.POSITIONAL_OR_KEYWORD


#: Types of arguments that hold sizes.
_SEQUENCES = (tuple, list, Size)
#: Spellings of one factory that are remembered.
_MANY = 512


def _spelled(args: Arguments) -> tuple[object, ...] | None:
    """Positional arguments as a key under which the call may be found again; None where others that
    mean something else would equal it (``True == 1 == 1.0``, ``0.0 == -0.0``)."""
    if not args:
        return args
    key = []
    for a in args:
        kind = type(a)
        if kind is int and LOWEST_LONG <= a <= HIGHEST_LONG:
            key.append(a)
        elif kind in _SEQUENCES:
            for n in a:
                if type(n) is not int:
                    return None
            key.append(tuple(a))
        elif kind is float and a:
            key += float, a
        else:
            return None
    return tuple(key)


def _remembered(
    found: dict[object, object],
    key: tuple[object, object] | None,
    call: object,
    numbers: tuple[object, ...],
) -> None:
    """Notes what a spelling came to, if it has a key."""
    if key is not None and key[0] is not None:
        if len(found) >= _MANY:
            found.clear()
        found[key] = call, numbers


def _layout_of(
    op: Op, arguments: Named, dtype: dtypes.dtype | None, like: Tensor | None = None
) -> tuple[tuple[object, ...], tuple[object, ...]]:
    """The op's layout and numbers for arguments by name."""
    entries = []
    numbers = []
    for i, p in enumerate(op.params):
        if p.kind == TENSOR:
            entries.append(T)
        elif p.kind == DTYPE:
            entries.append(Fixed(None if dtype is None else dtype.np))
        elif p.kind == NUMBER:
            value = arguments[p.name]
            if value is None:
                entries.append(None)
                continue
            value = number(op.name, p.name, value)
            kind = KINDS[type(value)]
            if type(value) is int and not LOWEST_LONG <= value <= HIGHEST_LONG:
                kind, value = _unsigned(value, dtype, like)
            entries.append(kind)
            numbers.append(value)
        else:
            fixed = plain(op.name, p, i + 1, arguments[p.name])
            entries.append(Fixed(checked_static(op.name, p.name, p.annotation, fixed)))
    return tuple(entries), tuple(numbers)


def _unsigned(
    value: int, dtype: dtypes.dtype | None, like: Tensor | None
) -> tuple[str, float] | tuple[str, int]:
    """The kind and value of a number beyond 63 bits in a tensor of ``dtype``, or of that of the
    tensor that it is to be like."""
    kind = dtype or (like.dtype if like is not None else dtypes.get_default_dtype())
    check_scalar(value)
    if kind.category < dtypes.FLOATING and kind.category != dtypes.BOOL:
        if kind is dtypes.uint64:
            return KINDS[int], value - (1 << 64)
        raise RuntimeError(too_large(kind.np))
    return KINDS[float], float(value)


def check_options(name: str, layout: object, pin_memory: bool) -> None:
    """Refuses what has no counterpart here."""
    if layout is not None and layout is not layouts.strided:
        raise NotImplementedError(
            f"{name}(): layout {layout} is not offered here; only torch.strided is"
        )
    check_pinned(pin_memory)


def layout_name(layout: object) -> str:
    """A layout as torch's C++ calls it: ``Sparse``, ``SparseCsr``."""
    return "".join(
        part.title() for part in str(layout).rpartition(".")[2].removesuffix("_coo").split("_")
    )


def check_out(
    out: Tensor | None,
    dtype: dtypes.dtype | None,
    layout: object = None,
    device: devices.device | int | str | None = None,
) -> None:
    """Raises torch's error for an ``out`` that is not as the options beside it ask."""
    if not isinstance(out, Tensor):
        return
    if isinstance(dtype, dtypes.dtype) and dtype is not out.dtype:
        raise RuntimeError(
            f"dtype {dtype.scalar_name} does not match dtype of out parameter "
            f"({out.dtype.scalar_name})"
        )
    if layout not in _STRIDED and layout is not out.layout:
        raise RuntimeError(
            f"layout {layout_name(layout)} does not match layout of out parameter "
            f"({layout_name(out.layout)})"
        )
    if device is not None and devices.device(device).type != out.device.type:
        asked, its = devices.device(device).type, out.device.type
        raise RuntimeError(
            f"device type {asked} does not match device type of out parameter ({its})"
        )


def check_pinned(wanted: bool, device: devices.device | None = None) -> None:
    """Refuses page-locked memory where there is no accelerator to lock it for; where there is one,
    JAX manages the host's memory itself.

    Raises:
        RuntimeError: in torch's words.
    """
    if wanted and devices.accelerator_type() is None and devices.placement(device) != META:
        raise RuntimeError(
            "pin_memory=True requires a CUDA or other accelerator backend; no pinned memory "
            "allocator is available on this system."
        )


def _in_layout(
    name: str,
    layout: object,
    size: object,
    dtype: dtypes.dtype | None,
    device: devices.device | None,
    requires_grad: bool | None,
) -> object:
    """A tensor of zeros in another layout than strided: a sparse one without specified elements."""
    if layout is layouts._mkldnn and name in ("zeros", "empty"):
        return hooks.opaque_zeros(size, dtype, device).requires_grad_(requires_grad)
    if name.endswith("_like") and name != "zeros_like":
        backend = (
            "Mkldnn"
            if layout is layouts._mkldnn
            else "Sparse"
            if layout is layouts.sparse_coo
            else "SparseCsr"
        )
        raise no_kernel("empty_strided", f"{backend}{devices.device(device or 'cpu').type.upper()}")
    if name in ("zeros", "empty", "zeros_like"):
        return hooks.empty_in_layout(
            size, layout, check_dtype(name, dtype), device, 0, requires_grad
        )
    if name in ("ones", "full"):
        raise RuntimeError("full(...) is not implemented for sparse layout")
    raise NotImplementedError(
        f"{name}(): layout {layout} is not offered here; only torch.strided is"
    )


def check_dtype(name: str, dtype: dtypes.dtype | None) -> dtypes.dtype | None:
    """The dtype object of a ``dtype=`` argument."""
    if dtype is None or isinstance(dtype, dtypes.dtype):
        return dtype
    found = dtypes.OF_PYTHON.get(dtype)
    if found is None:
        raise TypeError(
            f"{name}(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}"
        )
    return found


def make(call: Call, numbers: tuple[object, ...], device: devices.device | str | None) -> Tensor:
    """A tensor that a call without operands gives, on a device."""
    place = devices.placement(device)
    if place == META:
        outs = abstract(call)
        return from_value(meta_value(outs.shape, outs.dtype))
    if place == default_device():
        return from_value(record(call, (), numbers))
    with jax.default_device(place):
        out = unguarded(call.jitted(*numbers))
    return from_value(concrete(jax.device_put(out, place)))


def filled(op: Op, t: Tensor) -> Tensor:
    """A new tensor as deterministic algorithms leave the memory that ``op`` does not write; those
    who call it look whether they are asked for (``ASKED.fills``)."""
    if not op.unwritten or t._aval.device == META:
        return t
    return unwritten(t)


def unwritten(t: Tensor) -> Tensor:
    """A tensor of the form of another one that holds what fills memory that nobody wrote."""
    made = from_value(record(call_of(OPS["_C._unwritten"], (T,)), (t._read(),)))
    made._strides = t._strides
    return made


def _finish(name: str, t: Tensor, requires_grad: bool | None) -> Tensor:
    if requires_grad is not False and requires_grad is not None:
        check_flag(name, "requires_grad", requires_grad)
        if not t._aval.differentiable:
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        t.requires_grad = True
    return t


def _fill_dtype(op: Op, arguments: Named, dtype: dtypes.dtype | None) -> dtypes.dtype | None:
    """``full`` without dtype follows the kind of its value."""
    if dtype is None and op.name == "full":
        value = number(op.name, "fill_value", arguments["fill_value"])
        return dtypes.of_number(value)
    return dtype


def _verify(
    path: str,
    statics: dict[str, Static],
    arguments: dict[str, Any],
    args: tuple[Any, ...],
    named: dict[str, Any],
) -> None:
    """Refuses arguments of other types than PyTorch's parser takes; only those that are of none of
    the types that are declared are shown to it.

    Raises:
        TypeError: in torch's words.
    """
    if all(a is not None for a in args) and all(s.takes(arguments[n]) for n, s in statics.items()):
        return
    named = {n: x for n, x in named.items() if x is not None}
    found = hooks.judged(path, args, named, True)
    if isinstance(found, TypeError):
        raise found


def factory(op: Op, path: str) -> Callable[..., Any]:
    """``torch.<path>``: only modes see it, so that a default device can fill ``device`` in."""
    names = [p.name for p in op.params if p.kind != DTYPE]
    required = {p.name for p in op.params if p.required}
    defaults = {p.name: p.default for p in op.params if not p.required}
    spread = op.varargs
    statics = {p.name: s for p in op.params if (s := static_of(p.annotation)) and p.name in names}
    known: dict[Any, Any] = {}  # calls and numbers by positional arguments and dtype
    caches.append(known)

    def impl(
        *args: Any,
        out: Any = None,
        dtype: dtypes.dtype | None = None,
        layout: layouts.layout | None = None,
        device: Any = None,
        pin_memory: Any = False,
        requires_grad: bool | None = False,
        **kwargs: Any,
    ) -> Any:
        key = None
        if not kwargs and out is None and layout in _STRIDED and pin_memory is False:
            key = _spelled(args), dtype
            try:
                found = known.get(key)
            except TypeError:
                found = key = None
            if found is not None:
                call, numbers = found
                result = make(call, numbers, device)
                return _finish(
                    op.name, filled(op, result) if ASKED.fills else result, requires_grad
                )
        if pin_memory:
            check_pinned(pin_memory, device)
        memory_format = kwargs.pop("memory_format", None) if op.name == "empty" else None
        if out is not None and not op.out:
            raise TypeError(f"{op.name}() got an unexpected keyword argument 'out'")
        arguments = dict(defaults)
        if spread is not None and spread not in kwargs:
            place = names.index(spread)
            arguments.update(zip(names[:place], args[:place], strict=False))
            rest = args[place:]
            packed = rest[0] if len(rest) == 1 and isinstance(rest[0], (list, tuple)) else rest
            if rest:
                arguments[spread] = tuple(packed)
        else:
            if len(args) > len(names):
                raise TypeError(
                    f"{op.name}() takes {len(names)} positional arguments but {len(args)} were "
                    "given"
                )
            arguments.update(zip(names, args, strict=False))
        for k, v in kwargs.items():
            if k not in names:
                raise TypeError(f"{op.name}() got an unexpected keyword argument '{k}'")
            if k in names[: len(args)]:
                raise given_twice(op.name, k)
            arguments[k] = v
        missing = [n for n in names if n in required and n not in arguments]
        if missing:
            raise TypeError(
                f'{op.name}() missing {len(missing)} required positional arguments: "{missing[0]}"'
            )
        if out is not None:
            check_out(out, dtype, layout, device)
        if layout is not None and layout is not layouts.strided:
            return _in_layout(op.name, layout, arguments.get("size"), dtype, device, requires_grad)
        if statics:
            options = {"dtype": dtype, "layout": layout, "device": device, **kwargs}
            _verify(path, statics, arguments, args, options)
        given = check_dtype(op.name, dtype)
        if given is None and isinstance(out, Tensor):
            given = out.dtype
        entries, numbers = _layout_of(op, arguments, _fill_dtype(op, arguments, given))
        call = call_of(op, entries)
        _remembered(known, key, call, numbers)
        result = make(call, numbers, device if device is not None or out is None else out.device)
        if ASKED.fills:
            result = filled(op, result)
        if out is not None:
            if op.sequence and isinstance(out, Tensor) and out.numel() == result.numel():
                result = result.reshape(out.shape)
            elif op.sequence == "counted" and isinstance(out, Tensor) and out.numel():
                warnings.warn(
                    f"The number of elements in the out tensor of shape {list(out.shape)} is "
                    f"{out.numel()} which does not match the computed number of elements "
                    f"{result.numel()}. Note that this may occur as a result of rounding error. "
                    f"The out tensor will be resized to a tensor of shape ({result.numel()},).",
                    stacklevel=outside(),
                )
            return write_out(result, out, op.name, asked=True)
        if memory_format is not None:
            strides = format_strides(result._aval.shape, memory_format)
            result._strides = None if strides == contiguous_strides(result._aval.shape) else strides
        return _finish(op.name, result, requires_grad)

    params = (
        [inspect.Parameter(spread or "", inspect.Parameter.VAR_POSITIONAL)]
        if spread == names[0]
        else [
            inspect.Parameter(n, _POS, default=defaults.get(n, inspect.Parameter.empty))
            for n in names
        ]
    )
    if op.name == "empty":
        params.append(inspect.Parameter("memory_format", _KW, default=layouts.contiguous_format))
    if op.out:
        params.append(inspect.Parameter("out", _KW, default=None))
    params += [
        inspect.Parameter("dtype", _KW, default=None),
        inspect.Parameter("layout", _KW, default=layouts.strided),
        inspect.Parameter("device", _KW, default=None),
        inspect.Parameter("pin_memory", _KW, default=False),
        inspect.Parameter("requires_grad", _KW, default=False),
    ]
    made = specialise(
        impl, f"torch.{path}", ["out"], overridable=False, wrapped=op.body, doc=op.body.__doc__
    )
    made.__signature__ = inspect.Signature(params)
    return made


def like(op: Op, path: str, *, method: bool = False) -> Function:
    """``zeros_like`` and its kind: shape, dtype and device of an operand unless given."""
    extra = [p for p in op.params[1:] if p.kind != DTYPE]
    first = "self" if method else op.params[0].name
    known: dict[Any, Any] = {}  # calls and numbers by arguments and dtype
    caches.append(known)

    def impl(
        input: Any,
        *args: Any,
        dtype: dtypes.dtype | None = None,
        layout: layouts.layout | None = None,
        device: Any = None,
        pin_memory: Any = False,
        requires_grad: bool | None = False,
        memory_format: Any = None,
        **kwargs: Any,
    ) -> Any:
        if not isinstance(input, Tensor):
            raise must_be_tensor(op.name, op.params[0].name, 1, input)
        if pin_memory:
            check_pinned(pin_memory, device or input.device)
        if layout is not None and layout is not layouts.strided:
            return _in_layout(
                op.name,
                layout,
                tuple(input.shape),
                dtype or input.dtype,
                device or input.device,
                requires_grad,
            )
        key = None if kwargs else (_spelled(args), dtype)
        call, numbers = (key is not None and known.get(key)) or (None, ())
        if call is None:
            if len(args) > len(extra):
                n = 1 + len(extra)
                raise TypeError(
                    f"{op.name}() takes {n} positional argument{'s' if n > 1 else ''} but "
                    f"{1 + len(args)} were given"
                )
            arguments = {p.name: p.default for p in extra if not p.required}
            arguments.update(zip([p.name for p in extra], args, strict=False))
            for k, v in kwargs.items():
                if k not in {p.name for p in extra}:
                    raise TypeError(f"{op.name}() got an unexpected keyword argument '{k}'")
                if k in [p.name for p in extra[: len(args)]]:
                    raise given_twice(op.name, k)
                arguments[k] = v
            for p in extra:
                if p.name not in arguments:
                    raise TypeError(
                        f'{op.name}() missing 1 required positional arguments: "{p.name}"'
                    )
            entries, numbers = _layout_of(op, arguments, check_dtype(op.name, dtype), input)
            call = call_of(op, entries)
            _remembered(known, key, call, numbers)
        place = devices.placement(device) if device is not None else input._aval.device
        aval = input._aval
        if place == META or place != aval.device:
            if place == META:
                outs = abstract(call, (aval,))
                result = from_value(meta_value(outs.shape, outs.dtype))
            else:
                result = from_value(
                    concrete(
                        jax.device_put(
                            call.jitted(jax.numpy.zeros(aval.shape, aval.dtype), *numbers), place
                        )
                    )
                )
        else:
            result = from_value(record(call, (input._read(),), numbers))
        if ASKED.fills:
            result = filled(op, result)
        if result._aval.shape == aval.shape:
            if (
                memory_format is None
                or memory_format is layouts.preserve_format
                or str(memory_format) == "torch.preserve_format"
            ):
                preserve_layout(result, input)
            elif str(memory_format) != "torch.contiguous_format":
                result._strides = format_strides(aval.shape, memory_format)
        return _finish(op.name, result, requires_grad)

    params = [inspect.Parameter(first, _POS)]
    params += [inspect.Parameter(p.name, _POS, default=p.default) for p in extra]
    params += [
        inspect.Parameter("memory_format", _KW, default=layouts.preserve_format),
        inspect.Parameter("dtype", _KW, default=None),
        inspect.Parameter("layout", _KW, default=None),
        inspect.Parameter("device", _KW, default=None),
        inspect.Parameter("pin_memory", _KW, default=False),
        inspect.Parameter("requires_grad", _KW, default=False),
    ]
    made = specialise(impl, f"torch.{path}", [first], wrapped=op.body, doc=op.body.__doc__)
    made.__signature__ = inspect.Signature(params)
    return made


__all__ = [
    "check_dtype",
    "check_options",
    "check_pinned",
    "factory",
    "filled",
    "like",
    "make",
    "unwritten",
]
