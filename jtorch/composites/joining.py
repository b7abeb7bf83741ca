"""Functions that join, spread or pick out elements and are written with other public functions."""

from __future__ import annotations

import warnings
from typing import Any

from ..binding import composite
from ..core import Tensor
from ..errors import broadcast_shapes, canonical_dim, must_be_tensor
from ..functional import _C
from ..indexing import _as_positions


def _tensors(name: str, tensors: tuple[Any, ...]) -> tuple[Any, ...]:
    """Tensors given spread or as one sequence."""
    found = tuple(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    for position, t in enumerate(found):
        if not isinstance(t, Tensor):
            raise must_be_tensor(name, "tensors", position + 1, t)
    return found


@composite(lists=("tensors",), native=False)
def broadcast_tensors(*tensors: Any) -> Any:
    """Views of all tensors in the shape that they broadcast to.

    Raises:
        RuntimeError: if they do not broadcast.
    """
    found = _tensors("broadcast_tensors", tensors)
    shape = broadcast_shapes(*(t.shape for t in found))
    return tuple(t.expand(shape) for t in found)


@composite(lists=("tensors",), native=False)
def meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    """Coordinate grids of vectors: tensor ``i`` varies along dimension ``i``; with ``indexing="xy"`` the first two are exchanged.

    Raises:
        RuntimeError: if the dtypes differ, an operand has more than one dimension, or ``indexing`` is unknown.
    """
    found = _tensors("meshgrid", tensors)
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.", UserWarning, stacklevel=4
        )
    if not found:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in found:
        if t.dim() > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {list(t.shape)}")
    if len({t.dtype for t in found}) > 1:
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if len({t.device for t in found}) > 1:
        raise RuntimeError("meshgrid expects all tensors to have the same device")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    swapped = indexing == "xy" and len(found) > 1
    if swapped:
        found = (found[1], found[0], *found[2:])
    shape = tuple(t.numel() for t in found)
    grids = [t.reshape((1,) * i + (t.numel(),) + (1,) * (len(found) - 1 - i)).expand(shape) for i, t in enumerate(found)]
    if swapped:
        grids = [grids[1].transpose(0, 1), grids[0].transpose(0, 1), *(g.transpose(0, 1) for g in grids[2:])]
    return tuple(grids)


@composite(method=True, operands=("input", "repeats"))
def repeat_interleave(input: Any, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None) -> Any:
    """Repeats every slice along ``dim`` (every element of the flattened tensor without it), each as often as ``repeats`` says.

    With ``input`` alone, it holds the repeats, and the result the positions ``0, 1, ...`` so often. Repeats in a tensor are read on the
    host, unless ``output_size`` tells how many slices there will be.

    Raises:
        RuntimeError: if repeats are negative, or are not as many as slices.
    """
    if repeats is None:
        return _C._repeat_positions(input) if output_size is None else _C._repeat_positions_sized(input, output_size)
    if dim is None:
        input, dim = input.reshape(-1), 0
    if not isinstance(repeats, Tensor):
        result = _C._repeat_interleave_each(input, repeats, dim)
        size = result.shape[canonical_dim(dim, result.dim())]
        if output_size is not None and output_size != size:
            raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {size} but got {output_size}")
        return result
    size = input.size(dim)
    if repeats.dim() == 0 or (repeats.dim() == 1 and repeats.numel() == 1):
        repeats = repeats.reshape(1).expand(size)
    elif repeats.dim() == 1 and repeats.numel() != size:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {repeats.numel()} and input.size({dim}) = {size}"
        )
    positions = _C._repeat_positions(repeats) if output_size is None else _C._repeat_positions_sized(repeats, output_size)
    return _C.index_select(input, dim, positions) if hasattr(_C, "index_select") else input.index_select(dim, positions)


@composite(namespace="nn.functional", operands=("input",))
def one_hot(input: Any, num_classes: int = -1) -> Any:
    """int64 rows that are 1 at the class and 0 elsewhere. Without ``num_classes`` the largest class is read on the host.

    Raises:
        RuntimeError: if the classes are no int64 tensor, negative, or not below ``num_classes``.
    """
    if str(input.dtype) != "torch.int64":
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if input.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return _C._one_hot(input, num_classes)
    if num_classes == -1:
        if int(input.min()) < 0:
            raise RuntimeError("Class values must be non-negative.")
        num_classes = int(input.max()) + 1
    elif num_classes <= 0:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return _C._one_hot(input, num_classes)


@composite(method=True, operands=("input", "mask"))
def masked_select(input: Any, mask: Any, *, out: Any = None) -> Any:
    """The elements of ``input`` where ``mask`` is true, as a vector. The shape depends on values, so the mask is read on the host.

    Raises:
        RuntimeError: if the mask is not bool or does not broadcast with ``input``.
    """
    if str(mask.dtype) != "torch.bool":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = broadcast_shapes(mask.shape, input.shape)
    ndim = max(len(shape), 1)
    found = _C._index_flat(input.expand(shape).reshape(shape or (1,)), _C.index_by_mask(mask.expand(shape)), 0, ndim)
    return found if out is None else _written("masked_select", found, out)


def _written(name: str, result: Any, out: Any) -> Any:
    from ..applying import write_out

    return write_out(result, out, name)


@composite(method=True, operands=("input", "values"), lists=("indices",), inplace=True)
def index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """``input`` with ``values`` written, or added if ``accumulate``, at the positions that the tensors ``indices`` mean together.

    Raises:
        IndexError: if the indices do not fit or a position is out of range.
        RuntimeError: if dtypes differ or ``values`` do not broadcast to the indexed shape.
    """
    for position, index in enumerate(indices):
        if not isinstance(index, Tensor):
            raise TypeError(f"expected Tensor as element {position} in argument 1, but got {type(index).__name__}")
    advanced, dim = [], 0
    for index in indices:
        advanced.append((dim, index))
        dim += max(index.dim(), 1) if str(index.dtype) in ("torch.bool", "torch.uint8") else 1
    if dim > input.dim():
        raise IndexError(f"too many indices for tensor of dimension {input.dim()} (got {dim})")
    if values.dtype is not input.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, "
            f"got {input.dtype.scalar_name} for the destination and {values.dtype.scalar_name} for the source."
        )
    return _C._index_put(input, _as_positions(input, advanced), values, accumulate)
