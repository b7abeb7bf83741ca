"""Training step of a small GPT: 2 blocks of width 256, 128 characters, batch 4, AdamW. The same
model and work for everybody."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..contest import Bar, Builder, Contest, Step, same_program

VOCABULARY, CONTEXT, WIDTH, HEADS, BLOCKS, BATCH = 96, 128, 256, 4, 2, 4
#: Hand-written JAX with the setting that keeps freed memory.
KEPT = "jit, memory kept"
RATE, BETAS, EPS, DECAY = 1e-3, (0.9, 0.999), 1e-8, 1e-2


def _data() -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Weights in the order of ``Model.parameters()``, ids and targets."""
    rng = np.random.default_rng(0)

    def matrix(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) * 0.02).astype(np.float32)

    def norm() -> list[np.ndarray]:
        return [np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)]

    def linear(inputs: int, outputs: int) -> list[np.ndarray]:
        return [matrix(outputs, inputs), np.zeros(outputs, np.float32)]

    weights = [matrix(VOCABULARY, WIDTH), matrix(CONTEXT, WIDTH)]
    for _ in range(BLOCKS):
        weights += [
            *norm(),
            *linear(WIDTH, 3 * WIDTH),
            *linear(WIDTH, WIDTH),
            *norm(),
            *linear(WIDTH, 4 * WIDTH),
            *linear(4 * WIDTH, WIDTH),
        ]
    weights += [*norm(), matrix(VOCABULARY, WIDTH)]
    ids, targets = rng.integers(0, VOCABULARY, (2, BATCH, CONTEXT))
    return weights, ids, targets


def model_of(torch: Any) -> tuple[Any, Callable[[], Any]]:
    """The model in PyTorch's terms, and a function that gives its loss."""
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1 = nn.LayerNorm(WIDTH)
            self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
            self.out = nn.Linear(WIDTH, WIDTH)
            self.norm2 = nn.LayerNorm(WIDTH)
            self.up = nn.Linear(WIDTH, 4 * WIDTH)
            self.down = nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: Any) -> Any:
            q, k, v = (
                t.view(BATCH, CONTEXT, HEADS, WIDTH // HEADS).transpose(1, 2)
                for t in self.qkv(self.norm1(x)).split(WIDTH, dim=2)
            )
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(BATCH, CONTEXT, WIDTH))
            return x + self.down(functional.gelu(self.up(self.norm2(x))))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(VOCABULARY, WIDTH)
            self.positions = nn.Embedding(CONTEXT, WIDTH)
            self.blocks = nn.ModuleList([Block() for _ in range(BLOCKS)])
            self.norm = nn.LayerNorm(WIDTH)
            self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

        def forward(self, ids: Any) -> Any:
            x = self.tokens(ids) + self.positions(torch.arange(CONTEXT))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    weights, ids, targets = _data()
    model = Model()
    with torch.no_grad():
        for p, w in zip(model.parameters(), weights, strict=True):
            p.copy_(torch.tensor(w))
    ids, targets = torch.tensor(ids), torch.tensor(targets)
    return model, lambda: functional.cross_entropy(
        model(ids).view(-1, VOCABULARY), targets.view(-1)
    )


def program(torch: Any, compile: bool = False) -> Step:
    """The step in PyTorch's terms."""
    model, loss_of = model_of(torch)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=RATE, betas=BETAS, eps=EPS, weight_decay=DECAY
    )

    def train() -> Any:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss

    if compile:
        train = torch.compile(train)
    return Step(lambda: train().item())


