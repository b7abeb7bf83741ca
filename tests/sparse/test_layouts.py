"""Sparse layouts: constructors, conversions, parts, text, copies and files."""

from __future__ import annotations

import copy
import io
import pickle

import pytest

import jtorch as torch

INDICES = [[0, 1, 1], [2, 0, 2]]
VALUES = [3.0, 4.0, 5.0]
DENSE = [[0.0, 0.0, 3.0], [4.0, 0.0, 5.0]]
LAYOUTS = [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc]


def coo(requires_grad: bool = False) -> torch.Tensor:
    return torch.sparse_coo_tensor(INDICES, VALUES, (2, 3), requires_grad=requires_grad)


def test_a_coo_tensor_is_a_tensor_with_its_parts() -> None:
    s = coo()
    assert isinstance(s, torch.Tensor)
    assert s.layout is torch.sparse_coo
    assert s.is_sparse
    assert not s.is_sparse_csr
    assert (
        tuple(s.shape),
        s.dtype,
        s.dim(),
        s.numel(),
        s._nnz(),
        s.sparse_dim(),
        s.dense_dim(),
    ) == ((2, 3), torch.float32, 2, 6, 3, 2, 0)
    assert s._indices().tolist() == INDICES
    assert s._values().tolist() == VALUES
    assert s.to_dense().tolist() == DENSE


def test_values_at_equal_indices_add_up() -> None:
    s = torch.sparse_coo_tensor([[1, 0, 1], [1, 1, 1]], [1.0, 2.0, -3.0], (2, 2))
    assert not s.is_coalesced()
    with pytest.raises(
        RuntimeError, match=r"Cannot get indices on an uncoalesced tensor, please call .coalesce"
    ):
        s.indices()
    c = s.coalesce()
    assert c.is_coalesced()
    assert c.coalesce() is c
    assert c.indices().tolist() == [[0, 1], [1, 1]]
    assert c.values().tolist() == [2.0, -2.0]
    assert s.to_dense().tolist() == c.to_dense().tolist() == [[0.0, 2.0], [0.0, -2.0]]


def test_bool_values_are_true_where_any_is() -> None:
    s = torch.sparse_coo_tensor([[0, 0, 1]], [True, True, False], (3,))
    assert s.to_dense().tolist() == [True, False, False]
    assert s.coalesce().values().tolist() == [True, False]


def test_the_size_is_found_from_the_indices() -> None:
    assert tuple(torch.sparse_coo_tensor(INDICES, VALUES).shape) == (2, 3)
    assert tuple(torch.sparse_coo_tensor([[0, 4]], torch.ones(2, 3)).shape) == (5, 3)
    assert tuple(torch.sparse_coo_tensor((2, 3)).shape) == (2, 3)


