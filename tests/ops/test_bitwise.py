"""Bit operations: against Python's integers, shifts out of range, element types that have no bits
to speak of."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jtorch as torch

WORDS = st.lists(st.integers(-(2**62), 2**62), min_size=3, max_size=3)


@settings(max_examples=30, deadline=None)
@given(a=WORDS, b=WORDS, by=st.integers(0, 62))
def test_bits_follow_python(a: list[int], b: list[int], by: int) -> None:
    x, y = torch.tensor(a), torch.tensor(b)
    pairs = list(zip(a, b, strict=True))
    assert (x & y).tolist() == [i & j for i, j in pairs]
    assert (x | y).tolist() == [i | j for i, j in pairs]
    assert (x ^ y).tolist() == [i ^ j for i, j in pairs]
    assert (~x).tolist() == [~i for i in a]
    assert (x >> by).tolist() == [i >> by for i in a]
    assert (x << by).tolist() == [((i << by) + 2**63) % 2**64 - 2**63 for i in a]


def test_shifts_out_of_range() -> None:
    x, by = torch.tensor([1, 8, -8]), torch.tensor([64, -1, 70])
    assert torch.bitwise_left_shift(x, by).tolist() == [0, 0, 0]
    assert torch.bitwise_right_shift(x, by).tolist() == [0, 0, -1]
    assert (torch.tensor([200], dtype=torch.uint8) >> 9).tolist() == [0]


def test_bool_bits_are_logic() -> None:
    a, b = torch.tensor([True, False]), torch.tensor([True, True])
    assert (a & b).tolist() == [True, False]
    assert (~a).tolist() == [False, True]
    assert (a ^ b).dtype is torch.bool
    assert (a & 1).dtype is torch.int64


@pytest.mark.parametrize(
    ("call", "kernel"),
    [
        (lambda x: x & x, "bitwise_and_cpu"),
        (lambda x: x << 1, "lshift_cpu"),
        (torch.bitwise_not, "bitwise_not_cpu"),
    ],
)
def test_floats_have_no_bits(call: object, kernel: str) -> None:
    with pytest.raises(NotImplementedError, match=f"\"{kernel}\" not implemented for 'Float'"):
        call(torch.ones(2))  # type: ignore[operator]


def test_the_operator_of_numbers_without_bits_has_words_of_its_own() -> None:
    for x in (torch.ones(1), torch.ones(1, dtype=torch.complex64)):
        with pytest.raises(
            TypeError,
            match=r"~ \(operator.invert\) is only implemented on integer and Boolean-type tensors",
        ):
            ~x
    assert (~torch.tensor([5])).item() == -6


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_left_shift", "gcd"])
@pytest.mark.parametrize("leaf", [True, False])
def test_no_out_that_requires_grad_where_there_is_no_derivative(name, leaf):
    out = torch.ones(2, requires_grad=True)
    with pytest.raises(
        RuntimeError,
        match=rf"aten::{name}\(\): functions with out=... arguments don't support automatic "
        r"differentiation",
    ):
        getattr(torch, name)(
            torch.tensor([3, 4]), torch.tensor([2, 2]), out=out if leaf else out * 1
        )
    with torch.no_grad():
        getattr(torch, name)(torch.tensor([3, 4]), torch.tensor([2, 2]), out=out)
    assert out.requires_grad and out.is_leaf
