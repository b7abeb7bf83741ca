"""Constructors of sparse layouts, their products, and ``torch.sparse``; ``jtorch.sparse`` does the
work and loads when the first runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...autograd.names import named
from ...core import Tensor
from .. import hooks
from ..bind.cores import composite
from ..bind.everything import T
from ..facts import layouts
from ..facts.errors import must_be_tensor
from ..ops._facts import schemas

if TYPE_CHECKING:
    from types import ModuleType


def _from_parts() -> ModuleType:
    return hooks.sparse.get()._from_parts


# ---- constructors --------------------------------------------------------------------------------


@composite(operands=("indices", "values"), factory=True)
@schemas(
    ".size(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
    "pin_memory=False) -> Tensor",
    ".indices(Tensor indices, Tensor values, ..., bool? is_coalesced=None) -> Tensor",
    ".indices_size(Tensor indices, Tensor values, int[] size, ..., bool? is_coalesced=None) -> "
    "Tensor",
)
def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A sparse tensor in coordinate format: ``values[k]`` stands at ``indices[:, k]``, and values
    at equal indices add up.

    Shapes: indices ``(sparse_dim, nnz)``, values ``(nnz, *dense)``. ``sparse_coo_tensor(size)`` has
    no elements.

    Raises:
        RuntimeError: if the indices do not fit the size, when invariants are checked or the size is
            inferred.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2)).to_dense()
        tensor([[0., 2.],
                [3., 0.]])
    """
    made = _from_parts()
    if values is None:
        size = indices if size is None else size
        return made.empty(tuple(size), layouts.sparse_coo, dtype, device, 0, requires_grad)
    return made.coo_tensor(
        indices, values, size, dtype, device, requires_grad, check_invariants, is_coalesced
    )


@composite(operands=("crow_indices", "col_indices", "values"), factory=True)
@schemas(
    ".crow_col_value_size(Tensor crow_indices, Tensor col_indices, Tensor values, int[] size, *, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) -> "
    "Tensor",
    ".crow_col_value(Tensor crow_indices, Tensor col_indices, Tensor values, *, ScalarType? "
    "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor",
)
def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Any:
    """A sparse tensor with compressed rows: ``crow_indices`` say where they begin in
    ``col_indices`` and ``values``.

    Shapes: crow_indices (*, rows + 1), col_indices (*, nnz), values (*, nnz, *dense).

    Raises:
        RuntimeError: if the parts do not fit each other or the size.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse_csr_tensor([0, 1, 2], [1, 0], [2.0, 3.0], (2, 2)).to_dense()
        tensor([[0., 2.],
                [3., 0.]])
    """
    return _from_parts().compressed_tensor(
        "sparse_csr_tensor",
        crow_indices,
        col_indices,
        values,
        size,
        layouts.sparse_csr,
        dtype,
        device,
        requires_grad,
        check_invariants,
    )


@composite(operands=("ccol_indices", "row_indices", "values"), factory=True)
@schemas(
    ".ccol_row_value_size(Tensor ccol_indices, Tensor row_indices, Tensor values, int[] size, *, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) -> "
    "Tensor",
    ".ccol_row_value(Tensor ccol_indices, Tensor row_indices, Tensor values, *, ScalarType? "
    "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor",
)
def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Any:
    """A sparse tensor with compressed columns: ``ccol_indices`` say where they begin in
    ``row_indices`` and ``values``.

    Shapes: ccol_indices (*, columns + 1), row_indices (*, nnz), values (*, nnz, *dense).

    Raises:
        RuntimeError: if the parts do not fit each other or the size.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse_csc_tensor([0, 1, 2], [1, 0], [2.0, 3.0], (2, 2)).to_dense()
        tensor([[0., 3.],
                [2., 0.]])
    """
    return _from_parts().compressed_tensor(
        "sparse_csc_tensor",
        ccol_indices,
        row_indices,
        values,
        size,
        layouts.sparse_csc,
        dtype,
        device,
        requires_grad,
        check_invariants,
    )


