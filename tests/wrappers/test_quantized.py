"""Weights of 8 and 4 bits: values, layers, files, transformations, and what they refuse."""

from __future__ import annotations

import copy
import io
import pickle

import jax
import jax.numpy as jnp
import pytest

import jtorch as torch
from jtorch import nn
from jtorch.nn import functional as F
from jtorch.wrappers.quantized import (
    Int4WeightOnlyConfig,
    Int8DynamicActivationInt8WeightConfig,
    Int8Tensor,
    Int8WeightOnlyConfig,
    QuantizedTensor,
    UInt4Tensor,
    quantize_,
)

CONFIGS = [
    Int8WeightOnlyConfig(),
    Int8DynamicActivationInt8WeightConfig(),
    Int4WeightOnlyConfig(group_size=32),
]


def weight(rows=32, columns=64, seed=0, dtype=torch.float32):
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed)).to(dtype)


def made():
    return [
        Int8Tensor.of(weight()),
        Int8Tensor.of(weight(), dynamic=True),
        UInt4Tensor.of(weight(), group=32),
    ]


def same(a, b):
    assert type(a) is type(b)
    assert (a.shape, a.dtype, a.facts) == (b.shape, b.dtype, b.facts)
    assert all(getattr(a, n) == getattr(b, n) for n in a.facts)
    return all(torch.equal(getattr(a, n), getattr(b, n)) for n in a.parts)


def round_trip(x, **options):
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file, **options)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_rounding_is_to_the_nearest(dtype):
    w = weight(dtype=dtype)
    eight, four = Int8Tensor.of(w), UInt4Tensor.of(w, group=32)
    assert eight.dtype is four.dtype is dtype
    half = dtype is not torch.float32
    step = w.float().abs().amax(1, keepdim=True) / 127
    assert ((eight.dequantize().float() - w.float()).abs() <= step * (1.2 if half else 0.501)).all()
    groups = w.float().reshape(32, 2, 32)
    step = (groups.amax(2, keepdim=True) - groups.amin(2, keepdim=True)) / 15
    assert (
        (four.dequantize().float().reshape(32, 2, 32) - groups).abs()
        <= step * (0.8 if half else 0.501)
    ).all()
    assert eight.q.abs().amax(1).tolist() == [127] * 32


def test_rows_of_zeros_stay_zeros():
    zeros = torch.zeros(16, 32)
    assert not Int8Tensor.of(zeros).dequantize().any()
    assert UInt4Tensor.of(zeros, group=32).dequantize().abs().max() < 1e-6


@pytest.mark.parametrize("w", made(), ids=["int8", "dynamic", "uint4"])
def test_linear_is_that_of_the_dequantised(w):
    x, bias = weight(6, 64, 1).reshape(2, 3, 64), weight(1, 32, 2)[0]
    found, expected = F.linear(x, w, bias), F.linear(x, w.dequantize(), bias)
    assert found.shape == (2, 3, 32)
    assert type(found) is torch.Tensor
    torch.testing.assert_close(
        found, expected, rtol=0, atol=0.2 if getattr(w, "dynamic", False) else 1e-4
    )
    assert F.linear(x[0, 0], w).shape == (32,)
    with pytest.raises(RuntimeError, match="must have the same dtype"):
        F.linear(x.bfloat16(), w)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        F.linear(x[..., :5], w)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert F.linear(x, w).dtype is torch.bfloat16


def test_dynamic_rounds_its_input():
    w = Int8Tensor(torch.tensor([[1, 2]], dtype=torch.int8), torch.tensor([1.0]), dynamic=True)
    # 127 is the largest; 0.4 of a step is none of it
    assert F.linear(torch.tensor([[127.0, 0.4]]), w).tolist() == [[127.0]]
    assert F.linear(torch.tensor([[0.0, 0.0]]), w).tolist() == [[0.0]]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: type(c).__name__)
