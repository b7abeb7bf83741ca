"""The copying twins of view functions: ``x_copy`` gives what ``x`` gives, in memory of its own."""

from __future__ import annotations

from typing import Any

from .. import views
from ..applying import write_out
from ..autograd.names import named
from ..binding import BOUND, composite
from ..core import Tensor, from_value
from ..dtypes import dtype as dtype_class
from ..functional import PUBLIC


def _copied(name: str, view: Any, out: Any, viewed: bool = True) -> Any:
    """A contiguous copy of a view, or ``out`` with it written in. The copy stands in the view's place in the graph."""
    if viewed and type(view) is Tensor and view._node is not None:
        node, value = view._node, view._read()
        made = from_value(value)
        made._node, made._nr, made._rg = node, view._nr, True
        if not node.name().endswith("copy"):
            node.label = "NarrowCopyBackward0" if name == "narrow_copy" else f"{node.name()}_copy"
    else:
        made = BOUND["clone"].core(view)
        made._strides = None
        if not viewed:
            named(made, "AliasBackward0_copy")
    return made if out is None else write_out(made, out, name, (view,))


def _each_copied(name: str, parts: Any, out: Any) -> Any:
    """Copies of several views; what is given as ``out`` is written, and nothing returned."""
    made = tuple([_copied(name, part, None) for part in parts])
    if out is None:
        return made
    if len(out) != len(made):
        raise RuntimeError(f"{name}() expected an out= argument of size {len(made)}, got size {len(out)}")
    for part, target in zip(made, out, strict=True):
        write_out(part, target, name)
    return None


@composite(operands=("input", "out"))
def alias_copy(input: Any, *, out: Any = None) -> Any:
    """A copy of the tensor.

    Shapes: that of ``input``.

    Example:
        >>> import jtorch as torch
        >>> torch.alias_copy(torch.tensor([1, 2]))
        tensor([1, 2])
    """
    return _copied("alias_copy", input, out, viewed=False)


@composite(operands=("input", "out"))
def detach_copy(input: Any, *, out: Any = None) -> Any:
    """A copy of the tensor without history.

    Shapes: that of ``input``.

    Example:
        >>> import jtorch as torch
        >>> torch.detach_copy(torch.ones(2, requires_grad=True)).requires_grad
        False
    """
    return _copied("detach_copy", PUBLIC["detach"](input), out)


@composite(operands=("input", "out"))
def as_strided_copy(
    input: Any, size: tuple[int, ...], stride: tuple[int, ...], storage_offset: int | None = None, *, out: Any = None
) -> Any:
    """A copy of ``as_strided``'s look at the tensor's memory.

    Shapes: ``size``.

    Raises:
        RuntimeError: as ``as_strided``.

    Example:
        >>> import jtorch as torch
        >>> torch.as_strided_copy(torch.arange(4), (2, 2), (1, 1))
        tensor([[0, 1],
                [1, 2]])
    """
    return _copied("as_strided_copy", PUBLIC["as_strided"](input, size, stride, storage_offset), out)


@composite(operands=("input", "out"))
def diagonal_copy(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1, *, out: Any = None) -> Any:
    """A copy of ``diagonal``.

    Shapes: as ``diagonal``.

    Raises:
        IndexError: if a dimension is out of range.
        RuntimeError: if both are one.

    Example:
        >>> import jtorch as torch
        >>> torch.diagonal_copy(torch.eye(2))
        tensor([1., 1.])
    """
    return _copied("diagonal_copy", PUBLIC["diagonal"](input, offset, dim1, dim2), out)


@composite(operands=("input", "out"))
def expand_copy(input: Any, size: tuple[int, ...], *, implicit: bool = False, out: Any = None) -> Any:
    """A copy of ``Tensor.expand``: repeated elements have memory of their own.

    Shapes: ``size``, where -1 keeps a size.

    Raises:
        RuntimeError: if ``input`` does not broadcast to it.

    Example:
        >>> import jtorch as torch
        >>> torch.expand_copy(torch.tensor([[1], [2]]), (2, 2))
        tensor([[1, 1],
                [2, 2]])
    """
    return _copied("expand_copy", PUBLIC["Tensor.expand"](input, tuple(size), implicit=implicit), out)


