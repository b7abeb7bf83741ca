"""Entry points of sparse layouts: constructors, conversions, parts, and ``torch.sparse``. The work is done in ``jtorch.sparse``,
which loads when the first of them runs."""

from __future__ import annotations

from typing import Any

from .. import layouts
from ..binding import composite
from ..core import Tensor


def _make() -> Any:
    import jtorch.sparse
    from jtorch.sparse import _make as found

    del jtorch
    return found


# ---- constructors ----------------------------------------------------------------------------------------------------------------


@composite(operands=("indices", "values"))
def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Any:
    """A sparse tensor in coordinate format: ``values[k]`` stands at ``indices[:, k]``, and values at equal indices add up.

    Shapes: indices ``(sparse_dim, nnz)``, values ``(nnz, *dense)``. ``sparse_coo_tensor(size)`` has no elements.

    >>> import jtorch as torch
    >>> torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2)).to_dense()
    tensor([[0., 2.],
            [3., 0.]])
    """
    made = _make()
    if values is None:
        size = indices if size is None else size
        return made.empty(tuple(size), layouts.sparse_coo, dtype, device, 0, requires_grad)
    return made.coo_tensor(indices, values, size, dtype, device, requires_grad, check_invariants, is_coalesced)


@composite(operands=("crow_indices", "col_indices", "values"))
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
    """A sparse tensor with compressed rows: ``crow_indices`` say where they begin in ``col_indices`` and ``values``."""
    return _make().compressed_tensor(
        "sparse_csr_tensor", crow_indices, col_indices, values, size, layouts.sparse_csr, dtype, device, requires_grad, check_invariants
    )


@composite(operands=("ccol_indices", "row_indices", "values"))
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
    """A sparse tensor with compressed columns: ``ccol_indices`` say where they begin in ``row_indices`` and ``values``."""
    return _make().compressed_tensor(
        "sparse_csc_tensor", ccol_indices, row_indices, values, size, layouts.sparse_csc, dtype, device, requires_grad, check_invariants
    )


@composite(operands=("crow_indices", "col_indices", "values"))
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
) -> Any:
    """A sparse tensor of blocks: ``crow_indices`` say where rows of blocks begin in ``col_indices`` and ``values``."""
    return _make().compressed_tensor(
        "sparse_bsr_tensor", crow_indices, col_indices, values, size, layouts.sparse_bsr, dtype, device, requires_grad, check_invariants
    )


@composite(operands=("ccol_indices", "row_indices", "values"))
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
    """A sparse tensor of blocks: ``ccol_indices`` say where columns of blocks begin in ``row_indices`` and ``values``."""
    return _make().compressed_tensor(
        "sparse_bsc_tensor", ccol_indices, row_indices, values, size, layouts.sparse_bsc, dtype, device, requires_grad, check_invariants
    )


@composite(operands=("compressed_indices", "plain_indices", "values"))
def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Any:
    """A sparse tensor of the compressed ``layout``: CSR, CSC, BSR or BSC."""
    return _make().compressed_tensor(
        "sparse_compressed_tensor", compressed_indices, plain_indices, values, size, layout, dtype, device, requires_grad, check_invariants
    )


# ---- conversions and parts of dense tensors --------------------------------------------------------------------------------------


