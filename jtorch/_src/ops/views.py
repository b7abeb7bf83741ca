"""View ops: how to read a view from its parent, how to write it back, and what becomes of strides
and offset.

Each op has three parts: the kernel that reads, a ``put`` kernel that gives the parent with the view
replaced, and a geometry function on Python integers: ``geometry(shape, strides, *arguments) ->
(strides, offset to add)``, in elements.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..engine import limits
from ..facts.errors import canonical_dim, canonical_dims
from ..facts.size import less
from ._declare import Array, Op, defvjp, find, op
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._sizes import surely

if TYPE_CHECKING:
    from ..facts.kinds import Function


Ints = tuple[int, ...]


@dataclasses.dataclass(eq=False, slots=True)
class View:
    """The parts of a view op.

    ``put`` is None where the view repeats elements: it is then written by its strides.
    ``geometric`` is False where the dtype or the values change. ``bits`` says what becomes of the
    pair (conjugate bit, negative bit) and raises where torch refuses one that is set; None: kept.
    ``repeats`` says of the view's arguments whether its elements share memory, so that parts of it
    must be written by their strides, too. ``single``: it is of one position of the dimension that
    its first argument is.
    """

    op: Op
    put: Callable[..., Any] | None
    geometry: Callable[..., tuple[Ints, int] | None]
    geometric: bool = True
    bits: Callable[[bool, bool], tuple[bool, bool]] | None = None
    repeats: Callable[..., bool] | None = None
    single: bool = False


VIEWS: dict[str, View] = {}


def view(
    put: Function | None,
    geometry: Callable[..., tuple[Ints, int] | None],
    *,
    geometric: bool = True,
    bits: Callable[[bool, bool], tuple[bool, bool]] | None = None,
    repeats: Callable[..., bool] | None = None,
    single: bool = False,
    **options: Any,
) -> Callable[[Any], Any]:
    """Declares a view op from its kernel, with the other parts."""

    def declare(body: Callable[..., object]) -> Callable[..., object]:
        body = op(family="view", saves=(), **options)(body)
        record = find(body)
        VIEWS[record.path] = View(record, put, geometry, geometric, bits, repeats, single)
        return body

    return declare


derivative(
    A.view, A._unsafe_view, A._reshape_alias, self=lambda g, self_: D.reshaped(g, self_.shape)
)


def contiguous_strides(shape: Sequence[int]) -> Ints:
    """Row-major strides."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * max(shape[i + 1], 1)
    return tuple(strides)


# ---- sizes ---------------------------------------------------------------------------------------


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
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified "
            "dimension size -1 can be any value and is ambiguous"
        )
    raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")


def _several(sizes: list[int], placed: object) -> bool:
    """Whether sizes, the last one first, surely give more elements than ``placed``, the product of
    the first of them: JAX may not know that of a product of several that vary."""
    if all(type(n) is int for n in sizes):
        return False  # as quickly told from the product
    product: Any = 1
    for k, size in enumerate(sizes):
        if product == placed:
            rest = sizes[k:]
            return all(surely(lambda n=n: n >= 1) for n in rest) and any(
                surely(lambda n=n: n > 1) for n in rest
            )
        product *= size
    return False


def view_strides(shape: Ints, strides: Ints, new_shape: Ints) -> Ints | None:
    """Strides of the same memory seen in another shape, or None if that is impossible without a
    copy."""
    if 0 in shape:
        return strides if shape == new_shape else contiguous_strides(new_shape)
    found = [0] * len(new_shape)
    at = len(new_shape) - 1
    chunk_stride = strides[-1] if strides else 1
    old = new = 1
    chunk: list[int] = []
    for i in range(len(shape) - 1, -1, -1):
        old *= shape[i]
        chunk.append(shape[i])
        if i == 0 or (shape[i - 1] != 1 and strides[i - 1] != old * chunk_stride):
            while at >= 0 and (_several(chunk, new) or less(new, old) or new_shape[at] == 1):
                found[at] = new * chunk_stride
                new *= new_shape[at]
                at -= 1
            if new != old:
                return None
            if i > 0:
                chunk_stride = strides[i - 1]
                old = new = 1
                chunk = []
    while at >= 0:  # a 0-dim tensor has no chunk: the new dimensions are all of size 1
        found[at] = 1
        at -= 1
    return tuple(found)


# ---- shape ---------------------------------------------------------------------------------------


def _put_reshape(parent: Array, value: Array, *_: object) -> Array:
    return value.reshape(parent.shape)


def _geometry_reshape(shape: Ints, strides: Ints, new_shape: Ints) -> tuple[Ints, int] | None:
    found = view_strides(shape, strides, infer_size(new_shape, math.prod(shape)))
    return None if found is None else (found, 0)


