"""Halves with numbers: torch rounds the result to half precision, not the number before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
import jtorch  # noqa: E402

pytestmark = pytest.mark.parity

CASES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "mul": lambda t, x, y: x * 1e5,
    "mul by a number that rounds": lambda t, x, y: 0.1 * x,
    "mul by an int": lambda t, x, y: x * 100_000,
    "mul in place": lambda t, x, y: x.clone().mul_(1e5),
    "mul by a tensor of another dtype": lambda t, x, y: x * t.tensor(1e5),
    "mul of such a tensor": lambda t, x, y: t.tensor(1e5) * x,
    "div": lambda t, x, y: x / 1e5,
    "div by a number that rounds": lambda t, x, y: x / 0.3,
    "div in place": lambda t, x, y: x.clone().div_(1e5),
    "div by a tensor of another dtype": lambda t, x, y: x / t.tensor(1e5, dtype=t.float64),
    "div truncated": lambda t, x, y: t.div(x, 0.1, rounding_mode="trunc"),
    "addcmul": lambda t, x, y: t.addcmul(x, y, y, value=0.1),
    "addcdiv": lambda t, x, y: t.addcdiv(x, y, y, value=0.1),
    "foreach": lambda t, x, y: t._foreach_mul([x, y], 1e5)[0],
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("case", CASES)
def test_values(case: str, dtype: str) -> None:
    found = []
    for t in (torch, jtorch):
        x = t.tensor([0.001, 1.7, -3.3, 200.0, 65000.0], dtype=getattr(t, dtype))
        y = t.tensor([1.1, 2.2, 3.3, 4.4, 0.3], dtype=getattr(t, dtype))
        z = CASES[case](t, x, y)
        found.append((str(z.dtype), z.tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("case", ["mul", "div", "div by a number that rounds", "addcmul"])
def test_gradients(case: str, dtype: str) -> None:
    found = []
    for t in (torch, jtorch):
        y = t.tensor([1.1, 2.2, 3.3, 4.4, 0.3], dtype=getattr(t, dtype), requires_grad=True)
        CASES[case](t, y, y.detach()).backward(t.full_like(y, 0.3))
        found.append((str(y.grad.dtype), y.grad.tolist()))
    assert found[0] == found[1]
