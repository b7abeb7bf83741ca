"""Running sums, products and extrema, finite differences and the trapezoid rule."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts import dtypes
from ..facts.dtypes import finfo
from ..facts.errors import broadcast_shapes, canonical_dim
from . import _complex, _loops
from ._axes import accumulated, category, positions, put_along, to_dtype
from ._declare import Array, Dtype, Number, defvjp, op, reduction
from ._derivatives import A, D, derivative
from ._hosted import hosted
from ._numeric import default_float, is_complex, is_float, unsupported, wide
from ._running import COLUMNS, running, running_extremum

if TYPE_CHECKING:
    from ...core import Tensor
    from ..facts.kinds import Function


def _scanned(x: Array, axis: int, scan: Function) -> Array:
    """``scan(x, axis)`` for inputs of any rank; a 0-dim one is its own scan."""
    return scan(x, axis) if x.ndim and x.size else x


def _sums(x: Array, axis: int, reverse: bool = False) -> Array:
    return running(x, axis, lax.add, lax.cumsum, jnp.sum, reverse)


def _products(x: Array, axis: int) -> Array:
    return running(x, axis, lax.mul, lax.cumprod, jnp.prod)


def _running(
    input: Array, dim: int, dtype: Dtype | None, scan: Callable[..., object], kernel: str
) -> Array:
    axis = canonical_dim(dim, input.ndim)
    x = accumulated(input, dtype)
    if x.dtype == np.bool_ and x.ndim and x.size:
        raise NotImplementedError(f"\"{kernel}_out_cpu\" not implemented for 'Bool'")
    return to_dtype(_scanned(wide(x), axis, scan), x.dtype)


@reduction(
    inplace=True,
    saves=(),
    computes_out=True,
    aten="cumsum",
    out_dtype="expected",
    out_apart="partly",
    autocast="cuda float32",
)
def cumsum(input: Array, dim: int, *, dtype: Dtype | None = None) -> Array:
    """Running sums along ``dim``.

    Args:
        input: the tensor.
        dim: the dimension to go along.
        dtype: the dtype to convert to before, and of the result.

    Shapes: input (*) -> (*).
    Dtypes: integers and bool are summed in int64 unless ``dtype`` is given.

    Raises:
        IndexError: if ``dim`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.cumsum(torch.tensor([[1, 2], [3, 4]]), 1)
        tensor([[1, 3],
                [3, 7]])
    """
    return _running(input, dim, dtype, _sums, "cumsum")


@reduction(
    inplace=True,
    saves=("input", "result"),
    computes_out=True,
    aten="cumprod",
    out_dtype="expected",
    out_apart="partly",
    autocast="cuda float32",
)
def cumprod(input: Array, dim: int, *, dtype: Dtype | None = None) -> Array:
    """Running products along ``dim``.

    Shapes: input (*) -> (*).
    Dtypes: integers and bool are multiplied in int64 unless ``dtype`` is given.
    Gradient: right where elements are zero.

    Raises:
        IndexError: if ``dim`` is out of range.

    Example:
        >>> import jtorch as torch
        >>> torch.cumprod(torch.tensor([1.0, 2.0, 0.5]), 0)
        tensor([1., 2., 1.])
    """
    return _running(input, dim, dtype, _products, "cumprod")


def _cumprod_rule(
    g: Array, result: Array, input: Array, dim: int, *, dtype: Dtype | None = None
) -> tuple[Array]:
    """The products before each element, times what it is followed by:
    ``s[k] = g[k] + x[k + 1] * s[k + 1]``, without any division."""
    if not input.ndim or not input.size:
        return (to_dtype(g, input.dtype),)
    axis = canonical_dim(dim, input.ndim)
    if type(input.size) is not int:
        (found,) = jax.vjp(lambda x: _running(x, dim, dtype, _products, "cumprod"), input)[1](g)
        return (found,)
    kind = np.dtype(np.complex128 if is_complex(result) else np.float64)
    x, made, above = [jnp.moveaxis(to_dtype(a, result.dtype), axis, 0) for a in (input, result, g)]
    if is_complex(x):
        x, made = jnp.conj(x), jnp.conj(made)
    one = jnp.ones((1, *x.shape[1:]), x.dtype)
    factors, before = jnp.concatenate([x[1:], one]), jnp.concatenate([one, made[:-1]])

    def step(s: Array, row: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        factor, added, products = row
        s = to_dtype(added, kind) + to_dtype(factor, kind) * s
        return s, to_dtype(to_dtype(products, kind) * s, x.dtype)

    def join(later: tuple[Array, Array], earlier: tuple[Array, Array]) -> tuple[Array, Array]:
        return earlier[0] * later[0], earlier[1] + earlier[0] * later[1]

    if x.size // x.shape[0] >= COLUMNS:
        found = _loops.scan(
            step, jnp.zeros(x.shape[1:], kind), (factors, above, before), reverse=True
        )[1]
    else:
        s = lax.associative_scan(
            join, (to_dtype(factors, kind), to_dtype(above, kind)), reverse=True
        )[1]
        found = to_dtype(to_dtype(before, kind) * s, x.dtype)
    return (to_dtype(jnp.moveaxis(found, 0, axis), input.dtype),)


defvjp(cumprod, _cumprod_rule, saves=("input", "result"))


def _reversed_sum(x: object, dim: int) -> object:
    return A.flip.default(A.cumsum.default(A.flip.default(x, [dim]), dim), [dim])


def _cumprod_formula(
    g: object, self: Tensor, dim: int, result: object, grads: object, node: object
) -> object:
    if self._aval.size <= 1 or self._aval.shape[dim] == 1:
        return g
    if D.recorded():
        return D.general(grads, node, self, dim, None)
    x, out = D.conj(self), D.conj(result)
    weighted = A.mul.Tensor(out, g)
    before = A.cumsum.default(A.eq.Scalar(self, 0), dim)  # zeros up to each element
    first = A.eq.Scalar(before, 0)
    kept = A.masked_fill.Scalar(weighted, A.bitwise_not.default(first), 0.0)
    found = A.where.self(
        first, A.div.Tensor(_reversed_sum(kept, dim), x), D.made_zeros(self._aval.shape, g)
    )
    mask = A.eq.Scalar(before, 1)
    place = A.max.dim(mask, dim, True)[1]
    at_zero = A.logical_and_.default(
        A.scatter_.value(A.zeros_like.default(mask), dim, place, 1), mask
    )
    mask = A.bitwise_and_.Tensor(mask, A.bitwise_not.default(at_zero))
    following = A.cumprod.default(A.masked_fill.Scalar(x, A.bitwise_not.default(mask), 1.0), dim)
    following = A.masked_fill.Scalar(following, A.ne.Scalar(before, 1), 0.0)
    leading = A.gather.default(out, dim, A.relu_.default(A.sub.Scalar(place, 1)))
    leading = A.masked_fill_.Scalar(leading, A.eq.Scalar(place, 0), 1.0)
    total = A.mul.Tensor(A.sum.dim_IntList(A.mul.Tensor(following, g), [dim], True), leading)
    return A.where.self(at_zero, total, found)


derivative(A.cumprod, self=_cumprod_formula)


def _cumsum_rule(
    g: Array, result: None, input: Array, dim: int, *, dtype: Dtype | None = None
) -> tuple[Array]:
    axis = canonical_dim(dim, g.ndim)
    return (to_dtype(_scanned(wide(g), axis, functools.partial(_sums, reverse=True)), g.dtype),)


defvjp(cumsum, _cumsum_rule, saves=())


def _cumsum_formula(g: Tensor, dim: int) -> object:
    if not g._aval.ndim or g._aval.size <= 1:
        return g
    return A.flip.default(A.cumsum.default(A.flip.default(g, [dim]), dim), [dim])


derivative(A.cumsum, self=_cumsum_formula)


def _running_extremum(name: str, input: Array, dim: int, scan: Function) -> tuple[Array, Array]:
    axis = canonical_dim(dim, input.ndim)
    if is_complex(input):
        raise unsupported(f"{name}_cpu", input)
    if input.ndim == 0 or input.size == 0:
        return input, jnp.zeros(input.shape, np.int64)
    if input.dtype == np.bool_:
        values, places = _running_extremum(name, input.astype(np.int8), axis, scan)
        return values.astype(np.bool_), places
    floating = category(input.dtype) == dtypes.FLOATING

    def by_xla(x: Array) -> tuple[Array, Array]:
        values = scan(x, axis=axis)
        # A new extremum stands where an element equals the running one: the last of equal ones
        # counts.
        new = x == values
        if floating:
            new |= jnp.isnan(x)
        place = positions(x, axis)
        return values, lax.cummax(
            jnp.where(new, place, jnp.zeros((), place.dtype)), axis=axis
        ).astype(np.int64)

    def beats(new: Array, old: Array) -> Array:
        found = new >= old if scan is lax.cummax else new <= old
        return found | jnp.isnan(new) if floating else found

    return running_extremum(input, axis, beats, by_xla)


@reduction(
    saves=(), returns="cummax", fields=("values", "indices"), aten="cummax", out_dtype="scalar_type"
)
def cummax(input: Array, dim: int) -> tuple[Array, Array]:
    """Running maxima along ``dim`` and the last places so far where they stand.

    Shapes: input (*) -> values (*), indices (*).
    Dtypes: real ones -> the same and int64; complex numbers are refused (NotImplementedError).
    Gradient: to those places.

    Example:
        >>> import jtorch as torch
        >>> torch.cummax(torch.tensor([1, 3, 2, 3]), 0)
        torch.return_types.cummax(
        values=tensor([1, 3, 3, 3]),
        indices=tensor([0, 1, 1, 3]))
    """
    return _running_extremum("cummax", input, dim, lax.cummax)


@reduction(
    saves=(), returns="cummin", fields=("values", "indices"), aten="cummin", out_dtype="scalar_type"
)
def cummin(input: Array, dim: int) -> tuple[Array, Array]:
    """Running minima along ``dim`` and the last places so far where they stand.

    Shapes: input (*) -> values (*), indices (*).
    Dtypes: real ones -> the same and int64; complex numbers are refused (NotImplementedError).
    Gradient: to those places.

    Example:
        >>> import jtorch as torch
        >>> torch.cummin(torch.tensor([3, 1, 2, 1]), 0)
        torch.return_types.cummin(
        values=tensor([3, 1, 1, 1]),
        indices=tensor([0, 1, 1, 3]))
    """
    return _running_extremum("cummin", input, dim, lax.cummin)


def _extremum_rule(
    g: tuple[Array, object], residuals: tuple[Array], input: Array, dim: int
) -> tuple[Array]:
    if input.ndim == 0 or input.size == 0:
        return (g[0],)
    axis = canonical_dim(dim, input.ndim)
    if input.shape[axis] == 1:
        return (g[0],)
    return (put_along(g[0], residuals[0], axis, input.shape[axis]),)


def _keeping_indices(kernel: Function) -> Callable[..., object]:
    def fwd(input: Array, dim: int) -> tuple[Any, tuple[Array]]:
        values, indices = kernel(input, dim)
        return (values, indices), (indices,)

    return fwd


defvjp(cummax, _extremum_rule, fwd=_keeping_indices(cummax), saves=(), shown=(1,))
defvjp(cummin, _extremum_rule, fwd=_keeping_indices(cummin), saves=(), shown=(1,))
derivative(
    A.cummax,
    A.cummin,
    results=(0,),
    self=lambda g, self_, dim, result1: A.scatter_add.default(
        D.made_zeros(self_.shape, g), dim, result1, g
    ),
)


def _log_add(x: Array, total: Array) -> Array:
    """``log(exp(x) + exp(total))`` of complex numbers; its imaginary part is not brought into (-pi,
    pi]."""
    first = jnp.real(x) < jnp.real(total)
    small, large = jnp.where(first, x, total), jnp.where(first, total, x)
    both_zero = (jnp.real(small) == jnp.real(large)) & (jnp.real(small) == -np.inf)
    both_infinite = (jnp.real(small) == jnp.real(large)) & (jnp.real(small) == np.inf)
    # of infinities JAX has other values in compiled programs
    exp, log = _complex.exp, functools.partial(_complex.logarithm, jnp.log)
    found = log(1 + exp(small - large)) + large
    found = jnp.where(both_infinite, log(exp(small) + exp(large)), found)
    return jnp.where(both_zero, small, found)


def _complex_logcumsumexp(x: Array, axis: int) -> Array:
    """One element after the other, since the imaginary part depends on the order; the logarithm of
    0, from where it starts, has none."""
    moved = jnp.moveaxis(x, axis, 0)
    nothing = np.asarray(complex(-math.inf, 0), x.dtype)
    unknown = np.asarray(complex(math.nan, math.nan), x.dtype)

    def step(total: Array, item: Array) -> tuple[Array, Array]:
        total = jnp.where(jnp.isnan(item) | jnp.isnan(total), unknown, _log_add(item, total))
        return total, total

    _, found = _loops.scan(step, jnp.full_like(moved[0], nothing), moved)
    return jnp.moveaxis(found, 0, axis)


@reduction(
    saves=("input", "result"), aten="logcumsumexp", out_dtype="scalar_type", out_apart="partly"
)
def logcumsumexp(input: Array, dim: int) -> Array:
    """Logarithms of the running sums of exponentials along ``dim``, without overflow.

    Shapes: input (*) -> (*).
    Dtypes: floating-point and complex -> the same; others are refused (NotImplementedError).

    Example:
        >>> import jtorch as torch
        >>> torch.logcumsumexp(torch.tensor([0.0, 0.0, 100.0]), 0)
        tensor([  0.0000,   0.6931, 100.0000])
    """
    axis = canonical_dim(dim, input.ndim)
    if category(input.dtype) < dtypes.FLOATING:
        raise unsupported("logcumsumexp_out_cpu", input)
    if input.ndim == 0 or input.size == 0:
        return input
    x = wide(input)
    return to_dtype(
        _complex_logcumsumexp(x, axis) if is_complex(x) else _running_logsumexp(x, axis=axis),
        input.dtype,
    )


def _by_numpy(axis: int) -> Callable[[np.ndarray], np.ndarray]:
    accumulate = np.logaddexp.accumulate
    return lambda x: accumulate(x, axis, np.float64).astype(x.dtype)  # each step rounds


@hosted(_by_numpy, ns=40, calls=2, elementwise=False, keeps=True)
def _running_logsumexp(x: Array, *, axis: int) -> Array:
    return _real_logcumsumexp(x, axis)


def _real_logcumsumexp(x: Array, axis: int) -> Array:
    """Scans pairs (largest so far, sum of exponentials relative to it); infinities and numbers near
    them are put right afterwards.

    One exponential a combination: one of the two terms is the largest itself.
    """

    def combine(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
        (m, s), (n, t) = a, b
        gap = m - n
        factor = jnp.exp(-jnp.abs(gap))
        return jnp.maximum(m, n), jnp.where(gap >= 0, s + t * factor, s * factor + t)

    lowest = jnp.full((), np.finfo(x.dtype).min / 4, x.dtype)
    highest = -lowest
    m, s = lax.associative_scan(
        combine, (jnp.clip(x, lowest, highest), jnp.ones_like(x)), axis=axis
    )
    total = m + jnp.log(s)
    seen = lax.cummax(x, axis=axis)  # NaN stays once seen
    # of the others a sum of exponentials has the same logarithm
    return jnp.where(jnp.abs(seen) < highest, total, seen)


def _logcumsumexp_rule(g: Array, result: Array, input: Array, dim: int) -> tuple[Array]:
    if input.ndim == 0 or input.size == 0:
        return (g,)
    axis = canonical_dim(dim, input.ndim)
    x, y, g = wide(input), wide(result), wide(g)

    if is_complex(x):
        # The sum over later positions of g * conj(exp(x - y)). Relative to the running sums y,
        # which hardly ever shrink, it stays small.
        totals = jnp.moveaxis(y, axis, 0)
        alike = totals[:-1] == totals[1:]  # infinities, too
        factors = jnp.exp(
            jnp.conj(jnp.where(alike, jnp.zeros((), y.dtype), totals[:-1] - totals[1:]))
        )

        def step(later: Array, item: tuple[Array, Array]) -> tuple[Array, Array]:
            total = item[0] + item[1] * later
            return total, total

        moved = jnp.moveaxis(g, axis, 0)
        _, rest = _loops.scan(step, moved[-1], (moved[:-1], factors), reverse=True)
        total = jnp.moveaxis(jnp.concatenate([rest, moved[-1:]]), 0, axis)
        return (total * jnp.exp(jnp.conj(x - y)),)
    zero = jnp.zeros((), g.dtype)
    none = jnp.full((), -np.inf, g.dtype)
    size = jnp.log(jnp.abs(jnp.where(g == zero, jnp.ones((), g.dtype), g))) - y
    positive = jnp.where(g > zero, size, none)
    negative = jnp.where(g < zero, size, none)

    def part(log_weight: Array) -> Array:
        return jnp.exp(lax.rev(logcumsumexp(lax.rev(log_weight, (axis,)), axis), (axis,)) + x)

    return (part(positive) - part(negative),)


defvjp(logcumsumexp, _logcumsumexp_rule, saves=("input", "result"))


def _logcumsumexp_formula(g: Tensor, self: object, dim: int, result: object) -> object:
    if not g._aval.ndim or not g._aval.size:
        return g
    dtype = g._aval.torch_dtype
    lowest = D.number_like(finfo(dtype).min, g)
    size = A.log.default(A.abs.default(g))
    above = A.where.self(A.gt.Scalar(g, 0), size, lowest)
    below = A.where.self(A.lt.Scalar(g, 0), size, lowest)

    def part(logs: object) -> object:
        back = A.flip.default(A.sub.Tensor(logs, result), [dim])
        sums = A.flip.default(A.logcumsumexp.default(back, dim), [dim])
        return A.exp.default(A.add.Tensor(sums, self))

    first = part(above)
    return A.sub.Tensor(first, part(below))


derivative(A.logcumsumexp, self=_logcumsumexp_formula)


# ---- differences and areas -----------------------------------------------------------------------


def _check_neighbour(input: Array, other: Array | None, axis: int) -> None:
    if other is None:
        return
    if other.ndim != input.ndim:
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for d in range(input.ndim):
        if d != axis and other.shape[d] != input.shape[d]:
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input "
                f"except along the differencing dimension; input.size({d}) = {input.shape[d]}, but "
                f"got tensor.size({d}) = {other.shape[d]}"
            )


@op(
    promote="common",
    out=True,
    saves=(),
    aten="diff",
    strides="order",
    out_apart="wholly",
    node="SubBackward0",
    implicit=True,
)
def diff(
    input: Array,
    n: int = 1,
    dim: int = -1,
    prepend: Array | None = None,
    append: Array | None = None,
) -> Array:
    """The ``n``-th differences of neighbours along ``dim``; those of bool are ``!=``.

    ``prepend`` and ``append`` are joined to ``input`` first.

    Shapes: that of the joined input, less n (at least 0) along ``dim``.
    Dtypes: any, promoted with ``prepend`` and ``append``.

    Raises:
        RuntimeError: for a 0-dim input, a negative ``n``, or if ``prepend`` or ``append`` differ in
            other dimensions than ``dim``.

    Example:
        >>> import jtorch as torch
        >>> torch.diff(torch.tensor([1, 4, 9, 16]))
        tensor([3, 5, 7])
        >>> torch.diff(torch.tensor([1, 4, 9, 16]), n=2, prepend=torch.tensor([0]))
        tensor([2, 2, 2])
    """
    if input.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if n == 0 and prepend is None and append is None:
        return input
    axis = canonical_dim(dim, input.ndim)
    _check_neighbour(input, prepend, axis)
    _check_neighbour(input, append, axis)
    if n == 0:
        return input
    x = jnp.concatenate([part for part in (prepend, input, append) if part is not None], axis=axis)
    for _ in range(min(n, x.shape[axis])):
        size = x.shape[axis]
        later, earlier = (
            lax.slice_in_dim(x, min(1, size), size, axis=axis),
            lax.slice_in_dim(x, 0, max(size - 1, 0), axis=axis),
        )
        x = later ^ earlier if x.dtype == np.bool_ else later - earlier
    return x


def _ends(y: Array, axis: int) -> tuple[Array, Array]:
    n = y.shape[axis]
    return lax.slice_in_dim(y, 0, max(n - 1, 0), axis=axis), lax.slice_in_dim(
        y, min(1, n), n, axis=axis
    )


def _steps(name: str, y: Array, x: Array, axis: int) -> Array:
    """The differences of the points ``x``: one vector along ``axis`` of ``y``, or an array that
    broadcasts with ``y``."""
    if x.ndim == 1:
        if x.shape[0] != y.shape[axis]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = lax.expand_dims(x, tuple(d for d in range(y.ndim) if d != axis))
    elif x.ndim < y.ndim:
        x = lax.expand_dims(x, range(y.ndim - x.ndim))
    before, after = _ends(x, axis)
    return after - before


def _no_bools(name: str) -> Callable[[list[dtypes.dtype]], None]:
    def check(kinds: list[dtypes.dtype]) -> None:
        if dtypes.bool_ in kinds:
            raise RuntimeError(
                f"{name}: received a bool input for `x` or `y`, but bool is not supported"
            )

    return check


def _areas(name: str, y: Array, x: Array | None, dx: Number, axis: int) -> Array:
    """Twice the area under each pair of neighbours along ``axis``."""
    if y.dtype == np.bool_:
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported")
    before, after = _ends(y, axis)
    pair = before + after
    steps = jnp.asarray(dx) if x is None else _steps(name, y, x, axis)
    if steps.ndim > pair.ndim:
        pair = lax.expand_dims(pair, range(steps.ndim - pair.ndim))
    elif 0 < steps.ndim < pair.ndim:
        steps = lax.expand_dims(steps, range(pair.ndim - steps.ndim))
    broadcast_shapes(pair.shape, steps.shape)
    return float_times(pair, steps)


def float_times(a: Array, b: Array) -> Array:
    """``a * b``, ``b`` counting as a number if it has no dimensions; integers become the default
    dtype, as torch's division makes them."""
    if b.ndim == 0 and is_float(a) and category(b.dtype) <= dtypes.FLOATING:
        return (wide(a) * to_dtype(b, wide(a).dtype)).astype(a.dtype)
    if category(a.dtype) >= category(b.dtype):
        b = to_dtype(b, a.dtype)
    else:
        a = to_dtype(
            a, dtypes.get_default_dtype().np if category(b.dtype) == dtypes.FLOATING else b.dtype
        )
        b = to_dtype(b, a.dtype)
    return default_float(a * b)


@op(
    namespace="_C",
    promote="common",
    check=_no_bools("trapezoid"),
    aten="trapezoid.x",
    node="DivBackward1",
    unchecked=("y", "x"),
)
def _trapezoid_x(y: Array, x: Array, dim: int = -1) -> Array:
    """The area under ``y`` over the points ``x`` along ``dim``, by the trapezoid rule."""
    axis = canonical_dim(dim, y.ndim, wrap_scalar=False)
    if y.shape[axis] == 0:
        return _nothing(y, axis)
    return jnp.sum(_areas("trapezoid", y, x, 1, axis), axis=axis) / 2


@op(namespace="_C", aten="trapezoid.dx", node="MulBackward1", saves=())
def _trapezoid_dx(y: Array, dx: Array | Number = 1, dim: int = -1) -> Array:
    """The area under ``y``, whose points are ``dx`` apart along ``dim``, by the trapezoid rule."""
    axis = canonical_dim(dim, y.ndim, wrap_scalar=False)
    if y.shape[axis] == 0:
        return _nothing(y, axis)
    if y.dtype == np.bool_:
        raise RuntimeError("trapezoid: received a bool input for `y`, but bool is not supported")
    # Each point but the first and the last belongs to two areas. (Sums of neighbours do not
    # vectorise.)
    ends = lax.index_in_dim(y, 0, axis, keepdims=False) + lax.index_in_dim(
        y, -1, axis, keepdims=False
    )
    x = wide(y)
    total = default_float(jnp.sum(x, axis=axis)) - default_float(to_dtype(ends, x.dtype)) / 2
    return float_times(
        to_dtype(total, y.dtype) if category(y.dtype) >= dtypes.FLOATING else total, jnp.asarray(dx)
    )


def _nothing(y: Array, axis: int) -> Array:
    return jnp.zeros([n for d, n in enumerate(y.shape) if d != axis], y.dtype)


@op(
    namespace="_C",
    promote="common",
    check=_no_bools("cumulative_trapezoid"),
    aten="cumulative_trapezoid.x",
    node="DivBackward1",
    unchecked=("y", "x"),
)
def _cumulative_trapezoid_x(y: Array, x: Array, dim: int = -1) -> Array:
    """The running areas under ``y`` over the points ``x`` along ``dim``."""
    if y.ndim == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    axis = canonical_dim(dim, y.ndim)
    made = _areas("cumulative_trapezoid", y, x, 1, axis)
    return _sums(made, axis) / 2 if made.size else made


@op(namespace="_C", aten="cumulative_trapezoid.dx", node="CumsumBackward0", saves=())
def _cumulative_trapezoid_dx(y: Array, dx: Array | Number = 1, dim: int = -1) -> Array:
    """The running areas under ``y``, whose points are ``dx`` apart along ``dim``."""
    if y.ndim == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    axis = canonical_dim(dim, y.ndim)
    made = _areas("cumulative_trapezoid", y, None, dx, axis)
    return _sums(made, axis) / 2 if made.size else made