def jax_loss() -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The parameters, and the loss of them as one writes it in ``jax.numpy``, without tricks."""
    import jax
    import jax.numpy as jnp

    weights, ids, targets = _data()
    ids, targets = jnp.asarray(ids), jnp.asarray(targets)

    def norm(x: Any, w: Any, b: Any) -> Any:
        mean = x.mean(-1, keepdims=True)
        var = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(var + jnp.float32(1e-5)) * w + b

    def block(x: Any, p: list[Any]) -> Any:
        n1w, n1b, qkvw, qkvb, ow, ob, n2w, n2b, uw, ub, dw, db = p
        q, k, v = (
            z.reshape(BATCH, CONTEXT, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)
            for z in jnp.split(norm(x, n1w, n1b) @ qkvw.T + qkvb, 3, axis=2)
        )
        scores = q @ k.swapaxes(-1, -2) / jnp.float32((WIDTH // HEADS) ** 0.5)
        scores = jnp.where(jnp.tril(jnp.ones((CONTEXT, CONTEXT), bool)), scores, -jnp.inf)
        y = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(BATCH, CONTEXT, WIDTH)
        x = x + y @ ow.T + ob
        return x + jax.nn.gelu(norm(x, n2w, n2b) @ uw.T + ub, approximate=False) @ dw.T + db

    def loss_of(p: list[Any]) -> Any:
        x = p[0][ids] + p[1][jnp.arange(CONTEXT)]
        for i in range(BLOCKS):
            x = block(x, p[2 + 12 * i : 14 + 12 * i])
        logits = (norm(x, p[-3], p[-2]) @ p[-1].T).reshape(-1, VOCABULARY)
        return -jnp.take_along_axis(
            jax.nn.log_softmax(logits), targets.reshape(-1)[:, None], 1
        ).mean()

    return [jnp.asarray(w) for w in weights], loss_of


def jax_builder(compiled: bool, kept: bool = False) -> Builder:
    """The step with that loss; compiled, with donated state; ``kept``: with the memory setting of
    this package, which none of it sets."""

    def build() -> Step:
        if kept:
            runpy.run_path(
                str(Path(__file__).parents[2] / "jtorch" / "_src" / "engine" / "heap.py")
            )["keep_freed_memory"]()
        import jax
        import jax.numpy as jnp

        params, loss_of = jax_loss()

        def update(p: list[Any], m: list[Any], v: list[Any], t: Any) -> tuple[Any, ...]:
            loss, grads = jax.value_and_grad(loss_of)(p)
            t = t + 1
            b1, b2 = BETAS
            c1, c2 = 1 - b1**t, 1 - b2**t
            m = [b1 * a + (1 - b1) * g for a, g in zip(m, grads, strict=True)]
            v = [b2 * a + (1 - b2) * g * g for a, g in zip(v, grads, strict=True)]
            p = [
                a * (1 - RATE * DECAY) - RATE * (b / c1) / (jnp.sqrt(c / c2) + EPS)
                for a, b, c in zip(p, m, v, strict=True)
            ]
            return loss, p, m, v, t

        if compiled:
            update = jax.jit(update, donate_argnums=(0, 1, 2, 3))
        state = [
            params,
            [jnp.zeros_like(p) for p in params],
            [jnp.zeros_like(p) for p in params],
            jnp.zeros((), jnp.float32),
        ]

        def step() -> float:
            loss, *state[:] = update(*state)
            return float(loss)

        return Step(step)

    return build


def contest() -> Contest:
    """The GPT's row."""
    bars = [
        Bar("deferred", 0.85, "torch"),
        Bar("deferred", 0.6, "jit"),
        Bar("deferred", 0.7, KEPT),
        Bar("compiled", 0.95, "torch"),
        Bar("compiled", 0.65, "jit"),
        Bar("deferred", 1.1, "compiled"),
    ]
    return Contest(
        "GPT 2 blocks d 256 T 128 b 4",
        same_program(
            program,
            jnp=jax_builder(compiled=False),
            jit=jax_builder(compiled=True),
            **{KEPT: jax_builder(True, kept=True)},
        ),
        bars,
        agree=1e-3,
        apart=True,
    )


CONTESTS: dict[str, Callable[[], Contest]] = {"GPT 2 blocks d 256 T 128 b 4": contest}
