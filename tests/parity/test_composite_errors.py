"""What functions that are written with other functions refuse, they refuse as PyTorch does: by type
and in its words."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import jtorch
import jtorch.nn.functional

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

#: Calls, for both packages under the name ``torch``.
CALLS = """
    torch.zeros(2, dtype=torch.complex64).random_()
    torch.zeros(2, dtype=torch.complex64).random_(3)
    torch.zeros(2, dtype=torch.complex64).random_(3, None)
    torch.randint(3, (2,), dtype=torch.complex64)
    torch.zeros(2, dtype=torch.float16).uniform_(0, 1e9)
    torch.zeros(2, dtype=torch.complex64).uniform_(-1e39, 0)
    torch.zeros(2).uniform_(0, float("nan"))
    torch.zeros(2, dtype=torch.bfloat16).uniform_(-3e38, 3e38)
    torch.zeros(2, dtype=torch.float64).uniform_(2, 1)
    torch.zeros(2, dtype=torch.complex64).bernoulli_(0.5)
    torch.zeros(2, dtype=torch.complex64).bernoulli_(torch.tensor(0.5))
    torch.bernoulli(torch.zeros(2, dtype=torch.complex64))
    torch.zeros(2, dtype=torch.int16).cauchy_()
    torch.zeros(2, dtype=torch.uint8).cauchy_()
    torch.zeros(2, dtype=torch.complex128).cauchy_()
    torch.dropout(torch.zeros(2, dtype=torch.complex64), 0.5, True)
    torch.native_dropout(torch.tensor([1]), 0.5, True)
    torch.linspace(0, 1, 3, dtype=torch.bool)
    torch.logspace(0, 1, 3, dtype=torch.bool)
    torch.nn.functional.embedding_bag(torch.tensor([[0]]), torch.ones(1, 2, dtype=torch.uint8))
    torch.nn.functional.embedding_bag(torch.tensor([[0]]), torch.ones(1, 2, dtype=torch.bool))
    torch.nn.functional.embedding_bag(torch.tensor([[0]]), torch.ones(1, 2, dtype=torch.complex64))
    torch.nn.functional.fractional_max_pool3d(torch.ones(1, 1, 2, 3, 3), 2, output_size=1)
    torch.nn.functional.fractional_max_pool3d(torch.ones(1, 1, 3, 3, 3), 2, output_size=(1, 1, 2))
    torch.linalg.lstsq(torch.ones(2, 2).long(), torch.ones(2, 2).long())
    torch.linalg.lstsq(torch.ones(2, 2).half(), torch.ones(2, 2).half())
    torch.linalg.ldl_factor(torch.ones(2, 2).int())
    torch.linalg.ldl_factor(torch.ones(2, 2).half())
    torch.linalg.ldl_solve(torch.ones(2, 2), torch.tensor([1, 2]).int(), torch.ones(3, 1))
    torch.linalg.ldl_solve(torch.ones(2, 2), torch.tensor([1, 2]).int(), torch.ones(2))
    torch.linalg.ldl_solve(torch.ones(2, 2), torch.tensor([1.0, 2.0]), torch.ones(2, 1))
    torch.linalg.ldl_solve(torch.ones(2, 2), torch.tensor([1, 2]).int(), torch.ones(2, 1).double())
    torch.linalg.ldl_solve(torch.ones(2, 2), torch.tensor([1, 2, 3]).int(), torch.ones(2, 1))
    torch.frobenius_norm(torch.tensor([1]), 0)
    torch.adjoint(torch.ones(2))
    torch.binary_cross_entropy_with_logits(torch.ones(2), torch.ones(3))
    torch.binary_cross_entropy_with_logits(torch.ones(2), torch.ones(1))
    torch._foreach_lerp([torch.ones(1)], [torch.ones(1)] * 2, 0.5)
    torch._foreach_lerp_([torch.ones(1)], [], 0.5)
    torch._foreach_addcmul([torch.ones(1)], [torch.ones(1)], [torch.ones(1)] * 2, 0.5)
    torch._foreach_addcdiv_([torch.ones(1)], [torch.ones(1)] * 2, [torch.ones(1)], 0.5)
    torch._foreach_mm([torch.ones(1, 1)], [torch.ones(1, 1)] * 2)
    torch._foreach_max([torch.ones(0)])
    float(torch.ones(2))
    int(torch.ones(0))
    complex(torch.ones(3))
    float(torch.tensor(1j))
    int(torch.tensor(2 + 1j))
    float(torch.ones(1, device="meta"))
    bool(torch.ones(1, device="meta"))
    torch.smm(torch.eye(2), torch.ones(2, 1))
    torch.smm(torch.eye(2), torch.eye(2).to_sparse())
    torch.sspaddmm(torch.eye(2), torch.eye(2), torch.ones(2, 1))
