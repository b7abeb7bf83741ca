"""Reductions of jagged tensors: over everything, over the ragged dimension (dense results), over
dense dimensions (jagged ones)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import Tensor

from .compacting import compact
from .dims import inner, outer
from .jagged import TABLE
from .pointwise import wrapped
from .ragged import segment_sum
from .tensor import NestedTensor

if TYPE_CHECKING:
    from ..._src.facts.kinds import Function


#: ``reduce(x, dim, keepdim)`` on dense tensors; ``dim`` is None for all, else a tuple, or an int
#: where only one is taken.
_Dense = Callable[..., Any]


def _mapped(result: Tensor, change: Callable[[Tensor], object]) -> object:
    """The tensors of a result, or of a named tuple of results, changed."""
    return (
        change(result) if isinstance(result, Tensor) else type(result)([change(x) for x in result])
    )


def reduce(
    name: str,
    nt: NestedTensor,
    dim: object,
    keepdim: bool,
    on_dense: _Dense,
    on_ragged: Callable[[NestedTensor, bool], object],
) -> Any:
    """A reduction by its two halves: ``on_dense(values, dim, keepdim)`` and
    ``on_ragged(nt, keepdim)``, over the ragged dimension.

    Raises:
        RuntimeError: over the batch without the ragged dimension, over the ragged and dense ones
            together, over the ragged one with holes.
    """
    if dim is None or (isinstance(dim, (tuple, list)) and not len(dim)):
        whole = compact(nt)
        found = on_dense(whole._values, None if dim is None else (), keepdim)
        return _mapped(found, lambda x: x.unsqueeze(nt._ragged_idx)) if keepdim else found
    several = isinstance(dim, (tuple, list))
    dims = [outer(nt, d) for d in (dim if several else [dim])]
    batch, ragged, others = (
        0 in dims,
        nt._ragged_idx in dims,
        any(d not in (0, nt._ragged_idx) for d in dims),
    )
    if ragged and nt._cut.lengths is not None:
        raise RuntimeError(
            f"{name}(): reducing across the ragged dimension is not supported for non-contiguous "
            "nested tensors with holes"
        )
    if batch and not ragged:
        raise RuntimeError(
            f"{name}(): reducing along the batch dimension but not the ragged dimension is not "
            "supported for nested tensors"
        )
    if ragged and others and not batch:
        raise RuntimeError(
            f"{name}(): reducing along a ragged and non-batch dimension is not supported for "
            "nested tensors"
        )
    if ragged and not batch:
        return on_ragged(nt, keepdim)
    inside = tuple(dict.fromkeys(inner(nt, d) for d in dims))
    found = on_dense(nt._values, inside if several else inside[0], keepdim)
    if ragged:
        return _mapped(found, lambda x: x.unsqueeze(0)) if keepdim else found
    before = 0 if keepdim else sum(d < nt._ragged_idx for d in dims)
    return _mapped(found, lambda x: nt._like(x, nt._ragged_idx - before))


def _kept(x: Tensor, nt: NestedTensor, keepdim: bool) -> Tensor:
    """A result ``(B, *)``, with a dimension of size 1 in the ragged place if it is to be kept."""
    return x.unsqueeze(nt._ragged_idx) if keepdim else x


# ---- sums: segments of the packed rows -----------------------------------------------------------


def _ragged_sum(nt: NestedTensor, keepdim: bool, dtype: torch.dtype | None = None) -> Tensor:
    rows = nt._rows()
    if dtype is None and not (rows.dtype.is_floating_point or rows.dtype.is_complex):
        dtype = torch.int64
    wanted = rows.dtype if dtype is None else dtype
    narrow = wanted in (torch.float16, torch.bfloat16)  # summed in float32, as the dense kernels do
    return _kept(
        segment_sum(rows.to(torch.float32 if narrow else wanted), nt._cut).to(wanted), nt, keepdim
    )


@TABLE.implements("sum")
def sum_(
    input: NestedTensor,
    dim: object = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """The sum of the elements."""
    return reduce(
        "sum",
        input,
        dim,
        keepdim,
        functools.partial(_sum, dtype=dtype),
        functools.partial(_ragged_sum, dtype=dtype),
    )


def _sum(
    x: Tensor, dim: Sequence[int] | int | None, keepdim: bool, dtype: torch.dtype | None = None
) -> Tensor:
    return x.sum(dim, keepdim, dtype=dtype) if dim is not None or keepdim else x.sum(dtype=dtype)


@TABLE.implements("nansum")
def nansum(
    input: NestedTensor,
    dim: object = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> Any:
    """The sum of the elements that are not nan."""
    present = wrapped(input._values.masked_fill(input._values.isnan(), 0), input)
    return sum_(present, dim, keepdim, dtype=dtype)


@TABLE.implements("count_nonzero")
def count_nonzero(input: NestedTensor, dim: object = None) -> Any:
    """How many elements are not zero."""
    return sum_(wrapped(input._values != 0, input), dim)


def _ragged_mean(nt: NestedTensor, keepdim: bool, dtype: torch.dtype | None = None) -> Tensor:
    total = _ragged_sum(nt, True, dtype)
    counts = nt._cut.counts().to(
        total.dtype
        if total.dtype.is_floating_point or total.dtype.is_complex
        else torch.get_default_dtype()
    )
    found = total / counts.view(-1, *(1,) * (total.dim() - 1))
    return found if keepdim else found.squeeze(nt._ragged_idx)


@TABLE.implements("mean")
def mean(
    input: NestedTensor,
    dim: object = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> Any:
    """The mean of the elements; over the ragged dimension, of those that each item has."""
    dims = (
        []
        if dim is None
        else [outer(input, d) for d in (dim if isinstance(dim, (tuple, list)) else [dim])]
    )
    if input._ragged_idx in dims and 0 not in dims and len(dims) > 1:
        raise AssertionError(
            "Cannot reduce on both ragged and non-batch dimensions without also reducing on batch"
        )

    def on_dense(x: Tensor, dim: Sequence[int] | int | None, keepdim: bool) -> Tensor:
        return (
            x.mean(dim, keepdim, dtype=dtype) if dim is not None or keepdim else x.mean(dtype=dtype)
        )

    return reduce(
        "mean", input, dim, keepdim, on_dense, functools.partial(_ragged_mean, dtype=dtype)
    )


# ---- variances -----------------------------------------------------------------------------------


def _ragged_var_mean(nt: NestedTensor, keepdim: bool, correction: float) -> tuple[Tensor, Tensor]:
    middle = _ragged_mean(nt, True)
    padded = nt._padded(0.0)
    shape = [1] * padded.dim()
    shape[0], shape[nt._ragged_idx] = nt._cut.batch, padded.shape[nt._ragged_idx]
    off = torch.where(
        nt._cut.present(shape[nt._ragged_idx]).view(shape),
        padded - middle,
        torch.zeros((), dtype=padded.dtype),
    )
    freedom = (nt._cut.counts() - correction).clamp(min=0).view(-1, *(1,) * (padded.dim() - 1))
    spread = (off * off.conj()).real if padded.dtype.is_complex else off.square()
    found = spread.sum(nt._ragged_idx, keepdim=True) / freedom
    return (
        (found, middle)
        if keepdim
        else (found.squeeze(nt._ragged_idx), middle.squeeze(nt._ragged_idx))
    )


def _spread(
    name: str, input: NestedTensor, dim: object, unbiased: Any, correction: Any, keepdim: bool
) -> tuple[Any, Any]:
    if isinstance(dim, bool):  # var(x, unbiased)
        dim, unbiased = None, dim
    taken = (1 if unbiased in (None, True) else 0) if correction is None else correction

    def on_dense(x: Tensor, dim: Sequence[int] | int | None, keepdim: bool) -> object:
        return torch.var_mean(x, dim, correction=taken, keepdim=keepdim)

    return reduce(
        name, input, dim, keepdim, on_dense, functools.partial(_ragged_var_mean, correction=taken)
    )


@TABLE.implements("var")
def var(
    input: NestedTensor,
    dim: object = None,
    unbiased: object = None,
    keepdim: bool = False,
    *,
    correction: object = None,
) -> Any:
    """The variance of the elements."""
    return _spread("var", input, dim, unbiased, correction, keepdim)[0]


@TABLE.implements("std")
def std(
    input: NestedTensor,
    dim: object = None,
    unbiased: object = None,
    keepdim: bool = False,
    *,
    correction: object = None,
) -> Tensor:
    """The standard deviation of the elements."""
    return _spread("std", input, dim, unbiased, correction, keepdim)[0].sqrt()


@TABLE.implements("var_mean")
def var_mean(
    input: NestedTensor,
    dim: object = None,
    unbiased: object = None,
    keepdim: bool = False,
    *,
    correction: object = None,
) -> Any:
    """Variance and mean."""
    return tuple(_spread("var_mean", input, dim, unbiased, correction, keepdim))


@TABLE.implements("std_mean")
def std_mean(
    input: NestedTensor,
    dim: object = None,
    unbiased: object = None,
    keepdim: bool = False,
    *,
    correction: object = None,
) -> Any:
    """Standard deviation and mean."""
    spread, middle = _spread("std_mean", input, dim, unbiased, correction, keepdim)
    return spread.sqrt(), middle


# ---- by padding with what does not count ---------------------------------------------------------


def lowest(dtype: torch.dtype) -> bool | float | int:
    """A value that no maximum is below."""
    if dtype is torch.bool:
        return False
    return -math.inf if dtype.is_floating_point else torch.iinfo(dtype).min


def highest(dtype: torch.dtype) -> bool | float | int:
    """A value that no minimum is above."""
    if dtype is torch.bool:
        return True
    return math.inf if dtype.is_floating_point else torch.iinfo(dtype).max


def _without(nt: NestedTensor, like: Tensor) -> Tensor:
    """Which items have no elements, in the form of a result ``(B, *)``."""
    return (nt._cut.counts() == 0).view(-1, *(1,) * (like.dim() - 1))


def _padding(func: Function, padding: Any, single: bool) -> Callable[..., object]:
    def on_ragged(nt: NestedTensor, keepdim: bool) -> object:
        filled = nt._padded(padding(nt.dtype) if callable(padding) else padding)
        found = func(filled, nt._ragged_idx if single else (nt._ragged_idx,), keepdim=keepdim)
        if not callable(padding) or not nt.dtype.is_floating_point:
            return found
        # What PyTorch pads with, of items without elements, is finite.
        bounds = torch.finfo(nt.dtype)
        finite = bounds.min if padding is lowest else bounds.max
        return _mapped(
            found, lambda x: torch.where(_without(nt, x), finite, x) if x.dtype is nt.dtype else x
        )

    return on_ragged


def _declare(
    name: str,
    func: Callable[..., object],
    padding: object,
    *,
    dims: bool,
    options: Sequence[str] = (),
) -> None:
    """A reduction that leaves padding out by its value. ``dims``: whether it takes several
    dimensions."""

    def handler(
        input: NestedTensor, dim: object = None, keepdim: bool = False, **given: object
    ) -> object:
        unknown = given.keys() - set(options)
        if unknown:
            raise TypeError(f"{name}() got an unexpected keyword argument '{min(unknown)}'")
        call = functools.partial(func, **given)
        if isinstance(dim, (tuple, list)) and not dims and dim:
            raise TypeError(
                f"{name}(): argument 'dim' (position 2) must be int, not {type(dim).__name__}"
            )
        if dim is not None and isinstance(dim, Tensor):  # max(a, b)
            return getattr(torch, f"{name}imum")(input, dim)

        def on_dense(x: Tensor, dim: object, keepdim: bool) -> object:
            return call(x) if dim is None and not keepdim else call(x, dim, keepdim=keepdim)

        return reduce(
            name,
            input,
            dim,
            keepdim,
            on_dense,
            _padding(call, padding, not isinstance(dim, (tuple, list))),
        )

    handler.__name__ = name
    handler.__doc__ = f"``{name}`` of the elements."
    TABLE.implements(name)(handler)


_declare("amax", torch.amax, lowest, dims=True)
_declare("amin", torch.amin, highest, dims=True)
_declare("max", torch.max, lowest, dims=False)
_declare("min", torch.min, highest, dims=False)
_declare("argmax", torch.argmax, lowest, dims=False)
_declare("argmin", torch.argmin, highest, dims=False)
_declare("any", torch.any, False, dims=True)
_declare("all", torch.all, True, dims=True)
_declare("prod", torch.prod, 1, dims=False, options=("dtype",))


@TABLE.implements("aminmax")
def aminmax(input: object, *, dim: object = None, keepdim: bool = False) -> Any:
    """Smallest and largest element."""
    amin, amax = TABLE.special["amin"], TABLE.special["amax"]
    return torch.return_types.aminmax((amin(input, dim, keepdim), amax(input, dim, keepdim)))


@TABLE.implements("logsumexp")
def logsumexp(input: NestedTensor, dim: object, keepdim: bool = False) -> Tensor:
    """The logarithm of the sum of exponentials."""
    on_ragged = _padding(torch.logsumexp, lowest, False)
    return reduce(
        "logsumexp",
        input,
        dim,
        keepdim,
        lambda x, dim, keepdim: torch.logsumexp(x, dim, keepdim=keepdim),
        on_ragged,
    )


@TABLE.implements("linalg.vector_norm")
def vector_norm(
    x: Any = None,
    ord: Any = 2,
    dim: object = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
    input: Any = None,
) -> Any:
    """The p-norm of the elements."""
    nt = x if input is None else input
    if dtype is not None:
        nt = wrapped(nt._values.to(dtype), nt)
    neutral = math.inf if ord < 0 else 0.0

    def on_dense(x: Tensor, dim: Sequence[int] | int | None, keepdim: bool) -> Tensor:
        return torch.linalg.vector_norm(x, ord, dim, keepdim=keepdim)

    def on_ragged(nt: NestedTensor, keepdim: bool) -> Tensor:
        return torch.linalg.vector_norm(nt._padded(neutral), ord, nt._ragged_idx, keepdim=keepdim)

    return reduce("vector_norm", nt, dim, keepdim, on_dense, on_ragged)


@TABLE.implements("norm")
def norm(
    input: object,
    p: object = 2,
    dim: object = None,
    keepdim: bool = False,
    out: object = None,
    dtype: torch.dtype | None = None,
) -> Any:
    """The p-norm of the elements, as of one vector."""
    if p is None or p == "fro":
        p = 2
    if isinstance(p, str):
        raise NotImplementedError(
            f"norm(p={p!r}) is not offered by jtorch for nested tensors: matrices of a batch "
            "differ in size"
        )
    return vector_norm(input, p, dim, keepdim, dtype=dtype)
