"""NumPy's element by element functions agree with XLA's."""

from __future__ import annotations

import numpy as np
from jax import lax

from .agreement import compare


def test_sums() -> None:
    x = np.array([1, -2, np.inf, np.nan, -0.0], np.float32)
    compare(lax.add, x, x[::-1].copy())
