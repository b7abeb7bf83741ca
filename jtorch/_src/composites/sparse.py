"""Entry points of sparse layouts: constructors, conversions, parts, and ``torch.sparse``. The work is done in ``jtorch.sparse``,
which loads when the first of them runs."""

from __future__ import annotations

from typing import Any

from ...core import Tensor
from .. import hooks
from ..bind.cores import composite
from ..bind.everything import T
from ..facts import layouts
from ..facts.errors import must_be_tensor
from ..ops._facts import schemas


def _make() -> Any:
    return hooks.sparse.get()._make


# ---- constructors ----------------------------------------------------------------------------------------------------------------


@composite(operands=("indices", "values"), factory=True)
@schemas(
    ".size(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor",
    ".indices(Tensor indices, Tensor values, ..., bool? is_coalesced=None) -> Tensor",
    ".indices_size(Tensor indices, Tensor values, int[] size, ..., bool? is_coalesced=None) -> Tensor",
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
) -> Any:
    """A sparse tensor in coordinate format: ``values[k]`` stands at ``indices[:, k]``, and values at equal indices add up.

    Shapes: indices ``(sparse_dim, nnz)``, values ``(nnz, *dense)``. ``sparse_coo_tensor(size)`` has no elements.

    Raises:
        RuntimeError: if the indices do not fit the size, when invariants are checked or the size is inferred.

    Example:
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


@composite(operands=("crow_indices", "col_indices", "values"), factory=True)
@schemas(
    ".crow_col_value_size(Tensor crow_indices, Tensor col_indices, Tensor values, int[] size, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor",
    ".crow_col_value(Tensor crow_indices, Tensor col_indices, Tensor values, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=False) -> Tensor",
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
    """A sparse tensor with compressed rows: ``crow_indices`` say where they begin in ``col_indices`` and ``values``.

    Shapes: crow_indices (*, rows + 1), col_indices (*, nnz), values (*, nnz, *dense).

    Raises:
        RuntimeError: if the parts do not fit each other or the size.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse_csr_tensor([0, 1, 2], [1, 0], [2.0, 3.0], (2, 2)).to_dense()
        tensor([[0., 2.],
                [3., 0.]])
    """
    return _make().compressed_tensor(
        "sparse_csr_tensor", crow_indices, col_indices, values, size, layouts.sparse_csr, dtype, device, requires_grad, check_invariants
    )


@composite(operands=("ccol_indices", "row_indices", "values"), factory=True)
@schemas(
    ".ccol_row_value_size(Tensor ccol_indices, Tensor row_indices, Tensor values, int[] size, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor",
    ".ccol_row_value(Tensor ccol_indices, Tensor row_indices, Tensor values, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=False) -> Tensor",
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
    """A sparse tensor with compressed columns: ``ccol_indices`` say where they begin in ``row_indices`` and ``values``.

    Shapes: ccol_indices (*, columns + 1), row_indices (*, nnz), values (*, nnz, *dense).

    Raises:
        RuntimeError: if the parts do not fit each other or the size.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse_csc_tensor([0, 1, 2], [1, 0], [2.0, 3.0], (2, 2)).to_dense()
        tensor([[0., 3.],
                [2., 0.]])
    """
    return _make().compressed_tensor(
        "sparse_csc_tensor", ccol_indices, row_indices, values, size, layouts.sparse_csc, dtype, device, requires_grad, check_invariants
    )


@composite(operands=("crow_indices", "col_indices", "values"), factory=True)
@schemas(
    ".crow_col_value_size(Tensor crow_indices, Tensor col_indices, Tensor values, int[] size, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor",
    ".crow_col_value(Tensor crow_indices, Tensor col_indices, Tensor values, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=False) -> Tensor",
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
) -> Any:
    """A sparse tensor of blocks: ``crow_indices`` say where rows of blocks begin in ``col_indices`` and ``values``.

    Shapes: crow_indices (*, rows of blocks + 1), col_indices (*, nnz), values (*, nnz, height, width).

    Raises:
        RuntimeError: if the parts do not fit each other or the size.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse_bsr_tensor([0, 1], [1], [[[2.0], [3.0]]], (2, 2)).to_dense()
        tensor([[0., 2.],
                [0., 3.]])
    """
    return _make().compressed_tensor(
        "sparse_bsr_tensor", crow_indices, col_indices, values, size, layouts.sparse_bsr, dtype, device, requires_grad, check_invariants
    )


@composite(operands=("ccol_indices", "row_indices", "values"), factory=True)
@schemas(
    ".ccol_row_value_size(Tensor ccol_indices, Tensor row_indices, Tensor values, int[] size, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor",
    ".ccol_row_value(Tensor ccol_indices, Tensor row_indices, Tensor values, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=False) -> Tensor",
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
    """A sparse tensor of blocks: ``ccol_indices`` say where columns of blocks begin in ``row_indices`` and ``values``.

    Shapes: ccol_indices (*, columns of blocks + 1), row_indices (*, nnz), values (*, nnz, height, width).

    Raises:
        RuntimeError: if the parts do not fit each other or the size.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse_bsc_tensor([0, 0, 1], [0], [[[2.0], [3.0]]], (2, 2)).to_dense()
        tensor([[0., 2.],
                [0., 3.]])
    """
    return _make().compressed_tensor(
        "sparse_bsc_tensor", ccol_indices, row_indices, values, size, layouts.sparse_bsc, dtype, device, requires_grad, check_invariants
    )


@composite(operands=("compressed_indices", "plain_indices", "values"), factory=True)
@schemas(
    ".comp_plain_value_size(Tensor compressed_indices, Tensor plain_indices, Tensor values, SymInt[] size, *, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor",
    ".comp_plain_value(Tensor compressed_indices, Tensor plain_indices, Tensor values, *, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=False) -> Tensor",
)
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
    """A sparse tensor of the compressed ``layout``: CSR, CSC, BSR or BSC.

    Shapes: those of the layout's own constructor.

    Raises:
        RuntimeError: if the layout is missing or not compressed, or the parts do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse_compressed_tensor([0, 1, 2], [1, 0], [2.0, 3.0], (2, 2), layout=torch.sparse_csr).to_dense()
        tensor([[0., 2.],
                [3., 0.]])
    """
    return _make().compressed_tensor(
        "sparse_compressed_tensor", compressed_indices, plain_indices, values, size, layout, dtype, device, requires_grad, check_invariants
    )


# ---- conversions and parts of dense tensors --------------------------------------------------------------------------------------


@composite(namespace="Tensor", operands=("self",))
@schemas("(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor")
def to_dense(self: Any, dtype: Any = None, *, masked_grad: bool | None = None) -> Any:
    """The tensor with all its elements: a dense tensor itself.

    Shapes: that of the tensor.

    Example:
        >>> import jtorch as torch
        >>> torch.eye(2).to_sparse().to_dense()
        tensor([[1., 0.],
                [0., 1.]])
    """
    return self if dtype is None or dtype is self.dtype else self.to(dtype)


@composite(namespace="Tensor", operands=("self",))
@schemas("(Tensor self, ScalarType? dtype=None) -> Tensor ; =out")
def to_mkldnn(self: Any, dtype: Any = None) -> Any:
    """A copy in the opaque layout ``torch._mkldnn``, for the operations that PyTorch gives to MKL-DNN. XLA lays out its elements.

    Shapes: that of the tensor.

    Raises:
        RuntimeError: for dtypes other than float32, bfloat16, float16, uint8 and int8.

    Example:
        >>> import jtorch as torch
        >>> torch.ones(2).to_mkldnn() * 3
        tensor([3., 3.], layout=torch._mkldnn)
    """
    return hooks.to_mkldnn(self, dtype)


@composite(namespace="Tensor", operands=("self",))
@schemas(
    ".sparse_dim(Tensor self, int sparse_dim) -> Tensor",
    "(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor",
)
def to_sparse(self: Any, *args: Any, **kwargs: Any) -> Any:
    """The tensor in a sparse layout: COO, or ``layout``; ``to_sparse(sparse_dim)`` leaves the last dimensions dense.

    Shapes: that of the tensor.

    Raises:
        RuntimeError: if ``sparse_dim``, ``blocksize`` or ``dense_dim`` does not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([[0.0, 2.0], [0.0, 0.0]]).to_sparse()
        tensor(indices=tensor([[0],
                               [1]]),
               values=tensor([2.]),
               size=(2, 2), nnz=1, layout=torch.sparse_coo)
    """
    return _make().to_sparse(self, *args, **kwargs)


@composite(namespace="Tensor", operands=("self",), native=False, ignored=True)
def to_sparse_coo(self: Any) -> Any:
    """The tensor in coordinate format.

    Shapes: that of the tensor.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([[0.0, 2.0]]).to_sparse_coo().indices()
        tensor([[0],
                [1]])
    """
    return _make().to_sparse(self)


@composite(namespace="Tensor", operands=("self",), ignored=True)
@schemas(".")
def to_sparse_csr(self: Any, dense_dim: int | None = None) -> Any:
    """The tensor with compressed rows.

    Shapes: that of the tensor, of two dimensions or more.

    Raises:
        RuntimeError: for fewer dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_csr().col_indices()
        tensor([1, 0])
    """
    return _make().to_sparse_csr(self, dense_dim)


@composite(namespace="Tensor", operands=("self",), ignored=True)
@schemas(".")
def to_sparse_csc(self: Any, dense_dim: int | None = None) -> Any:
    """The tensor with compressed columns.

    Shapes: that of the tensor, of two dimensions or more.

    Raises:
        RuntimeError: for fewer dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_csc().row_indices()
        tensor([1, 0])
    """
    return _make().to_sparse_csc(self, dense_dim)


@composite(namespace="Tensor", operands=("self",), ignored=True)
@schemas("(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor")
def to_sparse_bsr(self: Any, blocksize: Any, dense_dim: int | None = None) -> Any:
    """The tensor in blocks, with compressed rows of blocks.

    Shapes: that of the tensor, of two dimensions or more.

    Raises:
        RuntimeError: for fewer dimensions, or if the sizes are not divisible by the blocks'.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([[0.0, 2.0], [0.0, 3.0]]).to_sparse_bsr((2, 1)).values()
        tensor([[[2.],
                 [3.]]])
    """
    return _make().to_sparse_bsr(self, blocksize, dense_dim)


@composite(namespace="Tensor", operands=("self",), ignored=True)
@schemas("(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor")
def to_sparse_bsc(self: Any, blocksize: Any, dense_dim: int | None = None) -> Any:
    """The tensor in blocks, with compressed columns of blocks.

    Shapes: that of the tensor, of two dimensions or more.

    Raises:
        RuntimeError: for fewer dimensions, or if the sizes are not divisible by the blocks'.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([[0.0, 2.0], [0.0, 3.0]]).to_sparse_bsc((2, 1)).values()
        tensor([[[2.],
                 [3.]]])
    """
    return _make().to_sparse_bsc(self, blocksize, dense_dim)


@composite(namespace="Tensor", operands=("self", "mask"))
@schemas(". ; =out")
def sparse_mask(self: Any, mask: Any) -> Any:
    """The elements at the places that a sparse ``mask`` specifies, as a sparse tensor.

    Shapes: both of one shape.

    Raises:
        NotImplementedError: if ``mask`` is dense.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([[1.0, 2.0], [3.0, 4.0]]).sparse_mask(torch.eye(2).to_sparse()).to_dense()
        tensor([[1., 0.],
                [0., 4.]])
    """
    if type(mask) is Tensor:
        raise hooks.sparse.get()._tensor.could_not_run("sparse_mask", self)
    raise TypeError(f"sparse_mask(): argument 'mask' (position 1) must be Tensor, not {type(mask).__name__}")


@composite(namespace="Tensor", operands=("self",))
@schemas("(Tensor self) -> int")
def sparse_dim(self: Any) -> Any:
    """How many dimensions are indexed: none of a dense tensor.

    Example:
        >>> import jtorch as torch
        >>> torch.eye(2).sparse_dim(), torch.eye(2).to_sparse().sparse_dim()
        (0, 2)
    """
    return 0


@composite(namespace="Tensor", operands=("self",))
@schemas("(Tensor self) -> int")
def dense_dim(self: Any) -> Any:
    """How many dimensions are dense: all of a dense tensor.

    Example:
        >>> import jtorch as torch
        >>> torch.eye(2).dense_dim(), torch.eye(2).to_sparse().dense_dim()
        (2, 0)
    """
    return self.dim()


#: What the methods of sparse tensors give.
_MEANING = {
    "coalesce": "The tensor with its positions in order and each once: elements of one position are added.",
    "is_coalesced": "Whether the positions are known to be in order and each once.",
    "indices": "The positions of the elements, one a column.",
    "values": "The elements that have positions.",
    "crow_indices": "The places where the rows begin among the elements, and the end.",
    "col_indices": "The columns of the elements, row by row.",
    "ccol_indices": "The places where the columns begin among the elements, and the end.",
    "row_indices": "The rows of the elements, column by column.",
    "_indices": "The positions of the elements, one a column, as they are: in any order, some perhaps twice.",
    "_values": "The elements that have positions, as they are.",
    "_nnz": "The number of elements that have positions.",
    "_dimI": "The number of dimensions that are indexed.",
    "_dimV": "The number of dimensions that are dense.",
    "_coalesced_": "The tensor itself, now said to be coalesced or not.",
    "sparse_resize_": "The tensor itself in another size, with so many sparse and dense dimensions.",
    "sparse_resize_and_clear_": "The tensor itself in another size, with so many sparse and dense dimensions, without its elements.",
}


def _only(name: str, what: str, layout: str, shown: str, **facts: Any) -> None:
    """A method of sparse tensors, which dense ones refuse; ``shown`` is what it gives for the identity matrix in ``layout``."""

    def refuse(self: Any) -> Any:
        raise RuntimeError(f"{name} expected {what} layout but got Strided")

    refuse.__name__ = name
    refuse.__doc__ = f"""{_MEANING[name]}

    Raises:
        RuntimeError: for dense tensors, and other layouts than ``{what}``.

    Example:
        >>> import jtorch as torch
        >>> torch.eye(2).{layout}().{name}()
        {shown}
    """
    schemas("(Tensor self) -> bool" if name.startswith("is_") else "(Tensor(a) self) -> Tensor(a)")(refuse)
    composite(namespace="Tensor", name=name, operands=("self",), **facts)(refuse)


_INDICES = "tensor([[0, 1],\n                [0, 1]])"
_ENDS, _PLACES, _ONES = "tensor([0, 1, 2])", "tensor([0, 1])", "tensor([1., 1.])"
_COALESCED = f"tensor(indices={_INDICES},\n               values={_ONES},\n               size=(2, 2), nnz=2, layout=torch.sparse_coo)"
_only("coalesce", "sparse coordinate tensor", "to_sparse", _COALESCED, dispatched="in parts")
_only("is_coalesced", "sparse coordinate tensor", "to_sparse", "True", dispatched="never")
_only("indices", "sparse coordinate tensor", "to_sparse", _INDICES)
_only("values", "sparse tensor", "to_sparse", _ONES)
for _name, _shown in (("crow_indices", _ENDS), ("col_indices", _PLACES)):
    _only(_name, "sparse row compressed tensor", "to_sparse_csr", _shown)
for _name, _shown in (("ccol_indices", _ENDS), ("row_indices", _PLACES)):
    _only(_name, "sparse column compressed tensor", "to_sparse_csc", _shown)


def _missing(name: str, schema: str, example: str) -> None:
    """A method without a kernel for dense tensors; ``example`` is a call for the identity matrix, and what it gives."""

    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise hooks.sparse.get()._tensor.could_not_run(name, self)

    refuse.__name__ = name
    refuse.__doc__ = f"""{_MEANING[name]}

    Raises:
        NotImplementedError: for dense tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.eye(2).to_sparse().{name}{example}
    """
    composite(namespace="Tensor", name=name, operands=("self",))(schemas(schema)(refuse))


_RESIZED = "(Tensor self, int[] size, int sparse_dim, int dense_dim) -> Tensor ; _ =out"
_missing("_indices", "(Tensor(a) self) -> Tensor(a)", f"()\n        {_INDICES}")
_missing("_values", "(Tensor(a) self) -> Tensor(a)", f"()\n        {_ONES}")
_missing("_nnz", "(Tensor self) -> int", "()\n        2")
_missing("_dimI", "(Tensor self) -> int", "()\n        2")
_missing("_dimV", "(Tensor self) -> int", "()\n        0")
_missing("_coalesced_", "(Tensor(a!) self, bool coalesced) -> Tensor(a!)", "(True).is_coalesced()\n        True")
_missing("sparse_resize_", f"sparse_resize{_RESIZED}", "((3, 2), 2, 0).shape\n        torch.Size([3, 2])")
_missing("sparse_resize_and_clear_", f"sparse_resize_and_clear{_RESIZED}", "((3, 2), 2, 0)._nnz()\n        0")


@composite(operands=("input", "the_template"), method=True)
@schemas("resize_as_sparse. ; _ =out")
def resize_as_sparse_(input: Any, the_template: Any) -> Any:
    """Changes the size of a sparse tensor in place to that of another.

    Example:
        >>> import jtorch as torch
        >>> torch.eye(2).to_sparse().resize_as_sparse_(torch.zeros(3, 2).to_sparse()).shape
        torch.Size([3, 2])
    """
    raise hooks.sparse.get()._tensor.could_not_run("resize_as_sparse_", input)


# ---- products --------------------------------------------------------------------------------------------------------------------


@composite(operands=("mat1", "mat2"), method=False)
@schemas(".")
def hspmm(mat1: Any, mat2: Any, *, out: Any = None) -> Any:
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
def smm(input: Any, mat2: Any) -> Any:
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
@schemas("(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor ; =out")
def sspaddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """``beta * input + alpha * (mat1 @ mat2)`` of a sparse ``input`` and a sparse ``mat1``, as a sparse matrix.

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


