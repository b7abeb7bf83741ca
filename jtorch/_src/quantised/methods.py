"""What functions of PyTorch do with quantised tensors, beside rearranging them."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

from ...core import Tensor
from .. import hooks
from ..bind.everything import PUBLIC, F, T
from ..engine import numbers_of
from ..facts import determinism, dtypes, layouts
from ..facts.errors import not_offered
from ..facts.layouts import channels_last
from ..tensor.printing import add_suffixes, numbers
from ..tensor.state import attributes_of
from .tensor import (
    GETTERS,
    LAYOUT,
    QUANTISED,
    STORED,
    ManyGrids,
    OneGrid,
    QuantizedTensor,
    could_not_run,
    enter,
    floats,
    is_quantised,
    like,
    made,
    not_strided,
    one_grid,
    rounded,
)

_STRIDES = "Setting strides is possible only on uniformly quantized tensor"

# ---- facts ---------------------------------------------------------------------------------------

GETTERS.update(
    {
        "dtype": lambda t: QUANTISED[t._ints.dtype],
        "is_quantized": lambda _: True,
        "requires_grad": lambda _: False,
        "grad": lambda _: None,
        "grad_fn": lambda _: None,
        "is_leaf": lambda _: True,
        "data": lambda t: made(t._ints.detach(), t._grid),
    }
)


@enter("qscheme")
def qscheme(self: QuantizedTensor) -> Any:
    """The scheme: one grid, or one for each channel."""
    return self._grid.scheme


def _wrong(wanted: str) -> RuntimeError:
    return RuntimeError(
        f"Expected {wanted} to be true, but got false.  (Could this error message be improved?  "
        "If so, please report an enhancement request to PyTorch.)"
    )


def _one(t: QuantizedTensor) -> OneGrid:
    if not isinstance(t._grid, OneGrid):
        raise _wrong("quantizer->qscheme() == kPerTensorAffine")
    return t._grid


def _many(t: QuantizedTensor) -> ManyGrids:
    if not isinstance(t._grid, ManyGrids):
        raise _wrong(
            "quantizer->qscheme() == kPerChannelAffine || quantizer->qscheme() == "
            "kPerChannelAffineFloatQParams"
        )
    return t._grid


enter("q_scale")(lambda input: _one(input).scale)
enter("q_zero_point")(lambda input: _one(input).zero)
enter("q_per_channel_scales")(lambda input: _many(input).scales)
enter("q_per_channel_zero_points")(lambda input: _many(input).zeros)
enter("q_per_channel_axis")(lambda input: _many(input).axis)
enter("int_repr")(lambda input: input._ints.clone())
enter("is_floating_point")(lambda _: False)
enter("is_signed")(lambda input: input._ints.dtype.is_signed)
enter("retain_grad", "register_hook")(lambda *_: _no_gradient())


def _no_gradient() -> None:
    raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")


@enter("requires_grad_")
def requires_grad_(self: QuantizedTensor, requires_grad: bool = True) -> QuantizedTensor:
    """Refuses gradients."""
    if requires_grad:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    return self


enter("detach_")(lambda self: self)


@enter("__repr__", "__str__")
def describe(self: QuantizedTensor, *, tensor_contents: Any = None) -> str:
    """The text that torch prints."""
    grid = self._grid
    text = tensor_contents
    if text is None:
        text = numbers(numbers_of(floats(self)._read()), len("tensor("))
    suffixes = [f"size={_size(self)}", f"dtype={self.dtype}"]
    if self._ints.device.type != "cpu":
        suffixes.insert(1, f"device='{self._ints.device}'")
    suffixes.append(f"quantization_scheme={grid.scheme}")
    if isinstance(grid, OneGrid):
        suffixes += [f"scale={grid.scale}", f"zero_point={grid.zero}"]
    else:
        suffixes += [
            f"scale={grid.scales}",
            f"zero_point={grid.zeros}",
            f"axis={grid.axis}",
        ]
    parts = "tensor(" + text
    return add_suffixes(parts, suffixes, len("tensor("), False)


def _size(t: QuantizedTensor) -> tuple[int, ...]:
    return tuple(t._ints.shape)


@enter("__format__")
def __format__(self: QuantizedTensor, format_spec: str) -> str:
    """The number of one element, else the text."""
    if self._ints.dim() == 0:
        return format(_item(self), format_spec)
    return format(describe(self), format_spec)


@enter("type")
def type_(input: QuantizedTensor, dtype: Any = None, non_blocking: bool = False) -> Any:  # noqa: ARG001
    """The name of the type, or the tensor itself if it is of that."""
    name = f"torch.quantized.{input.dtype.legacy}"
    if dtype is None or dtype in (name, input.dtype):
        return name if dtype is None else input
    raise _wants_quantised()


# ---- conversions ---------------------------------------------------------------------------------


def _wants_quantised() -> RuntimeError:
    return RuntimeError("Creation of quantized tensor requires quantized dtype like torch.quint8")


@enter("dequantize")
def dequantize(input: Any) -> Any:
    """The numbers in float32; of each tensor of a list."""
    if isinstance(input, list | tuple):
        return tuple(PUBLIC["dequantize"](x) for x in input)
    return floats(input)


@enter("to")
def to(input: Any, *args: Any, **kwargs: Any) -> Any:
    """The tensor on another device; other dtypes are refused."""
    if not is_quantised(input):
        raise not_strided()
    wanted = [*args, kwargs.pop("dtype", None)]
    if wanted and is_quantised(wanted[0]):
        other = wanted.pop(0)
        wanted = [other.device, other.dtype, *wanted]
    kinds = [x for x in wanted if isinstance(x, dtypes.dtype)]
    if any(kind is not input.dtype for kind in kinds):
        raise _wants_quantised()
    rest = [x for x in wanted if not isinstance(x, dtypes.dtype) and x is not None]
    if not rest and not kwargs:
        return input
    found = input._ints.to(*rest, **kwargs)
    return input if found is input._ints else made(found, input._grid)


def _refuse_dtype(*_: Any, **__: Any) -> Any:
    raise _wants_quantised()


enter(*"float double half bfloat16 int long short char byte bool type_as".split())(_refuse_dtype)


@enter("numpy", "__array__")
def numpy(self: QuantizedTensor, *_: Any, **__: Any) -> Any:
    """Is refused."""
    raise TypeError(f"Got unsupported ScalarType {self.dtype.scalar_name}")


@enter("tolist")
def tolist(self: QuantizedTensor) -> Any:  # noqa: ARG001
    """Is refused."""
    raise RuntimeError("load_scalar: invalid type")


@enter("item", "__float__")
def _item(self: QuantizedTensor) -> float:
    if self._ints.numel() != 1:
        raise RuntimeError(
            f"a Tensor with {self._ints.numel()} elements cannot be converted to Scalar"
        )
    return float(floats(self).item())


enter("__int__", "__index__")(lambda self: int(_item(self)))


@enter("__bool__", "is_nonzero")
def _truth(self: QuantizedTensor) -> bool:
    return bool(floats(self))


# ---- copies --------------------------------------------------------------------------------------


@enter("copy_")
def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:  # noqa: ARG001
    """Writes numbers, rounded to the grid, or another quantised tensor with its grid."""
    if not is_quantised(self):
        raise RuntimeError(
            "Copying from quantized Tensor to non-quantized Tensor is not allowed, please use "
            "dequantize to get a float Tensor from a quantized Tensor"
        )
    if is_quantised(src):
        if src.dtype is not self.dtype:
            raise RuntimeError("Quantized Copy only works with same scalar Type")
        self._ints.copy_(src._ints)
        self._grid = src._grid
        return self
    if src.dtype is not dtypes.float32:
        raise RuntimeError("Quantized copy only works with kFloat as source Tensor")
    self._ints.copy_(like(self, src.detach().expand(self._ints.shape))._ints)
    return self


@enter("fill_")
def fill_(self: QuantizedTensor, value: Any) -> QuantizedTensor:
    """Writes the nearest number of the grid everywhere."""
    full = T.full(_size(self), float(value), dtype=dtypes.float32)
    self._ints.copy_(like(self, full)._ints)
    return self


@enter("set_")
def set_(self: QuantizedTensor, source: Any = None, *args: Any, **kwargs: Any) -> QuantizedTensor:
    """Takes the memory of another."""
    self._ints.set_(source._ints if is_quantised(source) else source, *args, **kwargs)
    if is_quantised(source):
        self._grid = source._grid
    return self


@enter("__deepcopy__")
def __deepcopy__(self: QuantizedTensor, memo: dict[int, Any]) -> Any:
    """A copy with memory of its own."""
    if id(self) in memo:
        return memo[id(self)]
    found = memo[id(self)] = made(self._ints.clone(), copy.deepcopy(self._grid, memo))
    for k, v in attributes_of(self).items():
        found.__dict__[k] = copy.deepcopy(v, memo)
    return found


def _copied(t: QuantizedTensor) -> QuantizedTensor:
    found = made(t._ints, t._grid)
    found.__dict__.update(attributes_of(t))
    return found


QuantizedTensor.__copy__ = _copied


@enter("empty_like")
def empty_like(
    input: QuantizedTensor, *, dtype: Any = None, requires_grad: bool = False, **options: Any
) -> QuantizedTensor:
    """A tensor of the same size on the same grid."""
    if dtype is not None and dtype is not input.dtype:
        given, own = (
            f"c10::{d}".replace("torch.", "") if d in STORED else d.scalar_name.lower()
            for d in (dtype, input.dtype)
        )
        raise RuntimeError(
            "It is currently not supported to specify a dtype that doesn't match the input "
            f"tensor's dtype via empty_like.  Specified: {given} Input tensor's dtype: {own}"
        )
    if requires_grad:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return made(T.empty_like(input._ints, **options), input._grid)


@enter("ones_like", "full_like")
def ones_like(input: QuantizedTensor, fill_value: float = 1.0, **options: Any) -> QuantizedTensor:
    """One number everywhere, on the same grid."""
    return fill_(empty_like(input, **options), fill_value)


# ---- parts ---------------------------------------------------------------------------------------


def _axis_left(t: QuantizedTensor, given: list[Any], kwargs: dict[str, Any]) -> int:
    """Where the dimension of channels is once those of one element are left out."""
    size, axis = t._ints.shape, t._grid.axis
    dims = (*given, *kwargs.values())[0] if given or kwargs else range(len(size))
    dims = [dims] if isinstance(dims, int) else [*dims]
    gone = [d % len(size) for d in dims if size[d] == 1]
    if axis in gone:
        raise RuntimeError(
            "Squeeze is only possible on non-axis dimension for Per-Channel Quantized Tensors."
        )
    return axis - sum(d < axis for d in gone)


@enter("_by_channel")
def _by_channel(
    name: str, t: QuantizedTensor, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What rearranging gives where channels have grids of their own."""
    grid = t._grid
    assert isinstance(grid, ManyGrids)
    if name == "select":
        dim, index = (*args[1:], *kwargs.values())[:2]
        found = t._ints.select(dim, index)
        at = dim % t._ints.dim()
        if at == grid.axis:
            zero = grid.zeros[index]
            if zero.dtype.is_floating_point:
                raise RuntimeError(_STRIDES)
            return made(found, OneGrid(float(grid.scales[index]), int(zero)))
        return made(found, ManyGrids(grid.scales, grid.zeros, grid.axis - (at < grid.axis)))
    if name in ("view", "reshape", "flatten", "unsqueeze", "squeeze", "view_as", "reshape_as"):
        given = [x._ints if is_quantised(x) else x for x in args[1:]]
        found = getattr(t._ints, name)(*given, **kwargs)
        if name == "unsqueeze":
            dim = (*given, *kwargs.values())[0] % found.dim()
            return made(found, ManyGrids(grid.scales, grid.zeros, grid.axis + (dim <= grid.axis)))
        if name == "squeeze":
            return made(found, ManyGrids(grid.scales, grid.zeros, _axis_left(t, given, kwargs)))
        count = found.shape[grid.axis] if found.dim() > grid.axis else 0
        if count != grid.scales.numel():
            raise RuntimeError(
                f"length of scales must equal to channel, expected {count} got, "
                f"{grid.scales.numel()}"
            )
        return made(found, grid)
    if name in ("unbind", "__iter__"):
        dim = args[1] if len(args) > 1 else kwargs.get("dim", 0)
        parts = [_by_channel("select", t, (t, dim, i), {}) for i in range(t._ints.shape[dim])]
        return iter(parts) if name == "__iter__" else tuple(parts)
    if name == "index_select":
        dim, index = (*args[1:], *kwargs.values())[:2]
        if dim % t._ints.dim() == grid.axis:
            grid = ManyGrids(grid.scales[index], grid.zeros[index], grid.axis)
        return made(t._ints.index_select(dim, index), grid)
    raise RuntimeError(_STRIDES)


