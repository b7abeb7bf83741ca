"""Gradients of dense tensors through sparse ones that were made of them: all elements, or the
specified ones, as in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

W = [[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]]
PROGRAMS = """
s @ x | torch.mm(s, x) | torch.mv(s, v) | s @ v | torch.addmm(y, s, x, beta=2, alpha=3)
torch.sparse.mm(s, x) | z @ s
torch.sparse.addmm(y, s, x) | torch.nn.functional.linear(x.t(), s) | s.t() @ y | s.to_dense()
s.to_dense(masked_grad=False)
s.to_dense(masked_grad=True) | s.sum() | s.sum(dtype=torch.float64) | d + s
torch.add(d, s, alpha=-2) | d - s | (s * 2) @ x | (2 * s) @ x
(s * k) @ x | (-s) @ x | (s / 4).sum() | (s / k) @ x | s.coalesce() @ x | s.clone() @ x
s.detach() @ x + (d * 0 + w).sum()
torch.bmm(s.unsqueeze(0), x[None])
torch.bmm(torch.stack([w, w]).to_sparse(), torch.stack([x, x])) | (s @ s.t()).to_dense()
torch.sparse.mm(s, s.t()).to_dense() | (s * d).to_dense() | torch.sparse.sum(s)
torch.sparse.softmax(s, 1).to_dense()
s @ x + s.to_dense() @ x | s.to_sparse_csr() @ x | s.to_sparse_csr().to_sparse_csc() @ x
s.to_sparse_csr().to_dense(masked_grad=False)
d + w.to_sparse(2) | w.to_sparse_csr() @ x | w.to_sparse_csc() @ x | w.to_sparse_csr().t() @ y
d + w.to_sparse_csr()
w.to_sparse_csr().sum() | w.to_sparse_bsr((1, 1)) @ x | (w * 2).to_sparse() @ x
w.relu().to_sparse().t().t() @ x | s @ big | s.mul_(3) @ x
s.neg_() @ x | s.div_(2) @ x
"""


def _run(n: Any, text: str) -> list[Any]:
    """The result, and the gradients of the dense tensors."""
    w, d = n.tensor(W, requires_grad=True), n.full((2, 3), 5.0, requires_grad=True)
    names: dict[str, Any] = {
        "torch": n, "w": w, "s": w.to_sparse(), "d": d, "x": n.arange(6.0).reshape(3, 2),
        "y": n.arange(4.0).reshape(2, 2), "z": n.ones(4, 2), "v": n.tensor([1.0, 2.0, 3.0]),
        "k": n.tensor(3.0, requires_grad=True),
        "big": n.tensor([[float("inf"), 1.0], [2.0, 3.0], [1.0, 0.0]]),
    }  # fmt: skip
    out = eval(text, names)
    out = out if out.layout is n.strided else out.to_dense()
    grads = n.autograd.grad(
        (out * out.detach().clamp(-9, 9)).sum(), [w, d, names["k"]], allow_unused=True
    )
    return [None if t is None else t.detach().to_dense().double().numpy() for t in (out, *grads)]


@pytest.mark.filterwarnings("ignore:Sparse (CSR|CSC|BSR) tensor support is in beta state")
@pytest.mark.parametrize(
    "text", [t.strip() for line in PROGRAMS.strip().splitlines() for t in line.split(" | ")]
)
def test_as_in_pytorch(text: str) -> None:
    for theirs, mine in zip(_run(torch, text), _run(jtorch, text), strict=True):
        assert (theirs is None) is (mine is None)
        if theirs is not None:
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-5)


def test_second_derivatives() -> None:
    found = []
    for n in (torch, jtorch):
        w = n.tensor(W, requires_grad=True)
        x = n.arange(6.0).reshape(3, 2).requires_grad_()
        (g,) = n.autograd.grad((w.to_sparse() @ x).pow(3).sum(), w, create_graph=True)
        found.append([t.tolist() for t in n.autograd.grad(g.pow(2).sum(), [w, x])])
    assert found[1] == found[0]


def test_where_nothing_is_recorded() -> None:
    w = jtorch.tensor(W, requires_grad=True)
    x = jtorch.ones(3, 2)
    with jtorch.no_grad():
        s = w.to_sparse()
        assert not (s @ x).requires_grad
    assert not (s @ x).requires_grad
    s = w.to_sparse()
    with jtorch.no_grad():
        assert not (s @ x).requires_grad
    s.mul_(3)
    assert jtorch.autograd.grad((s @ x).sum(), w)[0].tolist() == [[6, 6, 6], [6, 6, 6]]
