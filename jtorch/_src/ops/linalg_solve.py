"""Inverses, systems of linear equations, and functions of matrices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.lax import linalg as lapack

from ..facts.warned_once import warn_once
from ._declare import Array, defvjp, guard_range, op
from ._derivative_calls import unbroadcast
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._linalg import (
    adjoint,
    batched,
    check_float,
    check_kernel,
    check_matrix,
    check_square,
    diagonal,
    eye_like,
    guard_info,
    is_vector,
)
from ._matrix import size_of
from ._nodes import Made
from ._numeric import scalar_name

if TYPE_CHECKING:
    from ...core import Tensor


aten = A  # where ``A`` is the matrix

_adjoint = adjoint  # some ops have a parameter of that name
_SINGULAR = (
    "The diagonal element {} is zero, the inversion could not be completed because the input "
    "matrix is singular."
)
_UNSOLVABLE = "The solver failed because the input matrix is singular."


def zero_pivot(lu: Array) -> Array:
    """LAPACK's ``info`` of an LU factorisation: the first position (from 1) of a zero on the
    diagonal of U, or 0."""
    zeros = diagonal(lu) == 0
    if zeros.shape[-1] == 0:
        return jnp.zeros(zeros.shape[:-1], np.int32)
    return jnp.where(
        jnp.any(zeros, -1), jnp.argmax(zeros, -1).astype(np.int32) + np.int32(1), np.int32(0)
    )


def linear_solve(a: Array, b: Array, *, transpose: bool = False) -> tuple[Array, Array]:
    """The solution of ``A X = B`` (of ``A^T X = B`` with ``transpose``) for matrices, with leading
    dimensions that broadcast, and LAPACK's ``info`` of A.

    One factorisation serves both, and the derivatives of any order too: they solve systems with the
    same factors.
    """
    if not a.size:
        return jnp.zeros_like(batched(a, b)[1]), jnp.zeros(a.shape[:-2], np.int32)
    lu, _, order = lapack.lu(lax.stop_gradient(a))
    info = zero_pivot(lu)
    a, b = batched(a, b)
    if not b.size:  # a matrix without an inverse is told of all the same
        return jnp.zeros_like(b), info
    lu, order = jnp.broadcast_to(lu, a.shape), jnp.broadcast_to(order, a.shape[:-1])
    if transpose:
        a = jnp.swapaxes(a, -1, -2)
    found = lax.custom_linear_solve(
        lambda x: lax.batch_matmul(a, x, lax.Precision.HIGHEST),
        b,
        solve=lambda _, x: _from_factors(lu, order, x, transpose=transpose),
        transpose_solve=lambda _, x: _from_factors(lu, order, x, transpose=not transpose),
    )
    return found, info


def _from_factors(
    lu: Array, order: Array, b: Array, *, transpose: bool = False, adjoint: bool = False
) -> Array:
    """The solution of a system, or of the transposed one, from its factors and the order of its
    rows, all of one batch."""
    if transpose or adjoint:
        half = triangular(lu, b, upper=True, transpose=transpose, adjoint=adjoint)
        found = triangular(lu, half, upper=False, transpose=transpose, adjoint=adjoint, unit=True)
        return jnp.take_along_axis(found, jnp.argsort(order, -1)[..., None], -2)
    rows = jnp.take_along_axis(b, order[..., None], -2)
    return triangular(lu, triangular(lu, rows, upper=False, unit=True), upper=True)


def _inverse(a: Array, function: str) -> tuple[Array, Array]:
    check_square(a, function)
    check_float(a, function)
    return linear_solve(a, eye_like(a))


def _inv_rule(g: Array, result: Array, A: Array) -> tuple[Array]:
    h = adjoint(result)
    return (-(h @ g @ h),)


@op(
    namespace="linalg",
    out=True,
    aten="linalg_inv",
    saves=("result",),
    strides="columns",
    out_dtype="expected",
    node="LinalgInvExBackward0",
    autocast="cpu float32",
    implicit=True,
)
def inv(A: Array) -> Array:
    """The inverses of square matrices.

    Shapes: A (*, n, n) -> (*, n, n).
    Dtypes: float32, float64 and complex ones -> the same; others are refused.

    Raises:
        LinAlgError: if a matrix is singular.
        RuntimeError: if the matrices are not square, or integral or of half precision.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.inv(torch.tensor([[1.0, 2.0], [0.0, 4.0]]))
        tensor([[ 1.0000, -0.5000],
                [ 0.0000,  0.2500]])
    """
    found, info = _inverse(A, "linalg.inv")
    guard_info(info, "linalg.inv", _SINGULAR, A.shape[-1])
    return found


defvjp(inv, _inv_rule)


@op(
    out=True,
    aten="inverse",
    saves=("result",),
    strides="columns",
    out_dtype="expected",
    node="LinalgInvExBackward0",
    autocast="cpu float32",
    through="linalg_inv",
)
def inverse(input: Array) -> Array:
    """The inverses of square matrices: ``linalg.inv``.

    Shapes: input (*, n, n) -> (*, n, n).
    Dtypes: float32, float64 and complex ones -> the same; others are refused.

    Raises:
        LinAlgError: if a matrix is singular.
        RuntimeError: if the matrices are not square.

    Example:
        >>> import jtorch as torch
        >>> torch.inverse(torch.tensor([[1.0, 2.0], [0.0, 4.0]]))
        tensor([[ 1.0000, -0.5000],
                [ 0.0000,  0.2500]])
    """
    return inv(input)


defvjp(inverse, _inv_rule)


@op(
    namespace="linalg",
    out=True,
    returns="linalg_inv_ex",
    fields=("inverse", "info"),
    aten="linalg_inv_ex",
    saves=("result",),
    strides="columns:0",
    out_dtype="expected",
    node="LinalgInvExBackward0",
    autocast="cpu float32",
)
@schemas(". ; =inverse:inverse,info")
def inv_ex(A: Array, *, check_errors: bool = False) -> tuple[Array, Array]:
    """The inverses, and for each matrix 0, or the position of a zero pivot.

    Shapes: A (*, n, n) -> inverse (*, n, n), info (*).
    Dtypes: float32, float64 and complex ones -> the same; others are refused. Info is int32.

    Raises:
        LinAlgError: with ``check_errors``, if a matrix is singular.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.inv_ex(torch.tensor([[1.0, 2.0], [2.0, 4.0]])).info
        tensor(2, dtype=torch.int32)
    """
    found, info = _inverse(A, "linalg.inv")
    if check_errors:
        guard_info(info, "linalg.inv_ex", _SINGULAR, A.shape[-1])
    return found, info


defvjp(inv_ex, lambda g, result, A, *, check_errors=False: _inv_rule(g[0], result[0], A))


def _inverse_formula(g: object, inverse: object) -> object:
    right = D.matmul(g, D.adjoint(inverse))
    return A.neg.default(D.matmul(D.adjoint(inverse), right))


derivative(A.linalg_inv_ex, results=(0,), A=lambda g, result: _inverse_formula(g, result))


def _check_system(a: Array, b: Array, left: bool, function: str) -> None:
    """Raises torch's error if the matrices cannot be multiplied."""
    if (a.shape[-2] if left else a.shape[-1]) != (b.shape[-2] if left else b.shape[-1]):
        equation = "AX = B" if left else "XA = B"
        sizes = (
            f"({size_of(a[(0,) * (a.ndim - 2)])} and {size_of(b[(0,) * (b.ndim - 2)])})"
            if 0 not in a.shape + b.shape
            else ""
        )
        raise RuntimeError(
            f"{function}: Incompatible shapes of A and B for the equation {equation} {sizes}".rstrip()  # noqa: E501
        )


