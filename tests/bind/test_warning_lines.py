"""Warnings name the line of the program, on the first call and on later ones."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import jtorch as torch
from jtorch.nn import functional as F


def _upsample() -> Any:
    return F.upsample(torch.ones(1, 1, 2), 4)


CALLS: dict[str, Callable[[], Any]] = {
    "range": lambda: torch.range(0, 3),
    "cov": lambda: torch.cov(torch.ones(2, 1)),
    "dropout2d": lambda: F.dropout2d(torch.ones(2, 2), 0.5),
    "softmax": lambda: F.softmax(torch.ones(2)),
    "upsample": _upsample,
    "resize": lambda: torch.ones(2).resize(1, 2),
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
