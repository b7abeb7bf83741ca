"""Orthogonal polynomials against NumPy's, at degrees on both sides of the closed forms."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre

import jtorch as torch
from jtorch._src.engine.host.staging import stage
from jtorch._src.ops import orthogonal

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
    np.testing.assert_allclose(
        getattr(torch.special, name)(x, n).numpy(), expected, rtol=1e-9, atol=1e-9
    )


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
        shifted = getattr(torch.special, f"shifted_chebyshev_polynomial_{kind}")(
            (x + 1) / 2, degree
        )
        np.testing.assert_allclose(shifted.numpy(), values.numpy(), rtol=1e-8, atol=1e-9)


def test_ends_and_odd_degrees() -> None:
    x = torch.tensor([1.0, -1.0])
    assert torch.special.chebyshev_polynomial_u(x, 10).tolist() == [11.0, 11.0]
    assert torch.special.chebyshev_polynomial_v(x, 9).tolist() == [1.0, -19.0]
    assert torch.special.legendre_polynomial_p(x, -1).tolist() == [0.0, 0.0]
    assert torch.isnan(torch.special.hermite_polynomial_h(x, 200)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("kind", "closed_from"),
    [("t", 6), ("u", 8), ("v", 8), ("w", 4), ("h", 0), ("he", 0), ("l", 0), ("p", 0)],
)
def test_numpy_computes_what_xla_does(kind: str, closed_from: int, dtype: Any) -> None:
    x = np.concatenate([X, [1, -1, np.nan, 0]]).astype(dtype)
    degrees = np.array([-2, -0.5, 0, 1, 2, 4, 5, 7, 9, 12, 130, np.nan, np.inf, 2.7], dtype)

    def f(x: Any, n: Any) -> Any:
        return orthogonal._evaluated("a polynomial", x, n, kind=kind, closed_from=closed_from)

    def compare(x: np.ndarray, n: np.ndarray) -> np.ndarray:
        jaxpr = jax.make_jaxpr(f)(x, n)
        assert any(e.primitive.name == "jtorch.polynomial_of" for e in jaxpr.jaxpr.eqns)
        with np.errstate(all="ignore"):
            (found,) = stage(jaxpr)(x, n)
        wanted = np.asarray(jax.jit(f)(x, n))
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        # Sums of the recurrence that nearly cancel differ by units of what they are sums of.
        np.testing.assert_allclose(
            found, wanted, rtol=2e3 * np.finfo(dtype).eps, atol=2e3 * np.finfo(dtype).eps
        )
        return found

    whole = compare(*np.broadcast_arrays(x[:, None], degrees))
    for k, n in enumerate(degrees):  # one degree for all, as a number
        np.testing.assert_array_equal(compare(x, np.asarray(n)), whole[:, k])
