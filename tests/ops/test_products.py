"""``einsum``, ``tensordot``, chains of matrices, cross products."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import jtorch as torch
from jtorch._src.ops.products import _splits


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ba", [(2, 3)]),
        ("ii->i", [(3, 3)]),
        ("ii", [(3, 3)]),
        ("bij,bjk->bki", [(2, 3, 4), (2, 4, 5)]),
        ("...ij,...jk->...ik", [(5, 2, 3), (3, 4)]),
        ("i...j,j", [(4, 2, 3), (3,)]),
        (" i j , k -> k j ", [(2, 3), (4,)]),
        ("ij,kj,lk->il", [(2, 3), (4, 3), (5, 4)]),
        ("aB,Bc->ca", [(2, 3), (3, 4)]),
        ("...->...", [(2, 3)]),
    ],
)
def test_einsum_is_numpys(equation: str, shapes: list[tuple[int, ...]]) -> None:
    r = np.random.RandomState(0)
    arrays = [r.randn(*s) for s in shapes]
    found = torch.einsum(equation, *map(torch.tensor, arrays))
    np.testing.assert_allclose(found.numpy(), np.einsum(equation, *arrays), 1e-12)


def test_einsum_with_lists_of_labels() -> None:
    a, b = torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(3, 4)
    assert torch.equal(torch.einsum(a, [0, 1], b, [1, 2], [2, 0]), (a @ b).T)
    assert torch.equal(torch.einsum(a, [..., 1], [...]), a.sum(1))


def test_einsum_broadcasts_size_one() -> None:
    a, b = torch.arange(6.0).reshape(2, 3), torch.tensor([[2.0], [3.0]])
    assert torch.einsum("ij,ij->j", a, b).tolist() == [9, 14, 19]
    # sums a.T over its rows
    assert torch.einsum("ij,jk->ik", b, a.T).tolist() == [[6, 24], [9, 36]]


def test_einsum_takes_any_overridden_operand() -> None:
    class Mine:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__

    assert torch.einsum("i,i->", torch.ones(2), Mine()) == "einsum"


def test_chains_cost_least() -> None:
    assert _splits([10, 100, 5, 50])[0, 2] == 1  # (A B) C: 7,500 multiplications against 75,000
    assert _splits([50, 5, 100, 10])[0, 2] == 0
    r = np.random.RandomState(0)
    arrays = [r.randn(4), r.randn(4, 6), r.randn(6, 3), r.randn(3)]
    found = torch.linalg.multi_dot([torch.tensor(a) for a in arrays])
    assert found.shape == ()
    assert found.item() == pytest.approx(np.linalg.multi_dot(arrays))


def test_tensordot_sums_the_other_over_a_single_element() -> None:
    a, b = torch.ones(2, 1), torch.arange(3.0)
    assert torch.tensordot(a, b, dims=([1], [0])).tolist() == [3, 3]


def test_cross() -> None:
    x, y = torch.tensor([1.0, 0.0, 0.0]), torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert torch.linalg.cross(x[None], y).tolist() == [[0, 0, 1], [0, -1, 0]]


def test_chain_matmul_is_deprecated() -> None:
    with pytest.warns(UserWarning, match="chain_matmul is deprecated"):
        torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.chain_matmul(torch.ones(2, 3)).shape == (2, 3)


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        (torch.tensor(1), [[3.0, 3.0], [3.0, 3.0]]),
        (torch.tensor([True]), [[3.0, 3.0], [3.0, 3.0]]),
        (torch.tensor([[1], [0]]), [[3.0, 3.0], [3.0, 3.0]]),
        (torch.tensor([[1, 0], [0, 1]]), 6.0),
        (torch.tensor(-1), (RuntimeError, "tensordot expects dims >= 0, but got dims=-1")),
        (
            torch.tensor([[1], [0], [0]]),
            (AssertionError, "dims tensor must have size 2 in first dimension, got 3"),
        ),
        (
            torch.tensor([1, 0]),
            (
                TypeError,
                "tensordot(): argument 'dims_self' (position 3) must be tuple of ints, not int",
            ),
        ),
        (
            [1, 0],
            (
                TypeError,
                "tensordot(): argument 'dims_self' (position 3) must be tuple of ints, not int",
            ),
        ),
        (
            ([1], [0.0]),
            (
                TypeError,
                (
                    "tensordot(): argument 'dims_other' (position 4) must be tuple of ints, but "
                    "found element of type float at pos 0"
                ),
            ),
        ),
    ],
)
def test_tensordot_reads_tensors_and_refuses_what_is_no_list_of_ints(dims, expected):
    a, b = torch.ones(2, 3), torch.ones(3, 2)
    torch.tensordot(a, b, dims=([1], [0]))  # what equals it is no answer to the others
    if not isinstance(expected, tuple):
        assert (
            torch.tensordot(a, b, dims).tolist()
            == torch.tensordot(a, b, dims=dims).tolist()
            == expected
        )
        return
    with pytest.raises(expected[0], match="^" + re.escape(expected[1]) + "$"):
        torch.tensordot(a, b, dims=dims)
