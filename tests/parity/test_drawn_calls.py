"""Corners that calls drawn at random showed: the dtype of sums in ``einsum``, norms of one element,
what is looked at before refusing."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import jtorch  # noqa: E402

pytestmark = pytest.mark.parity

SUMS = [
    "t.einsum('ij->i', t.ones(3, 300, dtype=t.int8))",
    "t.einsum('ij->i', t.ones(3, 1, dtype=t.bool))",
    "t.einsum('ii->', t.ones(3, 3, dtype=t.uint8))",
    "t.einsum('ij,jk->ik', t.ones(3, 300, dtype=t.int8), t.ones(1, 3, dtype=t.int8))",
    "t.einsum('ij,jk->ik', t.ones(3, 1, dtype=t.int8), t.ones(1, 3, dtype=t.int8))",
    "t.einsum('ij,jk->ik', t.ones(3, 3, dtype=t.int8), t.ones(3, 3, dtype=t.int8))",
    "t.einsum('i,j->j', t.ones(1, dtype=t.int8), t.ones(3, dtype=t.int8))",
    "t.einsum('i,j,k->', *[t.ones(9, dtype=t.int8)] * 3)",
    "t.einsum('ij,jk->ik', t.ones(3, 1, dtype=t.bool), t.ones(3, 3))",
    "t.einsum('ij,kl->ik', t.ones(3, 2, dtype=t.int64), t.ones(2, 3))",
    "t.einsum('i,i,i->', t.ones(1, dtype=t.int64), t.ones(3), t.ones(1, dtype=t.float64))",
    "t.einsum('ijl,jk->ik', t.ones(3, 3, 2, dtype=t.int8), t.ones(3, 3, dtype=t.int64))",
    "t.einsum('ijl,jk->ik', t.ones(3, 3, 2, dtype=t.int8), t.ones(3, 3, dtype=t.int8))",
    "t.einsum('i,i->', t.ones(3, dtype=t.int64), t.ones(3))",
]
NORMS = [
    "t.linalg.vector_norm(t.tensor([[-1.75], [0.5]]), 1e10, 1)",
    "t.linalg.vector_norm(t.tensor([1e30]))",
    "t.linalg.vector_norm(t.tensor(1e30), 3)",
    "t.linalg.vector_norm(t.tensor([3 + 4j]), 300)",
    "t.linalg.vector_norm(t.tensor([[2.0], [0.0]]), 0, 1)",
    "t.norm(t.tensor([[1e30]]), 3)",
    "t.nn.functional.normalize(t.tensor([[-1.75], [0.5]]), 1e10, 1)",
]
NOTHING = [
    "t.softmax(t.ones(2, 0, dtype=t.int64), 0)",
    "t.nn.functional.softmax(t.ones(0), 0, dtype=t.complex64)",
    "t.nn.functional.log_softmax(t.ones(2, 0, dtype=t.bool), 1)",
    "t.softmax(t.ones(2, 1, dtype=t.int64), 0)",
    "t.cumsum(t.ones(2, 0), 0, dtype=t.bool)",
    "t.cumprod(t.tensor(2), 0, dtype=t.bool)",
    "t.cumsum(t.ones(2), 0, dtype=t.bool)",
    "t.isin(t.ones(0, 3, dtype=t.uint8), t.ones(2, dtype=t.uint16))",
    "t.linspace(1e10, float('nan'), 0, dtype=t.int8)",
    "t.linspace(3, 2**40, 1, dtype=t.uint8)",
    "t.linspace(2**40, 3, 1, dtype=t.uint8)",
    "t.linspace(3, 2**40, 2, dtype=t.uint8)",
    "t.logspace(0, 1e10, 1, dtype=t.int8)",
]
MIXED = [
    "t.isin(t.tensor([1, 2], dtype=t.uint64), 2)",
    "t.isin(t.tensor([1, 2], dtype=t.uint16), 2, invert=True)",
    "t.isin(t.tensor([1, 2], dtype=t.uint64), t.tensor([2]))",
    "t.isin(t.tensor([1, 44], dtype=t.uint8), 300)",
    "t.isin(t.tensor([1, 2]), 2.5)",
    "t.nn.functional.smooth_l1_loss(t.ones(2), t.ones(2, dtype=t.bool), beta=0)",
    "t.nn.functional.smooth_l1_loss(t.ones(2, dtype=t.bool), t.ones(2, dtype=t.bool), beta=0.0)",
    "t.nn.functional.smooth_l1_loss(t.ones(2), t.ones(2, dtype=t.bool))",
    "t.nn.functional.poisson_nll_loss(t.ones(2), t.ones(2, dtype=t.bool), full=True)",
    "t.nn.functional.poisson_nll_loss(t.ones(2), t.ones(2, dtype=t.bool)).round()",
]


def _outcome(t: Any, call: str) -> tuple[str, ...]:
    try:
        made = eval(call, {"t": t})
    except (RuntimeError, NotImplementedError) as error:
        return type(error).__name__, str(error)
    return str(made.dtype).split(".")[1], str(tuple(made.shape)), str(made.tolist())


@pytest.mark.parametrize("call", SUMS + NORMS + NOTHING + MIXED)
def test_call(call: str) -> None:
    assert _outcome(jtorch, call) == _outcome(torch, call)


@pytest.mark.parametrize("p", [0.5, 1.5, 2, 3, 300])
def test_gradient_of_norms_of_one_element(p: float) -> None:
    found = []
    for t in (torch, jtorch):
        x = t.tensor([[-1.75], [0.5], [0.0]], requires_grad=True)
        t.linalg.vector_norm(x, p, 1).sum().backward()
        found.append(x.grad.flatten().tolist())
    assert found[1] == pytest.approx(found[0], rel=1e-5, nan_ok=True)
