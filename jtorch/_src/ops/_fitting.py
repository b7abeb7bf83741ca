"""Numbers as elements of a dtype: what fits, and torch's words for what does not."""

from __future__ import annotations

import functools
import math

import jax.numpy as jnp
import numpy as np

from ._declare import Array, Number, guard, guard_range

_C_NAMES = {
    "uint8": "uint8_t", "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t",
    "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t",
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
}  # fmt: skip


def too_large(dtype: np.dtype) -> str:
    """The message for a number that ``dtype`` cannot hold; torch names C++ types here."""
    return (
        f"value cannot be converted to type {_C_NAMES.get(dtype.name, dtype.name)} without overflow"
    )


@functools.cache
def _limits(dtype: np.dtype) -> tuple[float, float, float]:
    """The smallest whole number, the smallest fraction and the largest number that may be converted
    to a dtype."""
    if dtype.kind in "iu":
        info = jnp.iinfo(dtype)
        # torch lets negative whole numbers wrap around in unsigned types.
        return (
            (-int(info.max) if dtype.kind == "u" else int(info.min)),
            int(info.min),
            int(info.max),
        )
    if dtype.kind in "bc":
        return -math.inf, -math.inf, math.inf
    largest = float(jnp.finfo(dtype).max)
    return -largest, -largest, largest


def check_fits(value: float, dtype: np.dtype) -> None:
    """Refuses a Python number that ``dtype`` cannot hold; infinities and NaN fit into
    floating-point types.

    Raises:
        RuntimeError: in torch's words.
    """
    low, low_fraction, high = _limits(dtype)
    if (low if type(value) is int else low_fraction) <= value <= high or dtype.kind in "bc":
        return
    if dtype.kind in "iu" or math.isfinite(value):
        raise RuntimeError(too_large(dtype))


def single_of(dtype: np.dtype) -> np.dtype:
    """The dtype that numbers have in formulas of ``dtype`` which halves compute in single
    precision."""
    return np.dtype(np.float32) if dtype.kind not in "biuc" and dtype.itemsize == 2 else dtype


def fill_value(value: Array | Number, input: Array, name: str) -> Array:
    """``value`` in the dtype of ``input``, with torch's errors for what that cannot hold.

    Raises:
        RuntimeError: for a tensor with dimensions; by guards, a complex value for a real input, or
            a number that is too large.
    """
    value = jnp.asarray(value)
    if value.ndim:
        raise RuntimeError(
            f"{name} only supports a 0-dimensional value tensor, but got tensor with {value.ndim} "
            "dimension(s)."
        )
    return number_as(value, input.dtype)


def number_as(value: Array | Number, dtype: np.dtype) -> Array:
    """A number in ``dtype``; a guard raises torch's error if it does not fit.

    A complex number fits into a real dtype if its imaginary part is zero.
    """
    value = jnp.asarray(value)
    dtype = np.dtype(dtype)
    message = too_large(dtype)
    if dtype == np.bool_:
        return value != 0 if value.dtype.kind == "c" else value.astype(np.bool_)
    if value.dtype.kind == "c" and dtype.kind != "c":
        guard(value.imag != 0, RuntimeError, message)
        value = value.real
    if value.dtype == dtype or value.dtype == np.bool_ or dtype.kind == "c":
        return value.astype(dtype)
    if dtype.kind in "iu":
        info = jnp.iinfo(dtype)
        # torch lets negative whole numbers wrap around in unsigned types.
        low = -info.max if dtype.kind == "u" and value.dtype.kind != "f" else info.min
        if value.dtype.kind == "f" or dtype.itemsize < value.dtype.itemsize:
            guard_range(value, low, info.max, RuntimeError, message)
        return (value.astype(np.int64) if low < 0 and dtype.kind == "u" else value).astype(dtype)
    inexact = (
        value.dtype.kind != "V"
        and jnp.issubdtype(value.dtype, jnp.floating)
        and value.dtype.itemsize > dtype.itemsize
    )
    if value.dtype.kind in "iu" and dtype == np.float16:
        value, inexact = value.astype(np.float64), True
    if inexact:
        most = float(jnp.finfo(dtype).max)
        # Infinities and NaN are there in every dtype of floats: only what is known to be finite
        # answers this.
        guard_range(
            jnp.where(jnp.isfinite(value), value, 0),
            -most,
            most,
            RuntimeError,
            message,
            of=value,
            loose=True,
        )
    return value.astype(dtype)
