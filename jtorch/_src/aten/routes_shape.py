"""Views, reshaping, indexing and joining as operators."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import Tensor, format_strides, from_host, lazy_bits
from ...core import is_contiguous as packed
from ..bind.everything import L, M, T
from ..engine import Transformed
from ..facts import dtypes
from ..facts.errors import broadcast_shapes, canonical_dim
from ..facts.layouts import contiguous_format, preserve_format
from ..facts.size import SYMBOLIC
from ..ops.views import infer_size, view_strides
from ..tensor.cells import Counter
from ..tensor.indexing import _check_mask, _consumed, _is_mask, _items, _number, _plain, _too_many
from ..tensor.shape_env import visible
from ..tensor.symbols import Undecided, exact
from ..tensor.view_splits import is_multiple
from .functions import route
from .overloads import aten
from .state import Kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..facts.kinds import Row, TensorLike


A = aten
_LAST = 9223372036854775807


def size_of(args: Sequence[Any]) -> list[int]:
    """A size given spread or packed."""
    packed = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    return [x if type(x) is int or type(x) in SYMBOLIC else int(x) for x in packed]


def _dim(t: Tensor, dim: int) -> int:
    return canonical_dim(dim if type(dim) is int else int(dim), t._aval.ndim)


# ---- other shapes --------------------------------------------------------------------------------


@route(M.view)
def view(self: Tensor, *size: object, **kwargs: object) -> Any:
    """``x.view``: ``view.default`` or ``view.dtype``."""
    if kwargs:
        size = (kwargs.pop("size", kwargs.pop("dtype", None)),)
    if len(size) == 1 and isinstance(dtype := dtypes.meant(size[0]), dtypes.dtype):
        return A.view.dtype(self, dtype)
    return A.view.default(self, size_of(size))


@route("_C._view_shape", M._view_shape)
def _view_shape(input: Tensor, size: tuple[int, ...]) -> Tensor:
    return A.view.default(input, list(size))


def strides_as(t: Tensor, size: Row) -> tuple[object, ...] | None:
    """The strides of a tensor's memory in another shape, None where there are none; by the
    example's sizes where others would decide."""
    try:
        return view_strides(t._aval.shape, exact(t.stride()), size)
    except Undecided:
        return view_strides(visible(t._aval.shape), tuple(t.stride()), visible(size))


@route(T.reshape, aten=A.reshape)
def reshape(self: Tensor, *shape: object, **kwargs: object) -> Any:
    """A view where strides allow it, else a contiguous copy seen in the new shape."""
    wanted = size_of((kwargs["shape"],) if "shape" in kwargs else shape)
    aval = self._aval
    size = list(infer_size(tuple(wanted), aval.size))
    if strides_as(self, tuple(size)) is not None:
        return A.view.default(self, size)
    return A._unsafe_view.default(A.clone.default(self, memory_format=contiguous_format), size)


@route(M.reshape_as, M.view_as)
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """``reshape`` to another tensor's shape."""
    return reshape(self, list(other._aval.shape))


@route(M.view_as)
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """``view`` with another tensor's shape."""
    return A.view.default(self, list(other._aval.shape))


