"""LSTMs and attention that are observed and converted: numbers, texts and states are PyTorch's."""

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


def model(torch: Any, kind: str, **options: Any) -> Any:
    nn, Q = torch.nn, torch.ao.quantization

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.quant, self.dequant = Q.QuantStub(), Q.DeQuantStub()
            if kind == "lstm":
                self.inner = nn.LSTM(8, 6, **options)
            else:
                self.inner = nn.MultiheadAttention(8, 2, **options)

        def forward(self, x: Any, *masks: Any) -> Any:
            x = self.quant(x)
            if kind == "lstm":
                out, (h, c) = self.inner(x)
                return [self.dequant(t) for t in (out, h, c)]
            return [self.dequant(t) for t in self.inner(x, x, x, *masks)]

    return Model()


def both(kind: str, **options: Any) -> tuple[Any, Any]:
    """PyTorch's model with drawn parameters, and the same here."""
    oracle.manual_seed(0)
    theirs, ours = model(oracle, kind, **options), model(torch, kind, **options)
    for p in theirs.parameters():
        p.data.uniform_(-0.5, 0.5)
    if kind == "attention" and theirs.inner.in_proj_bias is not None:
        theirs.inner.in_proj_bias.data.zero_()
    file = io.BytesIO()
    oracle.save(theirs.state_dict(), file)
    file.seek(0)
    ours.load_state_dict(torch.load(file))
    return theirs, ours


def converted(torch: Any, model: Any, train: bool, *given: np.ndarray) -> tuple[Any, list[Any]]:
    Q = torch.ao.quantization
    model.qconfig = Q.get_default_qat_qconfig("fbgemm") if train else Q.default_qconfig
    model = Q.prepare_qat(model.train()) if train else Q.prepare(model.eval())
    given = tuple(torch.from_numpy(x) for x in given)
    seen = model(*given)
    model = Q.convert(model.eval())
    return model, [t.detach().numpy() for t in (*seen, *model(*given))]


def compare(theirs: tuple[Any, list[Any]], ours: tuple[Any, list[Any]]) -> None:
    for a, b in zip(theirs[1], ours[1], strict=True):
        # A sum in the middle between two steps may be rounded to either.
        wrong = ~np.isclose(b, a, rtol=1e-5, atol=1e-6)
        assert wrong.mean() < 0.05 and np.abs(b - a).max() < 0.02
    assert list(ours[0].state_dict()) == list(theirs[0].state_dict())
    kinds = [
        [(name, type(m).__name__, m._get_name()) for name, m in found[0].named_modules()]
        for found in (ours, theirs)
    ]
    assert kinds[0] == kinds[1]


X = np.random.RandomState(0).randn(5, 3, 8).astype("f")


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"num_layers": 2}, {"bidirectional": True}, {"batch_first": True, "bias": False}],
)
def test_lstms(options: dict[str, Any], train: bool) -> None:
    theirs, ours = both("lstm", **options)
    compare(converted(oracle, theirs, train, X), converted(torch, ours, train, X))


@pytest.mark.parametrize(
    "options",
    [{}, {"batch_first": True}, {"add_bias_kv": True, "add_zero_attn": True}, {"bias": False}],
)
def test_attention(options: dict[str, Any]) -> None:
    theirs, ours = both("attention", **options)
    found = converted(oracle, theirs, False, X), converted(torch, ours, False, X)
    compare(*found)
    with oracle.no_grad(), torch.no_grad():
        back = [m[0].inner.dequantize() for m in found]
    for name, value in back[0].state_dict().items():
        if not name.startswith("linear"):  # drawn: they are not of the observed class
            np.testing.assert_allclose(back[1].state_dict()[name].numpy(), value.numpy(), rtol=1e-6)


