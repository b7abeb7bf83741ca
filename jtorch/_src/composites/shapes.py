"""Small functions of shape: at least so many dimensions, sums down to a size, copies of views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...autograd.names import named
from ...core import Tensor
from ..bind.arguments import sizes as whole_sizes
from ..bind.bound import BOUND
from ..bind.cores import composite
from ..facts import dtypes
from ..facts.errors import broadcast_shapes as _broadcast
from ..facts.errors import must_be_tensor
from ..facts.size import Size
from ..ops._facts import schemas
from ..tensor.view_splits import chunk, split, split_with_sizes


def _each(name: str, tensors: tuple[object, ...], raise_to: Callable[..., object]) -> object:
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        return tuple([raise_to(t) for t in tensors[0]])
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise must_be_tensor(name, "tensors", i + 1, t)
    return raise_to(tensors[0]) if len(tensors) == 1 else tuple([raise_to(t) for t in tensors])


@composite(operands=("tensors",), native=False, home="functional", implicit=True)
@schemas("(Tensor self) -> Tensor", ".Sequence(Tensor[] tensors) -> Tensor[]")
def atleast_1d(*tensors: Any) -> Any:
    """Tensors with at least one dimension; 0-dim ones become vectors of one element. Several give a
    tuple.

    Shapes: () -> (1); others stay.

    Example:
        >>> import jtorch as torch
        >>> torch.atleast_1d(torch.tensor(3), torch.tensor([1, 2]))
        (tensor([3]), tensor([1, 2]))
    """
    return _each("atleast_1d", tensors, lambda t: t.reshape(1) if t.dim() == 0 else t)


@composite(operands=("tensors",), native=False, home="functional", implicit=True)
@schemas("(Tensor self) -> Tensor", ".Sequence(Tensor[] tensors) -> Tensor[]")
def atleast_2d(*tensors: Any) -> Any:
    """Tensors with at least two dimensions; vectors become rows. Several give a tuple.

    Shapes: () -> (1, 1), (n) -> (1, n); others stay.

    Example:
        >>> import jtorch as torch
        >>> torch.atleast_2d(torch.tensor([1, 2]))
        tensor([[1, 2]])
    """
    return _each(
        "atleast_2d",
        tensors,
        lambda t: t.reshape(1, 1) if t.dim() == 0 else t.unsqueeze(0) if t.dim() == 1 else t,
    )


def _three(t: Tensor) -> object:
    if t.dim() == 0:
        return t.reshape(1, 1, 1)
    if t.dim() == 1:
        return t.unsqueeze(0).unsqueeze(-1)
    return t.unsqueeze(-1) if t.dim() == 2 else t


@composite(operands=("tensors",), native=False, home="functional", implicit=True)
@schemas("(Tensor self) -> Tensor", ".Sequence(Tensor[] tensors) -> Tensor[]")
def atleast_3d(*tensors: Any) -> Any:
    """Tensors with at least three dimensions: a vector of n becomes (1, n, 1), a matrix (m, n)
    becomes (m, n, 1).

    Shapes: () -> (1, 1, 1), (n) -> (1, n, 1), (m, n) -> (m, n, 1); others stay.

    Example:
        >>> import jtorch as torch
        >>> torch.atleast_3d(torch.tensor([1, 2])).shape
        torch.Size([1, 2, 1])
    """
    return _each("atleast_3d", tensors, _three)


@composite(native=False, home="functional", dispatched="never", ignored=True)
def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that the given shapes broadcast to.

    Raises:
        RuntimeError: if they do not broadcast.

    Example:
        >>> import jtorch as torch
        >>> torch.broadcast_shapes((2, 1), (3,), (1, 1, 1))
        torch.Size([1, 2, 3])
    """
    given = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    for s in given:
        if any(n < 0 for n in s):
            raise RuntimeError(
                f"Trying to create tensor with negative dimension ({min(s)}): ({min(s)})"
            )
    try:
        return Size(_broadcast(*given))
    except RuntimeError:
        raise RuntimeError(
            "Shape mismatch: objects cannot be broadcast to a single shape"
        ) from None


@composite(namespace="Tensor", operands=("self",), implicit=True)
@schemas("(Tensor self, SymInt[] size) -> Tensor")
def sum_to_size(self: Tensor, *sizes: Any, size: Any = None) -> Tensor:
    """The tensor summed over the dimensions along which ``size`` would have to be repeated.

    Shapes: the sizes, spread or in one tuple.

    Raises:
        RuntimeError: if ``size`` does not broadcast to the tensor's shape.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([[1, 2], [3, 4]]).sum_to_size(1, 2)
        tensor([[4, 6]])
    """
    if size is None and not sizes:
        raise TypeError('sum_to_size() missing 1 required positional arguments: "size"')
    given = sizes if size is None else (tuple(size),)
    wanted = whole_sizes(
        "sum_to_size",
        "size",
        given[0] if len(given) == 1 and isinstance(given[0], (list, tuple)) else given,
    )
    if not wanted:
        return self.sum()
    shape = tuple(self.shape)
    lead = len(shape) - len(wanted)
    if lead < 0 or any(n not in (1, m) for n, m in zip(wanted, shape[lead:], strict=True)):
        raise RuntimeError(f"size {{{list(wanted)}}} is not expandable to size {{{list(shape)}}}.")
    dims = [
        *range(lead),
        *[i + lead for i, n in enumerate(wanted) if n == 1 and shape[i + lead] != 1],
    ]
    if not dims:
        return self
    found = self.sum(dims, keepdim=True)
    return found.reshape(wanted) if lead else found


