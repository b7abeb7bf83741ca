"""Functions that read or write by position and are written with other public functions."""

from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import MODE
from ...autograd.names import named
from ...core import Tensor, alias_of, from_value
from ..bind.cores import composite, facts_of
from ..bind.everything import _C
from ..facts import dtypes
from ..facts.errors import broadcast_shapes, type_name
from ..facts.layouts import preserve_format
from ..ops._derivatives import A, D, derivative
from ..ops._facts import schemas
from ..tensor.aliases import lazy_bits
from ..tensor.indexing import as_positions, mask_of_bytes
from ..tensor.overwriting import in_a_copy
from ..tensor.running import write_out
from ..tensor.views import _slice


@composite(namespace="nn.functional", operands=("input",), dispatched="in parts")
@schemas(".")
def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """int64 rows that are 1 at the class and 0 elsewhere. Without ``num_classes`` the largest class
    is read on the host.

    Args:
        input: class numbers: a tensor of int64.
        num_classes: how many classes; one more than the largest number if it is -1.

    Shapes: input (*A) -> (*A, num_classes).

    Dtypes: int64 -> int64.

    Raises:
        RuntimeError: if the classes are no int64 tensor, negative, or not below ``num_classes``.

    Example:
        >>> import jtorch as torch
        >>> torch.nn.functional.one_hot(torch.tensor([0, 2, 1]))
        tensor([[1, 0, 0],
                [0, 0, 1],
                [0, 1, 0]])
    """
    if input.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if input.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return _filled(_C._one_hot(input, num_classes))
    if num_classes == -1:
        if int(input.min()) < 0:
            raise RuntimeError("Class values must be non-negative.")
        num_classes = int(input.max()) + 1
    elif num_classes <= 0:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return _filled(_C._one_hot(input, num_classes))


def _filled(rows: Tensor) -> Tensor:
    """Rows as torch makes them: zeros that are changed twice."""
    rows._ver += 2
    return rows


@composite(
    method=True,
    operands=("input", "mask"),
    out_dtype="masked_select(): self and result must have the same scalar type",
)
@schemas(".")
def masked_select(input: Tensor, mask: Tensor, *, out: Any = None) -> Any:
    """The elements of ``input`` where ``mask`` is true, as a vector. The shape depends on values,
    so the mask is read on the host.

    Shapes: input and mask that broadcast -> (n), n the number of true elements.

    Raises:
        RuntimeError: if the mask is not bool or does not broadcast with ``input``.

    Example:
        >>> import jtorch as torch
        >>> torch.masked_select(torch.tensor([1, -2, 3]), torch.tensor([True, False, True]))
        tensor([1, 3])
    """
    if mask.dtype is not dtypes.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    if input._aval.shape == mask._aval.shape != ():
        found = _C._index_flat(input, _C.index_by_mask(mask), 0, input._aval.ndim)
    else:
        shape = broadcast_shapes(mask.shape, input.shape)
        found = _C._index_flat(
            input.expand(shape).reshape(shape or (1,)),
            _C.index_by_mask(mask.expand(shape)),
            0,
            max(len(shape), 1),
        )
    named(found, "MaskedSelectBackward0")
    return (
        found
        if out is None
        else write_out(
            found, out, "masked_select", (input, mask), True, facts=facts_of(masked_select)
        )
    )


def _masked_select_formula(g: object, self: Tensor, mask: Tensor) -> object:
    whole = A.expand.default(self, list(broadcast_shapes(self._aval.shape, mask._aval.shape)))
    return A.masked_scatter.default(
        A.zeros_like.default(whole, memory_format=preserve_format), mask, g
    )


derivative(A.masked_select, self=_masked_select_formula)


@composite(
    method=True,
    operands=("input", "values"),
    lists=("indices",),
    inplace="unshared",
    repeats="tensor[indices] = tensor",
    refused_as="name",
    autocast="cuda widest",
)
@schemas(
    "(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor ; _ =out"
)
def index_put(input: Tensor, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    """``input`` with ``values`` written, or added if ``accumulate``, at the positions that the
    tensors ``indices`` mean together.

    Shapes: that of ``input``; ``values`` broadcast to that of ``input[indices]``.

    Dtypes: ``values`` of that of ``input``; indices int64, int32, bool or uint8.

    Raises:
        IndexError: if the indices do not fit or a position is out of range.
        RuntimeError: if dtypes differ or ``values`` do not broadcast to the indexed shape.

    Example:
        >>> import jtorch as torch
        >>> x = torch.zeros(3, dtype=torch.int64)
        >>> x.index_put((torch.tensor([0, 2, 2]),), torch.tensor([1, 2, 3]), accumulate=True)
        tensor([1, 0, 5])
    """
    if not isinstance(indices, (tuple, list)):
        raise TypeError(
            "index_put(): argument 'indices' (position 2) must be tuple of Tensors, not "
            f"{type_name(indices)}"
        )
    for position, index in enumerate(indices):
        if not isinstance(index, Tensor):
            raise TypeError(
                f"expected Tensor as element {position} in argument 1, but got "
                f"{type(index).__name__}"
            )
    advanced, dim = [], 0
    for index in [mask_of_bytes(i) if i.dtype is dtypes.uint8 else i for i in indices]:
        advanced.append((dim, index))
        dim += max(index.dim(), 1) if index.dtype is dtypes.bool_ else 1
    if dim > input.dim():
        raise IndexError(f"too many indices for tensor of dimension {input.dim()} (got {dim})")
    positions = as_positions(input, advanced)
    room = (
        input.dim() - len(positions) + max((p.dim() for p in positions if p is not None), default=0)
    )
    if values.dim() > room:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to "
            f"indexing result of shape {list(input[tuple(indices)].shape)}"
        )
    # what is written with brackets converts it
    if not values.dim() and values.dtype is not input.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{input.dtype.scalar_name} for the destination and {values.dtype.scalar_name} for the "
            "source."
        )
    return _C._index_put(input, positions, values, accumulate)


