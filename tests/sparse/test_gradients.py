"""Gradients of sparse tensors, through them, and sparse gradients of tables."""

from __future__ import annotations

import pytest

import jtorch as torch

INDICES = [[0, 1, 1], [2, 0, 2]]


def leaf() -> torch.Tensor:
    return torch.sparse_coo_tensor(INDICES, [3.0, 4.0, 5.0], (2, 3), requires_grad=True)


def test_a_leaf_gets_a_sparse_gradient() -> None:
    s, d = leaf(), torch.arange(6.0).reshape(3, 2).requires_grad_()
    assert s.is_leaf
    assert s.grad is None
    torch.sparse.mm(s, d).pow(2).sum().backward()
    assert s.grad.is_sparse
    assert s.grad._values().tolist() == [246.0, 58.0, 450.0]
    assert d.grad.tolist() == [[160.0, 232.0], [0.0, 0.0], [272.0, 380.0]]
    torch.sparse.mm(s, d).sum().backward()
    assert s.grad._values().tolist() == [255.0, 59.0, 459.0]
    s.grad = None
    assert s.grad is None


def test_values_keep_their_history() -> None:
    v = torch.tensor([3.0, 4.0, 5.0], requires_grad=True)
    s = torch.sparse_coo_tensor(INDICES, v, (2, 3))
    assert s.requires_grad
    assert not s.is_leaf
    assert s.grad_fn is not None
    (s.coalesce().values() ** 2).sum().backward()
    assert v.grad.tolist() == [6.0, 8.0, 10.0]
    v.grad = None
    torch.sparse_coo_tensor([[0, 0, 1]], v, (2,)).coalesce().values().pow(2).sum().backward()
    assert v.grad.tolist() == [14.0, 14.0, 10.0]


@pytest.mark.parametrize(
    "function",
    [
        lambda s: s.to_dense(),
        lambda s: (s * 2).to_dense(),
        lambda s: (s * torch.arange(6.0, dtype=torch.float64).reshape(2, 3)).to_dense(),
        lambda s: (s * s).to_dense(),
        lambda s: (s + s.sin()).to_dense(),
        lambda s: torch.ones(2, 3, dtype=torch.float64) + s,
        torch.sparse.sum,
        lambda s: torch.sparse.sum(s, 0).to_dense(),
        lambda s: torch.sparse.softmax(s, 1).to_dense(),
        lambda s: torch.sparse.log_softmax(s, 0).coalesce().values(),
        lambda s: torch.sparse.mm(s, s.t()).to_dense(),
        lambda s: torch.sparse.mm(s, torch.arange(6.0, dtype=torch.float64).reshape(3, 2)),
        lambda s: s.to_sparse_csr() @ torch.ones(3, 1, dtype=torch.float64),
        lambda s: torch.cat([s, s.transpose(0, 1).transpose(0, 1)]).to_dense(),
        lambda s: s.index_select(1, torch.tensor([2, 2, 0])).to_dense(),
        lambda s: s.select(0, 1).to_dense(),
        lambda s: s.unsqueeze(0).to_dense(),
        lambda s: s.norm(),
    ],
)
def test_derivatives_of_values(function: object) -> None:
    indices = torch.tensor([[0, 0, 1, 1], [0, 2, 1, 2]])
    values = torch.tensor([0.5, -1.5, 2.0, 0.25], dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(
        lambda v: function(torch.sparse_coo_tensor(indices, v, (2, 3), is_coalesced=True)),
        (values,),
    )  # type: ignore[operator]


def test_autograd_grad_and_hooks() -> None:
    s = leaf()
    (g,) = torch.autograd.grad(s.to_dense().sum() * 2, s)
    assert g.is_sparse
    assert g._values().tolist() == [2.0, 2.0, 2.0]
    seen = []
    s.register_hook(lambda g: seen.append(g.is_sparse))
    s.to_dense().sum().backward()
    assert seen == [True]
    doubled = s * 2
    doubled.retain_grad()
    doubled.backward(torch.ones(2, 3))
    assert doubled.grad._values().tolist() == [1.0, 1.0, 1.0]
    assert not s.detach().requires_grad
    with torch.no_grad():
        assert not (s + s).requires_grad
    with pytest.raises(
        RuntimeError,
        match="a leaf Variable that requires grad is being used in an in-place operation",
    ):
        s.mul_(2)


def test_a_function_can_keep_sparse_tensors() -> None:
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, indices, values, shape, b):
            a = torch.sparse_coo_tensor(indices, values, shape)
            ctx.save_for_backward(a, b)
            return torch.matmul(a, b)

        @staticmethod
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            places = a._indices()[0] * a.size(1) + a._indices()[1]
            return None, grad.matmul(b.t()).reshape(-1)[places], None, a.t().matmul(grad)

    v, b = torch.tensor([3.0, 4.0, 5.0], requires_grad=True), torch.ones(3, 2, requires_grad=True)
    Product.apply(torch.tensor(INDICES), v, torch.Size([2, 3]), b).sum().backward()
    assert v.grad.tolist() == [2.0, 2.0, 2.0]
    assert b.grad.tolist() == [[4.0, 4.0], [0.0, 0.0], [8.0, 8.0]]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda s: s.to_dense(), [1.0, 0.0, 1.0]),
        (lambda s: (s * 2).to_dense(), [2.0, 0.0, 2.0]),
        (lambda s: (s * s).to_dense(), [8.0, 0.0, 4.0]),
        (lambda s: s.coalesce().values() * torch.tensor([1.0, 10.0]), [1.0, 0.0, 10.0]),
    ],
)
def test_places_given_twice_have_one_gradient(function: object, expected: list[float]) -> None:
    s = torch.sparse_coo_tensor([[0, 2, 0]], [1.0, 2.0, 3.0], (3,), requires_grad=True)
    function(s).sum().backward()  # type: ignore[operator]
    assert s.grad.to_dense().tolist() == expected
    (g,) = torch.autograd.grad(function(s).sum(), s)  # type: ignore[operator]
    assert g.to_dense().tolist() == expected
    function(s).sum().backward()  # type: ignore[operator]
    assert s.grad.to_dense().tolist() == [2 * x for x in expected]
    seen = []
    s.register_hook(lambda g: seen.append(g.to_dense().tolist()))
    s.register_hook(lambda g: g * 3)
    s.grad = None
    function(s).sum().backward()  # type: ignore[operator]
    assert seen == [expected]
    assert s.grad.to_dense().tolist() == [3 * x for x in expected]
    assert torch.autograd.gradcheck(
        lambda a: a.to_dense() * 2,
        s.detach().double().requires_grad_(),
        masked=True,
        fast_mode=True,
    )