@enter("__getitem__")
def __getitem__(self: QuantizedTensor, index: Any) -> Any:
    """The elements at an index; a view where it is one of ordinary tensors."""
    grid = self._grid
    if isinstance(grid, OneGrid):
        return made(self._ints[index], grid)
    if isinstance(index, int):
        return _by_channel("select", self, (self, 0, index), {})
    if isinstance(index, tuple) and all(isinstance(i, int) for i in index):
        found = self
        for i in index:
            found = found[i]
        return found
    if grid.axis == 0 and not isinstance(index, tuple) and index is not None:
        part = ManyGrids(grid.scales[index], grid.zeros[index], 0)
        if part.scales.dim() == 1:
            return made(self._ints[index], part)
    raise RuntimeError(_STRIDES)


@enter("__setitem__")
def __setitem__(self: QuantizedTensor, index: Any, value: Any) -> None:
    """Writes numbers, rounded to the grid."""
    part = __getitem__(self, index)
    if is_quantised(value):
        value = floats(value)
    full = value if isinstance(value, Tensor) else T.full((), float(value), dtype=dtypes.float32)
    if isinstance(part._grid, ManyGrids):
        full = full.expand(part._ints.shape)
    self._ints[index] = like(part, full)._ints


@enter("masked_fill")
def masked_fill(input: QuantizedTensor, mask: Any, value: Any) -> QuantizedTensor:
    """Puts the nearest number of the grid where ``mask`` is true."""
    whole = like(input, T.full((), float(value), dtype=dtypes.float32))._ints
    return made(T.where(mask, whole, input._ints), input._grid)


