"""View ops: how to read a view from its parent, how to write it back, and what becomes of strides and offset.

Each op has three parts: the kernel that reads, a ``put`` kernel that gives the parent with the view replaced, and a geometry function on
Python integers: ``geometry(shape, strides, *arguments) -> (strides, offset to add)``, in elements.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..engine import limits
from ..facts.errors import canonical_dim, canonical_dims
from ..facts.size import less
from ._declare import Array, Number, Op, defvjp, find, op
from ._facts import schemas

Ints = tuple[int, ...]


@dataclasses.dataclass(eq=False, slots=True)
class View:
    """The parts of a view op.

    ``put`` is None where the view repeats elements: it is then written by its strides. ``geometric`` is False where the dtype or the values
    change. ``bits`` says what becomes of the pair (conjugate bit, negative bit) and raises where torch refuses one that is set; None: kept.
    ``repeats`` says of the view's arguments whether its elements share memory, so that parts of it must be written by their strides, too.
    """

    op: Op
    put: Callable[..., Any] | None
    geometry: Callable[..., tuple[Ints, int] | None]
    geometric: bool = True
    bits: Callable[[bool, bool], tuple[bool, bool]] | None = None
    repeats: Callable[..., bool] | None = None


VIEWS: dict[str, View] = {}


def view(
    put: Callable[..., Any] | None,
    geometry: Callable[..., tuple[Ints, int] | None],
    *,
    geometric: bool = True,
    bits: Callable[[bool, bool], tuple[bool, bool]] | None = None,
    repeats: Callable[..., bool] | None = None,
    **options: Any,
) -> Callable[[Any], Any]:
    """Declares a view op from its kernel, with the other parts."""

    def declare(body: Any) -> Any:
        body = op(family="view", saves=(), **options)(body)
        record = find(body)
        VIEWS[record.path] = View(record, put, geometry, geometric, bits, repeats)
        return body

    return declare


def contiguous_strides(shape: Sequence[int]) -> Ints:
    """Row-major strides."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * max(shape[i + 1], 1)
    return tuple(strides)


# ---- sizes -----------------------------------------------------------------------------------------------------------------------


def infer_size(shape: Sequence[int], numel: int) -> Ints:
    """``shape`` with a -1 replaced so that it has ``numel`` elements.

    Raises:
        RuntimeError: in torch's words, if there is no such size.
    """
    known = 1
    at = None
    for i, n in enumerate(shape):
        if n == -1:
            if at is not None:
                raise RuntimeError("only one dimension can be inferred")
            at = i
        elif n < 0:
            raise RuntimeError(f"invalid shape dimension {n} at index {i} of shape {list(shape)}")
        else:
            known *= n
    if known == numel and at is None:
        return tuple(shape)
    if at is not None and known > 0 and numel % known == 0:
        return tuple(numel // known if i == at else n for i, n in enumerate(shape))
    if at is not None and known == 0 and numel == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 can be any "
            "value and is ambiguous"
        )
    raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")


def view_strides(shape: Ints, strides: Ints, new_shape: Ints) -> Ints | None:
    """Strides of the same memory seen in another shape, or None if that is impossible without a copy."""
    if 0 in shape:
        return strides if shape == new_shape else contiguous_strides(new_shape)
    found = [0] * len(new_shape)
    at = len(new_shape) - 1
    chunk_stride = strides[-1] if strides else 1
    old = new = 1
    for i in range(len(shape) - 1, -1, -1):
        old *= shape[i]
        if i == 0 or (shape[i - 1] != 1 and strides[i - 1] != old * chunk_stride):
            while at >= 0 and (less(new, old) or new_shape[at] == 1):
                found[at] = new * chunk_stride
                new *= new_shape[at]
                at -= 1
            if new != old:
                return None
            if i > 0:
                chunk_stride = strides[i - 1]
                old = new = 1
    while at >= 0:  # a 0-dim tensor has no chunk: the new dimensions are all of size 1
        found[at] = 1
        at -= 1
    return tuple(found)


# ---- shape -----------------------------------------------------------------------------------------------------------------------


def _put_reshape(parent: Array, value: Array, *_: Any) -> Array:
    return value.reshape(parent.shape)


def _geometry_reshape(shape: Ints, strides: Ints, new_shape: Ints) -> tuple[Ints, int] | None:
    found = view_strides(shape, strides, infer_size(new_shape, math.prod(shape)))
    return None if found is None else (found, 0)


