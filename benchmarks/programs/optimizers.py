"""Steps of optimisers over some 200 small parameters, and operations of lists of such: what the
bookkeeping costs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..contest import Bar, Contest, Step, same_program

COUNT, SHAPE = 200, (32, 32)


def program(torch: Any) -> Step:
    """The step in PyTorch's terms; gradients stay the same."""
    rng = np.random.default_rng(0)
    params = [
        torch.nn.Parameter(torch.tensor(rng.standard_normal(SHAPE).astype(np.float32)))
        for _ in range(COUNT)
    ]
    for p in params:
        p.grad = torch.tensor(rng.standard_normal(SHAPE).astype(np.float32))
    optimizer = torch.optim.AdamW(params, lr=1e-3, foreach=True)

    def step() -> float:
        optimizer.step()
        return params[0].detach()[0, 0].item()

    return Step(step)


def contest() -> Contest:
    """The optimiser's row."""
    return Contest(
        "AdamW.step of 200 parameters",
        same_program(program),
        [Bar("deferred", 0.8, "torch")],
        apart=True,
    )


#: As many vectors as a ResNet-50 has parameters, and how long they are.
VECTORS = [64 * (1 + i % 8) for i in range(213)]
OTHERS = (
    "SGD",
    "RMSprop",
    "Adagrad",
    "Adadelta",
    "Adamax",
    "NAdam",
    "RAdam",
    "ASGD",
    "Rprop",
    "Adafactor",
)


def _vectors(torch: Any, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [torch.tensor(rng.standard_normal(n).astype(np.float32)) for n in VECTORS]


def _step_of(name: str) -> Contest:
    """A step of another optimiser; gradients stay the same."""

    def program(torch: Any) -> Step:
        params = [torch.nn.Parameter(p) for p in _vectors(torch, 0)]
        for p, g in zip(params, _vectors(torch, 1), strict=True):
            p.grad = g
        optimizer = getattr(torch.optim, name)(params, lr=1e-3, foreach=True)

        def step() -> float:
            optimizer.step()
            return params[0].detach()[0].item()

        return Step(step)

    return Contest(
        f"{name}.step of 213 vectors",
        same_program(program),
        [Bar("deferred", 1.0, "torch")],
        apart=True,
    )


def _zeros() -> Contest:
    """Gradients filled with zeros."""

    def program(torch: Any) -> Step:
        params = [torch.nn.Parameter(p) for p in _vectors(torch, 0)]
        for p, g in zip(params, _vectors(torch, 1), strict=True):
            p.grad = g
        optimizer = torch.optim.SGD(params, lr=1e-3)

        def step() -> float:
            optimizer.zero_grad(set_to_none=False)
            return params[0].grad[0].item()

        return Step(step)

    return Contest(
        "zero_grad(False) of 213 vectors",
        same_program(program),
        [Bar("deferred", 1.5, "torch")],
        apart=True,
    )


CONTESTS: dict[str, Callable[[], Contest]] = {
    "AdamW.step of 200 parameters": contest,
    **{f"{name}.step of 213 vectors": functools.partial(_step_of, name) for name in OTHERS},
    "zero_grad(False) of 213 vectors": _zeros,
}
