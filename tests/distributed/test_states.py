"""States by parameters' names: options of ``get_state_dict`` and ``set_state_dict``, and what they
refuse."""

from __future__ import annotations

from typing import Any

import pytest

import jtorch as torch
from jtorch import nn
from jtorch.distributed.checkpoint import state_dict as states
from jtorch.distributed.checkpoint.state_dict import StateDictOptions

FLAT = StateDictOptions(flatten_optimizer_state_dict=True)


def net() -> Any:
    return nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))


def trained() -> tuple[Any, Any]:
    model: Any = net()
    optimizer = torch.optim.AdamW(model.parameters(), 0.1)
    model(torch.ones(4, 2)).sum().backward()
    optimizer.step()
    return model, optimizer


def test_flat_states_come_back_while_there_are_gradients() -> None:
    model, optimizer = trained()
    flat = states.get_optimizer_state_dict(model, optimizer, options=FLAT)
    other = torch.optim.AdamW(model.parameters(), 0.5)
    states.set_optimizer_state_dict(model, other, flat, options=FLAT)
    assert other.param_groups[0]["lr"] == 0.1 and len(other.state) == 4
    for p in model.parameters():
        assert torch.equal(other.state[p]["exp_avg"], optimizer.state[p]["exp_avg"])


def test_flat_states_may_hold_dicts_and_names_within_names() -> None:
    model = nn.ModuleDict({"a": nn.ParameterList([torch.ones(2)]), "b": nn.Linear(1, 1)})
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for number, p in enumerate(model.parameters()):
        optimizer.state[p] = {"kept": {"left": torch.ones(1) * number, "right": number}}
    flat = states.get_optimizer_state_dict(model, optimizer, options=FLAT)
    assert flat["state.a.0.kept.right"] == 0 and flat["state.b.bias.kept.right"] == 2
    other = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    states.set_optimizer_state_dict(model, other, flat, options=FLAT)
    assert [other.state[p]["kept"]["right"] for p in model.parameters()] == [0, 1, 2]


def test_states_that_lack_a_parameter() -> None:
    model, optimizer = trained()
    for options in (StateDictOptions(), FLAT):
        found = states.get_optimizer_state_dict(model, optimizer, options=options)
        if options is FLAT:
            found = {
                name: value
                for name, value in found.items()
                if not name.startswith("state.2.weight")
            }
        else:
            del found["state"]["2.weight"]
        with pytest.raises(
            RuntimeError, match=r"Missing optimizer state for parameter '2\.weight' in checkpoint"
        ):
            states.set_optimizer_state_dict(model, optimizer, found, options=options)
        some = StateDictOptions(strict=False, flatten_optimizer_state_dict=options is FLAT)
        other = torch.optim.AdamW(model.parameters(), 0.5)
        states.set_optimizer_state_dict(model, other, found, options=some)
        assert len(other.state) == 3
    flat = states.get_optimizer_state_dict(model, optimizer, options=FLAT)
    with pytest.raises(KeyError, match=r"param_groups\.0\.weight\.lr"):
        del flat["param_groups.0.weight.lr"]
        states.set_optimizer_state_dict(model, optimizer, flat, options=FLAT)


def test_frozen_parameters_keep_their_states() -> None:
    model, optimizer = trained()
    model[0].weight.requires_grad_(False)
    assert set(states.get_optimizer_state_dict(model, optimizer)["state"]) == {
        "0.weight",
        "0.bias",
        "2.weight",
        "2.bias",
    }
    few = StateDictOptions(ignore_frozen_params=True)
    assert set(states.get_model_state_dict(model, options=few)) == {"0.bias", "2.weight", "2.bias"}


def test_empty_states_are_refused() -> None:
    model, optimizer = trained()
    for call in (
        lambda: states.set_model_state_dict(model, {}),
        lambda: states.get_model_state_dict(nn.ReLU()),
    ):
        with pytest.raises(
            RuntimeError,
            match="model state_dict is required to save or load, but model state_dict is empty",
        ):
            call()
    with pytest.raises(RuntimeError, match="optim state_dict is empty"):
        states.set_optimizer_state_dict(model, optimizer, {})
    assert (
        states.set_model_state_dict(model, {}, options=StateDictOptions(strict=False)).missing_keys
        == []
    )
