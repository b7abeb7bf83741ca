"""Sparse layouts against PyTorch: expressions with results, texts, errors, and gradients."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import jtorch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity


def names(m: Any) -> dict[str, Any]:
    """What the expressions are written with, in one namespace."""
    i, v = m.tensor([[0, 1, 1], [2, 0, 2]]), m.tensor([3.0, 4.0, 5.0])
    return {
        "torch": m,
        "i": i,
        "v": v,
        "S": m.sparse_coo_tensor(i, v, (2, 3)),
        "C": m.sparse_coo_tensor(i, v, (2, 3)).coalesce(),
        "D": m.arange(6.0).reshape(2, 3),
        "U": m.sparse_coo_tensor(
            m.tensor([[1, 0, 1], [1, 1, 1]]), m.tensor([1.0, 2.0, -3.0]), (2, 2)
        ),
        "H": m.sparse_coo_tensor(i, m.arange(6.0).reshape(3, 2), (2, 3, 2)),
        "L": m.sparse_coo_tensor(i, v.clone(), (2, 3), requires_grad=True),
        "X": m.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0], size=(2, 3)),
    }


EXPRESSIONS = """
S | C | H | L | X | X.to_sparse_csc() | D.repeat(1, 2).to_sparse_bsr((2, 2))
torch.sparse_coo_tensor((2, 3)) | U.coalesce()
torch.sparse_coo_tensor([[0, 1]], [1, 2]) | torch.sparse_coo_tensor(i, v, (2,))
torch.sparse_coo_tensor(-i, v) | i.to_sparse().dtype
torch.sparse_coo_tensor(i, v[:2]) | torch.sparse_coo_tensor(i[0], v) | S.indices() | S.values()
S._indices() | S._values() | C.indices()
(S.is_coalesced(), C.is_coalesced(), S.is_sparse, str(S.layout), S.shape, S._nnz(), \
S.sparse_dim(), S.dense_dim(), S.is_leaf, S.numel())
torch.sparse_coo_tensor([[0]], [1.0]).is_coalesced() | C.coalesce() is C | S.stride()
S.is_contiguous() | S.data_ptr() | S.numpy()
S.tolist() | S.item() | bool(S) | float(S) | S.contiguous() | S.view(6) | S.reshape(6) | S.sin()
S.cos() | S.exp() | S + 1 | S + D | D + S
S + S | S - D | D - S | S * D | D * S | S * 2 | 2 * S | S * S | S * torch.tensor(2.0) | S / 2
S / D | 2 / S | S // 2 | S**2 | 2**S
S @ D.t() | D.t() @ S | S @ S.t() | torch.mm(D.t(), S) | S.mv(torch.ones(3)) | S.t() | S.T
S.permute(1, 0) | H.permute(2, 0, 1)
H.transpose(0, 2) | S[0] | S[0, 2] | S[:1] | S[torch.tensor([0])] | H[:, :, 0] | len(S) | list(S)
S.sum() | S.sum(0) | S.abs() | S.norm()
U.norm(2, 0) | S.any() | S.clone() | S.double() | S.bool() | S.int() | S == S | S > 0
torch.equal(S, S) | torch.stack([S, S])
torch.cat([S, S]) | torch.cat([S, S], 1) | torch.cat([S, D]) | S.unsqueeze(0) | S.squeeze()
S.expand(2, 2, 3) | S.repeat(2, 1)
S.flatten()
S.clone().copy_(D[:1].to_sparse()) | S.clone().copy_(torch.ones(3, 3).to_sparse())
S.clone().copy_(H) | H.clone().copy_(S)
S.clone().copy_(D.to_sparse(1)) | H.clone().copy_(H[:, :, 0].unsqueeze(2).coalesce())
X.clone().copy_(S) | S.clone().copy_(X)
X.clone().copy_(X.to_sparse_csc()) | X.clone().copy_(D.to_sparse_csr()) | X.clone().copy_(D)
D.clone().copy_(X) | X.clone().copy_(X * 2)
D.to_sparse_csr().copy_(D.t().to_sparse_csr()) | D.to_sparse_csc().copy_(D.t().to_sparse_csc())
torch.zeros(2, 3).to_sparse().copy_(H)
D.to_sparse_bsr((2, 1)).copy_(D.to_sparse_bsr((2, 3)))
D.repeat(1, 2).to_sparse_bsr((2, 2)).copy_(D.to_sparse_bsr((2, 1)))
D.to_sparse(layout=torch.strided) is D | S.to_sparse(layout=torch.strided)
X.to_sparse(layout=torch.strided)
D.to_sparse(layout=torch.strided, blocksize=(1, 1)) | D.to_sparse(layout=torch.strided, dense_dim=1)
U.to(torch.uint8)[1, 1] | U.to(torch.int32).select(0, 0)[1].dtype | U.bool()[1, 1]
S.narrow_copy(10, 0, 3) | S.narrow_copy(-1, 0, 2)
S + torch.zeros(2, 3).to_sparse(1) | torch.zeros(2, 3).to_sparse(1) + S
D.to_sparse(1) + D.to_sparse(2)
torch.zeros(2, 3).to_sparse(1) - S | H.clone().sparse_resize_((2, 3, 1), 2, 1)
H.clone().sparse_resize_((2, 4, 2), 2, 1)
H.clone().sparse_resize_((2, 3, 4), 2, 1).shape
H.clone().resize_as_(torch.ones(2, 3, 1).to_sparse(2))
U.asin_() | U.log1p_() | U.arcsin_() | C.neg_() | (C * 0.1).asin_() | U.abs_()
S.long().requires_grad_()
torch.tensor(2.0).to_sparse() * S | S * torch.tensor(2.0).to_sparse()
torch.zeros_like(S, memory_format=torch.preserve_format)
torch.empty_like(S, memory_format=torch.preserve_format)
torch.sparse.spdiags(D, i[0, :2], (3, 3), layout=torch.sparse_bsr)
torch.sparse.spdiags(D, i[0, :2], (3, 3), layout=torch.strided) | S.new() | S.new(2, 3)
S.new(torch.Size([2]))
torch.sparse.spdiags(D, i[0, :2].int(), (3, 3)) | S.sparse_resize_((1, 3), 2, 0)
S.sparse_resize_((2, 3, 1), 3, 0)
H.sparse_resize_((2, 3, 1, 1), 2, 2) | S.new(i, v) | S.new(i, v, (2, 4))
S.new([2, 3]) | S.new(v) | S.new(2.0) | S.new(v.storage()) | S.new(device='cpu')
S.new().resize_as_(S) | torch.resize_as_(S.new(4), S)
S.index_select(0, torch.tensor([1])) | U.index_select(0, torch.tensor([1, 1, 0]))
S.narrow(1, 0, 2) | S.narrow_copy(1, 0, 2)
torch.zeros_like(S) | torch.ones_like(S) | torch.rand_like(S) | S.new_zeros(2) | D.to_sparse()
D.to_sparse(1) | H.to_sparse(3)
D.to_sparse(layout=torch.sparse_csr) | D.coalesce() | D.indices() | D._indices() | D.values()
D._nnz() | D.sparse_dim() | D.crow_indices()
S.crow_indices() | X.indices() | X.crow_indices() | X.is_coalesced() | X.coalesce() | X + X
X * 2 | X @ D.t() | X.t() | X.sum() | X[0]
X * X | X.cos() | X / 2 | X - X | X + D | D + X | X * D | X @ torch.ones(3)
X.sum(0, keepdim=True) | X.sum(0) | X.neg() | X.select(0, 1)
S.sparse_mask(S) | D.sparse_mask(U.t()) | U.sparse_mask(U.t()) | D.sparse_mask(X) | S.nbytes
S.type() | S.storage() | S.fill_(1)
torch.sparse.softmax(S, 1) | torch.sparse.log_softmax(U, 1) | torch.sparse.softmax(H, 2)
torch.sparse.softmax(X, 1)
torch.sparse.sum(S, 0)
torch.sparse.sum(U) | torch.sparse.sum(U, dtype=torch.float64) | torch.sparse.sum(H, 2)
torch.sparse.sum(H, 0) | torch.sparse.sum(X)
torch.sparse.mm(S, S.t()) | torch.sparse.mm(X, D.t(), 'mean') | torch.sparse.mm(S, D.t(), 'mean')
torch.sparse.mm(D, D.t())
torch.sparse.addmm(D[:, :2], S, D.t()) | torch.addmm(D[:, :2], S, D.t(), beta=2, alpha=3)
torch.addmm(U, U, torch.ones(2, 2))
torch.sparse.sampled_addmm(X, torch.ones(2, 4), torch.ones(4, 3))
torch.hspmm(U, torch.ones(2, 2)) | torch.smm(U, torch.ones(2, 2))
torch.sparse.spdiags(torch.arange(9.0).reshape(3, 3), torch.tensor([0, -1, 1]), (3, 3))
torch.sspaddmm(U, U, torch.ones(2, 2))
torch.mm(U, torch.ones(2, 3, dtype=torch.float64)) | torch.mm(U, torch.ones(3, 3))
U.mv(torch.ones(3))
torch.div(U, 2, rounding_mode='floor')
U.neg()._nnz() | U * U | U * torch.ones(2, 2) | torch.ones(3, 2, 2) * U
U * torch.sparse_coo_tensor((2, 3))
U + torch.sparse_coo_tensor((2, 3))
torch.ones(2, 3) + U | 1 - U | U.copy_(torch.ones(2, 2)) | U.clone().sparse_resize_((3, 3), 2, 0)
U.to_dense(dtype=torch.float64)
torch.zeros(2, 3, layout=torch.sparse_coo) | torch.ones(2, 3, layout=torch.sparse_coo)
torch.zeros(2, 3, layout=torch.sparse_csr)
torch.tensor(3.0).to_sparse() | torch.eye(3).to_sparse().unbind() | torch.stack([U, U], 1)
torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], v)
torch.sparse_csc_tensor([0, 1, 3], [2, 0, 2], v)
torch.sparse_bsr_tensor([0, 1], [0], [[[1.0, 2.0], [3.0, 4.0]]]) | X.stride() | X.type()
torch.sparse_compressed_tensor([0, 1, 3], [2, 0, 2], v)
torch.stack([torch.eye(2), 2 * torch.eye(2)]).to_sparse_csr() | X.numpy()
torch.bmm(torch.stack([S, S]), torch.ones(2, 3, 2)) | torch.nn.Parameter(S)
torch.nn.functional.relu(S) | L.t_() | L.mul_(2)
X.row_indices()
torch.sparse.FloatTensor(i, v, torch.Size([2, 3])) | S.is_floating_point() | S.get_device()
X.unsqueeze(0) | torch.is_same_size(S, S)
"""


def outcome(expression: str, m: Any) -> str:
    """The text of a result, or the type and words of an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(eval(expression, names(m)))
        except Exception as e:
            return (
                f"{type(e).__name__}: "
                f"{str(e).split(' is only available')[0].split(' for possible resolutions')[0]}"
            )