class Through(torch.autograd.Function):
    """``a.to_dense()``, with a backward pass that a test chooses."""

    @staticmethod
    def forward(ctx, a, back):
        ctx.back = back
        return a.to_dense()

    @staticmethod
    def backward(ctx, grad):
        return ctx.back(grad), None


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
@pytest.mark.parametrize("dense", [True, False])
def test_a_function_gives_sparse_operands_gradients_of_their_size(
    layout: object, dense: bool
) -> None:
    s = leaf().detach().to_dense().to_sparse(layout=layout).requires_grad_()
    back = (lambda g: g * 2) if dense else (lambda g: (g * 2).to_sparse(layout=layout))
    Through.apply(s, back).sum().backward()
    assert s.grad.layout is layout
    expected = (s.detach().to_dense() != 0).double() * 2
    assert torch.equal(s.grad.to_dense().double(), expected)
    (g,) = torch.autograd.grad(Through.apply(s, back).sum(), s)
    assert torch.equal(g.to_dense().double(), expected)


@pytest.mark.parametrize("back", [lambda g: g * 2, lambda g: (g * 2).to_sparse()])
def test_a_function_of_a_sparse_tensor_that_is_no_leaf(back: object) -> None:
    s = leaf()
    Through.apply(s * 3, back).sum().backward()
    assert s.grad._values().tolist() == [6.0, 6.0, 6.0]


def test_gradients_of_a_function_have_the_layout_of_its_operand() -> None:
    with pytest.raises(
        RuntimeError, match="invalid gradient at index 0 - expected layout Sparse but got SparseCsr"
    ):
        Through.apply(leaf(), lambda g: g.to_sparse_csr()).sum().backward()
    with pytest.raises(
        RuntimeError, match="got \\[1, 3\\] but expected shape compatible with \\[2, 3\\]"
    ):
        Through.apply(leaf(), lambda g: g[:1]).sum().backward()


