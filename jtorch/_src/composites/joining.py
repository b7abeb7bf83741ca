"""Functions that join or spread tensors and are written with other public functions."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ...core import Tensor
from ..bind.arguments import whole
from ..bind.cores import composite
from ..bind.everything import _C
from ..facts.errors import broadcast_shapes, canonical_dim, must_be_tensor
from ..facts.warned_once import outside
from ..ops._facts import schemas

if TYPE_CHECKING:
    from ..facts.kinds import Operand


def _tensors(name: str, tensors: tuple[object, ...]) -> tuple[Operand, ...]:
    """Tensors given spread or as one sequence."""
    found = (
        tuple(tensors[0])
        if len(tensors) == 1 and isinstance(tensors[0], (list, tuple))
        else tensors
    )
    for position, t in enumerate(found):
        if not isinstance(t, Tensor):
            raise must_be_tensor(name, "tensors", position + 1, t)
    return found


@composite(lists=("tensors",), native=False, home="functional", implicit=True)
@schemas("(Tensor[] tensors) -> Tensor[]")
def broadcast_tensors(*tensors: Any) -> Any:
    """Views of all tensors in the shape that they broadcast to; those that have it already
    themselves.

    Shapes: any that broadcast -> all of the common one.

    Raises:
        RuntimeError: if they do not broadcast.

    Example:
        >>> import jtorch as torch
        >>> torch.broadcast_tensors(torch.tensor([1, 2]), torch.tensor([[3], [4]]))
        (tensor([[1, 2],
                [1, 2]]), tensor([[3, 3],
                [4, 4]]))
    """
    found = _tensors("broadcast_tensors", tensors)
    shape = broadcast_shapes(*(t.shape for t in found))
    return tuple(t if tuple(t.shape) == tuple(shape) else t.expand(shape) for t in found)


@composite(operands=("tensors",), native=False, home="functional", implicit=True)
@schemas(
    "(Tensor[] tensors) -> Tensor[]", ".indexing(Tensor[] tensors, *, str indexing) -> Tensor[]"
)
def meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    """Coordinate grids of vectors: tensor ``i`` varies along dimension ``i``; with
    ``indexing="xy"`` the first two are exchanged.

    Args:
        tensors: tensors of one dimension, spread or in one sequence.
        indexing: ``"ij"``, or ``"xy"`` to exchange the first two dimensions.

    Shapes: vectors of n, m, ... elements (or numbers) -> as many tensors (n, m, ...); (m, n, ...)
    for ``"xy"``.

    Raises:
        RuntimeError: if the dtypes differ, an operand has more than one dimension, or ``indexing``
            is unknown.

    Example:
        >>> import jtorch as torch
        >>> x, y = torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4, 5]), indexing="ij")
        >>> x
        tensor([[1, 1, 1],
                [2, 2, 2]])
        >>> y
        tensor([[3, 4, 5],
                [3, 4, 5]])
    """
    found = _tensors("meshgrid", tensors)
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing "
            "argument.",
            UserWarning,
            stacklevel=outside(),
        )
    if not found:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in found:
        if t.dim() > 1:
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: "
                f"{list(t.shape)}"
            )
    if len({t.dtype for t in found}) > 1:
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if len({t.device for t in found}) > 1:
        raise RuntimeError("meshgrid expects all tensors to have the same device")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    places = list(range(len(found)))  # the dimension that each tensor varies along
    if indexing == "xy" and len(found) > 1:
        places[:2] = 1, 0
    shape = tuple(found[places.index(d)].numel() for d in range(len(found)))
    return tuple(
        t.reshape(tuple(-1 if d == place else 1 for d in range(len(found)))).expand(shape)
        for t, place in zip(found, places)
    )


@composite(
    method=True,
    operands=("input", "repeats"),
    implicit=("repeat_interleave.self_Tensor", "repeat_interleave.self_int"),
    unsaid=("input", "repeats"),
)
@schemas(
    ".Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor ; =Tensor_out",
    ".self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> "
    "Tensor",
    ".self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor",
)
def repeat_interleave(
    input: Any = None,
    repeats: Any = None,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Tensor:
    """Repeats every slice along ``dim`` (every element of the flattened tensor without it), each as
    often as ``repeats`` says.

    With ``input`` alone, it holds the repeats, and the result the positions ``0, 1, ...`` so often.
    Repeats in a tensor are read on the host, unless ``output_size`` tells how many slices there
    will be.

    Args:
        input: the tensor; or, alone, the numbers of repeats, of which the repeated places are
            given.
        repeats: how often each element is repeated: a number, or one for each.
        dim: the dimension to repeat along; the flattened tensor if it is None.
        output_size: the size of the result, where it is known.

    Shapes: that of ``input``, with the sum of the repeats in place of size ``dim``; without ``dim``
    one dimension.

    Raises:
        RuntimeError: if repeats are negative, or are not as many as slices.

    Example:
        >>> import jtorch as torch
        >>> torch.repeat_interleave(torch.tensor([1, 2]), 2)
        tensor([1, 1, 2, 2])
        >>> torch.repeat_interleave(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, 2]), dim=0)
        tensor([[3, 4],
                [3, 4]])
    """
    if input is None:
        input, repeats = repeats, None
    if repeats is None:
        return (
            _C._repeat_positions(input)
            if output_size is None
            else _C._repeat_positions_sized(input, output_size)
        )
    if dim is None:
        input, dim = input.reshape(-1), 0
    if not isinstance(repeats, Tensor):
        repeats = whole("repeat_interleave", "repeats", repeats)
        result = _C._repeat_interleave_each(input, repeats, dim)
        size = result.shape[canonical_dim(dim, result.dim())]
        if output_size is not None and output_size != size:
            raise RuntimeError(
                f"repeat_interleave: Invalid output_size, expected {size} but got {output_size}"
            )
        return result
    size = input.size(dim)
    if repeats.dim() == 0 or (repeats.dim() == 1 and repeats.numel() == 1):
        repeats = repeats.reshape(1).expand(size)
    elif repeats.dim() == 1 and repeats.numel() != size:
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got repeats.size(0) = "
            f"{repeats.numel()} and input.size({dim}) = {size}"
        )
    positions = (
        _C._repeat_positions(repeats)
        if output_size is None
        else _C._repeat_positions_sized(repeats, output_size)
    )
    return input.index_select(dim, positions)
