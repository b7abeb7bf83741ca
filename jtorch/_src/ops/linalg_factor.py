"""Factorisations: QR and Householder reflections, LU, LDL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import linalg as lapack

from ..engine.host.direct import routine
from ..engine.intervals import in_range
from ..facts.warned_once import warn_once
from ._declare import Array, defvjp, guard, guard_range, op, without_derivative
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._linalg import adjoint, check_float, check_kernel, check_matrix
from ._numeric import scalar_name
from .linalg_solve import permutation, zero_pivot

if TYPE_CHECKING:
    from ...core import Tensor


aten = A  # where ``A`` is the matrix


def _qr(a: Array, full: bool) -> tuple[Array, Array]:
    m, n = a.shape[-2:]
    if a.size == 0:
        k = m if full else min(m, n)
        q = jnp.broadcast_to(jnp.eye(m, k, dtype=a.dtype), (*a.shape[:-2], m, k))
        return q, jnp.zeros((*a.shape[:-2], k, n), a.dtype)
    if m >= n:
        q, r = lapack.qr(a, full_matrices=full)
        return q, r
    # The first columns alone decide Q; written so, the derivative exists.
    q, r = lapack.qr(a[..., :m], full_matrices=False)
    return q, jnp.concatenate([r, adjoint(q) @ a[..., m:]], -1)


@op(
    namespace="linalg",
    out=True,
    returns="linalg_qr",
    fields=("Q", "R"),
    aten="linalg_qr",
    strides="columns",
    out_dtype="expected",
    node="LinalgQrBackward0",
    autocast="cpu float32",
    unchecked=("A",),
)
def qr(A: Array, mode: str = "reduced") -> tuple[Array, Array]:
    """``A = Q @ R`` with orthonormal columns ``Q`` and upper triangular ``R``.

    Shapes: A (*, m, n) -> Q (*, m, k), R (*, k, n) with ``k = min(m, n)``, or ``m`` for mode
    ``"complete"``; ``"r"`` leaves Q out: it is empty.

    Dtypes: float32, float64 and complex ones -> the same; others are refused.

    Raises:
        RuntimeError: for an unknown mode.

    Example:
        >>> import jtorch as torch
        >>> q, r = torch.linalg.qr(torch.tensor([[3.0, 1.0], [4.0, 2.0]]))
        >>> r.abs(), torch.dist(q @ r, torch.tensor([[3.0, 1.0], [4.0, 2.0]])) < 1e-5
        (tensor([[5.0000, 2.2000],
                [0.0000, 0.4000]]), tensor(True))
    """
    check_matrix(A, "linalg.qr")
    check_float(A, "linalg.qr", kernel="geqrf_cpu")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', "
            "or 'complete'"
        )
    q, r = _qr(A, mode == "complete")
    return (jnp.zeros((0,), A.dtype) if mode == "r" else q), r


def _qr_formula(
    A: Tensor, grads: Any, node: object, mode: str, result: object, result1: object
) -> object:
    m, n = A._aval.shape[-2:]
    if mode != "reduced" or m < n or A._aval.torch_dtype.is_complex:
        return D.general(grads, node, A, mode)
    q, r = grads
    if q is None and r is None:
        return None
    inner = None if r is None else D.matmul(r, D.adjoint(result1))
    if q is not None:
        other = D.matmul(D.adjoint(result), q)
        inner = aten.neg.default(other) if inner is None else aten.sub.Tensor(inner, other)
    inner = aten.triu.default(inner)
    inner = aten.add.Tensor(inner, D.adjoint(inner))
    aten.mul_.Scalar(aten.diagonal.default(inner, 0, -2, -1), 0.5)
    found = D.matmul(result, inner)
    if q is not None:
        found = aten.add.Tensor(found, q)
    return aten.linalg_solve_triangular.default(D.adjoint(result1), found, upper=False, left=False)


derivative(A.linalg_qr, results=(0, 1), A=_qr_formula)


def _qr_gradient(g: tuple[Array, Array], A: Array, mode: str) -> tuple[Array]:
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please "
            "use linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
        )
    if mode == "complete" and A.shape[-2] > A.shape[-1]:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
        )
    _, back = jax.vjp(lambda a: _qr(a, mode == "complete"), A)
    return (jnp.conj(back((jnp.conj(g[0]), jnp.conj(g[1])))[0]),)


defvjp(qr, lambda g, result, A, mode="reduced": _qr_gradient(g, A, mode))


def _warn_of_qr() -> None:
    warn_once(
        "torch.qr is deprecated in favor of torch.linalg.qr and will be removed in a future "
        "PyTorch release.\n"
        "The boolean parameter 'some' has been replaced with a string parameter 'mode'.\n"
        "Q, R = torch.qr(A, some)\n"
        "should be replaced with\n"
        "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
    )


@op(
    name="qr",
    unchecked=("input",),
    out=True,
    returns="qr",
    fields=("Q", "R"),
    aten="qr",
    strides="columns",
    out_dtype="expected",
    autocast="cpu float32",
    node="LinalgQrBackward0",
    through="linalg_qr",
    implicit=True,
    warns=_warn_of_qr,
)
@schemas(". ; =Q:Q,R")
def torch_qr(input: Array, some: bool = True) -> tuple[Array, Array]:
    """The factors of ``linalg.qr``, complete unless ``some``.

    Shapes: input (*, m, n) -> Q (*, m, k), R (*, k, n) with ``k = min(m, n)``, or ``m`` unless
    ``some``.
    Dtypes: float32, float64 and complex ones -> the same; others are refused.

    Example:
        >>> import jtorch as torch
        >>> [x.shape for x in torch.qr(torch.eye(3)[:, :2], some=False)]
        [torch.Size([3, 3]), torch.Size([3, 2])]
    """
    return qr(input, "reduced" if some else "complete")


defvjp(
    torch_qr,
    lambda g, result, input, some=True: _qr_gradient(g, input, "reduced" if some else "complete"),
)


@op(
    out=True,
    returns="geqrf",
    fields=("a", "tau"),
    aten="geqrf",
    strides="columns:0",
    castable="torch.geqrf",
    autocast="cpu float32",
)
@schemas(". ; =a:a,tau")
def geqrf(input: Array) -> tuple[Array, Array]:
    """The QR decomposition as LAPACK keeps it: R above the diagonal, Householder vectors below, and
    their scales.

    Shapes: input (*, m, n) -> a (*, m, n), tau (*, min(m, n)).
    Dtypes: float32, float64 and complex ones -> the same; others are refused.
    Gradient: none: NotImplementedError in the backward pass.

    Example:
        >>> import jtorch as torch
        >>> a, tau = torch.geqrf(torch.tensor([[3.0, 1.0], [4.0, 2.0]]))
        >>> q = torch.linalg.householder_product(a, tau)
        >>> torch.dist(q @ a.triu(), torch.tensor([[3.0, 1.0], [4.0, 2.0]])) < 1e-5
        tensor(True)
    """
    if input.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    check_kernel(input, "geqrf_cpu")
    if input.size == 0:
        return input, jnp.zeros((*input.shape[:-2], min(input.shape[-2:])), input.dtype)
    packed, tau = jnp.linalg.qr(input, mode="raw")
    return jnp.swapaxes(packed, -1, -2), tau


without_derivative(geqrf, NotImplementedError("the derivative for 'geqrf' is not implemented."))


def _reflected(vectors: Array, tau: Array, x: Array, order: range, conjugate: bool) -> Array:
    """``x`` after the reflections ``I - tau v v.mH``, taken in that order, which is all of them up
    or down."""
    m = vectors.shape[-2]
    if len(order) > _ONE_BY_ONE:
        return _reflected_at_once(
            vectors[..., : len(order)], jnp.conj(tau) if conjugate else tau, x, order[0] > order[-1]
        )
    row = np.arange(m).reshape((1,) * (vectors.ndim - 2) + (m,))
    for i in order:
        v = jnp.where(
            row == i,
            np.ones((), x.dtype),
            jnp.where(row > i, vectors[..., i], np.zeros((), x.dtype)),
        )[..., None]
        scale = tau[..., i][..., None, None]
        x = x - (jnp.conj(scale) if conjugate else scale) * v * (adjoint(v) @ x)
    return x


#: Up to as many reflections follow each other; more are one product, by the compact WY
#: representation.
_ONE_BY_ONE = 8


def _reflected_at_once(vectors: Array, tau: Array, x: Array, last_first: bool) -> Array:
    """``x - V @ diag(tau) @ inv(I + N) @ V.mH @ x``, where N is the triangle of
    ``V.mH @ V @ diag(tau)`` that the order leaves."""
    m, k = vectors.shape[-2:]
    below = np.arange(m)[:, None] - np.arange(k)[None, :]
    below = below.reshape((1,) * (vectors.ndim - 2) + (m, k))
    v = jnp.where(
        below == 0, np.ones((), x.dtype), jnp.where(below > 0, vectors, np.zeros((), x.dtype))
    )
    inner = (adjoint(v) @ v) * tau[..., None, :]
    mixed = lapack.triangular_solve(
        inner, adjoint(v) @ x, left_side=True, lower=not last_first, unit_diagonal=True
    )
    return x - v @ (tau[..., :, None] * mixed)


def _check_reflections(a: Array, tau: Array) -> None:
    function = "torch.linalg.householder_product"
    if a.ndim < 2:
        raise RuntimeError(f"{function}: input must have at least 2 dimensions.")
    if a.shape[-2] < a.shape[-1]:
        raise RuntimeError(
            f"{function}: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )
    if _count(tau) > a.shape[-1]:
        raise RuntimeError(
            f"{function}: input.shape[-1] must be greater than or equal to tau.shape[-1]"
        )
    _check_batches(a, tau, "tau", 1, function)
    if a.dtype != tau.dtype:
        raise RuntimeError(
            f"{function}: tau dtype {scalar_name(tau.dtype)} does not match input dtype "
            f"{scalar_name(a.dtype)}"
        )


def _count(tau: Array) -> int:
    if not tau.ndim:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    return tau.shape[-1]


def _check_batches(a: Array, x: Array, name: str, less: int, function: str) -> None:
    """Refuses an operand with other dimensions in front of its own than the matrices ``a``; it has
    ``less`` dimensions than these."""
    if a.ndim - x.ndim != less:
        kind = "one dimension less than" if less else "the same number of dimensions as"
        raise RuntimeError(
            f"{function}: Expected {name} to have {kind} input, but got {name}.ndim equal to "
            f"{x.ndim} and input.ndim is equal to {a.ndim}"
        )
    batch = x.shape[: a.ndim - 2]
    if batch != a.shape[:-2]:
        raise RuntimeError(
            f"{function}: Expected batch dimensions of {name} to be equal to input.shape[:-2], but "
            f"got {list(batch)}"
        )


@op(
    namespace="linalg",
    name="householder_product",
    out=True,
    aten="linalg_householder_product",
    strides="columns",
    castable="torch.linalg.householder_product",
    node="LinalgHouseholderProductBackward0",
    autocast="cpu float32",
)
@schemas("(Tensor input, Tensor tau) -> Tensor ; =out")
def householder_product(input: Array, tau: Array) -> Array:
    """The first columns of the product of the Householder reflections that ``geqrf`` returns.

    Shapes: input (*, m, n), tau (*, k) with ``k <= n <= m`` -> (*, m, n).
    Dtypes: float32, float64 and complex ones -> the same; others are refused.

    Raises:
        RuntimeError: if shapes or dtypes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.householder_product(torch.tensor([[0.0], [1.0]]), torch.tensor([1.0]))
        tensor([[ 0.],
                [-1.]])
    """
    _check_reflections(input, tau)
    check_kernel(input, "orgqr_cpu")
    start = jnp.broadcast_to(
        jnp.eye(input.shape[-2], input.shape[-1], dtype=input.dtype), input.shape
    )
    return (
        _reflected(input, tau, start, range(tau.shape[-1] - 1, -1, -1), conjugate=False)
        if input.size
        else start
    )


@op(
    out=True,
    aten="orgqr",
    strides="columns",
    castable="torch.linalg.householder_product",
    node="LinalgHouseholderProductBackward0",
    autocast="cpu float32",
    spelled={"tau": "input2"},
    through="linalg_householder_product",
)
@schemas("(Tensor self, Tensor input2) -> Tensor ; =out")
def orgqr(input: Array, tau: Array) -> Array:
    """The first columns of the product of Householder reflections: ``linalg.householder_product``.

    Shapes: input (*, m, n), tau (*, k) with ``k <= n <= m`` -> (*, m, n).
    Dtypes: float32, float64 and complex ones -> the same; others are refused.

    Raises:
        RuntimeError: if shapes or dtypes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.orgqr(torch.tensor([[0.0], [1.0]]), torch.tensor([1.0]))
        tensor([[ 0.],
                [-1.]])
    """
    return householder_product(input, tau)


@op(
    out=True,
    aten="ormqr",
    strides="columns",
    out_dtype="torch.ormqr: Expected input and result to have the same dtype, but input has "
    "dtype{its} and result has dtype {mine}",
    autocast="cpu float32",
    spelled={"tau": "input2", "other": "input3"},
)
@schemas(
    "(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor ; "
    "=out"
)
def ormqr(
    input: Array, tau: Array, other: Array, left: bool = True, transpose: bool = False
) -> Array:
    """``Q @ other``, ``other @ Q`` for ``left=False``, with ``transpose`` the same with ``Q.mH``: Q
    the full product of the reflections.

    Shapes: input (*, m, n), tau (*, min(m, n)), other (*, m, p), or (*, p, m) for ``left=False`` ->
    that of other.
    Dtypes: float32, float64 and complex ones -> the same; others are refused.

    Raises:
        RuntimeError: if shapes or dtypes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.ormqr(
        ...     torch.tensor([[0.0], [1.0]]), torch.tensor([1.0]), torch.tensor([[2.0], [3.0]])
        ... )
        tensor([[-3.],
                [-2.]])
    """
    function, axis = "torch.ormqr", -2 if left else -1
    for name, x in (("input", input), ("other", other)):
        if x.ndim < 2:
            raise RuntimeError(f"{function}: {name} must have at least 2 dimensions.")
    k = _count(tau)
    if other.shape[axis] != input.shape[-2]:
        raise RuntimeError(f"{function}: other.shape[{axis}] must be equal to input.shape[-2]")
    if k != min(other.shape[axis], input.shape[-1]):
        raise RuntimeError(
            f"{function}: tau.shape[-1] must be equal to min(other.shape[{axis}], input.shape[-1])"
        )
    _check_batches(input, tau, "tau", 1, function)
    _check_batches(input, other, "other", 0, function)
    for name, x in (("tau", tau), ("other", other)):
        if x.dtype != input.dtype:
            types = (
                f"input has dtype{scalar_name(input.dtype)} and {name} has dtype "
                f"{scalar_name(x.dtype)}"
            )
            raise RuntimeError(
                f"{function}: Expected input and {name} to have the same dtype, but {types}"
            )
    check_kernel(input, "ormqr_cpu")
    if left:
        return _reflected(
            input, tau, other, range(k) if transpose else range(k - 1, -1, -1), transpose
        )
    turned = _reflected(
        input, tau, adjoint(other), range(k - 1, -1, -1) if transpose else range(k), not transpose
    )
    return adjoint(turned)


def _lu(a: Array) -> tuple[Array, Array, Array]:
    """LU packed in one matrix, the row exchanges (from 1) and the order they bring the rows
    into."""
    if a.size == 0:
        k = min(a.shape[-2:])
        batch = a.shape[:-2]
        order = jnp.broadcast_to(jnp.arange(a.shape[-2], dtype=np.int32), (*batch, a.shape[-2]))
        return a, jnp.broadcast_to(jnp.arange(1, k + 1, dtype=np.int32), (*batch, k)), order
    packed, pivots, order = lapack.lu(a)
    return packed, in_range(pivots + np.int32(1), 1, max(a.shape[-2], 1)), order


def _unpacked(packed: Array) -> tuple[Array, Array]:
    m, n = packed.shape[-2:]
    k = min(m, n)
    lower = jnp.tril(packed[..., :, :k], -1) + jnp.eye(m, k, dtype=packed.dtype).reshape(
        (1,) * (packed.ndim - 2) + (m, k)
    )
    return lower, jnp.triu(packed[..., :k, :])


def _permutation_matrix(order: Array, dtype: np.dtype) -> Array:
    n = order.shape[-1]
    column = jnp.arange(n, dtype=order.dtype).reshape((1,) * (order.ndim - 1) + (n, 1))
    return (order[..., None, :] == column).astype(dtype)


def _check_pivot(pivot: bool) -> None:
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


@op(
    namespace="linalg",
    out=True,
    returns="linalg_lu",
    fields=("P", "L", "U"),
    aten="linalg_lu",
    constant=(0,),
    node="LinalgLuBackward0",
    unchecked=("A",),
)
def lu(A: Array, *, pivot: bool = True) -> tuple[Array, Array, Array]:
    """``A = P @ L @ U``: a permutation, a lower triangular matrix with ones on the diagonal, and an
    upper triangular one.

    Shapes: A (*, m, n) -> P (*, m, m), L (*, m, k), U (*, k, n) with ``k = min(m, n)``.
    Dtypes: float32, float64 and complex ones -> the same; others are refused.

    Raises:
        RuntimeError: without ``pivot``.

    Example:
        >>> import jtorch as torch
        >>> p, l, u = torch.linalg.lu(torch.tensor([[1.0, 2.0], [4.0, 2.0]]))
        >>> l, u
        (tensor([[1.0000, 0.0000],
                [0.2500, 1.0000]]), tensor([[4.0000, 2.0000],
                [0.0000, 1.5000]]))
    """
    check_matrix(A, "linalg.lu")
    check_kernel(A, "lu_cpu")
    _check_pivot(pivot)
    packed, _, order = _lu(A)
    return _permutation_matrix(order, A.dtype), *_unpacked(packed)


def _factored(a: Array, pivot: bool) -> tuple[Array, Array, Array]:
    if a.ndim < 2:
        raise RuntimeError(
            "torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: "
            f"{list(a.shape)} instead"
        )
    check_kernel(a, "lu_cpu")
    _check_pivot(pivot)
    packed, pivots, _ = _lu(a)
    return packed, pivots, zero_pivot(packed)


@op(
    namespace="linalg",
    out=True,
    returns="linalg_lu_factor",
    fields=("LU", "pivots"),
    aten="linalg_lu_factor",
    strides="columns:0",
    out_dtype="expected",
    node="LinalgLuFactorExBackward0",
    dispatched="in parts",
    unchecked=("A",),
)
def lu_factor(A: Array, *, pivot: bool = True) -> tuple[Array, Array]:
    """L and U packed in one matrix, and the rows exchanged at each step (int32, counted from 1).

    Shapes: A (*, m, n) -> LU (*, m, n), pivots (*, min(m, n)).
    Dtypes: float32, float64 and complex ones -> the same; others are refused. Pivots are int32.

    Raises:
        RuntimeError: if a pivot is zero, or without ``pivot``.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.lu_factor(torch.tensor([[1.0, 2.0], [4.0, 2.0]]))
        torch.return_types.linalg_lu_factor(
        LU=tensor([[4.0000, 2.0000],
                [0.2500, 1.5000]]),
        pivots=tensor([2, 2], dtype=torch.int32))
    """
    packed, pivots, info = _factored(A, pivot)
    _guard_pivots(A, info, "torch.linalg.lu_factor")
    return packed, pivots


def _guard_pivots(a: Array, info: Array, function: str) -> None:
    """Raises torch's error where a pivot is zero."""
    message = (
        "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you "
        "still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
        "linalg.lu_factor_ex(A, pivot)"
    )
    flat = info.reshape(-1)
    place = f"{function}: " if a.ndim == 2 else f"{function}: (Batch element {{}}): "
    for k in range(1, min(*a.shape[-2:], 16) + 1 if flat.shape[0] else 1):
        guard(flat == k, RuntimeError, place + message.format(k), jnp.arange(flat.shape[0]))
    if flat.shape[0]:
        guard(
            flat > 16,
            RuntimeError,
            place + message.replace("U[{0},{0}]", "a diagonal element of U"),
            jnp.arange(flat.shape[0]),
        )