def test_models(config):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Sequential(nn.Linear(32, 16, bias=False)))
    x = weight(5, 64, 3)
    plain = net(x)
    quantize_(net, config)
    assert [type(p).__name__ for p in net.parameters()].count("Parameter") == 1
    assert all(isinstance(net.get_parameter(n), nn.Parameter) for n in ("0.weight", "2.0.weight"))
    assert (net(x) - plain).abs().max() < 0.15 * plain.abs().max()
    assert "Int" in repr(net[0].weight)
    before = net[0].weight
    quantize_(net, config)
    assert net[0].weight is before
    loaded = nn.Sequential(
        nn.Linear(64, 32), nn.ReLU(), nn.Sequential(nn.Linear(32, 16, bias=False))
    )
    state = round_trip(net.state_dict())
    assert same(state["0.weight"], net[0].weight)
    loaded.load_state_dict(state, assign=True)
    assert torch.equal(loaded(x), net(x))
    with torch.device("meta"):
        loaded = nn.Sequential(
            nn.Linear(64, 32), nn.ReLU(), nn.Sequential(nn.Linear(32, 16, bias=False))
        )
    loaded.load_state_dict(state, assign=True)
    assert torch.equal(loaded(x), net(x))
    net[0].weight.copy_(weight(32, 64, 9))  # quantises
    net.load_state_dict(state)
    assert torch.equal(loaded(x), net(x))
    half = copy.deepcopy(net).to(torch.bfloat16)
    assert isinstance(half[0].weight, QuantizedTensor)
    assert half[0].weight.dtype is half(x.bfloat16()).dtype is torch.bfloat16
    assert net[0].weight.dtype is torch.float32


def test_only_chosen_layers_change_and_errors_name_them():
    net = nn.Sequential(nn.Linear(64, 32), nn.Linear(32, 7))
    quantize_(net, Int8WeightOnlyConfig(), lambda module, name: name == "1")
    assert isinstance(net[1].weight, Int8Tensor)
    assert type(net[0].weight) is nn.Parameter
    with pytest.raises(ValueError, match=r"^1: group \(=32\)"):
        quantize_(nn.Sequential(nn.Linear(64, 32), nn.Linear(32, 7)), Int4WeightOnlyConfig(32))
    with pytest.raises(ValueError, match="made of a matrix of float32"):
        Int8Tensor.of(torch.ones(3))


@pytest.mark.parametrize("w", made(), ids=["int8", "dynamic", "uint4"])
def test_copies_and_files(w):
    for again in (
        copy.copy(w), copy.deepcopy(w), w.clone(), w.detach(), pickle.loads(pickle.dumps(w)),
        round_trip(w),
        round_trip(w, weights_only=False),
        round_trip(nn.Parameter(w, requires_grad=False)),
        pickle.loads(pickle.dumps(nn.Parameter(w, requires_grad=False))),
    ):  # fmt: skip
        assert same(again, w)
    assert isinstance(
        pickle.loads(pickle.dumps(nn.ParameterList([nn.Parameter(w, requires_grad=False)])))[0],
        type(w),
    )


def test_what_is_not_known_is_refused():
    w = Int8Tensor.of(weight())
    calls = (
        lambda: w + 1,
        w.t,
        lambda: torch.ones(2, 64) @ w,
        lambda: w[0],
        lambda: F.linear(w, w),
        lambda: w.to(torch.int8),
    )
    for call in calls:
        with pytest.raises(NotImplementedError, match="dequantize"):
            call()
    with pytest.raises(RuntimeError, match="does not fit"):
        w.copy_(UInt4Tensor.of(weight(), group=32))
    with pytest.raises(RuntimeError, match="does not fit"):
        w.copy_(torch.ones(2, 2))


@pytest.mark.parametrize("w", made(), ids=["int8", "dynamic", "uint4"])
def test_transformations(w):
    x = weight(4, 64, 5)
    expected = F.linear(x, w)
    torch.testing.assert_close(torch.compile(F.linear)(x, w), expected)
    torch.testing.assert_close(torch.func.vmap(lambda row: F.linear(row, w))(x), expected)
    torch.testing.assert_close(
        torch.as_tensor(jax.jit(F.linear)(x, w)), expected, rtol=1e-4, atol=1e-4
    )
    mapped = jax.vmap(lambda x: F.linear(x, w))(x)
    torch.testing.assert_close(torch.as_tensor(mapped), expected, rtol=1e-4, atol=1e-4)
    leaves, tree = jax.tree.flatten(w)
    assert len(leaves) == 2
    assert same(jax.tree.unflatten(tree, leaves), w)


@pytest.mark.parametrize("w", [made()[0], made()[2]], ids=["int8", "uint4"])
def test_gradients_go_to_the_input(w):
    x = weight(4, 64, 5).requires_grad_()
    F.linear(x, w).sum().backward()
    torch.testing.assert_close(x.grad, w.dequantize().sum(0).expand(4, 64), rtol=1e-4, atol=1e-4)
    by_func = torch.func.grad(lambda x: F.linear(x, w).sum())(x.detach())
    torch.testing.assert_close(by_func, x.grad)
    by_jax = jax.grad(lambda a: jnp.sum(F.linear(torch.as_tensor(a), w).jax()))(x.detach().jax())
    torch.testing.assert_close(torch.as_tensor(by_jax), x.grad, rtol=1e-4, atol=1e-4)
