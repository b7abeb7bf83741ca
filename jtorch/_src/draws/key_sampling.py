"""Random numbers from JAX's keys: what ``_sampling`` and ``_rejection`` draw from a Mersenne
Twister, under the same names.

Each function takes a key and the shape of the result where those take a twister and a number of
elements; results may be tracers.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .sampling import largest_whole

Shape = tuple[int, ...]


def uniform(key: Any, shape: Shape, low: float, high: float, dtype: np.dtype) -> jax.Array:
    """Numbers in [low, high), drawn in float32 for the half types."""
    wide = np.dtype(np.float64 if dtype == np.float64 else np.float32)
    return jax.random.uniform(key, shape, wide, low, high).astype(dtype)


def normal(key: Any, shape: Shape, mean: float, std: float, dtype: np.dtype) -> jax.Array:
    """Normal numbers, drawn in float32 for the half types."""
    wide = np.dtype(np.float64 if dtype == np.float64 else np.float32)
    return (jax.random.normal(key, shape, wide) * wide.type(std) + wide.type(mean)).astype(dtype)


def below(key: Any, shape: Shape, p: float) -> jax.Array:
    """Bernoulli trials of one probability, as bools."""
    return jax.random.bernoulli(key, np.float64(p), shape)


def below_each(key: Any, p: Any) -> jax.Array:
    """Bernoulli trials with a probability each."""
    return jax.random.bernoulli(key, p)


def integers(key: Any, shape: Shape, low: int, span: int, dtype: np.dtype) -> jax.Array:
    """Numbers in [low, low + span)."""
    words = jax.random.bits(key, shape, np.uint64)
    if span < 1 << 64:
        words = words % np.uint64(span)
    return (jax.lax.bitcast_convert_type(words, np.int64) + np.int64(low)).astype(dtype)


def whole_range(key: Any, shape: Shape, dtype: np.dtype) -> jax.Array:
    """All non-negative integers that ``dtype`` holds exactly."""
    limit = 1 << 63 if dtype == np.uint64 else largest_whole(dtype) + 1
    return (jax.random.bits(key, shape, np.uint64) % np.uint64(limit)).astype(dtype)


def permutation(key: Any, shape: Shape) -> jax.Array:
    """The numbers below ``n`` in random order."""
    return jax.random.permutation(key, np.arange(shape[-1]))


def _open(key: Any, shape: Shape) -> jax.Array:
    """Float64 in (0, 1)."""
    return jax.random.uniform(key, shape, np.float64, np.finfo(np.float64).tiny, 1.0)


def exponential(key: Any, shape: Shape, rate: float) -> jax.Array:
    """Exponential float64."""
    return jax.random.exponential(key, shape, np.float64) / rate


def geometric(key: object, shape: Shape, p: float) -> jax.Array:
    """The number of Bernoulli trials up to the first success, float64."""
    return jnp.maximum(jnp.ceil(jnp.log(_open(key, shape)) / math.log1p(-p)), 1.0)


def cauchy(key: Any, shape: Shape, median: float, sigma: float) -> jax.Array:
    """Cauchy float64."""
    return median + sigma * jax.random.cauchy(key, shape, np.float64)


def log_normal(key: Any, shape: Shape, mean: float, std: float) -> jax.Array:
    """Numbers whose logarithms are normal, float64."""
    return jnp.exp(jax.random.normal(key, shape, np.float64) * std + mean)


# ---- of tensors ----------------------------------------------------------------------------------


def categories(key: Any, p: Any, samples: int, replacement: bool) -> jax.Array:
    """``samples`` categories for each row of ``p``, by the Gumbel trick."""
    scores = jnp.log(p.astype(np.float64))
    if replacement:
        return jnp.moveaxis(
            jax.random.categorical(key, scores, shape=(samples, *p.shape[:-1])), 0, -1
        ).astype(np.int64)
    return jax.lax.top_k(scores + jax.random.gumbel(key, p.shape, np.float64), samples)[1].astype(
        np.int64
    )


def poisson(key: Any, rates: Any) -> jax.Array:
    """Poisson numbers of the dtype of ``rates``."""
    return jax.random.poisson(key, rates).astype(rates.dtype)


def binomial(key: jax.Array, count: Any, p: Any) -> jax.Array:
    """Binomial numbers of the dtype of ``count``."""
    return jax.random.binomial(key, count, p, dtype=count.dtype)


def gamma(key: Any, concentration: Any) -> jax.Array:
    """Gamma numbers of rate 1, never 0."""
    found = jax.random.gamma(key, concentration, dtype=concentration.dtype)
    return jnp.maximum(found, np.finfo(concentration.dtype).tiny)


def dirichlet(key: Any, concentration: Any) -> jax.Array:
    """Points of the simplex."""
    return jax.random.dirichlet(key, concentration, dtype=concentration.dtype)
