"""Traces of functions that are for examples (``vmap``): their gradients, and numbers that they draw
anew each time, are PyTorch's."""

# ruff: noqa: PLW0108  (what is traced is written out)

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

#: Square examples, as many as they have rows: steps taken for one example have the sizes of those
#: for all.
DIFFERENTIABLE: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "mean": lambda t: lambda p: p.mean(0),
    "softmax": lambda t: lambda p: p.softmax(0),
    "cumprod": lambda t: lambda p: p.cumprod(0),
    "sort": lambda t: lambda p: p.sort(0)[0],
    "gather": lambda t: lambda p: p.gather(0, t.tensor([[0, 1, 2]])),
    "transposed": lambda t: lambda p: p.t() * p[0],
    "stack": lambda t: lambda p: t.stack([p, p * 2], 1),
    "group_norm": lambda t: lambda p: t.nn.functional.group_norm(p, 1),
    "conv1d": lambda t: lambda p: t.nn.functional.conv1d(p[None], p[:, :, None]),
    "inverse": lambda t: lambda p: t.linalg.inv(p + 3 * t.eye(3)),
    "solve": lambda t: lambda p: t.linalg.solve(p + 3 * t.eye(3), p[0]),
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_of_traces_are_those_of_the_function(name: str) -> None:
    found = []
    for lib in (torch, jtorch):
        x = lib.tensor(
            np.linspace(0.1, 1, 27, dtype=np.float32).reshape(3, 3, 3) % 0.37, requires_grad=True
        )
        f = lib.vmap(DIFFERENTIABLE[name](lib))
        traced = _make_fx(lib)(f)(x)
        out = traced(x)
        (out * lib.arange(float(out.numel())).reshape(out.shape)).sum().backward()
        found.append((out.detach().numpy(), x.grad.numpy()))
    for mine, theirs in zip(found[1], found[0], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-3)


DRAWING: dict[str, tuple[str, Callable[[Any], Callable[[Any], Any]]]] = {
    "randn": ("different", lambda t: lambda p: t.randn(4) + p),
    "rand_like": ("different", lambda t: lambda p: t.rand_like(p)),
    "randint": ("different", lambda t: lambda p: t.randint(9, (4,)) + p),
    "randperm": ("different", lambda t: lambda p: t.randperm(4) + p),
    "normal": ("different", lambda t: lambda p: t.normal(p, t.ones(4))),
    "bernoulli": ("different", lambda t: lambda p: p.bernoulli()),
    "multinomial": ("different", lambda t: lambda p: p.multinomial(2)),
    "in place": ("different", lambda t: lambda p: (p * 1).t().normal_()),
    "in place, the same": ("same", lambda t: lambda p: (p * 1).normal_() + p),
    "dropout": ("different", lambda t: lambda p: t.nn.functional.dropout(p, 0.5)),
    "nested": (
        "different",
        lambda t: lambda p: t.vmap(lambda q: t.randn(2) + q, randomness="different")(p) + t.rand(2),
    ),
}


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize("name", DRAWING)
def test_numbers_for_examples_are_drawn_by_the_trace(name: str, mode: str) -> None:
    randomness, function = DRAWING[name]
    found = []
    for lib in (torch, jtorch):
        x = lib.tensor(np.linspace(0.1, 0.9, 20, dtype=np.float32).reshape(5, 4))
        traced = _make_fx(lib)(lib.vmap(function(lib), randomness=randomness), tracing_mode=mode)(x)
        lib.manual_seed(3)
        found.append(traced(x).numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)


OTHERS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "alpha_dropout": lambda t: lambda p: t.nn.functional.alpha_dropout(p, 0.5, True),
    "dropout2d": lambda t: lambda p: t.nn.functional.dropout2d(p, 0.5),
    "rrelu": lambda t: lambda p: t.nn.functional.rrelu(p - 0.5, training=True),
    "vectors": lambda t: (
        lambda p: t.autograd.grad((p * p).sum((1, 2, 3)), p, t.eye(2), is_grads_batched=True)[0]
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_traces_draw_and_differentiate_for_batches(name: str) -> None:
    found = []
    for lib in (torch, jtorch):
        x = lib.tensor(
            np.linspace(0.1, 0.9, 32, dtype=np.float32).reshape(2, 4, 2, 2), requires_grad=True
        )
        traced = _make_fx(lib)(OTHERS[name](lib))(x)
        lib.manual_seed(3)
        found.append(traced(x).detach().numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5, atol=1e-6)


def test_nodes_of_constants_tell_their_sizes() -> None:
    for lib in (torch, jtorch):
        layer = lib.nn.Linear(3, 4, bias=False)
        graph = _make_fx(lib)(layer)(lib.ones(2, 3)).graph
        assert [tuple(n.meta["val"].shape) for n in graph.nodes if n.op == "get_attr"] == [(4, 3)]


def _make_fx(lib: Any) -> Any:
    return importlib.import_module(f"{lib.__name__}.fx.experimental.proxy_tensor").make_fx