@pytest.mark.parametrize(
    "expression",
    [e.strip() for line in EXPRESSIONS.strip().splitlines() for e in line.split(" | ")],
)
def test_expressions(expression: str) -> None:
    assert outcome(expression, jtorch) == outcome(expression, torch)


GRADIENTS = [
    "torch.sparse.mm(S, E)",
    "torch.sparse.mm(S, S.t()).to_dense()",
    "S.to_dense() ** 2",
    "torch.sparse.sum(S, 0).to_dense()",
    "torch.sparse.softmax(S, 1).to_dense()",
    "S.coalesce().values() ** 3",
    "S.t().to_dense()",
]


@pytest.mark.parametrize("expression", GRADIENTS)
def test_gradients_of_values(expression: str) -> None:
    found = []
    for m in (jtorch, torch):
        v = m.tensor([3.0, 4.0, 5.0, -1.0], dtype=m.float64, requires_grad=True)
        e = (m.arange(6.0, dtype=m.float64) - 2).reshape(3, 2).requires_grad_()
        s = m.sparse_coo_tensor(m.tensor([[0, 1, 1, 0], [2, 0, 2, 0]]), v, (2, 3))
        eval(expression, {"torch": m, "S": s, "E": e}).pow(2).sum().backward()
        found.append([None if t.grad is None else t.grad.flatten().tolist() for t in (v, e)])
    for mine, its in zip(*found, strict=True):
        assert mine == pytest.approx(its, rel=1e-12) if its is not None else mine is None