@view(_put_reshape, _geometry_reshape, namespace="Tensor", name="_view_shape", aten="view.default", node="ViewBackward0")
def _view_shape(input: Array, size: tuple[int, ...]) -> Array:
    """A view of the same memory in another shape: what ``Tensor.view``, ``reshape``, ``flatten`` and others come to.

    Shapes: input (*) -> ``size``, of as many elements.
    Dtypes: any -> the same.

    Example:
        >>> import jtorch as torch
        >>> torch.arange(4)._view_shape((2, 2))
        tensor([[0, 1],
                [2, 3]])
    """
    return input.reshape(infer_size(size, input.size))


@op(namespace="_C", name="_unsafe_view", saves=(), aten="_unsafe_view")
@schemas("(Tensor self, SymInt[] size) -> Tensor ; =out")
def _unsafe_view(input: Array, size: tuple[int, ...]) -> Array:
    """A copy in another shape."""
    return input.reshape(size)


defvjp(_unsafe_view, lambda g, result, input, size: (g.reshape(input.shape),), saves=())


def _put_whole(parent: Array, value: Array) -> Array:
    return value


def geometry_same(shape: Ints, strides: Ints) -> tuple[Ints, int]:
    """Strides and offset of a view that shows the elements where they are."""
    return strides, 0


@view(_put_whole, geometry_same, namespace="_C", name="_detach", method=False, differentiable=False, aten="detach.default")
def _detach(input: Array) -> Array:
    """The same memory, through which no derivative passes (``Tensor.detach`` inside a transformation)."""
    return lax.stop_gradient(input)


def _geometry_unsqueeze(shape: Ints, strides: Ints, dim: int) -> tuple[Ints, int]:
    at = canonical_dim(dim, len(shape) + 1)
    stride = strides[at] * shape[at] if at < len(shape) else 1
    return (*strides[:at], stride, *strides[at:]), 0


@view(_put_reshape, _geometry_unsqueeze, inplace=True, aten="unsqueeze.default")
def unsqueeze(input: Array, dim: int) -> Array:
    """Inserts a dimension of size 1 before position ``dim``; a view.

    Args:
        input: the tensor.
        dim: where the dimension goes, from ``-input.dim() - 1`` to ``input.dim()``.

    Shapes: (*A, *B) -> (*A, 1, *B).

    Dtypes: any, kept.

    Raises:
        IndexError: if ``dim`` is not in ``[-input.dim() - 1, input.dim()]``.

    Example:
        >>> import jtorch as torch
        >>> torch.unsqueeze(torch.tensor([1, 2]), 1)
        tensor([[1],
                [2]])
    """
    return lax.expand_dims(input, (canonical_dim(dim, input.ndim + 1),))


def _squeezed(shape: Ints, dim: int | Ints | None) -> Ints:
    if dim is None:
        return tuple(i for i, n in enumerate(shape) if n == 1)
    dims = canonical_dims(dim, len(shape), empty_is_all=False)
    return tuple(i for i in dims if shape[i] == 1)


def _geometry_squeeze(shape: Ints, strides: Ints, dim: int | Ints | None = None) -> tuple[Ints, int]:
    gone = _squeezed(shape, dim)
    return tuple(s for i, s in enumerate(strides) if i not in gone), 0


@view(
    _put_reshape,
    _geometry_squeeze,
    inplace=True,
    aten="squeeze.dim",
    node=lambda made: f"SqueezeBackward{ {type(None): 0, int: 1}.get(type(made.given('dim')), 2) }",
)
@schemas(
    "(Tensor(a) self) -> Tensor(a) ; _",
    ".dim(Tensor(a) self, int dim) -> Tensor(a) ; _",
    ".dims(Tensor(a) self, int[] dim) -> Tensor(a) ; _",
)
def squeeze(input: Array, dim: int | tuple[int, ...] | None = None) -> Array:
    """Removes dimensions of size 1: all, or those named by ``dim`` (others stay); a view.

    Args:
        input: the tensor.
        dim: the dimension, or several in a tuple, to remove if their size is 1; None for all such.

    Shapes: the input's without those dimensions of size 1.

    Dtypes: any, kept.

    Raises:
        IndexError: if a dimension is out of range.
        RuntimeError: if one is given twice.

    Example:
        >>> import jtorch as torch
        >>> torch.squeeze(torch.zeros(1, 2, 1)).shape
        torch.Size([2])
        >>> torch.squeeze(torch.zeros(1, 2, 1), 0).shape
        torch.Size([2, 1])
    """
    return lax.squeeze(input, _squeezed(input.shape, dim))


