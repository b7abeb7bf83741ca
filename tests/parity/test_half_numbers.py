"""Halves: torch rounds the result to half precision, not a number or a product before it."""

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
    "addcmul without a number": lambda t, x, y: t.addcmul(y, y, y.flip(0)),
    # Of few elements torch's loops round in another way than of many.
    "add with alpha": lambda t, x, y: t.add(y.repeat(64), y.flip(0).repeat(64), alpha=0.3),
    "sub with alpha": lambda t, x, y: y.repeat(64).sub(y.flip(0).repeat(64), alpha=0.3),
    "lerp": lambda t, x, y: t.lerp(x, y, 0.3),
    "lerp near the end": lambda t, x, y: t.lerp(x, y, 0.7),
    "addmm": lambda t, x, y: t.addmm(y, _square(t, y), _square(t, y).mT),
    "addmm with numbers": lambda t, x, y: t.addmm(
        y, _square(t, y), _square(t, y), beta=0.7, alpha=0.3
    ),
    "addmv": lambda t, x, y: t.addmv(y, _square(t, y), y),
    "baddbmm": lambda t, x, y: t.baddbmm(y, _square(t, y)[None], _square(t, y)[None]),
    "addbmm": lambda t, x, y: t.addbmm(y, _square(t, y)[None], _square(t, y)[None]),
    "linear": lambda t, x, y: t.nn.functional.linear(_square(t, y), _square(t, y), y),
    "linear of a stack": lambda t, x, y: t.nn.functional.linear(
        _square(t, y)[None], _square(t, y), y
    ),
    "sigmoid": lambda t, x, y: t.sigmoid(x / 3),
    "tanh": lambda t, x, y: t.tanh(x),
    "asinh": lambda t, x, y: t.asinh(_square(t, y)),
    "acosh": lambda t, x, y: t.acosh(1 + _square(t, y).abs()),
    "atanh": lambda t, x, y: t.atanh(_square(t, y) / 32),
    "expm1": lambda t, x, y: t.expm1(_square(t, y)),
    "softsign": lambda t, x, y: t.nn.functional.softsign(_square(t, y)),
    "foreach": lambda t, x, y: t._foreach_mul([x, y], 1e5)[0],
}


def _square(t: Any, y: Any) -> Any:
    """A matrix of many different numbers."""
    return t.outer(y, 1 / y) - y


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
@pytest.mark.parametrize(
    "case",
    [
        "mul",
        "div",
        "div by a number that rounds",
        "addcmul",
        "lerp",
        "lerp near the end",
        "sigmoid",
        "tanh",
    ],
)
def test_gradients(case: str, dtype: str) -> None:
    found = []
    for t in (torch, jtorch):
        y = t.tensor([1.1, 2.2, 3.3, 4.4, 0.3], dtype=getattr(t, dtype), requires_grad=True)
        z = CASES[case](t, y, y.detach())
        z.backward(t.full_like(z, 0.3))
        found.append((str(y.grad.dtype), y.grad.tolist()))
    assert found[0] == found[1]
