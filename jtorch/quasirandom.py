"""``SobolEngine``: points that fill the unit cube more evenly than random ones."""

from __future__ import annotations

import functools
import os

import numpy as np

import jtorch as torch

__all__ = ["SobolEngine"]


@functools.cache
def _numbers() -> tuple[np.ndarray, np.ndarray]:
    """Joe and Kuo's primitive polynomials and initial direction numbers (new-joe-kuo-6.21201), from
    SciPy, which JAX brings along."""
    import scipy.stats

    with np.load(
        os.path.join(os.path.dirname(scipy.stats.__file__), "_sobol_direction_numbers.npz")
    ) as file:
        return file["poly"], file["vinit"]


def _directions(dimension: int, bits: int) -> np.ndarray:
    """``dimension`` rows of ``bits`` direction numbers, by the recurrence of Bratley and Fox."""
    poly, initial = _numbers()
    found = np.ones((dimension, bits), np.int64)
    for d in range(1, dimension):
        p = int(poly[d])
        degree = p.bit_length() - 1
        found[d, :degree] = initial[d, :degree]
        taps = [k for k in range(degree) if p >> (degree - 1 - k) & 1]
        row = found[d]
        for j in range(degree, bits):
            new = row[j - degree]
            for k in taps:
                new ^= row[j - k - 1] << (k + 1)
            row[j] = new
    return found << np.arange(bits - 1, -1, -1)


def _parity(x: np.ndarray) -> np.ndarray:
    for shift in (32, 16, 8, 4, 2, 1):
        x = x ^ (x >> shift)
    return x & 1


class SobolEngine:
    """A Sobol sequence in up to 21201 dimensions, scrambled if asked for.

    Args:
        dimension: of the points.
        scramble: whether a random shift and random lower triangular matrices are applied, which
            keep the points as even.
        seed: of these; without one they come from the global generator.

    Example:
        >>> import jtorch as torch
        >>> torch.quasirandom.SobolEngine(2).draw(3)
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000],
                [0.7500, 0.2500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]"
            )
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self.sobolstate = torch.from_numpy(_directions(dimension, self.MAXBIT))
        self.shift = torch.zeros(dimension, dtype=torch.int64)
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def _scramble(self) -> None:
        generator = None if self.seed is None else torch.Generator().manual_seed(self.seed)
        bits = self.MAXBIT
        shift = torch.randint(2, (self.dimension, bits), generator=generator).numpy()
        self.shift = torch.from_numpy((shift << np.arange(bits)).sum(1))
        lower = (
            torch.randint(2, (self.dimension, bits, bits), generator=generator)
            .tril()
            .numpy()
            .copy()
        )
        lower[:, np.arange(bits), np.arange(bits)] = 1
        # Row p as a number whose bit k is column bits - 1 - k, so that a product modulo 2 is the
        # parity of a bitwise and.
        rows = (lower << np.arange(bits - 1, -1, -1)).sum(-1)
        products = _parity(rows[:, None, :] & self.sobolstate.numpy()[:, :, None])
        self.sobolstate = torch.from_numpy((products << np.arange(bits - 1, -1, -1)).sum(-1))

    def _steps(self, count: int, start: int) -> np.ndarray:
        """The next ``count`` points as integers, after ``start`` steps; the last one is kept."""
        if count < 1:
            return np.zeros((0, self.dimension), np.int64)
        numbers = np.arange(start, start + count, dtype=np.int64)
        lowest_zero = np.log2((~numbers & (numbers + 1)).astype(np.float64)).astype(np.int64)
        flips = self.sobolstate.numpy().T[lowest_zero]
        flips[0] ^= self.quasi.numpy()
        points = np.bitwise_xor.accumulate(flips, 0)
        self.quasi = torch.from_numpy(points[-1].copy())
        return points

    def draw(
        self, n: int = 1, out: torch.Tensor | None = None, dtype: torch.dtype | None = None
    ) -> torch.Tensor:
        """The next ``n`` points, as rows."""
        dtype = torch.get_default_dtype() if dtype is None else dtype
        first = self.num_generated == 0
        points = self._steps(n - 1 if first else n, 0 if first else self.num_generated - 1)
        result = torch.from_numpy(points * 2.0**-self.MAXBIT).to(dtype)
        if first:
            result = torch.cat([self._first_point.to(dtype), result])
        self.num_generated += n
        if out is not None:
            return out.resize_as_(result).copy_(result)
        return result

    def draw_base2(
        self, m: int, out: torch.Tensor | None = None, dtype: torch.dtype | None = None
    ) -> torch.Tensor:
        """The next ``2**m`` points, as rows; all that were drawn must come to a power of 2.

        Raises:
            ValueError: if they do not.
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1) != 0:
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Begins anew."""
        self.quasi = self.shift.clone()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leaves out ``n`` points."""
        first = self.num_generated == 0
        self._steps(n - 1 if first else n, 0 if first else self.num_generated - 1)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"]
        if self.scramble:
            parts.append("scramble=True")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return f"{self.__class__.__name__}({', '.join(parts)})"