enter("masked_fill_")(lambda input, mask, value: _written(input, masked_fill(input, mask, value)))


@enter("resize_")
def resize_(self: QuantizedTensor, *size: Any, **options: Any) -> QuantizedTensor:
    """Changes the size in place."""
    one_grid(self, "Can only resize quantized tensors with per-tensor schemes!")
    determinism.alert("quantized_resize_cpu_")
    self._ints.resize_(*size, **options)
    return self


@enter("cat", "concat", "concatenate")
def cat(tensors: Sequence[Any], dim: int = 0, *, out: Any = None) -> Any:
    """Joins tensors, on the grid of the first, or of ``out``."""
    first = tensors[0]
    if not all(map(is_quantised, tensors)) or any(t.dtype is not first.dtype for t in tensors):
        raise RuntimeError("All dtypes must be the same.")
    one_grid(first, "Only per-tensor quantization is supported in 'cat'!")
    if out is None:
        return joined(tensors, dim, first._grid)
    if not is_quantised(out):
        raise RuntimeError("All dtypes must be the same.")
    return out.copy_(joined(tensors, dim, out._grid))


def joined(tensors: Sequence[Any], dim: int, grid: Any, relu: bool = False) -> QuantizedTensor:
    """Tensors one after the other, on a grid."""
    parts = []
    for t in tensors:
        if t._grid.same(grid) and not relu:
            parts.append(t._ints)
        else:
            x = floats(t)
            parts.append(rounded(T.relu(x) if relu else x, grid, t._ints.dtype)._ints)
    return made(T.cat(parts, dim), grid)


