"""Trigonometric functions: accuracy over the whole range of float32, inverses, edges, gradients."""

from __future__ import annotations

import math

import jax
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.ops import trigonometric


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_single_precision_sine_is_accurate_for_every_magnitude(name: str) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=500) * 5, 10.0 ** rng.uniform(-20, 38, 3000)]).astype(
        np.float32
    )
    expected = np.array([getattr(math, name)(float(v)) for v in x])
    found = getattr(torch, name)(torch.tensor(x)).double().numpy()
    np.testing.assert_allclose(found, expected, rtol=1.5e-7)


def test_sine_of_the_special() -> None:
    found = torch.sin(torch.tensor([0.0, -0.0, math.inf, math.nan])).numpy()
    assert np.signbit(found).tolist()[:2] == [False, True]
    assert np.isnan(found).tolist() == [False, False, True, True]


def test_sine_differentiates_under_jax_as_well() -> None:
    slope = jax.grad(jax.grad(trigonometric.sin))(np.float32(0.5))
    np.testing.assert_allclose(slope, -math.sin(0.5), rtol=1e-6)
    batch = jax.vmap(trigonometric.cos)(np.zeros((2, 3), np.float32))
    assert batch.tolist() == [[1.0] * 3] * 2


@pytest.mark.parametrize(
    ("forward", "inverse", "points"),
    [
        ("sin", "asin", [-0.9, 0.0, 0.5]),
        ("cos", "acos", [-0.9, 0.1, 0.5]),
        ("tan", "atan", [-30.0, 0.0, 2.0]),
        ("sinh", "asinh", [-30.0, 0.0, 2.0]),
        ("cosh", "acosh", [1.0, 1.5, 30.0]),
        ("tanh", "atanh", [-0.9, 0.0, 0.5]),
    ],
)
def test_inverses_and_their_gradients(forward: str, inverse: str, points: list[float]) -> None:
    x = torch.tensor(points, dtype=torch.float64, requires_grad=True)
    back = getattr(torch, forward)(getattr(torch, "arc" + inverse[1:])(x))
    np.testing.assert_allclose(back.detach().numpy(), points, rtol=1e-12, atol=1e-12)
    if forward != "cosh":  # whose inverse has an infinite slope at 1
        back.sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), 1.0, rtol=1e-9)


def test_atan2_has_no_gradient_at_the_origin() -> None:
    y, x = (
        torch.tensor([0.0, 1.0], requires_grad=True),
        torch.tensor([0.0, 0.0], requires_grad=True),
    )
    torch.atan2(y, x).sum().backward()
    assert y.grad.tolist() == [0.0, 0.0]
    assert x.grad.tolist() == [0.0, -1.0]


def test_sinc_at_zero() -> None:
    x = torch.tensor([0.0, 0.5], dtype=torch.float64, requires_grad=True)
    result = torch.sinc(x)
    np.testing.assert_allclose(result.detach().numpy(), [1.0, 2 / math.pi])
    result.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [0.0, -4 / math.pi])


def test_degrees() -> None:
    np.testing.assert_allclose(
        torch.deg2rad(torch.tensor([180, 90])).numpy(), [math.pi, math.pi / 2], rtol=1e-6
    )
    np.testing.assert_allclose(torch.rad2deg(torch.tensor([math.pi])).numpy(), [180.0], rtol=1e-6)
    with pytest.raises(RuntimeError, match="deg2rad is not supported for complex tensors"):
        torch.deg2rad(torch.tensor([1j]))


def test_complex_inverses_on_their_cuts() -> None:
    two = torch.tensor([complex(2, 0.0), complex(2, -0.0)])
    assert np.signbit(torch.asin(two).imag.numpy()).tolist() == [False, True]
    assert torch.acosh(two).imag.numpy().tolist() == [0, 0] and np.signbit(
        torch.acosh(two).imag.numpy()
    ).tolist() == [False, True]
    up = torch.tensor([complex(0.0, 2), complex(-0.0, 2)])
    np.testing.assert_allclose(torch.asinh(up).real.numpy(), [1.316958, -1.316958], rtol=1e-6)
    np.testing.assert_allclose(torch.atan(up).real.numpy(), [math.pi / 2, -math.pi / 2], rtol=1e-6)
    assert torch.atanh(
        torch.tensor([complex(-0.0, math.nan), complex(math.inf, math.nan)])
    ).real.tolist() == [0, 0]


def test_complex_quotients_of_zero_and_infinity() -> None:
    x, y = (
        torch.tensor([1j, 0j, 1 + 1j]),
        torch.tensor([complex(-0.0, 0), complex(math.inf, math.inf), complex(math.inf, 1)]),
    )
    found = (x / y).numpy()
    assert (
        found[0].imag == math.inf
        and np.isnan([found[0].real, found[1].real, found[1].imag]).all()
        and found[2] == 0
    )
    z = torch.tensor([3 + 4j], requires_grad=True)
    (1 / z).abs().sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), [-(3 + 4j) / 125], rtol=1e-6)
