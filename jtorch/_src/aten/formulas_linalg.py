"""Derivatives of linear algebra and Fourier transforms, as the operators that PyTorch runs."""

# ruff: noqa: PLW0108  (the parameters of these functions say what they need)
from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import MODE
from ..facts.dtypes import finfo
from ..ops._derivatives import A, derivative
from . import formulas as formulas
from .formulas import conj, general, number_like, real, times
from .routes_linalg import solve
from .routes_math import matmul
from .routes_shape import is_contiguous

aten = A  # where ``A`` is the matrix


def _mH(x: Any) -> Any:
    found = A.transpose.int(x, -2, -1)
    return conj(found)


def _mm(a: Any, b: Any) -> Any:
    return matmul(a, b)


# ---- inverses and solutions ------------------------------------------------------------------------------------------------------


def _inverse(g: Any, inverse: Any) -> Any:
    right = _mm(g, _mH(inverse))
    return A.neg.default(_mm(_mH(inverse), right))


derivative(A.linalg_inv_ex, results=(0,), A=lambda g, result: _inverse(g, result))


def _is_vector(self: Any, other: Any) -> bool:
    """Whether the right side of a system is a vector, or a batch of them."""
    return other.ndim == 1 or (self._aval.ndim - 1 == other.ndim and list(self._aval.shape[:-1]) == list(other.shape))


def _solve(g: Any, A: Any, B_: Any, left: bool, result: Any, result1: Any, result2: Any, wants: Any) -> Any:
    vector = _is_vector(A, B_)

    def matrix(x: Any) -> Any:
        return aten.unsqueeze.default(x, -1) if vector else x

    if MODE.enabled:
        found = solve(_mH(A), matrix(g), left=left)
    else:
        found = aten.linalg_lu_solve.default(result1, result2, matrix(g), left=left, adjoint=True)
    first = None
    if wants[0]:
        x = _mH(matrix(result))
        first = aten.neg.default(_mm(found, x) if left else _mm(x, found))
    return first, (aten.squeeze.dim(found, -1) if vector else found) if wants[1] else None


derivative(A._linalg_solve_ex, results=(0,), A__B=_solve)


def _triangular(g: Any, self: Any, upper: bool, left: bool, unitriangular: bool, result: Any, wants: Any) -> Any:
    solved = A.linalg_solve_triangular.default(_mH(self), g, upper=not upper, left=left, unitriangular=unitriangular)
    first = None
    if wants[0]:
        x = _mH(result)
        first = A.neg.default(_mm(solved, x) if left else _mm(x, solved))
        first = A.triu.default(first, int(unitriangular)) if upper else A.tril.default(first, -int(unitriangular))
    return first, solved if wants[1] else None


derivative(A.linalg_solve_triangular, self__B=_triangular)

# ---- determinants ----------------------------------------------------------------------------------------------------------------


def _diagonal_system(scale: Any, A: Any, LU: Any, pivots: Any, perturbed: bool) -> Any:
    """The matrix ``X`` with ``A^H X = scale I``, by the factors that the determinant was computed with."""
    shape = list(A._aval.shape[:-1])
    diagonal = aten.diag_embed.default(aten.expand.default(aten.unsqueeze.default(scale, -1), shape))
    transposed = is_contiguous(A) and not A._aval.torch_dtype.is_complex
    if transposed:
        aten.transpose.int(A, -2, -1)  # what was factored
    if perturbed:
        at_zero = aten.eq.Scalar(aten.diagonal.default(LU, 0, -2, -1), 0.0)
        zero = number_like(0.0, LU)
        small = number_like(finfo(LU._aval.torch_dtype).eps, LU)
        LU = aten.add.Tensor(LU, aten.diag_embed.default(aten.where.self(at_zero, small, zero)))
    return aten.linalg_lu_solve.default(LU, pivots, diagonal, adjoint=not transposed)


def _det(g: Any, A: Any, result: Any, result1: Any, result2: Any, grads: Any, node: Any) -> Any:
    if MODE.enabled or not A._aval.size:
        return general(grads, node, A)
    return _diagonal_system(aten.mul.Tensor(g, conj(result)), A, result1, result2, True)


