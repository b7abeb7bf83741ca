"""Models that are quantised by their graphs: code, texts, states and results are PyTorch's."""

from __future__ import annotations

import copy
import importlib
import io
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch as oracle

import jtorch as torch

pytestmark = pytest.mark.parity

LIBS: tuple[Any, Any] = (oracle, torch)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def parts(torch: Any) -> tuple[Any, Any]:
    """``torch.ao.quantization`` and its ``quantize_fx``."""
    name = torch.nn.__name__.partition(".")[0]
    home = f"{name}.ao.quantization"
    return importlib.import_module(home), importlib.import_module(f"{home}.quantize_fx")


def layers(make: Callable[[Any], list[Any]]) -> Callable[[Any], Any]:
    return lambda torch: torch.nn.Sequential(*make(torch.nn))


def written(init: Callable[..., dict[str, Any]], body: Callable[..., Any]) -> Callable[[Any], Any]:
    def make(torch: Any) -> Any:
        class Model(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                for name, value in init(torch.nn, torch).items():
                    setattr(self, name, value)

            def forward(self, x: Any) -> Any:
                return body(self, x, torch, torch.nn.functional)

        return Model()

    return make


def near(shape: tuple[int, ...]) -> np.ndarray:
    """Numbers whose products floats hold exactly, so that scales are the same to the last bit."""
    return (np.random.RandomState(0).randint(-32, 32, shape) / 16).astype("float32")


ROWS, IMAGES = near((4, 6)), near((2, 3, 8, 8))
VOLUMES, SEQUENCES = near((1, 2, 5, 5, 5)), near((2, 3, 8))


def mapped(change: Callable[..., Any]) -> Callable[..., Any]:
    return lambda Q, torch: change(Q.get_default_qconfig_mapping(), Q, torch)


def overall(name: str) -> Callable[..., Any]:
    return lambda Q, torch: Q.QConfigMapping().set_global(getattr(Q, name))


def parameters(nn: Any, torch: Any, **shapes: tuple[int, ...]) -> dict[str, Any]:
    return {name: nn.Parameter(torch.randn(*shape)) for name, shape in shapes.items()}


CLASSIFIER = layers(lambda nn: [nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 2)])
PLAIN: dict[str, tuple[Any, ...]] = {
    "linear": (CLASSIFIER, ROWS),
    "convolutions": (
        layers(
            lambda nn: [
                nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3, padding=1),
                nn.AvgPool2d(3), nn.Flatten(), nn.Linear(4, 3),
            ]
        ),
        IMAGES,
    ),
    "rows": (layers(lambda nn: [nn.Conv1d(3, 4, 3), nn.ReLU(), nn.Conv1d(4, 2, 1)]), SEQUENCES),
    "volumes": (layers(lambda nn: [nn.Conv3d(2, 2, 3), nn.ReLU(), nn.Conv3d(2, 2, 1)]), VOLUMES),
    "sums": (
        written(
            lambda nn, _: {"a": nn.Conv2d(3, 3, 1), "b": nn.Conv2d(3, 3, 3, padding=1)},
            lambda s, x, torch, F: (
                F.relu(s.a(x) + s.b(x)) * 2
                + torch.cat([s.a(x), x], 1).mean([2, 3], keepdim=True)[:, :3] + 1 * x
            ),
        ),
        IMAGES,
    ),
    "functions with weights": (
        written(
            lambda nn, torch: parameters(nn, torch, w=(5, 6), b=(5,), v=(3, 5)),
            lambda s, x, _, F: F.linear(F.relu(F.linear(x, s.w, s.b)), s.v),
        ),
        ROWS,
    ),
    "convolutions as functions": (
        written(
            lambda nn, torch: parameters(nn, torch, w=(5, 3, 3, 3), b=(5,), v=(5, 5, 1, 1)),
            lambda s, x, _, F: F.conv2d(
                F.relu(F.conv2d(x, s.w, s.b, (1, 1), (1, 1), (1, 1), 1)), s.v, None, (1, 1), (0, 0),
                (1, 1), 1,
            ),
        ),
        IMAGES,
    ),
    "activations": (
        written(
            lambda nn, _: {"a": nn.Linear(6, 6)},
            lambda s, x, torch, F: (
                F.elu(s.a(F.leaky_relu(F.hardswish(s.a(x)))).sigmoid()).tanh()
                + F.sigmoid(s.a(x)) + torch.tanh(x) + F.hardsigmoid(x) + F.relu6(x) + F.tanh(x)
                + F.dropout(x, 0.1, s.training) + F.hardtanh(x)
            ),
        ),
        ROWS,
    ),
    "layers of activations": (
        layers(
            lambda nn: [
                nn.Conv2d(3, 4, 1), nn.InstanceNorm2d(4), nn.LayerNorm([8, 8]), nn.ELU(),
                nn.LeakyReLU(), nn.Hardswish(), nn.Sigmoid(), nn.Tanh(), nn.Softmax(1),
                nn.Dropout(0.2), nn.Conv2d(4, 2, 1), nn.BatchNorm2d(2), nn.ReLU(),
            ]
        ),
        IMAGES,
    ),
    "shapes": (
        written(
            lambda nn, _: {"a": nn.Conv2d(3, 3, 3)},
            lambda s, x, _, __: (
                s.a(x).contiguous().view(x.size(0), -1).reshape(x.shape[0], -1).transpose(0, 1)
                .contiguous().unsqueeze(0).squeeze(0).permute(1, 0).flatten()
            ),
        ),
        IMAGES,
    ),
    "pools": (
        written(
            lambda nn, _: {"a": nn.Conv2d(3, 3, 3)},
            lambda s, x, _, F: F.interpolate(
                F.avg_pool2d(F.max_pool2d(s.a(x), 2), 2), scale_factor=2.0
            ).clamp(0, 1).mean(),
        ),
        IMAGES,
    ),
    "normalisation": (
        layers(lambda nn: [nn.BatchNorm2d(3), nn.ReLU(), nn.Conv2d(3, 2, 3), nn.BatchNorm2d(2)]),
        IMAGES,
    ),
    "products": (
        written(
            lambda nn, _: {"a": nn.Linear(6, 6)},
            lambda s, x, torch, _: torch.matmul(s.a(x), s.a(x).transpose(0, 1)),
        ),
        ROWS,
    ),
    "operations as modules": (
        written(
            lambda nn, torch: {
                "a": nn.Linear(6, 6), "f": nn.quantized.FloatFunctional(),
            },
            lambda s, x, _, __: s.f.add_relu(s.f.mul(s.a(x), x), s.f.cat([x], 0)),
        ),
        ROWS,
    ),
    "linear and normalisation": (
        layers(lambda nn: [nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Linear(5, 5), nn.ReLU6()]), ROWS,
    ),
    "dynamic": (CLASSIFIER, ROWS, overall("default_dynamic_qconfig")),
    "halves": (CLASSIFIER, ROWS, overall("float16_dynamic_qconfig")),
    "dynamic functions": (
        written(
            lambda nn, torch: parameters(nn, torch, w=(5, 6), b=(5,)),
            lambda s, x, _, F: F.relu(F.linear(x, s.w, s.b)) + F.linear(x, s.w, bias=s.b),
        ),
        ROWS, overall("default_dynamic_qconfig"),
    ),
    "recurrent": (
        written(
            lambda nn, _: {"a": nn.LSTM(8, 4, 2, bidirectional=True), "b": nn.GRU(8, 3)},
            lambda s, x, _, __: s.b(s.a(x)[0])[0],
        ),
        SEQUENCES, overall("default_dynamic_qconfig"),
    ),
    "cells": (
        written(
            lambda nn, _: {"a": nn.LSTMCell(6, 4), "b": nn.GRUCell(4, 4), "c": nn.RNNCell(4, 4)},
            lambda s, x, _, __: s.c(s.b(s.a(x)[0])),
        ),
        ROWS, overall("default_dynamic_qconfig"),
    ),
    "tables": (
        written(
            lambda nn, _: {"a": nn.Embedding(10, 12), "b": nn.EmbeddingBag(10, 12, mode="sum")},
            lambda s, x, _, __: (s.a(x), s.b(x)),
        ),
        np.random.RandomState(0).randint(0, 10, (3, 4)),
        lambda Q, torch: Q.QConfigMapping()
        .set_object_type(torch.nn.Embedding, Q.float_qparams_weight_only_qconfig)
        .set_object_type(torch.nn.EmbeddingBag, Q.float_qparams_weight_only_qconfig),
    ),
    "by name": (CLASSIFIER, ROWS, mapped(lambda m, *_: m.set_module_name("0", None))),
    "by expression": (
        CLASSIFIER, ROWS,
        lambda Q, _: Q.QConfigMapping().set_module_name_regex("[1-9]", Q.default_qconfig),
    ),
    "by order": (
        CLASSIFIER, ROWS,
        mapped(
            lambda m, _, torch: m.set_module_name_object_type_order("", torch.nn.Linear, 0, None)
        ),
    ),
    "by class": (
        CLASSIFIER, ROWS,
        lambda Q, torch: Q.QConfigMapping()
        .set_object_type(torch.nn.Linear, Q.default_qconfig)
        .set_object_type(torch.nn.ReLU, Q.default_qconfig),
    ),
    "of QNNPACK": (CLASSIFIER, ROWS, lambda Q, _: Q.get_default_qconfig_mapping("qnnpack")),
}  # fmt: skip


