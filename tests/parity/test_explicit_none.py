"""None given for a parameter that has another default: refused, or taken for what PyTorch takes it
for."""

from __future__ import annotations

from typing import Any

import pytest

import jtorch

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")

CALLS = """
F.cross_entropy(x, t, ignore_index=None)
F.cross_entropy(x, t, label_smoothing=None)
F.gaussian_nll_loss(x, x, x, eps=None)
F.local_response_norm(c, 2, alpha=None)
F.local_response_norm(c, 2, beta=None)
F.local_response_norm(c, 2, k=None)
F.multi_margin_loss(x, t, margin=None)
F.normalize(x, p=None)
F.normalize(x, p="fro")
F.elu(x, alpha=None)
F.hardtanh(x, inplace=None)
F.relu6(x, None)
F.mse_loss(x, x, reduction=None)
lib.amax(x, dim=None)
lib.amin(x, None)
F.triplet_margin_loss(x, x, x, margin=None)
F.triplet_margin_with_distance_loss(x, x, x, swap=None)
lib.cdist(x, x, compute_mode=None)
lib.tensordot(x, x, None)
lib.linspace(0, 1, 3, requires_grad=None)
lib.logspace(0, 1, 3, requires_grad=None)
lib.zeros(2, requires_grad=None)
lib.zeros_like(x, requires_grad=None)
lib.hann_window(2, requires_grad=None)
lib.empty_strided((2,), (1,), requires_grad=None).fill_(1)
x.new_full((2,), 1, requires_grad=None)
lib.tensor([1.0], requires_grad=None)
x.new_tensor([1.0], requires_grad=None)
lib.linspace(0, 1, 3, requires_grad=1)
""".strip().splitlines()

#: PyTorch stumbles over its own checks there.
OTHER_TYPES = {"F.gaussian_nll_loss(x, x, x, eps=None)": (RuntimeError, TypeError)}


def _outcome(lib: Any, call: str) -> Any:
    x, t, c = lib.ones(2, 3), lib.tensor([0, 1]), lib.ones(2, 4, 5)
    try:
        found = eval(call, {"lib": lib, "F": lib.nn.functional, "x": x, "t": t, "c": c})
    except Exception as error:
        return type(error)
    return found.tolist(), found.requires_grad


@pytest.mark.parametrize("call", CALLS)
def test_explicit_none(call: str) -> None:
    theirs, ours = _outcome(torch, call), _outcome(jtorch, call)
    assert (theirs, ours) == OTHER_TYPES.get(call, (theirs, theirs))


@pytest.mark.parametrize(
    "like",
    [
        "rand_like(x, requires_grad=None)",
        "randn_like(x, requires_grad=None)",
        "rand(2, requires_grad=None)",
    ],
)
def test_draws_take_none_for_false(like: str) -> None:
    for lib in (torch, jtorch):
        x = lib.ones(2)
        assert eval(f"lib.{like}", {"lib": lib, "x": x}).requires_grad is False


@pytest.mark.parametrize("flag", [None, 0, 1])
@pytest.mark.parametrize(
    ("name", "option"),
    [
        (name, "maximize")
        for name in (
            "SGD",
            "Adam",
            "AdamW",
            "Adagrad",
            "Adadelta",
            "Adamax",
            "NAdam",
            "RAdam",
            "RMSprop",
            "Rprop",
            "ASGD",
        )
    ]
    + [
        ("SGD", "nesterov"),
        ("Adam", "amsgrad"),
        ("Adam", "decoupled_weight_decay"),
        ("NAdam", "decoupled_weight_decay"),
    ]
    + [("RAdam", "decoupled_weight_decay"), ("RMSprop", "centered")],
)
def test_flags_of_optimisers_need_not_be_bool(name: str, option: str, flag: Any) -> None:
    def trained(lib: Any) -> Any:
        p = lib.tensor([1.0, -2.0, 3.0], requires_grad=True)
        others = {"momentum": 0.9} if name == "SGD" else {}
        optimizer = getattr(lib.optim, name)(
            [p], **({} if name == "Rprop" else {"weight_decay": 0.1}), **{option: flag}, **others
        )
        for _ in range(3):
            p.grad = lib.tensor([0.5, 1.0, -1.0])
            optimizer.step()
        return p.tolist()

    assert trained(jtorch) == pytest.approx(trained(torch), rel=1e-5)
