"""``gradcheck`` of functions of sparse tensors: which elements move, and which gradients are
compared."""

from __future__ import annotations

from typing import Any

import pytest

import jtorch as torch
from jtorch.autograd import gradcheck
from jtorch.autograd.gradcheck import GradcheckError

ROWS = [[0.0, 2.0, 0.0, 1.0], [3.0, 0.0, 4.0, 0.0]]
LAYOUTS = {"coo": None, "csr": None, "csc": None, "bsr": (1, 2), "bsc": (2, 1)}


def matrix(name: str, rows: Any = ROWS) -> Any:
    dense = torch.tensor(rows, dtype=torch.float64)
    return dense.to_sparse(
        layout=getattr(torch, f"sparse_{name}"), blocksize=LAYOUTS[name]
    ).requires_grad_()


class Cube(torch.autograd.Function):
    """The cubes of the elements, with a factor for their gradients."""

    @staticmethod
    def forward(ctx, a, factor):
        ctx.save_for_backward(a)
        ctx.factor = factor
        return a.to_dense() ** 3

    @staticmethod
    def backward(ctx, grad):
        (a,) = ctx.saved_tensors
        return ctx.factor * 3 * a.detach().to_dense() ** 2 * grad, None


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("name", LAYOUTS)
def test_specified_elements_are_compared(name: str, fast: bool) -> None:
    s = matrix(name)
    assert gradcheck(lambda a: a.to_dense() ** 3, s, masked=True, fast_mode=fast)
    assert gradcheck(Cube.apply, (s, 1.0), masked=True, fast_mode=fast)
    with pytest.raises(
        GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"
    ):
        gradcheck(Cube.apply, (s, 1.1), masked=True, fast_mode=fast)
    assert s.detach().to_dense().tolist() == ROWS


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("name", LAYOUTS)
def test_all_elements_move_unless_masked(name: str, fast: bool) -> None:
    s = matrix(name)
    # the derivative is zero where nothing is specified
    assert gradcheck(Cube.apply, (s, 1.0), fast_mode=fast)
    full = matrix(name, [[1.0, 2.0, 3.0, 1.0], [3.0, 5.0, 4.0, 6.0]])
    assert gradcheck(lambda a: a.to_dense() * 2, full, fast_mode=fast)
    if name[0] != "b":  # blocks of these sizes may leave nothing out
        with pytest.raises(GradcheckError, match="Jacobian mismatch"):
            gradcheck(lambda a: a.to_dense() * 2, s)


def test_dense_parts_and_complex_numbers() -> None:
    at = [[1, 0, 1], [2, 0, 1]]
    parts = torch.arange(6.0, dtype=torch.float64).reshape(3, 2)
    hybrid = torch.sparse_coo_tensor(at, parts, (2, 3, 2), requires_grad=True)
    assert gradcheck(lambda a: a.to_dense() ** 2, hybrid, masked=True)
    phases = torch.sparse_coo_tensor(
        at, [1.0, 2j, 3.0], (2, 3), dtype=torch.complex128, requires_grad=True
    )
    assert gradcheck(lambda a: a.to_dense() ** 2, phases, masked=True)
    nothing = torch.sparse_coo_tensor((2, 3), dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda a: a.to_dense(), nothing, masked=True)


def test_products_with_a_dense_tensor() -> None:
    d = torch.arange(1.0, 9.0, dtype=torch.float64).reshape(4, 2).requires_grad_()
    assert gradcheck(torch.sparse.mm, (matrix("coo"), d), masked=True)
    assert gradcheck(torch.sparse.mm, (matrix("csr"), d), masked=True)


def test_sparse_results_are_refused() -> None:
    with pytest.raises(ValueError, match="Sparse output is not supported at gradcheck yet"):
        gradcheck(lambda a: a * 2, matrix("coo"), masked=True)
