"""Recurrent modules with time second: the order in memory of what they give, and of the random
numbers that dropout draws."""

from __future__ import annotations

from typing import Any

import pytest

import jtorch as torch
from jtorch import nn


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_batch_first_draws_and_lies_as_time_first(kind: Any) -> None:
    torch.manual_seed(0)
    second = kind(3, 4, 2, dropout=0.5, batch_first=True)
    first = kind(3, 4, 2, dropout=0.5)
    first.load_state_dict(second.state_dict())
    x = torch.randn(2, 3, 3)
    torch.manual_seed(1)
    out, _ = second(x)
    torch.manual_seed(1)
    expected, _ = first(x.transpose(0, 1))
    assert torch.equal(out, expected.transpose(0, 1))
    assert out.stride() == (4, 8, 1) and not out.is_contiguous()
    assert out.grad_fn.name() == ("TransposeBackward0" if kind is nn.LSTM else "TransposeBackward1")


def test_dropout_after_a_batch_first_layer_draws_in_its_order_in_memory() -> None:
    layer = nn.LSTM(3, 4, batch_first=True)
    out, _ = layer(torch.ones(2, 3, 3))
    torch.manual_seed(1)
    found = nn.functional.dropout(out, 0.5) != 0
    torch.manual_seed(1)
    expected = nn.functional.dropout(torch.ones(3, 2, 4), 0.5) != 0
    assert torch.equal(found, expected.transpose(0, 1))
