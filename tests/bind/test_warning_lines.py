"""Warnings name the line of the program, on the first call and on later ones."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import jtorch as torch
from jtorch import nn
from jtorch.nn import functional as F
from jtorch.utils.checkpoint import checkpoint


def _upsample() -> Any:
    return F.upsample(torch.ones(1, 1, 2), 4)


def _hooked() -> Any:
    net = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))
    net.register_backward_hook(lambda *_: None)
    return net(torch.ones(1, 1))


ONE = torch.ones(1, requires_grad=True)
CALLS: dict[str, Callable[[], Any]] = {
    "range": lambda: torch.range(0, 3),
    "cov": lambda: torch.cov(torch.ones(2, 1)),
    "dropout2d": lambda: F.dropout2d(torch.ones(2, 2), 0.5),
    "softmax": lambda: F.softmax(torch.ones(2)),
    "upsample": _upsample,
    "resize": lambda: torch.ones(2).resize(1, 2),
    "features": lambda: nn.InstanceNorm1d(5)(torch.ones(2, 3, 4)),
    "nothing to fill": lambda: nn.Sequential(nn.Linear(0, 3), nn.Conv2d(0, 3, 1)),
    "meta": lambda: nn.Sequential(nn.Linear(2, 2, device="meta")).load_state_dict(
        {"0.weight": torch.ones(2, 2), "0.bias": torch.ones(2)}
    ),
    "given twice": lambda: torch.optim.Adam([{"params": [ONE, ONE]}]),
    "half of the hooks": _hooked,
    "no history": lambda: checkpoint(torch.sin, torch.ones(1), use_reentrant=True),
    "scaler": lambda: torch.cuda.amp.GradScaler(2.0),
}

#: What a kernel says while it is traced: once for each shape.
TRACED: dict[str, Callable[[], Any]] = {
    "kl_div": lambda: F.kl_div(torch.zeros(2, 17), torch.ones(2, 17)),
    "mse_loss": lambda: F.mse_loss(torch.zeros(17), torch.ones(3, 17)),
    "reduce": lambda: F.l1_loss(torch.zeros(2, 17), torch.ones(2, 17), reduce=True),
}


@pytest.mark.parametrize("name", [*CALLS, *TRACED])
def test_warnings_name_the_programs_line(name: str) -> None:
    call = CALLS.get(name) or TRACED[name]
    lines, first = inspect.getsourcelines(call)
    for _ in range(1 if name in TRACED else 3):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            call()
        assert [w.filename for w in told] == [__file__] * len(told) and told
        assert all(first <= w.lineno < first + len(lines) for w in told)