def test_a_function_with_a_sparse_result() -> None:
    seen = []

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            square = a * a
            ctx.save_for_backward(a, square)
            return square, b * 2

        @staticmethod
        def backward(ctx, grad, other):
            a, square = ctx.saved_tensors
            seen.append((grad.layout, square.to_dense().sum().item()))
            return 2 * a.detach() * grad, other * 2

    s, b = leaf(), torch.ones(2, requires_grad=True)
    square, twice = Square.apply(s, b)
    square.to_dense().sum().backward(retain_graph=True)
    assert s.grad._values().tolist() == (2 * s.detach()._values()).tolist()
    twice.sum().backward()  # the missing gradient arrives as a sparse one of zeros
    assert s.grad._values().tolist() == (2 * s.detach()._values()).tolist()
    assert seen == [(torch.sparse_coo, s.detach()._values().pow(2).sum().item())] * 2

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a

        @staticmethod
        def backward(ctx, grad):
            return grad * 5

    s = leaf()
    Same.apply(s).to_dense().sum().backward()
    assert s.grad._values().tolist() == [5.0, 5.0, 5.0]


def test_tables_have_sparse_gradients() -> None:
    e = torch.nn.Embedding(5, 2, padding_idx=0, sparse=True)
    e(torch.tensor([[1, 2], [2, 0]])).sum().backward()
    g = e.weight.grad
    assert g.is_sparse
    assert not g.is_coalesced()
    assert g._indices().tolist() == [[1, 2, 2]]
    assert g.to_dense().tolist() == [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [0.0, 0.0], [0.0, 0.0]]
    e(torch.tensor([4])).sum().backward()
    assert e.weight.grad._nnz() == 4
    e.weight.pow(2).sum().backward()  # a dense gradient makes the sum dense
    assert not e.weight.grad.is_sparse
    assert (e.weight.grad - 2 * e.weight.detach())[2].tolist() == pytest.approx([2.0, 2.0])


def test_a_table_that_is_no_leaf_passes_dense_gradients_on() -> None:
    w = torch.ones(3, 2, requires_grad=True)
    torch.nn.functional.embedding(torch.tensor([1, 1]), w * 3, sparse=True).sum().backward()
    assert w.grad.tolist() == [[0.0, 0.0], [6.0, 6.0], [0.0, 0.0]]


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_have_sparse_gradients(mode: str) -> None:
    indices, offsets = torch.tensor([1, 2, 4, 5, 4, 3]), torch.tensor([0, 3, 3])
    weights = torch.arange(6.0) if mode == "sum" else None
    grads = []
    for sparse in (True, False):
        bag = torch.nn.EmbeddingBag(6, 2, mode=mode, sparse=sparse, padding_idx=5)
        bag.weight.data.fill_(2.0)
        samples = None if weights is None else weights.clone().requires_grad_()
        bag(indices, offsets, samples).pow(2).sum().backward()
        assert bag.weight.grad.is_sparse is sparse
        grads.append(
            (
                bag.weight.grad.to_dense().tolist(),
                None if samples is None else samples.grad.tolist(),
            )
        )
    assert grads[0] == grads[1]


@pytest.mark.parametrize(
    ("optimizer", "options"),
    [
        (torch.optim.SGD, {}),
        (torch.optim.SGD, {"momentum": 0.9}),
        (torch.optim.Adagrad, {}),
        (torch.optim.SparseAdam, {}),
    ],
)
def test_optimisers_take_sparse_gradients(optimizer: type, options: dict) -> None:
    tables = []
    for sparse in (True, False):
        e = torch.nn.Embedding(5, 2, sparse=sparse)
        e.weight.data.fill_(1.0)
        kind = torch.optim.Adam if optimizer is torch.optim.SparseAdam and not sparse else optimizer
        opt = kind(e.parameters(), lr=0.1, **options)
        for _ in range(3):
            opt.zero_grad()
            (e(torch.tensor([1, 2, 2, 4])) * torch.arange(1.0, 5.0).unsqueeze(1)).pow(
                2
            ).sum().backward()
            opt.step()
        tables.append(e.weight.detach())
    torch.testing.assert_close(tables[0], tables[1])