@pytest.mark.parametrize(
    ("indices", "values", "size", "message"),
    [
        (
            INDICES,
            VALUES,
            (2,),
            (
                "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = 1, sparse_dim "
                "= 2, dense_dim = 0"
            ),
        ),
        ([[0, -1]], [1.0, 2.0], None, "found negative index -1 for dim 0"),
        (
            INDICES,
            [1.0, 2.0],
            None,
            (
                "indices and values must have same nnz, but got nnz from indices: 3, nnz from "
                "values: 2"
            ),
        ),
        ([0, 1], [1.0, 2.0], None, "indices must be sparse_dim x nnz, but got: [2]"),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    indices: list, values: list, size: object, message: str
) -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.sparse_coo_tensor(indices, values, size)
    assert str(caught.value) == message


def test_indices_are_checked_where_a_program_asks() -> None:
    torch.sparse_coo_tensor([[5]], [1.0], (2,))
    with pytest.raises(
        RuntimeError,
        match="size is inconsistent with indices: for dim 0, size is 2 but found index 5",
    ):
        torch.sparse_coo_tensor([[5]], [1.0], (2,), check_invariants=True)
    with (
        torch.sparse.check_sparse_tensor_invariants(),
        pytest.raises(RuntimeError, match="found negative index"),
    ):
        torch.sparse_coo_tensor([[-1]], [1.0], (2,))
    assert not torch.sparse.check_sparse_tensor_invariants.is_enabled()
    with pytest.raises(RuntimeError, match=r"crow_indices.*nnz. is not satisfied"):
        torch.sparse_csr_tensor([0, 1, 2], [2, 0, 2], VALUES, (2, 3), check_invariants=True)


def test_an_index_out_of_range_is_an_error_when_it_is_used() -> None:
    with pytest.raises(RuntimeError, match="for dim 0, size is 2 but found index 5"):
        torch.sparse_coo_tensor([[5]], [1.0], (2,)).to_dense().tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_goes_to_dense_and_back(layout: torch.layout) -> None:
    dense = torch.tensor(
        [[0.0, 1.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 3.0], [0.0, 0.0, 0.0, 4.0]]
    )
    size = (2, 2) if layout in (torch.sparse_bsr, torch.sparse_bsc) else None
    s = dense.to_sparse(layout=layout, blocksize=size)
    assert s.layout is layout
    assert s.to_dense().tolist() == dense.tolist()
    for other in LAYOUTS:
        if size and other in (torch.sparse_csr, torch.sparse_csc):
            continue  # PyTorch has no such conversion
        block = (2, 2) if other in (torch.sparse_bsr, torch.sparse_bsc) else None
        assert s.to_sparse(layout=other, blocksize=block).to_dense().tolist() == dense.tolist()
    assert s.t().to_dense().tolist() == dense.t().tolist()


def test_compressed_parts() -> None:
    x = coo().to_sparse_csr()
    assert x.crow_indices().tolist() == [0, 1, 3]
    assert x.col_indices().tolist() == [2, 0, 2]
    assert x.values().tolist() == VALUES
    with pytest.raises(
        RuntimeError, match="indices expected sparse coordinate tensor layout but got SparseCsr"
    ):
        x.indices()
    with pytest.raises(
        RuntimeError,
        match="row_indices expected sparse column compressed tensor layout but got SparseCsr",
    ):
        x.row_indices()
    y = coo().to_sparse_csc()
    assert (y.ccol_indices().tolist(), y.row_indices().tolist(), y.values().tolist()) == (
        [0, 1, 1, 3],
        [1, 0, 1],
        [4.0, 3.0, 5.0],
    )
    b = torch.sparse_bsr_tensor([0, 1], [0], [[[1.0, 2.0], [3.0, 4.0]]])
    assert tuple(b.shape) == (2, 2)
    assert b.to_dense().tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_batches_of_compressed_matrices() -> None:
    dense = torch.stack([torch.eye(2), 2 * torch.eye(2)])
    x = dense.to_sparse_csr()
    assert x.crow_indices().tolist() == [[0, 1, 2], [0, 1, 2]]
    assert x.to_dense().tolist() == dense.tolist()
    assert x.to_sparse().to_dense().tolist() == dense.tolist()
    with pytest.raises(RuntimeError, match="same number of specified elements per batch"):
        torch.stack([torch.eye(2), torch.ones(2, 2)]).to_sparse_csr()


def test_dense_dimensions_and_scalars() -> None:
    h = torch.tensor([[0.0, 0.0], [1.0, 2.0], [0.0, 3.0]]).to_sparse(1)
    assert h.indices().tolist() == [[1, 2]]
    assert h.values().tolist() == [[1.0, 2.0], [0.0, 3.0]]
    assert torch.tensor(3.0).to_sparse().to_dense().item() == 3.0
    assert torch.tensor(0.0).to_sparse()._nnz() == 0


def test_dense_tensors_have_no_sparse_parts() -> None:
    d = torch.ones(2, 2)
    assert (d.sparse_dim(), d.dense_dim(), d.layout, d.is_sparse) == (0, 2, torch.strided, False)
    assert d.to_dense() is d
    with pytest.raises(
        RuntimeError, match="coalesce expected sparse coordinate tensor layout but got Strided"
    ):
        d.coalesce()
    with pytest.raises(
        NotImplementedError,
        match="Could not run 'aten::_nnz' with arguments from the 'CPU' backend",
    ):
        d._nnz()


def test_text() -> None:
    assert repr(coo()) == (
        "tensor(indices=tensor([[0, 1, 1],\n"
        "                       [2, 0, 2]]),\n"
        "       values=tensor([3., 4., 5.]),\n"
        "       size=(2, 3), nnz=3, layout=torch.sparse_coo)"
    )
    assert repr(coo(True).to_sparse_csr().detach().double()) == (
        "tensor(crow_indices=tensor([0, 1, 3]),\n"
        "       col_indices=tensor([2, 0, 2]),\n"
        "       values=tensor([3., 4., 5.]), size=(2, 3), nnz=3, dtype=torch.float64,\n"
        "       layout=torch.sparse_csr)"
    )
    assert repr(torch.sparse_coo_tensor((2, 3), requires_grad=True)) == (
        "tensor(indices=tensor([], size=(2, 0)),\n"
        "       values=tensor([], size=(0,)),\n"
        "       size=(2, 3), nnz=0, layout=torch.sparse_coo, requires_grad=True)"
    )


def test_copies_pickles_and_files() -> None:
    for s in (coo(), coo().coalesce(), coo().to_sparse_csr()):
        buffer = io.BytesIO()
        torch.save({"s": s, "p": torch.nn.Parameter(s)}, buffer)
        buffer.seek(0)
        loaded = torch.load(buffer, weights_only=True)
        for other in (
            copy.deepcopy(s),
            copy.copy(s),
            pickle.loads(pickle.dumps(s)),
            loaded["s"],
            loaded["p"].detach(),
        ):
            assert other.layout is s.layout
            assert other.to_dense().tolist() == DENSE
            if s.layout is torch.sparse_coo:
                assert other.is_coalesced() is s.is_coalesced()
        assert isinstance(loaded["p"], torch.nn.Parameter)
    assert copy.deepcopy(coo(True)).requires_grad


def test_modules_hold_sparse_buffers() -> None:
    m = torch.nn.Module()
    m.register_buffer("adjacency", coo())
    m.double()
    assert m.adjacency.dtype is torch.float64
    assert m.adjacency.is_sparse
    assert m.state_dict()["adjacency"].to_dense().tolist() == DENSE


def test_factories_of_other_layouts() -> None:
    for layout in (torch.sparse_coo, torch.sparse_csr):
        z = torch.zeros(2, 3, layout=layout)
        assert (z.layout, z._nnz(), tuple(z.shape)) == (layout, 0, (2, 3))
        assert torch.zeros_like(torch.ones(2, 3), layout=layout)._nnz() == 0
    assert torch.zeros_like(coo()).is_sparse
    assert torch.zeros_like(coo(), layout=torch.strided).tolist() == [[0.0] * 3] * 2
    with pytest.raises(RuntimeError, match="is not implemented for sparse layout"):
        torch.ones(2, 3, layout=torch.sparse_coo)


def test_older_names() -> None:
    s = torch.sparse.FloatTensor(torch.tensor(INDICES), torch.tensor(VALUES), torch.Size([2, 3]))
    assert s.to_dense().tolist() == DENSE
    assert isinstance(s, torch.sparse.FloatTensor)
    assert not isinstance(s, torch.sparse.DoubleTensor)
    assert s.type() == "torch.sparse.FloatTensor"


def test_jax_sees_its_own_formats() -> None:
    assert coo().jax().todense().tolist() == DENSE
    assert coo().to_sparse_csr().jax().todense().tolist() == DENSE


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda s: s.cos(),
            NotImplementedError,
            "Could not run 'aten::cos' with arguments from the 'SparseCPU' backend.",
        ),
        (
            lambda s: s > 0,
            NotImplementedError,
            "Could not run 'aten::gt.Scalar' with arguments from the 'SparseCPU' backend.",
        ),
        (
            lambda s: s == s,
            NotImplementedError,
            "Could not run 'aten::eq.Tensor' with arguments from the 'SparseCPU' backend.",
        ),
        (
            lambda s: s.view(6),
            NotImplementedError,
            "Could not run 'aten::view' with arguments from the 'SparseCPU' backend.",
        ),
        (
            lambda s: s[:1],
            NotImplementedError,
            "Could not run 'aten::as_strided' with arguments from the 'SparseCPU' backend.",
        ),
        (lambda s: s.reshape(6), RuntimeError, "reshape is not implemented for sparse tensors"),
        (
            lambda s: s + 1,
            RuntimeError,
            "add(sparse, dense) is not supported. Use add(dense, sparse) instead.",
        ),
        (
            lambda s: s / torch.ones(2, 3),
            RuntimeError,
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape [2",
        ),
        (
            lambda s: s.numpy(),
            TypeError,
            "can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.",
        ),
        (
            lambda s: s.tolist(),
            RuntimeError,
            "Cannot access data pointer of Tensor that doesn't have storage",
        ),
        (lambda s: s.storage(), NotImplementedError, "Cannot access storage of SparseTensorImpl"),
        (bool, RuntimeError, "Boolean value of Tensor with more than one value is ambiguous"),
        (torch.linalg.svd, NotImplementedError, "Could not run 'aten::"),
        (lambda s: s.to_sparse_csr().cos(), RuntimeError, "unsupported tensor layout: SparseCsr"),
        (
            lambda s: s.to_sparse_csr().stride(),
            RuntimeError,
            "Sparse CSR tensors do not have strides",
        ),
    ],
)
def test_what_has_no_kernel_says_so_in_torchs_words(
    call: object, error: type, message: str
) -> None:
    with pytest.raises(error) as caught:
        call(coo())  # type: ignore[operator]
    assert type(caught.value) is error
    assert str(caught.value).startswith(message)


