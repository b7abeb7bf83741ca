"""Single operations that XLA is slow at, on 1024 x 1024 elements, and a million random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..contest import Bar, Contest, Step, same_program

SIDE, MANY = 1024, 10**6

Make = Callable[[Any, dict[str, Any]], Any]


def _operands(torch: Any) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    n = SIDE
    return {
        "x": torch.tensor(rng.standard_normal((n, n)).astype(np.float32)),
        "y": torch.tensor(rng.standard_normal((n, n)).astype(np.float32)),
        "i": torch.tensor(rng.integers(0, n, (n, n))),
        "k": torch.tensor(rng.integers(-9, 9, (n, n))),
        "images": torch.tensor(rng.standard_normal((16, 4, 128, 128)).astype(np.float32)),
        "table": torch.tensor(rng.standard_normal((n, 4)).astype(np.float32)),
    }


#: name: (what is computed, the multiple of PyTorch's time that it may take).
OPS: dict[str, tuple[Make, float]] = {
    "mm of int64": (lambda t, o: t.mm(o["i"], o["k"]), 1.5),
    "prod": (lambda t, o: t.prod(o["x"]), 1.5),
    "prod of rows": (lambda t, o: t.prod(o["x"], 1), 1.5),
    "cumsum of rows": (lambda t, o: t.cumsum(o["x"], 1), 1.5),
    "cumsum of rows of int64": (lambda t, o: t.cumsum(o["i"], 1), 1.5),
    "pad by reflection": (
        lambda t, o: t.nn.functional.pad(o["images"], (1, 1, 1, 1), mode="reflect"),
        1.5,
    ),
    "scatter_add": (lambda t, o: t.scatter_add(o["x"], 1, o["i"], o["y"]), 1.5),
    "embedding_bag": (lambda t, o: t.nn.functional.embedding_bag(o["i"], o["table"]), 1.5),
    "sort of int64": (lambda t, o: t.sort(o["i"]), 1.5),
    "sort of a million int64": (lambda t, o: t.sort(o["i"].reshape(-1)), 1.5),
}
DRAWS: dict[str, tuple[Make, float]] = {
    "rand": (lambda t, o: t.rand(MANY), 1.2),
    "randn": (lambda t, o: t.randn(MANY), 1.2),
    "randint": (lambda t, o: t.randint(100, (MANY,)), 1.2),
    "randperm": (lambda t, o: t.randperm(MANY), 1.2),
    "dropout": (lambda t, o: t.nn.functional.dropout(o["x"], 0.5), 1.2),
}


def _program(make: Make) -> Callable[[Any], Step]:
    def program(torch: Any) -> Step:
        operands = _operands(torch)
        torch.manual_seed(0)
        if torch.__name__ != "jtorch":
            return Step(lambda: make(torch, operands) is None)
        flush = torch._src.engine.flush

        def step() -> bool:
            made = make(torch, operands)
            flush()
            return made is None

        return Step(step)

    return program


def _contest(name: str, make: Make, limit: float) -> Contest:
    bars = [Bar("deferred", limit, "torch"), Bar("immediate", limit, "torch")]
    return Contest(name, same_program(_program(make)), bars)


CONTESTS: dict[str, Callable[[], Contest]] = {
    f"{row} {name}": (
        lambda row=row, name=name, make=make, limit=limit: _contest(f"{row} {name}", make, limit)
    )
    for row, ops in (("1024x1024", OPS), ("10^6", DRAWS))
    for name, (make, limit) in ops.items()
}
