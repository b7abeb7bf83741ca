"""SciPy's Fourier transforms are those of XLA, and as near to the truth: the same code, compiled
with other contractions."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
import scipy.fft
from jax import lax

from jtorch._src.engine.host import fourier, stage

from .agreement import compare, run

KINDS = ("FFT", "IFFT", "RFFT", "IRFFT")


def _operands(dtype: Any, shape: tuple[int, ...]) -> list[np.ndarray]:
    """One operand for each kind of transform to or from this shape."""
    rng = np.random.default_rng(len(shape))
    halved = (*shape[:-1], shape[-1] // 2 + 1)
    z, h = [rng.standard_normal((2, *s)).astype(dtype) for s in (shape, halved)]
    z, h = z[0] + 1j * z[1], h[0] + 1j * h[1]
    z[..., :1] *= dtype(100)
    return [z, z, np.ascontiguousarray(z.real), h]


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda d: d.__name__)
def test_transforms(dtype: Any) -> None:
    shapes = ((8,), (2, 7), (3, 4, 6), (2, 30, 17), (1,), (4, 1), (0, 5), (2, 3, 4, 5))
    cases = [(s, n) for s in shapes for n in range(1, min(3, len(s)) + 1) if 0 not in s[-n:]]
    operands = [_operands(dtype, s) for s, _ in cases]

    def fn(*arrays: jax.Array) -> Any:
        return [
            lax.fft(x, k, s[-n:])
            for i, (s, n) in enumerate(cases)
            for x, k in zip(arrays[4 * i : 4 * i + 4], KINDS, strict=True)
        ]

    arrays = [x for each in operands for x in each]
    wanted, truth = jax.jit(fn)(*arrays), []
    for (s, n), each in zip(cases, operands, strict=True):
        exact = (scipy.fft.fftn, scipy.fft.ifftn, scipy.fft.rfftn, scipy.fft.irfftn)
        wide = [x.astype(np.longdouble if x.dtype.kind == "f" else np.clongdouble) for x in each]
        truth += [f(x, s[-n:], range(-n, 0)) for f, x in zip(exact, wide, strict=True)]
    for g, w, t in zip(run(fn, *arrays), wanted, truth, strict=True):
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        # Every version of XLA is 1.1 units away from the truth here at most, as is SciPy.
        bound = 1.25 * np.finfo(dtype).eps * _size(t)
        assert _size(g - t) <= bound
        assert _size(g - w) <= 2 * bound


def _size(x: Any) -> float:
    return float(np.sqrt((np.abs(x) ** 2).sum()))


def test_infinities_and_nan() -> None:
    x = np.array([1, np.inf, 2, 0], np.float32)
    y = np.array([1, np.nan, 2, 0], np.float32)
    compare(lambda *a: [lax.fft(z, "RFFT", (4,)) for z in a], x, y)


def test_no_transform_at_all() -> None:
    compare(lambda x: lax.fft(x, "FFT", (0,)), np.ones((2, 0), np.complex64))


def test_long_transforms() -> None:
    """XLA takes several numbers at a time in long single ones: sums in another order."""
    x = np.random.default_rng(0).standard_normal(2048).astype(np.float32)

    def fn(x: jax.Array) -> jax.Array:
        return lax.fft(x, "RFFT", (2048,))

    found, wanted = stage(jax.make_jaxpr(fn)(x))(x)[0], np.asarray(jax.jit(fn)(x))
    assert found.dtype == wanted.dtype
    assert np.linalg.norm(found - wanted) <= 4 * np.finfo(np.float32).eps * np.linalg.norm(wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda d: d.__name__)
def test_the_functions_below_scipys_give_the_same_bits(
    dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = [(s, n) for s in ((8,), (2, 7), (3, 4, 6)) for n in range(1, len(s) + 1)]
    cases = [
        (kind, s[-n:], x)
        for s, n in sizes
        for kind, x in zip(KINDS, _operands(dtype, s), strict=True)
    ]

    def fn(*arrays: jax.Array) -> Any:
        return [
            lax.fft(x, kind, lengths) for x, (kind, lengths, _) in zip(arrays, cases, strict=True)
        ]

    arrays = [x for _, _, x in cases]
    assert fourier.pocketfft() is not None
    found = run(fn, *arrays)
    monkeypatch.setattr(fourier, "pocketfft", lambda: None)
    for a, b in zip(found, run(fn, *arrays), strict=True):
        np.testing.assert_array_equal(a, b)
