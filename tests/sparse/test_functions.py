"""What is computed with sparse tensors, compared with the same on dense ones."""

from __future__ import annotations

import pytest

import jtorch as torch

INDICES = torch.tensor([[1, 0, 1, 2], [1, 1, 1, 0]])


def uncoalesced() -> torch.Tensor:
    return torch.sparse_coo_tensor(INDICES, torch.tensor([1.0, 2.0, -3.0, 0.5]), (3, 2))


def close(a: torch.Tensor, b: torch.Tensor) -> None:
    torch.testing.assert_close(a.to_dense(), b)


@pytest.mark.parametrize(
    "name",
    "abs asin ceil erf expm1 floor log1p neg relu sgn sin sinh sqrt square tan tanh trunc".split(),
)
def test_functions_that_keep_zero(name: str) -> None:
    s = (
        uncoalesced() * 0.25
        if name == "asin"
        else uncoalesced().abs()
        if name in ("sqrt", "log1p")
        else uncoalesced()
    )
    for x in (s, s.to_sparse_csr()):
        if name == "square" and x is not s:
            continue
        got = getattr(x, name)()
        assert got.layout is x.layout
        close(got, getattr(x.to_dense(), name)())


def test_sums_and_products() -> None:
    s, d = uncoalesced(), torch.arange(6.0).reshape(3, 2)
    other = torch.sparse_coo_tensor([[0, 2], [1, 1]], [5.0, 7.0], (3, 2))
    a, b = s.to_dense(), other.to_dense()
    close(s + other, a + b)
    close(s.add(other, alpha=3), a + 3 * b)
    close(s - other, a - b)
    close(s * other, a * b)
    close(s * d, a * d)
    close(d * s, a * d)
    close(2 * s, 2 * a)
    close(s / 4, a / 4)
    close(s**2, a**2)
    close(-s, -a)
    close(d + s, d + a)
    close(torch.add(d, s, alpha=2), d + 2 * a)
    close(d - s, d - a)
    close(torch.ones(4, 3, 2) * s, torch.ones(4, 3, 2) * a)
    assert (s + other).is_sparse
    assert not (d + s).is_sparse
    c, e = s.to_sparse_csr(), other.to_sparse_csr()
    close(c + e, a + b)
    close(c * e, a * b)
    close(c + d, a + d)


def test_sums_promote() -> None:
    s = uncoalesced()
    total = s + torch.sparse_coo_tensor([[0], [0]], torch.tensor([1], dtype=torch.int64), (3, 2))
    assert total.dtype is torch.float32
    assert (s.double() + s).dtype is torch.float64


