"""Orthogonal polynomials by their recurrences: Chebyshev's of four kinds, plain and shifted,
Hermite's, Laguerre's, Legendre's.

The degree is a tensor: the recurrence runs to the largest one, and each element keeps the value at
its own. torch has no derivatives.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from . import _loops
from ._declare import Array, Number, binary
from ._facts import schemas
from ._hosted import hosted
from ._numeric import require_full

if TYPE_CHECKING:
    from types import ModuleType

    from ..facts.kinds import Operand


_polynomial = functools.partial(
    binary, namespace="special", promote="float", method=False, differentiable=False
)


class Recurrence(NamedTuple):
    """Three terms, in arithmetic that arrays of JAX and of NumPy both have.

    Attributes:
        first: from x to the value at degree 1, and to what is the same at all degrees.
        step: from that, the numbers of ``_counts`` at degree k, and the values at degrees k - 1 and
            k, to the value at degree k + 1.
    """

    first: Callable[[Any], tuple[Any, Any]]
    step: Callable[[Any, tuple[Any, ...], Any, Any], Any]


def _counts(k: Operand) -> tuple[Operand, ...]:
    """``k``, ``k + 1``, ``2 k`` and ``2 k + 1``, rounded as the dtype of ``k`` has it."""
    return k, k + 1, k + k, k + k + 1


def _run(x: Array, degree: Array, recurrence: Recurrence) -> Array:
    """The values at ``degree``: 0 for a negative one, 1 for 0, and on by the recurrence."""
    x, degree = jnp.broadcast_arrays(x, degree)
    at_1, alike = recurrence.first(x)

    def body(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        before, current = state
        following = recurrence.step(alike, _counts(k.astype(x.dtype)), before, current)
        counts = k < degree
        return jnp.where(counts, current, before), jnp.where(counts, following, current)

    def going(k: Array, state: tuple[Array, Array]) -> Array:
        # where NaN is, it stays
        return (k < highest) & ~jnp.all(jnp.isnan(state[1]) | (k >= degree))

    highest = jnp.max(degree, initial=1)
    start = jnp.asarray(1, degree.dtype), (jnp.ones_like(x), at_1)
    _, (_, found) = _loops.while_loop(lambda s: going(*s), lambda s: (s[0] + 1, body(*s)), start)
    found = jnp.where(degree == 0, jnp.ones((), x.dtype), found)
    return jnp.where(degree < 0, jnp.zeros((), x.dtype), found)


def _degree(n: Array, limit: int | None = None) -> Array:
    """The degrees as integers. NaN, infinite degrees and those beyond 64 bits count as -1."""
    whole = jnp.where(jnp.isfinite(n) & (n < 2.0**63), jnp.trunc(n), -1).astype(np.int64)
    return whole if limit is None else jnp.minimum(whole, limit + 1)


def _sign_of_parity(n: Array, x: Array) -> Array:
    return jnp.where(n % 2 == 0, 1, -1).astype(x.dtype)


# ---- formulas ------------------------------------------------------------------------------------


def _doubled(twice: np.ndarray, _: object, before: object, current: np.ndarray) -> object:
    return twice * current - before


#: By kind of polynomial: Chebyshev's four, Hermite's of both normalisations, Laguerre's,
#: Legendre's.
_RECURRENCES = {
    "t": Recurrence(lambda x: (x, x + x), _doubled),
    "u": Recurrence(lambda x: (x + x, x + x), _doubled),
    "v": Recurrence(lambda x: (x + x - 1, x + x), _doubled),
    "w": Recurrence(lambda x: (x + x + 1, x + x), _doubled),
    "h": Recurrence(
        lambda x: (x + x, x + x), lambda twice, k, before, current: twice * current - k[2] * before
    ),
    "he": Recurrence(lambda x: (x, x), lambda x, k, before, current: x * current - k[0] * before),
    "l": Recurrence(
        lambda x: (1 - x, 1 - x),
        lambda less, k, before, current: ((k[2] + less) * current - k[0] * before) / k[1],
    ),
    "p": Recurrence(
        lambda x: (x, x), lambda x, k, before, current: (k[3] * x * current - k[0] * before) / k[1]
    ),
}


def _closed(xp: ModuleType, kind: str, degree: Operand, angle: Operand) -> np.ndarray:
    """Chebyshev's polynomials inside (-1, 1), by the angle whose cosine the argument is."""
    if kind == "t":
        return xp.cos(degree * angle)
    if kind == "u":
        return xp.sin((degree + 1) * angle) / xp.sin(angle)
    if kind == "v":
        return xp.cos((degree + 0.5) * angle) / xp.cos(angle / 2)
    return xp.sin((degree + 0.5) * angle) / xp.sin(angle / 2)


