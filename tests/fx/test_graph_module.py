"""Copies of graph modules, and files of them."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import jtorch as torch
from jtorch import fx, nn


class _Named(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))

    def forward(self, x: Any) -> Any:
        return self.parts[0](x) + 1


@pytest.mark.parametrize(
    "again",
    [
        copy.deepcopy,
        lambda m: pickle.loads(pickle.dumps(m)),
        lambda m: copy.deepcopy(copy.deepcopy(m)),
    ],
)
def test_copies_keep_what_the_graph_does_not_name(again: Any) -> None:
    made = fx.symbolic_trace(_Named())
    made.add_submodule("added", nn.Linear(1, 1))
    made.parts.extra = nn.Linear(1, 1)
    made.register_buffer("kept", torch.tensor([2.0]))
    made.register_buffer("passing", torch.tensor([3.0]), persistent=False)
    made.register_parameter("weight", nn.Parameter(torch.tensor([4.0])))
    found = again(made)
    x = torch.ones(1, 2)
    assert {k: v.tolist() for k, v in found.state_dict().items()} == {
        k: v.tolist() for k, v in made.state_dict().items()
    }
    assert sorted(n for n, _ in found.named_modules()) == sorted(n for n, _ in made.named_modules())
    assert found.passing.tolist() == [3.0] and found(x).tolist() == made(x).tolist()
    assert found.kept is not made.kept and found.weight is not made.weight


def test_notes_of_copies_are_copies() -> None:
    module = fx.symbolic_trace(_Named())
    module.meta["notes"], module.meta["itself"] = [1], module
    made = copy.deepcopy(module)
    made.meta["notes"].append(2)
    assert module.meta["notes"] == [1] and made.meta["itself"] is made
