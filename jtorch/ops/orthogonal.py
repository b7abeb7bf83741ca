"""Orthogonal polynomials by their recurrences: Chebyshev's of four kinds, plain and shifted, Hermite's, Laguerre's, Legendre's.

The degree is a tensor: the recurrence runs to the largest one, and each element keeps the value at its own. torch has no derivatives.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from . import _loops
from ._declare import Array, Number, binary
from ._numeric import require_full

_polynomial = functools.partial(binary, namespace="special", promote="float", method=False, differentiable=False)

#: One step of a recurrence: from (x, k, values at degrees k - 1 and k) to the value at degree k + 1.
Step = Callable[[Array, Array, Array, Array], Array]


def _run(x: Array, degree: Array, at_1: Array, step: Step) -> Array:
    """The values at ``degree``: 0 for a negative one, 1 for 0, ``at_1`` for 1, and on by ``step``."""
    x, degree, at_1 = jnp.broadcast_arrays(x, degree, at_1)

    def body(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        before, current = state
        following = step(x, k.astype(x.dtype), before, current)
        going = k < degree
        return jnp.where(going, current, before), jnp.where(going, following, current)

    highest = jnp.max(degree, initial=1)
    found = _loops.fori_loop(jnp.asarray(1, degree.dtype), highest, body, (jnp.ones_like(x), at_1))[1]
    found = jnp.where(degree == 0, jnp.ones((), x.dtype), found)
    return jnp.where(degree < 0, jnp.zeros((), x.dtype), found)


def _degree(kernel: str, x: Array, n: Array, limit: int | None = None) -> Array:
    """The degrees as integers. NaN and infinite degrees count as -1."""
    require_full(kernel, x)
    whole = jnp.where(jnp.isfinite(n), jnp.trunc(n), -1).astype(np.int64)
    return whole if limit is None else jnp.minimum(whole, limit + 1)


def _sign_of_parity(n: Array, x: Array) -> Array:
    return jnp.where(n % 2 == 0, 1, -1).astype(x.dtype)


# ---- Chebyshev -------------------------------------------------------------------------------------------------------------------


def _doubled_step(x: Array, _: Array, before: Array, current: Array) -> Array:
    return (x + x) * current - before


def _chebyshev(kernel: str, x: Array, n: Array, kind: str, closed_from: int) -> Array:
    """Chebyshev polynomials of kind t, u, v or w: inside (-1, 1) by angles above degree ``closed_from``, else by recurrence."""
    n = _degree(kernel, x, n)
    at_1 = x if kind == "t" else x + x + {"u": 0, "v": -1, "w": 1}[kind]
    degree = n.astype(x.dtype)
    inside = jnp.abs(x) < 1
    angle = jnp.arccos(jnp.clip(x, -1, 1))
    sign = _sign_of_parity(n, x)
    one = jnp.ones_like(degree)
    if kind == "t":
        closed, at_plus, at_minus = jnp.cos(degree * angle), one, sign
    elif kind == "u":
        closed, at_plus, at_minus = jnp.sin((degree + 1) * angle) / jnp.sin(angle), degree + 1, sign * (degree + 1)
    elif kind == "v":
        at_plus, at_minus = one, sign * (2 * degree + 1)
        closed = jnp.cos((degree + 0.5) * angle) / jnp.cos(angle / 2)
    else:
        at_plus, at_minus = 2 * degree + 1, sign
        closed = jnp.sin((degree + 0.5) * angle) / jnp.sin(angle / 2)
    use_closed = inside & (n > closed_from)
    by_recurrence = _run(x, jnp.where(use_closed | (jnp.abs(x) == 1), jnp.minimum(n, 1), n), at_1, _doubled_step)
    found = jnp.where(use_closed, closed, by_recurrence)
    found = jnp.where(x == 1, at_plus, jnp.where(x == -1, at_minus, found))
    return jnp.where(n < 0, jnp.zeros((), x.dtype), found)


@_polynomial(aten="special_chebyshev_polynomial_t", spelled={"input": "x"})
def chebyshev_polynomial_t(input: Array | Number, n: Array | Number) -> Array:
    """Chebyshev's polynomial of the first kind and degree ``n``.

    Shapes: that of ``input`` and ``n``, broadcast.

    Dtypes: float32 and float64; integers and bool become the default floating dtype.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: for float16, bfloat16 and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.special.chebyshev_polynomial_t(torch.tensor([0.5, 2.0]), 2)
        tensor([-0.5000,  7.0000])
    """
    return _chebyshev("chebyshev_polynomial_t_cpu", input, n, "t", 6)


@_polynomial(aten="special_chebyshev_polynomial_u", spelled={"input": "x"})
def chebyshev_polynomial_u(input: Array | Number, n: Array | Number) -> Array:
    """Chebyshev's polynomial of the second kind and degree ``n``.

    Shapes: that of ``input`` and ``n``, broadcast.

    Dtypes: float32 and float64; integers and bool become the default floating dtype.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: for float16, bfloat16 and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.special.chebyshev_polynomial_u(torch.tensor([0.5, 2.0]), 2)
        tensor([ 0., 15.])
    """
    return _chebyshev("chebyshev_polynomial_u_cpu", input, n, "u", 8)


@_polynomial(aten="special_chebyshev_polynomial_v", spelled={"input": "x"})
def chebyshev_polynomial_v(input: Array | Number, n: Array | Number) -> Array:
    """Chebyshev's polynomial of the third kind and degree ``n``.

    Shapes: that of ``input`` and ``n``, broadcast.

    Dtypes: float32 and float64; integers and bool become the default floating dtype.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: for float16, bfloat16 and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.special.chebyshev_polynomial_v(torch.tensor([0.5, 2.0]), 2)
        tensor([-1., 11.])
    """
    return _chebyshev("chebyshev_polynomial_v_cpu", input, n, "v", 8)


@_polynomial(aten="special_chebyshev_polynomial_w", spelled={"input": "x"})
def chebyshev_polynomial_w(input: Array | Number, n: Array | Number) -> Array:
    """Chebyshev's polynomial of the fourth kind and degree ``n``.

    Shapes: that of ``input`` and ``n``, broadcast.

    Dtypes: float32 and float64; integers and bool become the default floating dtype.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: for float16, bfloat16 and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.special.chebyshev_polynomial_w(torch.tensor([0.5, 2.0]), 2)
        tensor([ 1., 19.])
    """
    return _chebyshev("chebyshev_polynomial_w_cpu", input, n, "w", 8)


@_polynomial(aten="special_shifted_chebyshev_polynomial_t", spelled={"input": "x"})
def shifted_chebyshev_polynomial_t(input: Array | Number, n: Array | Number) -> Array:
    """``chebyshev_polynomial_t(2 * input - 1, n)``.

    Shapes: that of ``input`` and ``n``, broadcast.

    Dtypes: float32 and float64; integers and bool become the default floating dtype.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: for float16, bfloat16 and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.special.shifted_chebyshev_polynomial_t(torch.tensor([0.75, 1.5]), 2)
        tensor([-0.5000,  7.0000])
    """
    return _chebyshev("shifted_chebyshev_polynomial_t_cpu", input + input - 1, n, "t", 6)


@_polynomial(aten="special_shifted_chebyshev_polynomial_u", spelled={"input": "x"})
def shifted_chebyshev_polynomial_u(input: Array | Number, n: Array | Number) -> Array:
    """``chebyshev_polynomial_u(2 * input - 1, n)``.

    Shapes: that of ``input`` and ``n``, broadcast.

    Dtypes: float32 and float64; integers and bool become the default floating dtype.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: for float16, bfloat16 and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.special.shifted_chebyshev_polynomial_u(torch.tensor([0.75, 1.5]), 2)
        tensor([ 0., 15.])
    """
    return _chebyshev("shifted_chebyshev_polynomial_u_cpu", input + input - 1, n, "u", 6)


@_polynomial(aten="special_shifted_chebyshev_polynomial_v", spelled={"input": "x"})
def shifted_chebyshev_polynomial_v(input: Array | Number, n: Array | Number) -> Array:
    """``chebyshev_polynomial_v(2 * input - 1, n)``.

    Shapes: that of ``input`` and ``n``, broadcast.

    Dtypes: float32 and float64; integers and bool become the default floating dtype.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: for float16, bfloat16 and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.special.shifted_chebyshev_polynomial_v(torch.tensor([0.75, 1.5]), 2)
        tensor([-1., 11.])
    """
    return _chebyshev("shifted_chebyshev_polynomial_v_cpu", input + input - 1, n, "v", 6)


@_polynomial(aten="special_shifted_chebyshev_polynomial_w", spelled={"input": "x"})
def shifted_chebyshev_polynomial_w(input: Array | Number, n: Array | Number) -> Array:
    """``chebyshev_polynomial_w(2 * input - 1, n)``.

    Shapes: that of ``input`` and ``n``, broadcast.

    Dtypes: float32 and float64; integers and bool become the default floating dtype.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: for float16, bfloat16 and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.special.shifted_chebyshev_polynomial_w(torch.tensor([0.75, 1.5]), 2)
        tensor([ 1., 19.])
    """
    return _chebyshev("shifted_chebyshev_polynomial_w_cpu", input + input - 1, n, "w", 4)


# ---- Hermite ---------------------------------------------------------------------------------------------------------------------

#: The highest degrees torch computes in single and double precision.
_HERMITE_LIMITS = {np.dtype(np.float32): 128, np.dtype(np.float64): 512}


def _hermite(kernel: str, x: Array, n: Array, at_1: Array, step: Step) -> Array:
    require_full(kernel, x)
    limit = _HERMITE_LIMITS[np.dtype(x.dtype)]
    n = _degree(kernel, x, n, limit)
    found = _run(x, jnp.where(n > limit, 1, n), at_1, step)
    return jnp.where(n > limit, jnp.asarray(jnp.nan, x.dtype), found)


@_polynomial(aten="special_hermite_polynomial_h", spelled={"input": "x"})
def hermite_polynomial_h(input: Array | Number, n: Array | Number) -> Array:
    """The physicists' Hermite polynomial of degree ``n``; NaN above degree 128 (512 in double precision).

    Shapes: that of ``input`` and ``n``, broadcast.

    Dtypes: float32 and float64; integers and bool become the default floating dtype.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: for float16, bfloat16 and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.special.hermite_polynomial_h(torch.tensor([1.0, 2.0]), torch.tensor([2, 3]))
        tensor([ 2., 40.])
    """
    return _hermite("hermite_polynomial_h_cpu", input, n, input + input, lambda x, k, p, q: (x + x) * q - (k + k) * p)


@_polynomial(aten="special_hermite_polynomial_he", spelled={"input": "x"})
def hermite_polynomial_he(input: Array | Number, n: Array | Number) -> Array:
    """The probabilists' Hermite polynomial of degree ``n``; NaN above degree 128 (512 in double precision).

    Shapes: that of ``input`` and ``n``, broadcast.

    Dtypes: float32 and float64; integers and bool become the default floating dtype.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: for float16, bfloat16 and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.special.hermite_polynomial_he(torch.tensor([1.0, 2.0]), torch.tensor([2, 3]))
        tensor([0., 2.])
    """
    return _hermite("hermite_polynomial_he_cpu", input, n, input, lambda x, k, p, q: x * q - k * p)


# ---- Laguerre, Legendre ----------------------------------------------------------------------------------------------------------


@_polynomial(aten="special_laguerre_polynomial_l", spelled={"input": "x"})
def laguerre_polynomial_l(input: Array | Number, n: Array | Number) -> Array:
    """Laguerre's polynomial of degree ``n``.

    Shapes: that of ``input`` and ``n``, broadcast.

    Dtypes: float32 and float64; integers and bool become the default floating dtype.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: for float16, bfloat16 and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.special.laguerre_polynomial_l(torch.tensor([1.0, 2.0]), 2)
        tensor([-0.5000, -1.0000])
    """
    degree = _degree("laguerre_polynomial_l_cpu", input, n)
    return _run(input, degree, 1 - input, lambda x, k, p, q: (((k + k) + (1 - x)) * q - k * p) / (k + 1))


@_polynomial(aten="special_legendre_polynomial_p", spelled={"input": "x"})
def legendre_polynomial_p(input: Array | Number, n: Array | Number) -> Array:
    """Legendre's polynomial of degree ``n``.

    Shapes: that of ``input`` and ``n``, broadcast.

    Dtypes: float32 and float64; integers and bool become the default floating dtype.

    Raises:
        RuntimeError: if the shapes do not broadcast.
        NotImplementedError: for float16, bfloat16 and complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.special.legendre_polynomial_p(torch.tensor([0.5, 1.0]), 2)
        tensor([-0.1250,  1.0000])
    """
    degree = _degree("legendre_polynomial_p_cpu", input, n)
    return _run(input, degree, input, lambda x, k, p, q: ((k + k + 1) * x * q - k * p) / (k + 1))
