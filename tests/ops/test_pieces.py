"""Kernels with very many operands or results, which run in pieces."""

from __future__ import annotations

import numpy as np
import pytest

import jtorch as torch
from jtorch._src.engine import values
from jtorch._src.ops import _pieces

MANY = 3 * _pieces.MANY + 1


def spy(monkeypatch: pytest.MonkeyPatch, name: str) -> list[int]:
    """How many results each piecewise run of a kernel gave."""
    made: list[int] = []
    function = getattr(_pieces, name)
    monkeypatch.setattr(_pieces, name, lambda *args: made.append(1) or function(*args))
    return made


@pytest.mark.parametrize("join", [torch.stack, torch.cat])
@pytest.mark.parametrize("mixed", [False, True])
def test_gradients_of_joining_many(join, mixed) -> None:
    xs = [
        torch.full((3,), float(i), dtype=torch.float32 if mixed and i % 3 == 0 else torch.float64)
        for i in range(MANY)
    ]
    for i, x in enumerate(xs):
        x.requires_grad_(i % 5 != 0)
    made = join([x * 2 for x in xs])
    assert made.flatten()[::3].tolist() == [2.0 * i for i in range(MANY)]
    weights = torch.arange(made.numel(), dtype=torch.float64).reshape(made.shape)
    (made * weights).sum().backward()
    for i, x in enumerate(xs):
        if x.requires_grad:
            assert x.grad.dtype is x.dtype
            assert x.grad.tolist() == [2.0 * (3 * i + k) for k in range(3)]
        else:
            assert x.grad is None


@pytest.mark.parametrize("dim", [0, -1])
def test_taking_apart_and_joining_again(dim) -> None:
    x = (
        torch.arange(MANY * 2, dtype=torch.float64)
        .reshape((MANY, 2) if dim == 0 else (2, MANY))
        .requires_grad_()
    )
    made = torch.stack([row * row for row in x.unbind(dim)], dim) + torch.cat(
        [part + 1 for part in x.split(1, dim)], dim
    )
    np.testing.assert_array_equal(made.detach().numpy(), (x * x + x + 1).detach().numpy())
    made.sum().backward()
    assert torch.equal(x.grad, (2 * x + 1).detach())


def test_pieces_are_one_small_program(monkeypatch) -> None:
    monkeypatch.setattr(values, "tier", "xla")
    made = spy(monkeypatch, "_element")
    rows = (torch.arange(MANY * 2.0).reshape(MANY, 2).requires_grad_() * 1).unbind()
    assert rows[-1].sum().item() == 4 * MANY - 3
    assert len(made) == MANY


def test_second_derivatives_through_pieces() -> None:
    x = torch.linspace(0, 1, MANY, dtype=torch.float64)
    found = torch.autograd.functional.hessian(
        lambda x: torch.stack([c**3 for c in x.unbind()]).sum(), x
    )
    assert torch.allclose(found, torch.diag(6 * x))
