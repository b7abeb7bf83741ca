"""Overloads with numbers in front, and writes to expanded tensors: what PyTorch does with a
warning."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import jtorch as torch
from jtorch._src.bind import deprecated_overloads


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda a: torch.add(a, 2, a), 9.0),
        (lambda a: torch.add(a, 2, 4), 11.0),
        (lambda a: a.clone().sub_(2, a), -3.0),
        (lambda a: torch.addcmul(a, 2, a, a), 21.0),
        (lambda a: a.addcdiv(2, a, a), 5.0),
        (lambda a: torch.addmm(2, a, 3, a, a), 60.0),
        (lambda a: torch.addmm(2, a, a, a), 24.0),
        (lambda a: a.addmm(2, 3, a, a), 60.0),
        (lambda a: a[0].addmv(2, a, a[0]), 24.0),
        (lambda a: a.addr(2, 3, a[0], a[0]), 33.0),
        (lambda a: a[None].baddbmm(2, a[None], a[None]), 24.0),
    ],
)
def test_numbers_first(call: Any, wanted: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert call(torch.full((2, 2), 3.0)).unique().tolist() == [wanted]


def test_numbers_first_into_out() -> None:
    out = torch.empty(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.add(torch.ones(2), 2, torch.ones(2), out=out)
    assert out.tolist() == [3.0, 3.0]


def test_numbers_first_warn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deprecated_overloads, "_warned", False)
    with pytest.warns(
        UserWarning,
        match="This overload of add is deprecated:\n"
        "\tadd\\(Tensor input, Number alpha, Tensor other, ",
    ):
        torch.add(torch.ones(2), 2, torch.ones(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.add(torch.ones(2), 2, torch.ones(2))


def test_what_fits_no_overload_is_refused() -> None:
    with pytest.raises(TypeError):
        torch.add(torch.ones(2), torch.ones(2), torch.ones(2))
    with pytest.raises(TypeError):
        torch.addmm(2, 2, torch.ones(2, 2), torch.ones(2, 2))


def test_fills_of_expanded_tensors() -> None:
    base = torch.zeros(3, 1)
    x = base.expand(3, 4)
    with pytest.warns(UserWarning, match="Use of index_fill_ on expanded tensors is deprecated"):
        x.index_fill_(1, torch.tensor([2]), 2.0)
    assert base.tolist() == [[2.0], [2.0], [2.0]] and x.tolist() == [[2.0] * 4] * 3
    with pytest.warns(UserWarning, match="Use of masked_fill_ on expanded tensors is deprecated"):
        x.masked_fill_(torch.tensor([[False, True, False, False], [False] * 4, [False] * 4]), 5.0)
    assert base.tolist() == [[5.0], [2.0], [2.0]] and x[0].tolist() == [5.0] * 4
    with pytest.warns(UserWarning, match="Use of index_put_ on expanded tensors is deprecated"):
        x[torch.tensor([1])] = 7.0
    assert base.tolist() == [[5.0], [7.0], [2.0]]


def test_other_writes_to_expanded_tensors_are_refused() -> None:
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.zeros(3, 1).expand(3, 4).add_(1)
