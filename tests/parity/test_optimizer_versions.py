"""How often optimizers write, as the version counters tell, and what ``backward`` says of it: as in
PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch as theirs

import jtorch as ours

pytestmark = pytest.mark.parity

_WAYS: list[tuple[str, dict[str, Any]]] = [
    *[
        ("Adam", {}),
        ("Adam", {"weight_decay": 0.1}),
        ("Adam", {"amsgrad": True}),
        ("Adam", {"foreach": True}),
    ],
    *[("Adam", {"decoupled_weight_decay": True, "weight_decay": 0.1})],
    *[
        ("AdamW", {}),
        ("AdamW", {"weight_decay": 0}),
        ("AdamW", {"amsgrad": True}),
        ("AdamW", {"foreach": False}),
    ],
    *[
        ("SGD", {}),
        ("SGD", {"momentum": 0.9}),
        ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ],
    *[
        ("SGD", {"momentum": 0.9, "foreach": True}),
        ("Adamax", {}),
        ("Adamax", {"foreach": True}),
        ("Rprop", {}),
        ("NAdam", {}),
    ],
    *[
        ("RAdam", {}),
        ("RMSprop", {"momentum": 0.9, "centered": True}),
        ("ASGD", {}),
        ("Adagrad", {}),
        ("Adadelta", {}),
        ("LBFGS", {}),
    ],
]


def _versions(torch: Any, name: str, options: dict[str, Any]) -> list[Any]:
    parameters = [torch.nn.Parameter(torch.ones(3, 2)), torch.nn.Parameter(torch.ones(2))]
    optimizer = getattr(torch.optim, name)(parameters, **options)
    found = []
    for _ in range(3):
        for p in parameters:
            p.grad = torch.ones_like(p)
        optimizer.step(lambda: torch.tensor(1.0)) if name == "LBFGS" else optimizer.step()
        states = [
            {
                k: v._version
                for k, v in optimizer.state[p].items()
                if isinstance(v, torch.Tensor) and k != "t"
            }
            for p in parameters
        ]
        found.append(
            ([p._version for p in parameters], [p.grad._version for p in parameters], states)
        )
    return found


@pytest.mark.parametrize(("name", "options"), _WAYS, ids=str)
def test_versions_after_steps(name: str, options: dict[str, Any]) -> None:
    assert _versions(ours, name, options) == _versions(theirs, name, options)


def _refused(torch: Any, name: str, options: dict[str, Any]) -> str:
    p = torch.nn.Parameter(torch.ones(2))
    optimizer = getattr(torch.optim, name)([p], **options)
    p.grad = torch.ones(2)
    optimizer.step()
    loss = (p * p).sum()
    optimizer.step()
    with pytest.raises(RuntimeError) as caught:
        loss.backward()
    return str(caught.value).partition("Hint")[0]


@pytest.mark.parametrize(
    ("name", "options"),
    [("AdamW", {}), ("Adam", {}), ("SGD", {"momentum": 0.9}), ("ASGD", {})],
    ids=str,
)
def test_what_was_saved_before_a_step(name: str, options: dict[str, Any]) -> None:
    assert _refused(ours, name, options) == _refused(theirs, name, options)
