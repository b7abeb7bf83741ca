"""Matrix products with sparse operands."""

from __future__ import annotations

from typing import Any

import numpy as np

import jtorch

from .._src.bind.everything import _C
from .._src.facts import layouts
from ..autograd.names import named
from ..core import Tensor
from ._make import (
    batch_dims,
    coalesce,
    compressed_to_coo,
    index_tensor,
    rows_and_columns,
    to_compressed,
    to_dense,
)
from ._shape import transpose
from ._tensor import (
    BLOCKED,
    COMPRESSED,
    NAMES,
    SparseTensor,
    become,
    coo,
    could_not_run,
    host,
    like,
    nnz,
    sparse_dim,
    sparse_op,
)
from ._whole import bare, through

# to a type checker, the Tensor of the stubs is another class than that of the core
torch: Any = jtorch


def _pairs(s: SparseTensor) -> tuple[Tensor, Tensor]:
    """Rows and columns of a sparse matrix's elements."""
    if s._kind is layouts.sparse_coo:
        return s._at[0][0], s._at[0][1]
    return rows_and_columns(s)


def _same_dtype(a: Tensor, b: Tensor) -> None:
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"expected scalar type {a.dtype.scalar_name} but found {b.dtype.scalar_name}"
        )


def _matrix(name: str, t: Any, which: str = "self") -> None:
    if t.dim() != 2:
        raise RuntimeError(f"{which} must be a matrix")


def times_dense(s: SparseTensor, d: Tensor) -> Tensor:
    """A sparse matrix times a dense one."""
    if d.dim() == 1:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    if s._dims[1] != d.shape[0]:
        if s._kind in COMPRESSED:
            raise RuntimeError(
                f"mat1 and mat2 shapes cannot be multiplied ({s._dims[0]}x{s._dims[1]} and "
                f"{d.shape[0]}x{d.shape[1]})"
            )
        raise RuntimeError(
            f"addmm: Argument #3 (dense): Expected dim 0 size {s._dims[1]}, got {d.shape[0]}"
        )
    _same_dtype(s, d)
    return through(lambda s: _times_dense(s, d), s, lambda grad, d: grad @ d.mH, d)


def _times_dense(s: SparseTensor, d: Tensor) -> Tensor:
    if s._kind in BLOCKED:
        return to_dense(s) @ d
    if s._kind is layouts.sparse_coo and s._vals.dim() > 1:
        raise RuntimeError(
            f"addmm: expected 2 sparse dims and 0 dense dims, got {sparse_dim(s)} and "
            f"{s._vals.dim() - 1}"
        )
    rows, columns = _pairs(s)
    return _C._spmm(rows, columns, s._vals, d, s._dims[0])


def sparse_sparse(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """The sparse product of two sparse matrices."""
    if a._dims[1] != b._dims[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a._dims[0]}x{a._dims[1]} and "
            f"{b._dims[0]}x{b._dims[1]})"
        )
    if a._kind is b._kind is layouts.sparse_coo and a.dtype is not b.dtype:
        raise RuntimeError(
            f"mat1 dtype {a.dtype.scalar_name} does not match mat2 dtype {b.dtype.scalar_name}"
        )
    _same_dtype(a, b)
    x = coalesce(compressed_to_coo(a) if a._kind in COMPRESSED else a)
    y = coalesce(compressed_to_coo(b) if b._kind in COMPRESSED else b)
    xi, yi = host(x._at[0]), host(y._at[0])
    starts = np.searchsorted(yi[0], np.arange(b._dims[0] + 1))
    counts = np.diff(starts)[xi[1]] if xi.shape[1] else np.zeros(0, np.int64)
    left = np.repeat(np.arange(xi.shape[1]), counts)
    offsets = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts)
    right = np.repeat(starts[xi[1]], counts) + offsets
    values = x._vals.index_select(0, index_tensor(left, a)) * y._vals.index_select(
        0, index_tensor(right, a)
    )
    indices = np.stack([xi[0][left], yi[1][right]]) if len(left) else np.zeros((2, 0), np.int64)
    found = coalesce(coo(index_tensor(indices, a), values, (a._dims[0], b._dims[1])))
    found._sorted = True
    return to_compressed(found, a._kind) if a._kind in COMPRESSED else found


