"""Complex numbers: construction, angles, conjugates, and their gradients."""

from __future__ import annotations

import math

import numpy as np
import pytest

import jtorch as torch


def test_construction_and_its_gradient() -> None:
    a, b = (
        torch.tensor([3.0, 0.0], requires_grad=True),
        torch.tensor([-4.0, 1.0], requires_grad=True),
    )
    z = torch.complex(a, b)
    assert z.tolist() == [3 - 4j, 1j]
    z.abs().sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), [0.6, 0.0], rtol=1e-6)
    np.testing.assert_allclose(b.grad.numpy(), [-0.8, 1.0], rtol=1e-6)
    with pytest.raises(
        RuntimeError,
        match="Expected object of scalar type Float but got scalar type Double for second argument",
    ):
        torch.complex(torch.ones(1), torch.ones(1).double())


def test_polar_inverts_abs_and_angle() -> None:
    z = torch.tensor([1 + 2j, -3 - 1j, 0.5j])
    np.testing.assert_allclose(torch.polar(z.abs(), z.angle()).numpy(), z.numpy(), rtol=1e-6)


def test_angle_of_real_numbers() -> None:
    x = torch.tensor([1.0, -1.0, 0.0, math.nan])
    np.testing.assert_allclose(torch.angle(x).numpy(), [0, math.pi, 0, math.nan], rtol=1e-6)
    z = torch.tensor([0j, 1 + 1j], requires_grad=True)
    torch.angle(z).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), [0, -0.5 + 0.5j], rtol=1e-6)


def test_gradient_of_the_conjugate() -> None:
    z = torch.tensor([1 + 2j], requires_grad=True)
    (z.conj() * (2 + 3j)).real.sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), [2 + 3j], rtol=1e-6)


def test_angle_of_integers_is_of_the_default_dtype() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.angle(torch.tensor([1, -1])).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.angle(torch.tensor([1, -1])).dtype is torch.float32


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
@pytest.mark.parametrize("count", [3, 400])
def test_magnitudes_are_rounded_once(dtype, count):
    z = torch.tensor(
        [complex(-(0.5**0.5), 0.5**0.5), complex(2**0.5, -(2**0.5)), complex(1, 2)] * (count // 3),
        dtype=dtype,
    )
    wanted = [math.hypot(x.real, x.imag) for x in z.tolist()]
    assert z.abs().tolist() == torch.tensor(wanted, dtype=z.real.dtype).tolist()
    assert z.abs()[:2].tolist() == [1.0, 2.0]
    assert torch.isclose(z[1:2], z[:1] * complex(-1), rtol=0.5, atol=0.5).item()
