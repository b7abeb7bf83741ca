"""What reads and writes parts of memory that is at hand: it is done as it is called, and not
recorded."""

from __future__ import annotations

import os
from typing import Any

import pytest

import jtorch as torch
from jtorch._src.engine import LOCAL, flush, values
from jtorch._src.tensor import parts_at_hand

pytestmark = [
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.skipif(
        os.environ.get("JTORCH_EXECUTION") == "immediate", reason="nothing is recorded"
    ),
    pytest.mark.skipif(values.tier == "xla", reason="nothing is in NumPy's memory"),
]


def _last_digits(n: int) -> torch.Tensor:
    x = torch.zeros(n, dtype=torch.int64)
    x[1] = 1
    for i in range(2, n):
        x[i] = (x[i - 1] + x[i - 2]) % 10
    return x


def _sums(n: int) -> torch.Tensor:
    x = torch.arange(float(n))
    for i in range(1, n):
        x[i] += x[i - 1]
    return x


@pytest.mark.parametrize("loop", [_last_digits, _sums])
def test_a_loop_that_writes_what_it_computes_from_parts_is_not_recorded_as_a_whole(
    loop: Any,
) -> None:
    for _ in range(3):
        x = loop(120)
    assert len(LOCAL.trace.state.steps()) < 5
    assert x[60:62].tolist() == {_last_digits: [0, 1], _sums: [1830, 1891]}[loop]


def test_small_views_of_what_is_at_hand_are_not_recorded() -> None:
    x, ones = torch.tensor([[float(i)] * 4 for i in range(6)]), torch.tensor([1.0] * 3)
    for _ in range(20):  # more than may run at once before something is read
        other = ones * 2
    depth = len(LOCAL.trace.state.steps())
    row, block, last = x[1], x[2:4, 1:], x[-1, ::2]
    parts = (*x.chunk(2), *x.unbind(1), *x.split([1, 5]))
    assert len(LOCAL.trace.state.steps()) == depth
    x[:] = 1.0
    x[-1, 2] = 3.0
    assert len(LOCAL.trace.state.steps()) == depth
    assert (row.tolist(), block.tolist(), last.tolist()) == ([1] * 4, [[1] * 3] * 2, [1, 3])
    assert [p.shape for p in parts] == [(3, 4)] * 2 + [(6,)] * 4 + [(1, 4), (5, 4)]
    assert all(p.sum() >= 4 for p in parts)
    assert other.tolist() == [2] * 3


def test_kernels_that_ran_unread_are_run_at_once_again() -> None:
    x, y = torch.full((3, 7), 2.0), torch.full((3, 7), 5.0)

    def is_at_once() -> bool:
        flush()
        z = x + y
        return not LOCAL.trace.state.steps() and z is not None

    def read(n: int) -> None:
        for _ in range(n):
            (x + y)[0, 0].item()

    read(20)
    assert is_at_once()
    for _ in range(3):
        z = x
        for _ in range(40):  # more than may run before something is read
            z = z + y
        z.tolist()
    assert not is_at_once()
    read(400)
    assert is_at_once()


def test_copies_with_another_part_are_not_recorded() -> None:
    x, row, two = (
        torch.tensor([[1.0, 2.0], [3.0, 4.0]]),
        torch.tensor([7.0, 8.0]),
        torch.tensor([[5.0, 6.0]]),
    )
    for _ in range(20):
        other = row * 2
    depth = len(LOCAL.trace.state.steps())
    found = [
        torch.select_scatter(x, row, 1, 0),
        torch.slice_scatter(x, two, 0, 1),
        torch.diagonal_scatter(x, row),
        torch.as_strided_scatter(x, row, (2,), (2,), 1),
        # places that come twice are recorded
        torch.as_strided_scatter(x, torch.tensor([[9.0, 8.0], [8.0, 7.0]]), (2, 2), (1, 1)),
    ]
    assert len(LOCAL.trace.state.steps()) <= depth + 5
    assert [t.tolist() for t in found] == [
        [[7, 2], [8, 4]], [[1, 2], [5, 6]], [[7, 2], [3, 8]], [[1, 7], [3, 8]], [[9, 8], [7, 4]],
    ]  # fmt: skip
    assert x.tolist() == [[1, 2], [3, 4]] and other.tolist() == [14, 16]
    found[0][0, 0] = 0.0
    assert x.tolist() == [[1, 2], [3, 4]] and row.tolist() == [7, 8]


def test_parts_of_what_is_pending_and_small_are_written_at_once() -> None:
    a = torch.tensor([float(i) for i in range(7)])
    x = a * 3 + a.sin() * 0
    assert LOCAL.trace.state.steps()
    x[1] = 9.0
    assert not LOCAL.trace.state.steps()
    part = x[2:5]
    before = x[:3]
    x[2:4] += x[:2]
    part -= 1
    x[2:5] = part
    assert x.tolist() == [0, 9, 5, 17, 11, 15, 18] and before.tolist() == [0, 9, 5]
    assert x._version == 5


@pytest.mark.parametrize(
    ("index", "shape", "strides"),
    [
        (None, (1, 2, 3), (6, 3, 1)),
        ((slice(None), None), (2, 1, 3), (3, 3, 1)),
        ((..., None, 1), (2, 1), (3, 3)),
        ((1, ..., None), (3, 1), (1, 1)),
        ((None, ..., slice(1, None)), (1, 2, 2), (6, 3, 1)),
    ],
)
def test_new_dimensions_and_ellipses_are_one_look_up(index: Any, shape: Any, strides: Any) -> None:
    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    part = parts_at_hand.part_of(x, index)
    assert part is not None and (part.shape, part.stride()) == (shape, strides)
    assert part.tolist() == x.numpy()[index].tolist() == x[index].tolist()
    part += 1
    assert x.sum() == 21 + part.numel()