@enter("stack")
def stack(tensors: Sequence[Any], dim: int = 0, *, out: Any = None) -> Any:
    """Joins tensors along a new dimension, on the grid of the first, or of ``out``."""
    return cat([made(t._ints.unsqueeze(dim), t._grid) for t in tensors], dim, out=out)


@enter("pad")
def pad(input: QuantizedTensor, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    """Pads with numbers of the grid."""
    return like(input, F.pad(floats(input), pad, mode, value))


# ---- comparisons ---------------------------------------------------------------------------------


def _compare(name: str) -> Callable[..., Any]:
    def compare(input: Any, other: Any, **kwargs: Any) -> Any:
        a, b = (floats(x) if is_quantised(x) else x for x in (input, other))
        return PUBLIC[name](a, b, **kwargs)

    return compare


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    enter(_name, f"__{_name}__")(_compare(_name))
for _name, _same in (("less", "lt"), ("greater", "gt"), ("less_equal", "le"),
                     ("greater_equal", "ge"), ("not_equal", "ne")):  # fmt: skip
    enter(_name)(_compare(_same))


@enter("equal")
def equal(input: Any, other: Any) -> bool:
    """Whether two tensors have the same integers on the same grid."""
    if not (is_quantised(input) and is_quantised(other)):
        return False
    return (
        input.dtype is other.dtype
        and input._grid.same(other._grid)
        and bool(T.equal(input._ints, other._ints))
    )


@enter("allclose", "isclose")
def isclose(*_: Any, **__: Any) -> Any:
    """Is refused."""
    raise RuntimeError("isclose is not supported for quantized inputs.")


@enter("result_type")
def result_type(*tensors: Any) -> Any:
    """The dtype that all have."""
    kinds = {t.dtype for t in tensors}
    if len(kinds) == 1:
        return kinds.pop()
    return dtypes.promote_types(*kinds)


# ---- order ---------------------------------------------------------------------------------------


def _first(name: str) -> Callable[..., Any]:
    def ordered(input: QuantizedTensor, *args: Any, **kwargs: Any) -> Any:
        if any(map(is_quantised, (*args, *kwargs.values()))):
            raise _no_extreme(name)
        found = PUBLIC[name](input._ints, *args, **kwargs)
        if isinstance(found, Tensor):
            return made(found, input._grid)
        return type(found)((made(found[0], input._grid), *found[1:]))

    return ordered


def _no_extreme(name: str) -> NotImplementedError:
    return could_not_run(f"{name}imum.out")


for _name in ("sort", "topk", "max", "min", "msort", "amax", "amin"):
    enter(_name)(_first(_name))


# ---- means and windows ---------------------------------------------------------------------------


def _by_numbers(name: str) -> Callable[..., Any]:
    """A function of the numbers whose result has the same grid."""
    path = name if name in PUBLIC else f"nn.functional.{name}"

    def applied(input: QuantizedTensor, *args: Any, **kwargs: Any) -> Any:
        kwargs.pop("inplace", None)
        return like(input, PUBLIC[path](floats(input), *args, **kwargs))

    return applied


def _by_integers(name: str) -> Callable[..., Any]:
    """A function that picks or averages integers from the zero point. As in PyTorch, averages are
    rounded with the zero point added, but for ``avg_pool2d`` of images whose channels come last."""
    path = f"nn.functional.{name}" if f"nn.functional.{name}" in PUBLIC else name

    def applied(input: QuantizedTensor, *args: Any, **kwargs: Any) -> Any:
        args = tuple(None if x == () else x for x in args)  # strides that are not given
        grid = one_grid(input, f"{name} expects one scale for the whole tensor")
        steps = input._ints.to(dtypes.float32) - grid.zero
        found = PUBLIC[path](steps, *args, **kwargs)
        if isinstance(found, tuple):
            return (_whole(found[0], grid, input), *found[1:])
        last: Any = channels_last
        apart = name == "avg_pool2d" and input.is_contiguous(memory_format=last)
        return _whole(found, grid, input, apart and not input.is_contiguous())

    return applied


def _whole(
    steps: Tensor, grid: OneGrid, t: QuantizedTensor, apart: bool = False
) -> QuantizedTensor:
    bounds = dtypes.iinfo(t._ints.dtype)
    whole = T.round(steps) + grid.zero if apart else T.round(steps + grid.zero)
    placed = T.clamp(whole, bounds.min, bounds.max)
    return made(placed.to(t._ints.dtype), grid)


for _name in """max_pool1d max_pool2d max_pool3d quantized_max_pool1d quantized_max_pool2d
        quantized_max_pool3d""".split():
    enter(_name)(_by_integers(_name.removeprefix("quantized_")))
for _name in """avg_pool2d avg_pool3d adaptive_avg_pool2d adaptive_avg_pool3d
        upsample_nearest1d upsample_nearest2d upsample_nearest3d""".split():
    if _name in PUBLIC or f"nn.functional.{_name}" in PUBLIC:
        enter(_name)(_by_integers(_name))
for _name in """mean std interpolate upsample upsample_nearest upsample_bilinear relu6 threshold
        grid_sample""".split():
    enter(_name)(_by_numbers(_name))


@enter("gelu")
def gelu(input: QuantizedTensor, approximate: str = "none") -> QuantizedTensor:
    """GELU, on the same grid, of whose scale PyTorch's kernel keeps single precision."""
    grid = one_grid(input, "gelu expects one scale for the whole tensor")
    found = F.gelu(floats(input), approximate=approximate)
    return rounded(found, OneGrid(near(grid.scale), grid.zero), input._ints.dtype)


def _written(t: QuantizedTensor, found: QuantizedTensor) -> QuantizedTensor:
    t._ints.copy_(found._ints)
    return t


# ---- pickles -------------------------------------------------------------------------------------


def rebuild(
    ints: Tensor, params: tuple[Any, ...], attributes: dict[str, Any] | None = None
) -> QuantizedTensor:
    """The tensor of what a pickle or a file holds.

    Raises:
        RuntimeError: for a scheme that is none.
    """
    scheme, *numbers_ = params
    if scheme is layouts.per_tensor_affine:
        scale, zero = numbers_
        grid: Any = OneGrid(float(scale), int(zero))
    elif scheme in (layouts.per_channel_affine, layouts.per_channel_affine_float_qparams):
        scales, zeros, axis = numbers_
        # (PyTorch's files name one scheme for both)
        floating = scheme is layouts.per_channel_affine_float_qparams or (
            isinstance(zeros, Tensor) and zeros.dtype.is_floating_point
        )
        kinds = (dtypes.float32,) * 2 if floating else (dtypes.float64, dtypes.int64)
        scales, zeros = (
            x if isinstance(x, Tensor) else T.tensor(x, dtype=kind)
            for x, kind in zip((scales, zeros), kinds, strict=True)
        )
        grid = ManyGrids(scales.to(kinds[0]), zeros.to(kinds[1]), int(axis))
    else:
        raise RuntimeError(f"Can't deserialize quantized tensor with qscheme {scheme}")
    found = made(ints, grid)
    if attributes:
        found.__dict__.update(attributes)
    return found


def stored(dtype: Any) -> dtypes.dtype:
    """The dtype of the integers of a quantised one.

    Raises:
        RuntimeError: for dtypes that are not offered, or not quantised.
    """
    found = STORED.get(dtype)
    if dtype in (dtypes.ABSENT["quint4x2"], dtypes.ABSENT["quint2x4"]):
        raise not_offered(str(dtype), "quantised tensors have elements of eight or 32 bits")
    if found is None:
        name = dtype.scalar_name if isinstance(dtype, dtypes.dtype) else dtype
        raise RuntimeError(f"ScalarType {name} is not supported in new_qtensor.")
    return found


def near(x: float) -> float:
    """A number as single precision has it."""
    return x if math.isnan(x) else float(T.tensor(x, dtype=dtypes.float32).item())


@enter("__reduce_ex__")
def __reduce_ex__(self: QuantizedTensor, protocol: int) -> tuple[Any, ...]:  # noqa: ARG001
    """Pickles integers and grid."""
    ints, params = LAYOUT.parts(self)
    return hooks.rebuilding.get()._rebuild_quantised, (ints.detach(), params, attributes_of(self))
