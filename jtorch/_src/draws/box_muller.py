"""Blocks of normal numbers for large tensors, and for small ones that are drawn again and again:
what ``sampling`` computes in NumPy, bit for bit, compiled by XLA and much faster.

Products and sums that are to be rounded once are compiled in either of two ways. XLA's code for
most processors fuses a product with the sum that it is part of: then float32 arithmetic does what
is asked, as fast as PyTorch's. Nothing promises that, so it is looked at once, with some hundred
thousand numbers; where a bit differs, float64 stands in, which holds products of two float32
exactly, and takes four times as long.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..engine import forking, outside_jax, values
from . import sampling as s

if TYPE_CHECKING:
    from ..facts.kinds import Operand


#: Blocks of 16 in one call for large tensors: a few compiled sizes serve all tensors.
ROWS = s._SIZES[-1][1]

Fused = Callable[[Any, Any, Any], Any]


def _in_float64(a: object, b: object, c: object) -> object:
    """``a * b + c`` of float32 numbers with one rounding."""
    a, b, c = (jnp.asarray(v, np.float64) for v in (a, b, c))
    return (a * b + c).astype(np.float32)


def _as_written(a: object, b: object, c: object) -> object:
    """``a * b + c``, which the compiler may round once or twice."""
    a, b, c = (jnp.asarray(v, np.float32) for v in (a, b, c))
    return a * b + c


def _polynomial(fused: Fused, x: object, coefficients: tuple[float, ...]) -> Any:
    y = fused(x, coefficients[0], coefficients[1])
    for c in coefficients[2:]:
        y = fused(y, x, c)
    return y


def _log(fused: Fused, x: Operand) -> Any:
    bits = lax.bitcast_convert_type(x, np.int32)
    # the mantissa in [0.5, 1)
    m = lax.bitcast_convert_type((bits & 0x7FFFFF) | 0x3F000000, np.float32)
    small = m < np.float32(s._SQRT_HALF)
    e = ((bits >> 23) - 126 - small.astype(np.int32)).astype(np.float32)
    one = np.float32(1)
    m = jnp.where(small, (m - one) + m, m - one)
    square = m * m
    y = _polynomial(fused, m, s._LOG) * m
    y = fused(y, square, e * np.float32(s._LOG2_LOW))
    y -= square * np.float32(0.5)
    return fused(e, s._LOG2_HIGH, m + y)


def _sine_cosine(fused: Fused, x: Operand) -> tuple[jax.Array, jax.Array]:
    octant = ((x * np.float32(s._4_BY_PI)).astype(np.int32) + 1) & ~1
    turns = octant.astype(np.float32)
    for part in s._PI4:
        x = fused(turns, part, x)
    square = x * x
    cosine = _polynomial(fused, square, s._COS) * square
    cosine = fused(cosine, square, square * np.float32(-0.5)) + np.float32(1)
    sine = fused(_polynomial(fused, square, s._SIN) * square, x, x)
    crossed = (octant & 2) != 0
    sine, cosine = jnp.where(crossed, cosine, sine), jnp.where(crossed, sine, cosine)
    return jnp.where((octant & 4) != 0, -sine, sine), jnp.where(
        ((octant + 2) & 4) != 0, -cosine, cosine
    )


def _normal(fused: Fused, words: Operand) -> object:
    u = (words & np.uint32(0xFFFFFF)).astype(np.float32) * np.float32(2.0**-24)
    # Rounded before anything is made of them: without the barrier XLA multiplies the factors of the
    # angle with those that come next.
    x, angle = lax.optimization_barrier((np.float32(1) - u[:, 0], np.float32(s._TWO_PI) * u[:, 1]))
    radius = jnp.sqrt(np.float32(-2) * _log(fused, x))
    sine, cosine = _sine_cosine(fused, angle)
    return jnp.stack([radius * cosine, radius * sine], axis=1)


def _program(fused: Fused, rows: int = ROWS) -> Any:
    return (
        jax.jit(functools.partial(_normal, fused))
        .lower(jax.ShapeDtypeStruct((rows, 2, 8), np.uint32))
        .compile()
    )


def _same_bits(program: Callable[..., object], rows: int = ROWS) -> bool:
    """Whether a program gives what NumPy does."""
    words = np.random.Generator(np.random.PCG64(0)).integers(0, 1 << 32, ROWS * 16, dtype=np.uint32)
    found = np.concatenate(
        [np.asarray(program(part)).reshape(-1) for part in words.reshape(-1, rows, 2, 8)]
    )
    wanted = s._blocks_of_numpy(words)
    return np.array_equal(found.view(np.int32), wanted.view(np.int32))


@functools.cache
def _compiled(rows: int = ROWS) -> Any:
    with jax.default_device(jax.devices("cpu")[0]):
        program = _program(_as_written, rows)
        return program if _same_bits(program, rows) else _program(_in_float64, rows)


def normal(words: np.ndarray) -> np.ndarray | None:
    """The normal float32 that blocks of 16 words make; None where XLA cannot be asked.

    Shapes: (16 n) -> (16 n).
    """
    if (
        not jax.config.jax_enable_x64
        or forking.cannot_run()
        or (words.size < s._LARGE and values.tier == "host")
    ):
        return None
    rows = s._SIZES[s._kind(words.size)][1]
    size = rows * 16
    if words.size <= size and outside_jax():
        whole = np.zeros((rows, 2, 8), np.uint32)
        whole.reshape(-1)[: words.size] = words
        return np.asarray(_compiled(rows)(whole)).reshape(-1)[: words.size].copy()
    found = np.empty(words.size, np.float32)
    with jax.ensure_compile_time_eval():  # inside a JAX transformation too, these are numbers
        compute = _compiled(rows)
        for at in range(0, words.size, size):
            part = words[at : at + size]
            if part.size < size:
                part = np.concatenate([part, np.zeros(size - part.size, np.uint32)])
            found[at : at + size] = np.asarray(compute(part.reshape(rows, 2, 8))).reshape(-1)[
                : found.size - at
            ]
    return found