def test_masks_of_attention() -> None:
    theirs, ours = both("attention")
    padding = np.zeros((3, 5), bool)
    padding[1, 3:] = True
    mask = np.triu(np.ones((5, 5), bool), 1)

    def run(torch: Any, model: Any) -> list[Any]:
        made, seen = converted(torch, model, False, X, padding)
        x, blocked = torch.from_numpy(X), torch.from_numpy(mask)
        told = [made.inner(made.quant(x), made.quant(x), made.quant(x), attn_mask=blocked)[0]]
        told += [made.inner(*[made.quant(x)] * 3, need_weights=False)[1]]
        for words in ({"attn_mask": blocked[:2]}, {"is_causal": True}):
            try:
                made.inner(*[made.quant(x)] * 3, **words)
            except (RuntimeError, AssertionError) as e:
                told.append(str(e))
        return [*seen, told[0].dequantize().numpy(), *told[1:]]

    for a, b in zip(run(oracle, theirs), run(torch, ours), strict=True):
        if isinstance(a, np.ndarray):
            np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-6)
        else:
            assert a == b


def test_cells_and_states_given() -> None:
    def run(torch: Any) -> list[Any]:
        nn, Q = torch.nn, torch.ao.quantization
        cell = nn.LSTMCell(3, 4)
        for i, p in enumerate(cell.parameters()):
            p.data.copy_(torch.arange(float(p.numel())).reshape(p.shape).sin() / (i + 1))
        cell.qconfig = Q.default_qconfig
        found: list[Any] = []
        x = torch.arange(15.0).reshape(5, 3).cos()
        for split in (False, True):
            made = nn.quantizable.LSTMCell.from_float(cell, split_gates=split)
            found += [*made(x), list(made.state_dict()), made.igates.qconfig is cell.qconfig]
        h = made.initialize_hidden(2, True)[0]
        found += [h.dtype.is_floating_point, h.q_scale(), h.q_zero_point()]
        lstm = nn.quantizable.LSTM(3, 4, bidirectional=True, split_gates=True)
        for i, p in enumerate(lstm.parameters()):
            p.data.fill_(0.1 * (i % 5 - 2))
        states = torch.ones(2, 5, 4) / 3, torch.ones(2, 5, 4) / 5
        out, last = lstm(x.reshape(1, 5, 3), states)
        return [*found, out, *last, lstm.training]

    for a, b in zip(run(oracle), run(torch), strict=True):
        if isinstance(a, oracle.Tensor):
            np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-5, atol=1e-6)
        else:
            assert a == b


@pytest.mark.parametrize("name", ["LSTM", "MultiheadAttention"])
def test_what_only_the_other_class_does(name: str) -> None:
    def words(torch: Any) -> list[str]:
        nn, found = torch.nn, []
        observed, quantised = getattr(nn.quantizable, name), getattr(nn.quantized, name)
        for call in (
            lambda: observed.from_observed(nn.ReLU()),
            lambda: quantised.from_float(nn.ReLU()),
            lambda: observed(4, 6, dropout=2) if name == "LSTM" else observed(4, 3),
        ):
            with pytest.raises((NotImplementedError, ValueError, AssertionError)) as info:
                call()
            found.append(f"{info.type.__name__} {info.value}")
        return [
            *found,
            observed.__module__.partition(".")[2],
            quantised.__module__.partition(".")[2],
        ]

    assert words(torch) == words(oracle)


def test_the_grid_of_a_range() -> None:
    x = np.linspace(-1.2, 2.9, 11, dtype="f")
    for reduce in (False, True):
        found = torch._choose_qparams_per_tensor(torch.from_numpy(x), reduce)
        assert found == oracle._choose_qparams_per_tensor(oracle.from_numpy(x), reduce)
    quantised = torch.quantize_per_tensor(torch.from_numpy(x), 0.02, 60, torch.quint8)
    theirs = oracle.quantize_per_tensor(oracle.from_numpy(x), 0.02, 60, oracle.quint8)
    found = torch._choose_qparams_per_tensor(quantised)
    assert found == oracle._choose_qparams_per_tensor(theirs)


