"""Recursive filters on NumPy's arrays."""

from __future__ import annotations

import numpy as np
from scipy.signal import lfilter


def recursion(x: np.ndarray, coefficients: np.ndarray, before: np.ndarray) -> np.ndarray:
    """``y[t] = x[t] - sum(coefficients[k] * y[t - n + k] for k < n)`` along the last axis, computed
    in float64.

    Shapes:
        x (..., C, T); coefficients (C, n), those of the earliest values first; before (..., C, n):
        the values of ``y`` before the first. The result has the shape of ``x``.
    """
    count = coefficients.shape[1]
    x, coefficients, before = (
        x.astype(np.float64),
        coefficients.astype(np.float64),
        before.astype(np.float64),
    )
    for t in range(min(count, x.shape[-1])):  # what is owed to the values before the first
        x[..., t] -= (coefficients[:, : count - t] * before[..., t:]).sum(-1)
    made = np.empty_like(x)
    for channel, row in enumerate(coefficients):
        made[..., channel, :] = lfilter(
            [1.0], np.append(1.0, row[::-1]), x[..., channel, :], axis=-1
        )
    return made