def test_files_are_exchanged(tmp_path: Any) -> None:
    for writer, reader in ((jtorch, torch), (torch, jtorch)):
        given = names(writer)
        path = tmp_path / "sparse.pt"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            writer.save({k: given[k] for k in "SCHX"}, path)
            loaded = reader.load(path, weights_only=True)
        for k in "SCHX":
            assert re.sub(r"\s+", " ", repr(loaded[k])) == re.sub(r"\s+", " ", repr(given[k]))
            assert k == "X" or loaded[k].is_coalesced() is given[k].is_coalesced()


@pytest.mark.parametrize(
    "change",
    ["v.resize_(4, 5)", "v.transpose_(0, 1)", "i.resize_(2, 3)", "i.set_(i + 1)", "v.mul_(2)"],
)
def test_what_programs_do_to_the_parts_of_a_tensor(change: str) -> None:
    found = []
    for t in (jtorch, torch):
        i, v = t.tensor([[0], [1]]), t.tensor([[3.0, 4.0, 5.0]])
        made = t.sparse_coo_tensor(i, v, (1, 2, 3), check_invariants=False)
        eval(change, {"i": i, "v": v})
        found.append(
            (
                made._indices().tolist(),
                made._values().tolist(),
                tuple(made.coalesce().values().shape),
            )
        )
    assert found[0] == found[1]