def _ends(kind: str, degree: Operand, sign: Operand) -> tuple[Any, Any]:
    """Chebyshev's polynomials at 1 and at -1."""
    one = degree * 0 + 1
    return {
        "t": (one, sign),
        "u": (degree + 1, sign * (degree + 1)),
        "v": (one, sign * (2 * degree + 1)),
        "w": (2 * degree + 1, sign),
    }[kind]


def _chebyshev(x: Array, n: Array, kind: str, closed_from: int) -> Array:
    """Chebyshev polynomials of kind t, u, v or w: inside (-1, 1) by angles above degree
    ``closed_from``, else by recurrence."""
    n = _degree(n)
    degree = n.astype(x.dtype)
    use_closed = (jnp.abs(x) < 1) & (n > closed_from)
    closed = _closed(jnp, kind, degree, jnp.arccos(jnp.clip(x, -1, 1)))
    by_recurrence = _run(
        x, jnp.where(use_closed | (jnp.abs(x) == 1), jnp.minimum(n, 1), n), _RECURRENCES[kind]
    )
    found = jnp.where(use_closed, closed, by_recurrence)
    at_plus, at_minus = _ends(kind, degree, _sign_of_parity(n, x))
    found = jnp.where(x == 1, at_plus, jnp.where(x == -1, at_minus, found))
    return jnp.where(n < 0, jnp.zeros((), x.dtype), found)


#: Degrees are counted in 64 bits.
_HIGHEST = (1 << 63) - 1
#: After so many degrees it is asked whether anything but NaN is left.
_OFTEN = 64
#: The highest degrees torch computes in single and double precision.
_HERMITE_LIMITS = {np.dtype(np.float32): 128, np.dtype(np.float64): 512}


def _other(x: Array, n: Array, kind: str) -> Array:
    """Hermite's, Laguerre's and Legendre's polynomials."""
    if not kind.startswith("h"):
        return _run(x, _degree(n), _RECURRENCES[kind])
    limit = _HERMITE_LIMITS[np.dtype(x.dtype)]
    n = _degree(n, limit)
    found = _run(x, jnp.where(n > limit, 1, n), _RECURRENCES[kind])
    return jnp.where(n > limit, jnp.asarray(jnp.nan, x.dtype), found)


# ---- by NumPy ------------------------------------------------------------------------------------


@functools.lru_cache(2048)
def _kept_counts(k: int, dtype: np.dtype) -> tuple[np.ndarray, ...]:
    """The same as arrays without dimensions, which NumPy takes fastest."""
    return tuple(map(np.asarray, _counts(dtype.type(k))))


def _by_numpy(kind: str, closed_from: int) -> Callable[..., np.ndarray]:
    """What computes the polynomials on the host: the formulas' operations for one degree at a time,
    without what masks the others."""
    first, step = _RECURRENCES[kind]

    def recurrence(x: np.ndarray, n: int) -> np.ndarray:
        if not n:
            return np.ones_like(x)
        current, alike = first(x)
        before: Any = x.dtype.type(1)
        for k in range(1, n):
            if not k % _OFTEN and np.isnan(current).all():
                break
            before, current = current, step(alike, _kept_counts(k, x.dtype), before, current)
        return current

    def of_degree(x: np.ndarray, n: float) -> np.ndarray:
        # what is beyond 64 bits is a negative degree to PyTorch
        if not math.isfinite(n) or n <= -1 or n > _HIGHEST:
            return np.zeros_like(x)
        n = int(n)
        if not closed_from:
            if kind.startswith("h") and n > _HERMITE_LIMITS[x.dtype]:
                return np.full_like(x, np.nan)
            return recurrence(x, n)
        if n <= closed_from:  # at both ends, too: small whole numbers are exact
            return recurrence(x, n)
        size = np.absolute(x)
        degree = x.dtype.type(n)
        inside = np.less(size, 1)
        found = _closed(np, kind, degree, np.arccos(np.minimum(np.maximum(x, -1), 1)))
        rest = ~inside & (size != 1)
        if rest.any():
            found = np.asarray(found)
            found[rest] = recurrence(x[rest], n)
        ends = np.equal(size, 1)
        if np.count_nonzero(ends):
            degree, sign = x.dtype.type(n), x.dtype.type(1 if n % 2 == 0 else -1)
            plus, minus = _ends(kind, degree, sign)
            found = np.where(ends, np.where(np.greater(x, 0), plus, minus), found).astype(x.dtype)
        return found

    def compute(x: np.ndarray, n: np.ndarray) -> np.ndarray:
        x = np.asarray(x)
        if n.ndim == 0:
            return of_degree(x, n.item())
        x, n = np.broadcast_arrays(x, n)
        whole = np.where(np.isfinite(n), np.trunc(n), -1)
        found = np.empty(x.shape, x.dtype)
        for degree in np.unique(whole).tolist():
            at = whole == degree
            found[at] = of_degree(x[at], degree)
        return found

    return compute


