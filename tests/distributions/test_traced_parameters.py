"""Distributions whose parameters are values that JAX traces."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jtorch as torch
from jtorch import distributions as D

PAIR = jnp.array([0.3, 0.7], jnp.float32)
MADE = {
    "normal": lambda p: D.Normal(p, p + 1),
    "beta": lambda p: D.Beta(p, p + 1),
    "geometric": D.Geometric,
    "continuous": lambda p: D.ContinuousBernoulli(p, validate_args=True),
    "categories": D.Categorical,
    "matrix": lambda p: D.MultivariateNormal(p, torch.diag(p)),
    "wishart": lambda p: D.Wishart(p.sum() + 3, torch.diag(p)),
    "moved": lambda p: D.TransformedDistribution(D.Normal(p, p), [D.ExpTransform()]),
}


def _value(name: str) -> object:
    return (
        torch.tensor(1) if name == "categories" else torch.ones(2) if name == "geometric" else torch.eye(2) if name == "wishart" else PAIR
    )


@pytest.mark.parametrize("name", MADE)
def test_parameters_that_are_traced_are_not_read(name: str) -> None:
    def probability(p):
        return MADE[name](torch.as_tensor(p)).log_prob(torch.as_tensor(_value(name))).sum().jax()

    wanted = probability(PAIR)
    np.testing.assert_allclose(jax.jit(probability)(PAIR), wanted, rtol=1e-5)
    np.testing.assert_allclose(jax.vmap(probability)(PAIR[None])[0], wanted, rtol=1e-5)
    leaf = torch.tensor(np.asarray(PAIR), requires_grad=True)
    MADE[name](leaf).log_prob(torch.as_tensor(_value(name))).sum().backward()
    np.testing.assert_allclose(jax.jit(jax.grad(probability))(PAIR), leaf.grad.numpy(), rtol=1e-4)


def test_what_is_known_is_checked_while_jax_traces() -> None:
    with pytest.raises(ValueError, match="Expected parameter scale"):
        jax.jit(lambda p: D.Normal(torch.as_tensor(p), torch.tensor(-1.0)).log_prob(torch.tensor(0.0)).jax())(jnp.float32(1))
    with pytest.raises(ValueError, match="greater than ndim - 1"):
        D.Wishart(torch.tensor(0.5), torch.eye(2))
