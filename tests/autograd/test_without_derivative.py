"""Functions whose derivative is not known: their results are recorded, so that a backward pass raises where it would give too little."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import jtorch as torch


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda x: torch.geqrf(x).a, NotImplementedError, "the derivative for 'geqrf' is not implemented."),
        (lambda x: torch.geqrf(x).tau, NotImplementedError, "the derivative for 'geqrf' is not implemented."),
        (lambda x: torch.heaviside(x, torch.ones(())), RuntimeError, "derivative for aten::heaviside is not implemented"),
        (lambda x: torch.histogram(x, 3).hist, RuntimeError, "derivative for aten::histogram is not implemented"),
        (lambda x: torch.histogram(x, x[0].detach()).hist, RuntimeError, "derivative for aten::histogram is not implemented"),
        (lambda x: torch.histogramdd(x, (2, 2)).hist, RuntimeError, "derivative for aten::_histogramdd_from_bin_cts is not implemented"),
        (torch.unique, NotImplementedError, "the derivative for '_unique2' is not implemented."),
        (lambda x: torch.unique(x, dim=0), NotImplementedError, "the derivative for 'unique_dim' is not implemented."),
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
        (lambda x: torch.linalg.ldl_factor(x).LD, RuntimeError, "derivative for aten::linalg_ldl_factor_ex is not implemented"),
        (lambda x: torch._standard_gamma_grad(x, x), NotImplementedError, "the derivative for '_standard_gamma_grad' is not implemented."),
        (lambda x: torch._dirichlet_grad(x / 4, x, 3 * x), RuntimeError, "derivative for aten::_dirichlet_grad is not implemented"),
    ],
)
def test_the_backward_pass_says_so(call: Callable[[Any], Any], kind: type[Exception], text: str) -> None:
    found = call(torch.tensor([[1.0, 2.0], [0.5, 3.0]], requires_grad=True))
    assert found.requires_grad
    with pytest.raises(kind) as caught:
        found.sum().backward()
    assert str(caught.value) == text
    assert not call(torch.tensor([[1.0, 2.0], [0.5, 3.0]])).requires_grad
