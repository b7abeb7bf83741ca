"""Factories that read their arguments before they make anything: ranges and lines, strided memory,
and the ``new_*`` methods."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...core import Tensor, contiguous_strides, requiring
from ..bind.arguments import number
from ..bind.cores import composite
from ..bind.factories import check_dtype, factory, make
from ..engine import SPECIAL
from ..facts import dtypes, layouts
from ..facts.devices import device
from ..facts.errors import (
    CPP_NAMES,
    HIGHEST_LONG,
    LOWEST_LONG,
    check_scalar,
    given_twice,
    not_offered,
)
from ..facts.size import SYMBOLIC
from ..facts.warned_once import outside
from ..ops import _kernel
from ..ops._declare import OPS
from ..ops._facts import schemas
from ..ops._fitting import check_fits
from .filling import of_examples

if TYPE_CHECKING:
    from ..facts.kinds import Function, Keywords


# ---- ranges --------------------------------------------------------------------------------------

_arange = factory(OPS["_C._arange"], "_C._arange")


def _bounds(
    name: str, args: Sequence[Any], start: Any, end: Any, step: Any
) -> tuple[Any, Any, Any]:
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
            raise TypeError(
                f"{name}(): argument '{k}' (position {position}) must be Number, not "
                f"{type(value).__name__}"
            )
        found.append(value if type(value) in SYMBOLIC else number(name, k, value))
    return found[0], found[1], found[2]


def _no_such_arange(name: str, args: Sequence[object], given: dict[str, object]) -> str:
    shown = ", ".join(
        [type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in given.items()]
    )
    return (
        f"{name}() received an invalid combination of arguments - got ({shown}), but expected one "
        "of:\n"
        " * (Number end, *, Tensor out = None, torch.dtype dtype = None, torch.layout layout = "
        "None, torch.device device = None, bool pin_memory = False, bool requires_grad = False)\n"
        " * (Number start, Number end, Number step = 1, *, Tensor out = None, torch.dtype dtype = "
        "None, torch.layout layout = None, torch.device device = None, bool pin_memory = False, "
        "bool requires_grad = False)\n"
    )


def _check_range(start: float, end: float, step: float) -> None:
    for value in (start, end, step):
        if isinstance(value, complex):
            raise RuntimeError("value cannot be converted to type double without overflow")
        if type(value) is int:
            check_scalar(value)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {_double(start)} -> {_double(end)}")
    if (step > 0 and end < start) or (step < 0 and end > start):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def _check_longs(*values: int) -> None:
    """Refuses bounds of more than 64 bits where the result is of whole numbers."""
    for value in values:
        if not LOWEST_LONG <= value <= HIGHEST_LONG:
            raise RuntimeError("value cannot be converted to type int64_t without overflow")


def _double(value: object) -> str:
    return f"{value:g}"


def _range_dtype(given: dtypes.dtype | None, out: object, values: Sequence[object]) -> dtypes.dtype:
    if given is not None:
        return given
    if isinstance(out, Tensor):
        return out.dtype
    return dtypes.get_default_dtype() if any(isinstance(v, float) for v in values) else dtypes.int64


def _spread(
    name: str,
    args: tuple[object, ...],
    start: Any,
    end: Any,
    step: Any,
    closed: bool,
    out: object,
    dtype: dtypes.dtype | None,
    options: dict[str, object],
) -> Any:
    first, last, stride = _bounds(name, args, start, end, step)
    given = check_dtype(name, dtype)
    if not closed and {type(first), type(last), type(stride)} & SYMBOLIC:
        return _of_sizes(first, last, stride, given or dtypes.int64, out, options)
    wanted = (
        (given or dtypes.get_default_dtype())
        if closed
        else _range_dtype(given, out, (first, last, stride))
    )
    if wanted.category in (dtypes.BOOL, dtypes.COMPLEX):
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{wanted.scalar_name}'")
    _check_range(first, last, stride)
    if wanted.category == dtypes.INTEGRAL:
        asked = (last - first) / stride
        first, last, stride = int(first), int(last), int(stride)
        _check_longs(first, last, stride)
        if not closed and wanted is not dtypes.int64:
            # torch cuts the numbers to integers, but counts longs alone by them
            length = math.ceil(asked)
        elif stride == 0:
            raise ValueError("step must be nonzero")
        else:
            length = (last - first) // stride + 1 if closed else -((first - last) // stride)
    else:
        steps = (last - first) / stride
        if not -HIGHEST_LONG <= steps < HIGHEST_LONG:
            raise RuntimeError("invalid size, possible overflow?")
        length = math.floor(steps) + 1 if closed else math.ceil(steps)
    length = max(length, 0)
    if name == "arange" and isinstance(out, Tensor) and out._aval.size not in (0, length):
        warnings.warn(
            f"The number of elements in the out tensor of shape {list(out.shape)} is "
            f"{out._aval.size} which does not match the computed number of elements {length}. Note "
            "that this may occur as a result of rounding error. The out tensor will be resized to "
            f"a tensor of shape ({length},).",
            stacklevel=outside(),
        )
    return _arange(first, stride, length, out=out, dtype=wanted, **options)


def _of_sizes(
    first: int, last: Any, stride: int, dtype: dtypes.dtype, out: object, options: dict[str, object]
) -> object:
    """``arange`` up to a size that is not known yet."""
    if (
        type(first) is not int
        or type(stride) is not int
        or stride < 1
        or dtype.category not in (dtypes.INTEGRAL, dtypes.FLOATING)
    ):
        raise not_offered(
            "arange of symbolic bounds",
            "only the end may be a size that varies, and the numbers whole",
        )
    return _arange(first, stride, -((first - last) // stride), out=out, dtype=dtype, **options)


_calls: dict[int, Any] = {}
_kernel.caches.append(_calls)


def _integers(*bounds: int) -> Tensor:
    """``arange`` of ints alone, the usual case."""
    first, last, stride = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    _check_range(first, last, stride)
    _check_longs(first, last, stride)
    length = -((first - last) // stride)
    call = _calls.get(length)
    if call is None:
        layout = (_kernel.INT, _kernel.INT, _kernel.Fixed(length), _kernel.Fixed(dtypes.int64.np))
        call = _calls[length] = _kernel.call_of(OPS["_C._arange"], layout)
    return make(call, (first, stride), None)


@composite(native=True, factory=True)
@schemas(
    "(Scalar end, ...) -> Tensor",
    ".start(Scalar start, Scalar end, ...) -> Tensor",
    ".start_step(Scalar start, Scalar end, Scalar step=1, ...) -> Tensor",
)
def arange(
    *args: Any,
    start: Any = None,
    end: Any = None,
    step: Any = None,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
    layout: Any = layouts.strided,
    device: device | str | int | None = None,
    pin_memory: bool = False,
    requires_grad: bool | None = False,
) -> Any:
    """``arange(end)``, ``arange(start, end, step=1)``: numbers from ``start`` (0) up to, but
    without, ``end``.

    Args:
        args: ``end``, or ``start, end``, or ``start, end, step``.
        start: the first number, 0 by default.
        end: where the numbers end, which is not reached.
        step: the difference between numbers, 1 by default.
        dtype: the dtype of the result; found from the numbers if it is None.

    Shapes: one dimension of ``ceil((end - start) / step)`` elements.

    Dtypes: int64 if all arguments are integers, else the default dtype.

    Raises:
        RuntimeError: if ``step`` is zero, or leads away from ``end``.

    Example:
        >>> import jtorch as torch
        >>> torch.arange(4)
        tensor([0, 1, 2, 3])
        >>> torch.arange(1, 2, 0.25)
        tensor([1.0000, 1.2500, 1.5000, 1.7500])
    """
    plain = (
        out is None
        and device is None
        and not requires_grad
        and layout is layouts.strided
        and dtype in (None, dtypes.int64)
    )
    if (
        plain
        and args
        and len(args) <= 3
        and start is end is step is None
        and {*map(type, args)} == {int}
    ):
        return _integers(*args)
    options = {
        "layout": layout,
        "device": device,
        "pin_memory": pin_memory,
        "requires_grad": requires_grad,
    }
    return _spread("arange", args, start, end, step, False, out, dtype, options)


@composite(name="range", native=True, factory=True)
@schemas(
    ".step(Scalar start, Scalar end, Scalar step=1, ...) -> Tensor",
    "(Scalar start, Scalar end, ...) -> Tensor",
)
def range_(
    start: Any = 0,
    end: Any = None,
    step: Any = 1,
    *,
    out: Any = None,
    dtype: dtypes.dtype | None = None,
    layout: Any = layouts.strided,
    device: device | str | int | None = None,
    pin_memory: bool = False,
    requires_grad: bool | None = False,
) -> Any:
    """Numbers from ``start`` to ``end`` inclusive. Deprecated, as in torch: use ``arange``.

    Shapes: one dimension of ``floor((end - start) / step) + 1`` elements.

    Dtypes: the default dtype unless ``dtype`` is given.

    Raises:
        RuntimeError: if ``step`` is zero, or leads away from ``end``.

    Example:
        >>> import jtorch as torch
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     torch.range(1, 3)
        tensor([1., 2., 3.])
    """
    if end is None:
        raise TypeError('range() missing 1 required positional arguments: "end"')
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is "
        "inconsistent with Python's range builtin. Instead, use torch.arange, which produces "
        "values in [start, end).",
        UserWarning,
        stacklevel=outside(),
    )
    options = {
        "layout": layout,
        "device": device,
        "pin_memory": pin_memory,
        "requires_grad": requires_grad,
    }
    return _spread("range", (start, end, step), None, None, None, True, out, dtype, options)


_linspace = factory(OPS["_C._linspace"], "_C._linspace")
_logspace = factory(OPS["_C._logspace"], "_C._logspace")


def _place(device: device | None, *ends: object) -> device | str | None:
    """Where a line is made: without data if an end is, unless ``device`` says otherwise."""
    return (
        "meta"
        if device is None and any(isinstance(x, Tensor) and x.is_meta for x in ends)
        else device
    )


def _is_complex(value: float) -> bool:
    return value.dtype.is_complex if isinstance(value, Tensor) else isinstance(value, complex)


def _ends(
    name: str, start: float, end: float, steps: int, dtype: dtypes.dtype | None, out: object = None
) -> tuple[object, object]:
    """The ends of a line as numbers; a line of one step does not look at its ``end``, an empty one
    at neither.

    Raises:
        RuntimeError: for tensors with dimensions, or a number that the line's dtype cannot hold.
        NotImplementedError: for a line of bool.
    """
    if dtype in (dtypes.bool_, bool):
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    for which, value in (("start", start), ("end", end)):
        if isinstance(value, Tensor) and value.dim():
            raise RuntimeError(
                f"{name} only supports 0-dimensional start and end tensors, but got {which} with "
                f"{value.dim()} dimension(s)."
            )
        kind = dtypes.get_default_dtype() if dtype is None else dtype
        unused = isinstance(steps, int) and (steps == 0 or (steps == 1 and which == "end"))
        if not unused and isinstance(value, (int, float)) and isinstance(kind, dtypes.dtype):
            check_fits(value, kind.np)
        if (
            isinstance(kind, dtypes.dtype)
            and not kind.is_complex
            and dtype is not None
            and _is_complex(value)
        ):
            inferred = CPP_NAMES[dtypes.get_default_dtype().to_complex().scalar_name]
            raise RuntimeError(
                f"torch.{name}(): inferred dtype {inferred} can't be safely cast to passed dtype "
                f"{kind.scalar_name}"
            )
        if isinstance(out, Tensor) and not out.dtype.is_complex and _is_complex(value):
            raise RuntimeError(
                f"value cannot be converted to type {CPP_NAMES[out.dtype.scalar_name]} without "
                "overflow"
            )
    # What the ends are does not matter to a line without data; their histories, to no line.
    first, last = (
        (0.0 if x.is_meta else x.detach()) if isinstance(x, Tensor) else x for x in (start, end)
    )
    return number(name, "start", first), number(name, "end", last)


@composite(native=True, factory=True)
@schemas(
    ".Tensor_Tensor(Tensor start, Tensor end, int steps, ...) -> Tensor",
    ".Tensor_Scalar(Tensor start, Scalar end, int steps, ...) -> Tensor",
    ".Scalar_Tensor(Scalar start, Tensor end, int steps, ...) -> Tensor",
    "(Scalar start, Scalar end, int steps, ...) -> Tensor",
)
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    out: Any = None,
    dtype: dtypes.dtype | None = None,
    layout: Any = layouts.strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool | None = False,
) -> Tensor:
    """``steps`` evenly spaced values from ``start`` to ``end``, both included.

    Args:
        start: the first number, or a tensor with it.
        end: the last number, or a tensor with it.
        steps: how many numbers there are.
        dtype: the dtype of the result; the default dtype if it is None.

    Shapes: (steps).

    Dtypes: the default dtype (its complex type if an end is complex) unless ``dtype`` is given.

    Raises:
        RuntimeError: if ``steps`` is negative, an end is a tensor with dimensions or one that
            ``dtype`` cannot hold.
        NotImplementedError: for bool.

    Example:
        >>> import jtorch as torch
        >>> torch.linspace(0, 1, 5)
        tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    first, last = _ends("linspace", start, end, steps, dtype, out)
    options = {
        "layout": layout,
        "device": _place(device, start, end),
        "pin_memory": pin_memory,
        "requires_grad": requires_grad,
    }
    return _linspace(first, last, steps, out=out, dtype=dtype, **options)


