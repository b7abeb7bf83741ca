"""``nn.utils``: clipping, packing, normalizations, parametrizations, pruning, fusing."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch import nn
from jtorch.nn import utils
from jtorch.nn.utils import parametrizations, parametrize, prune, rnn
from jtorch.nn.utils.stateless import _functional_call


def linear(*sizes: int) -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(*sizes)


def assert_equal(a: Any, b: Any) -> None:
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)


# ---- gradients -----------------------------------------------------------------------------------


def with_gradients() -> list[nn.Parameter]:
    params = [nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(1)), nn.Parameter(torch.ones(1))]
    params[0].grad = torch.tensor([3.0, 0.0])
    params[1].grad = torch.tensor([4.0])
    return params


def test_clip_grad_norm() -> None:
    params = with_gradients()
    assert utils.clip_grad_norm_(iter(params), 1.0).item() == 5
    assert_equal(params[0].grad, torch.tensor([0.6, 0.0]))
    assert utils.clip_grad_norm_(params, 10.0).item() == pytest.approx(1)
    assert_equal(params[1].grad, torch.tensor([0.8]))
    assert utils.clip_grad_norm_(with_gradients(), 1.0, norm_type=float("inf")).item() == 4
    assert utils.clip_grad_norm_([], 1.0).item() == 0


@pytest.mark.parametrize("order", [0.5, 1.0, 2.0, float("inf")])
def test_clip_grad_norm_of_many(order: float) -> None:
    torch.manual_seed(0)
    grads = [
        torch.randn(s) for s in [(3, 2), (4,), (), (5, 1), (2, 2, 2), (80, 80), (1,), (7,), (2, 3)]
    ]
    params = [nn.Parameter(torch.zeros_like(g)) for g in grads]
    for p, g in zip(params, grads, strict=True):
        p.grad = g.clone()
    flat = torch.cat([g.ravel() for g in grads]).double()
    norm = torch.linalg.vector_norm(flat, order).item()
    assert utils.get_total_norm(grads, order).item() == pytest.approx(norm, rel=1e-6)
    assert utils.clip_grad_norm_(params, 0.5, order).item() == pytest.approx(norm, rel=1e-6)
    for p, g in zip(params, grads, strict=True):
        assert_equal(p.grad, g * (0.5 / norm))
        assert p.grad is not None and p.grad._version == 1
    assert utils.clip_grad_norm_(params, 1e6, order).item() == pytest.approx(0.5, rel=1e-4)


def test_clip_grad_value_of_many() -> None:
    grads = [torch.tensor([-1.0, n / 10, math.nan]) for n in range(9)]
    params = [nn.Parameter(torch.zeros(3)) for _ in grads]
    for p, g in zip(params, grads, strict=True):
        p.grad = g.clone()
    utils.clip_grad_value_(params, 0.5)
    for p, g in zip(params, grads, strict=True):
        assert_equal(p.grad, g.clamp(-0.5, 0.5))


def test_clip_grad_norm_of_many_nonfinite_gradients_writes_nothing() -> None:
    params = [nn.Parameter(torch.ones(2)) for _ in range(9)]
    for p in params:
        p.grad = torch.tensor([1.0, float("inf")])
    with pytest.raises(RuntimeError, match="is non-finite"):
        utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)
    assert all(p.grad is not None and p.grad[0] == 1 and p.grad._version == 0 for p in params)


def test_clip_grad_norm_of_nonfinite_gradients() -> None:
    params = with_gradients()
    params[0].grad.fill_(float("inf"))
    with pytest.raises(
        RuntimeError,
        match=r"The total norm of order 2\.0 for gradients from `parameters` is non-finite",
    ):
        utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)
    with pytest.warns(UserWarning, match="`parameters` is an empty generator"):
        utils.clip_grad_norm_((p for p in []), 1.0)


def test_clip_grad_value() -> None:
    params = with_gradients()
    utils.clip_grad_value_(params, 3.5)
    assert params[0].grad.tolist() == [3, 0]
    assert params[1].grad.tolist() == [3.5]


def test_vector_of_parameters() -> None:
    m = linear(2, 1)
    vector = utils.parameters_to_vector(m.parameters())
    assert vector.requires_grad
    utils.vector_to_parameters(torch.arange(3.0), m.parameters())
    assert m.weight.tolist() == [[0, 1]]
    assert m.bias.tolist() == [2]
    assert isinstance(m.weight, nn.Parameter)


# ---- sequences -----------------------------------------------------------------------------------


def sequences() -> list[torch.Tensor]:
    return [torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0, 5.0]), torch.tensor([6.0])]


def test_pad_sequence() -> None:
    assert rnn.pad_sequence(sequences(), batch_first=True).tolist() == [
        [1, 2, 0],
        [3, 4, 5],
        [6, 0, 0],
    ]
    assert rnn.pad_sequence(sequences(), padding_value=-1.0, padding_side="left").tolist() == [
        [-1, 3, -1],
        [1, 4, -1],
        [2, 5, 6],
    ]
    with pytest.raises(RuntimeError, match="received an empty list of sequences"):
        rnn.pad_sequence([])


def test_pack_and_unpack() -> None:
    packed = rnn.pack_sequence(sequences(), enforce_sorted=False)
    assert packed.data.tolist() == [3, 1, 6, 4, 2, 5]
    assert packed.batch_sizes.tolist() == [3, 2, 1]
    assert packed.sorted_indices.tolist() == [1, 0, 2]
    assert packed.unsorted_indices.tolist() == [1, 0, 2]
    for got, want in zip(rnn.unpack_sequence(packed), sequences(), strict=True):
        assert got.tolist() == want.tolist()
    padded, lengths = rnn.pad_packed_sequence(
        packed, batch_first=True, padding_value=9.0, total_length=4
    )
    assert padded.tolist() == [[1, 2, 9, 9], [3, 4, 5, 9], [6, 9, 9, 9]]
    assert lengths.tolist() == [2, 3, 1]
    assert packed.double().data.dtype == torch.float64
    assert packed.cpu() is packed


def test_packing_is_differentiable() -> None:
    x = torch.ones(3, 2, requires_grad=True)
    packed = rnn.pack_padded_sequence(x, [3, 1])
    (rnn.pad_packed_sequence(packed)[0] * 2).sum().backward()
    assert x.grad.tolist() == [[2, 2], [2, 0], [2, 0]]


@pytest.mark.parametrize(
    ("lengths", "text"),
    [
        ([1, 2], "`lengths` array must be sorted in decreasing order"),
        ([2], r"Expected `len\(lengths\)` to be equal to batch_size, but got 1 \(batch_size=2\)"),
        ([2, 0], "Length of all samples has to be greater than 0"),
        ([4, 1], "Expected sequence length to be at most 3"),
    ],
)
def test_packing_errors(lengths: list[int], text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        rnn.pack_padded_sequence(torch.ones(3, 2), lengths)


# ---- normalizations and parametrizations ---------------------------------------------------------


def test_weight_norm_hook() -> None:
    m = linear(2, 3)
    before = m.weight.detach().clone()
    with pytest.warns(FutureWarning, match="deprecated in favor of"):
        utils.weight_norm(m)
    assert list(m.state_dict()) == ["bias", "weight_g", "weight_v"]
    assert m.weight_g.shape == (3, 1)
    m.weight_g.data.mul_(2)
    m(torch.ones(1, 2))
    assert_equal(m.weight, before * 2)
    utils.remove_weight_norm(m)
    assert isinstance(m.weight, nn.Parameter)
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found in"):
        utils.remove_weight_norm(m)


def test_weight_norm_parametrization_loads_the_hook_form() -> None:
    m = parametrizations.weight_norm(linear(2, 3))
    assert list(m.state_dict()) == [
        "bias",
        "parametrizations.weight.original0",
        "parametrizations.weight.original1",
    ]
    m.load_state_dict(
        {"bias": torch.zeros(3), "weight_g": torch.ones(3, 1), "weight_v": torch.ones(3, 2)}
    )
    assert_equal(m.weight, torch.full((3, 2), 0.5**0.5))


def largest_singular_value(w: torch.Tensor) -> float:
    return np.linalg.svd(w.detach().numpy(), compute_uv=False)[0]


@pytest.mark.parametrize("normalize", [utils.spectral_norm, parametrizations.spectral_norm])
def test_spectral_norm(normalize: Any) -> None:
    m = normalize(linear(4, 3), n_power_iterations=30)
    m(torch.ones(1, 4))
    assert largest_singular_value(m.weight) == pytest.approx(1, rel=1e-4)
    other = normalize(nn.Linear(4, 3))
    other.load_state_dict(m.state_dict())
    assert_equal(other.eval()(torch.ones(1, 4)), m.eval()(torch.ones(1, 4)))


@pytest.mark.parametrize("how", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("sizes", [(3, 3), (2, 4), (4, 2)])
def test_orthogonal(how: str, sizes: tuple[int, int]) -> None:
    m = parametrizations.orthogonal(linear(*sizes), orthogonal_map=how)
    q = m.weight.detach().numpy()
    small = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
    np.testing.assert_allclose(small, np.eye(len(small)), atol=1e-5)
    target = torch.eye(sizes[1], sizes[0])
    m.weight = target
    assert_equal(m.weight, target)
    m.weight.sum().backward()
    assert m.parametrizations.weight.original.grad is not None
    parametrize.remove_parametrizations(m, "weight")
    assert type(m) is nn.Linear
    assert_equal(m.weight, target)


def test_parametrizations_in_a_row() -> None:
    m = linear(2, 2)
    original = m.weight
    parametrize.register_parametrization(m, "weight", nn.ReLU())
    parametrize.register_parametrization(m, "weight", nn.Tanh())
    assert m.parametrizations.weight.original is original
    assert_equal(m.weight, torch.tanh(torch.relu(original)))
    assert type(m).__name__ == "ParametrizedLinear"
    assert parametrize.type_before_parametrizations(m) is nn.Linear
    with parametrize.cached():
        assert m.weight is m.weight
    assert m.weight is not m.weight
    again = copy.deepcopy(m)
    assert again.parametrizations.weight.original is not original
    with pytest.raises(RuntimeError, match=r"only supported through state_dict\(\)"):
        pickle.dumps(m)
    with pytest.raises(RuntimeError, match="parametrization Tanh does not implement right_inverse"):
        m.weight = torch.ones(2, 2)


def test_parametrizations_may_not_change_shape_or_dtype() -> None:
    class Doubles(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.double()

    m = linear(2, 2)
    with pytest.raises(
        ValueError, match="Registering a parametrization may not change the dtype of the tensor"
    ):
        parametrize.register_parametrization(m, "weight", Doubles())
    assert type(m) is nn.Linear
    parametrize.register_parametrization(m, "weight", Doubles(), unsafe=True)
    assert m.weight.dtype == torch.float64
    with pytest.raises(
        ValueError,
        match="does not have a parameter, a buffer, or a parametrized element with name 'x'",
    ):
        parametrize.register_parametrization(m, "x", Doubles())


# ---- functional calls, pruning, fusing -----------------------------------------------------------


def test_functional_call() -> None:
    m = nn.Sequential(linear(2, 1), nn.BatchNorm1d(1))
    kept = m[0].weight
    given = {
        "0.weight": torch.ones(1, 2),
        "0.bias": torch.zeros(1),
        "1.running_mean": torch.zeros(1),
    }
    _functional_call(m, given, torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert m[0].weight is kept
    assert m[1].running_mean.item() == 0
    assert given["1.running_mean"].item() == pytest.approx(0.5)
    with pytest.raises(RuntimeError, match="Unexpected key"):
        _functional_call(m, {"x": kept}, torch.ones(2, 2), strict=True)


def test_functional_call_ties() -> None:
    m = nn.Module()
    m.a = nn.Parameter(torch.ones(1))
    m.b = m.a
    m.forward = lambda: m.a + m.b
    assert _functional_call(m, {"a": torch.full((1,), 5.0)}).item() == 10
    assert _functional_call(m, {"a": torch.full((1,), 5.0)}, tie_weights=False).item() == 6
    with pytest.raises(
        ValueError,
        match=r"functional_call got multiple values for keys \['a', 'b'\], which are tied",
    ):
        _functional_call(m, {"a": torch.ones(1), "b": torch.zeros(1)})


def test_prune() -> None:
    m = linear(3, 2)
    m.weight.data = torch.tensor([[1.0, -5.0, 2.0], [-3.0, 4.0, 0.5]])
    prune.l1_unstructured(m, "weight", amount=2)
    assert m.weight.tolist() == [[0, -5, 2], [-3, 4, 0]]
    prune.ln_structured(m, "weight", amount=1, n=1, dim=1)
    # of what was left, the last column was smallest
    assert m.weight_mask.tolist() == [[0, 1, 0], [1, 1, 0]]
    assert list(m.state_dict()) == ["bias", "weight_orig", "weight_mask"]
    m(torch.ones(1, 3)).sum().backward()
    assert (m.weight_orig.grad == m.weight_mask).all()
    assert prune.is_pruned(m)
    prune.remove(m, "weight")
    assert not prune.is_pruned(m)
    assert isinstance(m.weight, nn.Parameter)


def test_prune_globally() -> None:
    a, b = linear(2, 1), linear(2, 1)
    a.weight.data, b.weight.data = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]])
    prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=3)
    assert a.weight.tolist() == [[0, 0]]
    assert b.weight.tolist() == [[0, 4]]


@pytest.mark.parametrize("amount", [-1, 1.5])
def test_prune_amount(amount: float) -> None:
    with pytest.raises(ValueError, match="should either be a float in the range"):
        prune.l1_unstructured(linear(2, 2), "weight", amount)


def test_fusing_batch_normalization() -> None:
    torch.manual_seed(0)
    for layer, bn, x in (
        (nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), torch.randn(2, 2, 5, 5)),
        (nn.Linear(4, 3), nn.BatchNorm1d(3), torch.randn(5, 4)),
    ):
        bn(layer(x))  # gives the normalization something to know
        layer.eval(), bn.eval()
        fuse = (
            utils.fuse_linear_bn_eval if isinstance(layer, nn.Linear) else utils.fuse_conv_bn_eval
        )
        assert_equal(fuse(layer, bn)(x), bn(layer(x)))


def test_skip_init() -> None:
    m = utils.skip_init(nn.Linear, 2, 3, bias=False)
    assert not m.weight.is_meta
    assert m.weight.shape == (3, 2)
    with pytest.raises(
        RuntimeError, match="Module must support a 'device' arg to skip initialization"
    ):
        utils.skip_init(nn.ReLU)


def test_prefix_of_a_state_dict() -> None:
    state = nn.DataParallel(linear(2, 1)).state_dict()
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == ["weight", "bias"]
    assert set(state._metadata) == {""}


def test_shares_of_what_is_pruned_are_no_numbers_of_elements() -> None:
    prune._validate_pruning_amount(0.3, 0)
    with pytest.raises(ValueError, match="smaller than the number of parameters"):
        prune._validate_pruning_amount(20, 19)


@pytest.mark.parametrize(("size", "warned"), [((1, 1, 2, 1), True), ((1, 1, 2, 2), False)])
def test_grids_of_one_place_are_warned_of(size: tuple[int, ...], warned: bool) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        torch.nn.functional.affine_grid(torch.ones(1, 2, 3), size, align_corners=True)
        torch.nn.functional.affine_grid(torch.ones(1, 2, 3), (1, 1, 2, 1), align_corners=False)
    assert ["unit-size grids" in str(w.message) for w in seen] == [True] * warned
