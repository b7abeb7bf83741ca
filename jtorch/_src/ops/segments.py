"""Reductions of consecutive segments of different lengths."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..facts import dtypes
from ..facts.errors import canonical_dim
from ._declare import Array, defvjp, guard, guard_range, op
from ._facts import schemas

_NEGATIVE = (
    "Expected segment_length >= 0 to be true, but got false.  (Could this error message be "
    "improved?  If so, please report an enhancement request to PyTorch.)"
)
_STARTS = {
    "sum": 0.0,
    "mean": 0.0,
    "prod": 1.0,
    "max": -np.inf,
    "amax": -np.inf,
    "min": np.inf,
    "amin": np.inf,
}


def _check(
    data: Array,
    reduce: str,
    lengths: Array | None,
    indices: Array | None,
    offsets: Array | None,
    axis: int,
) -> Array:
    """The lengths or offsets that were given.

    Raises:
        RuntimeError: if the arguments do not fit together.
    """
    if reduce not in _STARTS:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    given = offsets if lengths is None else lengths
    if given is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if dtypes.from_np(data.dtype).category != dtypes.FLOATING:
        raise NotImplementedError(
            f'"_segment_reduce_cpu" not implemented for {dtypes.from_np(data.dtype).scalar_name!r}'
        )
    if canonical_dim(axis, data.ndim) != given.ndim - 1:
        what = "offsets" if lengths is None else "lengths"
        raise RuntimeError(
            f"segment_reduce(): Expected axis to be the last dimension of {what} but got {axis}."
        )
    return given


@op(method=False, aten="segment_reduce", ignored=True)
@schemas(
    "(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? "
    "offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor ; =out",
)
def segment_reduce(
    data: Array,
    reduce: str,
    *,
    lengths: Array | None = None,
    indices: Array | None = None,
    offsets: Array | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Array:
    """The sum, mean, product, maximum or minimum (``reduce``) of each of the consecutive segments
    of a dimension.

    The segments are given by their ``lengths``, or by ``offsets`` where each begins, the last of
    which is the end. ``initial`` takes part in every reduction; without it an empty segment gives
    what the operation begins with, and NaN for the mean.

    Shapes: data (*B, N, *), lengths (*B, S) or offsets (*B, S + 1), with ``axis`` the number of
    dimensions B -> (*B, S, *).
    Dtypes: real floating-point -> the same; others are refused (NotImplementedError). Lengths and
    offsets are int64 or int32.

    Raises:
        RuntimeError: if the segments do not add up to ``N`` (unless ``unsafe``), ``axis`` is
            another, or neither is given.

    Example:
        >>> import jtorch as torch
        >>> torch.segment_reduce(torch.tensor([1.0, 2.0, 4.0]), "sum", lengths=torch.tensor([2, 1]))
        tensor([3., 4.])
    """
    given = _check(data, reduce, lengths, indices, offsets, axis)
    sizes = jnp.diff(given, axis=-1) if lengths is None else given
    if lengths is None or unsafe:
        guard_range(sizes, 0, None, RuntimeError, _NEGATIVE)
    n = data.shape[given.ndim - 1]
    if not unsafe and lengths is not None:
        guard_range(sizes, 0, None, RuntimeError, "lengths contains negative value!")
        wrong = jnp.any(jnp.sum(sizes, -1) != n)
        words = (
            "segment_reduce(): Expected all rows of lengths along axis to sum to "
            "data.size(lengths.dim()-1) when !unsafe."
        )
        guard(wrong, RuntimeError, words)
    flat, sizes, ids = _rows(data, lengths, given)
    rows, count = sizes.shape
    rest = flat.shape[2:]
    start = _STARTS[reduce] if initial is None else initial
    out = jnp.full((rows, count, *rest), start, data.dtype)
    at = out.at[jnp.arange(rows)[:, None], ids]
    kind = reduce.removeprefix("a")
    if kind in ("sum", "mean"):
        found = at.add(flat, mode="drop")
    elif kind == "prod":
        found = at.multiply(flat, mode="drop")
    else:
        found = at.max(flat, mode="drop") if kind == "max" else at.min(flat, mode="drop")
    if kind == "mean":
        length = _spread(sizes, rest, data.dtype)
        empty = jnp.full((), np.nan if initial is None else initial, data.dtype)
        found = jnp.where(
            length == 0, empty, found / jnp.where(length == 0, jnp.ones((), data.dtype), length)
        )
    return found.reshape(*given.shape[:-1], count, *rest)


def _rows(data: Array, lengths: Array | None, given: Array) -> tuple[Array, Array, Array]:
    """The data as rows of elements, the sizes of each row's segments, and the segment of each
    element (their number where it has none)."""
    sizes = jnp.diff(given, axis=-1) if lengths is None else given
    count, n = sizes.shape[-1], data.shape[given.ndim - 1]
    rows = int(np.prod(sizes.shape[:-1], dtype=np.int64))
    flat, sizes = data.reshape(rows, n, *data.shape[given.ndim :]), sizes.reshape(rows, count)
    first = (
        jnp.zeros((rows, 1), sizes.dtype)
        if lengths is not None
        else given.reshape(rows, -1)[:, :1].astype(sizes.dtype)
    )
    ends = jnp.cumsum(sizes, axis=1, dtype=sizes.dtype) + first
    place = jnp.arange(n, dtype=sizes.dtype)
    ids = jnp.sum(ends[:, None, :] <= place[None, :, None], axis=-1)
    return flat, sizes, jnp.where(place[None, :] < first, count, ids)


def _spread(sizes: Array, rest: tuple[int, ...], dtype: np.dtype) -> Array:
    return sizes.reshape(*sizes.shape, *(1,) * len(rest)).astype(dtype)


def _other_factors(flat: Array, ids: Array) -> Array:
    """For each element the product of the others of its segment: of those before and of those after
    it."""

    def joined(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
        return a[0] | b[0], jnp.where(b[0], b[1], a[1] * b[1])

    def before(x: Array, starts: Array) -> Array:
        one = jnp.ones((), x.dtype)
        shifted = jnp.where(starts, one, jnp.roll(x, 1, axis=1))
        return jax.lax.associative_scan(joined, (starts, shifted), axis=1)[1]

    wide = (..., *(None,) * (flat.ndim - 2))
    first = jnp.concatenate([jnp.ones_like(ids[:, :1], bool), ids[:, 1:] != ids[:, :-1]], axis=1)
    last = jnp.concatenate([ids[:, 1:] != ids[:, :-1], jnp.ones_like(ids[:, :1], bool)], axis=1)
    starts, stops = (
        jnp.broadcast_to(first[wide], flat.shape),
        jnp.broadcast_to(last[wide], flat.shape),
    )
    return before(flat, starts) * before(flat[:, ::-1], stops[:, ::-1])[:, ::-1]


def _segment_reduce_vjp(
    g: Array,
    result: Array,
    data: Array,
    reduce: str,
    *,
    lengths: Array | None = None,
    indices: Array | None = None,
    offsets: Array | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> tuple[Array | None, ...]:
    """As PyTorch: several greatest elements share a gradient that is positive, and what is no
    number counts as the greatest there is."""
    given = offsets if lengths is None else lengths
    assert given is not None
    flat, sizes, ids = _rows(data, lengths, given)
    rows, count = sizes.shape
    rest = flat.shape[2:]
    row = jnp.arange(rows)[:, None]

    def of_elements(x: Array) -> Array:
        return x.reshape(rows, count, *rest).at[row, ids].get(mode="fill", fill_value=0)

    kind = reduce.removeprefix("a")
    if kind == "mean":
        g = g.reshape(rows, count, *rest) / jnp.maximum(_spread(sizes, rest, data.dtype), 1)
    if kind in ("sum", "mean"):
        found = of_elements(g)
    elif kind == "prod":
        start = 1.0 if initial is None else initial
        found = of_elements(g) * jnp.asarray(start, data.dtype) * _other_factors(flat, ids)
    else:
        chosen = (ids < count)[(..., *(None,) * len(rest))] & (
            jnp.isnan(flat) | (flat == of_elements(result))
        )
        shares = (
            jnp.zeros((rows, count, *rest), data.dtype)
            .at[row, ids]
            .add(chosen.astype(data.dtype), mode="drop")
        )
        g = g.reshape(rows, count, *rest)
        found = jnp.where(
            chosen,
            of_elements(jnp.where(g > 0, g / jnp.maximum(shares, 1), g)),
            jnp.zeros((), data.dtype),
        )
    return (
        found.reshape(data.shape),
        *[None for given in (lengths, indices, offsets) if given is not None],
    )


defvjp(segment_reduce, _segment_reduce_vjp, saves=("data", "lengths", "offsets", "result"))
