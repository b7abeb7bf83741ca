"""``x[i]`` where JAX traces the number ``i``: a view, as outside of a transformation, or a copy
that cannot be written into."""

from __future__ import annotations

import jax
import pytest

import jtorch as torch


def method(x, i):
    y = x.clone()
    y[i].add_(1)
    return y


def part(x, i):
    y = x.clone()
    y[i][0] = 5
    y[-i, 1:].mul_(3)
    return y


def column(x, i):
    y = x.t().clone()
    view = y[:, i]
    view[:1].fill_(9)
    return y


def read_later(x, i):
    y = x.clone()
    view = y[i]
    y.add_(1)
    return view


def unrecorded(x, i):
    with torch.no_grad():
        y = x.clone()
        y[i][0] = 5
    return y


TABLE, PLACE = torch.arange(6.0).reshape(3, 2), torch.tensor(1)


@pytest.mark.parametrize("function", [method, part, column, read_later, unrecorded])
def test_what_is_written_into_a_row_is_in_the_whole(function) -> None:
    wanted = function(TABLE, PLACE)
    for found in (
        jax.jit(function)(TABLE, PLACE),
        jax.jit(function)(TABLE, 1),
        jax.vmap(function)(TABLE[None], PLACE[None])[0],
    ):
        assert torch.equal(found, wanted)


@pytest.mark.parametrize("function", [method, part, column, read_later])
def test_derivatives_of_rows_that_are_written(function) -> None:
    found = jax.jit(jax.grad(lambda x, i: function(x, i).square().sum().jax()))(TABLE, PLACE)
    assert torch.equal(found, torch.func.grad(lambda x: function(x, 1).square().sum())(TABLE))


def test_rows_in_a_loop() -> None:
    def body(i, y):
        y = torch.as_tensor(y) * 1
        y[i].mul_(torch.as_tensor(i) + 1)
        return y.jax()

    assert jax.lax.fori_loop(0, 3, body, torch.ones(3, 2).jax()).tolist() == [
        [1, 1],
        [2, 2],
        [3, 3],
    ]


def test_a_row_of_a_constant_is_a_copy_that_is_not_written() -> None:
    def lost(x, i):
        y = torch.zeros(3, 2)
        y[i].add_(x[0])
        return y

    def lost_part(x, i):
        torch.zeros(3, 2)[i][0] = x[0, 0]

    def kept(x, i):
        y = torch.zeros(3, 2)
        y[i] += x[1]
        row = y[i].clone()
        return y, row.add_(1), y[i] + 1

    for function in (lost, lost_part):
        with pytest.raises(
            RuntimeError, match=r"^x\[i\] is a copy where JAX traces the index and x is a constant"
        ):
            jax.jit(function)(TABLE, PLACE)
    assert [t.tolist() for t in jax.jit(kept)(TABLE, PLACE)] == [
        [[0, 0], [2, 3], [0, 0]],
        [3, 4],
        [3, 4],
    ]