def told(text: str) -> str:
    """A text without the package's own name, and with the last digits of scales left out."""
    text = re.sub(r"\bjtorch\b", "torch", text)
    return re.sub(r"\d+\.\d+(e-?\d+)?", lambda m: f"{float(m[0]):.4g}", text)


def leaves(value: Any) -> list[Any]:
    if isinstance(value, tuple | list):
        return [leaf for v in value for leaf in leaves(v)]
    value = value.detach()
    return [(value.dequantize() if value.is_quantized else value).numpy()]


def models(make: Any) -> tuple[Any, Any]:
    """PyTorch's model with parameters that are near, and the same here."""
    oracle.manual_seed(0)
    theirs, ours = make(oracle), make(torch)
    for p in theirs.parameters():
        p.data = (p.data * 32).round() / 32
    file = io.BytesIO()
    oracle.save(theirs.state_dict(), file)
    file.seek(0)
    ours.load_state_dict(torch.load(file))
    return theirs, ours


def same(theirs: Any, ours: Any) -> None:
    assert told(theirs.code) == told(ours.code)
    assert told(str(theirs)) == told(str(ours))
    assert list(theirs.state_dict()) == list(ours.state_dict())


def close(theirs: Any, ours: Any, atol: float = 1e-5) -> None:
    for a, b in zip(leaves(theirs), leaves(ours), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=atol)