def _solved(a: Array, b: Array, left: bool, function: str) -> tuple[Array, Array]:
    check_square(a, function)
    check_float(a, function, kernel="lu_cpu")
    if a.dtype != b.dtype:
        names = f"A of type {scalar_name(a.dtype)} and B of type {scalar_name(b.dtype)}"
        raise RuntimeError(
            f"{function}: Expected A and B to have the same dtype, but found {names} instead"
        )
    vector = is_vector(a, b)
    if vector:
        if not left:
            raise RuntimeError(
                f"{function}: Vector broadcasting of the left hand side is not supported for "
                "left=False."
            )
        b = b[..., None]
    _check_system(a, b, left, function)
    found, info = linear_solve(a, b if left else jnp.swapaxes(b, -1, -2), transpose=not left)
    if not left:
        found = jnp.swapaxes(found, -1, -2)
    return found[..., 0] if vector else found, info


@op(
    namespace="linalg",
    out=True,
    aten="linalg_solve",
    strides="columns if left",
    out_dtype="expected",
    node="LinalgSolveExBackward0",
    autocast="cpu float32",
    implicit=True,
    unchecked=("B",),
)
def solve(A: Array, B: Array, *, left: bool = True) -> Array:
    """The solution of ``A X = B``, or of ``X A = B`` for ``left=False``.

    Shapes: A (*, n, n), B (*, n, k) -> (*, n, k); a vector B (n) or a stack of vectors shaped
    ``A.shape[:-1]`` gives the same; batches broadcast.

    Dtypes: float32, float64 and complex ones -> the same; others are refused.

    Raises:
        LinAlgError: if a matrix is singular.
        RuntimeError: if shapes or dtypes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.solve(torch.tensor([[2.0, 1.0], [1.0, 3.0]]), torch.tensor([3.0, 5.0]))
        tensor([0.8000, 1.4000])
    """
    found, info = _solved(A, B, left, "linalg.solve")
    guard_info(info, "torch.linalg.solve", _UNSOLVABLE, A.shape[-1])
    return found


