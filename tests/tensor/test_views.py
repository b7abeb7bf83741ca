"""Views: when they are computed, and what is no view but the tensor itself."""

from __future__ import annotations

import warnings

import jax
import numpy as np
import pytest

import jtorch as torch


@pytest.fixture
def at_once():
    with torch.execution("immediate"):
        yield


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.t(),
        lambda x: x[1:],
        lambda x: x.reshape(-1),
        lambda x: x.chunk(2, 1)[1],
        lambda x: x.unbind()[2],
        lambda x: x[:, None],
    ],
    ids=["t", "slice", "reshape", "chunk", "unbind", "unsqueeze"],
)
def test_views_are_computed_when_they_are_read(at_once, make):
    x = torch.arange(12.0).reshape(3, 4).clone()
    view = make(x)
    assert view._v is None
    assert view._al.value is None
    x.add_(1)
    array = np.arange(12.0, dtype=np.float32).reshape(3, 4) + 1
    expected = make(torch.tensor(array)).tolist()
    assert view.tolist() == expected
    view.mul_(2)
    assert view.tolist() == np.multiply(expected, 2).tolist()
    assert x.sum().item() == array.sum() + np.sum(expected)


def test_a_view_first_read_inside_a_transformation_is_read_again_outside(at_once):
    x = torch.arange(3.0)
    view = x.unsqueeze(0)
    assert jax.jit(lambda a: (view.jax() * a).sum())(2.0) == 6
    assert view.sum().item() == 3


def test_recorded_views_follow_their_base_too():
    x = torch.zeros(2, 2)
    view = x.t()
    x[0, 1] = 5
    assert view.tolist() == [[0, 0], [5, 0]]


@pytest.mark.parametrize(
    "f",
    [
        torch.conj,
        torch.conj_physical,
        torch.positive,
        lambda x: +x,
        lambda x: torch.broadcast_tensors(x, x)[0],
    ],
)
def test_nothing_to_do_gives_the_tensor_itself(f):
    x = torch.ones(2, requires_grad=True)
    assert f(x) is x


def test_what_must_be_computed_is_another_tensor():
    z = torch.tensor([1 + 2j])
    assert torch.conj(z) is not z
    assert torch.conj(z).item() == 1 - 2j
    x, out = torch.ones(2), torch.zeros(2)
    assert torch.conj_physical(x, out=out) is out
    assert out.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="on a bool tensor"):
        +torch.tensor([True])


@pytest.mark.parametrize("mode", ["deferred", "immediate"])
def test_a_tensor_turned_in_place_can_be_read_and_copied(mode: str) -> None:
    with torch.execution(mode):
        column = torch.arange(3.0).unsqueeze_(-1)
        held = torch.zeros(2, 3, 2)
        held[1].copy_(column)
        turned = torch.arange(6.0).reshape(2, 3).clone().t_()
        turned.mul_(2)
    assert held[1].tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]
    assert turned.tolist() == [[0.0, 6.0], [2.0, 8.0], [4.0, 10.0]]


def test_views_are_not_detached_in_place() -> None:
    x = torch.ones(2, 3)
    grown = torch.ones(2, 3, requires_grad=True) * 2
    for view in (x[0], x.view(6), x.tensor_split(2, 1)[0], x.chunk(2)[0], grown[0]):
        with pytest.raises(RuntimeError, match="Can't detach views in-place"):
            view.detach_()
    assert not grown.detach()[0].detach().detach_().requires_grad
    assert not grown.data.detach_().requires_grad
    assert not grown.detach_().requires_grad


def test_expanded_numbers_have_no_strides() -> None:
    x = torch.tensor(1.0)
    found = [
        x.expand(2, 1),
        x.expand(1),
        x.expand(1, 1),
        torch.broadcast_to(x, (2, 3, 1)),
        x.expand_as(torch.ones(1, 2)),
    ]
    assert [set(t.stride()) for t in found] == [{0}] * 5
    assert torch.ones(1).expand(2, 1).stride() == (0, 1)


def test_numpy_of_what_requires_grad_where_nothing_is_recorded() -> None:
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        array = x.numpy()
        array[0] = 5.0
        assert x.tolist() == [5.0, 1.0] and (x * 2).numpy().tolist() == [10.0, 2.0]
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        x.numpy()


def test_conjugate_transposes_of_numbers() -> None:
    x = torch.tensor(1 + 2j)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that they are deprecated, once
        assert x.H.item() == x.mH.item() == x.adjoint().item() == 1 - 2j and x.T.item() == 1 + 2j


def test_many_parts_are_views_and_quick() -> None:
    # pending: a program with as many results would take minutes to make
    x = torch.arange(40000.0).view(2, 20000) * 1
    parts = x.unbind(1)
    assert len(parts) == 20000 and parts[3].tolist() == [3.0, 20003.0]
    parts[5].fill_(9)
    x[0, 7] = 5
    assert x[1, 5].item() == 9 and parts[7].tolist() == [5.0, 20007.0]
    assert (
        parts[7].stride() == (20000,) and parts[7].storage_offset() == 7 and parts[7]._version == 2
    )
    conjugates = list(torch.full((70,), 1j).conj())
    assert conjugates[3].item() == -1j


@pytest.mark.parametrize("mode", ["immediate", "deferred"])
def test_parts_of_nothing(mode: str) -> None:
    with torch.execution(mode):
        x = torch.ones(0, 3) * 2
        assert [part.tolist() for part in x.split(2, 1)] == [[], []]
        assert (x[:, 1:] + 1).shape == (0, 2) and x.chunk(2, 1)[1].numpy().shape == (0, 1)