@pytest.mark.parametrize("name", PLAIN)
def test_models_quantised_after_training_are_pytorchs(name: str) -> None:
    make, array, *mapping = PLAIN[name]
    found = []
    for lib, model in zip(LIBS, models(make), strict=True):
        Q, FX = parts(lib)
        x = lib.tensor(array)
        given = mapping[0](Q, lib) if mapping else Q.get_default_qconfig_mapping()
        prepared = FX.prepare_fx(model.eval(), given, (x,))
        observed = prepared(x)
        facts = prepared.code, str(prepared), [*prepared.state_dict()]
        converted = FX.convert_fx(copy.deepcopy(prepared))
        found.append((facts, observed, converted, converted(x)))
    (p, y, c, z), (p2, y2, c2, z2) = found
    assert [told(str(fact)) for fact in p] == [told(str(fact)) for fact in p2]
    close(y, y2)
    same(c, c2)
    close(z, z2)


TRAINED = [
    "linear", "convolutions", "rows", "volumes", "sums", "functions with weights", "shapes",
    "normalisation", "linear and normalisation",
]  # fmt: skip


@pytest.mark.parametrize("name", TRAINED)
def test_models_quantised_in_training_are_pytorchs(name: str) -> None:
    make, array, *_ = PLAIN[name]
    found = []
    for lib, model in zip(LIBS, models(make), strict=True):
        Q, FX = parts(lib)
        x = lib.tensor(array)
        given = Q.get_default_qat_qconfig_mapping()
        prepared = FX.prepare_qat_fx(model.train(), given, (x,))
        optimiser = lib.optim.SGD(prepared.parameters(), lr=1 / 64)
        prepared(x).sum().backward()
        optimiser.step()
        names = [*prepared.state_dict()]
        converted = FX.convert_fx(prepared.eval())
        found.append((names, converted, converted(x)))
    (names, c, z), (names2, c2, z2) = found
    assert names == names2
    same(c, c2)
    # a number in the middle between two steps may go either way
    close(z, z2, atol=0.1)


def test_reference_models_are_pytorchs() -> None:
    make, array = PLAIN["convolutions"]
    found = []
    for lib, model in zip(LIBS, models(make), strict=True):
        Q, FX = parts(lib)
        x = lib.tensor(array)
        prepared = FX.prepare_fx(model.eval(), Q.get_default_qconfig_mapping(), (x,))
        prepared(x)
        made = FX.convert_to_reference_fx(prepared)
        found.append((made, made(x)))
    (c, z), (c2, z2) = found
    same(c, c2)
    close(z, z2)


def test_layers_are_put_together_as_pytorch_does_it() -> None:
    make = layers(
        lambda nn: [
            nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.BatchNorm2d(4), nn.ReLU(),
            nn.ConvTranspose2d(4, 2, 1), nn.BatchNorm2d(2),
        ]
    )  # fmt: skip
    pairs = zip(LIBS, models(make), strict=True)
    made = [parts(lib)[1].fuse_fx(m.eval()) for lib, m in pairs]
    same(*made)
    close(made[0](oracle.tensor(IMAGES)), made[1](torch.tensor(IMAGES)))


