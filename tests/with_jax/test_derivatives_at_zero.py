"""JAX differentiates kernels by itself: where these choose a value, what they choose must have the
derivative, too."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jtorch as torch

X = np.array([0.0, -0.0, 0.0, 1.5, 0.0], np.float32)
Y = np.array([2.0, 0.3, 1.0, 3.0, 0.0], np.float32)


@pytest.mark.parametrize("name", ["xlogy", "xlog1py"])
def test_products_with_logarithms(name):
    function = getattr(torch.special, name)
    x, y = torch.tensor(X, requires_grad=True), torch.tensor(Y)
    function(x, y).sum().backward()

    def total(a, b):
        return function(torch.as_tensor(a), torch.as_tensor(b)).sum().jax()

    np.testing.assert_allclose(
        jax.grad(total)(jnp.array(X), jnp.array(Y)), x.grad.numpy(), rtol=1e-6
    )
    tangent = jax.jvp(lambda a: total(a, jnp.array(Y)), (jnp.array(X),), (jnp.ones_like(X),))[1]
    np.testing.assert_allclose(tangent, x.grad.sum().item(), rtol=1e-6)
    values = np.asarray(
        jax.jit(lambda a, b: function(torch.as_tensor(a), torch.as_tensor(b)).jax())(X, Y)
    )
    assert (values[X == 0] == 0).all() and not np.signbit(values[X == 0]).any()


def test_densities_where_a_concentration_is_one():
    def density(a):
        return (
            torch.distributions.Gamma(torch.as_tensor(a), torch.tensor(2.0))
            .log_prob(torch.tensor(0.5))
            .jax()
        )

    a = torch.tensor(1.0, requires_grad=True)
    torch.distributions.Gamma(a, torch.tensor(2.0)).log_prob(torch.tensor(0.5)).backward()
    np.testing.assert_allclose(jax.grad(density)(jnp.float32(1.0)), a.grad.item(), rtol=1e-6)