"""
#: Parts of compressed tensors that do not fit, for constructors that check them.
PARTS = """
    csr([0, 1], [1, 0], [2.0, 3.0], (2, 2))
    csr([0, 1, 2], [1, 0], [2.0], (2, 2))
    csr([1, 1, 2], [1, 0], [2.0, 3.0], (2, 2))
    csr([0, 1, 3], [1, 0], [2.0, 3.0], (2, 2))
    csr([0, 3, 2], [0, 1], [2.0, 3.0], (2, 2))
    csr([0, 1, 2], [1, 5], [2.0, 3.0], (2, 2))
    csr([1, 1, 2], [0, 5], [2.0, 3.0], (2, 2))
    csr([0, 2, 2], [1, 0], [2.0, 3.0], (2, 2))
    csr([0, 1, 2], [1, 0], [[2.0], [3.0]], (2, 2))
    csr(0, [1, 0], [2.0, 3.0], (2, 2))
    csr([0, 1, 2], 0, [2.0, 3.0], (2, 2))
    csr([0, 1, 2], [1, 0], 2.0, (2, 2))
    csr([0, 1, 2], [[1, 0]], [2.0, 3.0], (2, 2))
    csr([[0, 1, 2]], [[1, 0]], [[2.0, 3.0]], (2, 2, 2))
    csc([0, 1], [1, 0], [2.0, 3.0], (2, 2))
    csc([0, 2, 2], [1, 0], [2.0, 3.0], (2, 2))
    bsr([0, 1], [1], [2.0], (2, 2))
    bsr([0, 1], [1], [[[2.0]]], (2, 2))
    bsr([0, 1], [0], [[[2.0, 3.0]]], (1, 3))
    bsr([0, 1], [0, 0], [[[2.0, 3.0]]], (1, 2))
    bsc([0, 1], [0], [[[2.0, 3.0]]], (1, 4))
"""


def _error(package: Any, call: str) -> tuple[str, str]:
    with warnings.catch_warnings(), pytest.raises(Exception) as caught:
        warnings.simplefilter("ignore")
        eval(call, {"torch": package})
    return type(caught.value).__name__, str(caught.value)


@pytest.mark.parametrize("call", [line.strip() for line in CALLS.strip().splitlines()])
def test_refused_alike(call: str) -> None:
    assert _error(jtorch, call) == _error(torch, call)


@pytest.mark.parametrize("parts", [line.strip() for line in PARTS.strip().splitlines()])
def test_parts_of_compressed_tensors(parts: str) -> None:
    call = f"torch.sparse_{parts[:3]}_tensor{parts[3:-1]}, check_invariants=True)"
    assert _error(jtorch, call) == _error(torch, call)


@pytest.mark.parametrize(
    "call",
    [
        "torch.ones(2).sparse_mask(torch.ones(2))",
        "torch.hspmm(torch.eye(2), torch.ones(2, 1))",
        "torch.eye(2)._nnz()",
    ],
)
def test_without_a_kernel_for_dense_tensors(call: str) -> None:
    (kind, text), (their_kind, their_text) = _error(jtorch, call), _error(torch, call)
    assert (kind, text.split(" This could")[0]) == (their_kind, their_text.split(" This could")[0])


LOSSES = {
    "binary_cross_entropy_with_logits": "x, y",
    "cosine_embedding_loss": "torch.stack([x, y]), torch.stack([y, x]), y",
    "ctc_loss": "torch.zeros(2, 2, 2), torch.ones(2, 1).long(), [2, 2], [1, 1]",
    "hinge_embedding_loss": "x, y",
    "kl_div": "x, y",
    "margin_ranking_loss": "x, y, y",
    "triplet_margin_loss": "torch.stack([x, y]), torch.stack([y, x]), torch.stack([x, x])",
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("reduction", ["", ", reduction=0", ", reduction=1", ", reduction=2"])
def test_numbered_reductions(name: str, reduction: str) -> None:
    def of(package: Any) -> Any:
        names = {
            "torch": package,
            "x": package.tensor([0.25, 0.5]),
            "y": package.tensor([1.0, -1.0]),
        }
        if name in ("binary_cross_entropy_with_logits", "kl_div"):
            names["y"] = package.tensor([0.25, 0.75])
        return eval(f"torch.{name}({LOSSES[name]}{reduction})", names).tolist()

    assert of(jtorch) == pytest.approx(of(torch), rel=1e-5)
