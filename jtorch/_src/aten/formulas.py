"""What derivatives as operators are made of: the steps that many share. Formulas stand with the
functions (``ops/_derivatives.py``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...autograd.grad_mode import MODE
from ...core import Tensor, lazy_bits
from ..facts.devices import of_placement
from ..facts.layouts import contiguous_format, preserve_format, strided
from ..tensor.symbols import exact
from .generic import generic_rule
from .overloads import aten
from .routes_linalg import solve as solve
from .routes_math import matmul as matmul
from .routes_shape import contiguous, is_contiguous, strides_as
from .state import STATE

if TYPE_CHECKING:
    from ..engine.values import Aval


A = aten


def recorded() -> bool:
    """Whether the backward pass is recorded, since its own derivative will be asked for."""
    return MODE.enabled


def in_modes() -> bool:
    """Whether a mode sees the operators."""
    return bool(STATE.modes)


def conj(x: Tensor | int) -> Tensor | int:
    """The complex conjugate; real tensors and numbers as they are."""
    if isinstance(x, Tensor):
        return A._conj.default(x) if x._aval.torch_dtype.is_complex else x
    return x.conjugate() if isinstance(x, complex) else x


def adjoint(x: object) -> Tensor | int:
    """Matrices transposed and conjugated."""
    return conj(A.transpose.int(x, -2, -1))


def times(g: Tensor, factor: int) -> Any:
    """``g`` times a number, which is left out where it is 1."""
    return g if not isinstance(factor, Tensor) and factor == 1 else A.mul.Scalar(g, factor)


def zeros(g: object) -> Any:
    """Zeros like a gradient."""
    return A.zeros_like.default(g)


def zero_of(g: Tensor) -> object:
    """A 0-dim zero of a gradient's dtype."""
    return number_like(0.0, g)


def number_like(number: float, like: Tensor) -> Any:
    """A number as a 0-dim tensor of a gradient's dtype: modes see it being made, wrapper classes do
    not."""
    return A.scalar_tensor.default(
        number, dtype=like._aval.torch_dtype, layout=strided, device=of_placement(like._aval.device)
    )


def made_zeros(shape: Sequence[int], like: Tensor) -> object:
    """Plain zeros of a gradient's dtype: modes see them being made, wrapper classes do not."""
    return zeros_in(shape, like._aval)


def zeros_in(shape: Sequence[int], aval: Aval) -> object:
    """Plain zeros of a size, with the dtype and the device of ``aval``."""
    return A.zeros.default(
        list(shape), dtype=aval.torch_dtype, layout=strided, device=of_placement(aval.device)
    )


def dims_of(dim: Any, ndim: int) -> list[int]:
    """Reduced dimensions as a sorted list; none given means all."""
    if dim is None or dim == []:
        return list(range(ndim))
    return sorted(
        d % ndim if ndim else 0 for d in (dim if isinstance(dim, (list, tuple)) else [dim])
    )


def unsqueezed(g: object, dim: list[int], ndim: int, keepdim: bool) -> object:
    """A reduced tensor with its reduced dimensions back, of size 1."""
    if not keepdim and ndim:
        for d in dim if isinstance(dim, (list, tuple)) and len(dim) == 1 else dims_of(dim, ndim):
            g = A.unsqueeze.default(g, d)
    return g


def picked(g: object, self_: Any, dim: int, index: object, keepdim: bool) -> object:
    """The gradient of values that were picked along a dimension."""
    if not self_.ndim:
        return g
    if not keepdim:
        g, index = A.unsqueeze.default(g, dim), A.unsqueeze.default(index, dim)
    return A.scatter.src(A.new_zeros.default(g, self_.shape), dim, index, g)


def packed(g: object) -> Any:
    """A gradient itself, or a copy of it, that lies in memory without gaps."""
    return contiguous(g)


def is_packed(g: Tensor) -> bool:
    """Whether a gradient lies in memory without gaps."""
    return is_contiguous(g)


def strides_of(x: Any) -> list[object]:
    """The strides of a tensor."""
    return list(exact(x.stride()))


def reshaped(g: Tensor, shape: Sequence[int]) -> object:
    """A gradient in another shape: as a view where its memory allows it."""
    if strides_as(g, tuple(exact(list(shape)))) is not None:
        return A.view.default(g, list(shape))
    return A._unsafe_view.default(A.clone.default(g, memory_format=contiguous_format), list(shape))


def general(grads: object, node: Any, *values: object) -> object:
    """The gradients by one operator, for what has no formula."""
    found = generic_rule(node.func)
    assert found is not None
    return found.parts[0][1](grads, node, *values)


def full_like(x: object, number: float) -> Tensor:
    """A tensor of one number, made as PyTorch makes the left side of ``1 - x`` and ``1 / x``."""
    return A.fill_.Scalar(A.empty_like.default(x, memory_format=preserve_format), number)


def one_minus(x: object) -> object:
    """``1 - x``."""
    return A.sub_.Tensor(full_like(x, 1), x)


def times_slope(x: Tensor | int, g: object) -> object:
    """A gradient times a slope, which is conjugated."""
    return A.mul.Tensor(g, conj(x))


def real(x: Tensor) -> Tensor:
    """The real part of a complex tensor; of a conjugate it is that of what is conjugated."""
    if lazy_bits(x)[0]:
        x = A._conj.default(x)
    return A.select.int(A.view_as_real.default(x), x._aval.ndim, 0)


def imag(x: Tensor) -> Tensor:
    """The imaginary part of a complex tensor; of a conjugate it is the negative of that of what is
    conjugated."""
    if lazy_bits(x)[0]:
        return A.neg.default(imag(A._conj.default(x)))
    return A.select.int(A.view_as_real.default(x), x._aval.ndim, 1)