# ---- order -----------------------------------------------------------------------------------------------------------------------


def _order(ndim: int, dims: Ints) -> Ints:
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
            "dimensions "
            f"i.e. input.dim() = {ndim} is not equal to len(dims) = {len(dims)}"
        )
    found = tuple(canonical_dim(d, ndim) for d in dims)
    if len(set(found)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return found


def _put_permute(parent: Array, value: Array, dims: Ints) -> Array:
    return jnp.transpose(value, tuple(int(i) for i in np.argsort(_order(parent.ndim, dims))))


def _geometry_permute(shape: Ints, strides: Ints, dims: Ints) -> tuple[Ints, int]:
    return tuple(strides[i] for i in _order(len(shape), dims)), 0


@view(_put_permute, _geometry_permute, varargs="dims", aten="permute.default")
def permute(input: Array, dims: tuple[int, ...]) -> Array:
    """Reorders the dimensions; a view.

    Args:
        args: the dimensions in their new order, spread or in one tuple.
        kwargs: ``dims`` by name.

    Shapes: the input's sizes in the order of ``dims``.

    Dtypes: any, kept.

    Raises:
        RuntimeError: if ``dims`` is no permutation of the dimensions.
        IndexError: if one is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.permute(torch.zeros(2, 3, 4), (2, 0, 1)).shape
        torch.Size([4, 2, 3])
    """
    return jnp.transpose(input, _order(input.ndim, dims))


def _put_transpose(parent: Array, value: Array, dim0: int, dim1: int) -> Array:
    return transpose(value, dim0, dim1)


def _geometry_transpose(shape: Ints, strides: Ints, dim0: int, dim1: int) -> tuple[Ints, int]:
    a, b = canonical_dim(dim0, len(shape)), canonical_dim(dim1, len(shape))
    found = list(strides)
    if found:
        found[a], found[b] = found[b], found[a]
    return tuple(found), 0


@view(
    _put_transpose,
    _geometry_transpose,
    aliases=("swapaxes", "swapdims"),
    inplace=True,
    aten="transpose.int",
    spelled={
        "swapaxes": {"dim0": "axis0", "dim1": "axis1"},
        "Tensor.swapaxes": {"dim0": "axis0", "dim1": "axis1"},
        "Tensor.swapaxes_": {"dim0": "axis0", "dim1": "axis1"},
    },
    opaque=True,
)
@schemas(".int ; _default", "swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a) ; _", "swapdims.")
def transpose(input: Array, dim0: int, dim1: int) -> Array:
    """Exchanges two dimensions; a view.

    Args:
        input: the tensor.
        dim0: one dimension.
        dim1: the dimension that it changes places with.

    Shapes: the input's with two sizes exchanged.

    Dtypes: any, kept.

    Raises:
        IndexError: if a dimension is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.transpose(torch.tensor([[1, 2, 3], [4, 5, 6]]), 0, 1)
        tensor([[1, 4],
                [2, 5],
                [3, 6]])
    """
    a, b = canonical_dim(dim0, input.ndim), canonical_dim(dim1, input.ndim)
    return jnp.swapaxes(input, a, b) if input.ndim else input


def _put_t(parent: Array, value: Array) -> Array:
    return value.T


def _geometry_t(shape: Ints, strides: Ints) -> tuple[Ints, int]:
    if len(shape) > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {len(shape)}D")
    return strides[::-1], 0


@view(_put_t, _geometry_t, inplace=True, aten="t.default")
def t(input: Array) -> Array:
    """Transposes a matrix; tensors of fewer dimensions are seen as they are. A view.

    Shapes: (n, m) -> (m, n); (n) and () stay.

    Dtypes: any, kept.

    Raises:
        RuntimeError: for more than two dimensions.

    Example:
        >>> import jtorch as torch
        >>> torch.t(torch.tensor([[1, 2, 3], [4, 5, 6]]))
        tensor([[1, 4],
                [2, 5],
                [3, 6]])
    """
    _geometry_t(input.shape, input.shape)
    return input.T


def _moved(ndim: int, source: int | Ints, destination: int | Ints) -> Ints:
    src = (source,) if isinstance(source, int) else tuple(source)
    dst = (destination,) if isinstance(destination, int) else tuple(destination)
    if len(src) != len(dst):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(src)} dims) should contain the same number of dims as destination "
            f"({list(dst)} dims)"
        )
    a, b = [canonical_dim(d, ndim) for d in src], [canonical_dim(d, ndim) for d in dst]
    if len(set(a)) != len(a):
        raise RuntimeError(f"movedim: repeated dim in `source` ({list(src)})")
    if len(set(b)) != len(b):
        raise RuntimeError(f"movedim: repeated dim in `destination` ({list(dst)})")
    if not ndim:
        return ()
    order = [-1] * ndim
    for s, d in zip(a, b, strict=True):
        order[d] = s
    rest = iter(i for i in range(ndim) if i not in a)
    return tuple(next(rest) if o < 0 else o for o in order)