def _slogdet(A: Any, grads: Any, node: Any, result2: Any, result3: Any) -> Any:
    if MODE.enabled or A._aval.torch_dtype.is_complex or grads[1] is None or not A._aval.size:
        return general(grads, node, A)
    return _diagonal_system(grads[1], A, result2, result3, False)


derivative(A._linalg_det, results=(0,), A=_det)
derivative(A._linalg_slogdet, results=(0, 1), A=_slogdet)

# ---- factorisations --------------------------------------------------------------------------------------------------------------


def _cholesky(g: Any, result: Any, upper: bool) -> Any:
    factor = _mH(result) if upper else result
    g = _mH(g) if upper else g
    inner = A.tril.default(_mm(_mH(factor), g))
    inner = A.mul.Scalar(A.add.Tensor(inner, _mH(A.tril.default(inner, -1))), 0.5)
    inner = A.linalg_solve_triangular.default(_mH(factor), inner, upper=True)
    return A.linalg_solve_triangular.default(factor, inner, upper=False, left=False)


derivative(A.linalg_cholesky_ex, results=(0,), self=_cholesky)
derivative(A.cholesky, self=_cholesky)


def _eigh(A: Any, grads: Any, node: Any, UPLO: str, compute_v: bool, result: Any, result1: Any) -> Any:
    values, vectors = grads
    if values is None and vectors is None:
        return None
    adjoint = _mH(result1)
    if vectors is None:
        return _mm(aten.mul.Tensor(result1, aten.unsqueeze.default(values, -2)), adjoint)
    if A._aval.torch_dtype.is_complex:
        return general(grads, node, A, UPLO, compute_v)
    inner = _mm(adjoint, vectors)
    aten.diagonal.default(inner, 0, -2, -1)  # PyTorch looks at it to check complex input
    inner = aten.mul.Scalar(aten.sub.Tensor(inner, _mH(inner)), 0.5)
    column = aten.unsqueeze.default(result, -1)
    distance = aten.sub.Tensor(aten.unsqueeze.default(result, -2), column)
    aten.fill_.Scalar(aten.diagonal.default(distance, 0, -2, -1), 1)
    inner = aten.div_.Tensor(inner, distance)
    if values is not None:
        inner = aten.add.Tensor(inner, aten.diag_embed.default(values))
    return _mm(result1, _mm(inner, _mH(result1)))


derivative(A._linalg_eigh, results=(0, 1), A=_eigh)


def _svd(A: Any, grads: Any, node: Any, full_matrices: bool, compute_uv: bool, driver: Any, result: Any, result2: Any) -> Any:
    u, s, v = grads
    if u is not None or v is not None or s is None:
        return general(grads, node, A, full_matrices, compute_uv, driver)
    m, n = A._aval.shape[-2:]
    if full_matrices and m != n:
        k = min(m, n)
        result, result2 = aten.slice.Tensor(result, -1, 0, k), aten.slice.Tensor(result2, -2, 0, k)
    if m >= n:
        return _mm(result, aten.mul.Tensor(aten.unsqueeze.default(s, -1), result2))
    return _mm(aten.mul.Tensor(result, aten.unsqueeze.default(s, -2)), result2)


derivative(A._linalg_svd, results=(0, 1, 2), A=_svd)


def _qr(A: Any, grads: Any, node: Any, mode: str, result: Any, result1: Any) -> Any:
    m, n = A._aval.shape[-2:]
    if mode != "reduced" or m < n or A._aval.torch_dtype.is_complex:
        return general(grads, node, A, mode)
    q, r = grads
    if q is None and r is None:
        return None
    inner = None if r is None else _mm(r, _mH(result1))
    if q is not None:
        other = _mm(_mH(result), q)
        inner = aten.neg.default(other) if inner is None else aten.sub.Tensor(inner, other)
    inner = aten.triu.default(inner)
    inner = aten.add.Tensor(inner, _mH(inner))
    aten.mul_.Scalar(aten.diagonal.default(inner, 0, -2, -1), 0.5)
    found = _mm(result, inner)
    if q is not None:
        found = aten.add.Tensor(found, q)
    return aten.linalg_solve_triangular.default(_mH(result1), found, upper=False, left=False)


derivative(A.linalg_qr, results=(0, 1), A=_qr)