@sparse_op("_sparse_mm")
def sparse_mm(input: object, mat2: object) -> Any:
    """The matrix product, with derivatives of the specified elements only."""
    return mm(bare(input), bare(mat2))


@sparse_op("mm")
def mm(
    input: Tensor, mat2: Tensor, out_dtype: object = None, *, out: object = None
) -> SparseTensor | Tensor:
    """The matrix product; sparse if both operands are."""
    if out is not None or out_dtype is not None:
        raise could_not_run(
            "mm.out" if out is not None else "mm.dtype",
            input if isinstance(input, SparseTensor) else mat2,
        )
    if input.dim() != 2:
        raise RuntimeError("self must be a matrix" if input.dim() != 2 else "mat2 must be a matrix")
    if isinstance(input, SparseTensor):
        if isinstance(mat2, SparseTensor):
            return sparse_sparse(input, mat2)
        return named(times_dense(input, mat2), "MmBackward0")
    if input.shape[1] != mat2._dims[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({input.shape[0]}x{input.shape[1]} and "
            f"{mat2._dims[0]}x{mat2._dims[1]})"
        )
    return times_dense(transpose(mat2, 0, 1), input.t()).t()


@sparse_op("mv")
def mv(input: SparseTensor, vec: Tensor, *, out: object = None) -> Tensor:
    """A sparse matrix times a vector."""
    if isinstance(vec, SparseTensor) or out is not None:
        raise could_not_run("mv", vec if isinstance(vec, SparseTensor) else input)
    if input.dim() != 2:
        raise RuntimeError("mv: two dim tensor 'self' expected")
    if vec.dim() != 1:
        raise RuntimeError("mv: one dim tensor 'vec' expected")
    if input._dims[-1] != vec.shape[0]:
        raise RuntimeError("mv: expected self.size(-1) == vec.size(-1)")
    return named(times_dense(input, vec.unsqueeze(1)).squeeze(1), "MvBackward0")


def _nothing_of(input: Tensor, found: Tensor) -> Tensor:
    """``found`` with ``input`` as an operand that plays no part: its NaN neither, and its gradient
    is zero, not missing."""
    return found + input.masked_fill(torch.ones((), dtype=torch.bool), 0)


@sparse_op("addmv")
def addmv(
    input: Tensor,
    mat: Tensor,
    vec: Tensor,
    *,
    beta: float = 1,
    alpha: float = 1,
    out: Tensor | None = None,
) -> Tensor:
    """``beta * input + alpha * (mat @ vec)`` of a compressed matrix; ``input`` plays no part if
    ``beta`` is 0."""
    if not isinstance(mat, SparseTensor) or mat._kind is layouts.sparse_coo:
        odd = next(t for t in (mat, input, vec) if isinstance(t, SparseTensor))
        raise could_not_run("addmv" if out is None else "addmv.out", odd)
    rows, columns = mat._dims
    if columns != vec.shape[0] or (input.dim() and input.shape[0] not in (1, rows)):
        given = input.shape[0] if input.dim() else rows
        raise RuntimeError(
            f"size mismatch, got input ({given}), mat ({rows}x{columns}), vec ({vec.shape[0]})"
        )
    if not input.dtype is mat.dtype is vec.dtype:
        names = [t.dtype.scalar_name for t in (input, mat, vec)]
        raise RuntimeError(
            "addmv input tensors must have the same dtype, but got "
            f"{names[0]}, {names[1]}, and {names[2]}"
        )
    if mat._kind is layouts.sparse_bsc:
        raise RuntimeError("torch.addmv: operation not supported for mat with SparseBsc layout")
    found = times_dense(mat, vec.unsqueeze(1)).squeeze(1)
    found = found if alpha == 1 else found * alpha
    if beta != 0:
        found = torch.add(found, input, alpha=beta)
    elif input.requires_grad:
        found = _nothing_of(input, found)
    return named(found, "AddmvBackward0") if out is None else torch.mul(found, 1, out=out)


@sparse_op("addmv_")
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """In-place form of ``addmv``."""
    return input.copy_(addmv(input, mat, vec, beta=beta, alpha=alpha))


@sparse_op("matmul", "__rmatmul__", "linalg.matmul")
def matmul(input: Tensor, other: Tensor, *, out: object = None) -> Tensor:
    """The product of matrices, vectors, or batches of matrices."""
    if out is not None:
        raise could_not_run("matmul.out", input if isinstance(input, SparseTensor) else other)
    a, b = input.dim(), other.dim()
    if (a, b) == (2, 2):
        return mm(input, other)
    if (a, b) == (2, 1) and isinstance(input, SparseTensor):
        return mv(input, other)
    if (a, b) == (1, 2) and isinstance(other, SparseTensor) and not isinstance(input, SparseTensor):
        return mv(transpose(other, 0, 1), input)
    if (a, b) == (3, 3) and isinstance(input, SparseTensor):
        return bmm(input, other)
    if (a, b) == (1, 1):
        raise could_not_run("dot", input if isinstance(input, SparseTensor) else other)
    sparse = input if isinstance(input, SparseTensor) else other
    if isinstance(input, SparseTensor) and a == 2 and b > 2 and not isinstance(other, SparseTensor):
        raise (
            RuntimeError("reshape is not implemented for sparse tensors")
            if a > 2
            else could_not_run("expand", sparse)
        )
    raise could_not_run("expand", sparse)


@sparse_op("bmm")
def bmm(input: Tensor, mat2: Tensor, *, out: object = None) -> Tensor:
    """Products of a batch of sparse matrices and a dense batch."""
    if not isinstance(input, SparseTensor) or isinstance(mat2, SparseTensor) or out is not None:
        raise could_not_run("bmm", input if isinstance(input, SparseTensor) else mat2)
    if mat2.dim() != 3 or input.dim() != 3:
        raise RuntimeError(
            "bmm_sparse: Tensor 'mat2' must have 3 dims, but has " + str(mat2.dim()) + " dims"
        )
    n, k, m = input._dims
    if mat2.shape[0] != n or mat2.shape[1] != m:
        raise RuntimeError(
            "bmm_sparse: 'self.size(0)' and 'mat2.size(0)' must match" if mat2.shape[0] != n
            else "bmm_sparse: 'self.size(2)' and 'mat2.size(1)' must match"
        )  # fmt: skip
    _same_dtype(input, mat2)

    def product(s: SparseTensor) -> Tensor:
        if s._kind in COMPRESSED:
            s = compressed_to_coo(s)
        batch, rows, columns = s._at[0]
        found = _C._spmm(
            batch * k + rows, batch * m + columns, s._vals, mat2.reshape(n * m, -1), n * k
        )
        return found.reshape(n, k, mat2.shape[2])

    return through(product, input, lambda grad, mat2: grad @ mat2.mH, mat2)


@sparse_op("_sparse_addmm")
def sparse_addmm(
    input: object, mat1: object, mat2: object, *, beta: object = 1, alpha: object = 1
) -> Any:
    """``addmm``, with derivatives of the specified elements only."""
    return addmm(input, bare(mat1), bare(mat2), beta=beta, alpha=alpha)


@sparse_op("addmm")
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: int = 1, alpha: int = 1, out: object = None
) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``; ``input`` plays no part if ``beta`` is 0."""
    sparse = next(t for t in (input, mat1, mat2) if isinstance(t, SparseTensor))
    if out is not None:
        raise could_not_run("addmm.out", sparse)
    product = mm(mat1, mat2)
    if isinstance(input, SparseTensor) and not isinstance(product, SparseTensor):
        raise RuntimeError(
            "addmm_sparse_dense: expected strided result tensor, got tensor with layout "
            f"{NAMES[input._kind]}"
        )
    if isinstance(product, SparseTensor) and not isinstance(input, SparseTensor):
        raise RuntimeError(
            "addmm: computation on CPU is not implemented for Strided + Sparse @ Sparse without "
            "MKL. PyTorch built with MKL has better support for addmm with sparse CPU tensors."
        )
    found = product if alpha == 1 and type(alpha) is int else product * alpha
    if beta != 0:
        found = (input if beta == 1 and type(beta) is int else input * beta) + found
    elif isinstance(input, SparseTensor):  # its places stay; a NaN times 0 would be one
        found = like(input, torch.zeros_like(input._vals)) + found
    elif input.requires_grad:
        found = _nothing_of(input, found)
    return found if isinstance(found, SparseTensor) else named(found, "AddmmBackward0")


@sparse_op("addmm_")
def addmm_(input: Any, mat1: object, mat2: object, *, beta: object = 1, alpha: object = 1) -> Any:
    """``addmm`` in place."""
    found = addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    return become(input, found) if isinstance(input, SparseTensor) else input.copy_(found)


@sparse_op("nn.functional.linear")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias`` with a sparse input or weight."""
    found = matmul(
        input, transpose(weight, 0, 1) if isinstance(weight, SparseTensor) else weight.t()
    )
    return found if bias is None else found + bias


