"""Second derivatives that JAX takes of operations, where their rules read results or what was
computed on the way to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import jtorch as torch
from jtorch.nn import functional as F

#: Functions, and points at which JAX's second derivative of their kernels is NaN.
CASES: dict[str, tuple[Callable[[Any], Any], list[float]]] = {
    "std": (lambda x: x.std(), [1, 1, 1]),
    "std_mean": (lambda x: sum(torch.std_mean(x)), [1, 1, 1]),
    "std of columns": (lambda x: x.reshape(2, 2).std(0).sum(), [1, 2, 1, 3]),
    "norm": (lambda x: x.norm(), [0, 0]),
    "dist": (lambda x: torch.dist(x, torch.ones(2)), [1, 1]),
    "dist of halves": (lambda x: torch.dist(x, torch.ones(3), 0.5), [1, 2, 3]),
    "normalize": (lambda x: F.normalize(x, dim=0).sum(), [0, 0]),
}


def _total(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: function(torch.as_tensor(x)).jax()


def _own(function: Callable[[Any], Any], values: Any) -> Any:
    x = torch.tensor(values, requires_grad=True)
    (first,) = torch.autograd.grad(function(x), x, create_graph=True)
    return np.stack([torch.autograd.grad(g, x, retain_graph=True)[0].numpy() for g in first])


@pytest.mark.parametrize("name", CASES)
def test_as_backward_has_them(name: str) -> None:
    function, point = CASES[name]
    values = np.array(point, np.float32)
    expected = _own(function, values)
    total = _total(function)
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(jax.jacrev(jax.grad(total))(values), expected, rtol=1e-4, atol=2e-6)
    np.testing.assert_allclose(jax.jacfwd(jax.grad(total))(values), expected, rtol=1e-4, atol=2e-6)
    np.testing.assert_allclose(jax.jit(jax.hessian(total))(values), expected, rtol=1e-4, atol=2e-6)


@pytest.mark.parity
@pytest.mark.parametrize("name", ["std", "std_mean", "std of columns"])
def test_as_in_torch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch as original

    function, point = CASES[name]
    total = _total(function)
    found = jax.jacrev(jax.grad(total))(np.array(point, np.float32))
    monkeypatch.setitem(globals(), "torch", original)
    expected = original.autograd.functional.hessian(
        function, original.tensor(point, dtype=original.float32)
    )
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-4, atol=2e-6)


INFINITE = float("inf")

#: Functions of one number each, points, and the second derivatives that PyTorch has there.
ELEMENTWISE: dict[str, tuple[Callable[[Any], Any], list[float], list[float]]] = {
    "lgamma": (torch.lgamma, [0.0, 1.0, INFINITE], [INFINITE, 1.6449340668, 0.0]),
    "digamma": (torch.digamma, [0.0, -1.0, 1.0], [-INFINITE, -INFINITE, -2.4041138063]),
    "polygamma": (lambda x: torch.polygamma(1, x), [0.0, 1.0], [INFINITE, 6.4939394023]),
    "polygamma of order 2": (lambda x: x.polygamma(2), [0.0, 1.0], [-INFINITE, -24.8862661234]),
    "zeta": (
        lambda x: torch.special.zeta(torch.full_like(x, 2), x),
        [1.0, 2.0],
        [6.4939394023, 0.4939394023],
    ),
    "huber": (
        lambda x: F.huber_loss(x, torch.zeros_like(x), reduction="none"),
        [1.0, -1.0, 0.5, 2.0],
        [0.0, 0.0, 1.0, 0.0],
    ),
    "softplus": (lambda x: F.softplus(x, threshold=2), [2.0, 0.0, 3.0], [0.0, 0.25, 0.0]),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_of_elements_where_functions_change(name: str) -> None:
    function, values, expected = ELEMENTWISE[name]
    x, ones = np.array(values), np.ones(len(values))
    first = jax.grad(_total(lambda x: function(x).sum()))
    np.testing.assert_allclose(
        np.diagonal(_own(lambda x: function(x).sum(), x)), expected, rtol=1e-8
    )
    np.testing.assert_allclose(jax.grad(lambda x: first(x).sum())(x), expected, rtol=1e-8)
    np.testing.assert_allclose(jax.jvp(first, (x,), (ones,))[1], expected, rtol=1e-8)


def test_tangents_of_logit_where_it_is_clamped() -> None:
    x = np.array([0.0, 1.0, 0.5])
    found = jax.jvp(lambda x: torch.logit(torch.as_tensor(x), 0.25).jax(), (x,), (np.ones(3),))[1]
    np.testing.assert_allclose(found, [0, 0, 4])
