"""Graphs and fake tensors where wrappers take part are PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest
import torch as reference

import jtorch
import jtorch._subclasses.fake_tensor
import jtorch.fx.experimental.proxy_tensor

pytestmark = pytest.mark.parity


def pair(torch: Any) -> Any:
    """A class of wrappers that hold two tensors, and compute with both."""
    pytree = torch.utils._pytree

    class Pair(torch.Tensor):
        @staticmethod
        def __new__(cls: Any, a: Any, b: Any) -> Any:
            kwargs = {
                "strides": a.stride(),
                "dtype": a.dtype,
                "device": a.device,
                "requires_grad": a.requires_grad,
            }
            return torch.Tensor._make_wrapper_subclass(cls, a.shape, **kwargs)

        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

        def __tensor_flatten__(self) -> Any:
            return ["a", "b"], None

        @staticmethod
        def __tensor_unflatten__(inner: Any, meta: Any, size: Any, stride: Any) -> Any:
            return Pair(inner["a"], inner["b"])

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            def half(name: str) -> Any:
                return func(
                    *pytree.tree_map_only(Pair, lambda x: getattr(x, name), args), **(kwargs or {})
                )

            return pytree.tree_map(
                lambda a, b: Pair(a, b) if isinstance(a, torch.Tensor) else a, half("a"), half("b")
            )

    return Pair


def traced(torch: Any, mode: str) -> str:
    Pair = pair(torch)

    def f(a: Any, b: Any, y: Any) -> Any:
        left, right = Pair(a, b) * y, y * Pair(b, a)
        return left.a, left.b, right.a, y + y

    made = torch.fx.experimental.proxy_tensor.make_fx(f, tracing_mode=mode)
    return made(torch.zeros(4), torch.ones(4), torch.ones(4)).graph


def operators(graph: Any) -> list[Any]:
    return [
        (str(n.target), [a.op if hasattr(a, "op") else a for a in n.args])
        for n in graph.nodes
        if n.op == "call_function"
    ]


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_graphs_show_what_wrappers_do_to_what_they_hold(mode: str) -> None:
    assert operators(traced(jtorch, mode)) == operators(traced(reference, mode))


def kinds(torch: Any) -> list[Any]:
    Pair = pair(torch)
    fakes = torch._subclasses.fake_tensor
    mode = fakes.FakeTensorMode()
    x = torch.ones(3, 2).t()
    fake = mode.from_tensor(Pair(x, x * 2).requires_grad_())
    found = [fake, fake.a, fake * 2, (fake * 2).b]
    with mode:
        y = Pair(torch.ones(4), torch.zeros(4))
        found += [y.a, y + y, (y + y).a, torch.ones(4) + y, fake.sum()]
    return [(type(t).__name__, tuple(t.shape), t.stride(), t.requires_grad) for t in found]


def test_wrappers_hold_fake_tensors() -> None:
    assert kinds(jtorch) == kinds(reference)
