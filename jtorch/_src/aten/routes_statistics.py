"""Statistics, repetitions and differences as operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core import Tensor
from ..bind.everything import M, T
from ..facts import dtypes
from ..facts.errors import canonical_dim
from ..facts.layouts import contiguous_format, strided
from .formulas import number_like
from .functions import route
from .overloads import aten
from .routes_shape import flatten, reshape, tensor_split
from .state import Kernel

A = aten

# ---- covariance ----------------------------------------------------------------------------------


@route(T.cov)
def cov(
    input: Tensor, *, correction: int = 1, fweights: object = None, aweights: object = None
) -> Tensor:
    """``mm`` of the deviations with themselves."""
    if fweights is not None or aweights is not None or input._aval.ndim > 2 or not input._aval.size:
        return NotImplemented
    if not input._aval.differentiable:
        return NotImplemented
    x = input if input._aval.ndim == 2 else A.view.default(input, [1, -1])
    count = x._aval.shape[1]
    total = _whole(count, x)
    mean = A.div.Tensor(A.sum.dim_IntList(x, [1]), total)
    free = total if correction == 0 else _whole(max(count - correction, 0), x)
    centred = A.sub.Tensor(x, A.unsqueeze.default(mean, 1))
    other = A.t.default(centred)
    if x._aval.torch_dtype.is_complex:
        other = A._conj.default(other)
    return A.squeeze.default(A.div.Tensor(A.mm.default(centred, other), free))


def _whole(n: int, like: Any) -> Any:
    """A whole number as a 0-dim tensor of its own."""
    with Kernel():
        return T.tensor(n, dtype=dtypes.int64, device=like.device)


@route(T.corrcoef)
def corrcoef(input: Tensor) -> Tensor:
    """Covariances divided by the deviations of rows and columns."""
    found = cov(input)
    if found is NotImplemented or input._aval.torch_dtype.is_complex:
        return NotImplemented
    if not found._aval.ndim:
        return A.div.Tensor(found, found)
    deviation = A.sqrt.default(A.diagonal.default(found))
    found = A.div.Tensor(found, A.view.default(deviation, [-1, 1]))
    found = A.div.Tensor(found, A.view.default(deviation, [1, -1]))
    return A.clamp.default(found, -1, 1)


# ---- quantiles -----------------------------------------------------------------------------------


def _quantile(ignore_nan: bool) -> Callable[..., object]:
    def run(
        input: Tensor,
        q: float,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
        out: object = None,
    ) -> Any:
        if out is not None or interpolation != "linear" or not input._aval.size:
            return NotImplemented
        if isinstance(q, Tensor) and (type(q) is not Tensor or q._rg or q._aval.ndim > 1):
            return NotImplemented
        single = not isinstance(q, Tensor) or not q._aval.ndim
        q = q if isinstance(q, Tensor) else number_like(q, input)
        shape = list(input._aval.shape)
        d = 0 if dim is None else canonical_dim(dim, len(shape))
        if dim is None or not shape:
            ordered = A.sort.default(flatten(input) if shape else reshape(input, [1]))[0]
            kept = [1] * len(shape) if keepdim else []
        else:
            # A new last dimension changes places with the one that is reduced, so that the others
            # keep their order.
            moved = (
                input
                if d == len(shape) - 1
                else A.transpose.int(A.unsqueeze.default(input, -1), d, -1)
            )
            ordered = A.sort.default(moved)[0]
            kept = (
                [1 if i == d else n for i, n in enumerate(shape)]
                if keepdim
                else [n for i, n in enumerate(shape) if i != d]
            )
        n = ordered._aval.shape[-1]
        ordered = reshape(ordered, [*kept, n])
        ranks = _ranks(ordered, q, single, n, ignore_nan)
        below = A._to_copy.default(ranks, dtype=dtypes.int64, layout=strided, device=ordered.device)
        low = A.gather.default(ordered, -1, below)
        weights = A.sub.Tensor(ranks, below)
        ranks = A.ceil_.default(ranks)
        above = A._to_copy.default(ranks, dtype=dtypes.int64, layout=strided, device=ordered.device)
        high = A.gather.default(ordered, -1, above)
        values = A.lerp_.Tensor(low, high, weights)
        if not single:
            values = A.transpose_.default(A.unsqueeze_.default(values, 0), 0, -1)
        return A.squeeze_.dim(values, -1)

    return run


def _ranks(ordered: Tensor, q: Any, single: bool, n: int, ignore_nan: bool) -> object:
    """Where the quantiles lie among the ordered elements; at the last, which is not a number, where
    there are such."""
    if ignore_nan:
        present = A.logical_not_.default(A.isnan.default(ordered))
        last = A.sub.Scalar(A.sum.dim_IntList(present, [-1], True), 1)
        ranks = A.mul.Tensor(q, last)
        return A.masked_fill_.Scalar(ranks, A.lt.Scalar(ranks, 0), 0)
    places = A.mul.Scalar(q, n - 1)
    missing = A.any.dim(A.isnan.default(ordered), -1, True)
    shape = [*ordered._aval.shape[:-1], 1 if single else q._aval.shape[0]]
    if list(places._aval.shape) != shape:
        places = A.expand.default(places, shape)
    if list(missing._aval.shape) != shape:
        missing = A.expand.default(missing, shape)
    return A.masked_fill.Scalar(places, missing, n - 1)


route(T.quantile)(_quantile(False))
route(T.nanquantile)(_quantile(True))


@route(T.nanmean)
def nanmean(
    input: Tensor,
    dim: object = None,
    keepdim: bool = False,
    *,
    dtype: object = None,
    out: object = None,
) -> Tensor:
    """The sum of what is a number, by how many there are."""
    if out is not None or dtype is not None or not input._aval.differentiable:
        return NotImplemented
    dims = dim if dim is None or isinstance(dim, (list, tuple)) else [dim]
    count = A.sum.dim_IntList(
        A.logical_not_.default(_is_nan(A.detach.default(input))), dims, keepdim
    )
    return A.div.Tensor(A.nansum.default(input, dims, keepdim), count)


def _is_nan(x: object) -> object:
    return A.ne.Tensor(x, x)


# ---- repetitions ---------------------------------------------------------------------------------


@route(T.repeat_interleave)
def repeat_interleave(
    input: Any = None,
    repeats: object = None,
    dim: Any = None,
    *,
    output_size: object = None,
    self: Any = None,
) -> Any:
    """A dimension added, expanded and joined; with a tensor of counts, ``index_select``."""
    x = self if input is None else input
    if repeats is None:
        return NotImplemented
    if isinstance(repeats, Tensor) and repeats._aval.size == 1 and type(repeats) is not Tensor:
        return NotImplemented
    if dim is None:
        x, dim = flatten(x), 0
    d = canonical_dim(dim, x._aval.ndim)
    if isinstance(repeats, Tensor):
        if not repeats._aval.ndim or repeats._aval.size == 1:
            return NotImplemented
        return A.index_select.default(
            x, dim, A.repeat_interleave.Tensor(repeats, output_size=output_size)
        )
    if not x._aval.ndim:
        return NotImplemented
    shape = list(x._aval.shape)
    wide = A.expand.default(
        A.unsqueeze.default(x, d + 1), [*shape[: d + 1], repeats, *shape[d + 1 :]]
    )
    return flatten(A.clone.default(wide, memory_format=contiguous_format), d, d + 1)


@route(M.sum_to_size)
def sum_to_size(self: Tensor, *sizes: object, size: object = None) -> Any:
    """The sum over the dimensions that a smaller shape does not have."""
    given = sizes if size is None else (size,)
    wanted = (
        list(given[0]) if len(given) == 1 and isinstance(given[0], (list, tuple)) else list(given)
    )
    shape = list(self._aval.shape)
    lead = len(shape) - len(wanted)
    if lead < 0 or any(w not in (1, n) for w, n in zip(wanted, shape[lead:], strict=True)):
        return NotImplemented
    dims = [
        *range(lead),
        *[i + lead for i, w in enumerate(wanted) if w == 1 and shape[i + lead] != 1],
    ]
    out = A.sum.dim_IntList(self, dims, True) if dims else self
    return A.view.default(out, wanted) if lead else out


@route(T.unsafe_chunk)
def unsafe_chunk(self: Tensor, chunks: int, dim: int = 0) -> Any:
    """``unsafe_split.Tensor``."""
    n = self._aval.shape[canonical_dim(dim, self._aval.ndim)]
    if not n or chunks <= 0:
        return NotImplemented
    return tuple(A.unsafe_split.Tensor(self, -(-n // chunks), dim))


def _split_along(name: str, dim_of: Callable[..., object]) -> None:
    def run(
        input: Tensor,
        indices_or_sections: object = None,
        *,
        indices: object = None,
        sections: object = None,
    ) -> Any:
        where = next((x for x in (indices_or_sections, indices, sections) if x is not None), None)
        dim = dim_of(input._aval.ndim)
        if (
            where is None
            or dim >= input._aval.ndim
            or (isinstance(where, int) and input._aval.shape[dim] % where)
        ):
            return NotImplemented
        return tensor_split(input, where, dim)

    route(name)(run)


_split_along("hsplit", lambda ndim: 0 if ndim == 1 else 1)
_split_along("vsplit", lambda ndim: 0 if ndim >= 2 else ndim)
_split_along("dsplit", lambda _: 2)

# ---- differences and areas -----------------------------------------------------------------------


def _areas(y: Tensor, x: object, dx: object, dim: int) -> Any:
    """Twice the areas between neighbouring points, and the dimension along which they lie."""
    ndim, n = y._aval.ndim, y._aval.shape[dim] if y._aval.ndim else 0
    if (
        not n
        or dx is not None
        or not isinstance(x, Tensor)
        or dtypes.bool_ in (y._aval.torch_dtype, x._aval.torch_dtype)
    ):
        return NotImplemented
    dim %= ndim
    shape = x._aval.shape
    if len(shape) == 1:
        x = A.view.default(x, [n if d == dim else 1 for d in range(ndim)])
    elif len(shape) < ndim:
        x = A.view.default(x, [*[1] * (ndim - len(shape)), *shape])
    along = dim - ndim + x._aval.ndim
    if (shape[0] if len(shape) == 1 else x._aval.shape[along]) != n:
        return NotImplemented
    before, after = A.slice.Tensor(x, along, 0, -1), A.slice.Tensor(x, along, 1)
    steps = A.sub.Tensor(after, before)
    pairs = A.add.Tensor(A.slice.Tensor(y, dim, 0, -1), A.slice.Tensor(y, dim, 1))
    return A.mul.Tensor(pairs, steps), dim


@route(T.trapezoid, T.trapz)
def trapezoid(y: Tensor, x: object = None, *, dx: object = None, dim: int = -1) -> Any:
    """Half of the ends and the sum of the rest, for points at equal distances; else the areas
    between neighbours."""
    if x is not None:
        areas = _areas(y, x, dx, dim)
        return (
            areas
            if areas is NotImplemented
            else A.div.Scalar(A.sum.dim_IntList(areas[0], [areas[1]]), 2.0)
        )
    if isinstance(dx, Tensor) or not y._aval.ndim or not y._aval.shape[dim]:
        return NotImplemented
    last = A.select.int(y, dim, -1)
    ends = A.mul.Scalar(A.add.Tensor(A.select.int(y, dim, 0), last), 0.5)
    return A.mul.Scalar(A.sub.Tensor(A.sum.dim_IntList(y, [dim]), ends), 1 if dx is None else dx)


@route(T.cumulative_trapezoid)
def cumulative_trapezoid(y: Tensor, x: object = None, *, dx: Any = None, dim: int = -1) -> Any:
    """Running sums of means of neighbours, for points at equal distances; else of the areas between
    them."""
    if x is not None:
        areas = _areas(y, x, dx, dim)
        return areas if areas is NotImplemented else A.div.Scalar(A.cumsum.default(*areas), 2.0)
    if isinstance(dx, Tensor) or not y._aval.ndim:
        return NotImplemented
    before, after = A.slice.Tensor(y, dim, 0, -1), A.slice.Tensor(y, dim, 1)
    dx = 1 if dx is None else dx
    return A.cumsum.default(A.mul.Scalar(A.add.Tensor(after, before), dx / 2.0), dim)