@hosted(_by_numpy, ns=100, calls=16, most=1 << 12)
def _polynomial_of(x: Array, n: Array, *, kind: str, closed_from: int) -> Array:
    return _chebyshev(x, n, kind, closed_from) if closed_from else _other(x, n, kind)


def _evaluated(name: str, x: Array, n: Array, *, kind: str, closed_from: int = 0) -> Array:
    require_full(f"{name}_cpu", x)
    return _polynomial_of(*jnp.broadcast_arrays(x, n), kind=kind, closed_from=closed_from)


# ---- Chebyshev -----------------------------------------------------------------------------------


@_polynomial(aten="special_chebyshev_polynomial_t", spelled={"input": "x"})
@schemas(".", ".x_scalar", ".n_scalar")
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
    return _evaluated("chebyshev_polynomial_t", input, n, kind="t", closed_from=6)


@_polynomial(aten="special_chebyshev_polynomial_u", spelled={"input": "x"})
@schemas(".", ".x_scalar", ".n_scalar")
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
    return _evaluated("chebyshev_polynomial_u", input, n, kind="u", closed_from=8)


@_polynomial(aten="special_chebyshev_polynomial_v", spelled={"input": "x"})
@schemas(".", ".x_scalar", ".n_scalar")
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
    return _evaluated("chebyshev_polynomial_v", input, n, kind="v", closed_from=8)


@_polynomial(aten="special_chebyshev_polynomial_w", spelled={"input": "x"})
@schemas(".", ".x_scalar", ".n_scalar")
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
    return _evaluated("chebyshev_polynomial_w", input, n, kind="w", closed_from=8)


@_polynomial(aten="special_shifted_chebyshev_polynomial_t", spelled={"input": "x"})
@schemas(".", ".x_scalar", ".n_scalar")
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
    return _evaluated(
        "shifted_chebyshev_polynomial_t", input + input - 1, n, kind="t", closed_from=6
    )


@_polynomial(aten="special_shifted_chebyshev_polynomial_u", spelled={"input": "x"})
@schemas(".", ".x_scalar", ".n_scalar")
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
    return _evaluated(
        "shifted_chebyshev_polynomial_u", input + input - 1, n, kind="u", closed_from=6
    )


@_polynomial(aten="special_shifted_chebyshev_polynomial_v", spelled={"input": "x"})
@schemas(".", ".x_scalar", ".n_scalar")
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
    return _evaluated(
        "shifted_chebyshev_polynomial_v", input + input - 1, n, kind="v", closed_from=6
    )


@_polynomial(aten="special_shifted_chebyshev_polynomial_w", spelled={"input": "x"})
@schemas(".", ".x_scalar", ".n_scalar")
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
    return _evaluated(
        "shifted_chebyshev_polynomial_w", input + input - 1, n, kind="w", closed_from=4
    )


# ---- Hermite -------------------------------------------------------------------------------------


@_polynomial(aten="special_hermite_polynomial_h", spelled={"input": "x"})
@schemas(".", ".x_scalar", ".n_scalar")
def hermite_polynomial_h(input: Array | Number, n: Array | Number) -> Array:
    """The physicists' Hermite polynomial of degree ``n``; NaN above degree 128 (512 in double
    precision).

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
    return _evaluated("hermite_polynomial_h", input, n, kind="h")


@_polynomial(aten="special_hermite_polynomial_he", spelled={"input": "x"})
@schemas(".", ".x_scalar", ".n_scalar")
def hermite_polynomial_he(input: Array | Number, n: Array | Number) -> Array:
    """The probabilists' Hermite polynomial of degree ``n``; NaN above degree 128 (512 in double
    precision).

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
    return _evaluated("hermite_polynomial_he", input, n, kind="he")


# ---- Laguerre, Legendre --------------------------------------------------------------------------


@_polynomial(aten="special_laguerre_polynomial_l", spelled={"input": "x"})
@schemas(".", ".x_scalar", ".n_scalar")
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
    return _evaluated("laguerre_polynomial_l", input, n, kind="l")


@_polynomial(aten="special_legendre_polynomial_p", spelled={"input": "x"})
@schemas(".", ".x_scalar", ".n_scalar")
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
    return _evaluated("legendre_polynomial_p", input, n, kind="p")