@sparse_op("smm")
def smm(input: Tensor, mat: Tensor) -> Tensor:
    """A sparse matrix times a dense one, as a sparse matrix."""
    if not isinstance(input, SparseTensor):
        raise RuntimeError(
            "sspaddmm: expected 'mat1' to have sparse layout, got 'mat1' with layout Strided"
        )
    return sspaddmm(
        coo(input._at[0][:, :0], input._vals[:0], (input._dims[0], mat.shape[1]), True), input, mat
    )


@sparse_op("sspaddmm")
def sspaddmm(
    input: SparseTensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: int = 1,
    alpha: int = 1,
    out: object = None,
) -> SparseTensor:
    """``beta * input + alpha * (mat1 @ mat2)`` as a sparse matrix, whose rows are full where
    ``mat1`` has any element."""
    if out is not None:
        raise could_not_run("sspaddmm.out", mat1)
    for name, given in (("input", input), ("mat1", mat1)):
        if not isinstance(given, SparseTensor):
            raise RuntimeError(
                f"sspaddmm: expected '{name}' to have sparse layout, got '{name}' with layout "
                "Strided"
            )
    if tuple(input._dims) != (mat1._dims[0], mat2.shape[1]):
        raise RuntimeError(
            f"sspaddmm: Argument #1: Expected dim 0 size {mat1._dims[0]}, got {input._dims[0]}"
        )
    product = hspmm(mat1, mat2)
    rows, m = host(product._at[0])[0], mat2.shape[1]
    indices = np.stack([np.repeat(rows, m), np.tile(np.arange(m), len(rows))])
    added = coo(index_tensor(indices, mat1), product._vals.reshape(-1) * alpha, input._dims, True)
    if not nnz(input):
        return added
    first = input if type(beta) is int and beta == 1 else like(input, input._vals * beta)
    return coo(
        torch.cat([first._at[0], added._at[0]], 1),
        torch.cat([first._vals, added._vals]),
        input._dims,
    )