def test_a_size_without_indices_is_a_tensor_without_elements() -> None:
    made = torch.sparse_coo_tensor(size=(2, 3), dtype=torch.int64)
    assert (
        made.shape == (2, 3)
        and made.dtype == torch.int64
        and made._nnz() == 0
        and made.to_dense().tolist() == [[0] * 3] * 2
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_on_the_meta_device_nothing_is_stored(layout: torch.layout) -> None:
    blocks = (2, 2) if layout in (torch.sparse_bsr, torch.sparse_bsc) else None
    x = torch.arange(16.0).reshape(4, 4).to_sparse(layout=layout, blocksize=blocks)
    for moved in (x.to("meta"), x.to(device="meta", dtype=torch.float64)):
        assert (moved.layout, moved.shape, moved.device.type) == (layout, x.shape, "meta")
        assert moved._nnz() == 0 and moved.to("meta") is moved
    assert x.to("meta")._values().shape[0] == 0 if layout is torch.sparse_coo else True


def test_dimensions_at_other_places() -> None:
    x = torch.arange(24.0).reshape(2, 3, 4)
    for name in ("movedim", "moveaxis"):
        move = getattr(torch, name)
        for source, destination in ((0, -1), ((0, 1), (1, 2)), (-1, 0)):
            found = move(x.to_sparse(), source, destination)
            assert found.layout is torch.sparse_coo
            assert found.to_dense().tolist() == move(x, source, destination).tolist()
    with pytest.raises(RuntimeError, match="between sparse and dense dimensions"):
        x.to_sparse(2).movedim(0, 2)


def test_products_of_two_dtypes() -> None:
    x = torch.eye(2).to_sparse()
    with pytest.raises(RuntimeError, match="mat1 dtype Float does not match mat2 dtype Double"):
        torch.sparse.mm(x, x.double())