def _pinv(g: Any, self: Any, result: Any) -> Any:
    inverse = _mH(result)
    g = _mH(g)
    m, n = self._aval.shape[-2:]
    if m <= n:
        k = _mm(g, result)
        right = _mm(k, inverse)
        outer = _mm(inverse, result)
        last = _mm(outer, A.sub.Tensor(g, _mm(k, self)))
        third = _mm(_mm(self, result), right)
        first = A.neg.default(_mH(_mm(result, k)))
        return A.add.Tensor(A.sub.Tensor(A.add.Tensor(first, right), third), last)
    k = _mm(result, g)
    left = _mm(inverse, k)
    last = _mm(_mm(left, result), self)
    second = _mm(_mm(A.sub.Tensor(g, _mm(self, k)), result), inverse)
    first = A.neg.default(_mH(_mm(k, result)))
    return A.sub.Tensor(A.add.Tensor(A.add.Tensor(first, second), left), last)


derivative(A.linalg_pinv.atol_rtol_tensor, self=_pinv)


def _matrix_exp(g: Any, self: Any) -> Any:
    n = self._aval.shape[-1]
    adjoint = _mH(self)
    top = A.cat.default([adjoint, g], -1)
    rows = A.cat.default([top, A.cat.default([A.zeros_like.default(g), adjoint], -1)], -2)
    found = A.linalg_matrix_exp.default(rows)
    return A.slice.Tensor(A.slice.Tensor(found, -2, 0, n), -1, n, 2 * n)


derivative(A.linalg_matrix_exp, self=_matrix_exp)

# ---- products --------------------------------------------------------------------------------------------------------------------

derivative(
    A.linalg_cross,
    self=lambda g, other, dim: A.linalg_cross.default(conj(other), g, dim=dim),
    other=lambda g, self, dim: A.linalg_cross.default(g, conj(self), dim=dim),
)
derivative(
    A.addr,
    self=lambda g, beta: times(g, conj(beta)),
    vec1=lambda g, vec2, alpha: times(A.mv.default(g, conj(vec2)), conj(alpha)),
    vec2=lambda g, vec1, alpha: times(A.mv.default(A.t.default(g), conj(vec1)), conj(alpha)),
)


def _repeated(g: Any, batch: Any) -> Any:
    return A.expand.default(A.unsqueeze.default(g, 0), [batch._aval.shape[0], *g._aval.shape])


def _batch1(g: Any, batch2: Any, alpha: Any) -> Any:
    wide = _repeated(g, batch2)
    return times(A.bmm.default(wide, conj(A.transpose.int(batch2, 1, 2))), conj(alpha))


def _batch2(g: Any, batch1: Any, alpha: Any) -> Any:
    first = conj(A.transpose.int(batch1, 1, 2))
    return times(A.bmm.default(first, _repeated(g, batch1)), conj(alpha))


derivative(A.addbmm, self=lambda g, beta: times(g, conj(beta)), batch1=_batch1, batch2=_batch2)

# ---- Fourier transforms ----------------------------------------------------------------------------------------------------------


def _fft_r2c(g: Any, self_: Any, dim: Any, normalization: int, onesided: bool) -> Any:
    if onesided:
        last = dim[-1] % self_.ndim
        half, whole = g._aval.shape[last], self_.shape[last]
        if whole > half:
            shape = list(g._aval.shape)
            shape[last] = whole
            made = A.new_zeros.default(g, shape)
            A.copy_.default(A.slice.Tensor(made, last, 0, half), g)
            g = made
    return real(A._fft_c2c.default(g, dim, normalization, False))


def _fft_c2r(g: Any, dim: Any, normalization: int) -> Any:
    found = A._fft_r2c.default(g, dim, normalization, True)
    twice = g._aval.shape[dim[-1]] - found._aval.shape[dim[-1]]
    if twice > 0:
        A.mul_.Scalar(A.slice.Tensor(found, dim[-1], 1, 1 + twice), 2)
    return found


derivative(A._fft_r2c, self=_fft_r2c)
derivative(A._fft_c2r, self=_fft_c2r)
derivative(A._fft_c2c, self=lambda g, dim, normalization, forward: A._fft_c2c.default(g, dim, normalization, not forward))
