"""Conversions to sparse layouts, and the parts of sparse tensors, which dense ones refuse.
``jtorch.sparse`` does the work."""

from __future__ import annotations

from typing import Any

from ...core import Tensor
from .. import hooks
from ..bind.cores import composite
from ..ops._facts import schemas


def _make() -> Any:
    return hooks.sparse.get()._make


@composite(namespace="Tensor", operands=("self",))
@schemas("(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor")
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
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
def to_mkldnn(self: Tensor, dtype: Any = None) -> Any:
    """A copy in the opaque layout ``torch._mkldnn``, for the operations that PyTorch gives to
    MKL-DNN. XLA lays out its elements.

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
def to_sparse(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor in a sparse layout: COO, or ``layout``; ``to_sparse(sparse_dim)`` leaves the last
    dimensions dense.

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
def to_sparse_coo(self: Tensor) -> Any:
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
def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
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
def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Any:
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
def to_sparse_bsr(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Any:
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
def to_sparse_bsc(self: Tensor, blocksize: Any, dense_dim: int | None = None) -> Any:
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
def sparse_mask(self: Tensor, mask: Any) -> Any:
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
    raise TypeError(
        f"sparse_mask(): argument 'mask' (position 1) must be Tensor, not {type(mask).__name__}"
    )


@composite(namespace="Tensor", operands=("self",))
@schemas("(Tensor self) -> int")
def sparse_dim(self: Tensor) -> int:
    """How many dimensions are indexed: none of a dense tensor.

    Example:
        >>> import jtorch as torch
        >>> torch.eye(2).sparse_dim(), torch.eye(2).to_sparse().sparse_dim()
        (0, 2)
    """
    return 0


@composite(namespace="Tensor", operands=("self",))
@schemas("(Tensor self) -> int")
def dense_dim(self: Tensor) -> int:
    """How many dimensions are dense: all of a dense tensor.

    Example:
        >>> import jtorch as torch
        >>> torch.eye(2).dense_dim(), torch.eye(2).to_sparse().dense_dim()
        (2, 0)
    """
    return self.dim()


#: What the methods of sparse tensors give.
_MEANING = {
    "coalesce": (
        "The tensor with its positions in order and each once: elements of one position are added."
    ),
    "is_coalesced": "Whether the positions are known to be in order and each once.",
    "indices": "The positions of the elements, one a column.",
    "values": "The elements that have positions.",
    "crow_indices": "The places where the rows begin among the elements, and the end.",
    "col_indices": "The columns of the elements, row by row.",
    "ccol_indices": "The places where the columns begin among the elements, and the end.",
    "row_indices": "The rows of the elements, column by column.",
    "_indices": (
        "The positions of the elements, one a column, as they are: in any order, some perhaps "
        "twice."
    ),
    "_values": "The elements that have positions, as they are.",
    "_nnz": "The number of elements that have positions.",
    "_dimI": "The number of dimensions that are indexed.",
    "_dimV": "The number of dimensions that are dense.",
    "_coalesced_": "The tensor itself, now said to be coalesced or not.",
    "sparse_resize_": (
        "The tensor itself in another size, with so many sparse and dense dimensions."
    ),
    "sparse_resize_and_clear_": (
        "The tensor itself in another size, with so many sparse and dense dimensions, without "
        "its elements."
    ),
}


def _only(name: str, what: str, layout: str, shown: str, **facts: Any) -> None:
    """A method of sparse tensors, which dense ones refuse; ``shown`` is what it gives for the
    identity matrix in ``layout``."""

    def refuse(self: Tensor) -> Any:
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
    schemas("(Tensor self) -> bool" if name.startswith("is_") else "(Tensor(a) self) -> Tensor(a)")(
        refuse
    )
    composite(namespace="Tensor", name=name, operands=("self",), **facts)(refuse)


_INDICES = "tensor([[0, 1],\n                [0, 1]])"
_ENDS, _PLACES, _ONES = "tensor([0, 1, 2])", "tensor([0, 1])", "tensor([1., 1.])"
_COALESCED = (
    f"tensor(indices={_INDICES},\n"
    f"               values={_ONES},\n"
    "               size=(2, 2), nnz=2, layout=torch.sparse_coo)"
)
_only("coalesce", "sparse coordinate tensor", "to_sparse", _COALESCED, dispatched="in parts")
_only("is_coalesced", "sparse coordinate tensor", "to_sparse", "True", dispatched="never")
_only("indices", "sparse coordinate tensor", "to_sparse", _INDICES)
_only("values", "sparse tensor", "to_sparse", _ONES)
for _name, _shown in (("crow_indices", _ENDS), ("col_indices", _PLACES)):
    _only(_name, "sparse row compressed tensor", "to_sparse_csr", _shown)
for _name, _shown in (("ccol_indices", _ENDS), ("row_indices", _PLACES)):
    _only(_name, "sparse column compressed tensor", "to_sparse_csc", _shown)


def _missing(name: str, schema: str, example: str) -> None:
    """A method without a kernel for dense tensors; ``example`` is a call for the identity matrix,
    and what it gives."""

    def refuse(self: Tensor, *args: Any, **kwargs: Any) -> Any:
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
_missing(
    "_coalesced_",
    "(Tensor(a!) self, bool coalesced) -> Tensor(a!)",
    "(True).is_coalesced()\n        True",
)
_missing(
    "sparse_resize_", f"sparse_resize{_RESIZED}", "((3, 2), 2, 0).shape\n        torch.Size([3, 2])"
)
_missing(
    "sparse_resize_and_clear_",
    f"sparse_resize_and_clear{_RESIZED}",
    "((3, 2), 2, 0)._nnz()\n        0",
)


@composite(operands=("input", "the_template"), method=True)
@schemas("resize_as_sparse. ; _ =out")
def resize_as_sparse_(input: Tensor, the_template: Any) -> Any:
    """Changes the size of a sparse tensor in place to that of another.

    Example:
        >>> import jtorch as torch
        >>> torch.eye(2).to_sparse().resize_as_sparse_(torch.zeros(3, 2).to_sparse()).shape
        torch.Size([3, 2])
    """
    raise hooks.sparse.get()._tensor.could_not_run("resize_as_sparse_", input)


# ---- products ------------------------------------------------------------------------------------