def test_inputs_and_results_may_be_quantised_already() -> None:
    found = []
    for lib, model in zip(LIBS, models(CLASSIFIER), strict=True):
        Q, FX = parts(lib)
        custom = importlib.import_module(f"{FX.__name__.rpartition('.')[0]}.fx.custom_config")
        given = custom.PrepareCustomConfig().set_input_quantized_indexes([0])
        given = given.set_output_quantized_indexes([0])
        x = lib.tensor(ROWS)
        prepared = FX.prepare_fx(
            model.eval(), Q.get_default_qconfig_mapping(), (x,), prepare_custom_config=given
        )
        prepared(x)
        made = FX.convert_fx(prepared)
        q = lib.quantize_per_tensor(x, 1 / 16, 64, lib.quint8)
        found.append((made, made(q)))
    (c, z), (c2, z2) = found
    assert z.is_quantized
    assert z2.is_quantized
    same(c, c2)
    close(z, z2)


@pytest.mark.parametrize("quantised", [False, True])
def test_modules_may_stay_modules_of_their_own(quantised: bool) -> None:
    found = []
    for lib in LIBS:
        Q, FX = parts(lib)
        custom = importlib.import_module(f"{FX.__name__.rpartition('.')[0]}.fx.custom_config")

        class Inner(lib.nn.Module):
            def __init__(self, nn: Any = lib.nn) -> None:
                super().__init__()
                self.layer = nn.Linear(6, 6)

            def forward(self, x: Any) -> Any:
                return self.layer(x)

        model = lib.nn.Sequential(lib.nn.Linear(6, 6), Inner(), lib.nn.Linear(6, 2)).eval()
        for i, p in enumerate(model.parameters()):
            p.data = lib.tensor(near(tuple(p.shape)) + i / 16)
        inner = custom.PrepareCustomConfig()
        if quantised:
            inner.set_input_quantized_indexes([0]).set_output_quantized_indexes([0])
        given = custom.PrepareCustomConfig().set_standalone_module_class(
            Inner, None, (lib.randn(1, 6),), inner, None
        )
        x = lib.tensor(ROWS)
        prepared = FX.prepare_fx(
            model, Q.get_default_qconfig_mapping(), (x,), prepare_custom_config=given
        )
        prepared(x)
        made = FX.convert_fx(prepared)
        found.append((made, made(x)))
    (c, z), (c2, z2) = found
    same(c, c2)
    close(z, z2)


def test_what_converting_leaves_out_by_another_mapping() -> None:
    found = []
    for lib, model in zip(LIBS, models(CLASSIFIER), strict=True):
        Q, FX = parts(lib)
        x = lib.tensor(ROWS)
        prepared = FX.prepare_fx(model.eval(), Q.get_default_qconfig_mapping(), (x,))
        prepared(x)
        less = Q.get_default_qconfig_mapping().set_module_name("2", None)
        made = FX.convert_fx(prepared, qconfig_mapping=less)
        found.append((made, made(x)))
    (c, z), (c2, z2) = found
    same(c, c2)
    close(z, z2)


def test_words_of_errors() -> None:
    said = []
    for lib in LIBS:
        Q, FX = parts(lib)
        words = []
        for call in (
            lambda FX=FX, lib=lib: FX.convert_fx(lib.nn.Linear(2, 2)),
            lambda FX=FX, lib=lib: FX.convert_fx(lib.fx.symbolic_trace(lib.nn.ReLU())),
            lambda FX=FX, lib=lib: FX.prepare_fx(lib.nn.ReLU(), 3, ()),
        ):
            with pytest.raises((ValueError, AssertionError)) as caught:
                call()
            words.append((type(caught.value), str(caught.value)))
        said.append(words)
        assert repr(Q.QConfigMapping().set_module_name("a", None)).endswith("OrderedDict()\n)")
    assert [told(str(w)) for w in said[0]] == [told(str(w)) for w in said[1]]


@pytest.mark.parametrize("name", ["functions with weights", "linear"])
def test_states_of_quantised_models_are_saved_and_loaded(name: str) -> None:
    make, array = PLAIN[name]
    _, model = models(make)
    Q, FX = parts(torch)
    x = torch.tensor(array)

    def quantised(model: Any, x: torch.Tensor) -> Any:
        prepared = FX.prepare_fx(model.eval(), Q.get_default_qconfig_mapping(), (x,))
        prepared(x)
        return FX.convert_fx(prepared)

    first = quantised(model, x)
    second = quantised(make(torch), torch.zeros_like(x))
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    second.load_state_dict(torch.load(file, weights_only=False))
    assert torch.equal(first(x), second(x))
    assert torch.equal(first(x), copy.deepcopy(first)(x))
