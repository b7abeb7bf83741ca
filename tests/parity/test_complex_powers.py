"""Powers of complex numbers whose parts are zeros, infinities and NaN."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import jtorch

pytestmark = pytest.mark.parity

PARTS = (0.0, -0.0, 1.0, -1.0, 2.0, float("inf"), float("-inf"), float("nan"))
NUMBERS = [complex(a, b) for a, b in itertools.product(PARTS, PARTS)]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_powers_at_special_numbers(dtype: str) -> None:
    base, exponent = np.array(list(itertools.product(NUMBERS, NUMBERS)), dtype).T
    expected = torch.pow(torch.tensor(base), torch.tensor(exponent)).numpy()
    found = jtorch.pow(jtorch.tensor(base), jtorch.tensor(exponent)).numpy()
    # Computed in double precision here, and in single precision there: what is ordinary agrees as a
    # whole.
    ordinary = np.isfinite(expected.real) & np.isfinite(expected.imag)
    np.testing.assert_allclose(
        found[ordinary], expected[ordinary], rtol=1e-6 if dtype == "complex64" else 1e-12
    )
    np.testing.assert_array_equal(found[~ordinary].real, expected[~ordinary].real)
    np.testing.assert_array_equal(found[~ordinary].imag, expected[~ordinary].imag)


def _same(found: np.ndarray, expected: np.ndarray) -> None:
    for part in ("real", "imag"):
        np.testing.assert_allclose(
            getattr(found, part), getattr(expected, part), rtol=1e-12, atol=1e-12
        )


@pytest.mark.parametrize("exponent", [-3, -2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4])
def test_powers_with_a_number_as_exponent(exponent: float) -> None:
    _same(
        (jtorch.tensor(np.array(NUMBERS)) ** exponent).numpy(),
        (torch.tensor(np.array(NUMBERS)) ** exponent).numpy(),
    )


@pytest.mark.parametrize("name", ["reciprocal", "sqrt", "rsqrt"])
def test_reciprocals_and_roots(name: str) -> None:
    _same(
        getattr(jtorch, name)(jtorch.tensor(np.array(NUMBERS))).numpy(),
        getattr(torch, name)(torch.tensor(np.array(NUMBERS))).numpy(),
    )


@pytest.mark.parametrize("base", [1, 1.0, True])
def test_powers_of_one(base: float) -> None:
    assert (jtorch.pow(base, jtorch.tensor(NUMBERS)) == 1).all()


def test_their_derivatives_at_ordinary_numbers() -> None:
    for package in (torch, jtorch):
        x = package.tensor([1 + 2j, -3 + 0.5j], dtype=package.complex128, requires_grad=True)
        y = package.tensor([0.5 - 1j, 2 + 0j], dtype=package.complex128, requires_grad=True)
        assert package.autograd.gradcheck(package.pow, (x, y))
