"""In-place changes between a call and its backward pass are refused for operands that PyTorch's
formula keeps, and only for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch as reference

import jtorch
from jtorch.testing import assert_close

pytestmark = pytest.mark.parity

#: A function of two square matrices; which of them PyTorch keeps.
CALLS: dict[str, tuple[Callable[..., Any], tuple[bool, bool]]] = {
    "mul": (lambda T, x, y: x * y, (True, True)),
    "div": (lambda T, x, y: x / y, (True, True)),
    "exp": (lambda T, x, y: x.exp() + y, (False, False)),
    "cov": (lambda T, x, y: T.cov(x) + y, (False, False)),
    "corrcoef": (lambda T, x, y: T.corrcoef(x) + y, (False, False)),
    "trapezoid": (lambda T, x, y: T.trapezoid(x, y), (False, False)),
    "cumulative_trapezoid": (lambda T, x, y: T.cumulative_trapezoid(x, y), (False, False)),
    "float_power": (lambda T, x, y: T.float_power(x, y), (False, False)),
    "copysign": (lambda T, x, y: T.copysign(x, y), (True, False)),
    "ndtr": (lambda T, x, y: T.special.ndtr(x) + y, (False, False)),
    "quantile": (lambda T, x, y: x.quantile(0.3, 1) + y, (False, False)),
    "nanquantile": (lambda T, x, y: x.nanquantile(0.3, 1) + y, (False, False)),
    "msort": (lambda T, x, y: x.msort() + y, (False, False)),
    "l1_loss": (lambda T, x, y: T.nn.functional.l1_loss(x, y), (False, False)),
    "mse_loss": (lambda T, x, y: T.nn.functional.mse_loss(x, y), (True, True)),
    "gaussian_nll_loss": (
        lambda T, x, y: T.nn.functional.gaussian_nll_loss(x, x + 1, y),
        (False, False),
    ),
    "cross_entropy": (
        lambda T, x, y: T.nn.functional.cross_entropy(x, T.tensor([0, 2, 1])) + y,
        (False, False),
    ),
    "hinge_embedding_loss": (
        lambda T, x, y: T.nn.functional.hinge_embedding_loss(x, T.ones(3, 3, dtype=x.dtype)) + y,
        (False, False),
    ),
    "margin_ranking_loss": (
        lambda T, x, y: T.nn.functional.margin_ranking_loss(x, y, T.ones(3, 3, dtype=x.dtype)),
        (False, False),
    ),
    "tanhshrink": (lambda T, x, y: T.nn.functional.tanhshrink(x) + y, (False, False)),
    "solve": (lambda T, x, y: T.linalg.solve(x, y), (True, False)),
    "solve_triangular": (
        lambda T, x, y: T.linalg.solve_triangular(x, y, upper=True),
        (True, False),
    ),
    "matmul": (lambda T, x, y: x @ y, (True, True)),
    "qr": (lambda T, x, y: T.linalg.qr(x).R + y, (False, False)),
    "lu_factor": (lambda T, x, y: T.linalg.lu_factor(x).LU + y, (False, False)),
    "svdvals": (lambda T, x, y: T.linalg.svdvals(x) + y, (False, False)),
    "eigvalsh": (lambda T, x, y: T.linalg.eigvalsh(x) + y, (False, False)),
    "cond": (lambda T, x, y: T.linalg.cond(x) + y, (False, False)),
    "det": (lambda T, x, y: T.linalg.det(x) + y, (True, False)),
}


def _gradients(T: Any, f: Callable[..., Any], changed: int | None) -> Any:
    leaves = [
        T.tensor(
            [[1.3, 0.2, 0.4], [0.5, 2.3, 0.1], [0.4, 0.7, 1.8]], dtype=T.float32, requires_grad=True
        ),
        T.tensor(
            [[0.3, 1.2, 0.9], [1.5, 0.6, 0.8], [0.2, 1.1, 1.4]], dtype=T.float32, requires_grad=True
        ),
    ]
    operands = [leaf * 1 for leaf in leaves]
    loss = f(T, *operands).sum()
    if changed is not None:
        with T.no_grad():
            operands[changed].mul_(3)
    return T.autograd.grad(loss, leaves)


@pytest.mark.parametrize("name", CALLS)
def test_changes_of_kept_operands_alone_are_refused(name: str) -> None:
    f, kept = CALLS[name]
    undisturbed = _gradients(reference, f, None)
    for i in range(2):
        for T in (reference, jtorch):
            if kept[i]:
                with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                    _gradients(T, f, i)
            else:
                for mine, expected in zip(_gradients(T, f, i), undisturbed, strict=True):
                    assert_close(
                        jtorch.from_numpy(mine.numpy()), jtorch.from_numpy(expected.numpy())
                    )
