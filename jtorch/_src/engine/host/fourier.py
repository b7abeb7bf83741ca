"""Fourier transforms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .direct import pocketfft
from .rules import CALL, Compute, Equation, rule

if TYPE_CHECKING:
    from types import ModuleType


def _cost(e: Equation) -> float:
    size = max(e.ins[0].size, e.out.size)
    return 6 * CALL + 0.3e-9 * size * (1 + math.log2(max(2, math.prod(e.params["fft_lengths"]))))


@rule("fft", cost=_cost)
def _fft(e: Equation) -> Compute | None:
    """Transforms by SciPy: the code that XLA's has come from, as near to the truth; NumPy's
    computes some of float32 in float64."""
    if not e.out.size or not e.ins[0].size:
        zeros = np.zeros(e.out.shape, e.out.dtype)
        return lambda _: zeros
    name, lengths = e.params["fft_type"].name, tuple(e.params["fft_lengths"])
    module = pocketfft()
    if module is not None:
        return _direct(module, name, lengths, e.ins[0].ndim)
    from scipy import fft

    if len(lengths) == 1:
        along: Any = {"FFT": fft.fft, "IFFT": fft.ifft, "RFFT": fft.rfft, "IRFFT": fft.irfft}[name]
        n = lengths[0]
        return lambda x: along(x, n)
    # Complex ones take the last axis first, as XLA does: sums in another order differ by an ulp.
    # Real ones do so by themselves.
    order = slice(None, None, None if name in ("RFFT", "IRFFT") else -1)
    lengths, axes = lengths[order], tuple(range(-len(lengths), 0))[order]
    transform = {"FFT": fft.fftn, "IFFT": fft.ifftn, "RFFT": fft.rfftn, "IRFFT": fft.irfftn}[name]
    return lambda x: transform(x, lengths, axes)


def _direct(module: ModuleType, name: str, lengths: tuple[int, ...], ndim: int) -> Compute:
    """What ``scipy.fft`` calls in the end for operands that have the right sizes, as those of an
    equation do."""
    axes = tuple(range(ndim - len(lengths), ndim))
    # The axes in the same order as below ``scipy.fft``; scaled by nothing forwards, and by the
    # number of elements backwards.
    if name == "RFFT":
        r2c = module.r2c
        return lambda x: r2c(x, axes, True, 0, None, 1)
    if name == "IRFFT":
        c2r, last = module.c2r, lengths[-1]
        return lambda x: c2r(x, axes, last, False, 2, None, 1)
    c2c, forward = module.c2c, name == "FFT"
    axes, scale = axes[::-1], 0 if forward else 2
    return lambda x: c2c(x, axes, forward, scale, None, 1)
