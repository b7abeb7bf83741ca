"""Functions that a program puts in the place of ``torch.nn.functional``'s: who calls them, as where
PyTorch writes the caller in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

import jtorch as torch
from jtorch import nn
from jtorch.nn import functional as F


def calls(name: str, run: Callable[[], Any]) -> int:
    with mock.patch.object(F, name, mock.Mock(wraps=getattr(F, name))) as replaced:
        run()
    return replaced.call_count


def attend(need_weights: bool) -> Callable[[], Any]:
    x, layer = torch.ones(3, 1, 4), nn.MultiheadAttention(4, 2)
    return lambda: layer(x, x, x, need_weights=need_weights)


@pytest.mark.parametrize(
    ("name", "need_weights", "expected"),
    [
        ("multi_head_attention_forward", False, 1),
        ("scaled_dot_product_attention", False, 1),
        ("scaled_dot_product_attention", True, 0),
        ("softmax", True, 1),
        ("softmax", False, 0),
        ("linear", False, 2),
        ("layer_norm", False, 0),
    ],
)
def test_attention_calls_what_stands_in_the_module(
    name: str, need_weights: bool, expected: int
) -> None:
    assert calls(name, attend(need_weights)) == expected


def test_a_layer_of_an_encoder_attends_by_the_replaced_function() -> None:
    x, layer = torch.ones(3, 1, 4), nn.TransformerEncoderLayer(4, 2, 8)
    assert calls("scaled_dot_product_attention", lambda: layer(x)) == 1
    with mock.patch.object(
        F, "scaled_dot_product_attention", lambda query, *rest: torch.zeros_like(query)
    ):
        torch.testing.assert_close(
            nn.MultiheadAttention(4, 2)(x, x, x, need_weights=False)[0], torch.zeros_like(x)
        )


def test_other_functions_call_their_neighbours_too() -> None:
    with pytest.warns(UserWarning, match="upsample"):
        assert calls("interpolate", lambda: F.upsample(torch.zeros(1, 1, 2), scale_factor=2)) == 1
    x, weight, labels = torch.ones(2, 3), torch.ones(4, 3), torch.tensor([0, 1])
    for name in ("linear", "cross_entropy"):
        assert calls(name, lambda: F.linear_cross_entropy(x, weight, labels)) == 1


def test_what_pytorch_writes_below_python_calls_no_replaced_function() -> None:
    assert calls("softmax", lambda: F.scaled_dot_product_attention(*[torch.ones(1, 2, 2)] * 3)) == 0
    assert (
        calls(
            "dropout",
            lambda: F.scaled_dot_product_attention(*[torch.ones(1, 2, 2)] * 3, dropout_p=0.5),
        )
        == 0
    )
