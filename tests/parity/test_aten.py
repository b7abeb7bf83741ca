"""Operators against PyTorch's: every schema in the tables, and the traces of programs, forward and
backward."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import jtorch
from jtorch._src.aten.schema import Schema, texts

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")


def test_schemas_are_those_of_torch():
    wrong = []
    for name, overloads in texts().items():
        packet = getattr(torch.ops.aten, name)
        for overload, text in overloads.items():
            theirs = getattr(packet, overload)._schema
            mine = Schema(text)
            if str(mine) != str(theirs) or [a.name for a in mine.arguments] != [
                a.name for a in theirs.arguments
            ]:
                wrong.append(text)
    assert wrong == []
    assert len(texts()) > 800


def trace(library: Any, program: Any) -> list[str]:
    """The operators of a program on wrappers and of its gradient, each with its arguments, tensors
    by shape."""
    functional = importlib.import_module(f"{library.__name__}.nn.functional")
    lines: list[str] = []

    def shown(x: Any) -> str:
        if isinstance(x, library.Tensor):
            return f"<{list(x.shape)}>"
        if isinstance(x, (list, tuple)):
            return f"[{', '.join(map(shown, x))}]"
        return repr(x).replace("jtorch", "torch")

    def mapped(f: Any, x: Any) -> Any:
        if isinstance(x, (list, tuple)):
            return type(x)(mapped(f, i) for i in x) if type(x) in (list, tuple) else x
        return f(x) if isinstance(x, library.Tensor) else x

    class Wrap(library.Tensor):
        @staticmethod
        def __new__(cls, elem, requires_grad=False):
            return library.Tensor._make_wrapper_subclass(
                cls,
                elem.size(),
                strides=elem.stride(),
                dtype=elem.dtype,
                requires_grad=requires_grad,
            )

        def __init__(self, elem, requires_grad=False):
            self.elem = elem

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            if str(func) != "aten.detach.default":
                lines.append(
                    f"{func}("
                    f"{', '.join([*map(shown, args), *[f'{k}={shown(x)}' for k, x in (kwargs or {}).items()]])}"  # noqa: E501
                    ")"
                )
            inside = lambda x: x.elem if isinstance(x, cls) else x  # noqa: E731
            return mapped(
                cls,
                func(
                    *mapped(inside, args),
                    **{k: mapped(inside, x) for k, x in (kwargs or {}).items()},
                ),
            )

    def data(*shape: int) -> Any:
        n = 1
        for s in shape:
            n *= s
        return ((library.arange(n, dtype=library.float32) * 0.37 + 0.3).sin() * 0.8 + 0.1).reshape(
            shape
        )

    x, w = Wrap(data(2, 3), requires_grad=True), Wrap(data(4, 3), requires_grad=True)
    y = program(library, functional, x, w)
    lines.append("--")
    library.autograd.grad(y.sum(), (x, w), allow_unused=True)
    # PyTorch hands undefined tensors on to this operator, and shows them although they are its
    # default.
    return [line.replace(", attn_mask=None", "") for line in lines]


PROGRAMS = {
    "square": lambda t, F, x, w: x * x,
    "arithmetic": lambda t, F, x, w: (x / 2 - 1) ** 2 + (1 - x) * x.exp(),
    "linear": lambda t, F, x, w: F.linear(x, w).relu(),
    "addmm": lambda t, F, x, w: F.linear(x, w, w[:, 0]),
    "softmax": lambda t, F, x, w: F.softmax(x, 1).log(),
    "layer_norm": lambda t, F, x, w: F.layer_norm(x, (3,), w[0], w[1]),
    "cross_entropy": lambda t, F, x, w: F.cross_entropy(x, t.tensor([0, 2])),
    "attention": lambda t, F, x, w: F.scaled_dot_product_attention(
        x.view(1, 1, 2, 3), w.view(1, 1, 4, 3), w.view(1, 1, 4, 3)
    ),
    "indexing": lambda t, F, x, w: x[0] + x[:, 1:].sum() + x[t.tensor([1])].mean(),
    "shapes": lambda t, F, x, w: (
        t.cat([x, w])
        .t()
        .reshape(9, 2)
        .unsqueeze(0)
        .expand(2, 9, 2)
        .transpose(0, 1)
        .permute(2, 0, 1)
    ),
    "statistics": lambda t, F, x, w: (
        x.var(1) + x.std(1) + x.norm(dim=1) + x.amax(1) + x.max(1)[0] + x.logsumexp(1)
    ),
    "where": lambda t, F, x, w: t.where(x > 0, x, 0.0).clamp(min=0.1).masked_fill(x > 0.5, 1.0),
    "in place": lambda t, F, x, w: x.clone().mul_(2).add_(w[:2]),
    "activations": lambda t, F, x, w: (
        F.gelu(x) + F.silu(x) + F.elu(x) + F.softplus(x) + F.hardtanh(x) + x.tanh() + x.sigmoid()
    ),
    "pooling": lambda t, F, x, w: F.max_pool2d(
        F.conv2d(x.view(1, 1, 2, 3), w[:1].view(1, 1, 1, 3), padding=1), 2
    ),
    "losses": lambda t, F, x, w: (
        F.mse_loss(x, w[:2])
        + F.smooth_l1_loss(x, w[:2])
        + F.l1_loss(x, w[:2])
        + F.kl_div(x, x, reduction="sum")
    ),
    "matmul": lambda t, F, x, w: t.matmul(x.expand(5, 2, 3), w.t()) + x @ w.t(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_traces_are_those_of_torch(name):
    assert trace(jtorch, PROGRAMS[name]) == trace(torch, PROGRAMS[name])


def test_old_constructors_are_seen() -> None:
    """Modes see the operators of ``Tensor(...)``, ``new`` and ``from_numpy``, so that fake modes
    make fakes of them."""
    programs = [
        lambda lib, _: lib.Tensor(2, 3), lambda lib, _: lib.Tensor([1.0, 2.0]), lambda lib,
        x: lib.Tensor(x), lambda lib, _: lib.Tensor(), lambda lib, _: lib.LongTensor([1]),
        lambda lib, _: lib.DoubleTensor(3), lambda _, x: x.new(2), lambda _, x: x.new([1.0]),
        lambda _, x: x.new(x), lambda lib, _: lib.from_numpy(np.ones(2)), lambda lib,
        _: lib.nn.Parameter(lib.Tensor(2)),
    ]  # fmt: skip
    traces: list[list[str]] = []
    for lib in (torch, jtorch):
        traces.append([])
        dispatching = importlib.import_module(f"{lib.__name__}.utils._python_dispatch")
        fakes = importlib.import_module(f"{lib.__name__}._subclasses.fake_tensor")

        class Seeing(dispatching.TorchDispatchMode):
            def __torch_dispatch__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                given = [list(a.shape) if hasattr(a, "shape") else a for a in args]
                traces[-1].append(f"{func} {given} {kwargs}")
                return func(*args, **(kwargs or {}))

        x = lib.zeros(2)
        for program in programs:
            with Seeing():
                program(lib, x)
        with fakes.FakeTensorMode() as mode:
            fake = mode.from_tensor(x)
            assert all(isinstance(program(lib, fake), fakes.FakeTensor) for program in programs)
    assert traces[0] == traces[1]