# ---- by the graph of a model ---------------------------------------------------------------------


def in_graph(torch: Any, use: str) -> Any:
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.first = nn.LSTM(8, 6), nn.Linear(6, 3)
            self.second = nn.Linear(6, 2)

        def forward(self, x: Any, h: Any, c: Any) -> Any:
            found = self.inner(x, (h, c))
            if use == "parts":
                return self.first(found[0]), self.second(found[1][0])
            return found if use == "all" else found[1]

    return Model().eval()


@pytest.mark.parametrize("use", ["parts", "all", "states"])
def test_lstms_in_graphs(use: str) -> None:
    theirs, ours = in_graph(oracle, use), in_graph(torch, use)
    file = io.BytesIO()
    oracle.manual_seed(0)
    for p in theirs.parameters():
        p.data.uniform_(-0.5, 0.5)
    oracle.save(theirs.state_dict(), file)
    file.seek(0)
    ours.load_state_dict(torch.load(file))

    def flat(found: Any) -> list[Any]:
        return [x for f in found for x in flat(f)] if isinstance(found, tuple) else [found]

    def run(torch: Any, model: Any) -> tuple[list[Any], list[Any]]:
        nn, Q = torch.nn, torch.ao.quantization
        fx = importlib.import_module(f"{Q.__name__}.quantize_fx")
        given = tuple(torch.from_numpy(x) for x in (X, X[:1, :, :6].copy(), X[1:2, :, :6].copy()))
        prepare = Q.fx.custom_config.PrepareCustomConfig().set_float_to_observed_mapping(
            nn.LSTM, nn.quantizable.LSTM
        )
        convert = Q.fx.custom_config.ConvertCustomConfig().set_observed_to_quantized_mapping(
            nn.quantizable.LSTM, nn.quantized.LSTM
        )
        mapping = Q.get_default_qconfig_mapping("fbgemm")
        model = fx.prepare_fx(model, mapping, given, prepare_custom_config=prepare)
        told, numbers = [model.code], flat(model(*given))
        model = fx.convert_fx(model, convert_custom_config=convert)
        return [*told, model.code, list(model.state_dict())], [*numbers, *flat(model(*given))]

    (told, seen), (wanted, numbers) = run(torch, ours), run(oracle, theirs)
    assert told == wanted
    for a, b in zip(numbers, seen, strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_own_modules_that_are_quantised_as_values_come() -> None:
    """They need no observer behind them."""

    def run(torch: Any) -> Any:
        nn, Q = torch.nn, torch.ao.quantization
        fx = importlib.import_module(f"{Q.__name__}.quantize_fx")

        class Own(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.linear = nn.Linear(3, 3)
                for i, p in enumerate(self.parameters()):
                    p.data.copy_(torch.arange(float(p.numel())).reshape(p.shape).cos() / (i + 1))

            def forward(self, x: Any) -> Any:
                return self.linear(x)

        class Quantised(Own):
            @classmethod
            def from_observed(cls, other: Any) -> Any:
                made: Any = cls()
                other.linear.qconfig = other.qconfig
                made.linear = nn.quantized.dynamic.Linear.from_float(other.linear)
                return made

        class Model(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.own = Own()

            def forward(self, x: Any) -> Any:
                return self.own(x)

        x = torch.arange(6.0).reshape(2, 3).sin()
        model = fx.prepare_fx(
            Model().eval(), {"": Q.default_dynamic_qconfig}, (x,),
            prepare_custom_config={"non_traceable_module_class": [Own]},
        )  # fmt: skip
        given = {"observed_to_quantized_custom_module_class": {"dynamic": {Own: Quantised}}}
        model = fx.convert_fx(model, convert_custom_config=given)
        return type(model.own).__name__, model.code, model(x).detach().numpy()

    ours, theirs = run(torch), run(oracle)
    assert ours[:2] == theirs[:2]
    np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-5)