@composite(operands=("crow_indices", "col_indices", "values"), factory=True)
@schemas(
    ".crow_col_value_size(Tensor crow_indices, Tensor col_indices, Tensor values, int[] size, *, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) -> "
    "Tensor",
    ".crow_col_value(Tensor crow_indices, Tensor col_indices, Tensor values, *, ScalarType? "
    "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor",
)
def sparse_bsr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse tensor of blocks: ``crow_indices`` say where rows of blocks begin in ``col_indices``
    and ``values``.

    Shapes: crow_indices (*, rows of blocks + 1), col_indices (*, nnz), values (*, nnz, height,
    width).

    Raises:
        RuntimeError: if the parts do not fit each other or the size.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse_bsr_tensor([0, 1], [1], [[[2.0], [3.0]]], (2, 2)).to_dense()
        tensor([[0., 2.],
                [0., 3.]])
    """
    return _from_parts().compressed_tensor(
        "sparse_bsr_tensor",
        crow_indices,
        col_indices,
        values,
        size,
        layouts.sparse_bsr,
        dtype,
        device,
        requires_grad,
        check_invariants,
    )


@composite(operands=("ccol_indices", "row_indices", "values"), factory=True)
@schemas(
    ".ccol_row_value_size(Tensor ccol_indices, Tensor row_indices, Tensor values, int[] size, *, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) -> "
    "Tensor",
    ".ccol_row_value(Tensor ccol_indices, Tensor row_indices, Tensor values, *, ScalarType? "
    "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor",
)
def sparse_bsc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Any:
    """A sparse tensor of blocks: ``ccol_indices`` say where columns of blocks begin in
    ``row_indices`` and ``values``.

    Shapes: ccol_indices (*, columns of blocks + 1), row_indices (*, nnz), values (*, nnz, height,
    width).

    Raises:
        RuntimeError: if the parts do not fit each other or the size.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse_bsc_tensor([0, 0, 1], [0], [[[2.0], [3.0]]], (2, 2)).to_dense()
        tensor([[0., 2.],
                [0., 3.]])
    """
    return _from_parts().compressed_tensor(
        "sparse_bsc_tensor",
        ccol_indices,
        row_indices,
        values,
        size,
        layouts.sparse_bsc,
        dtype,
        device,
        requires_grad,
        check_invariants,
    )


@composite(operands=("compressed_indices", "plain_indices", "values"), factory=True)
@schemas(
    ".comp_plain_value_size(Tensor compressed_indices, Tensor plain_indices, Tensor values, "
    "SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
    "pin_memory=False) -> Tensor",
    ".comp_plain_value(Tensor compressed_indices, Tensor plain_indices, Tensor values, *, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) -> "
    "Tensor",
)
def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: layouts.layout | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse tensor of the compressed ``layout``: CSR, CSC, BSR or BSC.

    Shapes: those of the layout's own constructor.

    Raises:
        RuntimeError: if the layout is missing or not compressed, or the parts do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse_compressed_tensor(
        ...     [0, 1, 2], [1, 0], [2.0, 3.0], (2, 2), layout=torch.sparse_csr
        ... ).to_dense()
        tensor([[0., 2.],
                [3., 0.]])
    """
    return _from_parts().compressed_tensor(
        "sparse_compressed_tensor",
        compressed_indices,
        plain_indices,
        values,
        size,
        layout,
        dtype,
        device,
        requires_grad,
        check_invariants,
    )


# ---- checks of parts -----------------------------------------------------------------------------


@composite(operands=("indices", "values"), method=False)
@schemas(
    "(Tensor indices, Tensor values, int[] size, bool? is_coalesced=None, bool? "
    "check_pinning=None) -> ()"
)
def _validate_sparse_coo_tensor_args(
    indices: Tensor,
    values: Tensor,
    size: Any,
    is_coalesced: bool | None = None,
    check_pinning: bool | None = None,
) -> None:
    """Checks that the parts of a COO tensor fit each other and the size.

    Raises:
        RuntimeError: if not.

    Example:
        >>> import jtorch as torch
        >>> torch._validate_sparse_coo_tensor_args(torch.tensor([[0, 1]]), torch.ones(2), (2,))
    """
    del check_pinning
    _from_parts().coo_tensor(indices, values, size, None, None, False, True, is_coalesced)


