"""Reductions of segments: values by hand, empty segments, batches, gradients, errors."""

from __future__ import annotations

import pytest

import jtorch as torch


@pytest.mark.parametrize(
    ("reduce", "expected"),
    [("sum", [1.0, 0.0, 14.0]), ("mean", [0.5, float("nan"), 3.5]), ("prod", [0.0, 1.0, 120.0]),
     ("max", [1.0, -float("inf"), 5.0]),
     ("amin", [0.0, float("inf"), 2.0])],
)  # fmt: skip
def test_values(reduce: str, expected: list[float]) -> None:
    x = torch.arange(6.0)
    found = torch.segment_reduce(x, reduce, lengths=torch.tensor([2, 0, 4]))
    torch.testing.assert_close(found, torch.tensor(expected), equal_nan=True)
    again = torch.segment_reduce(x, reduce, offsets=torch.tensor([0, 2, 2, 6]))
    torch.testing.assert_close(again, found, equal_nan=True)


def test_initial_takes_part() -> None:
    found = torch.segment_reduce(
        torch.arange(6.0), "mean", lengths=torch.tensor([2, 0, 4]), initial=1
    )
    assert found.tolist() == [1.0, 1.0, 3.75]


def test_batches_have_segments_of_their_own() -> None:
    x = torch.arange(12.0).reshape(2, 6)
    assert torch.segment_reduce(
        x, "min", lengths=torch.tensor([[2, 4], [3, 3]]), axis=1
    ).tolist() == [[0.0, 2.0], [6.0, 9.0]]


def test_gradient_of_a_sum_is_one_everywhere() -> None:
    x = torch.arange(6.0, requires_grad=True)
    torch.segment_reduce(x, "sum", lengths=torch.tensor([2, 4])).sum().backward()
    assert x.grad.tolist() == [1.0] * 6


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda x: torch.segment_reduce(x, "sum"),
            RuntimeError,
            "Either lengths or offsets must be defined",
        ),
        (
            lambda x: torch.segment_reduce(x, "norm", lengths=torch.tensor([4])),
            RuntimeError,
            "got norm",
        ),
        (
            lambda x: torch.segment_reduce(x, "sum", lengths=torch.tensor([3])).tolist(),
            RuntimeError,
            "Expected all rows of lengths",
        ),
        (
            lambda x: torch.segment_reduce(x, "sum", lengths=torch.tensor([4]), axis=1),
            IndexError,
            "Dimension out of range",
        ),
    ],
)
def test_refuses(call, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(torch.arange(4.0))