@op(
    namespace="linalg",
    out=True,
    returns="linalg_solve_ex",
    fields=("result", "info"),
    aten="linalg_solve_ex",
    strides="columns:0 if left",
    out_dtype="expected",
    node="LinalgSolveExBackward0",
    dispatched="in parts",
    unchecked=("B",),
)
def solve_ex(
    A: Array, B: Array, *, left: bool = True, check_errors: bool = False
) -> tuple[Array, Array]:
    """``solve``, and for each matrix 0, or the position of a zero pivot.

    Shapes: A and B as for ``solve`` -> result as for it, info (*).
    Dtypes: float32, float64 and complex ones -> the same; others are refused. Info is int32.

    Raises:
        LinAlgError: with ``check_errors``, if a matrix is singular.
        RuntimeError: if shapes or dtypes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.solve_ex(
        ...     torch.tensor([[1.0, 2.0], [2.0, 4.0]]), torch.tensor([1.0, 1.0])
        ... ).info
        tensor(2, dtype=torch.int32)
    """
    found, info = _solved(A, B, left, "linalg.solve")
    if check_errors:
        guard_info(info, "torch.linalg.solve_ex", _UNSOLVABLE, A.shape[-1])
    return found, info


def _is_one_side(self: Tensor, other: Any) -> bool:
    """Whether the right side of a system is a vector, or a batch of them."""
    return other.ndim == 1 or (
        self._aval.ndim - 1 == other.ndim and list(self._aval.shape[:-1]) == list(other.shape)
    )


def _solve_formula(
    g: object,
    A: Any,
    B_: object,
    left: bool,
    result: object,
    result1: object,
    result2: object,
    wants: Any,
) -> object:
    vector = _is_one_side(A, B_)

    def matrix(x: object) -> object:
        return aten.unsqueeze.default(x, -1) if vector else x

    if D.recorded():
        found = D.solve(D.adjoint(A), matrix(g), left=left)
    else:
        found = aten.linalg_lu_solve.default(result1, result2, matrix(g), left=left, adjoint=True)
    first = None
    if wants[0]:
        x = D.adjoint(matrix(result))
        first = aten.neg.default(D.matmul(found, x) if left else D.matmul(x, found))
    return first, (aten.squeeze.dim(found, -1) if vector else found) if wants[1] else None