def _refuse(name: str, t: Any) -> None:
    if not isinstance(t, Tensor):
        raise must_be_tensor(name, "input", 1, t)
    if name in ("smm", "sspaddmm"):
        raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors")
    raise hooks.sparse.get()._tensor.could_not_run(name, t)


@composite(operands=("input", "mat2"))
def spmm(input: Any, mat2: Any) -> Any:
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


# ---- torch.sparse ----------------------------------------------------------------------------------------------------------------


@composite(namespace="sparse", name="mm", operands=("sparse", "dense"))
def _sparse_mm(sparse: Any, dense: Any, reduce: str | None = None) -> Any:
    """The product of a sparse matrix and a dense or sparse one; ``reduce`` replaces the sums (CSR): ``mean``, ``amax``, ``amin``.

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
        return hooks.sparse.get()._products.mm_reduce(sparse, dense, reduce)
    return T.mm(sparse, dense)


@composite(namespace="sparse", name="addmm", operands=("mat", "mat1", "mat2"))
def _sparse_addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * (mat1 @ mat2)`` with a sparse ``mat1``.

    Shapes: input (n, k), mat1 (n, m), mat2 (m, k) -> (n, k).

    Raises:
        RuntimeError: if the shapes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse.addmm(torch.ones(2, 1), torch.eye(2).to_sparse(), torch.ones(2, 1), beta=3)
        tensor([[4.],
                [4.]])
    """
    return T.addmm(input, mat1, mat2, beta=beta, alpha=alpha)


