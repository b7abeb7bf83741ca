"""``torch.masked`` with sparse operands: masks in the layout of their input, and reductions."""

import pytest

import jtorch as torch
from jtorch import masked

pytestmark = pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")

X = torch.tensor([[1.0, 0, 2, 0], [0, 0, 3, -1], [0, 0, 0, 0]])
MASK = torch.tensor([[True, True, False, False], [False, True, True, True], [False] * 4])
LAYOUTS = [torch.sparse_coo, torch.sparse_csr]


def whole(t):
    """A sparse result with its places, dense."""
    ones = t.values() if t.layout is torch.sparse_csr else t.coalesce().values()
    assert ones.dim() == 1
    return t.to_dense().tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mask_layout", [*LAYOUTS, torch.strided])
@pytest.mark.parametrize(
    ("name", "dim", "expected"),
    [
        ("sum", 0, [[1.0, 0, 3, -1]]),
        ("sum", 1, [[1.0], [2], [0]]),
        ("sum", None, [[3.0]]),
        ("prod", 0, [[1.0, 0, 3, -1]]),
        ("prod", 1, [[0.0], [0], [0]]),
        ("amax", 1, [[1.0], [3], [0]]),
        ("amin", 1, [[0.0], [-1], [0]]),
        ("amax", (0, 1), [[3.0]]),
    ],
)
def test_reductions_along_dimensions(layout, mask_layout, name, dim, expected):
    mask = MASK if mask_layout is torch.strided else MASK.to_sparse(layout=mask_layout)
    found = getattr(masked, name)(X.to_sparse(layout=layout), dim, keepdim=True, mask=mask)
    assert found.layout is layout
    assert whole(found) == expected
    # the last row has no element, rather than one that is zero
    if dim == 1:
        assert found._nnz() == 2


def test_rows_without_elements_do_not_move_those_that_follow():
    x = torch.tensor([[1.0, 2], [0, 0], [5, 4]]).to_sparse_csr()
    for name, expected in (("amax", [[2], [0], [5]]), ("mean", [[1.5], [0], [4.5]])):
        found = getattr(masked, name)(x, 1, keepdim=True, mask=x.to_dense() != 0)
        assert found.crow_indices().tolist() == [0, 1, 1, 2]
        assert found.to_dense().tolist() == expected


def test_hybrid_tensors():
    x, mask = X.reshape(3, 2, 2).to_sparse(1), MASK.reshape(3, 2, 2)
    found = masked.sum(x, (0, 2), mask=mask)
    assert found.to_dense().tolist() == masked.sum(x.to_dense(), (0, 2), mask=mask).tolist()
    # what the mask lacks in dense dimensions is the identity
    found = masked.prod(x, 0, mask=mask).to_dense()
    assert found.tolist() == masked.prod(x.to_dense(), 0, mask=mask).tolist()
    with pytest.raises(NotImplementedError, match="along a dense dimension"):
        masked.prod(x, 1, mask=mask)


def test_nothing_present():
    none = torch.zeros_like(MASK)
    x = X.to_sparse()
    assert masked.sum(x, mask=none).to_dense().item() == 0
    assert masked.amax(x, mask=none).to_dense().item() == float("-inf")
    assert masked.amax(x, 0, mask=none)._nnz() == 0
    csr = masked.sum(X.to_sparse_csr(), keepdim=True, mask=none)
    assert (csr.shape, csr._nnz()) == ((1, 1), 0)


@pytest.mark.parametrize("name", ["sum", "prod", "amax", "amin"])
@pytest.mark.parametrize("options", [{}, {"dim": 0}, {"dim": -1, "keepdim": True}])
def test_tensors_without_dimensions(name, options):
    mask = torch.tensor(True)
    for given in (mask, mask.to_sparse()):
        found = getattr(masked, name)(torch.tensor(3.0).to_sparse(), mask=given, **options)
        assert (found.shape, found.layout) == ((), torch.sparse_coo)
        assert found.to_dense().item() == 3


def test_dtypes():
    x = X.int().to_sparse_csr()
    assert masked.sum(x, 0, keepdim=True).dtype is torch.int64
    assert masked.amax(x, 0, keepdim=True, mask=MASK).dtype is torch.int32
    half = torch.full((1, 4096), 1, dtype=torch.float16).to_sparse()
    assert masked.sum(half, 1).to_dense().item() == 4096  # steps of 1 would end at 2048
    mean = masked.mean(X.half().to_sparse_csr(), keepdim=True, mask=MASK)
    assert mean.values().tolist() == torch.tensor([0.6], dtype=torch.float16).tolist()


def test_masks_broadcast_and_take_the_layout_of_the_input():
    for layout in LAYOUTS:
        x = X.to_sparse(layout=layout)
        for mask in (MASK[:1], MASK[:, :1], MASK[:1, :1], MASK):
            for given in (mask, *(mask.to_sparse(layout=kind) for kind in LAYOUTS)):
                found = masked._input_mask(x, mask=given)
                assert (found.layout, found.dtype) == (layout, torch.bool)
                assert found.to_dense().tolist() == mask.expand(3, 4).tolist()
    with pytest.raises(RuntimeError, match="length 3 at dimension 0 does not broadcast"):
        masked._input_mask(X.to_sparse(), mask=torch.ones(3).bool().to_sparse())


def test_what_a_mask_leaves():
    kept = masked._where(MASK.to_sparse_csr(), X.to_sparse_csr(), torch.tensor(5.0))
    assert kept.crow_indices().tolist() == [0, 2, 5, 5]
    assert kept.col_indices().tolist() == [0, 1, 1, 2, 3]
    assert kept.values().tolist() == [1, 0, 0, 3, -1]
    with pytest.raises(AssertionError, match="layout must match"):
        masked._where(MASK.to_sparse(), X, torch.tensor(0.0))
    with pytest.raises(AssertionError, match="dense_dim"):
        masked.sum(X.to_sparse(1), mask=MASK.to_sparse())


@pytest.mark.parametrize("name", ["sum", "amax"])
def test_gradients(name):
    x = X.clone().requires_grad_()
    found = getattr(masked, name)(x.to_sparse_csr(), 0, keepdim=True, mask=MASK.to_sparse_csr())
    found.to_dense().sum().backward()
    assert x.grad.tolist() == [[1, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]]


def test_what_is_refused():
    x, csr = X.to_sparse(), X.to_sparse_csr()
    with pytest.raises(ValueError, match="masked prod expects explicit mask for sparse_coo"):
        masked.prod(x)
    with pytest.raises(ValueError, match="masked mean expects strided or sparse_csr tensor"):
        masked.mean(x, mask=MASK)
    with pytest.raises(ValueError, match=r"masked softmax expects strided tensor \(got torch.spar"):
        masked.softmax(x, 0)
    with pytest.raises(ValueError, match=r"got torch\.sparse_coo tensor for input"):
        masked.logaddexp(x, X)
    with pytest.raises(ValueError, match=r"got torch\.sparse_csc"):
        masked.sum(X.to_sparse_csc(), 0)
    with pytest.raises(RuntimeError, match="keepdim=False is unsupported"):
        masked.sum(csr, 0)
    with pytest.raises(AssertionError, match="keepdim=False is unsupported"):
        masked.amax(csr, 0, mask=MASK)