derivative(A._linalg_solve_ex, results=(0,), A__B=_solve_formula)


def triangular(
    a: Array,
    b: Array,
    *,
    upper: bool,
    left: bool = True,
    transpose: bool = False,
    adjoint: bool = False,
    unit: bool = False,
) -> Array:
    """The solution of a triangular system whose batches are equal."""
    if a.size == 0 or b.size == 0:
        return jnp.zeros_like(b)
    return lapack.triangular_solve(
        a,
        b,
        left_side=left,
        lower=not upper,
        transpose_a=transpose or adjoint,
        conjugate_a=adjoint,
        unit_diagonal=unit,
    )


@op(
    namespace="linalg",
    out=True,
    promote="common",
    aten="linalg_solve_triangular",
    strides="columns",
    out_dtype="scalar type",
    node="LinalgSolveTriangularBackward0",
    spelled={"A": "input"},
    unchecked=("B",),
)
@schemas(
    "(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor ; "
    "=out"
)
def solve_triangular(
    A: Array, B: Array, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    """The solution of ``A X = B`` (``X A = B`` for ``left=False``) for triangular ``A``, of which
    only that triangle is read.

    Shapes: A (*, n, n), B (*, n, k), or (*, k, n) for ``left=False`` -> that of B; batches
    broadcast.
    Dtypes: float32, float64 and complex ones -> the same; others are refused.

    Raises:
        RuntimeError: if the shapes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.solve_triangular(
        ...     torch.tensor([[2.0, 1.0], [0.0, 4.0]]), torch.tensor([[3.0], [4.0]]), upper=True
        ... )
        tensor([[1.],
                [1.]])
    """
    check_square(A, "linalg.solve_triangular")
    check_matrix(B, "linalg.solve_triangular", "B")
    _check_system(A, B, left, "linalg.solve_triangular")
    check_kernel(A, "triangular_solve_cpu")
    a, b = batched(A, B)
    return triangular(a, b, upper=upper, left=left, unit=unitriangular)


def _triangular_formula(
    g: object,
    self: object,
    upper: bool,
    left: bool,
    unitriangular: bool,
    result: object,
    wants: Any,
) -> object:
    solved = A.linalg_solve_triangular.default(
        D.adjoint(self), g, upper=not upper, left=left, unitriangular=unitriangular
    )
    first = None
    if wants[0]:
        x = D.adjoint(result)
        first = A.neg.default(D.matmul(solved, x) if left else D.matmul(x, solved))
        first = (
            A.triu.default(first, int(unitriangular))
            if upper
            else A.tril.default(first, -int(unitriangular))
        )
    return first, solved if wants[1] else None


derivative(A.linalg_solve_triangular, self__B=_triangular_formula)


def _warn_of_triangular_solve() -> None:
    warn_once(
        "torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangularand will be "
        "removed in a future PyTorch release.\n"
        "torch.linalg.solve_triangular has its arguments reversed and does not return a copy of "
        "one of the inputs.\n"
        "X = torch.triangular_solve(B, A).solution\n"
        "should be replaced with\n"
        "X = torch.linalg.solve_triangular(A, B)."
    )


@op(
    out=True,
    returns="triangular_solve",
    fields=("solution", "cloned_coefficient"),
    aten="triangular_solve",
    strides="columns",
    out_dtype="expected",
    autocast="cpu float32",
    warns=_warn_of_triangular_solve,
)
@schemas(". ; =X:X,M")
def triangular_solve(
    input: Array, A: Array, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Array, Array]:
    """The solution of ``A X = input`` for triangular ``A`` (of ``A.T X = input`` with
    ``transpose``), and a copy of ``A``.

    Shapes: input (*, n, k), A (*, n, n) -> solution (*, n, k), cloned_coefficient (*, n, n);
    batches broadcast.
    Dtypes: float32, float64 and complex ones -> the same; others are refused.

    Raises:
        RuntimeError: if the shapes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.triangular_solve(
        ...     torch.tensor([[3.0], [4.0]]), torch.tensor([[2.0, 1.0], [0.0, 4.0]])
        ... ).solution
        tensor([[1.],
                [1.]])
    """
    for name, x in (("b", input), ("A", A)):
        if x.ndim < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it "
                f"has {x.ndim} dimensions instead"
            )
    _check_pair(input, A, "triangular_solve")
    check_kernel(A, "triangular_solve_cpu")
    a, b = batched(A, input)
    return triangular(a, b, upper=upper, transpose=transpose, unit=unitriangular), a


