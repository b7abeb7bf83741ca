"""Blocks of normal numbers for large tensors: what ``_sampling`` computes in NumPy, bit for bit, compiled by XLA and much faster."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from . import _sampling as s
from .engine import forking

#: Blocks of 16 in one call: one compiled size serves all tensors.
ROWS = 1 << 13


def _fused(a: Any, b: Any, c: Any) -> Any:
    """``a * b + c`` of float32 numbers with one rounding, float64 standing in for the fused instruction."""
    a, b, c = (jnp.asarray(v, np.float64) for v in (a, b, c))
    return (a * b + c).astype(np.float32)


def _polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    y = _fused(x, coefficients[0], coefficients[1])
    for c in coefficients[2:]:
        y = _fused(y, x, c)
    return y


def _log(x: Any) -> Any:
    bits = lax.bitcast_convert_type(x, np.int32)
    m = lax.bitcast_convert_type((bits & 0x7FFFFF) | 0x3F000000, np.float32)  # the mantissa in [0.5, 1)
    small = m < np.float32(s._SQRT_HALF)
    e = ((bits >> 23) - 126 - small.astype(np.int32)).astype(np.float32)
    one = np.float32(1)
    m = jnp.where(small, (m - one) + m, m - one)
    square = m * m
    y = _polynomial(m, s._LOG) * m
    y = _fused(y, square, e * np.float32(s._LOG2_LOW))
    y -= square * np.float32(0.5)
    return _fused(e, s._LOG2_HIGH, m + y)


def _sine_cosine(x: Any) -> tuple[Any, Any]:
    octant = ((x * np.float32(s._4_BY_PI)).astype(np.int32) + 1) & ~1
    turns = octant.astype(np.float32)
    for part in s._PI4:
        x = _fused(turns, part, x)
    square = x * x
    cosine = _polynomial(square, s._COS) * square
    cosine = _fused(cosine, square, square * np.float32(-0.5)) + np.float32(1)
    sine = _fused(_polynomial(square, s._SIN) * square, x, x)
    crossed = (octant & 2) != 0
    sine, cosine = jnp.where(crossed, cosine, sine), jnp.where(crossed, sine, cosine)
    return jnp.where((octant & 4) != 0, -sine, sine), jnp.where(((octant + 2) & 4) != 0, -cosine, cosine)


def _rows(u: Any) -> Any:
    radius = jnp.sqrt(np.float32(-2) * _log(np.float32(1) - u[:, :8]))
    sine, cosine = _sine_cosine(np.float32(s._TWO_PI) * u[:, 8:])
    return jnp.concatenate([radius * cosine, radius * sine], axis=1)


@functools.cache
def _compiled() -> Any:
    cpu = jax.devices("cpu")[0]
    with jax.default_device(cpu):
        return jax.jit(_rows).lower(jax.ShapeDtypeStruct((ROWS, 16), np.float32)).compile(), cpu


def rows(u: np.ndarray, out: np.ndarray) -> int:
    """Fills ``out`` from uniform numbers ``u`` (n, 16) as far as whole calls reach; returns how many rows that are."""
    if not jax.config.jax_enable_x64 or forking.cannot_run():
        return 0
    done = len(u) - len(u) % ROWS
    with jax.ensure_compile_time_eval():  # inside a JAX transformation too, these are numbers
        compute, cpu = _compiled()
        pending = [(at, compute(jax.device_put(u[at : at + ROWS], cpu))) for at in range(0, done, ROWS)]
        for at, part in pending:
            out[at : at + ROWS] = part
    return done
