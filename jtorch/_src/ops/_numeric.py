"""What pointwise kernels share: checks on element types in torch's words, and the width
half-precision formulas are computed in."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts import dtypes
from ._complex import quotient as complex_quotient
from ._declare import Array


def is_complex(x: Array) -> bool:
    """Whether the elements are complex."""
    return jnp.issubdtype(x.dtype, jnp.complexfloating)


def is_float(x: Array) -> bool:
    """Whether the elements are real floating-point numbers."""
    return jnp.issubdtype(x.dtype, jnp.floating)


def is_bool(x: Array) -> bool:
    """Whether the elements are bool."""
    return x.dtype == np.bool_


def is_integral(x: Array) -> bool:
    """Whether the elements are integers or bool: of a kind that has no gradient."""
    return x.dtype.kind in "biu"


def scalar_name(dtype: object) -> str:
    """torch's name of an element type in messages: ``Float``, ``Long``."""
    return dtypes.from_np(dtype).scalar_name


def unsupported(kernel: str, x: Array) -> NotImplementedError:
    """torch's error for an element type that a kernel does not take."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_name(x.dtype)}'")


def _letter(x: Array) -> str:
    if is_complex(x):
        return "c"
    if is_float(x):
        return "f"
    return "b" if is_bool(x) else "i"


def require(kernel: str, x: Array, kinds: str = "f") -> None:
    """Refuses element types outside ``kinds``: letters of **b**ool, **i**nteger, **f**loat,
    **c**omplex.

    Raises:
        NotImplementedError: in torch's words, naming torch's kernel.
    """
    if _letter(x) not in kinds:
        raise unsupported(kernel, x)


def require_full(kernel: str, x: Array) -> None:
    """Refuses all but float32 and float64 (integers have become floats by promotion before)."""
    if x.dtype not in (np.float32, np.float64):
        raise unsupported(kernel, x)


def wide(x: Array) -> Array:
    """Half-precision elements as float32: formulas of several steps round once, at the end, as
    torch's do."""
    return x.astype(np.float32) if is_float(x) and x.dtype.itemsize < 4 else x


def number(value: Any, x: Array) -> Array:
    """A constant, or a size, in the dtype of ``x``; infinite where that cannot hold it."""
    if jax.export.is_symbolic_dim(value):
        return jnp.asarray(value, x.dtype)
    with np.errstate(over="ignore"):
        return np.asarray(value, x.dtype)  # type: ignore[return-value]


def quotient(a: Array, b: Any) -> Array:
    """``a / b`` of floating-point operands, correctly rounded.

    XLA turns the division by a constant or a broadcast value into a product with its reciprocal,
    whose last bit is often wrong. Here it cannot see that the divisor is one: where ``a`` is not a
    number the quotient is none either, whatever it is divided by.
    """
    if is_complex(a):
        x, y = jnp.broadcast_arrays(a, jnp.asarray(b, a.dtype))
        return complex_quotient(x, y)
    if not is_float(a) or a.ndim == 0 or getattr(b, "shape", ()) == a.shape:
        return a / b
    b = b if isinstance(b, jnp.ndarray) else jnp.asarray(b, a.dtype)
    shape = jnp.broadcast_shapes(a.shape, b.shape)
    a = jnp.broadcast_to(a, shape)
    return a / jnp.where(a == a, jnp.broadcast_to(b, shape), a)


def inverse_sqrt(x: Array) -> Array:
    """One over the square root, rounded as the two steps are.

    On a processor, XLA turns that into the machine's estimate and Newton steps, one element at a
    time: nine times slower, and off by a unit in the last place for a third of all numbers. Here it
    cannot see that what it divides by is a root.
    """
    return 1 / jnp.where(x == x, jnp.sqrt(x), x) if is_float(x) else lax.rsqrt(x)


def cast(x: Array, dtype: Any) -> Array:
    """``x`` as ``dtype``, a higher one in torch's lattice."""
    return (
        x
        if x.dtype == dtype
        else zeros_and_ones(x, dtype)
        if x.dtype == np.bool_
        else x.astype(dtype)
    )


def zeros_and_ones(x: Array, dtype: np.dtype) -> Array:
    """Bool elements as numbers.

    XLA turns the product of a cast bool with something into a choice between that and 0, which is
    wrong where that is not finite: 0 times infinity is none. It does not do so with a choice
    between numbers.
    """
    return jnp.where(x, np.ones((), dtype), np.zeros((), dtype))


def multiply_add(x: Array, y: Array, z: Array) -> Array:
    """``x * y + z``, rounded once, of real numbers in single or double precision, whatever the
    program is compiled to.

    In double precision from the parts that product and sum lose (T. J. Dekker, "A floating-point
    technique for extending the available precision", Numerische Mathematik 18, 1971).
    """
    if x.dtype == np.float32:
        x, y, z = (v.astype(np.float64) for v in (x, y, z))
        return (x * y + z).astype(np.float32)
    product = x * y
    total = product + z
    part = total - product
    lost = (product - (total - part)) + (z - part)
    (a, b), (c, d) = _halved(x), _halved(y)
    lost = lost + (((a * c - product) + a * d + b * c) + b * d)
    return jnp.where(jnp.isfinite(lost), total + lost, total)


def _halved(x: Array) -> tuple[Array, Array]:
    """A double as the sum of two with half of its digits each."""
    far = x * np.float64((1 << 27) + 1)
    high = far - (far - x)
    return high, x - high


def rounded(x: Array, dtype: np.dtype) -> Array:
    """``x``, computed in float32, as ``dtype``: really rounded to a half, where a plain cast back
    and forth may be optimised away."""
    if x.dtype == dtype:
        return x
    info = jnp.finfo(dtype)
    return lax.reduce_precision(x, info.nexp, info.nmant).astype(dtype)


def conj(x: Array) -> Array:
    """The complex conjugate; real numbers as they are."""
    return lax.conj(x) if is_complex(x) else x


def zeros_where(bad: Array, x: Array) -> Array:
    """``x`` with zeros where ``bad``."""
    return jnp.where(bad, jnp.zeros((), x.dtype), x)


def default_float(x: Array) -> Array:
    """Integers and bool as the default floating-point type; everything else as it is."""
    return x.astype(dtypes.get_default_dtype().np) if is_integral(x) else x
