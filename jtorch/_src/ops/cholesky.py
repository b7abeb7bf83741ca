"""Factorisations of positive-definite matrices."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.lax import linalg as lapack

from ..facts.warned_once import warn_once
from . import _loops
from ._declare import Array, defvjp, op
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._linalg import (
    adjoint,
    check_float,
    check_kernel,
    check_square,
    diagonal,
    embedded,
    guard_info,
)
from .linalg_solve import triangular

_NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite "
    "(the leading minor of order {} is not positive-definite)."
)


def _lower_factor(a: Array, upper: bool) -> Array:
    """The Cholesky factor from one triangle of ``a``; nan if there is none."""
    if a.size == 0:
        return a
    lower = adjoint(a) if upper else a
    found = lapack.cholesky(lower, symmetrize_input=False)
    return adjoint(found) if upper else found


def _as_far_as_it_goes(a: Array, upper: bool, factor: Array) -> tuple[Array, Array]:
    """The factor, and the order of the first leading minor that is not positive, 0 if all are.

    Where one is not, ``factor`` is nan, and what is given is what LAPACK leaves: the columns before
    that minor's last, there the pivot that is not positive, and after it the elements of ``a``.
    Found by elimination, only where a factor is nan.
    """
    if a.size == 0:
        return factor, jnp.zeros(a.shape[:-2], np.int32)
    n = a.shape[-1]
    a = lax.stop_gradient(adjoint(a) if upper else a)
    full = jnp.tril(a) + adjoint(jnp.tril(a, -1))
    rows = np.arange(n).reshape((1,) * (a.ndim - 2) + (n,))

    def eliminate(_: object) -> tuple[Array, Array]:
        def step(k: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            rest, info, part = state
            pivot = jnp.real(rest[..., k, k])
            goes_on = (info == 0) & (pivot > 0)
            ends = (info == 0) & ~goes_on
            info = jnp.where(ends, k.astype(np.int32) + np.int32(1), info)
            column, row = rest[..., :, k], rest[..., k, :]
            root = jnp.sqrt(pivot).astype(rest.dtype)[..., None]
            last = jnp.where(
                ends[..., None] & (rows == k), pivot[..., None].astype(rest.dtype), part[..., :, k]
            )
            part = part.at[..., :, k].set(jnp.where(goes_on[..., None], column / root, last))
            return (
                rest
                - column[..., :, None]
                * row[..., None, :]
                / pivot[..., None, None].astype(rest.dtype),
                info,
                part,
            )

        failed = jnp.any(jnp.isnan(factor), (-1, -2))
        _, info, part = _loops.fori_loop(
            0, n, step, (full, jnp.zeros(a.shape[:-2], np.int32), full)
        )
        part = jnp.tril(part)
        return (
            jnp.where(failed[..., None, None], adjoint(part) if upper else part, factor),
            jnp.where(failed, jnp.maximum(info, np.int32(1)), np.int32(0)),
        )

    return _loops.cond(
        jnp.any(jnp.isnan(factor)),
        eliminate,
        lambda _: (factor, jnp.zeros(a.shape[:-2], np.int32)),
        None,
    )


def _cholesky_rule(g: Array, result: Array, A: Array, upper: bool) -> tuple[Array]:
    if A.size == 0:
        return (g,)
    factor, g = (adjoint(result), adjoint(g)) if upper else (result, g)
    inner = jnp.tril(adjoint(factor) @ jnp.tril(g))
    half = inner - embedded(diagonal(inner) * np.asarray(0.5, inner.dtype))
    right = triangular(factor, half, upper=False, left=False)
    grad = triangular(factor, right, upper=False, adjoint=True)
    return ((grad + adjoint(grad)) * np.asarray(0.5, grad.dtype),)


def _cholesky(a: Array, upper: bool, function: str) -> tuple[Array, Array]:
    check_square(a, function)
    if function == "cholesky":
        check_kernel(a, "cholesky_cpu")
    check_float(a, function, kernel="cholesky_cpu")
    return _as_far_as_it_goes(a, upper, _lower_factor(a, upper))


@op(
    namespace="linalg",
    out=True,
    aten="linalg_cholesky",
    saves=("result",),
    strides="columns",
    out_dtype="expected",
    node="LinalgCholeskyExBackward0",
    autocast="cpu float32",
    spelled={"A": "input"},
    implicit=True,
)
@schemas("(Tensor self, *, bool upper=False) -> Tensor ; =out")
def cholesky(A: Array, *, upper: bool = False) -> Array:
    """The lower triangular ``L`` with ``A = L @ L.mH``, or with ``upper`` the upper one with
    ``A = U.mH @ U``.

    Only that triangle of ``A`` is read.

    Shapes: A (*, n, n) -> (*, n, n).
    Dtypes: float32, float64 and complex ones -> the same; others are refused.
    Gradient: symmetric (Hermitian).

    Raises:
        LinAlgError: if a matrix is not positive-definite.
        RuntimeError: if the matrices are not square.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
        tensor([[2., 0.],
                [1., 2.]])
    """
    factor, info = _cholesky(A, upper, "linalg.cholesky")
    guard_info(info, "linalg.cholesky", _NOT_POSITIVE, A.shape[-1])
    return factor


defvjp(cholesky, lambda g, result, A, *, upper=False: _cholesky_rule(g, result, A, upper))


def _warn_of_cholesky() -> None:
    other = (
        "U = torch.cholesky(A, upper=True)\n"
        "should be replaced with\n"
        "U = torch.linalg.cholesky(A).mH"
    )
    warn_once(
        "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed in a "
        "future PyTorch release.\n"
        "L = torch.cholesky(A)\n"
        "should be replaced with\n"
        "L = torch.linalg.cholesky(A)\n"
        "and\n"
        f"{other}\n"
        "This transform will produce equivalent results for all valid (symmetric positive "
        "definite) inputs."
    )


@op(
    name="cholesky",
    out=True,
    aten="cholesky",
    saves=("result",),
    strides="columns",
    out_dtype="expected",
    autocast="cpu float32",
    warns=_warn_of_cholesky,
)
def torch_cholesky(input: Array, upper: bool = False) -> Array:
    """The Cholesky factor of positive-definite matrices: ``linalg.cholesky``.

    Shapes: input (*, n, n) -> (*, n, n).
    Dtypes: float32, float64 and complex ones -> the same; others are refused.

    Raises:
        LinAlgError: if a matrix is not positive-definite.
        RuntimeError: if the matrices are not square.

    Example:
        >>> import jtorch as torch
        >>> torch.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]), upper=True)
        tensor([[2., 1.],
                [0., 2.]])
    """
    factor, info = _cholesky(input, upper, "cholesky")
    guard_info(info, "cholesky", _NOT_POSITIVE, input.shape[-1])
    return factor


defvjp(
    torch_cholesky, lambda g, result, input, upper=False: _cholesky_rule(g, result, input, upper)
)


@op(
    namespace="linalg",
    out=True,
    returns="linalg_cholesky_ex",
    fields=("L", "info"),
    aten="linalg_cholesky_ex",
    saves=("result",),
    strides="columns:0",
    out_dtype="expected",
    node="LinalgCholeskyExBackward0",
    autocast="cpu float32",
    spelled={"A": "input"},
)
@schemas(
    "(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info) ; "
    "=L:L,info"
)
def cholesky_ex(
    A: Array, *, upper: bool = False, check_errors: bool = False
) -> tuple[Array, Array]:
    """``cholesky``, and for each matrix 0, or the order ``k`` of a leading minor that is not
    positive.

    Then the result is as LAPACK leaves it: the first ``k - 1`` columns are the factor's, the
    element at ``(k - 1, k - 1)`` is the pivot that is not positive, and elements of ``A`` come
    after it.

    Shapes: A (*, n, n) -> L (*, n, n), info (*).
    Dtypes: float32, float64 and complex ones -> the same; others are refused. Info is int32.

    Raises:
        LinAlgError: with ``check_errors``, if a matrix is not positive-definite.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.cholesky_ex(torch.tensor([[4.0, 2.0], [2.0, 5.0]])).info
        tensor(0, dtype=torch.int32)
    """
    factor, info = _cholesky(A, upper, "linalg.cholesky")
    if check_errors:
        guard_info(info, "linalg.cholesky_ex", _NOT_POSITIVE, A.shape[-1])
    return factor, info


defvjp(
    cholesky_ex,
    lambda g, result, A, *, upper=False, check_errors=False: _cholesky_rule(
        g[0], result[0], A, upper
    ),
)


def _cholesky_formula(g: object, result: object, upper: bool) -> object:
    factor = D.adjoint(result) if upper else result
    g = D.adjoint(g) if upper else g
    inner = A.tril.default(D.matmul(D.adjoint(factor), g))
    inner = A.mul.Scalar(A.add.Tensor(inner, D.adjoint(A.tril.default(inner, -1))), 0.5)
    inner = A.linalg_solve_triangular.default(D.adjoint(factor), inner, upper=True)
    return A.linalg_solve_triangular.default(factor, inner, upper=False, left=False)


derivative(A.linalg_cholesky_ex, results=(0,), self=_cholesky_formula)
derivative(A.cholesky, self=_cholesky_formula)