def _put_movedim(parent: Array, value: Array, source: Any, destination: Any) -> Array:
    return _put_permute(parent, value, _moved(parent.ndim, source, destination)) if parent.ndim else value


def _geometry_movedim(shape: Ints, strides: Ints, source: Any, destination: Any) -> tuple[Ints, int]:
    return (tuple(strides[i] for i in _moved(len(shape), source, destination)) if shape else strides), 0


@view(_put_movedim, _geometry_movedim, aliases=("moveaxis",), aten="movedim.intlist", node="PermuteBackward0")
@schemas(
    ".int(Tensor(a) self, int source, int destination) -> Tensor(a)",
    ".intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
    "moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
    "moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
)
def movedim(input: Array, source: int | tuple[int, ...], destination: int | tuple[int, ...]) -> Array:
    """Moves dimensions to other places; the rest keep their order. A view.

    Shapes: the input's sizes in the new order.

    Dtypes: any, kept.

    Raises:
        RuntimeError: if there are not as many destinations as sources, or one is given twice.
        IndexError: if a dimension is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.movedim(torch.zeros(2, 3, 4), 0, -1).shape
        torch.Size([3, 4, 2])
    """
    order = _moved(input.ndim, source, destination)
    return jnp.transpose(input, order) if input.ndim else input


# ---- repetition ------------------------------------------------------------------------------------------------------------------


def expanded_size(shape: Ints, size: Ints) -> Ints:
    """The size that ``expand(size)`` gives a tensor of ``shape``.

    Raises:
        RuntimeError: if a dimension other than of size 1 would have to grow.
    """
    lead = len(size) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"expand(torch.FloatTensor{{{list(shape)}}}, size={list(size)}): the number of sizes provided ({len(size)}) must be greater or "
            f"equal to the number of dimensions in the tensor ({len(shape)})"
        )
    found = list(size)
    for i in range(len(size) - 1, -1, -1):  # torch names the last dimension that does not fit
        n = size[i]
        if i < lead:
            if n == -1:
                raise RuntimeError(f"The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing dimension {i}")
            continue
        have = shape[i - lead]
        if n not in (-1, have) and have != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({have}) at non-singleton dimension {i}.  "
                "Target sizes: "
                f"{list(size)}.  Tensor sizes: {list(shape)}"
            )
        found[i] = have if n == -1 else n
    if any(n < 0 for n in found):
        raise RuntimeError(limits.UNCOUNTABLE)  # so torch sees a negative number of elements
    return tuple(found)


def _geometry_expand(shape: Ints, strides: Ints, size: Ints, implicit: bool = False) -> tuple[Ints, int]:
    found = expanded_size(shape, size)
    if not shape:
        return (0,) * len(found), 0
    lead = len(found) - len(shape)
    new = []
    for i, n in enumerate(found):
        if i < lead:
            new.append(0)
        else:
            new.append(0 if shape[i - lead] == 1 and n != 1 else strides[i - lead])
    if not shape:
        return (0,) * len(size), 0
    # Leading dimensions of size 1 keep the stride they would have in a contiguous tensor.
    for i in range(lead - 1, -1, -1):
        if found[i] == 1:
            new[i] = found[i + 1] * new[i + 1] if i + 1 < len(found) else 1
    return tuple(new), 0


