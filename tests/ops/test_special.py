"""Special functions: literal values from tables, recurrences and reflections, edges, derivatives as
other functions."""

from __future__ import annotations

import math

import numpy as np
import pytest

import jtorch as torch

INF, NAN = math.inf, math.nan


def double(*values: float, requires_grad: bool = False) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64, requires_grad=requires_grad)


def close(found: torch.Tensor, expected: object, rtol: float = 1e-12) -> None:
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=rtol)


def test_error_functions() -> None:
    points = (-3.0, -0.2, 0.0, 0.5, 2.5)
    close(torch.erf(double(*points)), [math.erf(p) for p in points])
    close(torch.erfc(double(*points, 10.0)), [math.erfc(p) for p in (*points, 10.0)])
    close(torch.erf(torch.erfinv(double(-0.9, 0.3, 0.999))), [-0.9, 0.3, 0.999])
    assert torch.erfinv(double(-1, 1)).tolist() == [-INF, INF]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_erfcx_has_no_gap_where_erfc_underflows(dtype: torch.dtype) -> None:
    x = torch.linspace(3.0, 60.0, 200, dtype=dtype)
    inverse = 1 / (x.double() * x.double())
    series = (1 - inverse / 2 + 3 * inverse**2 / 4 - 15 * inverse**3 / 8) / (
        x.double() * math.sqrt(math.pi)
    )
    np.testing.assert_allclose(torch.special.erfcx(x).double().numpy(), series.numpy(), rtol=2e-3)
    at_20 = torch.special.erfcx(torch.tensor(20.0, dtype=dtype)).item()
    assert at_20 == pytest.approx(
        0.02817434874105132, rel=3e-7 if dtype is torch.float32 else 1e-13
    )


def test_normal_distribution() -> None:
    close(
        torch.special.ndtr(double(-1.0, 0.0, 2.0)), [0.15865525393145707, 0.5, 0.9772498680518208]
    )
    close(
        torch.special.log_ndtr(double(-40.0, -1.5, 3.0)),
        [-804.6084420137538, -2.7059436, -0.00135081],
        1e-5,
    )
    close(
        torch.special.ndtri(double(0.0, 0.025, 0.5, 1.0, 2.0)),
        [-INF, -1.9599639845400545, 0.0, INF, NAN],
        1e-9,
    )


def test_gamma_functions() -> None:
    points = (0.5, 1.0, 3.7, 30.0)
    close(torch.lgamma(double(*points)), [math.lgamma(p) for p in points])
    euler = 0.5772156649015329
    close(torch.digamma(double(1.0, 2.0, 0.0, -0.0, -1.0)), [-euler, 1 - euler, -INF, INF, NAN])
    close(
        torch.polygamma(1, double(1.0, 0.5, -0.5)),
        [math.pi**2 / 6, math.pi**2 / 2, math.pi**2 / 2 + 4],
    )
    close(torch.polygamma(3, double(1.0, 2.0)), [math.pi**4 / 15, math.pi**4 / 15 - 6])
    close(double(2.0).polygamma(2), [2 - 2 * 1.2020569031595942])
    close(
        torch.mvlgamma(double(4.0), 2),
        [math.lgamma(4) + math.lgamma(3.5) + 0.5 * math.log(math.pi)],
    )
    with pytest.raises(RuntimeError, match="does not support negative n"):
        torch.polygamma(-1, double(1.0))


def test_polygamma_obeys_its_recurrence_left_of_zero() -> None:
    x = double(-0.3, -2.6, -10.4)
    for n in (1, 2, 3, 4):
        shifted = torch.polygamma(n, x + 1) - (-1) ** n * math.factorial(n) / x ** (n + 1)
        close(torch.polygamma(n, x), shifted.numpy(), 1e-9)


def test_lgamma_is_exact_near_its_zeros_in_single_precision() -> None:
    points = [1.0, 1.0001, 1.9999, 2.0, 150.0]
    x = torch.tensor(points)
    assert torch.lgamma(x)[0].item() == 0
    close(torch.lgamma(x), [math.lgamma(p) for p in x.tolist()], 1e-6)


def test_each_derivative_of_lgamma_is_the_next_polygamma() -> None:
    x = double(-1.3, 0.4, 5.0, requires_grad=True)
    (first,) = torch.autograd.grad(torch.lgamma(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    (third,) = torch.autograd.grad(second.sum(), x)
    close(first, torch.digamma(x).detach().numpy())
    close(second, torch.polygamma(1, x).detach().numpy())
    close(third, torch.polygamma(2, x).detach().numpy(), 1e-8)


def test_zeta() -> None:
    found = torch.special.zeta(double(2.0, 4.0, 3.0, 1.0), double(1.0, 1.0, -0.5, 1.0))
    close(found, [math.pi**2 / 6, math.pi**4 / 90, 7 * 1.2020569031595942 - 8, INF])
    assert torch.isnan(torch.special.zeta(double(0.5, 2.5), double(2.0, -0.5))).all()


def test_incomplete_gamma() -> None:
    a, x = double(1.0, 2.0, 0.0, INF), double(0.5, 3.0, 1.0, 2.0)
    close(torch.igamma(a, x), [1 - math.exp(-0.5), 1 - 4 * math.exp(-3), 1.0, 0.0])
    close(torch.igamma(a, x) + torch.igammac(a, x), [1.0] * 4)
    small = torch.igammac(torch.tensor([0.01]), torch.tensor([0.25])).item()
    assert small == pytest.approx(0.0104484222, rel=1e-6)


def test_logit_and_entropy() -> None:
    close(torch.logit(double(0.0, 0.5, 0.75, 1.0, 2.0)), [-INF, 0.0, math.log(3), INF, NAN])
    x = double(0.0, 0.05, 0.5, 0.95, requires_grad=True)
    torch.logit(x, 0.1).sum().backward()
    close(x.grad, [0.0, 0.0, 4.0, 0.0])
    close(torch.special.entr(double(-1.0, 0.0, 0.5, NAN)), [-INF, 0.0, 0.5 * math.log(2), NAN])


def test_half_precision_is_refused_where_torch_does() -> None:
    with pytest.raises(NotImplementedError, match="\"ndtri_cpu\" not implemented for 'BFloat16'"):
        torch.special.ndtri(torch.ones(1, dtype=torch.bfloat16))


def test_mvlgamma_of_many_dimensions() -> None:
    x = torch.tensor([7.0, 8.5], dtype=torch.float64)
    alone = sum(torch.lgamma(x - j / 2) for j in range(11)) + 11 * 10 / 4 * math.log(math.pi)
    assert torch.allclose(torch.mvlgamma(x, 11), alone, rtol=1e-13)
    with pytest.raises(RuntimeError, match="can't allocate memory: you tried to allocate"):
        torch.mvlgamma(x, 2**40)
    with pytest.raises(
        RuntimeError,
        match=r"Storage size calculation overflowed with sizes=\[4611686018427387904\]",
    ):
        torch.special.multigammaln(x, 2**62)
