"""What linear algebra shares: checks of operands in torch's words, errors that depend on values,
batches that broadcast."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts import dtypes
from ..facts.errors import LinAlgError, broadcast_shapes
from ._declare import Array, Dtype, guard
from ._numeric import conj, is_integral, scalar_name, unsupported

#: Up to this size every order has its own message where a batch fails; beyond it the message leaves
#: the order out.
_ORDERS = 16


def check_asked(name: str, x: Array, dtype: Dtype | None) -> None:
    """Refuses a ``dtype`` in which a norm cannot be computed: one of another kind than the
    operand's, or a narrower one.

    Raises:
        RuntimeError: as it says.
    """
    if dtype is None:
        return
    own, asked = dtypes.from_np(x.dtype), dtypes.from_np(dtype)
    if asked.category < dtypes.FLOATING:
        raise RuntimeError(
            f"{name}: dtype should be floating point or complex, but got {asked.scalar_name}"
        )
    if asked.is_complex != own.is_complex:
        kind = "complex" if own.is_complex else "real"
        raise RuntimeError(
            f"{name}: dtype should be {kind} for {kind} inputs, but got {asked.scalar_name}"
        )
    if dtypes.promote_types(own, asked) is not asked:
        raise RuntimeError(
            f"{name}: the dtype of the input ({own.scalar_name}) should be convertible without "
            f"narrowing to the specified dtype ({asked.scalar_name})"
        )


def check_matrix(a: Array, function: str, name: str = "A") -> None:
    """Raises torch's error for anything of rank below 2."""
    if a.ndim < 2:
        raise RuntimeError(f"{function}: The input tensor {name} must have at least 2 dimensions.")


def check_square(a: Array, function: str, name: str = "A") -> None:
    """Raises torch's error for anything but square matrices."""
    check_matrix(a, function, name)
    if a.shape[-1] != a.shape[-2]:
        prefix = f"{function}: " if function else ""
        raise RuntimeError(
            f"{prefix}{name} must be batches of square matrices, but they are {a.shape[-2]} by "
            f"{a.shape[-1]} matrices"
        )


def check_float(a: Array, function: str, *, low: bool = False, kernel: str | None = None) -> None:
    """Raises torch's error for integers and, unless ``low``, for half precision; that in the words
    of the ``kernel`` if one is named."""
    if is_integral(a):
        raise RuntimeError(
            f"{function}: Expected a floating point or complex tensor as input. Got "
            f"{scalar_name(a.dtype)}"
        )
    if low or a.dtype.itemsize >= 4:
        return
    if kernel is not None:
        raise unsupported(kernel, a)
    raise RuntimeError(
        f"{function}: Low precision dtypes not supported. Got {scalar_name(a.dtype)}"
    )


def check_kernel(a: Array, kernel: str) -> None:
    """Raises torch's error, which names its kernel, for all but float32, float64 and complex
    numbers."""
    if is_integral(a) or a.dtype.itemsize < 4:
        raise unsupported(kernel, a)


def guard_info(info: Array, function: str, message: str, size: int) -> None:
    """Raises LinAlgError where ``info`` (0: fine, k: failed at k) is positive; ``{}`` in
    ``message`` is k, if it occurs there."""
    if info.ndim == 0:
        guard(info > 0, LinAlgError, f"{function}: {message}", info)
        return
    flat = info.reshape(-1)
    if not flat.shape[0]:
        return
    element = np.arange(flat.shape[0])
    if "{}" not in message:
        guard(
            flat > 0,
            LinAlgError,
            f"{function}: (Batch element {{}}): {message}",
            jnp.asarray(element),
        )
        return
    for k in range(1, min(size, _ORDERS) + 1):
        text = f"{function}: (Batch element {{}}): " + message.format(k)
        guard(flat == k, LinAlgError, text, jnp.asarray(element))
    if size > _ORDERS:
        text = f"{function}: (Batch element {{}}): " + message.replace("{} ", "").replace(
            "of order {}", ""
        )
        guard(flat > _ORDERS, LinAlgError, text, jnp.asarray(element))


def adjoint(x: Array) -> Array:
    """The conjugate transpose."""
    return conj(jnp.swapaxes(x, -1, -2))


def eye_like(a: Array) -> Array:
    """Identity matrices, one for each matrix of ``a``."""
    return jnp.broadcast_to(jnp.eye(a.shape[-1], dtype=a.dtype), a.shape)


def diagonal(x: Array) -> Array:
    """The main diagonals of matrices."""
    return jnp.diagonal(x, axis1=-2, axis2=-1)


def embedded(d: Array) -> Array:
    """Matrices with the given diagonals."""
    n = d.shape[-1]
    here = lax.broadcasted_iota(np.int32, (n, n), 0) == lax.broadcasted_iota(np.int32, (n, n), 1)
    return jnp.where(
        here.reshape((1,) * (d.ndim - 1) + (n, n)), d[..., None], np.zeros((), d.dtype)
    )


def batched(a: Array, b: Array) -> tuple[Array, Array]:
    """Two stacks of matrices with equal leading dimensions."""
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return jnp.broadcast_to(a, batch + a.shape[-2:]), jnp.broadcast_to(b, batch + b.shape[-2:])


def is_vector(a: Array, b: Array) -> bool:
    """Whether ``b`` is a vector (or a stack of vectors) for the matrices ``a`` and no stack of
    matrices."""
    return b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])


def off_diagonal(x: Array) -> Array:
    """Matrices with zeros on the diagonal."""
    n = x.shape[-1]
    here = lax.broadcasted_iota(np.int32, (n, n), 0) == lax.broadcasted_iota(np.int32, (n, n), 1)
    return jnp.where(here.reshape((1,) * (x.ndim - 2) + (n, n)), np.zeros((), x.dtype), x)


def zero_where_zero(numerator: Array, denominator: Array) -> Array:
    """The quotient, 0 where the numerator is 0: a gradient that nothing asks for must not become
    nan."""
    nothing = numerator == 0
    return jnp.where(
        nothing,
        np.zeros((), numerator.dtype),
        numerator / jnp.where(nothing, np.ones((), denominator.dtype), denominator),
    )
