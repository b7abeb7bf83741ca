"""Quantised tensors and models, with what is known of them without PyTorch: grids, memory, files,
layers and what they refuse."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

import jtorch as torch
from jtorch import nn


def quantised(scale: float = 0.5, zero: int = 3) -> torch.Tensor:
    return torch.quantize_per_tensor(torch.arange(6.0).reshape(2, 3), scale, zero, torch.quint8)


def test_a_grid_rounds_half_to_even_and_saturates() -> None:
    q = torch.quantize_per_tensor(torch.tensor([0.5, 1.5, 2.5, 300.0, -9.0]), 1.0, 0, torch.quint8)
    assert q.int_repr().tolist() == [0, 2, 2, 255, 0]
    strange = torch.tensor([float("nan"), float("inf"), -float("inf")])
    q = torch.quantize_per_tensor(strange, 1.0, 0, torch.qint8)
    assert q.int_repr().tolist() == [-128, 127, -128]


def test_products_of_many_channels_are_exact() -> None:
    """More products than single precision adds up without rounding."""
    channels = 700
    x = torch.full((1, channels, 1, 1), 255.0)
    x[0, 0] = 1.0
    q = torch.quantize_per_tensor(x, 1.0, 0, torch.quint8)
    w = torch.quantize_per_tensor(torch.full((1, channels, 1, 1), 127.0), 1.0, 0, torch.qint8)
    exact = 127 * (255 * (channels - 1) + 1)
    packed = torch.ops.quantized.conv2d_prepack(w, None, [1, 1], [0, 0], [1, 1], 1)
    found = torch.ops.quantized.conv2d(q, packed, exact / 200, 0)
    assert found.int_repr().item() == 200
    packed = torch.ops.quantized.linear_prepack(
        torch.quantize_per_tensor(torch.full((1, channels), 127.0), 1.0, 0, torch.qint8), None
    )
    found = torch.ops.quantized.linear(
        torch.quantize_per_tensor(x.reshape(1, channels), 1.0, 0, torch.quint8), packed, 1e6, 0
    )
    assert found.int_repr().item() == round(exact / 1e6)


def test_views_share_integers_and_writes_are_rounded() -> None:
    q = quantised()
    row = q[1]
    row[0] = 0.2  # the nearest is 0
    q.t()[2, 0] = 7.0
    assert q.dequantize().tolist() == [[0.0, 1.0, 7.0], [0.0, 4.0, 5.0]]
    version = q._version
    q.copy_(torch.zeros(2, 3))
    assert (row.dequantize().tolist(), q._version > version) == ([0.0, 0.0, 0.0], True)


def test_writes_in_place_and_axes_of_channels() -> None:
    q = quantised()
    assert q.masked_fill_(q > 3, 0.5) is q
    assert q.dequantize().tolist() == [[0.0, 1.0, 2.0], [3.0, 0.5, 0.5]]
    q[0] = torch.tensor([4.0])
    assert q[0].dequantize().tolist() == [4.0] * 3
    x, scales = torch.ones(1, 2, 3), torch.tensor([0.5, 0.25])
    channels = torch.quantize_per_channel(x, scales, torch.tensor([1, 0]), 1, torch.qint8)
    assert channels.unsqueeze(0).q_per_channel_axis() == 2
    assert channels.squeeze(0).q_per_channel_axis() == 0
    torch.testing.assert_close(channels.squeeze(), channels.squeeze(0))
    with pytest.raises(AssertionError, match="Quantized tensor-likes are not close"):
        torch.testing.assert_close(quantised(), q)


def test_copies_and_pickles_keep_the_grid() -> None:
    channels = torch.quantize_per_channel(
        torch.ones(2, 2), torch.tensor([0.5, 0.25]), torch.tensor([1, 0]), 1, torch.qint8
    )
    for q in (quantised(), channels):
        file = io.BytesIO()
        torch.save({"q": q}, file)
        file.seek(0)
        for made in (
            copy.deepcopy(q), copy.copy(q), pickle.loads(pickle.dumps(q)), torch.load(file)["q"]
        ):  # fmt: skip
            assert torch.equal(made, q)
            assert repr(made) == repr(q)


def test_what_quantised_tensors_refuse() -> None:
    grid = torch.quantize_per_tensor(torch.ones(4), 0.5, 0, torch.qint32)
    with pytest.raises(NotImplementedError, match="view of a quantised tensor as another dtype"):
        grid.view(torch.uint8)
    q = quantised()
    for call, kind, words in (
        (lambda: q + q, NotImplementedError, "aten::add.out.*QuantizedCPU"),
        (lambda: q * 2, RuntimeError, "empty_strided not supported"),
        (lambda: torch.exp(q), NotImplementedError, "QuantizedCPU"),
        (q.float, RuntimeError, "requires quantized dtype"),
        (lambda: torch.zeros(2, 3).copy_(q), RuntimeError, "use dequantize"),
        (lambda: torch.ones(2).q_scale(), NotImplementedError, "aten::q_scale"),
        (lambda: nn.Linear(3, 2)(q), NotImplementedError, "QuantizedCPU"),
        (lambda: torch.ones(2, 3) + q, NotImplementedError, "QuantizedCPU"),
    ):
        with pytest.raises(kind, match=words):
            call()


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        quantization = torch.ao.quantization
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.conv, self.relu, self.fc = nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Linear(36, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.dequant(self.fc(self.relu(self.conv(self.quant(x))).flatten(1)))


def test_a_model_is_quantised_after_training() -> None:
    quantization = torch.ao.quantization
    torch.manual_seed(0)
    model, x = Net().eval(), torch.randn(8, 1, 5, 5)
    exact = model(x)
    model.qconfig = quantization.get_default_qconfig("fbgemm")
    made = quantization.prepare(quantization.fuse_modules(model, [["conv", "relu"]]))
    made(x)
    made = quantization.convert(made)
    assert type(made.conv) is nn.intrinsic.quantized.ConvReLU2d
    y = made(x)
    assert 0 < (y - exact).abs().max() < 0.05
    file = io.BytesIO()
    torch.save(made, file)
    file.seek(0)
    assert torch.equal(torch.load(file, weights_only=False)(x), y)


def test_a_model_is_quantised_dynamically() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    x = torch.randn(5, 8)
    made = torch.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
    assert made[0].weight().dtype is torch.qint8
    y = made(x)
    assert 0 < (y - model(x)).abs().max() < 0.05
    packed = nn.utils.rnn.pack_sequence([torch.randn(4, 3), torch.randn(2, 3)])
    lstm = nn.LSTM(3, 5, 2, bidirectional=True)
    made = torch.quantization.quantize_dynamic(nn.Sequential(lstm))[0]
    out, (h, c) = made(packed)
    expected, (eh, ec) = lstm(packed)
    for found, near in ((out.data, expected.data), (h, eh), (c, ec)):
        assert (found - near).abs().max() < 0.02


def test_observers_find_ranges() -> None:
    quantization = torch.ao.quantization
    x = torch.cat([torch.linspace(-1, 1, 1000), torch.tensor([50.0])])
    histogram, ends = quantization.HistogramObserver(), quantization.MinMaxObserver()
    histogram(x), ends(x)
    assert ends.calculate_qparams()[0].item() == pytest.approx(51 / 255)
    assert histogram.calculate_qparams()[0].item() < 51 / 255
    rows = quantization.PerChannelMinMaxObserver(qscheme=torch.per_channel_symmetric)
    rows(torch.tensor([[1.0, -2.0], [4.0, 3.0]]))
    assert rows.min_val.tolist() == [-2.0, 3.0]
    np.testing.assert_allclose(rows.calculate_qparams()[0].numpy(), [2 / 127.5, 4 / 127.5])


def test_weights_stay_within_the_bounds_of_their_observer() -> None:
    """Weights may lie outside of what an observer that averages has seen."""
    quantise = torch.ao.nn.quantized.modules.utils._quantize_weight
    observers = torch.ao.quantization
    for kind, scheme in (
        (observers.MovingAverageMinMaxObserver, torch.per_tensor_symmetric),
        (observers.MovingAveragePerChannelMinMaxObserver, torch.per_channel_symmetric),
    ):
        observer = kind(
            averaging_constant=1.0, dtype=torch.qint8, quant_min=-10, quant_max=10, qscheme=scheme
        )
        weight = torch.tensor([[-1000.0, 500.0, 1000.0]])
        observer(weight)
        assert quantise(weight * 1.2, observer).int_repr().tolist() == [[-10, 6, 10]]


def test_embeddings_are_trained_on_grids_with_zeros_of_floats() -> None:
    table = torch.tensor([[1.0, 2.0, 3.0], [-4.0, -2.5, -2.0]])
    rounded = torch.ao.quantization.default_embedding_fake_quant()(table)
    assert torch.allclose(rounded, table, atol=0.01)


def test_what_is_joined_is_written_into_out_and_dtypes_are_not_passed_by() -> None:
    q, out = quantised(), torch.empty_like(torch.cat([quantised(1.0, 0)] * 2))
    assert torch.cat([q, q], out=out) is out
    assert out.dequantize().tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] * 2
    assert out.q_scale() == 1.0
    stacked = torch.empty_like(torch.stack([q, q]))
    assert torch.stack([q, q], out=stacked).int_repr().tolist() == [q.int_repr().tolist()] * 2
    assert stacked.int_repr()[0].tolist() == q.int_repr().tolist()
    with pytest.raises(RuntimeError, match="must match the size"):
        torch.cat([q, q], out=torch.empty_like(q))
    with pytest.raises(TypeError):
        torch.ones_like(q, colour="red")
    for call in (torch.empty_like, torch.ones_like):
        with pytest.raises(RuntimeError, match="Specified: c10::qint8 Input tensor's dtype: c10::"):
            call(q, dtype=torch.qint8)
    with pytest.raises(RuntimeError, match="Only Tensors of floating point"):
        torch.empty_like(q, requires_grad=True)
