"""Views of tensors whose data was replaced: they keep the memory that they were made of."""

from __future__ import annotations

import pytest

import jtorch as torch


def given(w: torch.Tensor) -> None:
    w.data = torch.ones(2, 2, dtype=w.dtype)


def cloned(w: torch.Tensor) -> None:
    w.data = w.data.clone()


@pytest.mark.parametrize("replace", [given, cloned])
def test_views_keep_their_elements(replace):
    w = torch.nn.Linear(2, 2).double().weight
    v = w[0]
    elements = w[0].tolist()
    replace(w)
    with torch.no_grad():
        w.add_(10)
    assert v.tolist() == elements and v.requires_grad
    with torch.no_grad():
        v.mul_(3)
    assert v.tolist() == [3 * x for x in elements] and w.min().item() >= 9


def test_views_of_parameters_that_a_module_converts():
    net = torch.nn.Linear(2, 2)
    row = net.weight[0]
    elements = row.tolist()
    net.double().float()
    with torch.no_grad():
        net.weight.zero_()
    assert row.tolist() == elements


def test_views_still_see_what_is_written_where_nothing_was_replaced():
    w = torch.zeros(2, requires_grad=True)
    v = w[:1]
    with torch.no_grad():
        w.add_(1)
    assert v.tolist() == [1.0]


@pytest.mark.parametrize("of", ["the tensor", "a part"])
def test_a_write_that_counts_after_one_through_data_is_noticed(of: str) -> None:
    w = torch.ones(3, requires_grad=True)
    x = torch.arange(3.0)
    saved = x if of == "the tensor" else x[0:]
    out, again = (w * saved).sum(), (w * saved).sum()
    saved.data.mul_(2)
    saved.data.mul_(2)
    # what it was computed with: no version tells of the change
    assert torch.autograd.grad(out, w)[0].tolist() == [0.0, 1.0, 2.0]
    x.add_(1)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0 instead"):
        again.backward()
    (w * x).sum().backward()
    assert w.grad.tolist() == [1.0, 5.0, 9.0]


def test_a_counted_write_after_one_through_data_is_refused_for_views_that_were_saved() -> None:
    w = torch.ones(3, requires_grad=True)
    x = torch.arange(12.0).reshape(4, 3) * 1.0
    x.tolist()
    y = (w * x[1]).sum()
    x.data[0] = 7.0
    x.data[2, 1] = 7.0
    x[3] = 8.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
