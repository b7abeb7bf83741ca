"""Comparisons, tests of elements and logic: promotion, NaN, closeness, answers as Python bools."""

from __future__ import annotations

import math

import pytest

import jtorch as torch


def test_comparisons_promote_both_sides() -> None:
    i = torch.tensor([1, 2, 3])
    assert (i == 2.5).tolist() == [False] * 3
    assert (i < 2.5).tolist() == [True, True, False]
    assert (2 < i).tolist() == [False, False, True]  # noqa: SIM300
    assert (torch.tensor([255], dtype=torch.uint8) == torch.tensor([-1])).tolist() == [False]
    assert torch.ge(i, i).dtype is torch.bool


def test_nan_equals_nothing() -> None:
    x = torch.tensor([math.nan, 1.0])
    assert (x == x).tolist() == [False, True]
    assert (x != x).tolist() == [True, False]
    assert not torch.equal(x, x)


def test_complex_numbers_have_no_order() -> None:
    z = torch.tensor([1j])
    assert (z == 1j).tolist() == [True]
    with pytest.raises(NotImplementedError, match="\"lt_cpu\" not implemented for 'ComplexFloat'"):
        z < z  # noqa: B015


def test_isclose() -> None:
    a = torch.tensor([1.0, math.inf, math.nan, 1000.0])
    b = torch.tensor([1.000001, math.inf, math.nan, 1001.0])
    assert torch.isclose(a, b).tolist() == [True, True, False, False]
    assert torch.isclose(a, b, rtol=1e-2, equal_nan=True).tolist() == [True] * 4
    assert torch.isclose(torch.tensor([100]), torch.tensor([101]), rtol=0.1).tolist() == [True]
    with pytest.raises(RuntimeError, match="Float did not match Double"):
        torch.isclose(a, b.double())
    with pytest.raises(
        RuntimeError, match="rtol must be greater than or equal to zero, but got -1"
    ):
        torch.isclose(a, b, rtol=-1)


def test_equal_and_allclose_answer_with_bools() -> None:
    x = torch.tensor([1.0, 2.0])
    assert torch.equal(x, x + 0) is True
    assert torch.equal(x, x[:1]) is False
    assert torch.equal(x.long(), x.int()) is True
    assert torch.allclose(x, x + 1e-9) is True
    assert x.allclose(x + 1) is False


def test_elements() -> None:
    x = torch.tensor([1.0, math.inf, -math.inf, math.nan])
    assert torch.isnan(x).tolist() == [False, False, False, True]
    assert torch.isinf(x).tolist() == [False, True, True, False]
    assert torch.isfinite(x).tolist() == [True, False, False, False]
    assert torch.isposinf(x).tolist() == [False, True, False, False]
    assert torch.isneginf(x).tolist() == [False, False, True, False]
    assert torch.isfinite(torch.tensor([1, 2])).tolist() == [True, True]
    assert torch.isreal(torch.tensor([1 + 0j, 1j])).tolist() == [True, False]


def test_logic_counts_everything_but_zero_as_true() -> None:
    a, b = torch.tensor([0.0, 0.5, math.nan]), torch.tensor([1, 0, 2])
    assert torch.logical_and(a, b).tolist() == [False, False, True]
    assert torch.logical_or(a, b).tolist() == [True, True, True]
    assert torch.logical_xor(a, b).tolist() == [True, True, False]
    assert torch.logical_not(a).tolist() == [True, False, False]


def test_in_place_comparisons_with_complex_tensors_that_require_grad() -> None:
    z = torch.tensor([1 + 0j, 2j], requires_grad=True)
    x = torch.ones(2).eq_(z)
    assert x.tolist() == [1, 0] and x.requires_grad
    x.sum().backward()
    assert z.grad.tolist() == [0, 0]


def test_logic_converts_to_the_common_dtype_first() -> None:
    small, large = torch.tensor([0, 1], dtype=torch.uint8), torch.tensor(256)
    assert torch.logical_or(small, large).tolist() == [False, True]
    assert torch.logical_and(small, large).tolist() == [False, False]
    assert torch.logical_xor(
        torch.tensor([0.0, 1.0]), torch.tensor(1e-60, dtype=torch.float64)
    ).tolist() == [False, True]
    assert small.logical_or_(large).tolist() == [0, 1]
