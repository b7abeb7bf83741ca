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
    # Computed in double precision here, and in single precision there: what is ordinary agrees as a whole.
    ordinary = np.isfinite(expected.real) & np.isfinite(expected.imag)
    np.testing.assert_allclose(found[ordinary], expected[ordinary], rtol=1e-6 if dtype == "complex64" else 1e-12)
    np.testing.assert_array_equal(found[~ordinary].real, expected[~ordinary].real)
    np.testing.assert_array_equal(found[~ordinary].imag, expected[~ordinary].imag)


def test_their_derivatives_at_ordinary_numbers() -> None:
    for package in (torch, jtorch):
        x = package.tensor([1 + 2j, -3 + 0.5j], dtype=package.complex128, requires_grad=True)
        y = package.tensor([0.5 - 1j, 2 + 0j], dtype=package.complex128, requires_grad=True)
        assert package.autograd.gradcheck(package.pow, (x, y))
