"""``no_grad`` inside a function that JAX differentiates, and around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import jtorch as torch

X = np.array([1.0, 2.0, 3.0], np.float32)
ONES = np.ones(3, np.float32)


def _result(x: Any) -> Any:
    with torch.no_grad():
        y = x * 2
    return (y * x).sum()


def _inference(x: Any) -> Any:
    with torch.inference_mode():
        y = x * 2
    return (y * x).sum()


def _switched(x: Any) -> Any:
    torch.set_grad_enabled(False)
    y = x * 2
    torch.set_grad_enabled(True)
    return (y * x).sum()


def _decorated(x: Any) -> Any:
    return (torch.no_grad()(lambda x: x * 2)(x) * x).sum()


def _on_again(x: Any) -> Any:
    with torch.no_grad():
        with torch.enable_grad():
            y = x * 2
        z = y * 1
    return (z * y).sum()


def _written(x: Any) -> Any:
    y = x * 2
    with torch.no_grad():
        y.mul_(3)
    return (y * y).sum()


def _zeroed(x: Any) -> Any:
    y = x * 2
    with torch.no_grad():
        y.zero_()
    return (y + 1).pow(2).sum()


def _view_written(x: Any) -> Any:
    y = x * 2
    with torch.no_grad():
        y[0] = 5
        y[1:].mul_(2)
    return (y * y).sum()


def _copied(x: Any) -> Any:
    made = torch.zeros(3)
    with torch.no_grad():
        made.copy_(x)
    return (made * x).sum()


def _detached_written(x: Any) -> Any:
    y = x * 2
    y.detach().mul_(3)
    return (y * y).sum()


def _data_written(x: Any) -> Any:
    y = x * 2
    with torch.no_grad():
        y.data.add_(1)
    return (y * y).sum()


def _read_first(x: Any) -> Any:
    y = x * 2
    v = y[1:]
    y.add_(1)
    with torch.no_grad():
        v.sum()
    return (v * v).sum()


def _view(x: Any) -> Any:
    y = x * 2
    with torch.no_grad():
        v = y[1:]
    return (v * x[1:]).sum()


def _examples(x: Any) -> Any:
    def one(row: Any) -> Any:
        y = row * 2
        with torch.no_grad():
            y.mul_(3)
            z = y * 2
        return (y * row * z).sum()

    return torch.vmap(one)(x.reshape(1, 3)).sum()


def _inner(x: Any) -> Any:
    with torch.no_grad():
        g = torch.func.grad(lambda w: (w**3).sum())(x)
    return (g * x).sum()


def _inner_stops(x: Any) -> Any:
    def inner(w: Any) -> Any:
        with torch.no_grad():
            y = w * 2
        return (y * w).sum()

    return (torch.func.grad(inner)(x) * x).sum()


#: Functions, and the gradients at ``X`` that ``torch.func.grad`` gives.
CASES: list[tuple[Callable[[Any], Any], list[float]]] = [
    (_result, [2, 4, 6]),
    (_switched, [2, 4, 6]),
    (_decorated, [2, 4, 6]),
    (_on_again, [4, 8, 12]),
    (_written, [24, 48, 72]),
    (_zeroed, [4, 4, 4]),
    (_view_written, [20, 32, 48]),
    (_copied, [1, 2, 3]),
    (_detached_written, [24, 48, 72]),
    (_data_written, [12, 20, 28]),
    (_read_first, [0, 20, 28]),
    (_view, [0, 4, 6]),
    (_examples, [96, 384, 864]),
    (_inner, [3, 12, 27]),
    (_inner_stops, [2, 4, 6]),
]
NAMES = [f.__name__.lstrip("_") for f, _ in CASES]


def _array(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: function(torch.as_tensor(x)).jax()


@pytest.mark.parametrize(("function", "expected"), CASES, ids=NAMES)
def test_derivatives_end(function: Any, expected: list[float]) -> None:
    f = _array(function)
    np.testing.assert_allclose(jax.grad(f)(X), expected)
    np.testing.assert_allclose(jax.jit(jax.grad(f))(X), expected)
    np.testing.assert_allclose(jax.grad(jax.jit(f))(X), expected)
    np.testing.assert_allclose(jax.vmap(jax.grad(f))(np.stack([X, X])), [expected, expected])
    np.testing.assert_allclose(jax.jvp(f, (X,), (ONES,))[1], np.sum(expected))
    np.testing.assert_allclose(jax.vjp(f, X)[1](np.float32(1))[0], expected)


@pytest.mark.parity
@pytest.mark.parametrize("index", range(len(CASES)), ids=NAMES)
def test_as_in_torch(index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch as original

    monkeypatch.setitem(globals(), "torch", original)
    function, expected = CASES[index]
    found = original.func.grad(function)(original.tensor(X))
    np.testing.assert_allclose(found.numpy(), expected)


def test_derivatives_end_in_inference_mode() -> None:
    np.testing.assert_allclose(jax.grad(_array(_inference))(X), [2, 4, 6])


def test_a_block_around_the_transformation_stops_nothing_inside() -> None:
    f = _array(lambda x: (x * x).sum())
    with torch.no_grad():
        np.testing.assert_allclose(jax.grad(f)(X), 2 * X)
        np.testing.assert_allclose(jax.grad(_array(_result))(X), 2 * X)
        np.testing.assert_allclose(jax.jit(jax.grad(f))(X), 2 * X)
        assert not torch.is_grad_enabled()


def test_results_of_inner_transformations_are_stopped() -> None:
    def total(x: Any) -> Any:
        x = torch.as_tensor(x)
        with torch.no_grad():
            g = jax.grad(lambda w: (w**3).sum().jax())(x)
        return (g * x).sum().jax()

    np.testing.assert_allclose(jax.grad(total)(X), 3 * X**2)


def test_views_of_what_is_written_later_are_stopped() -> None:
    def total(x: Any) -> Any:
        y = torch.as_tensor(x) * 2
        with torch.no_grad():
            v = y[1:]
        y.add_(1)
        return (v * v).sum().jax()

    value, gradient = jax.value_and_grad(total)(X)
    assert float(value) == 25 + 49
    np.testing.assert_allclose(gradient, np.zeros(3))


def test_second_derivatives_of_what_is_written() -> None:
    found = jax.jacrev(jax.jacrev(_array(_written)))(X)
    np.testing.assert_allclose(found, 8 * np.eye(3))


@pytest.mark.parametrize("kind", ["embedding", "gather"])
def test_sparse_gradients_are_differentiated(kind: str) -> None:
    def total(x: Any) -> Any:
        x = torch.as_tensor(x)
        w = torch.ones(4, 3, requires_grad=True)
        for _ in range(2):
            if kind == "embedding":
                taken = torch.nn.functional.embedding(torch.tensor([0, 2]), w, sparse=True)
            else:
                taken = torch.gather(w, 0, torch.tensor([[0, 1, 2], [2, 1, 0]]), sparse_grad=True)
            (taken * x * x).sum().backward()
        return w.grad.to_dense().sum().jax()

    np.testing.assert_allclose(jax.grad(total)(X), 8 * X)


def test_exported_programs_are_differentiated() -> None:
    class Squares(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x * x).sum()

    program = torch.export.stablehlo(torch.export.export(Squares(), (torch.ones(3),)))
    np.testing.assert_allclose(
        jax.grad(lambda x: jax.tree.leaves(program.call({}, x))[0])(X), 2 * X
    )


def test_the_mode_is_as_before_after_an_error() -> None:
    def failing(x: Any) -> Any:
        with torch.no_grad():
            raise KeyError("here")

    with pytest.raises(KeyError, match="here"):
        jax.grad(failing)(X)
    assert torch.is_grad_enabled()
    np.testing.assert_allclose(jax.grad(_array(lambda x: (x * x).sum()))(X), 2 * X)


@pytest.mark.parametrize(
    "make",
    [
        lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.5, momentum=0.9),
        lambda p: torch.optim.AdamW(p, lr=0.1),
        lambda p: torch.optim.RMSprop(p, lr=0.1, weight_decay=0.5),
    ],
    ids=["SGD", "AdamW", "RMSprop"],
)
def test_an_optimisers_step_has_no_derivative_of_its_own(make: Callable[[Any], Any]) -> None:
    def after(x: Any) -> Any:
        p = torch.as_tensor(x)
        p.grad = p * 3
        make([p]).step()
        return (p * p).sum().jax()

    stepped = torch.tensor(X)
    stepped.grad = stepped * 3
    make([stepped]).step()
    np.testing.assert_allclose(jax.grad(after)(X), 2 * stepped.numpy(), rtol=1e-6, atol=1e-6)


def test_rows_that_are_renormalised_keep_their_derivative() -> None:
    weight = np.arange(6, dtype=np.float32).reshape(3, 2)
    places = torch.tensor([[0, 2]])
    w = torch.nn.Parameter(torch.tensor(weight))
    F = torch.nn.functional
    (F.embedding(places, w, max_norm=1.0) ** 2).sum().backward()

    def table(x: Any) -> Any:
        return (F.embedding(places, torch.as_tensor(x), max_norm=1.0) ** 2).sum().jax()

    def bags(x: Any) -> Any:
        return (
            (F.embedding_bag(places.mT, torch.as_tensor(x), max_norm=1.0, mode="sum") ** 2)
            .sum()
            .jax()
        )

    assert w.grad is not None and w.grad.abs().sum() > 1
    np.testing.assert_allclose(jax.grad(table)(weight), w.grad.numpy(), rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.grad(bags))(weight), w.grad.numpy(), rtol=1e-6)
