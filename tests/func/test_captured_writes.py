"""Functions that are being differentiated and write into tensors: their own they may change, those
that they captured not."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch import func


def _grad(f: Callable[..., Any], x: torch.Tensor) -> Any:
    return func.grad(f)(x)


def _vjp(f: Callable[..., Any], x: torch.Tensor) -> Any:
    out, back = func.vjp(f, x)
    return back(torch.ones_like(out))


def _jvp(f: Callable[..., Any], x: torch.Tensor) -> Any:
    return func.jvp(f, (x,), (torch.ones_like(x),))


def _linearize(f: Callable[..., Any], x: torch.Tensor) -> Any:
    return func.linearize(f, x)[1](torch.ones_like(x))


def _batched(f: Callable[..., Any], x: torch.Tensor) -> Any:
    return func.vmap(func.grad(f))(x.expand(2, *x.shape))


def _over_batches(f: Callable[..., Any], x: torch.Tensor) -> Any:
    return func.grad(lambda rows: func.vmap(f)(rows).sum())(x.expand(2, *x.shape).clone())


ALL = (_grad, _vjp, _jvp, _linearize, _batched, _over_batches)

#: What writes into ``y``, and the operator that torch names.
WRITES: dict[str, Callable[[torch.Tensor], Any]] = {
    "mul_.Tensor": lambda y: y.mul_(2),
    "add_.Tensor": lambda y: y.__iadd__(torch.ones(3)),
    "copy_": lambda y: y.__setitem__(0, 1.0),
    "index_put_": lambda y: y.__setitem__(torch.tensor([0]), 1.0),
    "fill_.Scalar": lambda y: y.fill_(1),
    "fill_.Tensor": lambda y: y.fill_(torch.tensor(1.0)),
    "zero_": lambda y: y.zero_(),
    "exp_": lambda y: y[1:].exp_(),
    "sub_.Tensor": lambda y: y.detach().sub_(1),
    "masked_fill_.Scalar": lambda y: y.masked_fill_(y > 0, 0.5),
    "lerp_.Scalar": lambda y: y.lerp_(torch.ones(3), 0.5),
    "normal_": lambda y: y.normal_(),
    "unsqueeze_": lambda y: y.unsqueeze_(0),
    "resize_": lambda y: y.resize_(2),
    "set_.source_Tensor": lambda y: y.set_(torch.ones(3)),
    "detach_": lambda y: y.detach_(),
    "clamp_": lambda y: y.clamp_(0),
    "remainder_.Tensor": lambda y: y.__imod__(torch.ones(3)),
}


@pytest.mark.parametrize("operator", WRITES)
def test_captured_tensors_are_not_written(operator: str) -> None:
    y = torch.tensor([4.0, 5.0, 6.0])

    def f(x: torch.Tensor) -> Any:
        WRITES[operator](y)
        return (x * y).sum()

    for take in (_grad, _jvp):
        with pytest.raises(
            RuntimeError,
            match=r"During a grad .*operation \(aten::(.*)\) that would mutate a captured Tensor",
        ) as error:
            take(f, torch.ones(3))
        assert f"(aten::{operator})" in str(error.value)
    assert y.tolist() == [4, 5, 6]


@pytest.mark.parametrize("take", ALL)
def test_every_derivative_notices(take: Callable[..., Any]) -> None:
    y = torch.zeros(3)
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        take(lambda x: (y.add_(1) * x).sum(), torch.ones(3))
    assert y.tolist() == [0, 0, 0]


def _numpys(y: torch.Tensor) -> torch.Tensor:
    del y
    shared = torch.zeros(3)
    shared.numpy()
    return shared


def _sole_view(y: torch.Tensor) -> torch.Tensor:
    whole = torch.zeros_like(y)
    part = whole.detach()
    del whole
    part.tolist()
    return part


OWN: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "zeros": lambda y: torch.zeros(3),
    "tensor": lambda y: torch.tensor([1.0, 2.0, 3.0]),
    "legacy": lambda y: torch.Tensor([1.0, 2.0, 3.0]),
    "from_numpy": lambda y: torch.from_numpy(np.ones(3, np.float32)),
    "clone": lambda y: y.clone(),
    "deepcopy": copy.deepcopy,
    "sum": lambda y: y + y,
    "indexed": lambda y: y[torch.tensor([0, 1, 2])],
    "masked": lambda y: y[y > 0],
    "first of several": lambda y: torch.sort(y)[0],
    "parameter": lambda y: torch.nn.Parameter(torch.zeros(3), requires_grad=False),
    "view": lambda y: torch.zeros(2, 3)[0],
    "numpy's": _numpys,
    "last view": _sole_view,
    "derivative": func.grad(lambda a: (a * a).sum()),
    "batch": func.vmap(lambda a: a * 2),
    "resized": lambda y: torch.zeros(2).resize_(3),
}


@pytest.mark.parametrize("kind", OWN)
@pytest.mark.parametrize("take", ALL)
def test_what_the_function_made_is_written(kind: str, take: Callable[..., Any]) -> None:
    y = torch.tensor([4.0, 5.0, 6.0])

    def f(x: torch.Tensor) -> Any:
        own = OWN[kind](y)
        own.add_(1)
        return (own * x).sum()

    take(f, torch.ones(3))
    assert y.tolist() == [4, 5, 6]


def test_inner_derivatives_may_not_write_into_what_outer_ones_made() -> None:
    def outer(x: torch.Tensor) -> Any:
        between = torch.zeros(3)
        between.add_(1)
        return func.grad(lambda a: (between.add_(1) * a).sum())(x).sum()

    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        func.grad(outer)(torch.ones(3))


def test_elsewhere_captured_tensors_are_written() -> None:
    y = torch.zeros(3)
    func.vmap(lambda x: (y.add_(1) * x).sum())(torch.ones(2, 3))
    func.grad(lambda x: (torch.add(torch.ones(3), 1, out=y) * x).sum())(torch.ones(3))
    assert y.tolist() == [2, 2, 2]
    _, back = func.vjp(lambda x: (x * x).sum(), torch.ones(3))
    y.add_(1)
    back(torch.tensor(1.0))
    torch.autograd.functional.jacobian(
        lambda x: (y.add_(1), x * x)[1], torch.ones(3), vectorize=True
    )
    assert y.tolist() == [4, 4, 4]


def test_power_iterations_go_on_inside_derivatives() -> None:
    layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(3, 3))
    assert func.grad(lambda x: layer(x).sum())(torch.ones(3)).shape == (3,)
