"""Fourier transforms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .rules import CALL, Compute, Equation, rule


def _cost(e: Equation) -> float:
    size = max(e.ins[0].size, e.out.size)
    return 6 * CALL + 1e-9 * size * (1 + math.log2(max(2, math.prod(e.params["fft_lengths"]))))


@rule("fft", cost=_cost)
def _fft(e: Equation) -> Compute | None:
    """Transforms by SciPy: the code that XLA's has come from, as near to the truth; NumPy's computes some of float32 in float64."""
    if not e.out.size or not e.ins[0].size:
        zeros = np.zeros(e.out.shape, e.out.dtype)
        return lambda _: zeros
    from scipy import fft

    name, lengths = e.params["fft_type"].name, e.params["fft_lengths"]
    if len(lengths) == 1:
        along: Any = {"FFT": fft.fft, "IFFT": fft.ifft, "RFFT": fft.rfft, "IRFFT": fft.irfft}[name]
        n = lengths[0]
        return lambda x: along(x, n)
    # Complex ones take the last axis first, as XLA does: sums in another order differ by an ulp. Real ones do so by themselves.
    order = slice(None, None, None if name in ("RFFT", "IRFFT") else -1)
    lengths, axes = lengths[order], tuple(range(-len(lengths), 0))[order]
    transform: Any = {"FFT": fft.fftn, "IFFT": fft.ifftn, "RFFT": fft.rfftn, "IRFFT": fft.irfftn}[name]
    return lambda x: transform(x, lengths, axes)