@op(
    namespace="linalg",
    out=True,
    returns="linalg_lu_factor_ex",
    fields=("LU", "pivots", "info"),
    aten="linalg_lu_factor_ex",
    strides="columns:0",
    out_dtype="expected",
    node="LinalgLuFactorExBackward0",
    unchecked=("A",),
)
def lu_factor_ex(
    A: Array, *, pivot: bool = True, check_errors: bool = False
) -> tuple[Array, Array, Array]:
    """``lu_factor``, and for each matrix 0, or the position of a zero pivot; raises only with
    ``check_errors``.

    Shapes: A (*, m, n) -> LU (*, m, n), pivots (*, min(m, n)), info (*).
    Dtypes: float32, float64 and complex ones -> the same; others are refused. Pivots and info are
    int32.

    Raises:
        RuntimeError: with ``check_errors``, if a pivot is zero; without ``pivot``.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.lu_factor_ex(torch.tensor([[1.0, 2.0], [2.0, 4.0]])).info
        tensor(2, dtype=torch.int32)
    """
    packed, pivots, info = _factored(A, pivot)
    if check_errors:
        _guard_pivots(A, info, "torch.linalg.lu_factor_ex")
    return packed, pivots, info


@op(
    out=True,
    returns="lu_unpack",
    fields=("P", "L", "U"),
    aten="lu_unpack",
    method=False,
    constant=(0,),
    out_dtype="expected",
    autocast="cpu float32",
)
def lu_unpack(
    LU_data: Array, LU_pivots: Array, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Array, Array, Array]:
    """The permutation, lower and upper triangular matrix of ``lu_factor``'s results; what is not
    asked for is empty.

    Shapes: LU_data (*, m, n), LU_pivots (*, k) with ``k = min(m, n)`` -> P (*, m, m), L (*, m, k),
    U (*, k, n).
    Dtypes: that of LU_data.

    Raises:
        RuntimeError: if the pivots are not int32, or one is no row.

    Example:
        >>> import jtorch as torch
        >>> packed, pivots = torch.linalg.lu_factor(torch.tensor([[1.0, 2.0], [4.0, 2.0]]))
        >>> p, l, u = torch.lu_unpack(packed, pivots)
        >>> p @ l @ u
        tensor([[1., 2.],
                [4., 2.]])
    """
    if LU_pivots.dtype != np.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 "
            "dtype.\n"
            "Note: this function is intended to be used with the output produced by "
            "torch.linalg.lu_factor"
        )
    nothing = jnp.zeros((0,), LU_data.dtype)
    matrix, lower, upper = nothing, nothing, nothing
    if unpack_pivots:
        m = LU_data.shape[-2]
        message = (
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you "
            "properly pass the result of lu_factor?"
        )
        k = min(LU_data.shape[-2:])
        if LU_data.size and LU_pivots.shape[-1] < k:
            raise RuntimeError(message)
        pivots, LU_pivots = LU_pivots, LU_pivots[..., :k]
        if LU_data.size:
            guard_range(LU_pivots, 1, m, RuntimeError, message, of=pivots)
        order = (
            permutation(LU_pivots, m)
            if LU_data.size
            else jnp.broadcast_to(jnp.arange(m, dtype=np.int32), (*LU_data.shape[:-2], m))
        )
        matrix = _permutation_matrix(order, LU_data.dtype)
    if unpack_data:
        lower, upper = _unpacked(LU_data)
    return matrix, lower, upper


