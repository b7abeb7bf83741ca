"""Quantised tensors: texts, integers, grids and refusals are PyTorch's."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
import pytest
import torch as oracle

import jtorch as torch

pytestmark = pytest.mark.parity

# (The last elements beyond multiples of 64 are rounded by another loop there, which sees a half
# after the zero point was added: ``v`` has 128.)
SETUP = """
x = T.tensor([[1.0, -2.3, 3.0], [0.5, 100.0, -7.0]])
q = T.quantize_per_tensor(x, 0.1, 10, T.quint8)
i = T.quantize_per_tensor(x, 0.25, -3, T.qint8)
c = T.quantize_per_channel(x, T.tensor([0.1, 0.2]), T.tensor([0, 3]), 0, T.qint8)
f = T.quantize_per_channel(x, T.tensor([0.1, 0.2]), T.tensor([0.5, 3.2]), 0, T.quint8)
v = T.quantize_per_tensor(T.linspace(-3, 3, 128).reshape(1, 4, 4, 8), 0.05, 60, T.quint8)
o = T.quantize_per_tensor(T.linspace(-3, 3, 128).reshape(1, 4, 4, 8), 0.05, 61, T.quint8)
F, ops = T.nn.functional, T.ops.quantized
class Row(list): pass
"""
#: Expressions whose texts, or errors' kinds and first words, are compared.
EXPRESSIONS = """
F.avg_pool2d(o, 2); F.adaptive_avg_pool2d(o, 2); T.cat(Row([q, q])); ops.add(q, 2.0)
ops.add(2.0, q); ops.add_relu(q, -1.0); ops.mul(q, 3); ops.mul_relu(-1.5, q)
ops.elu(q, alpha=0.5, output_scale=0.1, output_zero_point=30)
ops.hardswish(q, output_scale=0.1, output_zero_point=3)
ops.sigmoid(q, output_scale=0.01, output_zero_point=0)
ops.dropout(q, p=0.5, training=True, output_scale=0.1, output_zero_point=3)
ops.leaky_relu(q, negative_slope=0.1, inplace=False, output_scale=0.1, output_zero_point=3)
q; c; f; q[:0]; q[0, 1]; c[0]; T.quantize_per_tensor(x, 0.1, 10, T.qint32); q == q; q < 0.5
q.mean(); q.mean(0); q.max(); q.min(); q.max(0); T.relu(q); q.clamp(0, 2); q.sigmoid(); q.tanh()
q.t(); q.view(3, 2); q.reshape(-1); q.flatten(); T.cat([q, q]); T.stack([q, q]); q.clone()
c.clone(); q.detach(); q.sort(); q.topk(1); T.equal(q, q.clone()); q.fill_(1.0); q.copy_(x)
q.unsqueeze(0)
q.permute(1, 0); q.expand(2, 2, 3); q.repeat(2, 1); q.dtype; q.type(); q.layout; q.element_size()
q.stride(); T.ones_like(q); q.unbind(); q.chunk(2, 1); q.index_select(0, T.tensor([1])); len(q)
q.masked_fill(q > 0, 1.0); q[T.tensor([1])]; q.std(); float(q[0, 0]); q.dequantize(); c.dequantize()
f.dequantize(); T.dequantize([q, q]); q.q_scale(); q.q_zero_point(); c.q_per_channel_scales()
c.q_per_channel_zero_points(); c.q_per_channel_axis(); c.qscheme(); f.qscheme(); q.is_quantized
T.quantize_per_tensor([x, x], T.tensor([0.1, 0.2]), T.tensor([0, 1]), T.quint8)
T.quantize_per_tensor(x, T.tensor(0.1), T.tensor(3), T.quint8)
T.quantize_per_tensor_dynamic(x, T.quint8, False); T.quantize_per_tensor_dynamic(x, T.qint8, True)
T._make_per_tensor_quantized_tensor(T.tensor([1, 2], dtype=T.uint8), 0.5, 1)
T._empty_affine_quantized([0], scale=0.1, zero_point=2, dtype=T.quint8); T.flip(q, [0])
F.pad(q, [1, 1]); F.hardtanh(q); F.leaky_relu(q); F.hardsigmoid(q); F.gelu(q); F.relu6(q)
F.threshold(q, 0.0, 1.0); q.narrow(0, 0, 1); q.diagonal(); T.pixel_shuffle(v, 2)
T.channel_shuffle(v, 2)
F.max_pool2d(v, 2); F.max_pool2d(v, 3, 2, 1); F.avg_pool2d(v, 2); F.adaptive_avg_pool2d(v, (2, 3))
F.interpolate(v, scale_factor=2); ops.add(q, q, 0.2, 100); ops.add_relu(q, q, 0.2, 100)
ops.mul(q, q, 0.3, 7); ops.cat([q, q], 1, 0.2, 3); ops.add_scalar(q, 0.5); ops.add_scalar(q, 10.0)
ops.add_scalar(q, -10.0); ops.mul_scalar(q, -0.5); ops.mul_scalar(q, 2.0); ops.elu(q, 0.2, 30)
ops.hardswish(v, 0.05, 30); ops.leaky_relu(v, 0.1, False, 0.03, 60); ops.celu(v, 0.02, 30, 1.5)
ops.layer_norm(v, [8], T.arange(8) / 4, T.ones(8), 1e-5, 0.05, 110); ops.sigmoid(q, 0.01, 3)
ops.group_norm(v, 2, T.ones(4), T.zeros(4), 1e-5, 0.05, 110)
ops.batch_norm2d(v, T.ones(4), T.zeros(4), T.zeros(4), T.ones(4), 1e-5, 0.05, 110)
ops.embedding_byte(ops.embedding_bag_prepack(f), T.tensor([1, 0])); i; T.relu(i)
i.sigmoid(); i.max(1); q + q; q * 2; q.sum(); q.abs(); -q; q.float(); q.to(T.float32); q.half()
q.numpy(); q.tolist()
q.requires_grad_(); T.allclose(q, q); q.zero_(); x.clone().copy_(q); c.t(); c.view(-1); q.softmax(1)
q.argmax(); T.exp(q); c.q_scale(); q.q_per_channel_scales(); x.q_scale(); x.qscheme(); x.int_repr()
T.quantize_per_tensor(q, 0.1, 0, T.quint8); T.quantize_per_tensor(x, 0.1, 0, T.float32); q @ q.t()
T.quantize_per_tensor(x.double(), 0.1, 0, T.quint8); T.quantize_per_tensor(x, 0.1, 300, T.quint8)
T.quantize_per_channel(x, T.tensor([0.1]), T.tensor([0]), 0, T.quint8); q.item()
T.where(q > 0, q, q)
"""


def said(torch: Any, expression: str) -> str:
    names: dict[str, Any] = {"T": torch}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(SETUP, names)
        try:
            return repr(eval(expression, names))
        except (RuntimeError, TypeError) as error:
            words = str(error).partition(" This could be")[0].splitlines()[0]
            return f"{type(error).__name__}: {words[:160]}"


def test_expressions() -> None:
    wrong = {}
    for expression in EXPRESSIONS.replace("\n", ";").split(";"):
        if expression.strip():
            expected, found = said(oracle, expression.strip()), said(torch, expression.strip())
            if expected != found:
                wrong[expression.strip()] = (expected, found)
    assert wrong == {}


PRODUCTS = {
    "linear": "ops.linear(a, ops.linear_prepack(w2, b), 0.3, 100)",
    "linear_relu": "ops.linear_relu(a, ops.linear_prepack(w2, b), 0.3, 100)",
    "dynamic": "ops.linear_dynamic(r, ops.linear_prepack(w2, b), True)",
    "dynamic_wide": "ops.linear_dynamic(r, ops.linear_prepack(w2, b), False)",
    "conv2d": "ops.conv2d(m, ops.conv2d_prepack(w4, b, [1, 1], [1, 1], [1, 1], 1), 0.6, 90)",
    "relu": "ops.conv2d_relu(m, ops.conv2d_prepack(w4, b, [2, 1], [0, 1], [1, 2], 1), 0.6, 0)",
    "no_bias": "ops.conv2d(m, ops.conv2d_prepack(w4, None, [1, 1], [1, 1], [1, 1], 1), 0.6, 90)",
    "conv1d": "ops.conv1d(m[:, :, 0], ops.conv1d_prepack(w3, b, [1], [1], [1], 1), 0.4, 90)",
}


def product(torch: Any, name: str, per_channel: bool) -> np.ndarray:
    rng = np.random.default_rng(0)

    def drawn(*size: int, by: float = 1.0) -> Any:
        return torch.tensor((rng.normal(size=size) * by).astype(np.float32))

    def weight(w: Any) -> Any:
        if not per_channel:
            return torch.quantize_per_tensor(w, 0.008, 0, torch.qint8)
        scales = torch.tensor(np.linspace(0.005, 0.01, 12))
        return torch.quantize_per_channel(w, scales, torch.zeros(12).long(), 0, torch.qint8)

    r, m = drawn(9, 16, by=2), drawn(2, 16, 7, 8, by=2)
    names = {
        "ops": torch.ops.quantized, "r": r, "b": drawn(12),
        "a": torch.quantize_per_tensor(r, 0.05, 60, torch.quint8),
        "m": torch.quantize_per_tensor(m, 0.05, 60, torch.quint8),
        "w2": weight(drawn(12, 16, by=0.3)), "w3": weight(drawn(12, 16, 3, by=0.3)),
        "w4": weight(drawn(12, 16, 3, 3, by=0.3)),
    }  # fmt: skip
    y = eval(PRODUCTS[name], names)
    return (y.int_repr() if y.is_quantized else y).numpy()


@pytest.mark.parametrize("engine", ["x86", "fbgemm"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_give_the_same_integers(
    name: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings.simplefilter("ignore")
    monkeypatch.setattr(oracle.backends.quantized, "engine", engine)
    monkeypatch.setattr(torch.backends.quantized, "engine", engine)
    for per_channel in (True, False):
        expected, found = (product(t, name, per_channel) for t in (oracle, torch))
        np.testing.assert_array_equal(found, expected)


def test_files_both_ways() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for reader, writer in ((torch, oracle), (oracle, torch)):
            names: dict[str, Any] = {"T": writer}
            exec(SETUP, names)
            given = {name: names[name] for name in ("q", "i", "c", "f")}
            file = io.BytesIO()
            writer.save({**given, "view": names["q"].t()}, file)
            file.seek(0)
            found = reader.load(file)
            for name, tensor in given.items():
                assert repr(found[name]) == repr(tensor)
            assert found["view"].stride() == (1, 3)


def test_dimensions_of_one_element_and_what_packed_weights_tell() -> None:
    def run(torch: Any) -> list[Any]:
        found: list[Any] = []
        zeros = torch.zeros(3, dtype=torch.int64)
        q = torch.quantize_per_channel(torch.ones(1, 3, 1, 2), torch.ones(3), zeros, 1, torch.qint8)
        several = q.squeeze(0), q.squeeze(1), q.squeeze(-2), q.squeeze((0, 2)), q.squeeze()
        found += [(tuple(made.shape), made.q_per_channel_axis()) for made in several]
        one = torch.quantize_per_channel(
            torch.ones(1, 3, 4), torch.ones(1), zeros[:1], 0, torch.qint8
        ).unsqueeze(0)
        found.append((tuple(one.squeeze(0).shape), one.squeeze(0).q_per_channel_axis()))
        for dim in ((1,), (-3,), ()):
            with pytest.raises(RuntimeError) as info:
                one.squeeze(*dim)
            found.append(str(info.value))
        weight = torch.quantize_per_tensor(torch.ones(2, 2, 1, 1), 1.0, 0, torch.qint8)
        ops = torch.ops.quantized
        linear = ops.linear_prepack(weight.reshape(2, 2), torch.ones(2))
        conv = ops.conv2d_prepack(weight, torch.ones(2), [1, 1], [0, 0], [1, 1], 1)
        found += [linear.bias().tolist(), conv.bias().tolist(), conv.groups()]
        one_, low, high = torch.tensor(1), torch.tensor(-1.0), torch.tensor(1.0)
        grid = torch.tensor([0.1]), torch.tensor([0], dtype=torch.int32)
        empty = torch.fused_moving_avg_obs_fake_quant(
            torch.empty(0, 5), one_, one_, low, high, *grid, 0.1, 0, 255, -1, False, False
        )
        return [*found, tuple(empty.shape), low.item(), high.item(), grid[0].item()]

    assert run(torch) == run(oracle)
