"""Hessian-vector product of the small GPT: the gradient recorded with ``create_graph``, and walked
back once more."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from ..contest import Bar, Builder, Contest, Step, same_program
from . import gpt


def program(torch: Any, compile: bool = False) -> Step:
    """The product in PyTorch's terms."""
    model, loss_of = gpt.model_of(torch)
    parameters = list(model.parameters())
    vectors = [torch.ones_like(p) * 0.01 for p in parameters]

    def product() -> Any:
        with math_attention(torch):
            grads = torch.autograd.grad(loss_of(), parameters, create_graph=True)
        found = torch.autograd.grad(grads, parameters, vectors)
        return sum(g.square().sum() for g in found)

    if compile:
        product = torch.compile(product)
    return Step(lambda: product().item())


def math_attention(torch: Any) -> Any:
    """A block in which PyTorch's fused attention, which has no second derivative, is not used."""
    if torch.__name__ != "torch":
        return contextlib.nullcontext()
    return torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)


def jax_builder(compiled: bool) -> Builder:
    """The product by ``jax.grad`` of a directional derivative."""

    def build() -> Step:
        import jax
        import jax.numpy as jnp

        params, loss_of = gpt.jax_loss()
        vectors = [jnp.full_like(p, 0.01) for p in params]

        def product(p: list[Any]) -> Any:
            found = jax.grad(
                lambda q: sum(
                    jnp.vdot(g, v) for g, v in zip(jax.grad(loss_of)(q), vectors, strict=True)
                )
            )(p)
            return sum(jnp.vdot(g, g) for g in found)

        run = jax.jit(product) if compiled else product
        return Step(lambda: float(run(params)))

    return build


def contest() -> Contest:
    """The product's row."""
    builders = same_program(
        program, jnp=jax_builder(compiled=False), jit=jax_builder(compiled=True)
    )
    return Contest(
        "Hessian-vector product of the GPT",
        builders,
        [Bar("deferred", 2.0, "jit")],
        agree=1e-2,
        apart=True,
    )


CONTESTS: dict[str, Callable[[], Contest]] = {"Hessian-vector product of the GPT": contest}
