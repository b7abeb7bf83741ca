"""What functions give where an argument is left out, and what methods return."""

from __future__ import annotations

import inspect
import pickle

import pytest

import jtorch as torch


def test_losses_of_the_torch_namespace_do_not_reduce_unless_told() -> None:
    x, y = torch.tensor([0.25, 0.5]), torch.tensor([1.0, -1.0])
    assert torch.hinge_embedding_loss(x, y).shape == (2,)
    assert torch.kl_div(x, y).shape == (2,)
    assert torch.margin_ranking_loss(x, y, y, reduction=1).shape == ()
    assert torch.binary_cross_entropy_with_logits(x[:1], y.abs()).shape == (2,)  # and broadcast
    assert torch.nn.functional.hinge_embedding_loss(x, y).shape == ()


def test_losses_that_are_operators_take_the_mean_unless_told() -> None:
    x, y = torch.tensor([0.25, 0.5]), torch.tensor([1.0, -1.0])
    assert torch.ops.aten.hinge_embedding_loss(x, y).shape == ()
    assert torch.ops.aten.hinge_embedding_loss(x, y, 1.0, 0).shape == (2,)
    assert torch.ops.aten.kl_div(x, y).shape == ()
    assert torch.ops.aten.binary_cross_entropy_with_logits(x, y.abs()).shape == ()


def test_a_tensor_with_a_history_is_pickled_without_it() -> None:
    y = torch.ones(2, requires_grad=True) * 2
    found = pickle.loads(pickle.dumps(y))
    assert found.tolist() == [2, 2]
    assert found.requires_grad
    assert found.is_leaf


def test_setting_the_state_of_a_generator_returns_it() -> None:
    g = torch.Generator().manual_seed(3)
    other = torch.Generator()
    assert other.set_state(g.get_state()) is other
    assert torch.equal(torch.rand(3, generator=g), torch.rand(3, generator=other))


@pytest.mark.filterwarnings("ignore:adjoint.* is deprecated on 0-D tensors")
def test_the_adjoint_of_a_number_is_its_conjugate() -> None:
    assert torch.adjoint(torch.tensor(1 + 2j)).item() == 1 - 2j
    assert torch.adjoint(torch.tensor(3.0)).item() == 3


def test_complex_numbers_without_imaginary_part_become_real() -> None:
    assert float(torch.tensor(2 + 0j)) == 2.0
    assert int(torch.tensor(2 + 0j)) == 2


def test_properties_of_tensors_have_their_own_docstrings() -> None:
    for name in ("shape", "grad", "T", "real", "is_cpu", "layout"):
        doc = inspect.getdoc(inspect.getattr_static(torch.Tensor, name))
        assert doc is not None
        assert ">>>" in doc, name


def test_fill_diagonal_of_an_expanded_tensor_writes_without_a_warning() -> None:
    row = torch.zeros(1, 3)
    row.expand(3, 3).fill_diagonal_(5)
    assert row.tolist() == [[5.0, 5.0, 5.0]]