@composite(operands=("compressed_indices", "plain_indices", "values"), method=False)
@schemas(
    "(Tensor compressed_indices, Tensor plain_indices, Tensor values, int[] size, Layout layout, "
    "bool? check_pinning=None) -> ()"
)
def _validate_sparse_compressed_tensor_args(
    compressed_indices: Tensor,
    plain_indices: Tensor,
    values: Tensor,
    size: Any,
    layout: Any,
    check_pinning: bool | None = None,
) -> None:
    """Checks that the parts of a tensor of a compressed layout fit each other and the size.

    Raises:
        RuntimeError: if not, or for a layout that is not compressed.

    Example:
        >>> import jtorch as torch
        >>> starts, columns = torch.tensor([0, 1, 2]), torch.tensor([1, 0])
        >>> torch._validate_sparse_compressed_tensor_args(
        ...     starts, columns, torch.ones(2), (2, 2), torch.sparse_csr
        ... )
    """
    del check_pinning
    _from_parts().check_parts(compressed_indices, plain_indices, values, size, layout)


@composite(operands=("crow_indices", "col_indices", "values"), method=False)
@schemas(
    "(Tensor crow_indices, Tensor col_indices, Tensor values, int[] size, bool? "
    "check_pinning=None) -> ()"
)
def _validate_sparse_csr_tensor_args(
    crow_indices: Tensor,
    col_indices: Tensor,
    values: Tensor,
    size: Any,
    check_pinning: bool | None = None,
) -> None:
    """Checks that the parts of a CSR tensor fit each other and the size.

    Raises:
        RuntimeError: if not.

    Example:
        >>> import jtorch as torch
        >>> torch._validate_sparse_csr_tensor_args(
        ...     torch.tensor([0, 1, 2]), torch.tensor([1, 0]), torch.ones(2), (2, 2)
        ... )
    """
    del check_pinning
    _from_parts().check_parts(crow_indices, col_indices, values, size, layouts.sparse_csr)


@composite(operands=("ccol_indices", "row_indices", "values"), method=False)
@schemas(
    "(Tensor ccol_indices, Tensor row_indices, Tensor values, int[] size, bool? "
    "check_pinning=None) -> ()"
)
def _validate_sparse_csc_tensor_args(
    ccol_indices: Tensor,
    row_indices: Tensor,
    values: Tensor,
    size: Any,
    check_pinning: bool | None = None,
) -> None:
    """Checks that the parts of a CSC tensor fit each other and the size.

    Raises:
        RuntimeError: if not.

    Example:
        >>> import jtorch as torch
        >>> torch._validate_sparse_csc_tensor_args(
        ...     torch.tensor([0, 1, 2]), torch.tensor([1, 0]), torch.ones(2), (2, 2)
        ... )
    """
    del check_pinning
    _from_parts().check_parts(ccol_indices, row_indices, values, size, layouts.sparse_csc)


@composite(operands=("crow_indices", "col_indices", "values"), method=False)
@schemas(
    "(Tensor crow_indices, Tensor col_indices, Tensor values, int[] size, bool? "
    "check_pinning=None) -> ()"
)
def _validate_sparse_bsr_tensor_args(
    crow_indices: Tensor,
    col_indices: Tensor,
    values: Tensor,
    size: Any,
    check_pinning: bool | None = None,
) -> None:
    """Checks that the parts of a BSR tensor fit each other and the size.

    Raises:
        RuntimeError: if not.

    Example:
        >>> import jtorch as torch
        >>> torch._validate_sparse_bsr_tensor_args(
        ...     torch.tensor([0, 1, 2]), torch.tensor([1, 0]), torch.ones(2, 1, 1), (2, 2)
        ... )
    """
    del check_pinning
    _from_parts().check_parts(crow_indices, col_indices, values, size, layouts.sparse_bsr)


