"""Training step of an LSTM: 64 steps, hidden size 256, batch 32, plain SGD. The same model and work
for everybody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..contest import Bar, Builder, Contest, Step, by_cores, same_program

TIME, HIDDEN, BATCH, INPUTS, OUTPUTS = 64, 256, 32, 128, 32
RATE = 1e-2


def _data() -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Weights in the order of ``parameters()``, inputs and targets."""
    rng = np.random.default_rng(0)

    def matrix(*shape: int) -> np.ndarray:
        return (rng.uniform(-1, 1, shape) / HIDDEN**0.5).astype(np.float32)

    weights = [
        matrix(4 * HIDDEN, INPUTS),
        matrix(4 * HIDDEN, HIDDEN),
        matrix(4 * HIDDEN),
        matrix(4 * HIDDEN),
    ]
    weights += [matrix(OUTPUTS, HIDDEN), matrix(OUTPUTS)]
    inputs = rng.standard_normal((TIME, BATCH, INPUTS)).astype(np.float32)
    return weights, inputs, rng.integers(0, OUTPUTS, BATCH)


def program(torch: Any, compile: bool = False) -> Step:
    """The step in PyTorch's terms."""
    nn = torch.nn
    weights, inputs, targets = _data()
    lstm, head = nn.LSTM(INPUTS, HIDDEN), nn.Linear(HIDDEN, OUTPUTS)
    params = [*lstm.parameters(), *head.parameters()]
    with torch.no_grad():
        for p, w in zip(params, weights, strict=True):
            p.copy_(torch.tensor(w))
    optimizer = torch.optim.SGD(params, lr=RATE)
    x, y = torch.tensor(inputs), torch.tensor(targets)

    def train() -> Any:
        optimizer.zero_grad()
        out, _ = lstm(x)
        loss = nn.functional.cross_entropy(head(out[-1]), y)
        loss.backward()
        optimizer.step()
        return loss

    if compile:
        train = torch.compile(train)
    return Step(lambda: train().item())


def jax_builder() -> Builder:
    """The step as one writes it for ``jax.jit``: the input's products for all steps at once, then a
    scan."""

    def build() -> Step:
        import jax
        import jax.numpy as jnp

        weights, inputs, targets = _data()
        x, y = jnp.asarray(inputs), jnp.asarray(targets)

        def loss_of(p: list[Any]) -> Any:
            wi, wh, bi, bh, w, b = p
            gates = x @ wi.T + bi + bh

            def cell(state: Any, g: Any) -> Any:
                h, c = state
                i, f, n, o = jnp.split(g + h @ wh.T, 4, axis=1)
                c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(n)
                h = jax.nn.sigmoid(o) * jnp.tanh(c)
                return (h, c), None

            zero = jnp.zeros((BATCH, HIDDEN), jnp.float32)
            (h, _), _ = jax.lax.scan(cell, (zero, zero), gates)
            logits = h @ w.T + b
            return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean()

        def update(p: list[Any]) -> tuple[Any, list[Any]]:
            loss, grads = jax.value_and_grad(loss_of)(p)
            return loss, [a - RATE * g for a, g in zip(p, grads, strict=True)]

        update = jax.jit(update, donate_argnums=0)
        state = [jnp.asarray(w) for w in weights]

        def step() -> float:
            loss, state[:] = update(state)
            return float(loss)

        return Step(step)

    return build


def contest() -> Contest:
    """The LSTM's row."""
    bars = [Bar("deferred", 1.05, "jit"), Bar("deferred", by_cores(0.95, 1.1), "torch")]
    return Contest(
        "LSTM T 64 h 256 b 32",
        same_program(program, jit=jax_builder()),
        bars,
        agree=1e-3,
        apart=True,
    )


CONTESTS: dict[str, Callable[[], Contest]] = {"LSTM T 64 h 256 b 32": contest}