@sparse_op("hspmm")
def hspmm(input: Tensor, mat2: Tensor, *, out: object = None) -> SparseTensor:
    """A sparse matrix times a dense one, as a tensor with sparse rows of dense elements."""
    if not isinstance(input, SparseTensor) or out is not None:
        raise could_not_run("hspmm", input)
    if input._dims[1] != mat2.shape[0]:
        raise RuntimeError(
            f"hspmm: Argument #3: Expected dim 0 size {input._dims[1]}, got {mat2.shape[0]}"
        )
    c = coalesce(input)
    indices = host(c._at[0])
    rows, places = np.unique(indices[0], return_inverse=True)
    values = _C._spmm(index_tensor(places.reshape(-1), c), c._at[0][1], c._vals, mat2, len(rows))
    return coo(index_tensor(rows[None], c), values, (input._dims[0], mat2.shape[1]), True)


def sampled_addmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: int, alpha: int) -> SparseTensor:
    """``beta * input + alpha * (mat1 @ mat2)`` at the elements that the CSR tensor ``input``
    specifies."""
    if not isinstance(input, SparseTensor) or input._kind is not layouts.sparse_csr:
        kind = NAMES[input._kind] if isinstance(input, SparseTensor) else "Strided"
        raise RuntimeError(
            f"sampled_addmm: Expected self to have sparse csr layout, but got {kind}"
        )
    for name, m in (("mat1", mat1), ("mat2", mat2)):
        if isinstance(m, SparseTensor):
            raise RuntimeError(
                f"sampled_addmm: Expected {name} to have strided layout, but got {NAMES[m._kind]}"
            )
        if m.dtype is not input.dtype:
            raise RuntimeError(
                f"sampled_addmm: Expected {name} and {'self' if name == 'mat1' else 'mat1'} to "
                f"have the same dtype, but got {m.dtype.scalar_name} and {input.dtype.scalar_name}"
            )
    if mat1.shape[-1] != mat2.shape[-2]:
        raise RuntimeError(
            "sampled_addmm: mat1 and mat2 shapes cannot be multiplied "
            f"({mat1.shape[-2]}x{mat1.shape[-1]} and {mat2.shape[-2]}x{mat2.shape[-1]})"
        )
    for d, n in ((-2, mat1.shape[-2]), (-1, mat2.shape[-1])):
        if input._dims[d] != n:
            which = "mat1" if d == -2 else "mat2"
            raise RuntimeError(f"sampled_addmm: self.shape[{d}] must match {which}.shape[{d}]")
    if batch_dims(input):
        product = (mat1 @ mat2).expand(tuple(input._dims))
        c = compressed_to_coo(input)
        picked = _C._coo_pick(product, c._at[0]).reshape(input._vals.shape)
    else:
        rows, columns = rows_and_columns(input)
        picked = (mat1.index_select(0, rows) * mat2.t().index_select(0, columns)).sum(1)
    return like(input, input._vals * beta + picked * alpha)


def mm_reduce(input: Any, mat2: Tensor, reduce: str) -> Tensor:
    """The product with sums replaced by means, maxima or minima over the specified elements of a
    row."""
    if not isinstance(input, SparseTensor) or input._kind is not layouts.sparse_csr:
        raise could_not_run("_sparse_mm_reduce_impl", input)
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce == "prod":
        raise RuntimeError("sparse_mm_reduce: reduce type of prod has not been enabled.")
    if reduce not in ("sum", "mean", "amax", "amin"):
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    input = bare(input)
    rows, columns = rows_and_columns(input)
    n = input._dims[0]
    if reduce in ("sum", "mean"):
        total = times_dense(input, mat2)
        if reduce == "sum":
            return total
        counts = (input._at[0][1:] - input._at[0][:-1]).clamp(min=1)
        return total / counts.to(total.dtype).unsqueeze(1)
    terms = input._vals.unsqueeze(1) * mat2.index_select(0, columns)
    spread = rows.unsqueeze(1).expand(terms.shape)
    return terms.new_zeros((n, mat2.shape[1])).scatter_reduce(
        0, spread, terms, reduce, include_self=False
    )