@composite(namespace="sparse", name="sampled_addmm", operands=("input", "mat1", "mat2"))
def _sampled_addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Any:
    """``beta * input + alpha * (mat1 @ mat2)`` at the elements that the CSR tensor ``input`` specifies.

    Shapes: input (*, n, k), mat1 (*, n, m), mat2 (*, m, k) -> (*, n, k).

    Raises:
        RuntimeError: if ``input`` is no CSR tensor, or the shapes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse.sampled_addmm(torch.eye(2).to_sparse_csr(), torch.ones(2, 2), torch.ones(2, 2)).to_dense()
        tensor([[3., 0.],
                [0., 3.]])
    """
    parts = hooks.sparse.get()
    found = parts._products.sampled_addmm(input, mat1, mat2, beta, alpha)
    return found if out is None else parts._tensor.become(out, found)


@composite(namespace="sparse", name="sum", operands=("input",), native=False)
def _sparse_sum(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """The sum of the specified elements, or over dimensions: sparse as long as a sparse dimension remains.

    Shapes: that of ``input`` without the dimensions ``dim``; () without ``dim``.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse.sum(torch.tensor([[1.0, 2.0], [0.0, 4.0]]).to_sparse(), dim=0).to_dense()
        tensor([1., 6.])
    """
    return hooks.sparse.get()._reductions.sparse_sum(input, dim, dtype)


@composite(namespace="sparse", name="softmax", operands=("input",))
def _sparse_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Softmax over the specified elements of each slice along ``dim``; the others count as minus infinity.

    Shapes: that of ``input``.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse.softmax(torch.tensor([[1.0, 1.0], [0.0, 4.0]]).to_sparse(), dim=1).to_dense()
        tensor([[0.5000, 0.5000],
                [0.0000, 1.0000]])
    """
    return hooks.sparse.get()._reductions.softmax(input, dim, dtype, False)


@composite(namespace="sparse", name="log_softmax", operands=("input",))
def _sparse_log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The logarithm of ``torch.sparse.softmax``.

    Shapes: that of ``input``.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse.log_softmax(torch.tensor([[1.0, 1.0], [0.0, 4.0]]).to_sparse(), dim=1).to_dense()
        tensor([[-0.6931, -0.6931],
                [ 0.0000,  0.0000]])
    """
    return hooks.sparse.get()._reductions.softmax(input, dim, dtype, True)


@composite(namespace="sparse", name="spdiags", operands=("diagonals", "offsets"))
def _spdiags(diagonals: Any, offsets: Any, shape: Any, layout: Any = None) -> Any:
    """A sparse matrix with the rows of ``diagonals`` on its diagonals ``offsets``.

    Shapes: diagonals (d, n), offsets (d) -> ``shape``, of two dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.sparse.spdiags(torch.tensor([[1, 2]]), torch.tensor([0]), (2, 2)).to_dense()
        tensor([[1, 0],
                [0, 2]])
    """
    return hooks.sparse.get()._diagonals.spdiags(diagonals, offsets, shape, layout)
