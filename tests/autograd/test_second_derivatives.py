"""Second derivatives that JAX does not give by itself, against differences."""

from __future__ import annotations

import pytest

import jtorch as torch
from jtorch.autograd import gradcheck, gradgradcheck

NORMS = {
    "nuclear": lambda x: torch.linalg.matrix_norm(x, "nuc"),
    "spectral": lambda x: torch.linalg.matrix_norm(x, 2),
    "smallest": lambda x: torch.linalg.matrix_norm(x, -2),
    "condition": torch.linalg.cond,
}


@pytest.mark.parametrize("name", NORMS)
def test_norms_by_singular_values(name) -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, -1.0]], dtype=torch.float64, requires_grad=True)
    assert gradcheck(NORMS[name], (x,), fast_mode=True)
    assert gradgradcheck(NORMS[name], (x,))


def test_nuclear_norm_with_equal_singular_values() -> None:
    x = torch.eye(2, dtype=torch.float64, requires_grad=True)
    torch.linalg.matrix_norm(x, "nuc").backward()
    assert torch.allclose(x.grad, torch.eye(2, dtype=torch.float64))


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("values", [[2.0, -3.0, 0.5], [2.0, 0.0, 0.5]])
def test_products_of_repeated_positions(include_self, values) -> None:
    x = torch.tensor([1.5, 2.5], dtype=torch.float64, requires_grad=True)
    src = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    where = torch.tensor([0, 0, 1])

    def product(x, src):
        return x.scatter_reduce(0, where, src, "prod", include_self=include_self)

    assert gradcheck(product, (x, src), check_forward_ad=True)
    assert gradgradcheck(product, (x, src))


def test_eigenvalues() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, -1.0]], dtype=torch.float64, requires_grad=True)
    assert gradgradcheck(lambda x: torch.linalg.eigvals(x).abs(), (x,))


def test_running_logarithms_of_complex_sums() -> None:
    x = torch.tensor([0.5 + 1j, -1 + 0.2j, 2 - 0.7j], dtype=torch.complex128, requires_grad=True)
    assert gradcheck(lambda x: torch.logcumsumexp(x, 0), (x,), check_forward_ad=True)
    assert gradgradcheck(lambda x: torch.logcumsumexp(x, 0), (x,))


@pytest.mark.parametrize("name", ["trapezoid", "cumulative_trapezoid"])
def test_areas_over_equal_steps_keep_nothing(name: str) -> None:
    x = torch.tensor([1.0, 2.0, 5.0], requires_grad=True) * 1
    y = getattr(torch, name)(x, dx=2.0).sum()
    first = torch.autograd.grad(y, x)
    # linear: a graph that holds no tensor can be walked again
    assert torch.equal(torch.autograd.grad(y, x)[0], first[0])
