"""Distributions whose parameters are values that JAX traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
        torch.tensor(1)
        if name == "categories"
        else torch.ones(2)
        if name == "geometric"
        else torch.eye(2)
        if name == "wishart"
        else PAIR
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
        jax.jit(
            lambda p: (
                D.Normal(torch.as_tensor(p), torch.tensor(-1.0)).log_prob(torch.tensor(0.0)).jax()
            )
        )(jnp.float32(1))
    with pytest.raises(ValueError, match="greater than ndim - 1"):
        D.Wishart(torch.tensor(0.5), torch.eye(2))


def _drawn(make: Callable[[Any], Any], parameter: Any, count: int) -> Any:
    """Samples by JAX's key of a distribution whose parameter is traced."""

    def sample(key: Any, parameter: Any) -> Any:
        with torch.jax.with_key(key):
            return make(torch.as_tensor(parameter)).sample((count,)).jax()

    return np.asarray(jax.jit(sample)(jax.random.key(0), jnp.asarray(parameter, jnp.float32)))


def test_samples_of_normal_numbers_whose_parameters_are_traced() -> None:
    found = _drawn(lambda x: D.Normal(x, x.exp()), [0.5, -1.0], 4000)
    np.testing.assert_allclose(found.mean(0), [0.5, -1.0], atol=0.1)
    np.testing.assert_allclose(found.std(0), np.exp([0.5, -1.0]), rtol=0.05)
    mixture = _drawn(
        lambda x: D.MixtureSameFamily(D.Categorical(logits=x), D.Normal(x * 100, 1.0)),
        [0.0, np.log(3.0)],
        4000,
    )
    np.testing.assert_allclose((mixture > 50).mean(), 0.75, atol=0.03)


def test_wishart_samples_are_drawn_and_differentiated_where_they_are_traced() -> None:
    found = _drawn(lambda x: D.Wishart(torch.tensor(6.0), torch.diag(x)), [1.0, 2.0], 3000)
    assert found.shape == (3000, 2, 2)
    assert (np.linalg.eigvalsh(found) > 0).all()
    np.testing.assert_allclose(found.mean(0), [[6.0, 0.0], [0.0, 12.0]], atol=0.5)

    def trace(x: Any) -> Any:
        with torch.jax.with_key(jax.random.key(1)):
            return (
                D.Wishart(torch.tensor(6.0), torch.diag(torch.as_tensor(x))).rsample()[0, 0].jax()
            )

    x = jnp.array([1.0, 2.0], jnp.float32)
    value, slope = jax.jit(jax.value_and_grad(trace))(x)
    # proportional to the first scale
    np.testing.assert_allclose(slope, [value, 0.0], rtol=1e-4, atol=1e-5)