@composite(method=True, operands=("input", "out"))
def narrow_copy(input: Any, dim: int, start: int, length: int, *, out: Any = None) -> Any:
    """A copy of ``narrow``: ``length`` elements of a dimension from ``start`` on.

    Shapes: that of ``input``, with size ``length`` in dimension ``dim``.

    Raises:
        IndexError, RuntimeError: if they are not all there.

    Example:
        >>> import jtorch as torch
        >>> torch.narrow_copy(torch.arange(4), 0, 1, 2)
        tensor([1, 2])
    """
    if input.dim() and dim >= input.dim():
        raise RuntimeError(
            "Expected dim < static_cast<int64_t>(self_sizes.size()) to be true, but got false.  (Could this error message be improved?  If "
            "so, please report an enhancement request to PyTorch.)"
        )
    return _copied("narrow_copy", PUBLIC["narrow"](input, dim, start, length), out)


@composite(operands=("input", "out"))
def permute_copy(input: Any, dims: tuple[int, ...], *, out: Any = None) -> Any:
    """A copy of ``permute``.

    Shapes: that of ``input``, its sizes in the order ``dims``.

    Raises:
        RuntimeError: if ``dims`` is no permutation.

    Example:
        >>> import jtorch as torch
        >>> torch.permute_copy(torch.zeros(2, 3), (1, 0)).shape
        torch.Size([3, 2])
    """
    return _copied("permute_copy", PUBLIC["permute"](input, dims), out)


@composite(operands=("input", "out"))
def select_copy(input: Any, dim: int, index: int, *, out: Any = None) -> Any:
    """A copy of ``select``: one element of a dimension, which disappears.

    Shapes: that of ``input`` without dimension ``dim``.

    Raises:
        IndexError: if ``dim`` or ``index`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.select_copy(torch.tensor([[1, 2], [3, 4]]), 1, 0)
        tensor([1, 3])
    """
    return _copied("select_copy", PUBLIC["select"](input, dim, index), out)


@composite(operands=("input", "out"))
def slice_copy(input: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1, *, out: Any = None) -> Any:
    """A copy of ``input[start:end:step]`` along a dimension.

    Shapes: that of ``input`` but for size ``dim``.

    Raises:
        RuntimeError: if ``step`` is not positive.
        IndexError: if the tensor has no dimension.

    Example:
        >>> import jtorch as torch
        >>> torch.slice_copy(torch.arange(6), 0, 1, 6, 2)
        tensor([1, 3, 5])
    """
    if not input.dim():
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    return _copied("slice_copy", views._slice(input, dim, start, end, step), out)


@composite(operands=("input",))
def split_copy(input: Any, split_size: int, dim: int = 0, *, out: Any = None) -> Any:
    """Copies of the parts that ``split`` gives; written to the tensors of ``out`` and not returned if that is given.

    Shapes: as ``split``.

    Raises:
        RuntimeError: as ``split``, or if ``out`` has another length.

    Example:
        >>> import jtorch as torch
        >>> torch.split_copy(torch.arange(3), 2)
        (tensor([0, 1]), tensor([2]))
    """
    return _each_copied("split_copy_Tensor_out", PUBLIC["split"](input, split_size, dim), out)


@composite(operands=("input",))
def split_with_sizes_copy(input: Any, split_sizes: tuple[int, ...], dim: int = 0, *, out: Any = None) -> Any:
    """Copies of the parts that ``split_with_sizes`` gives; see ``split_copy``.

    Shapes: as ``split_with_sizes``.

    Raises:
        RuntimeError: as ``split_with_sizes``, or if ``out`` has another length.

    Example:
        >>> import jtorch as torch
        >>> torch.split_with_sizes_copy(torch.arange(3), [1, 2])
        (tensor([0]), tensor([1, 2]))
    """
    return _each_copied("split_with_sizes_copy_out", PUBLIC["split_with_sizes"](input, split_sizes, dim), out)


@composite(operands=("input",))
def unbind_copy(input: Any, dim: int = 0, *, out: Any = None) -> Any:
    """Copies of what ``unbind`` gives; see ``split_copy``.

    Shapes: that of ``input`` without dimension ``dim``.

    Raises:
        IndexError: if ``dim`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.unbind_copy(torch.tensor([[1, 2], [3, 4]]))
        (tensor([1, 2]), tensor([3, 4]))
    """
    return _each_copied("unbind_copy_int_out", PUBLIC["unbind"](input, dim), out)