def _check_pair(b: Array, a: Array, function: str) -> None:
    check_square(a, "")
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for {function}: each A matrix is {a.shape[-1]} by "
            f"{a.shape[-1]} but each b matrix is {b.shape[-2]} by {b.shape[-1]}"
        )
    if a.dtype != b.dtype:
        names = f"b of type {scalar_name(b.dtype)} and A of type {scalar_name(a.dtype)}"
        raise RuntimeError(f"Expected b and A to have the same dtype, but found {names} instead.")


@op(
    out=True,
    aten="cholesky_solve",
    strides="columns",
    castable="cholesky_solve",
    autocast="cpu float32",
    spelled={"L": "input2"},
)
@schemas("(Tensor self, Tensor input2, bool upper=False) -> Tensor ; =out")
def cholesky_solve(input: Array, L: Array, upper: bool = False) -> Array:
    """The solution of ``A X = input`` where ``A = L @ L.mH``, or ``L.mH @ L`` with ``upper``.

    Shapes: input (*, n, k), L (*, n, n) -> (*, n, k); batches broadcast.
    Dtypes: float32, float64 and complex ones -> the same; others are refused.

    Raises:
        RuntimeError: if the shapes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.cholesky_solve(
        ...     torch.tensor([[4.0], [8.0]]), torch.tensor([[2.0, 0.0], [0.0, 1.0]])
        ... )
        tensor([[1.],
                [8.]])
    """
    for name, x in (("b", input), ("u", L)):
        if x.ndim < 2:
            raise RuntimeError(
                f"{name} should have at least 2 dimensions, but has {x.ndim} dimensions instead"
            )
    _check_pair(input, L, "cholesky_solve")
    check_kernel(L, "cholesky_solve_cpu")
    factor, b = batched(L, input)
    half = triangular(factor, b, upper=upper, adjoint=upper)
    return triangular(factor, half, upper=upper, adjoint=not upper)


def _cholesky_solve_rule(
    g: Array, result: Array, input: Array, L: Array, upper: bool = False
) -> tuple[Array, Array]:
    grad = cholesky_solve(g, L, upper)
    common = grad @ _adjoint(result)
    common = common + _adjoint(common)
    return unbroadcast(grad, input.shape, input.dtype), unbroadcast(
        -L @ common if upper else -common @ L, L.shape, L.dtype
    )


defvjp(cholesky_solve, _cholesky_solve_rule, saves=("L", "result"))


@op(
    out=True,
    aten="cholesky_inverse",
    method=True,
    strides="columns",
    castable="cholesky_inverse",
    autocast="cpu float32",
    spelled={"L": "input"},
)
@schemas("(Tensor self, bool upper=False) -> Tensor ; =out")
def cholesky_inverse(L: Array, upper: bool = False) -> Array:
    """The inverses of ``L @ L.mH``, or of ``L.mH @ L`` with ``upper``.

    Shapes: L (*, n, n) -> (*, n, n).
    Dtypes: float32, float64 and complex ones -> the same; others are refused.

    Raises:
        RuntimeError: if the matrices are not square.
        LinAlgError: if an element of the diagonal is zero.

    Example:
        >>> import jtorch as torch
        >>> torch.cholesky_inverse(torch.tensor([[2.0, 0.0], [1.0, 1.0]]))
        tensor([[ 0.5000, -0.5000],
                [-0.5000,  1.0000]])
    """
    check_square(L, "cholesky_inverse")
    check_kernel(L, "cholesky_inverse_out_cpu")
    guard_info(zero_pivot(L), "cholesky_inverse", _SINGULAR, L.shape[-1])
    half = triangular(L, eye_like(L), upper=upper, adjoint=upper)
    return triangular(L, half, upper=upper, adjoint=not upper)


