"""Chains of pointwise operations whose result is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..contest import Bar, Builder, Contest, Step, same_program

OPS = 100


def _chain(x: Any, y: Any, add: Any, mul: Any) -> Any:
    for _ in range(OPS // 2):
        x = add(mul(x, y), y)
    return x


def _inputs(size: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((size, size)).astype(np.float32), (
        rng.random((size, size)) * 0.9
    ).astype(np.float32)


def _program(size: int) -> Callable[[Any], Step]:
    def program(torch: Any) -> Step:
        x, y = (torch.tensor(a) for a in _inputs(size))
        return Step(lambda: _chain(x, y, torch.add, torch.mul).numpy())

    return program


def _jax(size: int, compiled: bool) -> Builder:
    def build() -> Step:
        import jax
        import jax.numpy as jnp

        x, y = (jnp.asarray(a) for a in _inputs(size))

        def chain(x: Any, y: Any) -> Any:
            return _chain(x, y, jnp.add, jnp.multiply)

        if compiled:
            chain = jax.jit(chain)
        return Step(lambda: np.asarray(chain(x, y)))

    return build


def contest(size: int) -> Contest:
    """100 additions and multiplications on ``size`` x ``size``, then the result is read."""
    builders = same_program(
        _program(size), jnp=_jax(size, compiled=False), jit=_jax(size, compiled=True)
    )
    return Contest(
        f"chain of {OPS} on {size}x{size}",
        builders,
        [Bar("deferred", 1.0, "torch")] if size == 64 else (),
        agree=1e-3,
    )


CONTESTS: dict[str, Callable[[], Contest]] = {
    f"chain of {OPS} on {size}x{size}": (lambda size=size: contest(size)) for size in (64, 512)
}
