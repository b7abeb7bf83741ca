"""Infinite complex numbers in compiled programs, where JAX's own functions give NaN."""

from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest

import jtorch as torch

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("x", list(itertools.product((1.0, INF), (0.0, INF, -INF))))
def test_sums_of_one_exponential_are_it(x: tuple[float, float]) -> None:
    z = torch.tensor([complex(*x)])
    found = np.asarray(jax.jit(lambda v: torch.logcumsumexp(torch.from_jax(v), 0).jax())(z.jax()))
    assert found.tolist() == [complex(*x)]


def test_sums_with_infinities() -> None:
    z = torch.tensor([complex(INF, 0), complex(INF, 2), complex(1, 1)])
    found = np.asarray(jax.jit(lambda v: torch.logcumsumexp(torch.from_jax(v), 0).jax())(z.jax()))
    assert found[0] == complex(INF, 0)
    assert found[1].real == INF and np.isnan(found[1].imag)  # as in PyTorch
    assert np.isnan(found[2].real) and np.isnan(found[2].imag)
