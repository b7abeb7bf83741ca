"""Programs that defeat recording: nothing repeats, values are asked for all the time, or never.

Each is written once in PyTorch's terms and takes what varies from a generator of its own, so that
no contestant profits from what another one compiled.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..contest import Bar, Contest, Step, same_program

BAR = (Bar("deferred", 1.5, "immediate"),)

#: A different start for each contestant built, so that new shapes are new to the caches they share.
_fresh = itertools.count()


def _layers(torch: Any, width: int) -> list[Any]:
    rng = np.random.default_rng(0)
    found = [
        torch.tensor((rng.standard_normal((width, width)) * width**-0.5).astype(np.float32))
        for _ in range(3)
    ]
    return [w.requires_grad_() for w in found]


def _train(torch: Any, weights: list[Any], x: Any) -> float:
    for w in weights:
        w.grad = None
    for w in weights:
        x = torch.tanh(x @ w)
    loss = (x * x).mean()
    loss.backward()
    with torch.no_grad():
        for w in weights:
            w -= 0.01 * w.grad
    return loss.item()


def new_shapes(torch: Any) -> Step:
    """A training step whose batch has another size each time, none of them seen before."""
    weights = _layers(torch, 32)
    sizes = itertools.count(16 + next(_fresh), 16)
    return Step(lambda: _train(torch, weights, torch.ones((next(sizes), 32))))


def cycling_shapes(torch: Any) -> Step:
    """A training step whose batch has one of 12 sizes."""
    weights = _layers(torch, 32)
    sizes = itertools.cycle(range(8, 104, 8))
    return Step(
        lambda: [_train(torch, weights, torch.ones((next(sizes), 32))) for _ in range(12)][-1]
    )


def branches(torch: Any) -> Step:
    """A walk that asks for a value, and goes one of three ways, every few operations."""
    start = torch.tensor(np.linspace(-1, 1, 256, dtype=np.float32).reshape(16, 16))

    def step() -> float:
        x = start
        for i in range(50):
            mean = x.mean().item()
            if mean > 0.113:
                x = x * 0.5 - 0.31
            elif mean < -0.127:
                x = torch.relu(x + 0.43)
            else:
                x = torch.sin(x) + 0.053 * (i % 7) - 0.11
        return x.sum().item()

    return Step(step)


def branches_after_every_operation(torch: Any) -> Step:
    """A walk of 1,000 operations on 8x8 that asks for a value after each, and goes one of three
    ways by it."""
    start = torch.tensor(np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8))

    def step() -> float:
        x = start
        for _ in range(1000):
            value = x[3, 4].item()
            if value > 0.513:
                x = x - 0.71
            elif value < -0.427:
                x = torch.relu(x)
            else:
                x = x + 0.173
        return x.sum().item()

    return Step(step)


def _moves(torch: Any) -> list[Callable[[Any, Any], Any]]:
    return [
        lambda x, y: x + y,
        lambda x, y: x - y,
        lambda x, y: x * y,
        lambda x, y: torch.tanh(x),
        torch.maximum,
        lambda x, y: x.transpose(0, 1),
        lambda x, y: torch.sin(y) * x,
        lambda x, y: x / (1 + y * y),
    ]


def never_repeating(torch: Any) -> Step:
    """100 operations in an order never seen before, then one value is read."""
    moves = _moves(torch)
    rng = np.random.default_rng(next(_fresh))
    start = torch.tensor(np.linspace(-1, 1, 256, dtype=np.float32).reshape(16, 16))

    def step() -> float:
        x, y = start, start
        for k in rng.integers(0, len(moves), 100):
            x, y = moves[k](x, y), x
        return x.sum().item()

    return Step(step)


def long_trace(torch: Any) -> Step:
    """10,000 operations before a value is read."""
    start = torch.tensor(np.linspace(-1, 1, 256, dtype=np.float32).reshape(16, 16))

    def step() -> float:
        x = start
        for _ in range(5000):
            x = torch.sin(x) + start
        return x.sum().item()

    return Step(step)


def long_irregular_trace(torch: Any) -> Step:
    """10,000 operations in an order without a period before a value is read."""
    moves = _moves(torch)
    order = np.random.default_rng(5).integers(0, len(moves), 7000)
    start = torch.tensor(np.linspace(-1, 1, 256, dtype=np.float32).reshape(16, 16))

    def step() -> float:
        x, y = start, start
        for k in order:
            x, y = moves[k](x, y), x
        return x.sum().item()

    return Step(step)


def never_reading(torch: Any) -> Step:
    """A loop of training steps by hand that never looks at a value; waiting for the weights at the
    end is part of it."""
    weights = _layers(torch, 32)
    x0 = torch.ones((16, 32))

    def step() -> Any:
        nonlocal weights
        for _ in range(300):
            x = x0
            for w in weights:
                x = torch.tanh(x @ w)
            grads = torch.autograd.grad((x * x).mean(), weights)
            weights = [(w.detach() - 0.01 * g).requires_grad_() for w, g in zip(weights, grads)]
        return weights[0].detach().numpy().sum()

    return Step(step)


def growing(torch: Any) -> Step:
    """A list of results that grows by one each turn and is stacked each time, as recurrent programs
    do."""
    start = torch.tensor(np.linspace(-1, 1, 16, dtype=np.float32))

    def step() -> float:
        found = [start]
        for _ in range(24):
            found.append(torch.tanh(torch.stack(found).mean(0)))
        return found[-1].sum().item()

    return Step(step)


#: name: (program, calls in a turn, comparable between contestants).
PROGRAMS: dict[str, tuple[Callable[[Any], Step], int | None, bool]] = {
    "hostile: new shapes each step": (new_shapes, 2, False),
    "hostile: 12 shapes in turn": (cycling_shapes, None, True),
    "hostile: branches on values": (branches, None, True),
    "hostile: branches after every operation": (branches_after_every_operation, None, True),
    "hostile: never repeats": (never_repeating, 10, False),
    "hostile: 10,000 ops, then a read": (long_trace, None, True),
    "hostile: 10,000 irregular ops": (long_irregular_trace, None, True),
    "hostile: never reads": (never_reading, None, True),
    "hostile: growing list": (growing, None, True),
}

#: Bars of single programs, beside the one that all have.
MORE_BARS = {"hostile: branches after every operation": (Bar("deferred", 1.3, "torch"),)}


def contest(name: str) -> Contest:
    """The row of one hostile program."""
    program, calls, comparable = PROGRAMS[name]
    return Contest(
        name,
        same_program(program),
        BAR + MORE_BARS.get(name, ()),
        agree=1e-3 if comparable else None,
        calls=calls,
        check=2,
    )


CONTESTS: dict[str, Callable[[], Contest]] = {
    name: (lambda name=name: contest(name)) for name in PROGRAMS
}
