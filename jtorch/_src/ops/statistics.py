"""Variance and standard deviation, order statistics (median, quantile, k-th value) and the mode."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..engine.supposing import is_supposing
from ..facts import dtypes
from ..facts.errors import canonical_dims
from ._axes import (
    category,
    one_dim,
    positions,
    reduced_dims,
    restored,
    select_fwd,
    select_grad,
    squeezed,
    take_along,
    to_dtype,
)
from ._declare import Array, defvjp, guard_range, op, reduction
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._kernel import cast
from ._matrix import product
from ._numeric import default_float, is_complex, quotient, unsupported, wide
from ._order import MEDIAN, MEDIAN_OF_NUMBERS, selected, sort_along
from ._sizes import fewer
from .reductions import shared_grad

if TYPE_CHECKING:
    from ..facts.kinds import Operand


# ---- variance ------------------------------------------------------------------------------------


def _moments(
    input: Array, dims: tuple[int, ...], correction: float, message: str
) -> tuple[Array, Array, Array, float]:
    """Mean (dimensions kept), the deviations from it, the summed squares of those, and the
    divisor."""
    if category(input.dtype) < dtypes.FLOATING:
        raise RuntimeError(message)
    x = wide(input)
    count = math.prod([x.shape[d] for d in dims])
    # Divided and rounded before it is subtracted: multiplied by the reciprocal, or in a
    # multiply-add, equal values would deviate from it. One value is its own mean: a loop of its own
    # would compute it again, and perhaps round otherwise.
    mean = x
    if type(count) is not int or count != 1:
        mean = lax.optimization_barrier(
            jnp.sum(x, axis=dims, keepdims=True)
            / lax.optimization_barrier(jnp.full((), count, x.dtype))
        )
    deviation = x - mean
    square = jnp.real(deviation * jnp.conj(deviation)) if is_complex(x) else deviation * deviation
    return mean, deviation, jnp.sum(square, axis=dims, keepdims=True), _divisor(count, correction)


def _divisor(count: int, correction: float) -> Operand:
    if type(count) is int:
        # nothing has no variance, whatever is added to its number
        return float(max(count - correction, 0.0)) if count else 0.0
    if is_supposing() and correction == int(correction) and fewer(int(correction), count):
        return count - int(correction)
    return jnp.maximum(jnp.asarray(count, np.float64) - correction, 0.0)


def _both(
    input: Array, dims: tuple[int, ...], correction: float, message: str
) -> tuple[Array, Array, float]:
    """``_moments`` where the mean is a result: torch moves it by deviations from it, which are no
    numbers where one element is infinite."""
    mean, deviation, total, divisor = _moments(input, dims, correction, message)
    if deviation.size > mean.size and not is_complex(mean):
        mean = jnp.where(jnp.isnan(total), np.asarray(np.nan, mean.dtype), mean)
    return mean, total, divisor


def _over(total: Array, divisor: float) -> Array:
    return total / jnp.full((), divisor, total.dtype)


def _final(x: Array, dims: tuple[int, ...], keepdim: bool, dtype: np.dtype) -> Array:
    return to_dtype(x if keepdim else lax.squeeze(x, dims), dtype)


def _real(dtype: np.dtype) -> np.dtype:
    return dtypes.from_np(dtype).to_real().np


_ONLY_FLOAT = "std and var only support floating point and complex dtypes"


@op(namespace="_C", out=True, aten="var.correction")
def _var(
    input: Array, dim: int | tuple[int, ...] | None, correction: float, keepdim: bool
) -> Array:
    """The variance: summed squared deviations over (count - ``correction``)."""
    dims = reduced_dims(input, dim)
    _, _, total, divisor = _moments(input, dims, correction, _ONLY_FLOAT)
    return _final(_over(total, divisor), dims, keepdim, _real(input.dtype))


@op(namespace="_C", out=True, aten="std.correction", node="StdBackward0")
def _std(
    input: Array, dim: int | tuple[int, ...] | None, correction: float, keepdim: bool
) -> Array:
    """The root of the variance."""
    dims = reduced_dims(input, dim)
    _, _, total, divisor = _moments(input, dims, correction, _ONLY_FLOAT)
    return _final(jnp.sqrt(_over(total, divisor)), dims, keepdim, _real(input.dtype))


@op(namespace="_C", aten="var_mean.correction")
def _var_mean(
    input: Array, dim: int | tuple[int, ...] | None, correction: float, keepdim: bool
) -> tuple[Array, Array]:
    """The variance and the mean."""
    dims = reduced_dims(input, dim)
    average, total, divisor = _both(
        input, dims, correction, "var_mean only support floating point and complex dtypes"
    )
    return _final(_over(total, divisor), dims, keepdim, _real(input.dtype)), _final(
        average, dims, keepdim, input.dtype
    )


@op(namespace="_C", aten="std_mean.correction")
def _std_mean(
    input: Array, dim: int | tuple[int, ...] | None, correction: float, keepdim: bool
) -> tuple[Array, Array]:
    """The standard deviation and the mean."""
    dims = reduced_dims(input, dim)
    average, total, divisor = _both(
        input, dims, correction, "std_mean only support floating point and complex dtypes"
    )
    return _final(jnp.sqrt(_over(total, divisor)), dims, keepdim, _real(input.dtype)), _final(
        average, dims, keepdim, input.dtype
    )


def _var_grad(g: Array, input: Array, dims: tuple[int, ...], correction: float) -> Array:
    """``g`` has the reduced dimensions kept."""
    _, deviation, _, divisor = _moments(input, dims, correction, _ONLY_FLOAT)
    kind = _real(deviation.dtype)
    if type(divisor) is float:
        scale = jnp.full((), np.float64(2) / divisor if divisor else np.inf, kind)
    else:
        scale = 2 / jnp.full((), divisor, kind)
    return to_dtype(
        to_dtype(to_dtype(g, _real(deviation.dtype)) * scale, deviation.dtype) * deviation,
        input.dtype,
    )


def _through_root(g: Array, result: Array) -> Array:
    flat = result == 0
    return jnp.where(
        flat, jnp.zeros((), g.dtype), g / (2 * jnp.where(flat, jnp.ones((), result.dtype), result))
    )


def _var_rule(
    g: Array,
    result: Array | None,
    input: Array,
    dim: int | tuple[int, ...] | None,
    correction: float,
    keepdim: bool,
) -> tuple[Array]:
    dims = canonical_dims(dim, input.ndim)
    return (_var_grad(restored(g, dims, keepdim), input, dims, correction),)


def _std_rule(
    g: Array,
    result: Array,
    input: Array,
    dim: int | tuple[int, ...] | None,
    correction: float,
    keepdim: bool,
) -> tuple[Array]:
    dims = canonical_dims(dim, input.ndim)
    return (
        _var_grad(
            _through_root(restored(g, dims, keepdim), restored(result, dims, keepdim)),
            input,
            dims,
            correction,
        ),
    )


def _mean_grad(g: Array, input: Array, dims: tuple[int, ...]) -> Array:
    count = math.prod([input.shape[d] for d in dims])
    return jnp.broadcast_to(g / max(count, 1), input.shape)


def _with_mean(
    spread: Array | None, g_mean: Array | None, input: Array, dims: tuple[int, ...]
) -> tuple[Array | None]:
    """What comes from the variance, if anything does, and from the mean: of one element the former
    is NaN, which the latter is not."""
    mean = None if g_mean is None else _mean_grad(g_mean, input, dims)
    return (spread if mean is None else mean if spread is None else spread + mean,)


def _var_mean_rule(
    g: tuple[Array | None, Array | None],
    result: object,
    input: Array,
    dim: int | tuple[int, ...] | None,
    correction: float,
    keepdim: bool,
) -> tuple[Array | None]:
    dims = canonical_dims(dim, input.ndim)
    g_var, g_mean = (None if x is None else restored(x, dims, keepdim) for x in g)
    return _with_mean(
        None if g_var is None else _var_grad(g_var, input, dims, correction), g_mean, input, dims
    )


def _std_mean_rule(
    g: tuple[Array | None, Array | None],
    result: tuple[Array, Array],
    input: Array,
    dim: int | tuple[int, ...] | None,
    correction: float,
    keepdim: bool,
) -> tuple[Array | None]:
    dims = canonical_dims(dim, input.ndim)
    g_std, g_mean = (None if x is None else restored(x, dims, keepdim) for x in g)
    spread = None
    if g_std is not None:
        spread = _var_grad(
            _through_root(g_std, restored(result[0], dims, keepdim)), input, dims, correction
        )
    return _with_mean(spread, g_mean, input, dims)


defvjp(_var, _var_rule, saves=("input",))
defvjp(_std, _std_rule, saves=("input", "result"))
defvjp(_var_mean, _var_mean_rule, saves=("input",), absent=True)
defvjp(_std_mean, _std_mean_rule, saves=("input", "result"), absent=True)


# ---- order statistics ----------------------------------------------------------------------------


def _ordered(name: str, input: Array, *, bool_too: bool = False) -> None:
    if is_complex(input) or (input.dtype == np.bool_ and not bool_too):
        raise unsupported(name, input)


def _median_whole(input: Array, ignore_nan: bool) -> Array:
    if input.size == 0 and not is_complex(input):
        return cast(jnp.full((), np.nan, np.float64), input.dtype)
    _ordered("median_cpu", input)
    x = lax.reshape(input, (input.size,))
    return lax.reshape(selected(x, 0, MEDIAN_OF_NUMBERS if ignore_nan else MEDIAN)[0], ())


def _median_along(
    name: str, input: Array, dim: int, keepdim: bool, ignore_nan: bool
) -> tuple[Array, Array]:
    x, axis = one_dim(input, dim, name)
    _ordered("median_out", input)
    found = selected(x, axis, MEDIAN_OF_NUMBERS if ignore_nan else MEDIAN)
    return tuple([squeezed(a, axis, input.ndim, keepdim) for a in found])  # type: ignore[return-value]


@op(namespace="_C", out=True, aten="median", node="MedianBackward0")
def _median_all(input: Array) -> Array:
    """The lower median of all elements; NaN if there is one. Gradient: shared evenly among elements
    equal to it."""
    return _median_whole(input, ignore_nan=False)


@op(namespace="_C", out=True, aten="nanmedian", node="NanmedianBackward0")
def _nanmedian_all(input: Array) -> Array:
    """The lower median of all elements that are not NaN. Gradient: shared evenly among elements
    equal to it."""
    return _median_whole(input, ignore_nan=True)


_WORDS = {"values": "type", "indices": "Long"}


@op(
    namespace="_C", out=True, saves=(), returns="median", fields=("values", "indices"),
    aten="median.dim", node="MedianBackward1", out_dtype=_WORDS,
)  # fmt: skip
def _median_dim(input: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """The lower medians along ``dim`` and where they stand; NaN where there is one. Gradient: to
    those places."""
    return _median_along("median", input, dim, keepdim, ignore_nan=False)


@op(
    namespace="_C", out=True, saves=(), returns="nanmedian", fields=("values", "indices"),
    aten="nanmedian.dim", node="NanmedianBackward1", out_dtype=_WORDS,
)  # fmt: skip
def _nanmedian_dim(input: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """The lower medians of the numbers along ``dim`` and where they stand. Gradient: to those
    places."""
    return _median_along("nanmedian", input, dim, keepdim, ignore_nan=True)


def _whole_rule(g: Array, result: Array, input: Array) -> tuple[Array]:
    return shared_grad(g, result, input, tuple(range(input.ndim)), False, nan=True)


def _dim_rule(
    g: tuple[Array, object], residuals: tuple[Array], input: Array, dim: int, keepdim: bool = False
) -> tuple[Array]:
    return select_grad(g[0], residuals[0], input, dim, keepdim)


for _kernel in (_median_all, _nanmedian_all):
    defvjp(_kernel, _whole_rule, saves=("input", "result"))
for _kernel in (_median_dim, _nanmedian_dim):
    defvjp(_kernel, _dim_rule, fwd=select_fwd(_kernel), saves=(), shown=(1,))


@reduction(
    saves=(),
    returns="kthvalue",
    fields=("values", "indices"),
    aten="kthvalue",
    out_dtype={
        "values": "output values must be of same type as input",
        "indices": "output indices must be of scalar type {its}",
    },
    out_apart="wholly",
)
@schemas(
    "(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices) ; "
    "=values:values,indices"
)
def kthvalue(input: Array, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """The ``k``-th smallest elements along ``dim`` (counted from 1) and where they stand.

    Shapes: twice the input's without the dimension ``dim``, which stays with size 1 if ``keepdim``.

    Dtypes: real ones, kept; the indices are int64.

    Gradient: to the places found.

    Raises:
        RuntimeError: if there is no ``k``-th element.
        IndexError: if ``dim`` is out of range or empty.
        NotImplementedError: for bool and complex tensors.

    Differs from torch: of equal elements the first place is given; torch leaves it open.

    Example:
        >>> import jtorch as torch
        >>> torch.kthvalue(torch.tensor([30, 10, 20]), 2)
        torch.return_types.kthvalue(
        values=tensor(20),
        indices=tensor(2))
    """
    x, axis = one_dim(input, dim, "kthvalue")
    if not 1 <= k <= x.shape[axis]:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    _ordered("kthvalue_cpu", input)
    return tuple([squeezed(a, axis, input.ndim, keepdim) for a in selected(x, axis, k - 1)])  # type: ignore[return-value]


@reduction(
    saves=(),
    returns="mode",
    fields=("values", "indices"),
    aten="mode",
    out_dtype="expected scalar type '{its}' but got '{mine}' for {field} output",
)
@schemas(". ; =values:values,indices")
def mode(input: Array, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """The most frequent elements along ``dim``, the smallest of equally frequent ones, and the last
    places where they stand.

    Shapes: twice the input's without the dimension ``dim``, which stays with size 1 if ``keepdim``.

    Dtypes: real ones and bool, kept; the indices are int64.

    Gradient: to the places found.

    Raises:
        IndexError: if ``dim`` is out of range or empty.
        NotImplementedError: for complex tensors.

    Example:
        >>> import jtorch as torch
        >>> torch.mode(torch.tensor([3, 1, 3, 1, 2]))
        torch.return_types.mode(
        values=tensor(1),
        indices=tensor(3))
    """
    x, axis = one_dim(input, dim, "mode")
    _ordered("mode_cpu", input, bool_too=True)
    values, indices = sort_along(x, axis)
    n = values.shape[axis]
    place = positions(values, axis)
    first, rest = (
        lax.slice_in_dim(values, 0, n - 1, axis=axis),
        lax.slice_in_dim(values, 1, n, axis=axis),
    )
    new = jnp.concatenate(
        [jnp.ones_like(lax.slice_in_dim(values, 0, 1, axis=axis), dtype=np.bool_), first != rest],
        axis=axis,
    )
    length = place - lax.cummax(jnp.where(new, place, 0), axis=axis)
    best = jnp.argmax(length == jnp.max(length, axis=axis, keepdims=True), axis=axis, keepdims=True)
    found = (
        squeezed(take_along(a, best, axis), axis, input.ndim, keepdim) for a in (values, indices)
    )
    return tuple(found)  # type: ignore[return-value]


def _kth_rule(
    g: tuple[Array, object],
    residuals: tuple[Array],
    input: Array,
    k: int,
    dim: int = -1,
    keepdim: bool = False,
) -> tuple[Array]:
    return select_grad(g[0], residuals[0], input, dim, keepdim)


def _mode_rule(
    g: tuple[Array, object],
    residuals: tuple[Array],
    input: Array,
    dim: int = -1,
    keepdim: bool = False,
) -> tuple[Array]:
    return select_grad(g[0], residuals[0], input, dim, keepdim)


defvjp(kthvalue, _kth_rule, fwd=select_fwd(kthvalue), saves=(), shown=(1,))
derivative(
    A.mode,
    A.kthvalue,
    results=(0,),
    self=lambda g, self_, dim, keepdim, result1: D.picked(g, self_, dim, result1, keepdim),
)
defvjp(mode, _mode_rule, fwd=select_fwd(mode), saves=(), shown=(1,))


# ---- quantiles -----------------------------------------------------------------------------------

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _levels(name: str, q: Array | float, dtype: np.dtype) -> Array:
    """``q`` checked, as an array of the input's dtype."""
    if isinstance(q, int | float):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
        return jnp.full((), q, dtype)
    if q.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if q.dtype != dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    guard_range(q, 0, 1, RuntimeError, f"{name}() q values must be in the range [0, 1]")
    return q


