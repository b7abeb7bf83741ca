"""Training step of a small residual network on images of CIFAR's shape, batch 32, SGD with
momentum. The same model for everybody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..contest import Bar, Builder, Contest, Step, by_cores, same_program

BATCH, CLASSES = 32, 10
WIDTHS = (16, 32, 64)
RATE, MOMENTUM = 0.05, 0.9


def _shapes() -> list[tuple[int, ...]]:
    """Shapes of the weights in the order of ``parameters()``: convolutions without bias, scale and
    shift of each normalisation."""
    shapes: list[tuple[int, ...]] = [(WIDTHS[0], 3, 3, 3), (WIDTHS[0],), (WIDTHS[0],)]
    before = WIDTHS[0]
    for width in WIDTHS:
        shapes += [
            (width, before, 3, 3),
            (width,),
            (width,),
            (width, width, 3, 3),
            (width,),
            (width,),
        ]
        if width != before:
            shapes += [(width, before, 1, 1), (width,), (width,)]
        before = width
    return [*shapes, (CLASSES, before), (CLASSES,)]


def _data() -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    weights = []
    for i, shape in enumerate(_shapes()):
        if len(shape) > 1:
            weights.append(
                (rng.standard_normal(shape) * (2 / np.prod(shape[1:])) ** 0.5).astype(np.float32)
            )
        else:
            scale = i + 1 < len(_shapes()) and len(_shapes()[i - 1]) == 4
            weights.append(np.full(shape, float(scale), np.float32))
    images = rng.standard_normal((BATCH, 3, 32, 32)).astype(np.float32)
    return weights, images, rng.integers(0, CLASSES, BATCH)


def program(torch: Any, compile: bool = False) -> Step:
    """The step in PyTorch's terms."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, before: int, width: int) -> None:
            super().__init__()
            stride = 1 if before == width else 2
            self.conv1 = nn.Conv2d(before, width, 3, stride, 1, bias=False)
            self.norm1 = nn.BatchNorm2d(width)
            self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
            self.norm2 = nn.BatchNorm2d(width)
            self.short = nn.Identity()
            if before != width:
                self.short = nn.Sequential(
                    nn.Conv2d(before, width, 1, stride, bias=False), nn.BatchNorm2d(width)
                )

        def forward(self, x: Any) -> Any:
            y = self.norm1(self.conv1(x)).relu()
            return (self.norm2(self.conv2(y)) + self.short(x)).relu()

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(
                nn.Conv2d(3, WIDTHS[0], 3, 1, 1, bias=False), nn.BatchNorm2d(WIDTHS[0]), nn.ReLU()
            )
            self.blocks = nn.Sequential(
                *[Block(a, b) for a, b in zip((WIDTHS[0], *WIDTHS), WIDTHS, strict=False)]
            )
            self.head = nn.Linear(WIDTHS[-1], CLASSES)

        def forward(self, x: Any) -> Any:
            return self.head(self.blocks(self.stem(x)).mean((2, 3)))

    weights, images, labels = _data()
    model = Model()
    with torch.no_grad():
        for p, w in zip(model.parameters(), weights, strict=True):
            p.copy_(torch.tensor(w))
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=MOMENTUM)
    x, y = torch.tensor(images), torch.tensor(labels)

    def train() -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    if compile:
        train = torch.compile(train)
    return Step(lambda: train().item())


def jax_builder() -> Builder:
    """The step as one writes it for ``jax.jit``, with donated state; running statistics are kept,
    as PyTorch keeps them."""

    def build() -> Step:
        import jax
        import jax.numpy as jnp
        from jax import lax

        weights, images, labels = _data()
        x, y = jnp.asarray(images), jnp.asarray(labels)

        def conv(x: Any, w: Any, stride: int) -> Any:
            pad = w.shape[-1] // 2
            return lax.conv_general_dilated(
                x,
                w,
                (stride, stride),
                ((pad, pad), (pad, pad)),
                dimension_numbers=("NCHW", "OIHW", "NCHW"),
            )

        def norm(x: Any, scale: Any, shift: Any, moments: list[Any]) -> Any:
            mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3))
            moments.append((mean, var))
            wide = (None, slice(None), None, None)
            return (x - mean[wide]) * lax.rsqrt(var + jnp.float32(1e-5))[wide] * scale[
                wide
            ] + shift[wide]

        def loss_of(p: list[Any]) -> Any:
            moments: list[Any] = []
            take = iter(p).__next__
            h = jax.nn.relu(norm(conv(x, take(), 1), take(), take(), moments))
            before = WIDTHS[0]
            for width in WIDTHS:
                stride = 1 if before == width else 2
                z = jax.nn.relu(norm(conv(h, take(), stride), take(), take(), moments))
                z = norm(conv(z, take(), 1), take(), take(), moments)
                if before != width:
                    h = norm(conv(h, take(), stride), take(), take(), moments)
                h = jax.nn.relu(z + h)
                before = width
            logits = h.mean((2, 3)) @ take().T + take()
            return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1).mean(), moments

        def update(p: list[Any], m: list[Any], running: list[Any]) -> tuple[Any, ...]:
            (loss, moments), grads = jax.value_and_grad(loss_of, has_aux=True)(p)
            m = [MOMENTUM * a + g for a, g in zip(m, grads, strict=True)]
            p = [a - RATE * b for a, b in zip(p, m, strict=True)]
            running = [
                (0.9 * a + 0.1 * c, 0.9 * b + 0.1 * d)
                for (a, b), (c, d) in zip(running, moments, strict=True)
            ]
            return loss, p, m, running

        update = jax.jit(update, donate_argnums=(0, 1, 2))
        params = [jnp.asarray(w) for w in weights]
        norms = [p for p, q in zip(params[1:], params, strict=False) if q.ndim == 4]
        state = [
            params,
            [jnp.zeros_like(p) for p in params],
            [(jnp.zeros_like(n), jnp.ones_like(n)) for n in norms],
        ]

        def step() -> float:
            loss, *state[:] = update(*state)
            return float(loss)

        return Step(step)

    return build


def contest() -> Contest:
    """The residual network's row."""
    bars = [Bar("deferred", 1.05, "jit"), Bar("deferred", by_cores(0.8, 1.0), "torch")]
    return Contest(
        "ResNet 3 blocks 32x32 b 32",
        same_program(program, jit=jax_builder()),
        bars,
        agree=2e-2,
        apart=True,
    )


CONTESTS: dict[str, Callable[[], Contest]] = {"ResNet 3 blocks 32x32 b 32": contest}
