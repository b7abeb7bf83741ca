"""Models that are quantised dynamically, after training and in training: results, texts and states
are PyTorch's."""

from __future__ import annotations

import importlib
import io
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch as oracle

import jtorch as torch

pytestmark = pytest.mark.parity


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def parts(torch: Any) -> tuple[Any, Any]:
    name = torch.nn.__name__.partition(".")[0]
    return torch.nn, importlib.import_module(f"{name}.ao.quantization")


def images(torch: Any) -> Any:
    nn, Q = parts(torch)

    class Images(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.quant, self.dequant = Q.QuantStub(), Q.DeQuantStub()
            self.conv, self.bn, self.relu = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()
            self.pool, self.conv2 = nn.MaxPool2d(2), nn.Conv2d(4, 4, 3, padding=1)
            self.sum, self.mean = nn.quantized.FloatFunctional(), nn.AdaptiveAvgPool2d(2)
            self.act, self.fc = nn.Hardswish(), nn.Linear(16, 5)

        def forward(self, x: Any) -> Any:
            x = self.pool(self.relu(self.bn(self.conv(self.quant(x)))))
            x = self.mean(self.act(self.sum.add(x, self.conv2(x))))
            return self.dequant(self.fc(x.flatten(1)))

    return Images()


def words(torch: Any) -> Any:
    nn, _ = parts(torch)

    class Words(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(20, 8)
            self.lstm = nn.LSTM(8, 16, 2, bidirectional=True, batch_first=True)
            self.gru, self.fc = nn.GRU(32, 6), nn.Linear(6, 3)

        def forward(self, i: Any) -> Any:
            return self.fc(self.gru(self.lstm(self.table(i))[0])[0])

    return Words()


def both(make: Any) -> tuple[Any, Any]:
    """PyTorch's model with drawn parameters, and the same here."""
    oracle.manual_seed(0)
    theirs, ours = make(oracle), make(torch)
    file = io.BytesIO()
    oracle.save(theirs.state_dict(), file)
    file.seek(0)
    ours.load_state_dict(torch.load(file))
    return theirs, ours


def passed(model: Any, torch: Any, array: np.ndarray) -> np.ndarray:
    return model(torch.tensor(array)).detach().numpy()


def shown(model: Any) -> str:
    return repr(model)


def across(model: Any, other: Any, writer: Any, reader: Any) -> None:
    """Loads a model's state, written by one library, in the other."""
    file = io.BytesIO()
    writer.save(model.state_dict(), file)
    file.seek(0)
    assert str(other.load_state_dict(reader.load(file, weights_only=False))) == (
        "<All keys matched successfully>"
    )


def test_dynamic() -> None:
    i = np.random.default_rng(0).integers(0, 20, (3, 5))
    found = []
    for model, torch_ in zip(both(words), (oracle, torch), strict=True):
        nn, Q = parts(torch_)
        spec = {
            nn.Linear: Q.default_dynamic_qconfig, nn.LSTM: Q.per_channel_dynamic_qconfig,
            nn.GRU: Q.default_dynamic_qconfig, nn.Embedding: Q.float_qparams_weight_only_qconfig,
        }  # fmt: skip
        made = Q.quantize_dynamic(model.eval(), spec)
        half = Q.quantize_dynamic(model, {nn.Linear, nn.GRU, nn.LSTM}, dtype=torch_.float16)
        cells = nn.Sequential(nn.LSTMCell(3, 2), nn.GRUCell(3, 2), nn.RNNCell(3, 2))
        texts = shown(made), shown(half), shown(Q.quantize_dynamic(cells))
        found.append((made, passed(made, torch_, i), passed(half, torch_, i), texts))
    (theirs, expected, half, texts), (ours, y, ours_half, ours_texts) = found
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_allclose(ours_half, half, rtol=1e-5, atol=1e-6)
    assert ours_texts == texts
    assert [*ours.state_dict()] == [*theirs.state_dict()]
    for model, other, writer, reader in (
        (theirs, ours, oracle, torch), (ours, theirs, torch, oracle)
    ):  # fmt: skip
        across(model, other, writer, reader)
        np.testing.assert_array_equal(passed(other, reader, i), expected)


@pytest.mark.parametrize("backend", ["x86", "qnnpack"])
def test_after_training(backend: str) -> None:
    x = np.random.default_rng(0).normal(size=(8, 3, 14, 14)).astype(np.float32)
    found, prepared = [], []
    for model, torch_ in zip(both(images), (oracle, torch), strict=True):
        _, Q = parts(torch_)
        model.eval().qconfig = Q.get_default_qconfig(backend)
        fused = Q.fuse_modules(model, [["conv", "bn", "relu"]])
        prepared.append(Q.prepare(fused))
        passed(prepared[-1], torch_, x)
        passed(prepared[-1], torch_, 1.5 * x[:3])
    theirs, ours = prepared
    for (name, expected), value in zip(
        theirs.state_dict().items(), ours.state_dict().values(), strict=True
    ):
        tolerance = {"rtol": 1e-5, "atol": 2.0 if "histogram" in name else 1e-5}
        np.testing.assert_allclose(value.numpy(), expected.numpy(), **tolerance)
    # from here on with the same observations: the grids are the same then, and the integers
    across(theirs, ours, oracle, torch)
    for model, torch_ in ((theirs, oracle), (ours, torch)):
        _, Q = parts(torch_)
        made = Q.convert(model)
        found.append((made, passed(made, torch_, x), shown(made)))
    (theirs, expected, text), (ours, y, our_text) = found
    assert our_text == text
    np.testing.assert_array_equal(y, expected)
    across(ours, theirs, torch, oracle)
    across(theirs, ours, oracle, torch)
    np.testing.assert_array_equal(passed(ours, torch, x), expected)


def test_in_training() -> None:
    x = np.random.default_rng(0).normal(size=(8, 3, 14, 14)).astype(np.float32)
    found = []
    for model, torch_ in zip(both(images), (oracle, torch), strict=True):
        _, Q = parts(torch_)
        model.train().qconfig = Q.get_default_qat_qconfig("x86")
        model = Q.prepare_qat(Q.fuse_modules_qat(model, [["conv", "bn", "relu"]]))
        text, losses = shown(model), []
        optimizer = torch_.optim.SGD(model.parameters(), 0.05)
        for _ in range(3):
            loss = (model(torch_.tensor(x)) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        made = Q.convert(model.eval())
        kinds = [type(m).__name__ for m in made.modules()]
        found.append((text, losses, kinds, passed(made, torch_, x), [*model.state_dict()]))
    (text, losses, kinds, expected, names), (our_text, our_losses, our_kinds, y, our_names) = found
    assert our_text == text
    assert (our_kinds, our_names) == (kinds, names)
    np.testing.assert_allclose(our_losses, losses, rtol=1e-4)
    assert (np.abs(y - expected) > 1e-6).mean() < 0.1  # some round the other way


def test_configurations_and_modules() -> None:
    texts = []
    for torch_ in (oracle, torch):
        _, Q = parts(torch_)
        names = [n for n in dir(oracle.ao.quantization) if n.startswith("default_")]
        made = {
            n: repr(getattr(Q, n))
            for n in names
            if not n.startswith(("default_eval", "default_rep"))
        }
        for backend in ("x86", "fbgemm", "qnnpack", "onednn"):
            made[backend] = repr(Q.get_default_qconfig(backend))
            made[f"{backend} qat"] = repr(Q.get_default_qat_qconfig(backend))
        q = torch_.ao.nn.quantized
        layers = [
            q.Linear(3, 2), q.Conv1d(2, 2, 3), q.Conv2d(2, 2, 3, padding=1), q.Conv3d(2, 2, 1),
            q.ConvTranspose2d(2, 2, 3), q.Embedding(3, 4), q.EmbeddingBag(3, 4), q.QFunctional(),
            q.dynamic.Linear(3, 2), q.dynamic.LSTM(3, 2), q.dynamic.GRUCell(3, 2), q.ReLU6(),
            q.BatchNorm2d(3), q.Quantize(0.5, 3, torch_.quint8), q.DeQuantize(), q.Dropout(),
            torch_.ao.nn.intrinsic.quantized.LinearReLU(3, 2), q.dynamic.Conv2d(2, 2, 3),
        ]  # fmt: skip
        made["layers"] = "\n".join(map(repr, layers))
        texts.append({k: v.replace("jtorch", "torch") for k, v in made.items()})
    assert texts[1] == texts[0]


def test_layers_that_round_their_weights_and_compute_with_floats() -> None:
    def make(torch: Any) -> Any:
        nn, _ = parts(torch)
        return nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(12, 4))

    x = np.random.default_rng(0).normal(size=(3, 2, 4, 4)).astype(np.float32)
    found = []
    for model, torch_ in zip(both(make), (oracle, torch), strict=True):
        _, Q = parts(torch_)
        model.eval().qconfig = Q.default_per_channel_qconfig
        prepared = Q.prepare(model)
        passed(prepared, torch_, x)
        prepared[3].register_forward_hook(lambda module, given, made: made * 2)
        made = Q.convert(prepared, is_reference=True)
        names = [type(m).__module__.partition(".")[2] for m in made]
        mapping = Q.quantization_mappings.DEFAULT_REFERENCE_STATIC_QUANT_MODULE_MAPPINGS
        known = {k.__name__: v.__name__ for k, v in mapping.items()}
        found.append((passed(made, torch_, x), names, list(made.state_dict()), repr(made), known))
    (expected, *told), (y, *ours) = found
    assert ours == told
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)
