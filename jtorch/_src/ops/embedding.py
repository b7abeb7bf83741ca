"""Look-up of rows by index, alone and in bags that are summed, averaged or maximised."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts import dtypes
from ._bags import bag_of_each, sums_of_bags, sums_of_unequal_bags
from ._declare import Array, defvjp, guard, guard_range, op
from ._derivatives import A, derivative
from ._facts import schemas
from ._kernel import cast
from ._numeric import wide


def check_indices(indices: Array, name: str = "embedding") -> None:
    """Raises torch's error unless ``indices`` are int64 or int32."""
    if indices.dtype not in (np.int64, np.int32):
        given = (
            "CPUBoolType"
            if indices.dtype == np.bool_
            else f"torch.{dtypes.from_np(indices.dtype).legacy}"
        )
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got {given} instead (while checking arguments for {name})"
        )


def _rows(
    weight: Array,
    indices: Array,
    exc_type: type[Exception] = IndexError,
    message: str = "index out of range in self",
) -> Array:
    """The rows of ``weight`` at ``indices``, which must be in range."""
    n = weight.shape[0]
    guard_range(indices, 0, n - 1, exc_type, message)
    if n == 0:
        return jnp.zeros(indices.shape + weight.shape[1:], weight.dtype)
    return jnp.take(weight, indices, axis=0, mode="clip")


def _scattered(g: Array, indices: Array, weight: Array) -> Array:
    """The rows of ``g`` added up at ``indices`` in zeros like ``weight``: faster than a one-hot
    product or sorting wherever measured."""
    if weight.shape[0] == 0:
        return jnp.zeros_like(weight)
    return (
        jnp.zeros_like(weight)
        .at[indices]
        .add(g, mode="promise_in_bounds", wrap_negative_indices=False)
    )


def _counts(indices: Array, rows: int) -> Array:
    return (
        jnp.zeros((rows,), np.int32)
        .at[indices]
        .add(np.int32(1), mode="promise_in_bounds", wrap_negative_indices=False)
    )