@view(None, _geometry_expand, namespace="Tensor", varargs="size", aten="expand.default")
@schemas("(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)")
def expand(input: Array, size: tuple[int, ...], *, implicit: bool = False) -> Array:
    """Repeats dimensions of size 1 to a larger size without copying; -1 keeps a size. A view.

    Args:
        args: the sizes, spread or in one tuple; -1 keeps one.
        kwargs: ``size`` by name, and ``implicit``, which changes nothing.

    Shapes: ``size``, to which the input's broadcasts.

    Dtypes: any, kept.

    Raises:
        RuntimeError: if another dimension would have to change, or there are fewer than the input has.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([[1], [2]]).expand(-1, 3)
        tensor([[1, 1, 1],
                [2, 2, 2]])
    """
    return jnp.broadcast_to(input, expanded_size(input.shape, size))


# ---- parts -----------------------------------------------------------------------------------------------------------------------


def _index(dim: int, ndim: int, index: Any) -> tuple[Any, ...]:
    return (slice(None),) * dim + (index,)


def _put_slice(parent: Array, value: Array, dim: int, start: int, stop: int, step: int) -> Array:
    if step == 1:
        return lax.dynamic_update_slice_in_dim(parent, value, start, dim)
    return parent.at[_index(dim, parent.ndim, slice(start, stop, step))].set(value)


def _geometry_slice(shape: Ints, strides: Ints, dim: int, start: int, stop: int, step: int) -> tuple[Ints, int]:
    return (*strides[:dim], strides[dim] * step, *strides[dim + 1 :]), strides[dim] * start


@view(_put_slice, _geometry_slice, namespace="_C", name="_slice", aten="slice.Tensor")
@schemas("slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)")
def _slice(input: Array, dim: int, start: int, stop: int, step: int) -> Array:
    """Elements ``start`` to ``stop`` (exclusive) by ``step`` of a dimension; the bounds are within it."""
    return lax.slice_in_dim(input, start, stop, step, dim)


def _put_slice_at(parent: Array, value: Array, dim: int, start: Number, length: int) -> Array:
    return lax.dynamic_update_slice_in_dim(parent, value, start, dim)  # type: ignore[arg-type]


@view(_put_slice_at, lambda *a: None, namespace="_C", name="_slice_at", aten="slice.Tensor", node="SliceBackward0")
def _slice_at(input: Array, dim: int, start: Number, length: int) -> Array:
    """``_slice`` of step 1 whose start is an input of the program: a loop over minibatches compiles once."""
    return lax.dynamic_slice_in_dim(input, start, length, dim)  # type: ignore[arg-type]


def _put_select(parent: Array, value: Array, dim: int, index: Number) -> Array:
    return lax.dynamic_update_index_in_dim(parent, value, index, dim)  # type: ignore[arg-type]


def _geometry_select(shape: Ints, strides: Ints, dim: int, index: int) -> tuple[Ints, int]:
    return (*strides[:dim], *strides[dim + 1 :]), strides[dim] * index


@view(_put_select, _geometry_select, namespace="_C", name="_select", aten="select.int")
def _select(input: Array, dim: int, index: int) -> Array:
    """One element of a dimension, which disappears; ``index`` is within it."""
    return lax.index_in_dim(input, index, dim, keepdims=False)


@view(_put_select, lambda *a: None, namespace="_C", name="_select_at", aten="select.int", node="SelectBackward0")
def _select_at(input: Array, dim: int, index: Number) -> Array:
    """``_select`` whose index is an input of the program."""
    return lax.dynamic_index_in_dim(input, index, dim, keepdims=False)  # type: ignore[arg-type]


def _diagonal_index(shape: Ints, offset: int, dim1: int, dim2: int) -> tuple[int, int, int, int, int]:
    a, b = canonical_dim(dim1, len(shape)), canonical_dim(dim2, len(shape))
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if offset >= 0:
        length = max(min(shape[a], shape[b] - offset), 0)
    else:
        length = max(min(shape[a] + offset, shape[b]), 0)
    return a, b, length, max(-offset, 0), max(offset, 0)


def _geometry_diagonal(shape: Ints, strides: Ints, offset: int = 0, dim1: int = 0, dim2: int = 1) -> tuple[Ints, int]:
    a, b, length, row, column = _diagonal_index(shape, offset, dim1, dim2)
    rest = tuple(s for i, s in enumerate(strides) if i not in (a, b))
    return (*rest, strides[a] + strides[b]), (row * strides[a] + column * strides[b] if length else 0)


