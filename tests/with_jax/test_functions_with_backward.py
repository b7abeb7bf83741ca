"""``autograd.Function`` inside JAX's transformations: the derivative is the one that its
``backward`` states."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jtorch as torch
from jtorch.utils.checkpoint import checkpoint

X = np.array([0.3, -1.2, 2.6], np.float32)


class Rounded(torch.autograd.Function):
    """The estimator that hands gradients straight through, times a factor."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: float) -> torch.Tensor:
        ctx.factor = factor
        return x.round()

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        return g * ctx.factor, None


class Product(torch.autograd.Function):
    """A product and a sign, whose gradient is three times its own; what it keeps is saved, or an
    attribute."""

    @staticmethod
    def forward(x: torch.Tensor, y: torch.Tensor) -> Any:
        return x * y, torch.sign(x), x > 0

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, y = inputs
        ctx.save_for_backward(x, None)
        ctx.kept = {"other": y}
        ctx.mark_non_differentiable(output[2])

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor, by_sign: torch.Tensor, _: Any) -> Any:
        return 3 * g * ctx.kept["other"] + by_sign if ctx.needs_input_grad[
            0
        ] else None, 3 * g * ctx.saved_tensors[0]


class Filled(torch.autograd.Function):
    """Writes to its argument."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        return g


def _straight(x: Any) -> Any:
    return (Rounded.apply(torch.as_tensor(x), 5.0) * torch.tensor([1.0, 2.0, 4.0])).sum().jax()


def _both(x: Any, y: Any) -> Any:
    product, sign, _ = Product.apply(torch.as_tensor(x), torch.as_tensor(y))
    return (product.sin() + sign).sum().jax()


def test_gradients_go_straight_through() -> None:
    expected = [5.0, 10.0, 20.0]
    np.testing.assert_array_equal(jax.grad(_straight)(X), expected)
    np.testing.assert_array_equal(jax.jit(jax.grad(_straight))(X), expected)
    np.testing.assert_array_equal(jax.grad(jax.jit(_straight))(X), expected)
    np.testing.assert_array_equal(jax.grad(jax.checkpoint(_straight))(X), expected)
    np.testing.assert_array_equal(jax.vmap(jax.grad(_straight))(np.stack([X, X]))[1], expected)
    np.testing.assert_array_equal(jax.jit(_straight)(X), np.dot(X.round(), [1, 2, 4]))


def test_what_is_kept_and_several_results() -> None:
    x, y = (torch.tensor(v, requires_grad=True) for v in (X, X[::-1].copy()))
    product, sign, flags = Product.apply(x, y)
    assert not flags.requires_grad
    (product.sin() + sign).sum().backward()
    for transformed in (
        jax.grad(_both, (0, 1)),
        jax.jit(jax.grad(_both, (0, 1))),
        jax.grad(jax.jit(_both), (0, 1)),
    ):
        found = transformed(X, X[::-1].copy())
        np.testing.assert_allclose(found[0], x.grad.numpy(), rtol=1e-6)
        np.testing.assert_allclose(found[1], y.grad.numpy(), rtol=1e-6)


def test_derivatives_of_backward() -> None:
    def twice(x: Any) -> Any:
        return jnp.sum(jax.grad(_both)(x, X))

    x = torch.tensor(X, requires_grad=True)
    product, sign, _ = Product.apply(x, torch.tensor(X))
    (first,) = torch.autograd.grad((product.sin() + sign).sum(), x, create_graph=True)
    first.sum().backward()
    np.testing.assert_allclose(jax.grad(twice)(X), x.grad.numpy(), rtol=1e-5)
    np.testing.assert_allclose(jax.jit(jax.grad(twice))(X), x.grad.numpy(), rtol=1e-5)


def test_derivatives_by_saved_results() -> None:
    class Grown(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
            return 2 * g * ctx.saved_tensors[0]

    def total(x: Any) -> Any:
        return Grown.apply(torch.as_tensor(x)).sum().jax()

    found = total
    for order in (2, 4, 8):  # each derivative takes the rule once more
        found = jax.grad(lambda x, found=found: jnp.sum(found(x)))
        np.testing.assert_allclose(found(X), order * np.exp(X), rtol=1e-6)


def test_complex_gradients() -> None:
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, z: torch.Tensor) -> torch.Tensor:
            return z * 2j

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
            return g * -2j

    def total(z: Any) -> Any:
        w = Scaled.apply(torch.as_tensor(z))
        return (w.real + 3 * w.imag).sum().jax()

    def plain(z: Any) -> Any:
        return jnp.sum((z * 2j).real + 3 * (z * 2j).imag)

    z = np.array([1 + 2j, 3 - 1j], np.complex64)
    np.testing.assert_allclose(jax.grad(total)(z), jax.grad(plain)(z))


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match="forward-mode"):
        jax.jvp(_straight, (X,), (X,))
    with pytest.raises(TypeError, match="forward-mode"):
        jax.hessian(_both)(X, X)
    with pytest.raises(
        NotImplementedError, match="Filled: a Function that writes to its arguments"
    ):
        jax.jit(lambda x: Filled.apply(torch.as_tensor(x)).jax())(X)


def test_reentrant_checkpoints_are_differentiated_by_jax() -> None:
    weight = jnp.float32(2)

    def total(w: Any, x: Any) -> Any:
        w = torch.as_tensor(w)
        return (
            checkpoint(lambda x: (x * w).sin(), torch.as_tensor(x), use_reentrant=True).sum().jax()
        )

    with pytest.warns(UserWarning, match="requires_grad"):
        found = jax.grad(total)(weight, X)
    np.testing.assert_allclose(found, np.sum(X * np.cos(2 * X)), rtol=1e-5)