@view(
    _put_reshape,
    _geometry_reshape,
    namespace="Tensor",
    name="_view_shape",
    aten="view.default",
    node="ViewBackward0",
)
def _view_shape(input: Array, size: tuple[int, ...]) -> Array:
    """A view of the same memory in another shape: what ``Tensor.view``, ``reshape``, ``flatten``
    and others come to.

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


@jax.custom_jvp
def _put_beside(parent: Array, value: Array) -> Array:
    """What is written past a history leaves it as it was: other numbers, with the parent's
    derivative."""
    return value


_put_beside.defjvp(lambda primals, tangents: (_put_beside(*primals), tangents[0]))


@view(
    _put_beside,
    geometry_same,
    namespace="_C",
    name="_detach",
    method=False,
    differentiable=False,
    aten="detach.default",
)
def _detach(input: Array) -> Array:
    """The same memory, through which no derivative passes (``Tensor.detach`` inside a
    transformation)."""
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


derivative(A.unsqueeze, self=lambda g, dim: A.squeeze.dim(g, dim))


def _squeezed(shape: Ints, dim: int | Ints | None) -> Ints:
    if dim is None:
        return tuple(i for i, n in enumerate(shape) if n == 1)
    dims = canonical_dims(dim, len(shape), empty_is_all=False)
    return tuple(i for i in dims if shape[i] == 1)


def _geometry_squeeze(
    shape: Ints, strides: Ints, dim: int | Ints | None = None
) -> tuple[Ints, int]:
    gone = _squeezed(shape, dim)
    return tuple(s for i, s in enumerate(strides) if i not in gone), 0


@view(
    _put_reshape,
    _geometry_squeeze,
    inplace=True,
    aten="squeeze.dim",
    node=lambda made: f"SqueezeBackward{ {type(None): 0, int: 1}.get(type(made.given('dim')), 2) }",
    unsaid=("dim",),
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


def _unsqueeze_to(g: object, self_: Any, dims: Any) -> object:
    for i, n in enumerate(self_.shape):
        if n == 1 and (dims is None or any(d % max(self_.ndim, 1) == i for d in dims)):
            g = A.unsqueeze.default(g, i)
    return g


derivative(A.squeeze, self=lambda g, self_: _unsqueeze_to(g, self_, None))
derivative(A.squeeze.dim, self=lambda g, self_, dim: _unsqueeze_to(g, self_, [dim]))
derivative(A.squeeze.dims, self=lambda g, self_, dim: _unsqueeze_to(g, self_, dim))


# ---- order ---------------------------------------------------------------------------------------


def _order(ndim: int, dims: Ints) -> Ints:
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal "
            f"to len(dims) = {len(dims)}"
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


def _inverse(dims: Sequence[int]) -> list[int]:
    order = [d % len(dims) for d in dims]
    return [order.index(i) for i in range(len(order))]


derivative(A.permute, self=lambda g, dims: A.permute.default(g, _inverse(dims)))


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
@schemas(
    ".int ; _default",
    "swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a) ; _",
    "swapdims.",
)
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


derivative(A.transpose.int, self=lambda g, dim0, dim1: A.transpose.int(g, dim0, dim1))


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


derivative(A.t, self=lambda g: A.t.default(g))


def moved_order(ndim: int, source: int | Ints, destination: int | Ints) -> Ints:
    """Which dimension comes to each place where ``movedim`` moves some."""
    src = (source,) if isinstance(source, int) else tuple(source)
    dst = (destination,) if isinstance(destination, int) else tuple(destination)
    if len(src) != len(dst):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(src)} dims) should "
            f"contain the same number of dims as destination ({list(dst)} dims)"
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


def _put_movedim(parent: Array, value: Array, source: int, destination: int) -> Array:
    return (
        _put_permute(parent, value, moved_order(parent.ndim, source, destination))
        if parent.ndim
        else value
    )


def _geometry_movedim(
    shape: Ints, strides: Ints, source: int, destination: int
) -> tuple[Ints, int]:
    return (
        tuple(strides[i] for i in moved_order(len(shape), source, destination))
        if shape
        else strides
    ), 0


@view(
    _put_movedim,
    _geometry_movedim,
    aliases=("moveaxis",),
    aten="movedim.intlist",
    node="PermuteBackward0",
)
@schemas(
    ".int(Tensor(a) self, int source, int destination) -> Tensor(a)",
    ".intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
    "moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
    "moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
)
def movedim(
    input: Array, source: int | tuple[int, ...], destination: int | tuple[int, ...]
) -> Array:
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
    order = moved_order(input.ndim, source, destination)
    return jnp.transpose(input, order) if input.ndim else input


# ---- repetition ----------------------------------------------------------------------------------


def expanded_size(shape: Ints, size: Ints) -> Ints:
    """The size that ``expand(size)`` gives a tensor of ``shape``.

    Raises:
        RuntimeError: if a dimension other than of size 1 would have to grow.
    """
    lead = len(size) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"expand(torch.FloatTensor{{{list(shape)}}}, size={list(size)}): the number of sizes "
            f"provided ({len(size)}) must be greater or equal to the number of dimensions in the "
            f"tensor ({len(shape)})"
        )
    found = list(size)
    for i in range(len(size) - 1, -1, -1):  # torch names the last dimension that does not fit
        n = size[i]
        if i < lead:
            if n == -1:
                raise RuntimeError(
                    f"The expanded size of the tensor ({n}) isn't allowed in a leading, "
                    f"non-existing dimension {i}"
                )
            continue
        have = shape[i - lead]
        if n not in (-1, have) and have != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({have}) at "
                f"non-singleton dimension {i}.  Target sizes: {list(size)}.  Tensor sizes: "
                f"{list(shape)}"
            )
        found[i] = have if n == -1 else n
    if any(n < 0 for n in found):
        raise RuntimeError(limits.UNCOUNTABLE)  # so torch sees a negative number of elements
    return tuple(found)


def _geometry_expand(
    shape: Ints, strides: Ints, size: Ints, implicit: bool = False
) -> tuple[Ints, int]:
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
        RuntimeError: if another dimension would have to change, or there are fewer than the input
            has.

    Example:
        >>> import jtorch as torch
        >>> torch.tensor([[1], [2]]).expand(-1, 3)
        tensor([[1, 1, 1],
                [2, 2, 2]])
    """
    return jnp.broadcast_to(input, expanded_size(input.shape, size))


derivative(A.expand, self=lambda g: g)
