"""Checkpointed parts compute the same gradients, by computing twice."""

from __future__ import annotations

from typing import Any

import pytest

import jtorch as torch
from jtorch.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)

HOOKS = hasattr(torch.autograd.graph, "saved_tensors_hooks")


def gradients(use: str) -> list[list[float]]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Tanh(), torch.nn.Linear(4, 2)
    )
    x = torch.randn(5, 3, requires_grad=True)
    if use == "plain":
        y = model(x)
    elif use == "sequential":
        y = checkpoint_sequential(model, 2, x, use_reentrant=False)
    else:
        y = checkpoint(model, x, use_reentrant=use == "reentrant")
    (y**2).sum().backward()
    return [t.grad.flatten().tolist() for t in (x, *model.parameters())] + [torch.rand(2).tolist()]


@pytest.mark.parametrize("use", ["reentrant", "not reentrant", "sequential"])
def test_gradients_and_random_numbers_are_those_of_the_plain_model(use: str) -> None:
    for a, b in zip(gradients(use), gradients("plain"), strict=True):
        assert a == pytest.approx(b, rel=1e-5)


@pytest.mark.parametrize("reentrant", [True, False])
def test_the_function_runs_twice(reentrant: bool) -> None:
    calls: list[int] = []

    def f(x: Any) -> Any:
        calls.append(1)
        return (x**2).exp()

    x = torch.tensor([0.5], requires_grad=True)
    y = checkpoint(f, x, use_reentrant=reentrant)
    assert len(calls) == 1
    y.backward()
    assert len(calls) == 2


def test_nothing_more_is_computed_than_needed() -> None:
    seen: list[str] = []

    def f(x: Any) -> Any:
        y = x.exp()
        seen.append("after")
        return y + 1

    for stop, count in ((True, 1), (False, 2)):
        seen.clear()
        x = torch.tensor([0.5], requires_grad=True)
        with set_checkpoint_early_stop(stop):
            y = checkpoint(f, x, use_reentrant=False)
        y.backward()
        assert len(seen) == count


def test_nested_and_closed_over() -> None:
    w = torch.tensor([2.0], requires_grad=True)

    def inner(x: Any) -> Any:
        return (x * w).sin()

    def outer(x: Any, scale: float = 1.0) -> Any:
        return checkpoint(inner, x, use_reentrant=False).exp() * scale

    x = torch.tensor([0.5], requires_grad=True)
    found = torch.autograd.grad(checkpoint(outer, x, scale=3.0, use_reentrant=False), [x, w])
    expected = torch.autograd.grad((x * w).sin().exp() * 3.0, [x, w])
    assert [g.item() for g in found] == pytest.approx([g.item() for g in expected])


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (1, 2, "trying to save more tensors during recomputation"),
        (2, 1, "A different number of tensors was saved"),
    ],
)
def test_a_function_that_changes_its_mind(first: int, second: int, words: str) -> None:
    turns = iter([first, second])

    def f(x: Any) -> Any:
        for _ in range(next(turns)):
            x = x.exp()
        return x

    x = torch.tensor([0.1], requires_grad=True)
    y = checkpoint(f, x, use_reentrant=False, early_stop=False)
    with pytest.raises(CheckpointError, match=words):
        y.backward()


def test_arguments() -> None:
    x = torch.tensor([0.1], requires_grad=True)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpoint(torch.exp, x)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: a"):
        checkpoint(torch.exp, x, use_reentrant=True, a=1)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(torch.exp, torch.ones(1), use_reentrant=True)


def test_arguments_from_inference_mode_are_refused() -> None:
    with torch.inference_mode():
        x = torch.ones(3)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        checkpoint(lambda v: v * 2, x, use_reentrant=False)
    with torch.no_grad():
        assert checkpoint(lambda v: v * 2, x, use_reentrant=False).tolist() == [2, 2, 2]


def test_reentrant_checkpoints_are_refused_where_only_some_gradients_are_wanted():
    w = torch.ones(2, requires_grad=True)
    x = torch.ones(2, requires_grad=True)
    for walk in (
        lambda y: torch.autograd.grad(y, x),
        lambda y: y.backward(inputs=[x]),
    ):
        y = checkpoint(lambda x: (x * w).sin(), x, use_reentrant=True).sum()
        with pytest.raises(RuntimeError, match=r"torch\.utils\.checkpoint is incompatible"):
            walk(y)
        assert w.grad is None and torch.autograd._is_checkpoint_valid()
    checkpoint(lambda x: (x * w).sin(), x, use_reentrant=True).sum().backward()
    assert w.grad is not None
    # nested: the inner pass, for all, runs within one for some
    y = checkpoint(
        lambda x: checkpoint(torch.sin, x, use_reentrant=True), x, use_reentrant=True
    ).sum()
    y.backward()
