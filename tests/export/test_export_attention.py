"""Attention in programs of PyTorch's core operators: the same numbers, and the memory order that
views behind it need."""

from __future__ import annotations

from typing import Any

import pytest

import jtorch as torch
from jtorch import nn
from jtorch.export import Dim, export
from jtorch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, mask: torch.Tensor | None = None
    ) -> torch.Tensor:
        heads_last = F.scaled_dot_product_attention(
            query, key, key, mask, **self.options
        ).transpose(1, 2)
        return heads_last.view(query.shape[0], query.shape[2], -1)


MASK = torch.zeros(5, 6)
MASK[2] = float("-inf")


@pytest.mark.parametrize(
    ("options", "mask", "heads"),
    [({}, None, 4), ({"is_causal": True}, None, 4), ({"scale": -0.3}, None, 4), ({}, MASK, 4),
     ({}, MASK == 0, 4),
     ({"enable_gqa": True}, None, 2)],
)  # fmt: skip
def test_attention_is_written_with_core_operators(
    options: dict[str, Any], mask: Any, heads: int
) -> None:
    batch, module = Dim("batch"), Attention(**options)
    query, key = torch.randn(2, 5, 4, 8).transpose(1, 2), torch.randn(2, heads, 6, 8)
    shapes = {"query": {0: batch}, "key": {0: batch}, **({} if mask is None else {"mask": None})}
    args = (query, key) if mask is None else (query, key, mask)
    program = export(module, args, dynamic_shapes=shapes).run_decompositions()
    assert not any("scaled_dot_product" in str(node.target) for node in program.graph.nodes)
    for n in (2, 3):
        given = (torch.randn(n, 5, 4, 8).transpose(1, 2), torch.randn(n, heads, 6, 8), *args[2:])
        torch.testing.assert_close(program.module()(*given), module(*given))