@composite(native=True, factory=True)
@schemas(
    ".Tensor_Tensor(Tensor start, Tensor end, int steps, float base=10., ...) -> Tensor",
    ".Tensor_Scalar(Tensor start, Scalar end, int steps, float base=10., ...) -> Tensor",
    ".Scalar_Tensor(Scalar start, Tensor end, int steps, float base=10., ...) -> Tensor",
    "(Scalar start, Scalar end, int steps, float base=10., ...) -> Tensor",
)
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    out: Any = None,
    dtype: dtypes.dtype | None = None,
    layout: Any = layouts.strided,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool | None = False,
) -> Any:
    """``base`` to the power of ``steps`` evenly spaced exponents from ``start`` to ``end``, both
    included.

    Shapes: (steps).

    Dtypes: the default dtype (its complex type if an end is complex) unless ``dtype`` is given.

    Raises:
        RuntimeError: if ``steps`` is negative, an end is a tensor with dimensions or one that
            ``dtype`` cannot hold.
        NotImplementedError: for bool.

    Example:
        >>> import jtorch as torch
        >>> torch.logspace(0, 2, 3)
        tensor([  1.,  10., 100.])
    """
    first, last = _ends("logspace", start, end, steps, dtype, out)
    options = {
        "layout": layout,
        "device": _place(device, start, end),
        "pin_memory": pin_memory,
        "requires_grad": requires_grad,
    }
    return _logspace(first, last, steps, base, out=out, dtype=dtype, **options)