@composite(method=True, operands=("input",), implicit=True)
@schemas("(Tensor self, int chunks, int dim=0) -> Tensor[]")
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> Any:
    """``chunk`` whose parts are no views, so that they may be changed in place without rules.

    Shapes: as ``chunk``.

    Raises:
        RuntimeError: as ``chunk``.

    Example:
        >>> import jtorch as torch
        >>> torch.unsafe_chunk(torch.arange(3), 2)
        (tensor([0, 1]), tensor([2]))
    """
    return named(tuple([t.clone() for t in chunk(input, chunks, dim)]), "UnsafeSplitBackward0")


@composite(method=True, operands=("input",))
@schemas(
    ".Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
    ".Tensor_out(Tensor self, SymInt split_size, int dim=0, *, Tensor(a!)[] out) -> ()",
)
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> Any:
    """``split`` whose parts are no views.

    Shapes: as ``split``.

    Raises:
        RuntimeError: as ``split``.

    Example:
        >>> import jtorch as torch
        >>> torch.unsafe_split(torch.arange(3), 2)
        (tensor([0, 1]), tensor([2]))
    """
    return named(tuple([t.clone() for t in split(input, split_size, dim)]), "UnsafeSplitBackward0")


@composite(method=True, operands=("input",))
@schemas(
    "(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
    ".out(Tensor self, SymInt[] split_sizes, int dim=0, *, Tensor(a!)[] out) -> ()",
)
def unsafe_split_with_sizes(input: Tensor, split_sizes: tuple[int, ...], dim: int = 0) -> Any:
    """``split_with_sizes`` whose parts are no views.

    Shapes: as ``split_with_sizes``.

    Raises:
        RuntimeError: as ``split_with_sizes``.

    Example:
        >>> import jtorch as torch
        >>> torch.unsafe_split_with_sizes(torch.arange(3), [1, 2])
        (tensor([0]), tensor([1, 2]))
    """
    return named(
        tuple([t.clone() for t in split_with_sizes(input, split_sizes, dim)]),
        "UnsafeSplitWithSizesBackward0",
    )


@composite(operands=("input",), ignored=True)
@schemas(".Scalar ; _ =Scalar_out", ".Tensor(Tensor self, Tensor value) -> Tensor ; _ =Tensor_out")
def fill(input: Tensor, value: Any) -> Any:
    """A tensor like ``input`` with ``value`` everywhere.

    Shapes: that of ``input``.

    Raises:
        RuntimeError: if ``value`` is a tensor with dimensions, or complex for a real tensor.

    Example:
        >>> import jtorch as torch
        >>> torch.fill(torch.tensor([1, 2]), 7)
        tensor([7, 7])
    """
    return named(
        BOUND["clone"].core(input).fill_(value),
        f"FillBackward{1 if isinstance(value, Tensor) else 0}",
    )


@composite(operands=("input",))
def zero_(input: Tensor) -> Tensor:
    """Writes zero everywhere.

    Raises:
        RuntimeError: while operations are recorded, for a leaf that requires grad.

    Example:
        >>> import jtorch as torch
        >>> torch.zero_(torch.tensor([1, 2]))
        tensor([0, 0])
    """
    return input.zero_()


@composite(operands=("indices",), native=False, home="functional")
def unravel_index(indices: Any, shape: Any) -> Any:
    """Where flat positions lie in a tensor of ``shape``: a tensor of coordinates for each
    dimension.

    Shapes: indices (*A) -> ``len(shape)`` tensors (*A).

    Raises:
        TypeError: unless ``indices`` are integers and ``shape`` is a number or a sequence of them.
        ValueError: for negative sizes.

    Example:
        >>> import jtorch as torch
        >>> torch.unravel_index(torch.tensor([1, 5]), (2, 3))
        (tensor([0, 1]), tensor([1, 2]))
    """
    if indices.is_complex() or indices.is_floating_point() or indices.dtype is dtypes.bool_:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    sizes = (shape,) if isinstance(shape, int) else shape
    if not isinstance(sizes, Sequence):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    for n in sizes:
        if not isinstance(n, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    indices = indices.long()
    found = []
    step = 1
    for n in reversed(sizes):
        found.append(
            (indices if step == 1 else indices.div(step, rounding_mode="floor")).remainder(
                max(n, 1)
            )
        )
        step *= n or 1
    return tuple(reversed(found))