def _quantile(
    input: Array,
    q: Array | float,
    dim: int | None,
    keepdim: bool,
    interpolation: str,
    ignore_nan: bool,
) -> Array:
    name = "quantile"  # in torch's words for both
    if input.size == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if input.dtype not in (np.float32, np.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    levels = _levels(name, q, input.dtype)
    if dim is None:
        x, axis = lax.reshape(input, (input.size,)), 0
    else:
        x, axis = one_dim(input, dim, name)
    x = jnp.moveaxis(x, axis, -1)
    n = x.shape[-1]
    ordered, _ = sort_along(x, x.ndim - 1)
    missing = jnp.isnan(ordered)
    count = jnp.sum(~missing, axis=-1, keepdims=True, dtype=np.int64)
    flat = lax.reshape(levels, (1,) * (x.ndim - 1) + (levels.size,))
    if ignore_nan:
        rank = flat * jnp.maximum(count - 1, 0).astype(x.dtype)
    else:
        rank = jnp.where(count < n, jnp.full((), n - 1, x.dtype), flat * (n - 1))
    rank = {"lower": jnp.floor, "higher": jnp.ceil, "nearest": jnp.round}.get(
        interpolation, lambda r: r
    )(rank)
    below = jnp.floor(rank)
    value = take_along(ordered, below.astype(np.int64), x.ndim - 1)
    if interpolation in ("linear", "midpoint"):
        weight = jnp.full_like(rank, 0.5) if interpolation == "midpoint" else rank - below
        above = take_along(ordered, jnp.ceil(rank).astype(np.int64), x.ndim - 1)
        # torch's lerp, which is exact at both ends.
        value = jnp.where(
            weight < 0.5, value + weight * (above - value), above - (above - value) * (1 - weight)
        )
    # (kept dimensions, levels) to (levels, kept dimensions)
    if keepdim:
        value = jnp.expand_dims(value, tuple(range(input.ndim)) if dim is None else axis)
        if dim is None:
            value = lax.reshape(value, (1,) * input.ndim + (levels.size,))
        elif input.ndim == 0:
            value = lax.reshape(value, (levels.size,))
    return jnp.moveaxis(value, -1, 0) if levels.ndim else lax.squeeze(value, (value.ndim - 1,))


@reduction(
    saves=("input", "q"),
    aten="quantile",
    out_dtype="quantile() out tensor must be same dtype as the input tensor",
    node="SqueezeBackward4",
    autocast="cpu float32",
    implicit=True,
    unchecked=("input",),
)
@schemas(
    '(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> '
    "Tensor ; =out",
    ".scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str "
    'interpolation="linear") -> Tensor ; =scalar_out',
)
def quantile(
    input: Array,
    q: Array | float,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Array:
    """The ``q``-th quantiles along ``dim``, or of the flattened input; NaN where there is one.

    Shapes: the input's without the dimension ``dim`` (all by default), after a leading n for ``q``
    (n).

    Dtypes: float32 and float64, the same for a tensor ``q``.

    Raises:
        RuntimeError: for other dtypes, no elements, an unknown ``interpolation``, or a ``q``
            outside [0, 1], of another dtype or a matrix.
        IndexError: if ``dim`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([0.0, 1.0, 2.0, 4.0])
        >>> torch.quantile(x, 0.5)
        tensor(1.5000)
        >>> torch.quantile(x, torch.tensor([0.0, 0.75]))
        tensor([0.0000, 2.5000])
        >>> torch.quantile(x, 0.5, interpolation="lower")
        tensor(1.)
    """
    return _quantile(input, q, dim, keepdim, interpolation, ignore_nan=False)


@reduction(
    saves=("input", "q"),
    aten="nanquantile",
    out_dtype="quantile() out tensor must be same dtype as the input tensor",
    node="SqueezeBackward4",
    autocast="cpu float32",
    implicit=True,
    unchecked=("input",),
)
@schemas(
    '(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> '
    "Tensor ; =out",
    ".scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str "
    'interpolation="linear") -> Tensor ; =scalar_out',
)
def nanquantile(
    input: Array,
    q: Array | float,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Array:
    """The quantiles of the elements that are not NaN; see ``quantile``.

    Shapes: the input's without the dimension ``dim`` (all by default), after a leading n for ``q``
    (n).

    Dtypes: float32 and float64, the same for a tensor ``q``.

    Raises:
        RuntimeError: for other dtypes, no elements, an unknown ``interpolation``, or a ``q``
            outside [0, 1], of another dtype or a matrix.
        IndexError: if ``dim`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.nanquantile(torch.tensor([1.0, float("nan"), 3.0]), 0.5)
        tensor(2.)
    """
    return _quantile(input, q, dim, keepdim, interpolation, ignore_nan=True)


# ---- covariance ----------------------------------------------------------------------------------


@op(namespace="_C", aten="cov", node="SqueezeBackward0", unchecked=("input",))
def _cov(input: Array, correction: int) -> Array:
    """The covariance matrix of the rows of a matrix, whose columns count alike; without dimensions
    of size 1."""
    x = default_float(input)
    observations = x.shape[1]
    mean = quotient(
        to_dtype(jnp.sum(input, axis=1, keepdims=True), x.dtype),
        jnp.full((1, 1), observations, x.dtype),
    )
    centred = x - mean
    found = product(centred, jnp.conj(centred.T))
    divisor = jnp.full((), max(observations - correction, 0), _real(x.dtype))
    return jnp.squeeze(found / lax.optimization_barrier(divisor).astype(found.dtype))


@op(
    namespace="_C",
    aten="corrcoef",
    unchecked=("input",),
    node=lambda made: (
        "DivBackward0" if made.ndims[0] < 2 or made.avals[0].shape[0] == 1 else "ClampBackward1"
    ),
)
def _corrcoef(input: Array) -> Array:
    """Pearson's correlation of the rows of a matrix."""
    found = _cov(input, 1)
    if found.ndim == 0:
        return found / found
    deviation = jnp.sqrt(jnp.real(jnp.diagonal(found)))
    found = found / deviation[:, None].astype(found.dtype) / deviation[None, :].astype(found.dtype)
    if is_complex(found):
        return lax.complex(jnp.clip(jnp.real(found), -1, 1), jnp.clip(jnp.imag(found), -1, 1))
    return jnp.clip(found, -1, 1)