# ---- memory order --------------------------------------------------------------------------------

_empty = factory(OPS["empty"], "_C.empty")
_zeros = factory(OPS["zeros"], "_C.zeros")
_ones = factory(OPS["ones"], "_C.ones")
_full = factory(OPS["full"], "_C.full")


@composite(native=True, factory=True, differentiable=False, lazy="conj neg")
@schemas("(SymInt[] size, SymInt[] stride, ...) -> Tensor")
def empty_strided(
    size: tuple[int, ...],
    stride: tuple[int, ...],
    *,
    dtype: dtypes.dtype | None = None,
    layout: Any = layouts.strided,
    device: device | str | int | None = None,
    requires_grad: bool | None = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of the given sizes and strides whose values the caller means to overwrite (they are
    zeros here).

    Shapes: ``size``.

    Raises:
        RuntimeError: if ``size`` and ``stride`` are not of one length, or a stride is negative.

    Example:
        >>> import jtorch as torch
        >>> torch.empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    options = {"dtype": dtype, "layout": layout, "device": device, "pin_memory": pin_memory}
    made = _with_strides(tuple(size), tuple(stride), options, None)
    return requiring(made) if requires_grad else made


def _with_strides(
    size: tuple[int, ...], stride: tuple[int, ...], options: dict[str, object], example: object
) -> Tensor:
    """New memory of these sizes and strides; for each of the examples that the value ``example`` is
    one of, if it is given."""
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides "
            f"({len(stride)})"
        )
    if any(n < 0 for n in size):
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {next(n for n in size if n < 0)}: "
            f"{list(size)}"
        )
    # traced without data: strides are all that is to be made
    if SYMBOLIC and {type(n) for n in size} & SYMBOLIC:
        made = _empty(size, **options)
        made._strides = stride if stride != contiguous_strides(size) else None
        return made
    length = 0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if length * 8 > HIGHEST_LONG or any(s < 0 for s in stride):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(size)} and "
            f"strides={list(stride)}"
        )
    flat = _empty((length,), **options)
    return (
        (flat if example is None else of_examples(flat, example)).as_strided(size, stride).detach()
    )


