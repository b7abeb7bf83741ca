"""Bessel and Airy functions: table values, Wronskians (which bind values and slopes on both sides
of each seam), edges."""

from __future__ import annotations

import math

import numpy as np

import jtorch as torch

S = torch.special
X = torch.tensor([0.05, 0.4, 1.0, 1.99, 2.01, 4.99, 5.01, 8.0, 25.0], dtype=torch.float64)


def close(found: torch.Tensor, expected: object, rtol: float = 1e-11) -> None:
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=rtol, atol=1e-13)


def test_table_values() -> None:
    two = torch.tensor(2.0, dtype=torch.float64)
    close(S.bessel_j0(two), 0.22389077914123567)
    close(S.bessel_j1(two), 0.5767248077568734)
    close(S.bessel_y0(two), 0.5103756726497451)
    close(S.bessel_y1(two), -0.10703243154093755)
    close(torch.i0(two), 2.2795853023360673)
    close(S.i1(two), 1.5906368546373291)
    close(S.modified_bessel_k0(two), 0.11389387274953344)
    close(S.modified_bessel_k1(two), 0.13986588181652243)
    close(
        S.airy_ai(torch.tensor([0.0, 1.0, -2.0], dtype=torch.float64)),
        [0.3550280538878172, 0.1352924163128814, 0.22740742820168557],
    )


def test_wronskians() -> None:
    close(
        S.bessel_j1(X) * S.bessel_y0(X) - S.bessel_j0(X) * S.bessel_y1(X),
        (2 / (math.pi * X)).numpy(),
    )
    close(
        S.modified_bessel_i0(X) * S.modified_bessel_k1(X)
        + S.modified_bessel_i1(X) * S.modified_bessel_k0(X),
        (1 / X).numpy(),
    )
    close(S.scaled_modified_bessel_k0(X), (S.modified_bessel_k0(X) * X.exp()).numpy())
    close(S.scaled_modified_bessel_k1(X), (S.modified_bessel_k1(X) * X.exp()).numpy())


def test_airy_solves_its_equation_across_the_seams() -> None:
    h = 1e-3
    for center in (-2.09, 2.09, -5.0, 0.3):
        x = torch.tensor([center - h, center, center + h], dtype=torch.float64)
        low, middle, high = S.airy_ai(x).tolist()
        assert abs((low - 2 * middle + high) / h**2 - center * middle) < 1e-5


def test_parity_and_edges() -> None:
    close(S.bessel_j0(-X), S.bessel_j0(X).numpy())
    close(S.bessel_j1(-X), -S.bessel_j1(X).numpy())
    edges = torch.tensor([0.0, -1.0])
    assert S.bessel_y0(edges)[0].item() == -math.inf
    assert math.isnan(S.bessel_y1(edges)[1].item())
    assert S.modified_bessel_k0(edges)[0].item() == math.inf
    assert math.isnan(S.modified_bessel_k1(edges)[1].item())
    assert S.spherical_bessel_j0(torch.tensor([0.0, math.inf])).tolist() == [1.0, 0.0]


def test_derivatives_of_the_modified_functions() -> None:
    x = torch.tensor([0.0, 0.7, -3.0], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(torch.i0(x).sum(), x, create_graph=True)
    close(slope, S.i1(x).detach().numpy())
    (curvature,) = torch.autograd.grad(slope.sum(), x)
    away = torch.tensor([0.7, -3.0], dtype=torch.float64)
    close(
        curvature, [0.5, *(S.modified_bessel_i0(away) - S.modified_bessel_i1(away) / away).tolist()]
    )
