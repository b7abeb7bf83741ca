"""Settings of the whole suite: nothing may lean on JAX's own promotion rules."""

from __future__ import annotations

import jax

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