@composite(native=True, factory=True, differentiable=False)
@schemas("(SymInt[] size, int[] physical_layout, ...) -> Tensor")
def empty_permuted(
    size: tuple[int, ...],
    physical_layout: tuple[int, ...],
    *,
    dtype: dtypes.dtype | None = None,
    layout: Any = layouts.strided,
    device: device | str | int | None = None,
    requires_grad: bool | None = False,
    pin_memory: bool = False,
) -> Any:
    """A tensor whose dimensions lie in memory in the order ``physical_layout``, from the slowest to
    the fastest.

    Shapes: ``size``.

    Raises:
        RuntimeError: if ``physical_layout`` is no permutation of the dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.empty_permuted((2, 3, 4), (0, 2, 1)).stride()
        (12, 1, 3)
    """
    size, order = tuple(size), tuple(physical_layout)
    if len(size) != len(order):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; "
            f"i.e. len(size) = {len(size)} is not equal to len(physical_layout) = {len(order)}"
        )
    for d in order:
        if not 0 <= d < len(size):
            raise RuntimeError(
                f"Dimension out of range (expected to be in range of [0, {len(size) - 1}], but got "
                f"{d})"
            )
    if len(set(order)) != len(order):
        raise RuntimeError("Duplicate dim not allowed")
    flat = _empty(
        tuple(size[d] for d in order),
        dtype=dtype,
        layout=layout,
        device=device,
        pin_memory=pin_memory,
    )
    made = flat.permute(tuple(order.index(d) for d in range(len(order)))).detach()
    return requiring(made) if requires_grad else made


