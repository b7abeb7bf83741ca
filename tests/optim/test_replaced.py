"""Steps and functions of lists whose results are written where parameters lie: who else has their
memory keeps what it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch._src.engine import values

pytestmark = pytest.mark.usefixtures("one_thread")
foreach: Any = torch  # its stubs know of one tensor alone
SHAPES = [(8 * (1 + i % 5),) for i in range(20)] + [(64, 64), (64, 65)]


@pytest.fixture(autouse=True)
def _immediate() -> Any:  # where NumPy runs a call as it comes
    with torch.execution("immediate"):
        yield


def made(seed: int) -> list[torch.Tensor]:
    rng = np.random.default_rng(seed)
    return [torch.tensor(rng.standard_normal(s).astype(np.float32)) for s in SHAPES]


def arrays(tensors: Any) -> list[np.ndarray]:
    return [t.detach().numpy().copy() for t in tensors]


def same(tensors: Any, wanted: list[np.ndarray]) -> None:
    for t, w in zip(tensors, wanted, strict=True):
        np.testing.assert_allclose(t.detach().numpy(), w, 1e-6, 1e-6)


def trained(optimizer: Callable[[Any], Any], steps: int = 12) -> tuple[Any, list[Any]]:
    params = [torch.nn.Parameter(p) for p in made(0)]
    opt = optimizer(params)
    for k in range(steps):
        for p, g in zip(params, made(1 + k % 3), strict=True):
            p.grad = g
        opt.step()
    return opt, params


def sgd(params: Any) -> Any:
    return torch.optim.SGD(params, lr=0.1, momentum=0.9)


@pytest.mark.skipif(values.tier == "xla", reason="nothing is in NumPy's memory")
def test_parameters_keep_their_memory() -> None:
    opt, params = trained(sgd)
    before = [p._v.array.ctypes.data for p in params]
    opt.step()
    assert [p._v.array.ctypes.data for p in params] == before
    assert {p._version for p in params} == {params[0]._version}


@pytest.mark.parametrize("optimizer", [sgd, lambda params: torch.optim.AdamW(params, lr=0.1)])
def test_who_has_a_value_keeps_it(optimizer: Callable[[Any], Any]) -> None:
    opt, params = trained(optimizer)
    _, others = trained(optimizer, 13)
    copies = [p.detach().clone() for p in params]
    wanted = arrays(params)
    shown = params[0].detach()  # shares memory
    arrayed = params[1].detach().numpy()
    product = (params[2] * params[3][:1]).sum()  # saves its operands
    taken = params[4].data + 0  # has memory of its own
    read = params[5].detach().jax()
    for p, g in zip(params, made(1 + 12 % 3), strict=True):
        p.grad = g
    versions = [p._version for p in params]
    opt.step()
    same(params, arrays(others))
    same(copies, wanted)
    same([taken], wanted[4:5])
    np.testing.assert_array_equal(np.asarray(read), wanted[5])
    np.testing.assert_array_equal(shown.numpy(), params[0].detach().numpy())
    np.testing.assert_array_equal(arrayed, params[1].detach().numpy())
    assert len({p._version - v for p, v in zip(params, versions, strict=True)}) == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_parameters_that_come_twice_or_share_memory() -> None:
    base = torch.arange(200, dtype=torch.float32)
    items = [base[i * 10 : (i + 1) * 10] for i in range(20)]
    others = [torch.ones(10) for _ in items]
    for _ in range(8):
        foreach._foreach_add_(items, others)
    same([base], [np.arange(200) + 8.0])
    twice = [*made(0), *made(1)[:1]] * 2
    start = arrays(twice)
    for _ in range(8):
        foreach._foreach_add_(twice, [torch.ones(*t.shape) for t in twice])
    same(twice, [a + 16 for a in start])


def test_views_see_what_is_written_into_their_base() -> None:
    items, others = made(0), [torch.ones(*s) for s in SHAPES]
    start = arrays(items)
    view = items[3][1:3]
    for _ in range(10):
        foreach._foreach_add_(items, others, alpha=2)
        foreach._foreach_mul_(items, 1.0)
        foreach._foreach_lerp_(items, others, 0.0)
        foreach._foreach_addcmul_(items, others, others, value=-1)
    same(items, [a + 10 for a in start])
    same([view], [start[3][1:3] + 10])
    assert view._version == items[3]._version == 40
    assert items[0]._version == 40


def test_gradients_may_be_parameters() -> None:
    opt, params = trained(sgd)
    wanted = arrays(params)
    for p in params:
        p.grad = params[0].detach().clone() if p.shape == params[0].shape else torch.zeros_like(p)
    params[0].grad = params[0].detach()
    buffers = arrays([opt.state[p]["momentum_buffer"] for p in params])
    grads = arrays([p.grad for p in params])
    opt.step()
    same(params, [w - 0.1 * (0.9 * b + g) for w, b, g in zip(wanted, buffers, grads, strict=True)])
