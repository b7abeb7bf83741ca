"""``softmax`` and its logarithmic relatives, with derivatives computed from the saved result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts import dtypes
from ..facts.errors import canonical_dim
from ._axes import category, reduced_dims, restored, to_dtype
from ._declare import Array, Dtype, defvjp, op, reduction
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._numeric import default_float, is_complex, unsupported, wide

if TYPE_CHECKING:
    from ...core import Tensor


def _operand(kernel: str, input: Array, dim: int | None, dtype: Dtype | None) -> tuple[Array, int]:
    if dim is None:
        raise TypeError(f"{kernel}(): argument 'dim' (position 2) must be int, not NoneType")
    axis = canonical_dim(dim, input.ndim)
    x = input if dtype is None else to_dtype(input, dtype)
    if category(x.dtype) != dtypes.FLOATING and x.size:
        last = axis >= input.ndim - 1
        raise unsupported(f"{kernel}_lastdim_kernel_impl" if last else f"{kernel}_kernel_impl", x)
    return (x, axis) if x.ndim else (lax.reshape(x, (1,)), 0)


def _softmax(x: Array, axis: int) -> Array:
    if x.size == 0:
        return x
    # No gradient flows through the maximum: the result does not depend on what is subtracted.
    wider = wide(x)
    e = jnp.exp(wider - lax.stop_gradient(jnp.max(wider, axis=axis, keepdims=True)))
    return to_dtype(e / jnp.sum(e, axis=axis, keepdims=True), x.dtype)


def _log_softmax(x: Array, axis: int) -> Array:
    if x.size == 0:
        return x
    wider = wide(x)
    shifted = wider - lax.stop_gradient(jnp.max(wider, axis=axis, keepdims=True))
    return to_dtype(shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis=axis, keepdims=True)), x.dtype)


@op(
    saves=("result",),
    out=True,
    aliases=("special.softmax",),
    aten="softmax.int",
    out_dtype="expected",
    autocast="cuda float32",
    spelled={"special.softmax": {"out": ""}},
    implicit=True,
    opaque=True,
)
@schemas(".int", "special_softmax. ;")
def softmax(input: Array, dim: int, dtype: Dtype | None = None) -> Array:
    """Exponentials along ``dim``, normalised to sum to 1; computed in ``dtype`` if given.

    Args:
        input: the tensor.
        dim: the dimension along which the results sum to 1.
        dtype: the dtype to convert to before.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones; any with ``dtype``, which converts the input first.

    Raises:
        IndexError: if ``dim`` is out of range.
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.softmax(torch.tensor([[0.0, 0.0], [1.0, 3.0]]), dim=1)
        tensor([[0.5000, 0.5000],
                [0.1192, 0.8808]])
    """
    x, axis = _operand("softmax", input, dim, dtype)
    return lax.reshape(_softmax(x, axis), input.shape)


@op(
    saves=("result",),
    out=True,
    aliases=("special.log_softmax",),
    aten="log_softmax.int",
    out_dtype="expected",
    autocast="cuda float32",
    spelled={"special.log_softmax": {"out": ""}},
    implicit=True,
)
@schemas(".int", "special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor")
def log_softmax(input: Array, dim: int, dtype: Dtype | None = None) -> Array:
    """The logarithm of ``softmax``, without its loss of precision.

    Shapes: that of ``input``.

    Dtypes: real floating-point ones; any with ``dtype``, which converts the input first.

    Raises:
        IndexError: if ``dim`` is out of range.
        NotImplementedError: for other dtypes.

    Example:
        >>> import jtorch as torch
        >>> torch.log_softmax(torch.tensor([0.0, 100.0]), dim=0)
        tensor([-100.,    0.])
    """
    x, axis = _operand("log_softmax", input, dim, dtype)
    return lax.reshape(_log_softmax(x, axis), input.shape)


def _softmax_grad(g: Array, result: Array, dim: int) -> Array:
    if g.ndim == 0:
        return jnp.zeros_like(g)
    g, y = wide(g), wide(result)
    weighted = g * y
    return weighted - y * jnp.sum(weighted, axis=dim, keepdims=True)


def _log_softmax_grad(g: Array, result: Array, dim: int) -> Array:
    if g.ndim == 0:
        return jnp.zeros_like(g)
    g = wide(g)
    return g - jnp.exp(wide(result)) * jnp.sum(g, axis=dim, keepdims=True)


def _softmax_rule(
    g: Array, result: Array, input: Array, dim: int, dtype: Dtype | None = None
) -> tuple[Array]:
    return (_softmax_grad(g, result, dim),)


def _log_softmax_rule(
    g: Array, result: Array, input: Array, dim: int, dtype: Dtype | None = None
) -> tuple[Array]:
    return (_log_softmax_grad(g, result, dim),)


defvjp(softmax, _softmax_rule, saves=("result",))
derivative(
    A._softmax,
    self=lambda g, result, dim, self_: A._softmax_backward_data.default(
        g, result, dim, self_.dtype
    ),
)
derivative(
    A._safe_softmax,
    self=lambda g, result, dim, self_: A._softmax_backward_data.default(
        g, result, dim, self_.dtype
    ),
)
defvjp(log_softmax, _log_softmax_rule, saves=("result",))
derivative(
    A._log_softmax,
    self=lambda g, result, dim, self_: A._log_softmax_backward_data.default(
        g, result, dim, self_.dtype
    ),
)


# The derivatives are operators of their own, which dispatch modes and wrapper classes see in
# backward passes.


@op(method=False, aten="_softmax_backward_data")
@schemas(". ; =out:grad_input")
def _softmax_backward_data(
    grad_output: Array, output: Array, dim: int, input_dtype: Dtype
) -> Array:
    """The gradient of ``softmax``'s operand, from that of its result and the result.

    Shapes: that of ``output``.

    Dtypes: floating-point ones; the result is of ``input_dtype``.

    Example:
        >>> import jtorch as torch
        >>> torch._softmax_backward_data(
        ...     torch.tensor([1.0, 0.0]), torch.tensor([0.5, 0.5]), 0, torch.float32
        ... )
        tensor([ 0.2500, -0.2500])
    """
    return to_dtype(_softmax_grad(grad_output, output, dim), input_dtype)


@op(method=False, aten="_log_softmax_backward_data")
@schemas(". ; =out")
def _log_softmax_backward_data(
    grad_output: Array, output: Array, dim: int, input_dtype: Dtype
) -> Array:
    """The gradient of ``log_softmax``'s operand, from that of its result and the result.

    Shapes: that of ``output``.

    Dtypes: floating-point ones; the result is of ``input_dtype``.

    Example:
        >>> import jtorch as torch
        >>> torch._log_softmax_backward_data(
        ...     torch.tensor([1.0, 0.0]), torch.tensor([0.0, 0.0]), 0, torch.float32
        ... )
        tensor([ 0., -1.])
    """
    return to_dtype(_log_softmax_grad(grad_output, output, dim), input_dtype)


@reduction(aliases=("special.logsumexp",), aten="logsumexp", autocast="cuda float32")
@schemas(".", "special_logsumexp")
def logsumexp(input: Array, dim: int | tuple[int, ...], keepdim: bool = False) -> Array:
    """The logarithm of the summed exponentials over ``dim``, without overflow.

    Args:
        input: the tensor.
        dim: the dimension, or several in a tuple, to reduce.
        keepdim: whether reduced dimensions stay, with size 1.

    Shapes: the input's without the dimensions ``dim``, which stay with size 1 if ``keepdim``.

    Dtypes: floating-point and complex ones, kept; integers and bool become the default floating
    dtype.

    Raises:
        IndexError: if a dimension is out of range.
        RuntimeError: if one is given twice.

    Example:
        >>> import jtorch as torch
        >>> torch.logsumexp(torch.tensor([[0.0, 0.0], [1000.0, 1000.0]]), dim=1)
        tensor([6.9315e-01, 1.0007e+03])
    """
    x = wide(default_float(input))
    dims = reduced_dims(input, dim)
    if x.size == 0:
        total = jnp.log(jnp.sum(jnp.exp(x), axis=dims, keepdims=True))
    else:
        largest = jnp.max(jnp.real(x), axis=dims, keepdims=True)
        largest = jnp.where(jnp.abs(largest) == np.inf, jnp.zeros((), largest.dtype), largest)
        total = jnp.log(
            jnp.sum(jnp.exp(x - to_dtype(largest, x.dtype)), axis=dims, keepdims=True)
        ) + to_dtype(largest, x.dtype)
    return to_dtype(total if keepdim else lax.squeeze(total, dims), default_float(input).dtype)


def _logsumexp_rule(
    g: Array, result: Array, input: Array, dim: int | tuple[int, ...], keepdim: bool = False
) -> tuple[Array]:
    dims = reduced_dims(input, dim)
    weight = jnp.exp(default_float(input) - restored(result, dims, keepdim))
    return (restored(g, dims, keepdim) * (jnp.conj(weight) if is_complex(weight) else weight),)


defvjp(logsumexp, _logsumexp_rule, saves=("input", "result"))


def _logsumexp_formula(
    g: object, self: Tensor, dim: object, keepdim: object, result: object
) -> object:
    ndim = self._aval.ndim
    g, result = D.unsqueezed(g, dim, ndim, keepdim), D.unsqueezed(result, dim, ndim, keepdim)
    return A.mul.Tensor(g, A.exp.default(A.sub.Tensor(self, result)))


derivative(A.logsumexp, self=_logsumexp_formula)