@composite(namespace="Tensor", operands=("self",))
def to_dense(self: Any, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
    """The tensor with all its elements: a dense tensor itself."""
    return self if dtype is None or dtype is self.dtype else self.to(dtype)


@composite(namespace="Tensor", operands=("self",))
def to_sparse(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The tensor in a sparse layout: COO, or ``layout``; ``to_sparse(sparse_dim)`` leaves the last dimensions dense."""
    return _make().to_sparse(self, *args, **kwargs)


@composite(namespace="Tensor", operands=("self",), native=False)
def to_sparse_coo(self: Any) -> Any:
    """The tensor in coordinate format."""
    return _make().to_sparse(self)


@composite(namespace="Tensor", operands=("self",))
def to_sparse_csr(self: Any, dense_dim: int | None = None) -> Any:
    """The tensor with compressed rows."""
    return _make().to_sparse_csr(self, dense_dim)


@composite(namespace="Tensor", operands=("self",))
def to_sparse_csc(self: Any, dense_dim: int | None = None) -> Any:
    """The tensor with compressed columns."""
    return _make().to_sparse_csc(self, dense_dim)


@composite(namespace="Tensor", operands=("self",))
def to_sparse_bsr(self: Any, blocksize: Any, dense_dim: int | None = None) -> Any:
    """The tensor in blocks, with compressed rows of blocks."""
    return _make().to_sparse_bsr(self, blocksize, dense_dim)


@composite(namespace="Tensor", operands=("self",))
def to_sparse_bsc(self: Any, blocksize: Any, dense_dim: int | None = None) -> Any:
    """The tensor in blocks, with compressed columns of blocks."""
    return _make().to_sparse_bsc(self, blocksize, dense_dim)


@composite(namespace="Tensor", operands=("self", "mask"))
def sparse_mask(self: Any, mask: Any) -> Any:
    """The elements at the places that a sparse ``mask`` specifies, as a sparse tensor."""
    if type(mask) is Tensor:
        raise RuntimeError("sparse_mask expected a sparse mask but got Strided")
    raise TypeError(f"sparse_mask(): argument 'mask' (position 1) must be Tensor, not {type(mask).__name__}")


@composite(namespace="Tensor", operands=("self",))
def sparse_dim(self: Any) -> Any:
    """How many dimensions are indexed: none of a dense tensor."""
    return 0


@composite(namespace="Tensor", operands=("self",))
def dense_dim(self: Any) -> Any:
    """How many dimensions are dense: all of a dense tensor."""
    return self.dim()


def _only(name: str, what: str, parameters: str = "self") -> None:
    """A method of sparse tensors, which dense ones refuse."""

    def refuse(self: Any) -> Any:
        raise RuntimeError(f"{name} expected {what} layout but got Strided")

    refuse.__name__ = name
    refuse.__doc__ = f"Part of sparse tensors (``{what}`` layout); an error for dense ones."
    composite(namespace="Tensor", name=name, operands=("self",))(refuse)


for _name in ("coalesce", "is_coalesced", "indices"):
    _only(_name, "sparse coordinate tensor")
_only("values", "sparse tensor")
for _name in ("crow_indices", "col_indices"):
    _only(_name, "sparse row compressed tensor")
for _name in ("ccol_indices", "row_indices"):
    _only(_name, "sparse column compressed tensor")


def _missing(name: str, extra: tuple[str, ...] = ()) -> None:
    """A method without a kernel for dense tensors."""

    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        _make()
        from jtorch.sparse._tensor import could_not_run

        raise could_not_run(name, self)

    refuse.__name__ = name
    refuse.__doc__ = "Part of sparse tensors; dense ones have no kernel for it."
    composite(namespace="Tensor", name=name, operands=("self",))(refuse)


for _name in ("_indices", "_values", "_nnz", "_dimI", "_dimV", "_coalesced_", "sparse_resize_", "sparse_resize_and_clear_"):
    _missing(_name)


@composite(operands=("input", "the_template"), method=True)
def resize_as_sparse_(input: Any, the_template: Any) -> Any:
    """Changes the size of a sparse tensor in place to that of another."""
    _make()
    from jtorch.sparse._tensor import could_not_run

    raise could_not_run("resize_as_sparse_", input)


# ---- products --------------------------------------------------------------------------------------------------------------------


@composite(operands=("mat1", "mat2"), method=False)
def hspmm(mat1: Any, mat2: Any, *, out: Any = None) -> Any:
    """A sparse matrix times a dense one, as a tensor with sparse rows of dense elements."""
    _refuse("hspmm", mat1)


@composite(operands=("input", "mat2"), method=True)
def smm(input: Any, mat2: Any) -> Any:
    """A sparse matrix times a dense one, as a sparse matrix."""
    _refuse("sspaddmm", input)


@composite(operands=("input", "mat1", "mat2"), method=True)
def sspaddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """``beta * input + alpha * (mat1 @ mat2)`` of a sparse ``input`` and a sparse ``mat1``, as a sparse matrix."""
    _refuse("sspaddmm", input)


def _refuse(name: str, t: Any) -> None:
    _make()
    from jtorch.sparse._tensor import could_not_run

    if not isinstance(t, Tensor):
        from ..errors import must_be_tensor

        raise must_be_tensor(name, "input", 1, t)
    raise could_not_run(name, t)


@composite(operands=("input", "mat2"))
def spmm(input: Any, mat2: Any) -> Any:
    """The matrix product, of sparse matrices too."""
    from ..functional import PUBLIC

    return PUBLIC["mm"](input, mat2)


# ---- torch.sparse ----------------------------------------------------------------------------------------------------------------


@composite(namespace="sparse", name="mm", operands=("sparse", "dense"))
def _sparse_mm(sparse: Any, dense: Any, reduce: str | None = None) -> Any:
    """The product of a sparse matrix and a dense or sparse one; ``reduce`` replaces the sums (CSR): ``mean``, ``amax``, ``amin``.

    Gradient: of a sparse operand, at its specified elements only.

    >>> import jtorch as torch
    >>> torch.sparse.mm(torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    from ..functional import PUBLIC

    if reduce is not None:
        _make()
        from jtorch.sparse._products import mm_reduce

        return mm_reduce(sparse, dense, reduce)
    return PUBLIC["mm"](sparse, dense)


@composite(namespace="sparse", name="addmm", operands=("mat", "mat1", "mat2"))
def _sparse_addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * (mat1 @ mat2)`` with a sparse ``mat1``."""
    from ..functional import PUBLIC

    return PUBLIC["addmm"](input, mat1, mat2, beta=beta, alpha=alpha)


@composite(namespace="sparse", name="sampled_addmm", operands=("input", "mat1", "mat2"))
def _sampled_addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """``beta * input + alpha * (mat1 @ mat2)`` at the elements that the CSR tensor ``input`` specifies."""
    _make()
    from jtorch.sparse._products import sampled_addmm
    from jtorch.sparse._tensor import become

    found = sampled_addmm(input, mat1, mat2, beta, alpha)
    return found if out is None else become(out, found)


@composite(namespace="sparse", name="sum", operands=("input",), native=False)
def _sparse_sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """The sum of the specified elements, or over dimensions: sparse as long as a sparse dimension remains."""
    _make()
    from jtorch.sparse._reductions import sparse_sum

    return sparse_sum(input, dim, dtype)


@composite(namespace="sparse", name="softmax", operands=("input",))
def _sparse_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Softmax over the specified elements of each slice along ``dim``; the others count as minus infinity."""
    _make()
    from jtorch.sparse._reductions import softmax

    return softmax(input, dim, dtype, False)


@composite(namespace="sparse", name="log_softmax", operands=("input",))
def _sparse_log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The logarithm of ``torch.sparse.softmax``."""
    _make()
    from jtorch.sparse._reductions import softmax

    return softmax(input, dim, dtype, True)


@composite(namespace="sparse", name="spdiags", operands=("diagonals", "offsets"))
def _spdiags(diagonals: Any, offsets: Any, shape: Any, layout: Any = None) -> Any:
    """A sparse matrix with the rows of ``diagonals`` on its diagonals ``offsets``."""
    _make()
    from jtorch.sparse._diagonals import spdiags

    return spdiags(diagonals, offsets, shape, layout)
