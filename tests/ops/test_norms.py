"""Vector norms, torch.norm and dist."""

from __future__ import annotations

import math

import pytest

import jtorch as torch

inf = math.inf


@pytest.mark.parametrize(
    ("p", "expected"),
    [(2, 5), (1, 7), (0, 2), (inf, 4), (-inf, 0), (3, 91 ** (1 / 3)), (0.5, (3**0.5 + 2) ** 2)],
)
def test_orders(p: float, expected: float) -> None:
    assert torch.linalg.vector_norm(torch.tensor([3.0, 0.0, -4.0]), p).item() == pytest.approx(
        expected
    )


def test_forms_of_norm() -> None:
    x = torch.tensor([[3.0, 4.0], [0.0, 0.0]])
    assert torch.norm(x).item() == x.norm(2).item() == torch.norm(x, p=None).item() == 5
    assert x.norm(dim=1).tolist() == [5, 0] and x.norm(1, 0, True).tolist() == [[3, 4]]
    assert torch.norm(torch.tensor([3 + 4j])).dtype is torch.float32
    assert x.norm(dtype=torch.float64).dtype is torch.float64


def test_gradient_at_zero_is_zero() -> None:
    for p in (0.5, 1, 1.5, 2, 3, inf):
        x = torch.zeros(2, requires_grad=True)
        torch.linalg.vector_norm(x, p).backward()
        assert x.grad.tolist() == [0, 0], p


def test_gradients() -> None:
    for p, expected in ((2, [0.6, -0.8]), (1, [1, -1]), (inf, [0, -1])):
        x = torch.tensor([3.0, -4.0], requires_grad=True)
        torch.linalg.vector_norm(x, p).backward()
        assert x.grad.tolist() == pytest.approx(expected)
    x = torch.tensor([3.0, -3.0], requires_grad=True)
    torch.linalg.vector_norm(x, inf).backward()
    assert x.grad.tolist() == [0.5, -0.5]


def test_dist() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    d = torch.dist(x, torch.tensor([[1.0, 2.0], [4.0, 6.0]]))
    d.backward()
    assert d.item() == 5 and x.grad.tolist() == pytest.approx([-0.6, -0.8])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: torch.linalg.vector_norm(torch.ones(0, 3), inf),
            "cannot compute the inf norm on an empty tensor",
        ),
        (
            lambda: torch.linalg.vector_norm(torch.arange(3)),
            "Expected a floating point or complex tensor as input. Got Long",
        ),
        (
            lambda: torch.linalg.vector_norm(torch.ones(3), dtype=torch.complex64),
            "should be real for real inputs, but got ComplexFloat",
        ),
        (
            lambda: torch.dist(torch.arange(3), torch.arange(3)),
            "input dtype should be either floating point or complex. Got Long instead.",
        ),
    ],
)
def test_errors(call, text) -> None:
    with pytest.raises(RuntimeError, match=text):
        call()
