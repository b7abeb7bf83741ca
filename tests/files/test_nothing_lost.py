"""Bad input loses nothing: a call that raises leaves tensors, optimizers and modules as they
were."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import jtorch as torch
from jtorch import nn

_ONE = torch.tensor([[8]])

CHANGES: dict[str, Callable[[Any], Any]] = {
    "add_": lambda t: t.add_(torch.ones(4)),
    "add_, broadcast": lambda t: t.add_(torch.ones(2, 2, 3)),
    "mul_ by text": lambda t: t.mul_("x"),
    "copy_": lambda t: t.copy_(torch.ones(5)),
    "fill_": lambda t: t.fill_(torch.ones(2)),
    "item of a tensor": lambda t: t.__setitem__(torch.tensor([9]), 1.0),
    "item": lambda t: t.__setitem__(9, 1.0),
    "item's shape": lambda t: t.__setitem__(0, torch.ones(4)),
    "item of a mask": lambda t: t.__setitem__(torch.tensor([True, False, True]), 1.0),
    "index_add_": lambda t: t.index_add_(0, torch.tensor([5]), torch.ones(1, 3)),
    "index_copy_": lambda t: t.index_copy_(0, torch.tensor([5]), torch.ones(1, 3)),
    "index_fill_": lambda t: t.index_fill_(0, torch.tensor([7]), 1.0),
    "scatter_": lambda t: t.scatter_(1, _ONE, 1.0),
    "scatter_add_": lambda t: t.scatter_add_(1, _ONE, torch.ones(1, 1)),
    "masked_fill_": lambda t: t.masked_fill_(torch.ones(5, dtype=torch.bool), 1.0),
    "masked_scatter_": lambda t: t.masked_scatter_(
        torch.ones(2, 3, dtype=torch.bool), torch.ones(2)
    ),
    "put_": lambda t: t.put_(torch.tensor([77]), torch.ones(1)),
    "uniform_": lambda t: t.uniform_(2, 1),
    "normal_": lambda t: t.normal_(0, -1),
    "bernoulli_": lambda t: t.bernoulli_(3.0),
    "random_": lambda t: t.random_(5, 2),
    "resize_ to less than nothing": lambda t: t.resize_(-1, 2),
    "resize_ to more than there is": lambda t: t.resize_(1 << 62, 4),
    "set_ of another dtype": lambda t: t.set_(torch.ones(2, dtype=torch.int64)),
    "set_ to a size that is none": lambda t: t.set_(
        torch.ones(2).untyped_storage(), 0, (-3,), (1,)
    ),
    "as_strided_": lambda t: t.as_strided_((9, 9), (9, 1)),
    "squeeze_": lambda t: t.squeeze_(5),
    "unsqueeze_": lambda t: t.unsqueeze_(9),
    "transpose_": lambda t: t.transpose_(0, 7),
    "div_": lambda t: t.div_(2, rounding_mode="x"),
    "addmm_": lambda t: t.addmm_(torch.ones(2, 4), torch.ones(5, 3)),
    "cumsum_": lambda t: t.cumsum_(9),
    "lerp_": lambda t: t.lerp_(torch.ones(9), 0.5),
    "sub, out": lambda t: torch.sub(torch.ones(2), torch.ones(3), out=t),
    "add of complex, out": lambda t: torch.add(torch.ones(2, 3, dtype=torch.complex64), 1, out=t),
    "mm, out": lambda t: torch.mm(torch.ones(2, 3), torch.ones(4, 3), out=t),
    "cat, out": lambda t: torch.cat([torch.ones(2, 3), torch.ones(2, 4)], out=t),
    "gather, out": lambda t: torch.gather(torch.ones(2, 3), 1, _ONE, out=t),
    "solve, out": lambda t: torch.linalg.solve(torch.zeros(2, 2), torch.ones(2, 3), out=t),
    "cholesky, out": lambda t: torch.linalg.cholesky(-torch.eye(3), out=t),
    "index_select, out": lambda t: torch.index_select(
        torch.ones(2, 3), 0, torch.tensor([5]), out=t
    ),
    "add with a history, out": lambda t: torch.add(torch.ones(2, 3, requires_grad=True), 1, out=t),
    "sum, out": lambda t: torch.sum(torch.ones(2, 3), 7, out=t),
    "arange, out": lambda t: torch.arange(0, 5, -1, out=t),
}


def _state(t: Any) -> tuple[Any, ...]:
    return (
        tuple(t.shape),
        tuple(t.stride()),
        t.storage_offset(),
        t.dtype,
        t.requires_grad,
        t.untyped_storage().nbytes(),
        t._version,
    )


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_tensors_stay_as_they_were(change: Callable[[Any], Any]) -> None:
    t = torch.arange(6.0).reshape(2, 3)
    view, before = t[1], _state(t)
    with pytest.raises((RuntimeError, IndexError, TypeError, ValueError)):
        change(t)
        t.tolist()
    assert t.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert _state(t) == before
    t.add_(1)  # and goes on
    assert view.tolist() == [4, 5, 6]


INTEGERS = {
    "add_": lambda t: t.add_(1.5), "div_": lambda t: t.div_(2), "sqrt_": lambda t: t.sqrt_(),
    "floor_divide_": lambda t: t.floor_divide_(0),
    "remainder_": lambda t: t.remainder_(torch.zeros(3, dtype=torch.int64)),
    "pow_": lambda t: t.pow_(-1), "normal_": lambda t: t.normal_(),
}  # fmt: skip


@pytest.mark.parametrize("change", INTEGERS.values(), ids=INTEGERS)
def test_integers_stay_as_they_were(change: Callable[[Any], Any]) -> None:
    t = torch.arange(6).reshape(2, 3)
    before = _state(t)
    with pytest.raises(Exception, match=r"."):
        change(t)
        t.tolist()
    assert t.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert _state(t) == before


def test_a_module_takes_what_fits_and_says_what_does_not() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 4), nn.Linear(4, 2))
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
    given = {name: torch.ones_like(p) for name, p in model.state_dict().items()}
    given |= {"1.weight": torch.ones(7, 7), "2.bias": torch.ones(9)}
    with pytest.raises(RuntimeError) as caught:
        model.load_state_dict(given)
    assert "size mismatch for 1.weight" in str(caught.value) and "size mismatch for 2.bias" in str(
        caught.value
    )
    assert {name: p.sum().item() for name, p in model.state_dict().items()} == {
        "0.weight": 6, "0.bias": 3, "1.weight": 0, "1.bias": 4, "2.weight": 8, "2.bias": 0,
    }  # fmt: skip


SPOILT: dict[str, Callable[[Any], Any]] = {
    "a group too many": lambda s: s["param_groups"].append(s["param_groups"][0]),
    "a parameter too few": lambda s: s["param_groups"][0].__setitem__("params", [0]),
    "no groups": lambda s: s.pop("param_groups"),
    "groups that are none": lambda s: s.__setitem__("param_groups", None),
    "a group without parameters": lambda s: s["param_groups"][0].pop("params"),
    "no state": lambda s: s.pop("state"),
    "a state that is a list": lambda s: s.__setitem__("state", [1]),
    "a state that is none": lambda s: s.__setitem__("state", None),
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_an_optimizer_stays_as_it_was(spoil: Callable[[Any], Any]) -> None:
    params = [nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(3))]
    optimizer = torch.optim.Adam(params, lr=0.1)
    for p in params:
        p.grad = torch.ones_like(p)
    optimizer.step()
    before = repr(optimizer.state_dict())
    state = copy.deepcopy(optimizer.state_dict())
    spoil(state)
    with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
        optimizer.load_state_dict(state)
    assert repr(optimizer.state_dict()) == before
    optimizer.step()
