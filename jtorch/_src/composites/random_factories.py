"""Factories of tensors of random numbers, and their forms that are like another tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core import Tensor, requiring
from ...random import examples, refuse_out, twister_of
from ..bind.arguments import sizes, whole
from ..bind.cores import composite
from ..bind.everything import T
from ..bind.factories import check_dtype, check_options, check_out, check_pinned
from ..draws import sampling as _sampling
from ..draws.by_dtype import Draw, integer_draw, need, normal_draw, serial, uniform_draw
from ..engine import META, limits
from ..facts import devices, dtypes
from ..facts.errors import check_longs
from ..facts.layouts import contiguous_strides, is_dense
from ..ops._facts import schemas
from ..tensor.running import pointwise_strides, write_out
from .filling import blank, fill, is_example, numbers, strides_of, whole_strides

if TYPE_CHECKING:
    from ...random import Generator
    from ..facts.kinds import Row


_INT = frozenset((int,))


def sizes_of(name: str, size: Row) -> tuple[int, ...]:
    """Sizes given spread or packed.

    Raises:
        TypeError: for anything but integers.
        RuntimeError: for negative ones.
    """
    packed = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    if (
        type(packed) is tuple
        and _INT.issuperset(map(type, packed))
        and (not packed or 0 <= min(packed) <= max(packed) < 1 << 31)
    ):
        return packed
    check_longs(name, "size", packed)
    found = list(sizes(name, "size", packed))
    for n in found:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {found}")
    return tuple(found)


def _given_sizes(name: str, spread: tuple[object, ...], size: object) -> tuple[int, ...]:
    if (size is None) == (not spread):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got "
            f"({', '.join(type(n).__name__ for n in spread)})"
        )
    return sizes_of(
        name,
        spread if size is None else (tuple(size) if isinstance(size, (tuple, list)) else size,),
    )


def made_by(
    name: str,
    shape: tuple[int, ...],
    draw: Draw,
    dtype: dtypes.dtype,
    generator: Generator | None,
    out: Tensor | None,
    layout: object,
    device: devices.device | None,
    requires_grad: bool | None,
    apart: bool = False,
) -> Any:
    """A new tensor of drawn numbers, or ``out`` filled with them."""
    check_options(name, layout, False)
    refuse_out(out)
    if out is None and devices.placement(device) == META:
        twister_of(generator)  # refused there too
        limits.check_size(shape, dtype.np.itemsize, META)
        # (sizes may be none that NumPy knows)
        return T.empty(shape, dtype=dtype, device=device, requires_grad=bool(requires_grad))
    made = numbers(
        draw, generator, shape, None, dtype.np, device if out is None else out.device, apart
    )
    if out is not None:
        return write_out(made, out, name, asked=True)
    if requires_grad:
        made.requires_grad = True
    return made


def wanted_dtype(
    name: str, dtype: dtypes.dtype | None, out: Tensor | None, default: dtypes.dtype
) -> dtypes.dtype:
    check_out(out, dtype)
    given = check_dtype(name, dtype)
    return given or (out.dtype if isinstance(out, Tensor) else default)


@composite(operands=("out",), factory=True, differentiable=False)
@schemas(
    "(SymInt[] size, ...) -> Tensor",
    ".generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? "
    "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
)
def rand(
    *sizes: Any, size: Any = None, generator: Any = None, out: Any = None, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False,
    requires_grad: bool | None = False,
) -> Any:  # fmt: skip
    """A tensor of numbers drawn evenly from [0, 1).

    Args:
        sizes: the sizes, spread or in one tuple.
        size: the sizes by name, in a tuple.
        generator: where random numbers come from; the default generator if it is None.
        dtype: the dtype of the result; the default dtype if it is None.

    Shapes: the sizes, spread or in one tuple.

    Dtypes: floating-point and complex ones; the default dtype unless ``dtype`` is given.

    Raises:
        NotImplementedError: for an integer ``dtype``.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.rand(3)
        tensor([0.4963, 0.7682, 0.0885])
    """
    check_pinned(pin_memory, device)
    kind = wanted_dtype("rand", dtype, out, dtypes.get_default_dtype())
    return made_by(
        "rand",
        _given_sizes("rand", sizes, size),
        uniform_draw(kind),
        kind,
        generator,
        out,
        layout,
        device,
        requires_grad,
    )


@composite(operands=("out",), factory=True, differentiable=False)
@schemas(
    "(SymInt[] size, ...) -> Tensor",
    ".generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? "
    "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
)
def randn(
    *sizes: Any, size: Any = None, generator: Any = None, out: Any = None, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False,
    requires_grad: bool | None = False,
) -> Any:  # fmt: skip
    """A tensor of standard normal numbers.

    Args:
        sizes: the sizes, spread or in one tuple.
        size: the sizes by name, in a tuple.
        generator: where random numbers come from; the default generator if it is None.
        dtype: the dtype of the result; the default dtype if it is None.

    Shapes: the sizes, spread or in one tuple.

    Dtypes: floating-point and complex ones (variance 1/2 in either part); the default dtype unless
    ``dtype`` is given.

    Raises:
        NotImplementedError: for an integer ``dtype``.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.randn(3)
        tensor([ 1.5410, -0.2934, -2.1788])
    """
    check_pinned(pin_memory, device)
    kind = wanted_dtype("randn", dtype, out, dtypes.get_default_dtype())
    return made_by(
        "randn",
        _given_sizes("randn", sizes, size),
        normal_draw(kind),
        kind,
        generator,
        out,
        layout,
        device,
        requires_grad,
    )


@composite(operands=("out",), factory=True, differentiable=False)
@schemas(
    "(SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? "
    "device=None, bool? pin_memory=None) -> Tensor",
    ".generator(SymInt high, SymInt[] size, *, Generator? generator, ScalarType? dtype=4, Layout? "
    "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    ".low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
    ".low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, ScalarType? "
    "dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
)
def randint(
    *bounds: Any, low: Any = None, high: Any = None, size: Any = None, generator: Any = None,
    out: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool | None = False,
) -> Any:  # fmt: skip
    """A tensor of integers drawn evenly from [low, high): ``randint(high, size)`` or
    ``randint(low, high, size)``.

    Args:
        bounds: ``high, size`` or ``low, high, size``.
        low: the lowest number, 0 by default.
        high: the number above the highest.
        size: the sizes, in a tuple.
        generator: where random numbers come from; the default generator if it is None.
        dtype: the dtype of the result; int64 if it is None.

    Shapes: ``size``.

    Dtypes: int64 unless ``dtype`` is given, any real one.

    Raises:
        RuntimeError: if ``low`` is not below ``high``, or a bound does not fit the dtype.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.randint(3, 10, (5,))
        tensor([7, 6, 3, 5, 4])
    """
    check_pinned(pin_memory, device)
    given = list(bounds)
    if size is None and given and isinstance(given[-1], (tuple, list)):
        size = given.pop()
    names = [n for n, v in (("low", low), ("high", high)) if v is None]
    if len(given) == 1 and low is None:
        names = ["high"] if high is None else ["low"]
    if size is None or len(given) > len(names):
        raise TypeError(
            "randint() received an invalid combination of arguments - got "
            f"({', '.join(type(b).__name__ for b in bounds)})"
        )
    placed = dict(zip(names, given, strict=False))
    low, high = placed.get("low", low), placed.get("high", high)
    if high is None:
        raise TypeError('randint() missing 1 required positional arguments: "high"')
    kind = wanted_dtype("randint", dtype, out, dtypes.int64)
    draw = integer_draw(kind, whole("randint", "low", low or 0), whole("randint", "high", high))
    return made_by(
        "randint",
        sizes_of("randint", (tuple(size),)),
        draw,
        kind,
        generator,
        out,
        layout,
        device,
        requires_grad,
    )


@composite(operands=("out",), factory=True, differentiable=False)
@schemas(
    "(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? "
    "pin_memory=None) -> Tensor",
    ".generator(SymInt n, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None) -> Tensor",
)
def randperm(
    n: int, *, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool | None = False,
) -> Any:  # fmt: skip
    """The integers below ``n`` in random order.

    Args:
        n: how many numbers there are: 0 to ``n - 1``.
        generator: where random numbers come from; the default generator if it is None.
        dtype: the dtype of the result; int64 if it is None.

    Shapes: (n).

    Dtypes: int64 unless ``dtype`` is given, any real one.

    Raises:
        RuntimeError: if ``n`` is negative, or too large for the dtype.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.randperm(5)
        tensor([4, 0, 1, 3, 2])
    """
    check_pinned(pin_memory, device)
    kind = wanted_dtype("randperm", dtype, out, dtypes.int64)
    n = whole("randperm", "n", n)
    shape = sizes_of("randperm", (n,))
    need("randperm", kind, (dtypes.INTEGRAL, dtypes.FLOATING))
    if n - 1 > _sampling.largest_whole(kind.np):
        if not kind.is_floating_point:
            raise RuntimeError(
                f"value cannot be converted to type {kind.np.name}_t without overflow"
            )
        raise RuntimeError(f"n is too large for result tensor type: '{kind.legacy}'")
    return made_by(
        "randperm",
        shape,
        serial(_sampling.permutation),
        kind,
        generator,
        out,
        layout,
        device,
        requires_grad,
        True,
    )


def _dense(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of what is like a tensor: its own if it has no gaps, else those in its order of
    dimensions."""
    return (
        strides
        if is_dense(shape, strides)
        else pointwise_strides(shape, ((shape, strides),)) or contiguous_strides(shape)
    )


