"""Functions whose derivative is not known: their results are recorded, so that a backward pass
raises where it would give too little."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import jtorch as torch


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda x: torch.geqrf(x).a,
            NotImplementedError,
            "the derivative for 'geqrf' is not implemented.",
        ),
        (
            lambda x: torch.geqrf(x).tau,
            NotImplementedError,
            "the derivative for 'geqrf' is not implemented.",
        ),
        (
            lambda x: torch.heaviside(x, torch.ones(())),
            RuntimeError,
            "derivative for aten::heaviside is not implemented",
        ),
        (
            lambda x: torch.histogram(x, 3).hist,
            RuntimeError,
            "derivative for aten::histogram is not implemented",
        ),
        (
            lambda x: torch.histogram(x, x[0].detach()).hist,
            RuntimeError,
            "derivative for aten::histogram is not implemented",
        ),
        (
            lambda x: torch.histogramdd(x, (2, 2)).hist,
            RuntimeError,
            "derivative for aten::_histogramdd_from_bin_cts is not implemented",
        ),
        (torch.unique, NotImplementedError, "the derivative for '_unique2' is not implemented."),
        (
            lambda x: torch.unique(x, dim=0),
            NotImplementedError,
            "the derivative for 'unique_dim' is not implemented.",
        ),
        (
            lambda x: torch.unique_consecutive(x, return_counts=True)[0],
            NotImplementedError,
            "the derivative for 'unique_consecutive' is not implemented.",
        ),
        (
            lambda x: torch.bincount(torch.tensor([0, 1]), weights=x[0]),
            RuntimeError,
            "derivative for aten::bincount is not implemented",
        ),
        (
            lambda x: torch.linalg.ldl_factor(x).LD,
            RuntimeError,
            "derivative for aten::linalg_ldl_factor_ex is not implemented",
        ),
        (
            lambda x: torch._standard_gamma_grad(x, x),
            NotImplementedError,
            "the derivative for '_standard_gamma_grad' is not implemented.",
        ),
        (
            lambda x: torch._dirichlet_grad(x / 4, x, 3 * x),
            RuntimeError,
            "derivative for aten::_dirichlet_grad is not implemented",
        ),
    ],
)
def test_the_backward_pass_says_so(
    call: Callable[[Any], Any], kind: type[Exception], text: str
) -> None:
    found = call(torch.tensor([[1.0, 2.0], [0.5, 3.0]], requires_grad=True))
    assert found.requires_grad
    assert (type(found.grad_fn).__name__ == "NotImplemented") is (kind is RuntimeError)
    with pytest.raises(kind) as caught:
        found.sum().backward()
    assert str(caught.value) == text
    assert not call(torch.tensor([[1.0, 2.0], [0.5, 3.0]])).requires_grad


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons_in_place_end_histories(name: str) -> None:
    x = torch.tensor([0.5, 2.0], requires_grad=True)
    y = x * 2
    getattr(y, name + "_")(1)
    assert y.grad_fn.name() == f"{name.capitalize()}Backward0"
    y.sum().backward()
    assert x.grad.tolist() == [0, 0]
    z = x * 2
    getattr(z[:1], name + "_")(torch.ones(1))  # through a view, the rest keeps its gradient
    z.sum().backward()
    assert x.grad.tolist() == [0, 2]
    plain = torch.ones(2)
    assert (
        getattr(plain, name + "_")(x).requires_grad
        and plain.grad_fn.name() == f"{name.capitalize()}Backward1"
    )
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        getattr(x, name + "_")(1)


def test_logic_in_place_is_unknown_to_autograd() -> None:
    x, y = torch.tensor([0.5, 0.0], requires_grad=True), torch.ones(2)
    assert x.logical_not_() is x and x.tolist() == [0, 1] and x.is_leaf and x._version == 1
    assert x.logical_and_(y).tolist() == [0, 1] and x[:1].logical_or_(y[:1]).requires_grad
    assert x.logical_xor_(y).tolist() == [0, 0] and x.requires_grad
    z = x * 2
    z.logical_not_()
    z.sum().backward()
    assert x.grad.tolist() == [2, 2]
    saved = x.exp()
    saved.logical_not_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.sum().backward()


def test_results_without_derivative_may_go_into_leaves() -> None:
    x, y = torch.zeros(2, requires_grad=True), torch.ones(2)
    assert torch.eq(y, y, out=x) is x and x.tolist() == [1, 1] and x.is_leaf and x._version == 1
    assert torch.logical_not(y, out=x).tolist() == [0, 0]
    for name in ("sign", "round"):
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            getattr(torch, name)(y, out=x)
    with pytest.raises(RuntimeError, match="isneginf does not support non-boolean outputs"):
        torch.isneginf(y, out=x)


def test_leaves_are_refused_as_out_of_integers() -> None:
    x, y = torch.zeros(2, requires_grad=True), torch.ones(2, dtype=torch.int32)
    calls = [
        lambda: torch.add(y, y, out=x),
        lambda: torch.neg(y, out=x),
        lambda: torch.stack([y[0], y[0]], out=x),
    ]
    for call in [*calls, lambda: torch.add(y, y, out=x * 1)]:
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            call()
    assert x.tolist() == [0, 0]


@pytest.mark.parametrize(
    "divide",
    [lambda x: x // 2, lambda x: torch.floor_divide(x, x), lambda x: (x * 1).floor_divide_(2)],
)
def test_whole_quotients_have_no_derivative(divide) -> None:
    x = torch.tensor([5.0, 7.0], requires_grad=True)
    found = divide(x)
    assert found.requires_grad
    with pytest.raises(RuntimeError, match=r"derivative for aten::floor_divide is not implemented"):
        found.sum().backward()
    torch.div(x, 2, rounding_mode="floor").sum().backward()
    assert x.grad.tolist() == [0, 0]