def _cholesky_inverse_rule(g: Array, result: Array, L: Array, upper: bool = False) -> tuple[Array]:
    common = result @ ((g + _adjoint(g)) @ result)
    return (-L @ common if upper else -common @ L,)


defvjp(cholesky_inverse, _cholesky_inverse_rule, saves=("L", "result"))


@op(
    namespace="linalg",
    out=True,
    aten="linalg_lu_solve",
    strides="columns if left",
    out_dtype="expected",
    node="LinalgLuSolveBackward0",
    unchecked=("B",),
)
def lu_solve(
    LU: Array, pivots: Array, B: Array, *, left: bool = True, adjoint: bool = False
) -> Array:
    """The solution of ``A X = B`` (of ``X A = B`` for ``left=False``, of ``A.mH X = B`` with
    ``adjoint``) from ``lu_factor(A)``.

    Shapes: LU (*, n, n), pivots (*, n), B (*, n, k), or (*, k, n) for ``left=False`` -> that of B;
    batches broadcast.
    Dtypes: float32, float64 and complex ones -> the same; others are refused. Pivots are int32.

    Raises:
        RuntimeError: if shapes or dtypes do not fit, or a pivot is no row.

    Example:
        >>> import jtorch as torch
        >>> packed, pivots = torch.linalg.lu_factor(torch.tensor([[2.0, 1.0], [1.0, 3.0]]))
        >>> torch.linalg.lu_solve(packed, pivots, torch.tensor([[3.0], [4.0]]))
        tensor([[1.],
                [1.]])
    """
    if LU.shape[-1:] != LU.shape[-2:-1]:
        check_square(LU, "torch.linalg.lu_solve")
    check_float(LU, "torch.linalg.lu_solve", low=True)
    check_square(LU, "linalg.lu_solve")
    check_matrix(B, "linalg.lu_solve", "B")
    if LU.dtype != B.dtype:
        names = f"LU of type {scalar_name(LU.dtype)} and B of type {scalar_name(B.dtype)}"
        raise RuntimeError(
            f"linalg.lu_solve: Expected LU and B to have the same dtype, but found {names} instead"
        )
    if pivots.dtype != np.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    if pivots.shape[-1] != LU.shape[-1]:
        raise RuntimeError(
            "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the "
            "matrix"
        )
    if pivots.shape[:-1] != LU.shape[:-2]:
        raise RuntimeError(
            "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got "
            f"pivots with shape {list(pivots.shape)} instead")  # fmt: skip
    _check_system(LU, B, left, "linalg.lu_solve")
    check_kernel(LU, "linalg.lu_solve_cpu")
    if left:
        return _lu_solved(LU, pivots, B, adjoint)
    return _adjoint(_lu_solved(LU, pivots, _adjoint(B), not adjoint))


def permutation(pivots: Array, rows: int) -> Array:
    """The order that LAPACK's row exchanges (from 1) bring the rows into."""
    return lapack.lu_pivots_to_permutation(pivots - np.int32(1), rows)


def _lu_solved(lu: Array, pivots: Array, b: Array, adjoint: bool) -> Array:
    factor, b = batched(lu, b)
    if factor.size == 0 or b.size == 0:
        return jnp.zeros_like(b)
    for low, high, words in (
        (1, None, "greater or equal to 1"),
        (None, lu.shape[-2], "smaller or equal to LU.size(-2)"),
    ):
        message = (
            f"Pivots given to lu_solve must all be {words}. Did you properly pass the result of "
            "lu_factor?"
        )
        guard_range(pivots, low, high, RuntimeError, message)
    order = jnp.broadcast_to(permutation(pivots, lu.shape[-1]), factor.shape[:-1])
    return _from_factors(factor, order, b, adjoint=adjoint)