@composite(operands=("input", "out"))
def squeeze_copy(input: Any, dim: int | tuple[int, ...] | None = None, *, out: Any = None) -> Any:
    """A copy of ``squeeze``.

    Shapes: as ``squeeze``.

    Raises:
        IndexError: if ``dim`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.squeeze_copy(torch.zeros(2, 1, 3)).shape
        torch.Size([2, 3])
    """
    return _copied("squeeze_copy", PUBLIC["squeeze"](input, dim), out)


@composite(operands=("input", "out"))
def t_copy(input: Any, *, out: Any = None) -> Any:
    """A copy of the transpose of a matrix.

    Shapes: (m, n) -> (n, m); others as they are.

    Raises:
        RuntimeError: for more than two dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.t_copy(torch.tensor([[1, 2]]))
        tensor([[1],
                [2]])
    """
    return _copied("t_copy", PUBLIC["t"](input), out)


@composite(operands=("input", "out"))
def transpose_copy(input: Any, dim0: int, dim1: int, *, out: Any = None) -> Any:
    """A copy of ``transpose``.

    Shapes: that of ``input``, with sizes ``dim0`` and ``dim1`` exchanged.

    Raises:
        IndexError: if a dimension is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.transpose_copy(torch.zeros(2, 3), 0, 1).is_contiguous()
        True
    """
    return _copied("transpose_copy", PUBLIC["transpose"](input, dim0, dim1), out)


@composite(operands=("input", "out"))
def unfold_copy(input: Any, dimension: int, size: int, step: int, *, out: Any = None) -> Any:
    """A copy of ``Tensor.unfold``: windows along a dimension.

    Shapes: (*, n, *) -> (*, (n - size) // step + 1, *, size).

    Raises:
        RuntimeError: if ``size`` is greater than the dimension's, or ``step`` is not positive.

    Example:
        >>> import jtorch as torch
        >>> torch.unfold_copy(torch.arange(4), 0, 2, 2)
        tensor([[0, 1],
                [2, 3]])
    """
    return _copied("unfold_copy", PUBLIC["Tensor.unfold"](input, dimension, size, step), out)


@composite(operands=("input", "out"))
def unsqueeze_copy(input: Any, dim: int, *, out: Any = None) -> Any:
    """A copy of ``unsqueeze``.

    Shapes: that of ``input``, with a size 1 at ``dim``.

    Raises:
        IndexError: if ``dim`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.unsqueeze_copy(torch.tensor([1, 2]), 0)
        tensor([[1, 2]])
    """
    return _copied("unsqueeze_copy", PUBLIC["unsqueeze"](input, dim), out)


@composite(operands=("input", "out"))
def view_as_complex_copy(input: Any, *, out: Any = None) -> Any:
    """A copy of ``view_as_complex``.

    Shapes: (*, 2) -> (*).

    Raises:
        RuntimeError: if the last dimension is not of size 2, or the tensor is complex.

    Example:
        >>> import jtorch as torch
        >>> torch.view_as_complex_copy(torch.tensor([1.0, 2.0]))
        tensor(1.+2.j)
    """
    return _copied("view_as_complex_copy", PUBLIC["view_as_complex"](input), out)


@composite(operands=("input", "out"))
def view_as_real_copy(input: Any, *, out: Any = None) -> Any:
    """A copy of ``view_as_real``.

    Shapes: (*) -> (*, 2).

    Raises:
        RuntimeError: for real tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.view_as_real_copy(torch.tensor(1 + 2j))
        tensor([1., 2.])
    """
    return _copied("view_as_real_copy", PUBLIC["view_as_real"](input), out)


@composite(operands=("input", "out"))
def view_copy(input: Any, size: tuple[int, ...] | None = None, *, dtype: Any = None, out: Any = None) -> Any:
    """A copy of ``Tensor.view``: another shape, or the same bytes as another dtype.

    Shapes: ``size``.

    Raises:
        RuntimeError: if the tensor's memory does not allow the view.

    Example:
        >>> import jtorch as torch
        >>> torch.view_copy(torch.arange(4), (2, 2))
        tensor([[0, 1],
                [2, 3]])
    """
    if isinstance(size, dtype_class):
        size, dtype = None, size
    if (size is None) == (dtype is None):
        raise TypeError("view_copy() received an invalid combination of arguments: it takes either size or dtype")
    if size is not None and views.viewed(input, tuple(size)) is None:  # a copy has no memory whose strides could forbid the shape
        input = input.contiguous()
    return _copied("view_copy", views.view_(input, dtype if size is None else tuple(size)), out)