@composite(operands=("ccol_indices", "row_indices", "values"), method=False)
@schemas(
    "(Tensor ccol_indices, Tensor row_indices, Tensor values, int[] size, bool? "
    "check_pinning=None) -> ()"
)
def _validate_sparse_bsc_tensor_args(
    ccol_indices: Tensor,
    row_indices: Tensor,
    values: Tensor,
    size: Any,
    check_pinning: bool | None = None,
) -> None:
    """Checks that the parts of a BSC tensor fit each other and the size.

    Raises:
        RuntimeError: if not.

    Example:
        >>> import jtorch as torch
        >>> torch._validate_sparse_bsc_tensor_args(
        ...     torch.tensor([0, 1, 2]), torch.tensor([1, 0]), torch.ones(2, 1, 1), (2, 2)
        ... )
    """
    del check_pinning
    _from_parts().check_parts(ccol_indices, row_indices, values, size, layouts.sparse_bsc)


# ---- conversions and parts of dense tensors ------------------------------------------------------


@composite(operands=("mat1", "mat2"), method=False)
@schemas(".")
def hspmm(mat1: Tensor, mat2: Tensor, *, out: Any = None) -> Any:
    """A sparse matrix times a dense one, as a tensor with sparse rows of dense elements.

    Shapes: mat1 (n, m), mat2 (m, k) -> (n, k).

    Raises:
        NotImplementedError: if ``mat1`` is dense.

    Example:
        >>> import jtorch as torch
        >>> torch.hspmm(torch.eye(2).to_sparse(), torch.ones(2, 1)).to_dense()
        tensor([[1.],
                [1.]])
    """
    _refuse("hspmm", mat1)


@composite(operands=("input", "mat2"), method=True)
@schemas(".")
def smm(input: Tensor, mat2: Tensor) -> Any:
    """A sparse matrix times a dense one, as a sparse matrix.

    Shapes: input (n, m), mat2 (m, k) -> (n, k).

    Raises:
        RuntimeError: if ``input`` is dense, or the shapes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.smm(torch.eye(2).to_sparse(), torch.ones(2, 1)).to_dense()
        tensor([[1.],
                [1.]])
    """
    _refuse("smm", input)


@composite(operands=("input", "mat1", "mat2"), method=True)
@schemas(
    "(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor ; =out"
)
def sspaddmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Any:
    """``beta * input + alpha * (mat1 @ mat2)`` of a sparse ``input`` and a sparse ``mat1``, as a
    sparse matrix.

    Shapes: input (n, k), mat1 (n, m), mat2 (m, k) -> (n, k).

    Raises:
        RuntimeError: if ``input`` is dense, or the shapes do not fit.

    Example:
        >>> import jtorch as torch
        >>> sparse = torch.eye(2).to_sparse()
        >>> torch.sspaddmm(sparse, sparse, torch.ones(2, 2)).to_dense()
        tensor([[2., 1.],
                [1., 2.]])
    """
    _refuse("sspaddmm", input)


def _refuse(name: str, t: object) -> None:
    if not isinstance(t, Tensor):
        raise must_be_tensor(name, "input", 1, t)
    if name in ("smm", "sspaddmm"):
        raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors")
    raise hooks.sparse.get()._tensor.could_not_run(name, t)


@composite(operands=("input", "mat2"))
def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The matrix product, of sparse matrices too.

    Shapes: (n, m), (m, k) -> (n, k).

    Raises:
        RuntimeError: if the shapes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.spmm(torch.eye(2).to_sparse(), torch.ones(2, 1))
        tensor([[1.],
                [1.]])
    """
    return T.mm(input, mat2)


# ---- torch.sparse --------------------------------------------------------------------------------


@composite(namespace="sparse", name="mm", operands=("sparse", "dense"))
def _sparse_mm(sparse: Any, dense: Any, reduce: str | None = None) -> Tensor:
    """The product of a sparse matrix and a dense or sparse one; ``reduce`` replaces the sums (CSR):
    ``mean``, ``amax`` or ``max``, ``amin`` or ``min``, of the specified elements of a row.

    Shapes: (n, m), (m, k) -> (n, k).

    Gradient: of a sparse operand, at its specified elements only.

    Raises:
        RuntimeError: if the shapes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse.mm(torch.eye(2).to_sparse(), torch.ones(2, 1))
        tensor([[1.],
                [1.]])
    """
    if reduce is not None:
        found = hooks.sparse.get()._products.mm_reduce(sparse, dense, reduce)
        return named(found, "SparseMmReduceImplBackward0")
    bare = hooks.sparse.get()._whole.bare
    found = T.mm(bare(sparse), bare(dense))
    return named(found, "SparseAddmmBackward0") if found.layout is layouts.strided else found


@composite(namespace="sparse", name="addmm", operands=("mat", "mat1", "mat2"))
def _sparse_addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` with a sparse ``mat1``.

    Shapes: input (n, k), mat1 (n, m), mat2 (m, k) -> (n, k).

    Gradient: of a sparse operand, at its specified elements only.

    Raises:
        RuntimeError: if the shapes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse.addmm(torch.ones(2, 1), torch.eye(2).to_sparse(), torch.ones(2, 1), beta=3)
        tensor([[4.],
                [4.]])
    """
    bare = hooks.sparse.get()._whole.bare
    found = T.addmm(input, bare(mat1), bare(mat2), beta=beta, alpha=alpha)
    return named(found, "SparseAddmmBackward0") if found.layout is layouts.strided else found


