"""What is looked at as another dtype shares memory, and is no view: it has no base, and may be
detached in place."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import jtorch  # noqa: E402

pytestmark = pytest.mark.parity


def _bases(t: Any) -> list[Any]:
    x = t.ones(2, 4)
    y = x.view(t.int32)
    z = y[0]
    w = x[1].view(t.float64)
    back = y.view(t.float32)
    leaf = t.ones(2, 4).requires_grad_()
    of_leaf = leaf.view(t.float16)
    found = [(v._is_view(), v._base is None) for v in (y, z, w, back, of_leaf)]
    return [*found, z._base is y, of_leaf.requires_grad, of_leaf.is_leaf]


def _written(t: Any) -> list[Any]:
    x = t.ones(2, 4)
    y = x.view(t.int32).detach_()
    z = y[0].zero_()
    w = (leaf := t.ones(4).requires_grad_()) * 3
    w.view(t.int32).fill_(0)
    bits = leaf.view(t.int32)
    bits[1] = 0
    w.sum().backward()
    half = t.ones(4).view(t.bfloat16)
    half.requires_grad_()
    (half[::2] * 2).sum().backward()
    return [
        x.tolist(),
        x._version,
        y._version,
        z._version,
        w.tolist(),
        leaf.tolist(),
        leaf._version,
        leaf.grad.tolist(),
        half.grad.tolist(),
    ]


def _refused(t: Any) -> list[str]:
    found = []
    for x in (t.ones(2, 4)[0], t.ones(2, 4).view(t.int32)[0]):
        try:
            found.append(str(x.detach_().shape))
        except RuntimeError as error:
            found.append(str(error)[:30])
    return found


@pytest.mark.parametrize("program", [_bases, _written, _refused])
def test_another_dtype_is_no_view(program: Any) -> None:
    assert program(jtorch) == program(torch)