# ---- new tensors of a tensor's dtype and device --------------------------------------------------


def _new(
    make: Function,
    name: str,
    self: Tensor,
    size: Sequence[Any],
    more: Sequence[float],
    options: Keywords,
) -> Any:
    if len(size) == 1 and isinstance(size[0], (list, tuple)):
        size = size[0]
    elif not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    options["dtype"] = check_dtype(name, options["dtype"]) or self.dtype
    if options["device"] is None:
        options["device"] = self.device
    v = self._read()
    while v.trace is SPECIAL and hasattr(v, "primal"):  # of examples with tangents
        v = v.primal
    if v.trace is SPECIAL and hasattr(v, "physical"):
        wanted, options["requires_grad"] = options["requires_grad"], False
        made = of_examples(make(tuple(size), *more, **options), v)
        return requiring(made) if wanted else made
    return make(tuple(size), *more, **options)


def _new_sized(name: str, make: Callable[..., object], what: str, example: str, shown: str) -> None:
    def body(
        self: Tensor,
        *size: Any,
        dtype: dtypes.dtype | None = None,
        device: device | str | int | None = None,
        requires_grad: bool | None = False,
        layout: Any = layouts.strided,
        pin_memory: bool = False,
        **named: Any,
    ) -> Any:
        if "size" in named:
            if size:
                raise given_twice(name, "size")
            size = (named.pop("size"),)
        if named:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(named))}'")
        options = {
            "dtype": dtype,
            "device": device,
            "requires_grad": requires_grad,
            "layout": layout,
            "pin_memory": pin_memory,
        }
        return _new(make, name, self, size, (), options)

    body.__name__ = body.__qualname__ = name
    body.__doc__ = f"""A tensor of {what}, of this tensor's dtype and device unless they are given.

    Args:
        size: the sizes, spread or in one tuple.
        dtype: the dtype of the result; that of the tensor if it is None.
        device: where the result lies; where the tensor does if it is None.
        named: ``size`` by name.

    Shapes: the sizes, spread or in one tuple.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([7]).{example}
        {shown}
    """
    schemas("(Tensor self, SymInt[] size, ...) -> Tensor")(body)
    composite(namespace="Tensor", name=name, operands=("self",), differentiable=False)(body)


