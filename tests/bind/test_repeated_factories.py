"""Factories remember what a spelling of their arguments came to; spellings that are equal to Python
and mean something else stay apart."""

from __future__ import annotations

import math
from typing import Any

import pytest

import jtorch as torch
from jtorch._src.bind import factories


def test_equal_numbers_of_other_kinds() -> None:
    for _ in range(2):
        assert torch.full((2,), 1).dtype is torch.int64
        assert torch.full((2,), 1.0).dtype is torch.float32
        assert torch.full((2,), True).dtype is torch.bool
        assert torch.full((2,), 1 + 0j).dtype is torch.complex64
        assert [
            math.copysign(1, x)
            for x in torch.full((2,), 0.0).tolist() + torch.full((2,), -0.0).tolist()
        ] == [1, 1, -1, -1]
        with pytest.raises(TypeError):
            torch.zeros(1.0)  # type: ignore[call-overload]
        with pytest.raises(TypeError):
            torch.zeros((2, True + 0.5))  # type: ignore[call-overload]


def test_each_call_gives_a_tensor_of_its_own() -> None:
    made = [torch.zeros(2, 3) for _ in range(3)] + [
        torch.ones_like(made) * 0 for made in (torch.zeros(2, 3),)
    ]
    made[0] += 1
    assert [float(m.sum()) for m in made] == [6, 0, 0, 0]
    assert torch.zeros(2, requires_grad=True).requires_grad
    assert not torch.zeros(2).requires_grad
    assert [torch.zeros(s).shape for s in ((2, 3), [2, 3], torch.zeros(2, 3).shape)] == [(2, 3)] * 3


def test_the_default_dtype_may_change() -> None:
    assert torch.ones(3, 2).dtype is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.ones(3, 2).dtype is torch.float64
        assert torch.full((3,), 2.5).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.ones(3, 2).dtype is torch.float32


def test_other_arguments_are_seen_each_time() -> None:
    x = torch.zeros(2)
    for _ in range(2):
        assert torch.zeros(2, dtype=torch.int32).dtype is torch.int32
        assert torch.zeros(2, device="meta").device.type == "meta"
        assert torch.zeros(2, out=x) is x
        assert torch.zeros(size=(2, 1)).shape == (2, 1)
        assert torch.full_like(x, 1 << 10).tolist() == [1024.0, 1024.0]
        assert torch.zeros_like(x, dtype=torch.bool).dtype is torch.bool
        assert torch.zeros_like(x, device="meta").device.type == "meta"
        with pytest.raises(TypeError):
            torch.zeros(2, dtype="float32")  # type: ignore[call-overload]
        with pytest.raises(RuntimeError):
            torch.zeros(2, -1)
    # What a number beyond 63 bits means depends on the tensor.
    assert torch.full_like(x, 1 << 63).tolist() == [2.0**63] * 2
    with pytest.raises(RuntimeError):
        torch.full_like(torch.zeros(2, dtype=torch.int64), 1 << 63)


def test_few_spellings_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[Any, Any] = {}
    for n in range(2 * factories._MANY):
        factories._remembered(known, ((n,), None), None, ())
    assert len(known) <= factories._MANY
    factories._remembered(known, None, None, ())
    factories._remembered(known, (None, None), None, ())
    assert None not in known
    assert (None, None) not in known


def test_zeros_stay_apart_among_fixed_numbers() -> None:
    """They are equal to Python, and to most functions they are not: each call gives the zero that
    it was given."""
    x = torch.tensor([-2.0])
    for low in (0.0, -0.0, 0.0, -0.0):
        found = (
            torch.nan_to_num(torch.tensor([float("nan")]), nan=low),
            torch.nn.functional.hardtanh(x, low, 1.0),
            torch.nn.functional.threshold(x, 0.5, low),
        )
        assert [str(t.item()) for t in found] == [str(low)] * 3
    assert str(torch.nn.functional.elu(x, 0.0).item()) != str(
        torch.nn.functional.elu(x, -0.0).item()
    )