def test_other_optimisers_refuse_them() -> None:
    e = torch.nn.Embedding(5, 2, sparse=True)
    e(torch.tensor([1])).sum().backward()
    with pytest.raises(
        RuntimeError,
        match="Adam does not support sparse gradients, please consider SparseAdam instead",
    ):
        torch.optim.Adam(e.parameters()).step()
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
        w = torch.nn.Parameter(torch.ones(2))
        w.sum().backward()
        torch.optim.SparseAdam([w]).step()


def test_a_function_of_a_sparse_and_a_dense_tensor() -> None:
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, sparse: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
            ctx.sparse = sparse  # type: ignore[attr-defined]
            return torch.sparse.mm(sparse, dense).view(-1)

        @staticmethod
        def backward(ctx: object, grad: torch.Tensor) -> tuple[None, torch.Tensor]:  # type: ignore[override]
            return None, torch.sparse.mm(ctx.sparse.t(), grad.view(2, 1))  # type: ignore[attr-defined]

    matrix = torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
    x = torch.tensor([[1.0], [2.0]], requires_grad=True)
    y = Product.apply(matrix, x)
    y.sum().backward()
    assert y.tolist() == [4.0, 3.0] and x.grad.tolist() == [[3.0], [2.0]]


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_gather_names_the_elements_that_were_taken(dim: int) -> None:
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    index = torch.tensor([[1, 0, 1], [1, 1, 0]])
    torch.gather(x, dim, index, sparse_grad=True).mul(
        torch.arange(1.0, 7.0).reshape(2, 3)
    ).sum().backward()
    assert x.grad.layout is torch.sparse_coo and x.grad._nnz() == 6
    y = x.detach().requires_grad_()
    torch.gather(y, dim, index).mul(torch.arange(1.0, 7.0).reshape(2, 3)).sum().backward()
    assert torch.equal(x.grad.to_dense(), y.grad)
    x.gather(dim, index, sparse_grad=True).sum().backward()  # adds up
    y.gather(dim, index).sum().backward()
    assert torch.equal(x.grad.to_dense(), y.grad)


def test_gather_of_one_number_or_nothing() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    torch.gather(x, 0, torch.tensor(0), sparse_grad=True).backward()
    assert x.grad._indices().shape == (0, 1) and x.grad.to_dense().item() == 1
    z = torch.zeros(2, 3, requires_grad=True)
    torch.gather(z, 0, torch.zeros(0, 3, dtype=torch.int64), sparse_grad=True).sum().backward()
    assert z.grad._nnz() == 0 and z.grad._indices().shape == (2, 0)


def test_gather_twice_derived_and_with_a_changed_index() -> None:
    x = torch.tensor([[0.5, 1.0, 2.0]], requires_grad=True)
    index = torch.tensor([[2, 2, 0]])
    y = torch.gather(x, 1, index, sparse_grad=True)
    (g,) = torch.autograd.grad((y**3).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.to_dense().sum(), x)
    assert torch.equal(h.to_dense() if h.is_sparse else h, torch.tensor([[3.0, 0.0, 24.0]]))
    y = torch.gather(x, 1, index, sparse_grad=True)
    index.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_sparse_gradients_of_a_leaf_add_up_in_place() -> None:
    g = torch.sparse_coo_tensor([[1, 1]], [1.0, 1.0], (2,))
    p = torch.ones(2, requires_grad=True)
    p.grad = first = torch.sparse_coo_tensor([[1, 1]], [1.0, 1.0], (2,))
    p.backward(g)
    assert p.grad is first and p.grad.to_dense().tolist() == [0.0, 4.0]
    p.backward(torch.ones(2))
    assert p.grad is not first and p.grad.tolist() == [1.0, 5.0]
    p.backward(g)
    assert p.grad.tolist() == [1.0, 7.0]


@pytest.mark.parametrize("kind", ["Embedding", "EmbeddingBag"])
def test_tables_that_scale_by_frequency_look_up_and_refuse_sparse_gradients(kind: str) -> None:
    table = getattr(torch.nn, kind)(3, 2, scale_grad_by_freq=True, sparse=True)
    result = table(torch.tensor([[0, 2]]))
    with pytest.raises(
        RuntimeError,
        match="embedding_backward: scale_grad_by_freq not supported with sparse gradients",
    ):
        result.sum().backward()
    with torch.no_grad():
        assert table(torch.tensor([[0, 2]])).tolist() == result.tolist()