@op(namespace="_C", host=True, aten="linalg_ldl_factor_ex", strides="columns:0")
def _ldl_factor(A: Array, hermitian: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """LAPACK's LDL factorisation: the packed factor, the pivots and for each matrix whether a block
    of D is singular."""
    a = np.asarray(A)
    packed, pivots = np.array(a, copy=True), np.zeros(a.shape[:-1], np.int32)
    info = np.zeros(a.shape[:-2], np.int32)
    name = "hetrf" if hermitian and np.iscomplexobj(a) else "sytrf"
    factor = routine(name, a.dtype)
    for i in np.ndindex(a.shape[:-2]):
        if a.shape[-1]:
            made, pivots[i], info[i] = factor(a[i], lower=1)
            packed[i] = np.tril(made)
            # scipy counts interchanges as LAPACK does, from 1, negative for blocks of two.
    return packed, pivots, info


@op(namespace="_C", host=True, aten="linalg_ldl_solve", strides="columns")
def _ldl_solve(LD: Array, pivots: Array, B: Array, hermitian: bool) -> np.ndarray:
    """Solves with LAPACK's LDL factorisation."""
    ld, piv, b = np.asarray(LD), np.asarray(pivots), np.asarray(B)
    for wrong, words in ((piv == 0, ">= 1"), (abs(piv) > ld.shape[-2], "<= LD.size(-2)")):
        if wrong.any():
            raise RuntimeError(
                f"Pivots given to ldl_solve must all satisfy |pivot| {words}. Did you properly "
                "pass the result of ldl_factor?"
            )
    batch = np.broadcast_shapes(ld.shape[:-2], b.shape[:-2])
    ld, piv = (
        np.broadcast_to(ld, batch + ld.shape[-2:]),
        np.broadcast_to(piv, batch + piv.shape[-1:]),
    )
    found = np.array(np.broadcast_to(b, batch + b.shape[-2:]), copy=True)
    name = "hetrs" if hermitian and np.iscomplexobj(ld) else "sytrs"
    solve = routine(name, np.result_type(ld, found))
    for i in np.ndindex(batch):
        if found.size:
            found[i] = solve(ld[i], piv[i], found[i], lower=1)[0]
    return found


without_derivative(
    _ldl_factor, RuntimeError("derivative for aten::linalg_ldl_factor_ex is not implemented")
)
without_derivative(
    _ldl_solve, RuntimeError("derivative for aten::linalg_ldl_solve is not implemented")
)
