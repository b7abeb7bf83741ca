"""``torch.ops.quantized``: sums and products of two quantised tensors, or of one and a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..bind.everything import _C, T
from ..facts import dtypes
from . import making
from .activations import relu
from .operators import _by_name, _quantised, operator
from .tensor import OneGrid, QuantizedTensor, floats, made, one_grid, rounded


def _enter_pair(name: str, f: Callable[[Any, Any], Any], relu: bool, fused: bool) -> None:
    @operator(name)
    def pair(qa: Any, qb: Any, scale: Any = None, zero_point: Any = None) -> Any:
        """A function of two quantised tensors on a grid of its own, or of one and a number."""
        if scale is None or zero_point is None:
            return _with_number(name, qa, qb)
        a, b = _quantised(qa, name), _quantised(qb, name)
        if a.dtype is not b.dtype:
            word = name.capitalize()
            raise RuntimeError(f"{word} operands should have same data type.")
        found = f(floats(a, fused), floats(b, fused))
        out = OneGrid(float(scale), int(zero_point))
        return rounded(T.relu(found) if relu else found, out, a._ints.dtype, True)


def _with_number(name: str, a: Any, b: Any) -> Any:
    """What ``add.Scalar``, ``mul.Scalar`` and the like give."""
    if isinstance(a, int | float):
        a, b = b, a
    word, _, end = name.partition("_")
    if not isinstance(b, int | float) or word == "matmul":
        raise TypeError(f"quantized::{name}() is missing value for argument 'scale'")
    return _by_name(f"{word}_scalar{'_relu' if end else ''}")(a, b)


for _name, _f in (("add", T.add), ("mul", T.mul)):
    for _relu in (False, True):
        _enter_pair(f"{_name}{'_relu' if _relu else ''}", _f, _relu, _name == "add")
_enter_pair("matmul", T.matmul, False, False)


def _add_scalar(qa: Any, b: float) -> Any:
    """Adds a number: the grid moves, and is stretched where that is not enough."""
    a = _quantised(qa, "add_scalar")
    grid = one_grid(a, "Only per tensor quantization is supported in Add.")
    bounds = dtypes.iinfo(a._ints.dtype)
    s, z, low, high = grid.scale, grid.zero, bounds.min, bounds.max
    c = round(float(b) / s)
    if z - c < low:
        # more of the upper side is needed
        scale = (float(high) - (z - c)) / (float(high) - low) * s
        return _moved(a, z - c, OneGrid(scale, low))
    if z - c > high:
        scale = (float(z - c) - low) / (float(high) - low) * s
        return _moved(a, z - c, OneGrid(scale, high))
    return made(a._ints, OneGrid(s, z - c))


def _moved(a: QuantizedTensor, zero: int, grid: OneGrid) -> QuantizedTensor:
    steps = a._ints.float() - zero
    ratio = making.near(one_grid(a, "").scale) / grid.scale
    found = _C._quantize_affine(steps * ratio, 1.0, grid.zero, a._ints.dtype, True)
    return made(found, grid)


@operator("add_scalar")
def add_scalar(qa: Any, b: Any) -> Any:
    """Adds a number."""
    return _add_scalar(qa, b)


@operator("add_scalar_relu")
def add_scalar_relu(qa: Any, b: Any) -> Any:
    """Adds a number; the larger of the sum and 0."""
    return relu(_add_scalar(qa, b))


@operator("mul_scalar")
def mul_scalar(qa: Any, b: Any) -> Any:
    """Multiplies by a number, which changes the grid and not the integers, but for their sign."""
    a = _quantised(qa, "mul_scalar")
    grid = one_grid(a, "Only per tensor quantization is supported in Mul.")
    b = float(b)
    if b > 0:
        return made(a._ints, OneGrid(grid.scale * b, grid.zero))
    if b == 0:
        return made(T.zeros_like(a._ints), OneGrid(1.0, 0))
    bounds = dtypes.iinfo(a._ints.dtype)
    total = bounds.min + bounds.max
    turned = (total - a._ints.to(dtypes.int64)).to(a._ints.dtype)
    return made(turned, OneGrid(grid.scale * -b, total - grid.zero))


@operator("mul_scalar_relu")
def mul_scalar_relu(qa: Any, b: Any) -> Any:
    """Multiplies by a number; the larger of the product and 0."""
    return relu(mul_scalar(qa, b))