def _put_diagonal(parent: Array, value: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    a, b, length, row, column = _diagonal_index(parent.shape, offset, dim1, dim2)
    steps = jnp.arange(length)
    moved = jnp.moveaxis(parent, (a, b), (-2, -1))
    moved = moved.at[..., steps + row, steps + column].set(value)
    return jnp.moveaxis(moved, (-2, -1), (a, b))


@view(_put_diagonal, _geometry_diagonal, aliases=(), aten="diagonal.default")
def diagonal(input: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """The diagonal of two dimensions, put last; ``offset`` counts upwards from the main one. A view.

    Shapes: the input's without the two dimensions, then the diagonal's length.

    Dtypes: any, kept.

    Raises:
        RuntimeError: if the two dimensions are the same.
        IndexError: if one is out of range.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([[1, 2], [3, 4]])
        >>> torch.diagonal(x)
        tensor([1, 4])
        >>> torch.diagonal(x, 1)
        tensor([2])
    """
    a, b, _, _, _ = _diagonal_index(input.shape, offset, dim1, dim2)
    return jnp.diagonal(input, offset, a, b)


def _unfold_dim(shape: Ints, dimension: int, size: int, step: int) -> tuple[int, int]:
    d = canonical_dim(dimension, len(shape))
    have = shape[d] if shape else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > have:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {have} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return d, (have - size) // step + 1


def _geometry_unfold(shape: Ints, strides: Ints, dimension: int, size: int, step: int) -> tuple[Ints, int]:
    d, _ = _unfold_dim(shape, dimension, size, step)
    if not shape:
        return (1,), 0
    return (*strides[:d], strides[d] * step, *strides[d + 1 :], strides[d]), 0


def _windows(n: int, size: int, step: int) -> Any:
    return jnp.arange(n)[:, None] * step + jnp.arange(size)[None, :]


def _put_unfold(parent: Array, value: Array, dimension: int, size: int, step: int) -> Array:
    if parent.ndim == 0:
        return value.reshape(()) if size else parent
    d, n = _unfold_dim(parent.shape, dimension, size, step)
    moved = jnp.moveaxis(parent, d, 0)
    windows = jnp.moveaxis(jnp.moveaxis(value, -1, 0), d + 1, 0)  # (n, size, rest)
    return jnp.moveaxis(moved.at[_windows(n, size, step)].set(windows), 0, d)


@view(_put_unfold, _geometry_unfold, repeats=lambda dimension, size, step: step < size, namespace="Tensor", aten="unfold.default")
def unfold(input: Array, dimension: int, size: int, step: int) -> Array:
    """All windows of ``size`` elements at distance ``step`` along a dimension; the window becomes the last dimension. A view.

    Args:
        dimension: the dimension to cut windows of.
        size: the length of a window.
        step: from the beginning of one window to that of the next.

    Shapes: (*A, n, *B) -> (*A, (n - size) // step + 1, *B, size).

    Dtypes: any, kept.

    Raises:
        RuntimeError: if the window is larger than the dimension, or ``step`` is not positive.
        IndexError: if the dimension is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([1, 2, 3, 4]).unfold(0, 2, 1)
        tensor([[1, 2],
                [2, 3],
                [3, 4]])
    """
    d, n = _unfold_dim(input.shape, dimension, size, step)
    if input.ndim == 0:
        return input.reshape((1,))[:size]
    moved = jnp.moveaxis(input, d, 0)[_windows(n, size, step)]  # (n, size, rest)
    return jnp.moveaxis(jnp.moveaxis(moved, 0, d + 1), 0, -1) if d else jnp.moveaxis(moved, 1, -1)


# ---- several views at once -------------------------------------------------------------------------------------------------------


@op(namespace="_C", name="_split", saves=(), aten="split_with_sizes.default")
def _split(input: Array, sizes: tuple[int, ...], dim: int) -> tuple[Array, ...]:
    """Consecutive parts of a dimension."""
    edges = [0, *itertools.accumulate(sizes)]
    return tuple(lax.slice_in_dim(input, a, b, 1, dim) for a, b in itertools.pairwise(edges))


@op(namespace="_C", name="_unbind", saves=(), aten="unbind.int")
def _unbind(input: Array, dim: int) -> tuple[Array, ...]:
    """Every element of a dimension, which disappears."""
    return tuple(lax.index_in_dim(input, i, dim, keepdims=False) for i in range(input.shape[dim]))


defvjp(_split, lambda g, result, input, sizes, dim: (jnp.concatenate(g, dim),), saves=())
defvjp(_unbind, lambda g, result, input, dim: (jnp.stack(g, dim),), saves=())