@route(T.flatten, aten=A.flatten)
def flatten(self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Dimensions joined by ``reshape``."""
    shape = self._aval.shape
    if not shape:
        return reshape(self, [1])
    a, b = _dim(self, start_dim), _dim(self, end_dim)
    if a > b:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if a == b:
        return self
    return reshape(self, [*shape[:a], math.prod(shape[a : b + 1]), *shape[b + 1 :]])


@route(T.ravel)
def ravel(self: Tensor) -> Tensor:
    """One dimension."""
    if strides_as(self, (self._aval.size,)) is not None:
        return A.view.default(self, [-1])
    return reshape(self, [-1])


@route(T.unflatten, aten=A.unflatten)
def unflatten(self: Tensor, dim: int, sizes: object) -> Tensor:
    """One dimension as several, by ``view``."""
    d = _dim(self, dim)
    shape = self._aval.shape
    return A.view.default(
        self, [*shape[:d], *infer_size(tuple(size_of((sizes,))), shape[d]), *shape[d + 1 :]]
    )


@route(T.permute)
def permute(self: Tensor, *dims: object, **kwargs: object) -> Tensor:
    """``permute.default``."""
    return A.permute.default(self, size_of((kwargs["dims"],) if "dims" in kwargs else dims))


@route(T.transpose, T.swapaxes, T.swapdims, aten=A.swapaxes)
def transpose(
    self: Tensor,
    dim0: object = None,
    dim1: object = None,
    *,
    axis0: object = None,
    axis1: object = None,
) -> Any:
    """``transpose.int``."""
    return A.transpose.int(self, axis0 if dim0 is None else dim0, axis1 if dim1 is None else dim1)


@route(T.movedim, T.moveaxis, aten=A.movedim)
def movedim(self: Tensor, source: Any, destination: Any) -> Any:
    """A permutation; nothing where every dimension stays."""
    ndim = self._aval.ndim
    sources = [_dim(self, d) for d in (source if isinstance(source, (list, tuple)) else (source,))]
    places = [
        _dim(self, d)
        for d in (destination if isinstance(destination, (list, tuple)) else (destination,))
    ]
    if (
        len(sources) != len(places)
        or len(set(sources)) != len(sources)
        or len(set(places)) != len(places)
    ):
        return NotImplemented
    order: list[int | None] = [None] * ndim
    for s, p in zip(sources, places, strict=True):
        order[p] = s
    rest = iter([d for d in range(ndim) if d not in sources])
    return A.permute.default(self, [next(rest) if d is None else d for d in order])


@route("Tensor.T.__get__", "numpy_T")
def transposed(self: Tensor) -> Tensor:
    """Dimensions reversed."""
    return A.permute.default(self, list(range(self._aval.ndim))[::-1])


@route("Tensor.mT.__get__")
def mT(self: Tensor) -> Tensor:
    """The last two dimensions exchanged."""
    return NotImplemented if self._aval.ndim < 2 else A.transpose.int(self, -2, -1)


@route("Tensor.mH.__get__", T.adjoint)
def mH(self: Tensor) -> Tensor:
    """The last two dimensions exchanged, conjugated."""
    found = mT(self)
    return (
        A._conj.default(found)
        if found is not NotImplemented and self._aval.torch_dtype.is_complex
        else found
    )


@route("Tensor.H.__get__")
def H(self: Tensor) -> object:
    """The conjugate transpose of a matrix."""
    return self if not self._aval.ndim else mH(self)


@route("Tensor.real.__get__", T.real)
def real(self: Tensor) -> Tensor:
    """The real parts."""
    if not self._aval.torch_dtype.is_complex:
        return self
    plain = A._conj.default(self) if lazy_bits(self)[0] else self
    return A.select.int(A.view_as_real.default(plain), self._aval.ndim, 0)


@route("Tensor.imag.__get__", T.imag)
def imag(self: Tensor) -> Tensor:
    """The imaginary parts, which conjugation negates."""
    if not self._aval.torch_dtype.is_complex:
        return NotImplemented
    if lazy_bits(self)[0]:
        parts = A._neg_view.default(A.view_as_real.default(A._conj.default(self)))
    else:
        parts = A.view_as_real.default(self)
    return A.select.int(parts, self._aval.ndim, 1)


@route(T.conj_physical)
def conj_physical(self: Tensor) -> Tensor:
    """``_conj_physical.default``; a real tensor itself."""
    return A._conj_physical.default(self) if self._aval.torch_dtype.is_complex else self


@route(T.conj, aten=A.conj)
def conj(self: Tensor) -> Tensor:
    """The complex conjugate; a real tensor itself."""
    return A._conj.default(self) if self._aval.torch_dtype.is_complex else self


@route(T.resolve_conj, aten=A.resolve_conj)
def resolve_conj(self: Tensor) -> Tensor:
    """A copy of what shows conjugates, else the tensor itself."""
    return A.clone.default(self) if lazy_bits(self)[0] else self


@route(T.resolve_neg, aten=A.resolve_neg)
def resolve_neg(self: Tensor) -> Tensor:
    """A copy of what shows negatives, else the tensor itself."""
    return A.clone.default(self) if lazy_bits(self)[1] else self


@route("Tensor.data.__get__")
def data(self: Tensor) -> Tensor:
    """``detach.default``, with a version of its own."""
    made = A.detach.default(self)
    if made is not self and isinstance(made, Tensor) and made._al is not None:
        made._al.counter = Counter(0)
    return made


@route(T.detach)
def detach(self: Tensor | None = None, *, input: object = None) -> Any:
    """``detach.default``."""
    return A.detach.default(input if self is None else self)


@route("expand")
def expand(self: Tensor, *size: object, implicit: bool = False, **kwargs: object) -> Tensor:
    """``expand.default``."""
    del implicit
    return A.expand.default(self, size_of((kwargs["size"],) if "size" in kwargs else size))


@route(M.expand)
def _expand_kernel(self: Tensor, *size: object, **kwargs: object) -> Tensor:
    """``expand.default``, also as this package's own views ask for it."""
    if len(size) == 2 and isinstance(size[0], tuple) and isinstance(size[1], bool):
        size = (size[0],)
    return expand(self, *size, **kwargs)


@route(T.broadcast_to)
def broadcast_to(self: Tensor, *size: object, **kwargs: object) -> Tensor:
    """``expand.default``."""
    return A.expand.default(self, size_of((kwargs["size"],) if "size" in kwargs else size))


@route(M.expand_as)
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """``expand`` to another tensor's shape."""
    return A.expand.default(self, list(other._aval.shape))


@route(T.broadcast_tensors)
def broadcast_tensors(*tensors: Any) -> Any:
    """All expanded to one shape."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    shape = list(broadcast_shapes(*[t._aval.shape for t in given]))
    return tuple([t if list(t._aval.shape) == shape else A.expand.default(t, shape) for t in given])


@route(T.squeeze, "_C._squeeze", M.squeeze)
def squeeze(self: Tensor, dim: object = None) -> Tensor:
    """``squeeze.default``, ``.dim`` or ``.dims``."""
    if dim is None:
        return A.squeeze.default(self)
    return (
        A.squeeze.dims(self, list(dim))
        if isinstance(dim, (list, tuple))
        else A.squeeze.dim(self, dim)
    )


@route(T.narrow, aten=A.narrow)
def narrow(self: Tensor, dim: int, start: Any, length: int) -> Any:
    """A slice with checked bounds."""
    d = _dim(self, dim)
    n = self._aval.shape[d]
    if isinstance(start, Tensor):
        start = int(start.item())
    if length < 0 or not -n <= start <= n or (start % n if start < 0 else start) + length > n:
        return NotImplemented
    start = start + n if start < 0 else start
    return A.slice.Tensor(self, d, start, start + length)


@route("_C._slice")
def _slice(
    input: Tensor, dim: int, start: int | None = None, stop: int | None = None, step: int = 1
) -> Tensor:
    n = input._aval.shape[dim]
    return A.slice.Tensor(
        input, dim, 0 if start is None else start, _LAST if stop in (None, n) else stop, step
    )


@route("_C._slice_at")
def _slice_at(input: Tensor, dim: int, start: int, length: int) -> object:
    n = input._aval.shape[dim]
    return A.slice.Tensor(input, dim, start, _LAST if start + length == n else start + length)


@route("_C._select", "_C._select_at")
def _select(input: Tensor, dim: int, index: int) -> Tensor:
    return A.select.int(input, dim, index)


@route("_C._expand")
def _expand(input: Tensor, size: Any) -> object:
    return A.expand.default(input, list(size))


@route(T.diag)
def diag(self: Tensor, diagonal: int = 0) -> Tensor:
    """A vector as a matrix's diagonal, or the diagonal of a matrix, copied."""
    if self._aval.ndim == 1:
        return A.diag_embed.default(self, diagonal)
    return A.diagonal_copy.default(self, diagonal)


@route(L.diagonal)
def linalg_diagonal(A: object, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> object:
    """``diagonal`` of the last two dimensions."""
    return aten.diagonal.default(A, offset, dim1, dim2)


@route(M.contiguous, aten=A.contiguous)
def contiguous(self: Tensor, memory_format: object = contiguous_format) -> Tensor:
    """The tensor itself where it is contiguous, else a clone."""
    if is_contiguous(self, memory_format):
        return self
    return A.clone.default(self, memory_format=memory_format)


def is_contiguous(t: Tensor, memory_format: Any = contiguous_format) -> bool:
    """``t.is_contiguous()`` without asking anybody but a class that computes it."""
    if t._al is not None and t._al.asks:
        return t.is_contiguous(memory_format=memory_format)
    strides = tuple(exact(t.stride()))
    if memory_format in (None, contiguous_format):
        return packed(t._aval.shape, strides)
    return strides == format_strides(t._aval.shape, memory_format)


@route(T.clone)
def clone(
    self: Tensor | None = None,
    *,
    input: object = None,
    memory_format: dtypes.memory_format = preserve_format,
) -> Any:
    """``clone.default``; a format is given only if it is not the default."""
    t = input if self is None else self
    return (
        A.clone.default(t)
        if memory_format is preserve_format
        else A.clone.default(t, memory_format=memory_format)
    )


# ---- parts ---------------------------------------------------------------------------------------


@route(T.split, M.split)
def split(
    tensor: Tensor,
    split_size_or_sections: list[int] | None = None,
    dim: int = 0,
    *,
    split_size: object = None,
) -> tuple[Tensor, ...]:
    """``split.Tensor`` or ``split_with_sizes.default``."""
    size = split_size if split_size_or_sections is None else split_size_or_sections
    if isinstance(size, (list, tuple)):
        return tuple(A.split_with_sizes.default(tensor, list(size), dim))
    return tuple(A.split.Tensor(tensor, size, dim))


@route(T.chunk, aten=A.chunk)
def chunk(self: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of equal size."""
    if not self._aval.ndim or chunks <= 0:
        return NotImplemented
    n = self._aval.shape[canonical_dim(dim, self._aval.ndim)]
    if is_multiple(n, chunks):
        # a multiple, whatever it is
        return tuple(A.split_with_sizes.default(self, [n // chunks] * chunks, dim))
    size = -(-n // chunks)
    if not size:
        return tuple(A.split_with_sizes.default(self, [0] * chunks, dim))
    return tuple(A.split.Tensor(self, size, dim))


@route(T.tensor_split, aten=A.tensor_split)
def tensor_split(
    self: Tensor,
    indices_or_sections: Any = None,
    dim: int = 0,
    *,
    sections: Any = None,
    indices: Any = None,
) -> Any:
    """Slices at positions, or of nearly equal sizes."""
    where = next((x for x in (indices_or_sections, sections, indices) if x is not None), None)
    if isinstance(where, Tensor):
        where = where.tolist()
    if not self._aval.ndim or where is None:
        return NotImplemented
    n = self._aval.shape[canonical_dim(dim, self._aval.ndim)]
    if isinstance(where, int):
        small, more = divmod(n, where)
        edges = np.cumsum([0] + [small + (i < more) for i in range(where)]).tolist()
        pairs = list(itertools.pairwise(edges))
    else:
        pairs = list(zip([0, *where], [*where, n], strict=True))
    return tuple([A.slice.Tensor(self, dim, a, b) for a, b in pairs])


@route(T.unbind)
def unbind(self: Tensor | None = None, dim: int = 0, *, input: object = None) -> tuple[Tensor, ...]:
    """``unbind.int``."""
    return tuple(A.unbind.int(input if self is None else self, dim))


@route(T.select)
def select(self: Tensor, dim: int, index: int) -> Tensor:
    """``select.int``."""
    return A.select.int(self, dim, index if type(index) is int else int(index))


@route("_C._split")
def _split(input: Tensor, sizes: Any, dim: int) -> object:
    if len(set(sizes[:-1])) <= 1 and (len(sizes) == 1 or sizes[-1] <= sizes[0]):
        return A.split.Tensor(input, sizes[0], dim)
    return A.split_with_sizes.default(input, list(sizes), dim)


@route("_C._unbind")
def _unbind(input: Tensor, dim: int) -> object:
    return A.unbind.int(input, dim)


# ---- joining -------------------------------------------------------------------------------------


def _raised(t: Tensor, ndim: int) -> Tensor:
    have = t._aval.ndim
    if have >= ndim:
        return t
    if ndim == 1:
        return A.view.default(t, [1])
    if ndim == 2:
        return A.view.default(t, [1, 1]) if have == 0 else A.unsqueeze.default(t, 0)
    if have == 0:
        return A.view.default(t, [1, 1, 1])
    return (
        A.unsqueeze.default(A.unsqueeze.default(t, 0), -1)
        if have == 1
        else A.unsqueeze.default(t, -1)
    )


def _on_each(ndim: int) -> Callable[..., object]:
    def run(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
            return tuple([_raised(t, ndim) for t in tensors[0]])
        return (
            _raised(tensors[0], ndim)
            if len(tensors) == 1
            else tuple([_raised(t, ndim) for t in tensors])
        )

    return run


for _n in (1, 2, 3):
    route(f"atleast_{_n}d")(_on_each(_n))


@route(T.vstack, T.row_stack)
def vstack(tensors: Any, *, out: object = None) -> Any:
    """Rows joined."""
    return _cat([_raised(t, 2) for t in tensors], 0, out)


@route(T.hstack)
def hstack(tensors: Any, *, out: object = None) -> Any:
    """Columns joined."""
    rows = [_raised(t, 1) for t in tensors]
    return _cat(rows, 0 if rows[0]._aval.ndim == 1 else 1, out)


@route(T.dstack)
def dstack(tensors: Any, *, out: object = None) -> Any:
    """Joined along the third dimension."""
    return _cat([_raised(t, 3) for t in tensors], 2, out)


@route(T.column_stack)
def column_stack(tensors: Any, *, out: object = None) -> Any:
    """Vectors as columns."""
    columns = [t if t._aval.ndim > 1 else A.view.default(t, [t._aval.size, 1]) for t in tensors]
    return _cat(columns, 1, out)


def _cat(tensors: Sequence[object], dim: int, out: object) -> object:
    return A.cat.default(tensors, dim) if out is None else A.cat.out(tensors, dim, out=out)


@route(T.meshgrid)
def meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    """Each tensor expanded over the dimensions of all."""
    given = list(
        tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    )
    if indexing not in (None, "ij"):
        return NotImplemented
    shape = [t._aval.size for t in given]
    found = []
    for i, t in enumerate(given):
        sizes = [1] * len(given)
        sizes[i] = -1
        found.append(A.expand.default(A.view.default(t, sizes), shape))
    return tuple(found)


@route(T.tile)
def tile(self: Tensor, *dims: object, **kwargs: object) -> Tensor:
    """``repeat.default`` with ones for the dimensions in front."""
    repeats = size_of((kwargs["dims"],) if "dims" in kwargs else dims)
    return A.repeat.default(self, [*[1] * (self._aval.ndim - len(repeats)), *repeats])


@route(M.repeat)
def repeat(self: Tensor, *repeats: object, **kwargs: object) -> Tensor:
    """``repeat.default``."""
    return A.repeat.default(self, size_of((kwargs["repeats"],) if "repeats" in kwargs else repeats))


@route(T.fliplr)
def fliplr(self: Tensor) -> Tensor:
    """Columns in reverse order."""
    return A.flip.default(self, [1])


@route(T.flipud)
def flipud(self: Tensor) -> Tensor:
    """Rows in reverse order."""
    return A.flip.default(self, [0])


@route(T.flip)
def flip(self: Tensor, *dims: int, **kwargs: object) -> Tensor:
    """``flip.default``."""
    return A.flip.default(self, size_of((kwargs["dims"],) if "dims" in kwargs else dims))


@route(T.take_along_dim, aten=A.take_along_dim)
def take_along_dim(
    input: Tensor, indices: Tensor, dim: int | None = None, *, out: object = None
) -> Tensor:
    """``gather`` on broadcast operands."""
    if out is not None:
        return NotImplemented
    if dim is None:
        return A.gather.default(reshape(input, [-1]), 0, reshape(indices, [-1]))
    d = _dim(input, dim)
    mine, its = list(input._aval.shape), list(indices._aval.shape)
    common = list(broadcast_shapes((*mine[:d], 1, *mine[d + 1 :]), (*its[:d], 1, *its[d + 1 :])))
    wide, index = [*common[:d], mine[d], *common[d + 1 :]], [*common[:d], its[d], *common[d + 1 :]]
    return A.gather.default(A.expand.default(input, wide), d, A.expand.default(indices, index))


# ---- t[index] ------------------------------------------------------------------------------------


def _looked_up(t: Tensor, index: object) -> tuple[Any, list[tuple[int, Any]]]:
    """The views that an index asks for, and the index tensors that are left, each with its
    dimension."""
    items = [_plain_item(i, t) for i in _items(index)]
    if sum(_consumed(i) for i in items) > t._aval.ndim:
        raise IndexError(_too_many(t, items))
    advanced = []
    dim = 0
    for position, item in enumerate(items):
        if type(item) is int:
            n = visible(t._aval.shape[dim])
            if not -n <= item < n:
                raise IndexError(
                    f"index {item} is out of bounds for dimension {position} with size {n}"
                )
            t = A.select.int(t, dim, item)
        elif type(item) in SYMBOLIC:
            t = A.select.int(t, dim, item)
        elif type(item) is slice:
            start, stop, step = item.start, item.stop, item.step
            step = 1 if step is None else _int(step)
            if step < 1:
                raise ValueError("step must be greater than zero")
            whole = (
                start in (None, 0)
                and (stop is None or _reaches(_int(stop), t._aval.shape[dim]))
                and step == 1
            )
            if not (
                whole if type(index) is tuple else start is None and stop is None and step == 1
            ):
                t = A.slice.Tensor(
                    t,
                    dim,
                    0 if start is None else _int(start),
                    _LAST if stop is None else _int(stop),
                    step,
                )
            dim += 1
        elif item is None:
            t = A.unsqueeze.default(t, dim)
            dim += 1
        elif item is Ellipsis:
            dim = t._aval.ndim - sum(_consumed(i) for i in items[position + 1 :])
        elif type(item) is bool:
            t = A.unsqueeze.default(t, dim)
            advanced.append((dim, from_host(np.array([item]), t.device)))
            dim += 1
        else:
            if item._aval.ndim == 0 and _is_mask(item):
                t = A.unsqueeze.default(t, dim)
                item = A.unsqueeze.default(item, 0)
            advanced.append((dim, item))
            dim += max(_consumed(item), 1)
    return t, advanced


def _plain_item(item: Tensor, t: Tensor) -> TensorLike:
    if type(item) in SYMBOLIC:
        return item
    if isinstance(item, Tensor) and isinstance(item._read(), Transformed):
        return item  # there may be one for each example
    if isinstance(item, Tensor) and type(item) is not Tensor:
        if item._aval.ndim == 0 and item._aval.dtype.kind in "iu" and not _is_mask(item):
            return _place(item.item())
        return item
    if (
        isinstance(item, Tensor)
        and item._aval.ndim == 0
        and item._aval.dtype.kind in "iu"
        and item._aval.dtype != np.uint8
    ):
        return _place(A._local_scalar_dense.default(item))
    found = _plain(item, t)
    return (
        A.lift_fresh.default(found)
        if isinstance(found, Tensor) and found is not item and not isinstance(item, Tensor)
        else found
    )


def _place(n: Any) -> Any:
    """A number that was read from a tensor; one that data decide stays a symbol."""
    n = exact(n)
    return n if type(n) in SYMBOLIC else int(n)


def _int(x: int) -> int:
    if type(x) in SYMBOLIC:
        return x
    return _place(x.item()) if isinstance(x, Tensor) else x.__index__()


def _reaches(stop: object, n: object) -> bool:
    """Whether a slice's bound is the end for sure; of sizes that vary the operator finds it out."""
    if type(stop) is int and type(n) is int:
        return stop >= n
    return stop is n or (type(stop) is type(n) and stop == n)


def _positions(t: Tensor, advanced: list[tuple[int, Any]]) -> list[object]:
    """The index tensors in the order of the dimensions, with None for those without; a mask stands
    for all the dimensions it covers."""
    indices = []
    at = 0
    for dim, item in advanced:
        indices.extend([None] * (dim - at))
        indices.append(item)
        at = dim + 1
        if _is_mask(item):
            _check_mask(t, dim, item)
            at = dim + item._aval.ndim
    return indices


@route("Tensor.__getitem__")
def getitem(self: Tensor, index: object) -> object:
    """``select``, ``slice``, ``unsqueeze`` and ``index``, one after another."""
    if type(index) is slice and index == slice(None) and self._aval.ndim:
        return A.slice.Tensor(self, 0, 0, _LAST)
    found, advanced = _looked_up(self, index)
    if not advanced:
        return A.alias.default(self) if found is self else found
    return A.index.Tensor(found, _positions(found, advanced))


@route("Tensor.__setitem__")
def setitem(self: Tensor, index: object, value: Tensor) -> None:
    """``fill_`` or ``copy_`` of the part that the index looks at, ``index_put_`` where positions
    are listed."""
    if not isinstance(value, Tensor):
        value = A.lift_fresh.default(_as_tensor(_number(self, value), self))
    if index is False:
        return
    target, advanced = _looked_up(self, index)
    if not advanced:
        shape = value._aval.shape
        if not shape and target._aval.ndim and value._aval.device == target._aval.device:
            A.fill_.Tensor(target, value)
            return
        while len(shape) > target._aval.ndim and shape[0] == 1:
            shape = shape[1:]
            value = A.view.default(value, list(shape))
        if shape != target._aval.shape:
            value = A.expand.default(value, list(target._aval.shape))
        A.copy_.default(target, value)
        return
    shape = list(value._aval.shape)
    lead = next((i for i, n in enumerate(shape) if n != 1), len(shape))
    if lead:
        value = A.view.default(value, shape[lead:])
    A.index_put_.default(target, _positions(target, advanced), value)


def _as_tensor(value: object, like: Tensor) -> Tensor:
    with Kernel():
        return from_host(np.array(value).astype(like._aval.dtype), like.device)


@route("_C._index")
def _index(input: Tensor, indices: Any) -> object:
    return A.index.Tensor(input, list(indices))


@route("_C._index_put")
def _index_put(input: Tensor, indices: Any, values: object, accumulate: bool = False) -> object:
    if not isinstance(values, Tensor):
        return NotImplemented
    return A.index_put.default(input, list(indices), values, accumulate)


@route(T.index_put, M.index_put)
def index_put(self: Tensor, indices: Any, values: object, accumulate: bool = False) -> Tensor:
    """``index_put.default``."""
    return A.index_put.default(self, list(indices), values, accumulate)


@route(M.index_put_)
def index_put_(self: Tensor, indices: Any, values: object, accumulate: bool = False) -> Tensor:
    """``index_put_.default``."""
    return A.index_put_.default(self, list(indices), values, accumulate)