@composite(namespace="sparse", name="sampled_addmm", operands=("input", "mat1", "mat2"))
def _sampled_addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Any = None
) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` at the elements that the CSR tensor ``input``
    specifies.

    Shapes: input (*, n, k), mat1 (*, n, m), mat2 (*, m, k) -> (*, n, k).

    Raises:
        RuntimeError: if ``input`` is no CSR tensor, or the shapes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse.sampled_addmm(
        ...     torch.eye(2).to_sparse_csr(), torch.ones(2, 2), torch.ones(2, 2)
        ... ).to_dense()
        tensor([[3., 0.],
                [0., 3.]])
    """
    parts = hooks.sparse.get()
    found = parts._products.sampled_addmm(input, mat1, mat2, beta, alpha)
    return found if out is None else parts._tensor.become(out, found)


@composite(namespace="sparse", name="sum", operands=("input",), native=False)
def _sparse_sum(input: Tensor, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum of the specified elements, or over dimensions: sparse as long as a sparse dimension
    remains.

    Shapes: that of ``input`` without the dimensions ``dim``; () without ``dim``.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse.sum(torch.tensor([[1.0, 2.0], [0.0, 4.0]]).to_sparse(), dim=0).to_dense()
        tensor([1., 6.])
    """
    return hooks.sparse.get()._reductions.sparse_sum(input, dim, dtype)


@composite(namespace="sparse", name="softmax", operands=("input",))
def _sparse_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Softmax over the specified elements of each slice along ``dim``; the others count as minus
    infinity.

    Shapes: that of ``input``.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse.softmax(
        ...     torch.tensor([[1.0, 1.0], [0.0, 4.0]]).to_sparse(), dim=1
        ... ).to_dense()
        tensor([[0.5000, 0.5000],
                [0.0000, 1.0000]])
    """
    return hooks.sparse.get()._reductions.softmax(input, dim, dtype, False)


@composite(namespace="sparse", name="log_softmax", operands=("input",))
def _sparse_log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of ``torch.sparse.softmax``.

    Shapes: that of ``input``.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse.log_softmax(
        ...     torch.tensor([[1.0, 1.0], [0.0, 4.0]]).to_sparse(), dim=1
        ... ).to_dense()
        tensor([[-0.6931, -0.6931],
                [ 0.0000,  0.0000]])
    """
    return hooks.sparse.get()._reductions.softmax(input, dim, dtype, True)


@composite(namespace="sparse", name="spdiags", operands=("diagonals", "offsets"))
def _spdiags(
    diagonals: Any, offsets: Any, shape: Any, layout: layouts.layout | None = None
) -> Tensor:
    """A sparse matrix with the rows of ``diagonals`` on its diagonals ``offsets``.

    Shapes: diagonals (d, n), offsets (d) -> ``shape``, of two dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse.spdiags(torch.tensor([[1, 2]]), torch.tensor([0]), (2, 2)).to_dense()
        tensor([[1, 0],
                [0, 2]])
    """
    return hooks.sparse.get()._diagonals.spdiags(diagonals, offsets, shape, layout)