@op(aten="embedding", saves=("indices",), method=False)
@schemas(
    "(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool "
    "sparse=False) -> Tensor ; =out"
)
def embedding(
    weight: Array,
    indices: Array,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Array:
    """The rows of ``weight`` at ``indices``; the row ``padding_idx`` gets no gradient.

    Shapes: weight (n, d), indices (*) -> (*, d).
    Dtypes: that of ``weight``; indices are int64 or int32.
    Gradient: with ``scale_grad_by_freq`` divided by how often the row occurs in ``indices``.

    Raises:
        IndexError: if an index is out of range.
        RuntimeError: if ``weight`` is no matrix or ``indices`` are no integers.
        NotImplementedError: in the backward pass, for ``sparse``: ``nn.functional.embedding`` gives
            sparse gradients.

    Example:
        >>> import jtorch as torch
        >>> torch.embedding(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1, 0, 1]))
        tensor([[3., 4.],
                [1., 2.],
                [3., 4.]])
    """
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    check_indices(indices)
    if indices.size and not weight.shape[0]:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    return _rows(weight, indices)


def _embedding_rule(
    g: Array,
    result: None,
    weight: Array,
    indices: Array,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> tuple[Array, None]:
    if sparse:
        raise NotImplementedError(
            "the gradient of torch.embedding(sparse=True) is not offered by jtorch: use "
            "nn.functional.embedding"
        )
    flat = indices.reshape(-1)
    rows = g.reshape(flat.shape[0], weight.shape[1])  # a table may have rows of no element
    if padding_idx >= 0:
        rows = jnp.where((flat == padding_idx)[:, None], np.zeros((), rows.dtype), rows)
    if scale_grad_by_freq and weight.shape[0]:
        rows = rows / cast(_counts(flat, weight.shape[0])[flat], rows.dtype)[:, None]
    return _scattered(rows, flat, weight), None


defvjp(embedding, _embedding_rule)
derivative(
    A.embedding,
    weight=lambda g, weight_, indices, padding_idx, scale_grad_by_freq: (
        A.embedding_dense_backward.default(
            g, indices, weight_.shape[0], padding_idx, scale_grad_by_freq
        )
    ),
)


@op(namespace="_C", aten="embedding_renorm", differentiable=False)
def _embedding_renorm(weight: Array, indices: Array, max_norm: float, norm_type: float) -> Array:
    """``weight`` with those rows that ``indices`` name scaled down to a norm of at most
    ``max_norm``."""
    rows = _rows(weight, indices.reshape(-1))
    norms = cast(jnp.linalg.norm(wide(rows), norm_type, axis=1, keepdims=True), rows.dtype).astype(
        np.float64
    )
    factor = cast(np.float64(max_norm) / (norms + np.float64(1e-7)), rows.dtype)
    scaled = jnp.where(norms > np.float64(max_norm), rows * factor, rows)
    return weight.at[indices.reshape(-1)].set(scaled, mode="drop")


_NO_ROW = "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {}"
_DECREASING = (
    "Expected i < index_size to be true, but got false.  (Could this error message be improved?  "
    "If so, please report an enhancement request to PyTorch.)"
)


@op(
    namespace="_C",
    aten="_embedding_bag",
    saves=("weight", "indices", "offsets", "per_sample_weights"),
)
@schemas(
    "(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, "
    "bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int "
    "padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor) ; =out:out0,out1,out2,out3",
)
def _embedding_bag(
    weight: Array,
    indices: Array,
    offsets: Array,
    scale_grad_by_freq: bool,
    mode: str,
    per_sample_weights: Array | None,
    include_last_offset: bool,
    padding_idx: int,
    width: int = 0,
) -> Array:
    """The sums, means or maxima of the rows in each bag; ``offsets`` say where in ``indices`` the
    bags begin. Empty bags give zeros.

    Rows ``padding_idx`` (if not negative) are left out. All bags are of ``width`` indices, unless
    it is 0.

    Raises:
        RuntimeError: if an index is no row, or the offsets do not begin with 0, become smaller or
            end behind the indices.
    """
    options = scale_grad_by_freq, mode, per_sample_weights, include_last_offset, padding_idx, width
    return _embedding_bag_fwd(weight, indices, offsets, *options)[0]


def _embedding_bag_fwd(
    weight: Array,
    indices: Array,
    offsets: Array,
    scale_grad_by_freq: bool,
    mode: str,
    per_sample_weights: Array | None,
    include_last_offset: bool,
    padding_idx: int,
    width: int = 0,
) -> tuple[Array, tuple[Array, ...]]:
    n, count = indices.shape[0], offsets.shape[0] - include_last_offset
    check_indices(indices, "embedding_bag")
    check_indices(offsets, "embedding_bag")
    if per_sample_weights is not None and per_sample_weights.dtype != weight.dtype:
        kinds = " does not equal ".join(
            f"torch.{dtypes.from_np(x.dtype).legacy}" for x in (weight, per_sample_weights)
        )
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument "
            f"#1 'per_sample_weights'; but type {kinds} (while checking arguments for "
            "embedding_bag)"
        )
    if include_last_offset and not offsets.shape[0]:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if offsets.shape[0] and not width:
        first, last = offsets[0], offsets[-1]
        start = (
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
            "position 0. However, got {}\n"
        )
        guard(
            first != 0,
            RuntimeError,
            f"{start}[ torch.{dtypes.from_np(offsets.dtype).legacy}{{}} ]",
            first,
        )
        guard(
            last > n,
            RuntimeError,
            f"offsets[-1] can not be greater than input's length {n} but got offsets[-1] of {{}}",
            last,
        )
        guard(offsets[1:] < offsets[:-1], RuntimeError, _DECREASING)
    bag = lax.iota(np.int32, n) // np.int32(width) if width else bag_of_each(offsets, n)
    if (
        width
        and mode != "max"
        and per_sample_weights is None
        and padding_idx < 0
        and weight.size
        and weight.dtype.itemsize >= 4
    ):
        guard_range(indices, 0, weight.shape[0] - 1, RuntimeError, _NO_ROW)
        out = sums_of_bags(weight, indices.reshape(count, width))
        return (out / width if mode == "mean" else out), (bag, jnp.full((count,), width, np.int32))
    if not width and count and n and mode != "max" and weight.size and weight.dtype.itemsize >= 4:
        guard_range(indices, 0, weight.shape[0] - 1, RuntimeError, _NO_ROW)
        out = sums_of_unequal_bags(
            weight, indices, offsets, per_sample_weights, include_last_offset, padding_idx
        )
        if padding_idx < 0:
            ends = (
                offsets[1:]
                if include_last_offset
                else jnp.append(offsets[1:], jnp.asarray(n, offsets.dtype))
            )
            sizes = (ends - offsets[:count]).astype(np.int32)
        else:
            counted = (indices != padding_idx).astype(np.int32)
            sizes = (
                jnp.zeros((count,), np.int32)
                .at[bag]
                .add(counted, mode="drop", wrap_negative_indices=False)
            )
        return (
            out / jnp.maximum(sizes, np.int32(1)).astype(out.dtype)[:, None]
            if mode == "mean"
            else out
        ), (bag, sizes)
    rows = _rows(weight, indices, RuntimeError, _NO_ROW)
    used = indices != padding_idx
    if not width:
        used &= (bag >= 0) & (bag < count)

    def gathered(x: Array, how: str, start: float) -> Array:
        """Sums or extrema of the bags. Of equal ones they are reductions, which take a tenth of the
        time."""
        if width:
            reduce = {"add": jnp.sum, "max": jnp.max, "min": jnp.min}[how]
            return reduce(
                x.reshape(count, width, *x.shape[1:]),
                axis=1,
                **({"dtype": x.dtype} if how == "add" else {}),
            )
        into = jnp.full((count, *x.shape[1:]), start, x.dtype)
        return getattr(into.at[bag], how)(x, mode="drop", wrap_negative_indices=False)

    sizes = gathered(used.astype(np.int32), "add", 0)
    if mode == "max":
        low = jnp.where(used[:, None], wide(rows), np.asarray(-np.inf, wide(rows).dtype))
        top = gathered(low, "max", -np.inf)
        # The row that gave each maximum: the first one, as in torch.
        at = jnp.where(
            low == jnp.take(top, bag, axis=0, mode="clip"),
            jnp.arange(n, dtype=np.int32)[:, None],
            np.int32(n),
        )
        winner = gathered(at, "min", n)
        out = jnp.where((sizes > 0)[:, None], top, np.zeros((), top.dtype))
        return cast(out, weight.dtype), (bag, sizes, winner)
    terms = (
        wide(rows) if per_sample_weights is None else wide(rows) * wide(per_sample_weights)[:, None]
    )
    terms = jnp.where(used[:, None], terms, np.zeros((), terms.dtype))
    out = gathered(terms, "add", 0)
    if mode == "mean":
        out = out / jnp.maximum(sizes, np.int32(1)).astype(out.dtype)[:, None]
    return cast(out, weight.dtype), (bag, sizes)


def _embedding_bag_rule(
    g: Array,
    residuals: tuple[Array, ...],
    weight: Array,
    indices: Array,
    offsets: Array,
    scale_grad_by_freq: bool,
    mode: str,
    per_sample_weights: Array | None,
    include_last_offset: bool,
    padding_idx: int,
    width: int = 0,
) -> tuple[Array | None, ...]:
    bag, sizes = residuals[:2]
    n = indices.shape[0]
    if n == 0 or sizes.shape[0] == 0:
        return (
            jnp.zeros_like(weight),
            None,
            None,
            None if per_sample_weights is None else jnp.zeros_like(per_sample_weights),
        )
    zero = np.zeros((), g.dtype)
    used = (indices != padding_idx) & (bag >= 0) & (bag < sizes.shape[0])
    rows = jnp.where(used[:, None], jnp.take(g, bag, axis=0, mode="clip"), zero)
    grad_samples = None
    if mode == "max":
        winner = residuals[2]
        mine = jnp.take(winner, bag, axis=0, mode="clip") == jnp.arange(n, dtype=np.int32)[:, None]
        rows = jnp.where(mine, rows, zero)
    elif mode == "mean":
        rows = (
            rows
            / cast(jnp.maximum(jnp.take(sizes, bag, mode="clip"), np.int32(1)), g.dtype)[:, None]
        )
    if per_sample_weights is not None:
        grad_samples = jnp.sum(rows * jnp.take(weight, indices, axis=0, mode="clip"), 1)
        rows = rows * per_sample_weights[:, None]
    if scale_grad_by_freq:
        rows = rows / cast(_counts(indices, weight.shape[0])[indices], rows.dtype)[:, None]
    return _scattered(rows, indices, weight), None, None, grad_samples


defvjp(_embedding_bag, _embedding_bag_rule, fwd=_embedding_bag_fwd)
