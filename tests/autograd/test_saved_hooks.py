"""What ``saved_tensors_hooks`` are given, and that derivatives of derivatives pass through them."""

from __future__ import annotations

from typing import Any

import pytest

import jtorch as torch
from jtorch.autograd.graph import save_on_cpu, saved_tensors_hooks
from jtorch.utils.checkpoint import checkpoint


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


def through_numpy() -> saved_tensors_hooks:
    return saved_tensors_hooks(lambda t: t.detach().numpy().copy(), torch.from_numpy)


@pytest.mark.parametrize(
    "block",
    [save_on_cpu, through_numpy, lambda: saved_tensors_hooks(lambda t: t.detach(), lambda t: t)],
)
@pytest.mark.parametrize(
    "cube", [lambda x: x * x * x, lambda x: x**3, Cube.apply, lambda x: Cube.apply(x * 1.0)]
)
def test_second_derivatives(block: Any, cube: Any) -> None:
    x = torch.tensor(2.0, requires_grad=True)
    with block():
        y = cube(x)
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(g, x)
    assert (g.item(), second.item()) == (12.0, 12.0)


def test_leaves_are_given_themselves_and_others_with_their_history() -> None:
    seen: list[Any] = []
    w = torch.nn.Parameter(torch.ones(2))
    plain = torch.ones(2)
    with saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        h = w * plain
        y = (h * w).exp()
    assert [(type(t).__name__, t.requires_grad, t.is_leaf) for t in seen] == [
        ("Tensor", False, True),
        ("Tensor", True, False),
        ("Parameter", True, True),
        ("Tensor", True, False),
    ]
    assert seen[2] is w and seen[1].grad_fn is h.grad_fn and seen[3].grad_fn is y.grad_fn
    y.sum().backward()
    assert w.grad is not None and torch.allclose(w.grad, 2 * torch.ones(2) * torch.e)


def _parts(kind: str) -> Any:
    """A function of a matrix that goes through a transformation."""
    if kind == "vmap":
        return torch.vmap(lambda x: (x.sin() @ x).exp())
    if kind == "nested vmap":
        return torch.vmap(torch.vmap(lambda x: x.sin().exp()))
    return lambda x: torch.func.jvp(lambda x: x.sin().exp(), (x,), (x.detach(),))[1]


@pytest.mark.parametrize("kind", ["vmap", "nested vmap", "jvp"])
def test_hooks_get_what_values_inside_transformations_stand_for(kind: str) -> None:
    f, shapes = _parts(kind), []
    x = (torch.arange(12.0) / 10).reshape(3, 2, 2).requires_grad_()
    (expected,) = torch.autograd.grad(f(x).sum(), x)

    def pack(t: Any) -> Any:
        shapes.append(tuple(t.shape))
        return t.numpy(force=True)

    with torch.autograd.graph.saved_tensors_hooks(pack, torch.from_numpy):
        y = f(x).sum()
    (found,) = torch.autograd.grad(y, x)
    assert shapes and all(shape in ((3, 2, 2), ()) for shape in shapes)
    assert found.flatten().tolist() == pytest.approx(expected.flatten().tolist())
    (again,) = torch.autograd.grad(checkpoint(lambda x: f(x).sum(), x, use_reentrant=False), x)
    assert again.flatten().tolist() == pytest.approx(expected.flatten().tolist())


def test_checkpoints_around_vmap_reach_what_it_captures() -> None:
    w = torch.tensor([[1.0, 0.5], [-1.0, 2.0]], requires_grad=True)
    x = (torch.arange(12.0) / 10).reshape(3, 2, 2).requires_grad_()

    def f(x: Any) -> Any:
        return torch.vmap(lambda x: (x @ w).sin().exp())(x).sum()

    expected = torch.autograd.grad(f(x), [x, w])
    found = torch.autograd.grad(checkpoint(f, x, use_reentrant=False), [x, w])
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape and a.flatten().tolist() == pytest.approx(b.flatten().tolist())