def blank_like(input: Tensor) -> Tensor:
    """A tensor like this one, without its elements."""
    return T.empty_like(input.detach())


def _filled(
    input: Tensor, made: Tensor, requires_grad: bool | None, filled: Callable[[Any], Any]
) -> Tensor:
    levels = [level.size for level in examples()]
    if levels and not is_example(made):
        made = blank(made, made.shape)
    elif is_example(made) and made._al is None:
        # With numbers of their own, all examples together keep the order of dimensions, and lie in
        # between one's elements if those of the input do; with the same numbers there is one, for
        # all of them, that keeps it.
        shape = made._aval.shape
        if not levels:
            made = blank(made, shape)
        strides = whole_strides(levels, shape, strides_of(input)) if levels else strides_of(input)
        found = _dense((*levels, *shape), strides)[len(levels) :]
        made._strides = None if found == contiguous_strides(shape) else found
    made = filled(made)._written(0)
    return requiring(made) if requires_grad else made


@composite(operands=("input",), differentiable=False, ignored=True)
@schemas(
    "(Tensor self, ..., MemoryFormat? memory_format=None) -> Tensor",
    ".generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
)
def rand_like(
    input: Tensor, *, generator: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool | None = False,
    memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """``rand`` of the shape, dtype and device of ``input``.

    Args:
        input: the tensor whose shape the result has.
        generator: where random numbers come from; the default generator if it is None.

    Shapes: that of ``input``.

    Raises:
        NotImplementedError: for integers and bool.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.rand_like(torch.zeros(3))
        tensor([0.4963, 0.7682, 0.0885])
    """
    made = T.empty_like(
        input,
        dtype=dtype,
        layout=layout,
        device=device,
        pin_memory=pin_memory,
        memory_format=memory_format,
    )
    return _filled(input, made, requires_grad, lambda t: t.uniform_(generator=generator))


@composite(operands=("input",), differentiable=False, ignored=True)
@schemas(
    "(Tensor self, ..., MemoryFormat? memory_format=None) -> Tensor",
    ".generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
)
def randn_like(
    input: Tensor, *, generator: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool | None = False,
    memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """``randn`` of the shape, dtype and device of ``input``.

    Args:
        input: the tensor whose shape the result has.
        generator: where random numbers come from; the default generator if it is None.

    Shapes: that of ``input``.

    Raises:
        NotImplementedError: for integers and bool.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.randn_like(torch.zeros(3))
        tensor([ 1.5410, -0.2934, -2.1788])
    """
    made = T.empty_like(
        input,
        dtype=dtype,
        layout=layout,
        device=device,
        pin_memory=pin_memory,
        memory_format=memory_format,
    )
    return _filled(input, made, requires_grad, lambda t: t.normal_(generator=generator))


@composite(operands=("input",), differentiable=False, ignored=True)
@schemas(
    "(Tensor self, SymInt high, ..., MemoryFormat? memory_format=None) -> Tensor",
    ".Tensor(Tensor self, Tensor high, ..., MemoryFormat? memory_format=None) -> Tensor",
    ".low_dtype(Tensor self, SymInt low, SymInt high, ..., MemoryFormat? memory_format=None) -> "
    "Tensor",
    ".generator(Tensor self, SymInt high, *, Generator? generator, ScalarType? dtype=None, Layout? "
    "layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> "
    "Tensor",
    ".Tensor_generator(Tensor self, Tensor high, *, Generator? generator, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? "
    "memory_format=None) -> Tensor",
    ".low_generator_dtype(Tensor self, SymInt low, SymInt high, *, Generator? generator, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "
    "MemoryFormat? memory_format=None) -> Tensor",
)
def randint_like(
    input: Tensor, low: int | None = None, high: Any = None, *, generator: Any = None,
    dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False,
    requires_grad: bool | None = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """``randint`` of the shape, dtype and device of ``input``: ``randint_like(input, high)`` or
    ``randint_like(input, low, high)``.

    Shapes: that of ``input``.

    Raises:
        RuntimeError: if ``low`` is not below ``high``, or a bound does not fit the dtype.

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> torch.randint_like(torch.zeros(5), 10)
        tensor([4., 9., 3., 0., 3.])
    """
    low, high = (0, low) if high is None else (low or 0, high)
    if high is None:
        raise TypeError('randint_like() missing 1 required positional arguments: "high"')
    bounds = whole("randint_like", "low", low), whole("randint_like", "high", high)
    made = T.empty_like(
        input,
        dtype=dtype,
        layout=layout,
        device=device,
        pin_memory=pin_memory,
        memory_format=memory_format,
    )
    return _filled(
        input,
        made,
        requires_grad,
        lambda t: fill("random_", t, generator, integer_draw(t.dtype, *bounds)),
    )
