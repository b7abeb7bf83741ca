"""Gradients of another dtype than their leaf's: what is added up, kept, refused and stepped with is
PyTorch's."""

from __future__ import annotations

import copy

import pytest
import torch as oracle

import jtorch as torch

pytestmark = pytest.mark.parity


def _leaf(t, kind, dtype="bfloat16"):
    x = t.ones(3, dtype=getattr(t, dtype), requires_grad=True)
    x.grad_dtype = kind
    return x


def _precise(t):
    """Twice its argument, with a gradient that bfloat16 cannot hold."""

    class Precise(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g.float() * 1.00390625 + 1e-4

    return Precise.apply


def _twice(t, kind):
    x = _leaf(t, kind)
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    return x.grad, x.grad_dtype


def _custom(t, kind):
    x = _leaf(t, kind)
    (_precise(t)(x) + x).sum().backward()
    first = x.grad.clone()
    _precise(t)(x).sum().backward()
    return first, x.grad


def _set(t, kind, given):
    x = _leaf(t, kind)
    x.grad = t.ones(3, dtype=given)
    return x.grad


def _hooks(t):
    seen = []
    x = _leaf(t, t.float32)
    x.register_hook(lambda g: seen.append(g.dtype))
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.dtype))
    (x * 2).sum().backward(inputs=[x])
    return seen


def _asked(t):
    x = _leaf(t, t.float32)
    (g,) = t.autograd.grad((x**3).sum(), x, create_graph=True)
    return g, *t.autograd.grad(g.sum(), x)


def _others(t):
    x = t.nn.Parameter(t.ones(3, dtype=t.bfloat16))
    x.grad_dtype = t.float32
    return [y.grad_dtype for y in (copy.deepcopy(x), x.data, t.nn.Parameter(x), x.detach())]


def _kept(t):
    x = _leaf(t, t.float32)
    x.requires_grad_(False).requires_grad_()
    before = x.grad_dtype
    x.data = t.ones(3, dtype=t.float64)
    return before, x.grad_dtype


def _no_leaf(t, change):
    x = t.ones(3, requires_grad=True) * 2
    if change:
        x.grad_dtype = t.float64
    return x.grad_dtype


def _late(t):
    x = t.ones(3, requires_grad=True)
    x.sum().backward()
    x.grad_dtype = t.float64


def _steps(t, name, **options):
    p = t.nn.Parameter(t.ones(3, dtype=t.bfloat16))
    optimizer = getattr(t.optim, name)([p], 0.1, **options)
    (p * p).sum().backward()
    optimizer.step()  # a plan is made before the dtype is set
    p.grad = None
    p.grad_dtype = t.float32
    for _ in range(2):
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()
    made = [p, *[v for v in optimizer.state[p].values() if isinstance(v, t.Tensor)]]
    # halves may be rounded to the other side
    return [(str(v.dtype), [round(x, 2) for x in v.flatten().tolist()]) for v in made]


CASES = {
    "float32": lambda t: _twice(t, t.float32),
    "any": lambda t: _twice(t, None),
    "custom in float32": lambda t: _custom(t, t.float32),
    "custom in any": lambda t: _custom(t, None),
    "custom in its own": lambda t: _custom(t, t.bfloat16),
    "set": lambda t: _set(t, t.float32, t.float32),
    "set wrongly": lambda t: _set(t, t.float32, t.bfloat16),
    "set to any": lambda t: _set(t, None, t.float64),
    "hooks": _hooks,
    "asked for": _asked,
    "others have it not": _others,
    "kept": _kept,
    "asked of no leaf": lambda t: _no_leaf(t, False),
    "of no leaf": lambda t: _no_leaf(t, True),
    "with a gradient": _late,
    "no dtype": lambda t: _leaf(t, "f"),
    "without a gradient": lambda t: (t.ones(2).grad_dtype, t.ones(2, dtype=t.int64).grad_dtype),
    "SGD": lambda t: _steps(t, "SGD"),
    "SGD with momentum": lambda t: _steps(t, "SGD", momentum=0.9, weight_decay=0.1),
    "Adam": lambda t: _steps(t, "Adam"),
    "RMSprop": lambda t: _steps(t, "RMSprop"),
    "Adagrad": lambda t: _steps(t, "Adagrad"),
}


def _told(t, case):
    try:
        found = case(t)
    except Exception as error:
        return type(error).__name__, str(error)
    flat = found if isinstance(found, (tuple, list)) else [found]
    return [(str(x.dtype), x.tolist()) if isinstance(x, t.Tensor) else str(x) for x in flat]


@pytest.mark.parametrize("name", CASES)
def test_as_in_pytorch(name: str) -> None:
    assert _told(torch, CASES[name]) == _told(oracle, CASES[name])
