"""``torch._dynamo.export``: graphs of operators, in the older way of asking for them."""

from __future__ import annotations

from typing import Any

import pytest

import jtorch as torch
from jtorch import nn


@pytest.mark.parametrize("later", [False, True])
def test_gives_the_graph_of_operators(later: bool) -> None:
    net, x = nn.Linear(3, 2), torch.randn(4, 3)
    if later:
        module, guards = torch._dynamo.export(net, aten_graph=True)(x)
    else:
        module, guards = torch._dynamo.export(net, x, aten_graph=True)
    assert guards == set()
    assert torch.equal(module(x), net(x))
    called = [n.target for n in module.graph.nodes if n.op == "call_function"]
    assert torch.ops.aten.addmm.default in called
    module, _ = torch._dynamo.export(lambda x: x.sin() + 1, x, aten_graph=True, pre_dispatch=True)
    assert torch.equal(module(x), x.sin() + 1)


@pytest.mark.parametrize(
    "options", [{}, {"aten_graph": True, "same_signature": False}, {"constraints": [1]}]
)
def test_refuses_other_graphs(options: dict[str, Any]) -> None:
    with pytest.raises(NotImplementedError, match=r"torch._dynamo.export\(.*\) is not offered"):
        torch._dynamo.export(torch.sin, torch.ones(2), **options)