def test_changes_in_place() -> None:
    s, d = uncoalesced(), torch.ones(3, 2)
    a = s.to_dense()
    same = s
    s.mul_(2)
    s += s
    assert s is same
    close(s, 4 * a)
    s.div_(2)
    s.neg_()
    close(s, -2 * a)
    d.add_(s, alpha=2)
    close(d, 1 - 4 * a)
    d.sub_(s)
    close(d, 1 - 2 * a)
    s.copy_(torch.sparse_coo_tensor([[0], [0]], [9.0], (3, 2)))
    assert s.to_dense().tolist() == [[9.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    s.zero_()
    assert s._nnz() == 0
    t = uncoalesced().coalesce()
    t.values().mul_(10)  # the values are the tensor's own memory
    close(t, 10 * a)
    assert tuple(uncoalesced().t_().shape) == (2, 3)


def test_matrix_products() -> None:
    s = uncoalesced()
    a, d, v = s.to_dense(), torch.arange(8.0).reshape(2, 4), torch.tensor([1.0, -2.0])
    for x in (s, s.to_sparse_csr(), s.to_sparse_csc(), s.to_sparse_bsr((1, 2))):
        close(torch.sparse.mm(x, d), a @ d)
        close(x @ v, a @ v)
    close(torch.mm(s, d), a @ d)
    close(s.mv(v), a @ v)
    close(d.t() @ s.t(), d.t() @ a.t())
    product = s @ s.t()
    assert product.is_sparse
    assert product.is_coalesced()
    close(product, a @ a.t())
    close(torch.sparse.mm(s.to_sparse_csr(), s.t().to_sparse_csr()), a @ a.t())
    close(torch.addmm(torch.ones(3, 4), s, d, beta=2, alpha=3), 2 * torch.ones(3, 4) + 3 * (a @ d))
    close(torch.sparse.addmm(torch.ones(3, 4), s, d), 1 + a @ d)
    close(torch.bmm(torch.stack([s, s]), torch.stack([d, 2 * d])), torch.stack([a @ d, 2 * a @ d]))
    close(torch.nn.functional.linear(d.t(), s, torch.ones(3)), d.t() @ a.t() + 1)
    close(torch.hspmm(s, d), a @ d)
    close(torch.smm(s, d), a @ d)


def test_products_that_do_not_fit() -> None:
    s = uncoalesced()
    with pytest.raises(
        RuntimeError, match=r"addmm: Argument #3 \(dense\): Expected dim 0 size 2, got 3"
    ):
        torch.sparse.mm(s, torch.ones(3, 3))
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        torch.mm(s, torch.ones(2, 3, dtype=torch.float64))
    with pytest.raises(RuntimeError, match=r"mv: expected self.size\(-1\) == vec.size\(-1\)"):
        s.mv(torch.ones(3))


def test_reduced_products() -> None:
    c, d = uncoalesced().to_sparse_csr(), torch.arange(4.0).reshape(2, 2)
    assert torch.sparse.mm(c, d, "mean").tolist() == [[4.0, 6.0], [-4.0, -6.0], [0.0, 0.5]]
    assert torch.sparse.mm(c, d, "amax").tolist() == [[4.0, 6.0], [-4.0, -6.0], [0.0, 0.5]]
    with pytest.raises(NotImplementedError, match="aten::_sparse_mm_reduce_impl"):
        torch.sparse.mm(uncoalesced(), d, "mean")


def test_sampled_addmm() -> None:
    mask = torch.eye(2).to_sparse_csr()
    got = torch.sparse.sampled_addmm(
        mask, torch.ones(2, 3), torch.arange(6.0).reshape(3, 2), beta=10, alpha=2
    )
    assert got.to_dense().tolist() == [[22.0, 0.0], [0.0, 28.0]]


def test_reductions() -> None:
    s = uncoalesced()
    a = s.to_dense()
    assert s.sum().item() == torch.sparse.sum(s).item() == a.sum().item()
    for dim in (0, 1, -1):
        close(torch.sparse.sum(s, dim), a.sum(dim))
        close(s.sum(dim), a.sum(dim))
        close(s.sum(dim, keepdim=True), a.sum(dim, keepdim=True))
    assert torch.sparse.sum(s, (0, 1), dtype=torch.float64).dtype is torch.float64
    h = torch.sparse_coo_tensor([[0, 2]], torch.arange(6.0).reshape(2, 3), (4, 3))
    close(torch.sparse.sum(h, 1), h.to_dense().sum(1))
    close(torch.sparse.sum(h, 0), h.to_dense().sum(0))
    assert s.norm().item() == pytest.approx(a.norm().item())
    assert s.any().item() is True
    c = s.to_sparse_csr()
    close(c.sum(0, keepdim=True), a.sum(0, keepdim=True))
    with pytest.raises(RuntimeError, match="keepdim=False is unsupported"):
        c.sum(0)


def test_softmax_counts_specified_elements_only() -> None:
    s = torch.sparse_coo_tensor([[0, 0, 1, 1], [0, 2, 1, 2]], [1.0, 2.0, 3.0, 3.0], (2, 3))
    masked = torch.full((2, 3), float("-inf"))
    masked[0, 0], masked[0, 2], masked[1, 1], masked[1, 2] = 1.0, 2.0, 3.0, 3.0
    for dim in (0, 1):
        close(torch.sparse.softmax(s, dim), masked.softmax(dim).nan_to_num(0.0))
        close(
            torch.sparse.log_softmax(s, dim).coalesce().values().exp(),
            torch.sparse.softmax(s, dim).coalesce().values(),
        )
    h = torch.sparse_coo_tensor([[0, 1]], [[1.0, 2.0], [0.0, 5.0]], (2, 2))
    close(torch.sparse.softmax(h, 1), h.to_dense().softmax(1))


def test_diagonals() -> None:
    m = torch.sparse.spdiags(torch.arange(9.0).reshape(3, 3), torch.tensor([0, -1, 1]), (3, 3))
    assert m.to_dense().tolist() == [[0.0, 7.0, 0.0], [3.0, 1.0, 8.0], [0.0, 4.0, 2.0]]
    assert (
        torch.sparse.spdiags(torch.ones(2), torch.tensor(0), (2, 2), layout=torch.sparse_csr).layout
        is torch.sparse_csr
    )
    with pytest.raises(RuntimeError, match="Offset tensor contains duplicate values"):
        torch.sparse.spdiags(torch.ones(2, 2), torch.tensor([0, 0]), (2, 2))


def test_shapes() -> None:
    s = uncoalesced()
    a = s.to_dense()
    close(s.t(), a.t())
    close(s.T, a.T)
    close(s.transpose(0, 1), a.t())
    close(s.permute(1, 0), a.t())
    close(s.unsqueeze(1), a.unsqueeze(1))
    close(s[1], a[1])
    close(s[:, 1], a[:, 1])
    assert s[1, 1].item() == -2.0
    close(s.select(1, 0), a.select(1, 0))
    close(s.index_select(0, torch.tensor([2, 0, 2])), a[[2, 0, 2]])
    close(s.index_select(1, torch.tensor([1])), a[:, [1]])
    close(s.narrow_copy(0, 1, 2), a[1:])
    close(torch.cat([s, s]), torch.cat([a, a]))
    close(torch.cat([s, s], 1), torch.cat([a, a], 1))
    close(torch.stack([s, s], 1), torch.stack([a, a], 1))
    assert len(s) == 3
    assert [row.to_dense().tolist() for row in s] == a.tolist()
    h = torch.sparse_coo_tensor([[0, 2]], torch.arange(6.0).reshape(2, 3), (4, 3))
    close(h[:, 1], h.to_dense()[:, 1])
    close(torch.cat([h, h], 1), torch.cat([h.to_dense()] * 2, 1))
    with pytest.raises(IndexError, match="index 5 is out of bounds for dimension 0 with size 3"):
        s[5]
    with pytest.raises(
        RuntimeError,
        match=r"Concatenating sparse tensors, but a dense tensor was found at position 1.",
    ):
        torch.cat([s, a])


def test_masks() -> None:
    s, d = uncoalesced(), torch.arange(6.0).reshape(3, 2)
    picked = d.sparse_mask(s.coalesce())
    assert picked.values().tolist() == [1.0, 3.0, 4.0]
    other = torch.sparse_coo_tensor([[0, 1], [0, 1]], [1.0, 1.0], (3, 2)).coalesce()
    assert s.sparse_mask(other).values().tolist() == [0.0, -2.0]
    assert d.sparse_mask(s.to_sparse_csr()).values().tolist() == [1.0, 3.0, 4.0]


def test_resizing() -> None:
    s = uncoalesced()
    s.sparse_resize_((4, 5), 2, 0)
    assert tuple(s.shape) == (4, 5)
    assert s._nnz() == 4
    with pytest.raises(RuntimeError, match="shrinking the size of sparse dimensions"):
        s.sparse_resize_((2, 2), 2, 0)
    s.sparse_resize_and_clear_((2, 2), 1, 1)
    assert (s.sparse_dim(), s._nnz()) == (1, 0)


def test_modes_and_handlers_see_calls_with_sparse_operands() -> None:
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(torch.overrides.resolve_name(func))
            return func(*args, **(kwargs or {}))

    s, d = uncoalesced(), torch.ones(2, 1)
    with Mode():
        torch.mm(s, d)
        s.is_sparse
    assert seen == ["torch.mm", "torch.Tensor.is_sparse.__get__"]


class Tagged(torch.Tensor):
    """A subclass that takes part in products with sparse tensors."""


def test_subclasses_take_part() -> None:
    d = torch.ones(2, 2).as_subclass(Tagged)
    assert type(torch.mm(uncoalesced(), d)) is Tagged


def test_differences_of_unsigned_numbers_are_taken_in_the_common_dtype():
    few, many = (
        torch.tensor([0, 2], dtype=torch.uint8).to_sparse(),
        torch.tensor([1, 0], dtype=torch.int16),
    )
    assert (many - few).tolist() == [1, -2] and (many.to_sparse() - few).to_dense().tolist() == [
        1,
        -2,
    ]
    assert torch.add(many, few, alpha=-3).tolist() == [1, -6] and many.clone().sub_(
        few
    ).tolist() == [1, -2]
    with pytest.raises(RuntimeError, match="unsupported tensor layout: SparseCsr"):
        torch.ones(2, 2) - torch.eye(2).to_sparse_csr()


def test_conjugates_are_resolved_as_they_are():
    x = torch.tensor([[1 + 2j, 0j], [0j, 3j]]).to_sparse().conj().resolve_conj()
    assert x.layout is torch.sparse_coo and x.to_dense().tolist() == [[1 - 2j, 0j], [0j, -3j]]
    with pytest.raises(TypeError, match="can't convert Sparse layout tensor to numpy"):
        x.resolve_neg().numpy(force=True)


@pytest.mark.parametrize("layout", [torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr])
def test_a_vector_added_to_a_product(layout: torch.layout) -> None:
    x, v, b = torch.arange(16.0).reshape(4, 4), torch.arange(4.0), torch.ones(4)
    s = x.to_sparse(layout=layout, blocksize=(2, 2) if layout is torch.sparse_bsr else None)
    for options in ({}, {"beta": 2, "alpha": 3}, {"beta": 0}):
        expected = torch.addmv(b, x, v, **options).tolist()
        assert torch.addmv(b, s, v, **options).tolist() == expected
        assert b.clone().addmv_(s, v, **options).tolist() == expected
        assert torch.addmv(b, s, v, **options, out=torch.empty(4)).tolist() == expected
    nan = torch.full((4,), torch.nan)
    assert torch.addmv(nan, s, v, beta=0).tolist() == (x @ v).tolist()
    with pytest.raises(
        RuntimeError, match=r"size mismatch, got input \(4\), mat \(4x4\), vec \(3\)"
    ):
        torch.addmv(b, s, v[:3])
    with pytest.raises(RuntimeError, match="must have the same dtype, but got Float"):
        torch.addmv(b, s, v.double())


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_what_is_multiplied_by_zero_plays_no_part(layout: torch.layout) -> None:
    x, nan = torch.eye(2), torch.full((2, 2), torch.nan)
    s = x.to_sparse(layout=layout)
    assert torch.addmm(nan, s, x, beta=0).tolist() == x.tolist()
    assert torch.sparse.addmm(nan, s, x, beta=0).tolist() == x.tolist()
    assert nan.clone().addmm_(s, x, beta=0).tolist() == x.tolist()
    found = torch.addmm(nan.to_sparse(layout=layout), s, s, beta=0)
    assert found.layout is layout and found.to_dense().tolist() == x.tolist()


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_what_plays_no_part_has_zeros_for_a_gradient(layout: torch.layout) -> None:
    s, dense = torch.eye(2).to_sparse(layout=layout), torch.ones(2, 2, requires_grad=True)
    nan = torch.full((1, 2), torch.nan, requires_grad=True)
    found = torch.addmm(nan, s, dense, beta=0)
    found.sum().backward()
    assert type(found.grad_fn).__name__ == "AddmmBackward0"
    assert found.tolist() == [[1, 1], [1, 1]]
    assert nan.grad is not None and nan.grad.tolist() == [[0, 0]]
    assert dense.grad is not None and dense.grad.tolist() == [[1, 1], [1, 1]]
    if layout is torch.sparse_csr:
        nan = torch.full((2,), torch.nan, requires_grad=True)
        torch.addmv(nan, s, torch.ones(2), beta=0).sum().backward()
        assert nan.grad is not None and nan.grad.tolist() == [0, 0]