derivative(
    A.index_put,
    self=lambda g, indices, values_, accumulate: (
        g if accumulate else A.index_put.default(g, indices, D.made_zeros(values_.shape, g))
    ),
    values=lambda g, indices: A.index.Tensor(g, indices),
)


def _over(part: Tensor, src: Tensor, result: Tensor, name: str) -> Tensor:
    """``result`` after ``src`` was written over its view ``part``, with a node of that name."""
    if src.shape != part.shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src.shape)}, slice size = {list(part.shape)}"
        )
    if not (part._rg or src._rg or result._strides or MODE.inference or any(lazy_bits(src))):
        found = in_a_copy(alias_of(part), src._v or src._read())
        if found is not None and found.aval is result._aval:
            return from_value(found)
    part.copy_(src)
    if (counter := alias_of(result).counter).n > 0:
        counter.n = 0  # nobody has seen the result before
    return named(result, name)


@composite(method=True, operands=("input", "src"))
@schemas("(Tensor self, Tensor src, int dim, SymInt index) -> Tensor ; =out")
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of ``input`` with ``src`` in place of ``input.select(dim, index)``.

    Shapes: that of ``input``; ``src`` lacks dimension ``dim``.

    Raises:
        RuntimeError: if ``src`` has another shape than the slice.
        IndexError: if ``dim`` or ``index`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.select_scatter(torch.zeros(2, 2), torch.tensor([1.0, 2.0]), 0, 1)
        tensor([[0., 0.],
                [1., 2.]])
    """
    result = input.clone()
    return _over(result.select(dim, index), src, result, "SelectScatterBackward0")


derivative(
    A.select_scatter,
    self=lambda g, src_, dim, index: A.select_scatter.default(
        g, D.made_zeros(src_.shape, g), dim, index
    ),
    src=lambda g, dim, index: A.select.int(g, dim, index),
)


@composite(method=True, operands=("input", "src", "out"))
@schemas(
    "(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> "
    "Tensor ; =out"
)
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
    *,
    out: Any = None,
) -> Any:
    """A copy of ``input`` with ``src`` in place of the elements ``start:end:step`` of dimension
    ``dim``.

    Shapes: that of ``input``; ``src`` has that of the slice.

    Raises:
        RuntimeError: if ``src`` has another shape than the slice, or ``step`` is not positive.

    Example:
        >>> import jtorch as torch
        >>> torch.slice_scatter(torch.zeros(5), torch.tensor([1.0, 2.0]), 0, 1, 5, 2)
        tensor([0., 1., 0., 2., 0.])
    """
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    result = input.clone()
    found = _over(_slice(result, dim, start, end, step), src, result, "SliceScatterBackward0")
    return found if out is None else write_out(found, out, "slice_scatter")


derivative(
    A.slice_scatter,
    self=lambda g, src_, dim, start, end, step: A.slice_scatter.default(
        g, D.made_zeros(src_.shape, g), dim, start, end, step
    ),
    src=lambda g, dim, start, end, step: A.slice.Tensor(g, dim, start, end, step),
)


@composite(method=True, operands=("input", "src"))
@schemas(". ; =out")
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """A copy of ``input`` with ``src`` in place of ``input.diagonal(offset, dim1, dim2)``.

    Shapes: that of ``input``; ``src`` has that of the diagonal.

    Raises:
        RuntimeError: if ``src`` has another shape than the diagonal.

    Example:
        >>> import jtorch as torch
        >>> torch.diagonal_scatter(torch.zeros(2, 2), torch.tensor([1.0, 2.0]))
        tensor([[1., 0.],
                [0., 2.]])
    """
    result = input.clone()
    return _over(result.diagonal(offset, dim1, dim2), src, result, "DiagonalScatterBackward0")


derivative(
    A.diagonal_scatter,
    self=lambda g, src_, offset, dim1, dim2: A.diagonal_scatter.default(
        g, D.made_zeros(src_.shape, g), offset, dim1, dim2
    ),
    src=lambda g, offset, dim1, dim2: A.diagonal.default(g, offset, dim1, dim2),
)


@composite(method=True, operands=("input", "src"))
@schemas(
    "(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> "
    "Tensor ; =out"
)
def as_strided_scatter(
    input: Tensor,
    src: Tensor,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    storage_offset: int | None = None,
) -> Tensor:
    """A copy of ``input`` with ``src`` in place of ``input.as_strided(size, stride,
    storage_offset)``.

    Shapes: that of ``input``; ``src`` is of ``size``.

    Raises:
        RuntimeError: if ``src`` is of another size, or the strides reach beyond the memory.

    Example:
        >>> import jtorch as torch
        >>> torch.as_strided_scatter(torch.zeros(4), torch.tensor([1.0, 2.0]), (2,), (2,), 1)
        tensor([0., 1., 0., 2.])
    """
    result = input.clone()
    return _over(
        result.as_strided(size, stride, storage_offset), src, result, "AsStridedScatterBackward0"
    )