# ---- parts of sparse tensors -------------------------------------------------------------------------------------------------------


@composite(operands=("input", "out"))
def indices_copy(input: Any, *, out: Any = None) -> Any:
    """A copy of the indices of a sparse tensor in coordinate format.

    Shapes: (sparse_dim, nnz).

    Raises:
        RuntimeError: for tensors of other layouts.

    Example:
        >>> import jtorch as torch
        >>> torch.indices_copy(torch.eye(2).to_sparse())
        tensor([[0, 1],
                [0, 1]])
    """
    return _copied("indices_copy", input.indices(), out)


@composite(operands=("input", "out"))
def values_copy(input: Any, *, out: Any = None) -> Any:
    """A copy of the values of a sparse tensor.

    Shapes: (nnz, *dense).

    Raises:
        RuntimeError: for dense tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.values_copy(torch.eye(2).to_sparse())
        tensor([1., 1.])
    """
    return _copied("values_copy", input.values(), out)


@composite(operands=("input", "out"))
def crow_indices_copy(input: Any, *, out: Any = None) -> Any:
    """A copy of the compressed row indices of a sparse tensor.

    Raises:
        RuntimeError: for tensors of other layouts than CSR and BSR.

    Example:
        >>> import jtorch as torch
        >>> torch.crow_indices_copy(torch.eye(2).to_sparse_csr())
        tensor([0, 1, 2])
    """
    return _copied("crow_indices_copy", input.crow_indices(), out)


@composite(operands=("input", "out"))
def col_indices_copy(input: Any, *, out: Any = None) -> Any:
    """A copy of the column indices of a sparse tensor with compressed rows.

    Raises:
        RuntimeError: for tensors of other layouts than CSR and BSR.

    Example:
        >>> import jtorch as torch
        >>> torch.col_indices_copy(torch.eye(2).to_sparse_csr())
        tensor([0, 1])
    """
    return _copied("col_indices_copy", input.col_indices(), out)


@composite(operands=("input", "out"))
def ccol_indices_copy(input: Any, *, out: Any = None) -> Any:
    """A copy of the compressed column indices of a sparse tensor.

    Raises:
        RuntimeError: for tensors of other layouts than CSC and BSC.

    Example:
        >>> import jtorch as torch
        >>> torch.ccol_indices_copy(torch.eye(2).to_sparse_csc())
        tensor([0, 1, 2])
    """
    return _copied("ccol_indices_copy", input.ccol_indices(), out)


@composite(operands=("input", "out"))
def row_indices_copy(input: Any, *, out: Any = None) -> Any:
    """A copy of the row indices of a sparse tensor with compressed columns.

    Raises:
        RuntimeError: for tensors of other layouts than CSC and BSC.

    Example:
        >>> import jtorch as torch
        >>> torch.row_indices_copy(torch.eye(2).to_sparse_csc())
        tensor([0, 1])
    """
    return _copied("row_indices_copy", input.row_indices(), out)


# ---- the way back ------------------------------------------------------------------------------------------------------------------


@composite(method=True, operands=("input", "src"))
def slice_inverse(input: Any, src: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    """The tensor of ``src``'s shape of which ``input`` is the slice, as a view of ``input``'s memory.

    Shapes: that of ``src``.

    Raises:
        RuntimeError: if ``input``'s memory does not reach as far as ``src``'s shape.

    Example:
        >>> import jtorch as torch
        >>> x = torch.arange(4)
        >>> torch.slice_inverse(x[1:3], x, 0, 1, 3)
        tensor([0, 1, 2, 3])
    """
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    d = dim % max(src.dim(), 1)
    first = slice(start, end, step).indices(src.shape[d])[0]
    strides = tuple(s // step if i == d else s for i, s in enumerate(input.stride()))
    return PUBLIC["as_strided"](input, tuple(src.shape), strides, input.storage_offset() - first * strides[d])