_new_sized("new_zeros", _zeros, "zeros", "new_zeros(2)", "tensor([0, 0])")
_new_sized("new_ones", _ones, "ones", "new_ones(2)", "tensor([1, 1])")
_new_sized(
    "new_empty",
    _empty,
    "values that the caller means to overwrite",
    "new_empty(2, 3).shape",
    "torch.Size([2, 3])",
)


@composite(namespace="Tensor", operands=("self",), differentiable=False, ignored=True)
@schemas("(Tensor self, SymInt[] size, Scalar fill_value, ...) -> Tensor")
def new_full(
    self: Tensor,
    size: tuple[int, ...],
    fill_value: Any,
    *,
    dtype: dtypes.dtype | None = None,
    device: device | str | int | None = None,
    requires_grad: bool | None = False,
    layout: Any = layouts.strided,
    pin_memory: bool = False,
) -> Any:
    """A tensor of one number, of this tensor's dtype and device unless they are given.

    Shapes: ``size``.

    Raises:
        RuntimeError: for a negative size.
        TypeError: for a value that is no number.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1.0]).new_full((2,), 3)
        tensor([3., 3.])
    """
    options = {
        "dtype": dtype,
        "device": device,
        "requires_grad": requires_grad,
        "layout": layout,
        "pin_memory": pin_memory,
    }
    return _new(_full, "new_full", self, (tuple(size),), (fill_value,), options)


@composite(namespace="Tensor", operands=("self",), differentiable=False, ignored=True)
@schemas("(Tensor self, SymInt[] size, SymInt[] stride, ...) -> Tensor")
def new_empty_strided(
    self: Tensor,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    dtype: dtypes.dtype | None = None,
    layout: Any = layouts.strided,
    device: device | str | int | None = None,
    pin_memory: bool = False,
    requires_grad: bool | None = False,
) -> Any:
    """``empty_strided`` of this tensor's dtype and device unless they are given.

    Shapes: ``size``.

    Raises:
        RuntimeError: as ``empty_strided``.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1]).new_empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    options = {
        "dtype": check_dtype("new_empty_strided", dtype) or self.dtype,
        "device": self.device if device is None else device,
        "layout": layout,
        "pin_memory": pin_memory,
    }
    v = self._read()
    if v.trace is not SPECIAL or not hasattr(v, "physical"):
        return empty_strided(size, stride, requires_grad=requires_grad, **options)
    made = _with_strides(tuple(size), tuple(stride), options, v)
    return requiring(made) if requires_grad else made
