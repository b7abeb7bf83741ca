"""The module classes: settings, parameters, shapes and values that can be told without PyTorch."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch import nn

CLASSES = [
    c for _, c in sorted(vars(nn).items()) if inspect.isclass(c) and issubclass(c, nn.Module)
]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_documented(cls: type) -> None:
    assert cls.__doc__
    assert vars(cls).get("__doc__") is not None, "the docstring is inherited"


def test_linear() -> None:
    m = nn.Linear(2, 3)
    m.weight.data = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    m.bias.data = torch.tensor([0.5, 0.0, -0.5])
    assert m(torch.tensor([1.0, 1.0])).tolist() == [3.5, 7, 10.5]
    assert nn.Linear(2, 3, bias=False, dtype=torch.float64).weight.dtype == torch.float64
    bound = 1 / np.sqrt(100)
    weight = nn.Linear(100, 50).weight.detach().numpy()
    assert bound * 0.99 < np.abs(weight).max() <= bound


def test_the_same_seed_gives_the_same_parameters() -> None:
    torch.manual_seed(1)
    first = nn.Conv2d(3, 4, 3).state_dict()
    torch.manual_seed(1)
    second = nn.Conv2d(3, 4, 3).state_dict()
    assert all((first[k] == second[k]).all() for k in first)


def test_convolution_shapes() -> None:
    assert nn.Conv2d(3, 6, (3, 5), stride=2, padding=1, groups=3)(torch.ones(2, 3, 8, 9)).shape == (
        2,
        6,
        4,
        4,
    )
    assert nn.Conv1d(3, 6, 4, padding="same", padding_mode="reflect")(
        torch.ones(2, 3, 8)
    ).shape == (2, 6, 8)
    m = nn.ConvTranspose2d(1, 1, 3, stride=2)
    x = torch.ones(1, 1, 4, 4)
    assert m(x).shape == (1, 1, 9, 9)
    assert m(x, output_size=[10, 9]).shape == (1, 1, 10, 9)
    with pytest.raises(
        ValueError,
        match=r"requested an output size of \[11, 9\], but valid sizes range from \[9, 9\] to "
        r"\[10, 10\]",
    ):
        m(x, output_size=[11, 9])
    assert nn.ConvTranspose1d(4, 6, 3, groups=2).weight.shape == (4, 3, 3)


def test_batch_norm_statistics() -> None:
    m = nn.BatchNorm1d(2, momentum=0.5)
    x = torch.tensor([[0.0, 1.0], [2.0, 5.0]])
    out = m(x)
    np.testing.assert_allclose(out.detach().numpy(), [[-1, -1], [1, 1]], atol=1e-4)
    np.testing.assert_allclose(m.running_mean.numpy(), [0.5, 1.5])
    np.testing.assert_allclose(m.running_var.numpy(), [1.5, 4.5])
    assert m.num_batches_tracked.item() == 1
    m.eval()
    m(x)
    assert m.num_batches_tracked.item() == 1
    averaging = nn.BatchNorm1d(2, momentum=None)
    averaging(x)
    averaging(x + 2)
    np.testing.assert_allclose(averaging.running_mean.numpy(), [2, 4])


def test_batch_norm_loads_state_dicts_without_counter() -> None:
    m = nn.BatchNorm1d(2)
    state = {k: v for k, v in m.state_dict().items() if k != "num_batches_tracked"}
    assert m.load_state_dict(state).missing_keys == []


def test_sync_batch_norm_conversion() -> None:
    m = nn.Sequential(nn.BatchNorm2d(3), nn.Sequential(nn.BatchNorm1d(2, affine=False)))
    converted = nn.SyncBatchNorm.convert_sync_batchnorm(m)
    assert type(converted[0]) is type(converted[1][0]) is nn.SyncBatchNorm
    assert converted[0].weight is m[0].weight
    assert converted[0](torch.ones(2, 3, 1, 1)).shape == (2, 3, 1, 1)


def test_dropout_is_the_identity_in_evaluation() -> None:
    x = torch.ones(1000)
    m = nn.Dropout(0.25)
    values = set(m(x).tolist())
    assert values == {0.0, np.float32(1 / 0.75).item()}
    assert m.eval()(x).tolist() == x.tolist()
    with pytest.raises(
        ValueError, match="dropout probability has to be between 0 and 1, but got 2"
    ):
        nn.Dropout(2)


def test_embedding() -> None:
    m = nn.Embedding(4, 3, padding_idx=-1)
    assert m.padding_idx == 3
    assert m.weight[3].tolist() == [0, 0, 0]
    m(torch.tensor([[0, 3, 0]])).sum().backward()
    assert m.weight.grad[:, 0].tolist() == [2, 0, 0, 0]
    frozen = nn.Embedding.from_pretrained(torch.ones(2, 3))
    assert not frozen.weight.requires_grad
    bag = nn.EmbeddingBag.from_pretrained(torch.tensor([[1.0], [2.0], [4.0]]), mode="sum")
    assert bag(torch.tensor([0, 1, 2]), torch.tensor([0, 2])).tolist() == [[3], [4]]


def test_lazy_modules_turn_into_ordinary_ones() -> None:
    m = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(5))
    assert m[3].has_uninitialized_params()
    assert m(torch.ones(2, 3, 5, 5)).shape == (2, 5)
    assert [type(x) for x in m] == [nn.Conv2d, nn.BatchNorm2d, nn.Flatten, nn.Linear]
    assert m[3].weight.shape == (5, 36)
    fresh = nn.LazyLinear(5)
    fresh.load_state_dict(m[3].state_dict())
    assert fresh.weight.shape == (5, 36)
    assert type(fresh) is nn.LazyLinear
    fresh(torch.ones(1, 36))
    assert fresh.in_features == 36


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_recurrent_shapes(kind: str) -> None:
    m = getattr(nn, kind)(3, 4, num_layers=2, batch_first=True, bidirectional=True)
    out, hidden = m(torch.ones(5, 6, 3))
    assert out.shape == (5, 6, 8)
    states = hidden if kind == "LSTM" else (hidden,)
    assert all(h.shape == (4, 5, 4) for h in states)
    out, hidden = m(torch.ones(6, 3))
    assert out.shape == (6, 8)
    assert len(m.all_weights) == 4
    assert m._flat_weights_names[4:8] == [
        "weight_ih_l0_reverse",
        "weight_hh_l0_reverse",
        "bias_ih_l0_reverse",
        "bias_hh_l0_reverse",
    ]


def test_recurrent_weights_follow_their_parameters() -> None:
    m = nn.GRU(2, 3)
    m.weight_ih_l0 = nn.Parameter(torch.zeros(9, 2))
    assert m._flat_weights[0] is m.weight_ih_l0
    m._parameters["weight_hh_l0"] = nn.Parameter(torch.zeros(9, 3))
    m.bias_ih_l0.data.zero_()
    m.bias_hh_l0.data.zero_()
    assert m(torch.ones(4, 1, 2))[0].abs().sum().item() == 0
    assert copy.deepcopy(m).double()(torch.ones(4, 1, 2).double())[0].dtype == torch.float64


def test_a_cell_takes_the_steps_of_its_network() -> None:
    torch.manual_seed(0)
    m = nn.LSTM(2, 3)
    cell = nn.LSTMCell(2, 3)
    cell.load_state_dict({k.removesuffix("_l0"): v for k, v in m.state_dict().items()})
    x = torch.randn(4, 2, 2)
    state = None
    for t in range(4):
        state = cell(x[t], state)
    out, (h, c) = m(x)
    np.testing.assert_allclose(state[0].detach().numpy(), h[0].detach().numpy(), rtol=1e-5)
    np.testing.assert_allclose(state[1].detach().numpy(), c[0].detach().numpy(), rtol=1e-5)
    assert (out[-1] == h[0]).all()


@pytest.mark.parametrize("groups", [{}, {"kdim": 5, "vdim": 6}])
def test_attention_shapes(groups: dict[str, int]) -> None:
    m = nn.MultiheadAttention(8, 2, batch_first=True, **groups)
    query, key = torch.ones(2, 3, 8), torch.ones(2, 4, groups.get("kdim", 8))
    out, weights = m(query, key, torch.ones(2, 4, groups.get("vdim", 8)))
    assert out.shape == (2, 3, 8)
    assert weights.shape == (2, 3, 4)
    np.testing.assert_allclose(weights.sum(-1).detach().numpy(), 1, rtol=1e-5)


def test_transformer_ignores_padding() -> None:
    torch.manual_seed(0)
    m = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), 2
    )
    x = torch.randn(2, 5, 8)
    padding = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    out = m(x, src_key_padding_mask=padding)
    changed = x.clone()
    changed[1, 3:] = 9.0
    again = m(changed, src_key_padding_mask=padding)
    np.testing.assert_allclose(
        out[1, :3].detach().numpy(), again[1, :3].detach().numpy(), atol=1e-5
    )


def test_transformer_in_evaluation_has_zeros_where_padding_was() -> None:
    m = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval()
    at_the_end = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    with torch.no_grad():
        assert (m(torch.ones(2, 5, 8), src_key_padding_mask=at_the_end)[1, 3:] == 0).all()
        assert (m(torch.ones(2, 5, 8), src_key_padding_mask=at_the_end.flip(1)) != 0).all()


def test_causal_mask() -> None:
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    assert mask.tolist() == [[0, -np.inf, -np.inf], [0, 0, -np.inf], [0, 0, 0]]


def test_adaptive_softmax_is_a_distribution() -> None:
    torch.manual_seed(0)
    m = nn.AdaptiveLogSoftmaxWithLoss(16, 20, [5, 10])
    x = torch.randn(6, 16)
    log_prob = m.log_prob(x)
    np.testing.assert_allclose(log_prob.exp().sum(1).detach().numpy(), 1, rtol=1e-5)
    target = torch.tensor([0, 4, 5, 9, 10, 19])
    output, loss = m(x, target)
    np.testing.assert_allclose(
        output.detach().numpy(),
        log_prob.gather(1, target.unsqueeze(1)).squeeze(1).detach().numpy(),
        rtol=1e-5,
    )
    assert loss.item() == pytest.approx(-output.mean().item())
    assert m.predict(x).tolist() == log_prob.argmax(1).tolist()


def test_containers() -> None:
    layers = nn.ModuleList([nn.ReLU()])
    layers += [nn.Tanh(), nn.Sigmoid()]
    layers.insert(0, nn.ELU())
    assert [type(m) for m in layers[1:3]] == [nn.ReLU, nn.Tanh]
    del layers[1]
    assert list(layers._modules) == ["0", "1", "2"]
    named = nn.ModuleDict({"a": nn.ReLU()})
    named.update([("b", nn.Tanh())])
    assert list(named) == ["a", "b"]
    assert named.pop("a") is not None
    params = nn.ParameterDict({"b": torch.ones(1), "a": torch.ones(2)})
    assert list(params) == ["a", "b"]  # plain dictionaries are sorted
    assert isinstance(params["a"], nn.Parameter)
    assert params.popitem()[0] == "b"
    values = nn.ParameterList([torch.ones(2), 3])
    assert len(list(values.parameters())) == 1
    assert values[1] == 3
    with pytest.raises(IndexError, match="index 5 is out of range"):
        values[5]


def test_sequential_arithmetic() -> None:
    s = nn.Sequential(nn.ReLU()) + nn.Sequential(nn.Tanh())
    assert len(s * 3) == 6
    s *= 2
    assert [type(m) for m in s] == [nn.ReLU, nn.Tanh] * 2
    with pytest.raises(ValueError, match="add operator supports only objects of Sequential class"):
        _ = s + 3


def test_parallel_wrappers() -> None:
    m = nn.DataParallel(nn.Linear(2, 1))
    assert list(m.state_dict()) == ["module.weight", "module.bias"]
    assert m(torch.ones(1, 2)).shape == (1, 1)
    with pytest.raises(
        NotImplementedError, match="DataParallel over 2 devices is not offered by jtorch"
    ):
        nn.DataParallel(nn.ReLU(), [0, 1])
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        nn.parallel.DistributedDataParallel(nn.ReLU())


def test_sdpa_kernel_restores() -> None:
    from jtorch.nn.attention import SDPBackend, _cur_sdpa_kernel_backends, sdpa_kernel

    before = _cur_sdpa_kernel_backends()
    with sdpa_kernel(SDPBackend.MATH):
        assert _cur_sdpa_kernel_backends() == [SDPBackend.MATH]
    assert _cur_sdpa_kernel_backends() == before
    with pytest.raises(AssertionError, match="Backend must be an instance of SDPBackend"):
        sdpa_kernel("math").__enter__()


def test_convolution_gradients_by_function() -> None:
    torch.manual_seed(0)
    x, w = torch.randn(1, 2, 5, requires_grad=True), torch.randn(3, 2, 3, requires_grad=True)
    out = nn.functional.conv1d(x, w, stride=2)
    g = torch.randn(*out.shape)
    out.backward(g)
    np.testing.assert_allclose(
        nn.grad.conv1d_input(x.shape, w, g, stride=2).numpy(), x.grad.numpy(), rtol=1e-5
    )
    np.testing.assert_allclose(
        nn.grad.conv1d_weight(x, w.shape, g, stride=2).numpy(), w.grad.numpy(), rtol=1e-5
    )


def test_factory_kwargs() -> None:
    assert nn.factory_kwargs(None) == {}
    assert nn.factory_kwargs({"device": "cpu", "factory_kwargs": {"dtype": 3}}) == {
        "device": "cpu",
        "dtype": 3,
    }
    with pytest.raises(TypeError, match="unexpected kwargs"):
        nn.factory_kwargs({"x": 1})


def test_ducks_arrive_as_functions() -> None:
    class Duck:
        seen: Any = None

        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            Duck.seen = func
            return "answer"

    assert nn.Linear(2, 1)(Duck()) == "answer"
    assert Duck.seen is nn.functional.linear


def test_switches_of_conversion() -> None:
    future = torch.__future__
    try:
        future.set_overwrite_module_params_on_conversion(True)
        module = torch.nn.Linear(2, 2)
        before = module.weight
        assert module.double().weight is not before
        assert before.dtype is torch.float32
        future.set_overwrite_module_params_on_conversion(False)
        future.set_swap_module_params_on_conversion(True)
        module = torch.nn.Linear(2, 2, device="meta")
        before = module.weight
        assert module.to_empty(device="cpu").weight is before
        assert before.device.type == "cpu"
    finally:
        future.set_overwrite_module_params_on_conversion(False)
        future.set_swap_module_params_on_conversion(False)


class Wrapped(torch.Tensor):
    """A tensor that tells nobody which others it holds."""

    elem: torch.Tensor

    @staticmethod
    def __new__(cls, elem):
        return torch.Tensor._make_wrapper_subclass(cls, elem.shape, dtype=elem.dtype)

    def __init__(self, elem):
        self.elem = elem

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs=None):
        assert func in (torch.ops.aten.detach.default, torch.ops.aten._to_copy.default)
        return cls(func(args[0].elem, *args[1:], **(kwargs or {})))


def test_conversion_that_swaps_gives_parameters_all_of_the_new_tensor():
    layer = torch.nn.Linear(3, 2)
    kept = layer.weight = torch.nn.Parameter(Wrapped(layer.weight.detach()))
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        layer.bfloat16()
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)
    assert layer.weight is kept
    assert kept.dtype is kept.elem.dtype is layer.bias.dtype is torch.bfloat16