def _blocked(t: Any, layout: str, block: Any, source: str = "strided") -> Any:
    x = t.arange(24.0, dtype=t.float64).reshape(4, 6).fmod(5)
    x[:2, 2:4] = 0
    if source != "strided":
        x = getattr(x, f"to_sparse{source}")(*([(2, 2)] if source in ("_bsr", "_bsc") else []))
    return (
        x.to_sparse(layout=getattr(t, layout), blocksize=block)
        if source == "_csr"
        else getattr(x, f"to_{layout}")(block)
    )


@pytest.mark.parametrize("layout", ["sparse_bsr", "sparse_bsc"])
@pytest.mark.parametrize("source", ["strided", "", "_csr", "_csc", "_bsr", "_bsc"])
@pytest.mark.parametrize("block", [2, (2, 3), 5, (2,), (2, 2, 2), (0, 2), -1, True, None])
def test_sizes_of_blocks(layout: str, source: str, block: Any) -> None:
    def answer(t: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                made = _blocked(t, layout, block, source)
            except (RuntimeError, TypeError) as error:
                return f"{type(error).__name__}: {error}"
        return made.values().tolist(), made.to_dense().tolist()

    assert answer(jtorch) == answer(torch)


@pytest.mark.parametrize("layout", ["sparse_bsr", "sparse_bsc"])
def test_gradients_given_in_blocks(layout: str) -> None:
    def answer(t: Any) -> Any:
        x = (t.arange(24.0, dtype=t.float64).reshape(4, 6) + 1).requires_grad_()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y, g = (
                getattr(x, f"to_{layout}")((2, 3)),
                getattr(x.detach() + 1, f"to_{layout}")((2, 3)),
            )
            masked = (x.detach() + 1).sparse_mask(_blocked(t, layout, (2, 3)))
            (found,) = t.autograd.grad(y, x, g)
        return found.tolist(), masked.to_dense().tolist(), masked.layout == getattr(t, layout)

    assert answer(jtorch) == answer(torch)


def products(lib: Any) -> Iterator[object]:
    """What ``grad_fn`` of products with a sparse matrix is called."""
    b = lib.ones(3, 2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's, of compressed layouts
        for kind in ("mean", "sum", "amax", "amin", "max", "min"):
            yield lib.sparse.mm(lib.ones(2, 3).to_sparse_csr(), b, kind).grad_fn
    a = lib.ones(2, 3).to_sparse().requires_grad_()
    yield from (lib.sparse.mm(a, b).grad_fn, (a @ b).grad_fn, lib.mv(a, b[:, 0]).grad_fn)
    yield lib.sparse.addmm(lib.zeros(2, 2), a, b).grad_fn
    yield lib.addmm(lib.zeros(2, 2), a, b).grad_fn


def test_nodes_of_products() -> None:
    mine, theirs = ([type(n).__name__ for n in products(lib)] for lib in (jtorch, torch))
    assert mine == theirs
