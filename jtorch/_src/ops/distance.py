"""Distances between rows, and cosine similarity."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..facts.errors import broadcast_shapes, canonical_dim
from ._declare import Array, defvjp, op
from ._derivative_calls import unbroadcast
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._nodes import Made
from ._numeric import is_float, number, scalar_name
from ._sizes import fewer


def _safe_sqrt(x: Array) -> Array:
    """The square root, with gradient 0 at 0."""
    zero = x == 0
    return jnp.where(zero, number(0, x), jnp.sqrt(jnp.where(zero, number(1, x), x)))


def _norm(difference: Array, p: float) -> Array:
    """The ``p``-norm over the last dimension, with torch's gradients: 0 at 0, and all of it to each
    element that attains the maximum."""
    size = difference * lax.stop_gradient(jnp.sign(difference))
    if p == 0:
        # NaN stays
        return jnp.sum(jnp.minimum(jnp.ceil(lax.stop_gradient(size)), number(1, size)), -1)
    if p == 1:
        return jnp.sum(size, -1)
    if p == 2:
        return _safe_sqrt(jnp.sum(difference * difference, -1))
    if p == float("inf"):
        top = lax.stop_gradient(jnp.max(size, -1, initial=0))
        attained = jnp.sum(jnp.where(size == top[..., None], size, number(0, size)), -1)
        return jnp.where(jnp.isinf(top), top, top + (attained - lax.stop_gradient(attained)))
    nonzero = ~(size == 0)  # NaN counts
    powers = jnp.where(
        nonzero, jnp.where(nonzero, size, number(1, size)) ** number(p, size), number(0, size)
    )
    total = jnp.sum(powers, -1)
    some = ~(total == 0)
    return jnp.where(
        some, jnp.where(some, total, number(1, total)) ** number(1 / p, total), number(0, total)
    )


def _check_cdist(x1: Array, x2: Array, p: float) -> None:
    for name, x in (("X1", x1), ("X2", x2)):
        if not is_float(x):
            raise RuntimeError(
                f"cdist only supports floating-point dtypes, {name} got: {scalar_name(x.dtype)}"
            )
    for name, x in (("X1", x1), ("X2", x2)):
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    if not p >= 0:  # NaN too
        raise RuntimeError("cdist only supports non-negative p values")
    if x1.dtype != x2.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_name(x1.dtype)} but found {scalar_name(x2.dtype)}"
        )


#: By the number that the operator calls them.
DISTANCE_MODES = (
    "use_mm_for_euclid_dist_if_necessary",
    "use_mm_for_euclid_dist",
    "donot_use_mm_for_euclid_dist",
)


def _by_product(x1: Array, x2: Array, p: float, compute_mode: str) -> bool:
    if p != 2:
        return False
    if compute_mode == DISTANCE_MODES[0]:
        return not (fewer(x1.shape[-2], 26) and fewer(x2.shape[-2], 26))
    return compute_mode == DISTANCE_MODES[1]


def _node_of_distances(made: Made) -> str:
    mode = made.given("compute_mode")
    many = not all(fewer(v.shape[-2], 26) for v in made.avals[:2])
    product = many if mode in (None, DISTANCE_MODES[0]) else mode == DISTANCE_MODES[1]
    return "ViewBackward0" if product and made.given("p") in (None, 2) else "CdistBackward0"


@op(
    aten="cdist",
    method=False,
    saves=("x1", "x2", "result"),
    native=False,
    home="functional",
    node=_node_of_distances,
    autocast="float32",
    implicit=True,
)
@schemas("(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor")
def cdist(
    x1: Array, x2: Array, p: float = 2.0, compute_mode: Any = "use_mm_for_euclid_dist_if_necessary"
) -> Array:
    """The ``p``-norm distances between all rows of ``x1`` and all rows of ``x2``.

    Euclidean ones of more than 25 rows are computed by a matrix product, unless ``compute_mode``
    says otherwise.

    Args:
        x1: one set of points, in the rows of the last two dimensions.
        x2: the other set.
        p: the order of the norm.
        compute_mode: whether distances of order 2 come from a matrix product:
            ``"use_mm_for_euclid_dist_if_necessary"`` (of more than 25 points),
            ``"use_mm_for_euclid_dist"``, or ``"donot_use_mm_for_euclid_dist"``.

    Shapes: x1 (*A, n, d), x2 (*B, m, d) -> (*broadcast(A, B), n, m).
    Dtypes: real floating-point -> the same.
    Gradient: 0 where a distance is 0.

    Raises:
        RuntimeError: if shapes or dtypes do not fit, or ``p`` is negative.
        ValueError: for an unknown ``compute_mode``.

    Example:
        >>> import jtorch as torch
        >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
        tensor([[5., 1.]])
    """
    if compute_mode not in DISTANCE_MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    _check_cdist(x1, x2, p)
    batch = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    a, b = (jnp.broadcast_to(x, batch + x.shape[-2:]) for x in (x1, x2))
    if not _by_product(x1, x2, p, compute_mode):
        return _norm(a[..., :, None, :] - b[..., None, :, :], p)
    squares = (
        jnp.sum(a * a, -1)[..., :, None]
        + jnp.sum(b * b, -1)[..., None, :]
        - number(2, a) * (a @ jnp.swapaxes(b, -1, -2))
    )
    return jnp.sqrt(jnp.maximum(squares, number(0, squares)))


def _cdist_rule(
    g: Array,
    result: Array,
    x1: Array,
    x2: Array,
    p: float = 2.0,
    compute_mode: str = "use_mm_for_euclid_dist_if_necessary",
) -> tuple[Array, Array]:
    batch = g.shape[:-2]
    a, b = (jnp.broadcast_to(x, batch + x.shape[-2:]) for x in (x1, x2))
    if _by_product(x1, x2, p, compute_mode):
        zero = result == 0
        share = jnp.where(zero, number(0, g), g / jnp.where(zero, number(1, g), result))
        grad_a = jnp.sum(share, -1)[..., None] * a - share @ b
        grad_b = jnp.sum(share, -2)[..., None] * b - jnp.swapaxes(share, -1, -2) @ a
    else:
        from jax import vjp

        grad_a, grad_b = vjp(lambda a, b: _norm(a[..., :, None, :] - b[..., None, :, :], p), a, b)[
            1
        ](g)
    return unbroadcast(grad_a, x1.shape, x1.dtype), unbroadcast(grad_b, x2.shape, x2.dtype)


defvjp(cdist, _cdist_rule)


def _cdist_other_formula(g: object, x1: object, x2: object, p: float, result: object) -> object:
    def turned(x: object) -> Any:
        return D.packed(A.transpose.int(x, -2, -1))

    distances = turned(result)
    return A._cdist_backward.default(turned(g), x2, x1, p, distances)


derivative(
    A._cdist_forward,
    x1=lambda g, x1, x2, p, result: A._cdist_backward.default(D.packed(g), x1, x2, p, result),
    x2=_cdist_other_formula,
)


@op(
    namespace="nn.functional",
    aliases=("pdist",),
    aten="pdist",
    method=False,
    autocast="cuda float32",
    dispatched="in parts",
)
@schemas("(Tensor self, float p=2.) -> Tensor")
def pdist(input: Array, p: float = 2) -> Array:
    """The ``p``-norm distances between the rows of a matrix: row 0 to all later ones, then row 1 to
    those after it, ...

    Shapes: input (n, d) -> (n * (n - 1) / 2).
    Dtypes: real floating-point -> the same.

    Raises:
        RuntimeError: if the input is no matrix of floats, or ``p`` is negative.

    Example:
        >>> import jtorch as torch
        >>> torch.pdist(torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
        tensor([5.0000, 1.0000, 4.2426])
    """
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if not is_float(input):
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    first, second = np.triu_indices(input.shape[0], 1)
    return _norm(jnp.take(input, first, axis=0) - jnp.take(input, second, axis=0), p)


def _clamped_norm(x: Array, axis: int | None, eps: float) -> Array:
    """The Euclidean norm, at least ``eps``, whose gradient passes the clamp."""
    squares = x * x if axis is None else jnp.sum(x * x, axis, keepdims=True)
    norm = _safe_sqrt(squares)
    return norm + lax.stop_gradient(jnp.maximum(norm, number(eps, norm)) - norm)


@op(
    namespace="nn.functional",
    promote="expanded",
    aliases=("cosine_similarity",),
    aten="cosine_similarity",
    method=False,
    node="SumBackward1",
    autocast="cuda float32",
)
def cosine_similarity(x1: Array, x2: Array, dim: int = 1, eps: float = 1e-08) -> Array:
    """The cosine of the angle between vectors along ``dim``, whose lengths count as at least
    ``eps``.

    Shapes: x1 and x2 broadcast -> that without ``dim``.
    Dtypes: real floating-point, promoted.

    Raises:
        RuntimeError: if the shapes do not broadcast, or the common dtype is not floating-point.

    Example:
        >>> import jtorch as torch
        >>> torch.cosine_similarity(
        ...     torch.tensor([[1.0, 0.0], [1.0, 1.0]]), torch.tensor([[0.0, 2.0], [3.0, 0.0]])
        ... )
        tensor([0.0000, 0.7071])
    """
    if not is_float(x1):
        raise RuntimeError(
            "expected common dtype to be floating point, yet common dtype is "
            f"{scalar_name(x1.dtype)}"
        )
    if not eps >= 0:  # NaN too
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    shape = broadcast_shapes(x1.shape, x2.shape)
    axis = canonical_dim(dim, len(shape)) if shape else None
    x1, x2 = jnp.broadcast_to(x1, shape), jnp.broadcast_to(x2, shape)
    found = x1 / _clamped_norm(x1, axis, eps) * (x2 / _clamped_norm(x2, axis, eps))
    return found if axis is None else jnp.sum(found, axis)
