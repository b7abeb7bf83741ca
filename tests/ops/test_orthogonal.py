"""Orthogonal polynomials against NumPy's, at degrees on both sides of the closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre

import jtorch as torch

X = np.linspace(-1.3, 1.3, 27)
DEGREES = [0, 1, 2, 5, 7, 9, 12]

NUMPY = {
    "chebyshev_polynomial_t": chebyshev.chebval,
    "hermite_polynomial_h": hermite.hermval,
    "hermite_polynomial_he": hermite_e.hermeval,
    "laguerre_polynomial_l": laguerre.lagval,
    "legendre_polynomial_p": legendre.legval,
}


@pytest.mark.parametrize("name", NUMPY)
def test_values(name: str) -> None:
    x, n = torch.tensor(X)[:, None], torch.tensor(DEGREES)
    expected = np.stack([NUMPY[name](X, [0] * d + [1]) for d in DEGREES], 1)
    np.testing.assert_allclose(getattr(torch.special, name)(x, n).numpy(), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("degree", DEGREES)
def test_other_kinds_of_chebyshev_polynomials_by_their_angles(degree: int) -> None:
    angle = torch.tensor(np.linspace(0.1, 3.0, 9))
    x = torch.cos(angle)
    expected = {
        "u": torch.sin((degree + 1) * angle) / torch.sin(angle),
        "v": torch.cos((degree + 0.5) * angle) / torch.cos(angle / 2),
        "w": torch.sin((degree + 0.5) * angle) / torch.sin(angle / 2),
    }
    for kind, values in expected.items():
        found = getattr(torch.special, f"chebyshev_polynomial_{kind}")(x, degree)
        np.testing.assert_allclose(found.numpy(), values.numpy(), rtol=1e-8, atol=1e-9)
        shifted = getattr(torch.special, f"shifted_chebyshev_polynomial_{kind}")((x + 1) / 2, degree)
        np.testing.assert_allclose(shifted.numpy(), values.numpy(), rtol=1e-8, atol=1e-9)


def test_ends_and_odd_degrees() -> None:
    x = torch.tensor([1.0, -1.0])
    assert torch.special.chebyshev_polynomial_u(x, 10).tolist() == [11.0, 11.0]
    assert torch.special.chebyshev_polynomial_v(x, 9).tolist() == [1.0, -19.0]
    assert torch.special.legendre_polynomial_p(x, -1).tolist() == [0.0, 0.0]
    assert torch.isnan(torch.special.hermite_polynomial_h(x, 200)).all()
