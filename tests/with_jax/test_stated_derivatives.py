"""JAX differentiates operations by the gradients that their declarations state, not by what it
would make of their kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jtorch as torch
from jtorch.nn import functional as F

NOTHING, TIED = [0.0, 0.0, 0.0], [1.0, 2.0, 2.0]


def _total(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: (function(torch.as_tensor(x)) * torch.tensor([1.0, 2.0, 4.0])).sum().jax()


def _own(function: Callable[[Any], Any], values: list[float]) -> Any:
    x = torch.tensor(values, requires_grad=True)
    (function(x) * torch.tensor([1.0, 2.0, 4.0])).sum().backward()
    return x.grad.numpy()


#: Functions, the points at which JAX's derivative of their kernels is another, and PyTorch's
#: gradients there.
CASES: list[tuple[str, Callable[[Any], Any], list[float], list[float]]] = [
    ("norm", lambda x: x.norm(), NOTHING, NOTHING),
    ("abs", torch.abs, NOTHING, NOTHING),
    ("clamp", lambda x: x.clamp(0, 2), [0.0, 2.0, 3.0], [1.0, 2.0, 0.0]),
    ("relu6", F.relu6, [0.0, 6.0, 3.0], [0.0, 0.0, 4.0]),
    ("hardtanh", F.hardtanh, [1.0, -1.0, 0.5], [0.0, 0.0, 4.0]),
    ("max", lambda x: x.max(0).values, TIED, [0.0, 7.0, 0.0]),
    ("pow", lambda x: x ** torch.tensor([0.0, 1.0, 2.0]), NOTHING, [0.0, 2.0, 0.0]),
    ("normalize", lambda x: F.normalize(x, dim=0, eps=0.5), NOTHING, [2.0, 4.0, 8.0]),
    ("norm of order 3", lambda x: x.norm(3), NOTHING, NOTHING),
    ("largest norm", lambda x: x.norm(float("inf")), NOTHING, NOTHING),
    ("entr", torch.special.entr, [0.0, 1.0, -1.0], [float("inf"), -2.0, float("nan")]),
]


@pytest.mark.parametrize(
    ("name", "function", "values", "expected"), CASES, ids=[c[0] for c in CASES]
)
def test_by_all_of_jax(
    name: str, function: Callable[[Any], Any], values: list[float], expected: list[float]
) -> None:
    del name
    total, x, tangent = (
        _total(function),
        jnp.array(values, jnp.float32),
        jnp.array([3.0, 5.0, 7.0], jnp.float32),
    )
    np.testing.assert_allclose(_own(function, values), expected, rtol=1e-6)
    np.testing.assert_allclose(jax.grad(total)(x), expected, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(total)))(x[None])[0], expected, rtol=1e-6)
    np.testing.assert_allclose(
        jax.jvp(total, (x,), (tangent,))[1], np.dot(expected, tangent), rtol=1e-6
    )
    np.testing.assert_allclose(
        jax.vjp(total, x)[1](np.float32(2))[0], np.multiply(expected, 2), rtol=1e-6
    )
