"""A step of AdamW over 200 small parameters: what an optimiser's bookkeeping costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..contest import Bar, Contest, Step, same_program

COUNT, SHAPE = 200, (32, 32)


def program(torch: Any) -> Step:
    """The step in PyTorch's terms; gradients stay the same."""
    rng = np.random.default_rng(0)
    params = [torch.nn.Parameter(torch.tensor(rng.standard_normal(SHAPE).astype(np.float32))) for _ in range(COUNT)]
    for p in params:
        p.grad = torch.tensor(rng.standard_normal(SHAPE).astype(np.float32))
    optimizer = torch.optim.AdamW(params, lr=1e-3, foreach=True)

    def step() -> float:
        optimizer.step()
        return params[0].detach()[0, 0].item()

    return Step(step)


def contest() -> Contest:
    """The optimiser's row."""
    return Contest("AdamW.step of 200 parameters", same_program(program), [Bar("deferred", 0.8, "torch")], apart=True)


CONTESTS: dict[str, Callable[[], Contest]] = {"AdamW.step of 200 parameters": contest}