@op(
    name="lu_solve",
    unchecked=("input",),
    out=True,
    aten="lu_solve",
    strides="columns",
    out_dtype="expected",
    node="LinalgLuSolveBackward0",
    autocast="cpu float32",
    dispatched="in parts",
)
def torch_lu_solve(input: Array, LU_data: Array, LU_pivots: Array) -> Array:
    """The solution of ``A X = input`` from the factors of ``A``: ``linalg.lu_solve`` with the
    right-hand side first.

    Shapes: input (*, n, k), LU_data (*, n, n), LU_pivots (*, n) -> (*, n, k); batches broadcast.
    Dtypes: float32, float64 and complex ones -> the same; others are refused. Pivots are int32.

    Raises:
        RuntimeError: if shapes or dtypes do not fit, or a pivot is no row.

    Example:
        >>> import jtorch as torch
        >>> packed, pivots = torch.linalg.lu_factor(torch.tensor([[2.0, 1.0], [1.0, 3.0]]))
        >>> torch.lu_solve(torch.tensor([[3.0], [4.0]]), packed, pivots)
        tensor([[1.],
                [1.]])
    """
    return lu_solve(LU_data, LU_pivots, input)


def exponential(a: Array) -> Array:
    """The matrix exponentials, computed in double precision: each squaring doubles the error, which
    single precision has no room for."""
    if a.shape[-1] == 0 or a.size == 0:
        return a
    wide = a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)
    if a.ndim == 2:
        return jax.scipy.linalg.expm(wide).astype(a.dtype)
    flat = wide.reshape(math.prod(a.shape[:-2]), *a.shape[-2:])
    return jax.vmap(jax.scipy.linalg.expm)(flat).reshape(a.shape).astype(a.dtype)


@op(
    namespace="linalg",
    aliases=("matrix_exp", "Tensor.matrix_exp"),
    method=False,
    out=True,
    aten="linalg_matrix_exp",
    node="LinalgMatrixExpBackward0",
    spelled={"matrix_exp": {"A": "input", "out": ""}, "linalg.matrix_exp": {"A": "input"}},
    implicit=("matrix_exp",),
)
@schemas("(Tensor self) -> Tensor ; =out", "matrix_exp(Tensor self) -> Tensor")
def matrix_exp(A: Array) -> Array:
    """The exponentials of square matrices, by scaling, squaring and a Padé approximation.

    Shapes: A (*, n, n) -> (*, n, n).
    Dtypes: floating-point and complex ones -> the same.

    Raises:
        RuntimeError: if the matrices are not square or integral.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.matrix_exp(torch.tensor([[0.0, 0.5], [0.0, 0.0]]))
        tensor([[1.0000, 0.5000],
                [0.0000, 1.0000]])
    """
    check_square(A, "linalg.matrix_exp")
    check_float(A, "linalg.matrix_exp", low=True)
    return exponential(A)


def _matrix_exp_formula(g: object, self: Tensor) -> object:
    n = self._aval.shape[-1]
    adjoint = D.adjoint(self)
    top = A.cat.default([adjoint, g], -1)
    rows = A.cat.default([top, A.cat.default([A.zeros_like.default(g), adjoint], -1)], -2)
    found = A.linalg_matrix_exp.default(rows)
    return A.slice.Tensor(A.slice.Tensor(found, -2, 0, n), -1, n, 2 * n)


derivative(A.linalg_matrix_exp, self=_matrix_exp_formula)


def _node_of_matrix_power(made: Made) -> str:
    n = made.given("n")
    return {0: "CopyBackwards", 1: "CloneBackward0"}.get(
        n, "MmBackward0" if made.avals[0].ndim == 2 else "UnsafeViewBackward0"
    )


@op(namespace="_C", aten="linalg_matrix_power", node=_node_of_matrix_power)
def _matrix_power(A: Array, n: int) -> Array:
    """The ``n``-th power (not negative) of square matrices, by repeated squaring."""
    if n == 0:
        return eye_like(A)
    found: Any = None
    square = A
    while n:
        if n & 1:
            found = square if found is None else found @ square
        n >>= 1
        if n:
            square = square @ square
    return found
