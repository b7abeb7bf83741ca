"""Calls of functions whose arguments stand in another order than those of the operator of their
name, or say more than it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import jtorch as torch
from jtorch import nn
from jtorch.export import Dim, export, stablehlo
from jtorch.nn import functional as F
from jtorch.utils._python_dispatch import TorchDispatchMode

TRUTH = torch.tensor([True, False, True, False])
IMAGE = torch.tensor([1.0, 3.0, 2.0, 5.0]).repeat(4).view(1, 1, 4, 4)
WINDOW = torch.ones(4)

#: Functions of one tensor of four numbers, and the operator that a graph must have.
CALLS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "stft": (
        lambda x: torch.stft(x.repeat(3), 4, 2, window=WINDOW, return_complex=True),
        "aten.pad.default",
    ),
    "stft by position": (
        lambda x: torch.stft(
            x.repeat(3), 4, 2, None, WINDOW, True, "constant", return_complex=True
        ),
        "aten.pad.default",
    ),
    "stft as method": (
        lambda x: x.repeat(3).stft(4, 2, window=WINDOW, return_complex=True),
        "aten.pad.default",
    ),
    "stft of what is there": (
        lambda x: x.repeat(3).stft(4, 2, window=WINDOW, center=False, return_complex=True),
        "aten.stft.default",
    ),
    "where": (lambda x: x.where(TRUTH, torch.zeros(4)), "aten.where.self"),
    "where of truth": (
        lambda x: (x > 1).where(TRUTH, torch.ones(4, dtype=torch.bool)),
        "aten.where.self",
    ),
    "where with a number": (lambda x: x.where(TRUTH, 2.0), "aten.where.ScalarOther"),
    "bags": (
        lambda x: F.embedding_bag(torch.tensor([0, 2]), x.view(4, 1), torch.tensor([0, 1])),
        "jtorch.embedding_bag.",
    ),
    "renormalised": (
        lambda x: F.embedding(torch.tensor([0, 2]), x.view(2, 2).repeat(2, 1), max_norm=1.0),
        "aten.embedding_renorm_.default",
    ),
    "unpool": (
        lambda x: F.max_unpool2d(*F.max_pool2d(IMAGE * x, 2, return_indices=True), 2),
        "aten.max_unpool2d.default",
    ),
    "unpool in one dimension": (
        lambda x: F.max_unpool1d(*F.max_pool1d(IMAGE[0] * x, 2, return_indices=True), 2),
        "aten.max_unpool2d.default",
    ),
    "unpool in three": (
        lambda x: F.max_unpool3d(
            *F.max_pool3d(IMAGE * x, (1, 2, 2), return_indices=True), (1, 2, 2)
        ),
        "aten.max_unpool3d.default",
    ),
}


class Called(nn.Module):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


@pytest.mark.parametrize("name", CALLS)
def test_the_graph_computes_what_the_call_does(name: str) -> None:
    function, operator = CALLS[name]
    program = export(Called(function), (torch.ones(4),))
    x = torch.tensor([2.0, 0.5, 1.0, 3.0])
    assert any(str(node.target).startswith(operator) for node in program.graph.nodes)
    torch.testing.assert_close(program.module()(x), function(x))


class Seen(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.operators: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.operators.append(str(func))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_maxima_are_put_back_under_a_mode(n: int) -> None:
    pool, unpool = getattr(F, f"max_pool{n}d"), getattr(F, f"max_unpool{n}d")
    x = torch.arange(16.0).view(1, *[1] * (n - 1), 4, 4)
    values, places = pool(x, (1,) * (n - 1) + (2,), return_indices=True)
    expected = unpool(values, places, (1,) * (n - 1) + (2,))
    with Seen() as seen:
        found = unpool(values, places, (1,) * (n - 1) + (2,))
    assert f"aten.max_unpool{max(n, 2)}d.default" in seen.operators
    assert torch.equal(found, expected)


def test_a_causal_mask_has_the_sizes_of_the_program() -> None:
    def attention(x: Any) -> Any:
        return F.scaled_dot_product_attention(x, x, x, is_causal=True)

    program = export(
        Called(attention),
        (torch.randn(2, 5, 4),),
        dynamic_shapes=(({0: Dim("b"), 1: Dim("l", min=2)},)),
    )
    parts = program.run_decompositions()
    x = torch.randn(3, 7, 4)
    torch.testing.assert_close(parts.module()(x), attention(x))
    (found,), _ = stablehlo(parts).call({}, x.jax())
    torch.testing.assert_close(torch.as_tensor(found), attention(x))
    # Nothing of sizes that were not known is left in what this thread has yet to compute.
    assert torch.ones(3).sum().item() == 3
