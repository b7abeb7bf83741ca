"""Training steps of multilayer perceptrons: forward, backward, SGD, and the loss read each step."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..contest import Bar, Builder, Contest, Step, same_program

RATE = 0.05
BATCHES = 4


def _data(
    sizes: Sequence[int], batch: int
) -> tuple[list[np.ndarray], list[tuple[np.ndarray, np.ndarray]]]:
    rng = np.random.default_rng(0)
    weights = []
    for a, b in itertools.pairwise(sizes):
        weights += [
            (rng.standard_normal((b, a)) * a**-0.5).astype(np.float32),
            np.zeros(b, np.float32),
        ]
    batches = [
        (
            rng.standard_normal((batch, sizes[0])).astype(np.float32),
            rng.integers(0, sizes[-1], batch),
        )
        for _ in range(BATCHES)
    ]
    return weights, batches


def _program(sizes: Sequence[int], batch: int) -> Callable[[Any], Step]:
    def program(torch: Any) -> Step:
        nn, functional = torch.nn, torch.nn.functional
        weights, arrays = _data(sizes, batch)
        layers: list[Any] = []
        for a, b in itertools.pairwise(sizes):
            layers += [nn.Linear(a, b), nn.ReLU()]
        model = nn.Sequential(*layers[:-1])
        with torch.no_grad():
            for p, w in zip(model.parameters(), weights, strict=True):
                p.copy_(torch.tensor(w))
        optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
        batches = itertools.cycle([(torch.tensor(x), torch.tensor(y)) for x, y in arrays])

        def step() -> float:
            x, y = next(batches)
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.item()

        return Step(step)

    return program


def _jax(sizes: Sequence[int], batch: int, compiled: bool) -> Builder:
    def build() -> Step:
        import jax
        import jax.numpy as jnp

        weights, arrays = _data(sizes, batch)

        def loss_of(params: list[Any], x: Any, y: Any) -> Any:
            for i in range(0, len(params), 2):
                x = x @ params[i].T + params[i + 1]
                if i + 2 < len(params):
                    x = jnp.maximum(x, 0)
            return -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], 1).mean()

        def update(params: list[Any], x: Any, y: Any) -> tuple[Any, list[Any]]:
            loss, grads = jax.value_and_grad(loss_of)(params, x, y)
            return loss, [p - jnp.float32(RATE) * g for p, g in zip(params, grads, strict=True)]

        if compiled:
            update = jax.jit(update, donate_argnums=0)
        state = [jnp.asarray(w) for w in weights]
        batches = itertools.cycle([(jnp.asarray(x), jnp.asarray(y)) for x, y in arrays])

        def step() -> float:
            nonlocal state
            loss, state = update(state, *next(batches))
            return float(loss)

        return Step(step)

    return build


def _contest(name: str, sizes: Sequence[int], batch: int, bars: Sequence[Bar]) -> Contest:
    return Contest(
        name,
        same_program(
            _program(sizes, batch),
            jnp=_jax(sizes, batch, compiled=False),
            jit=_jax(sizes, batch, compiled=True),
        ),
        bars,
    )


CONTESTS: dict[str, Callable[[], Contest]] = {
    "MLP 784-256-256-10, batch 32": lambda: _contest(
        "MLP 784-256-256-10, batch 32",
        (784, 256, 256, 10),
        32,
        [Bar("deferred", 0.85, "torch"), Bar("deferred", 1.15, "jit")],
    ),
    "MLP 12 layers of 64, batch 16": lambda: _contest(
        "MLP 12 layers of 64, batch 16", (64,) * 12 + (4,), 16, [Bar("deferred", 1.0, "torch")]
    ),
}
