"""Eigenvalues and eigenvectors."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax.lax import linalg as lapack

from ..facts.errors import LinAlgError
from ._declare import Array, defvjp, guard, guard_gradient, op
from ._derivatives import A, D, derivative
from ._facts import schemas
from ._kernel import cast
from ._linalg import (
    adjoint,
    check_kernel,
    check_square,
    diagonal,
    embedded,
    off_diagonal,
    zero_where_zero,
)
from ._numeric import is_complex, is_integral, scalar_name
from .linalg_solve import linear_solve

if TYPE_CHECKING:
    from ...core import Tensor
    from ..facts.kinds import Named


aten = A  # where ``A`` is the matrix

_ILL = (
    "The algorithm failed to converge because the input matrix is ill-conditioned or has too many "
    "repeated eigenvalues."
)
_NOT_FINITE = (
    "The algorithm failed to converge because the input matrix contained non-finite values."
)


def _real_dtype(a: Array) -> np.dtype:
    return np.dtype(jnp.finfo(a.dtype).dtype)


def _guard_finite(
    a: Array, function: str, message: str, exc_type: type[Exception] = LinAlgError
) -> None:
    if a.ndim == 2:
        guard(~jnp.all(jnp.isfinite(a)), exc_type, f"{function}: {message}")
        return
    bad = ~jnp.all(jnp.isfinite(a), (-2, -1)).reshape(-1)
    guard(bad, exc_type, f"{function}: (Batch element {{}}): {message}", jnp.arange(bad.size))


def _eigh(a: Array, uplo: str, function: str) -> tuple[Array, Array]:
    check_square(a, function)
    check_kernel(a, "linalg_eigh_cpu")
    if uplo.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {uplo}")
    if a.size == 0:
        return jnp.zeros(a.shape[:-1], _real_dtype(a)), a
    _guard_finite(a, function, _ILL)
    vectors, values = lapack.eigh(a, lower=uplo.upper() == "L", symmetrize_input=False)
    return values, vectors


def phase_free(turned: Array, words: str) -> None:
    """Refuses gradients of complex vectors that a loss has which is not the same for their
    multiples of length 1.

    ``turned`` are the derivatives of the loss along such multiples; the tolerance is PyTorch's.
    """
    guard_gradient(~(jnp.abs(turned) <= 1e-2), RuntimeError, words)


_DEPENDS = (
    "{}_backward: The eigenvectors in the complex case are specified up to multiplication by e^{{i "
    "phi}}. The specified loss function depends on this quantity, so it is ill-defined."
)


def _eigh_grad(
    grad_values: Array, grad_vectors: Array | None, values: Array, vectors: Array
) -> Array:
    inner = embedded(cast(grad_values, vectors.dtype))
    if grad_vectors is not None:
        difference = values[..., None, :] - values[..., :, None]
        product = adjoint(vectors) @ grad_vectors
        if is_complex(vectors):
            phase_free(jnp.imag(diagonal(product)), _DEPENDS.format("linalg_eigh"))
        # the gradient is symmetric
        product = (product - adjoint(product)) * np.asarray(0.5, product.dtype)
        inner = inner + zero_where_zero(off_diagonal(product), cast(difference, product.dtype))
    return vectors @ inner @ adjoint(vectors)


@op(
    namespace="linalg",
    out=True,
    returns="linalg_eigh",
    fields=("eigenvalues", "eigenvectors"),
    aten="linalg_eigh",
    saves=("result",),
    strides="columns:1",
    out_dtype="expected",
    node="LinalgEighBackward0",
    autocast="cpu float32",
    spelled={"A": "input"},
    implicit=True,
)
@schemas(
    '(Tensor self, str UPLO="L") -> (Tensor eigenvalues, Tensor eigenvectors) ; '
    "=eigvals:eigvals,eigvecs"
)
def eigh(A: Array, UPLO: str = "L") -> tuple[Array, Array]:
    """The eigenvalues, ascending, and orthonormal eigenvectors (columns) of symmetric or Hermitian
    matrices, given by one triangle.

    Shapes: A (*, n, n) -> eigenvalues (*, n), eigenvectors (*, n, n).
    Dtypes: float32, float64 and complex ones -> the same; others are refused. Eigenvalues are real.

    Raises:
        LinAlgError: if the input is not finite.
        RuntimeError: for another ``UPLO`` than L or U.

    Example:
        >>> import jtorch as torch
        >>> values, vectors = torch.linalg.eigh(torch.tensor([[2.0, 1.0], [1.0, 3.0]]))
        >>> (
        ...     values,
        ...     torch.dist(
        ...         vectors @ values.diag() @ vectors.mT, torch.tensor([[2.0, 1.0], [1.0, 3.0]])
        ...     )
        ...     < 1e-5,
        ... )
        (tensor([1.3820, 3.6180]), tensor(True))
    """
    return _eigh(A, UPLO, "linalg.eigh")


defvjp(eigh, lambda g, result, A, UPLO="L": (_eigh_grad(g[0], g[1], *result),))


def _eigh_formula(
    A: Tensor, grads: Any, node: object, UPLO: str, compute_v: bool, result: object, result1: object
) -> object:
    values, vectors = grads
    if values is None and vectors is None:
        return None
    adjoint = D.adjoint(result1)
    if vectors is None:
        return D.matmul(aten.mul.Tensor(result1, aten.unsqueeze.default(values, -2)), adjoint)
    if A._aval.torch_dtype.is_complex:
        return D.general(grads, node, A, UPLO, compute_v)
    inner = D.matmul(adjoint, vectors)
    aten.diagonal.default(inner, 0, -2, -1)  # PyTorch looks at it to check complex input
    inner = aten.mul.Scalar(aten.sub.Tensor(inner, D.adjoint(inner)), 0.5)
    column = aten.unsqueeze.default(result, -1)
    distance = aten.sub.Tensor(aten.unsqueeze.default(result, -2), column)
    aten.fill_.Scalar(aten.diagonal.default(distance, 0, -2, -1), 1)
    inner = aten.div_.Tensor(inner, distance)
    if values is not None:
        inner = aten.add.Tensor(inner, aten.diag_embed.default(values))
    return D.matmul(result1, D.matmul(inner, D.adjoint(result1)))


derivative(A._linalg_eigh, results=(0, 1), A=_eigh_formula)


def _eigvalsh_fwd(A: Array, UPLO: str = "L") -> tuple[Array, tuple[Array, Array]]:
    values, vectors = _eigh(A, UPLO, "linalg.eigh")
    return values, (values, vectors)


@op(
    namespace="linalg",
    out=True,
    aten="linalg_eigvalsh",
    out_dtype="expected",
    node="LinalgEighBackward0",
    autocast="cpu float32",
    spelled={"A": "input"},
    implicit=True,
    unchecked=("A",),
)
@schemas('(Tensor self, str UPLO="L") -> Tensor ; =out')
def eigvalsh(A: Array, UPLO: str = "L") -> Array:
    """The eigenvalues, ascending, of symmetric or Hermitian matrices, given by one triangle.

    Shapes: A (*, n, n) -> (*, n).
    Dtypes: float32 and complex64 -> float32, float64 and complex128 -> float64; others are refused.

    Raises:
        LinAlgError: if the input is not finite.
        RuntimeError: for another ``UPLO`` than L or U, or matrices that are not square.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.eigvalsh(torch.tensor([[2.0, 1.0], [1.0, 3.0]]))
        tensor([1.3820, 3.6180])
    """
    return _eigvalsh_fwd(A, UPLO)[0]


defvjp(
    eigvalsh,
    lambda g, residuals, A, UPLO="L": (_eigh_grad(g, None, *residuals),),
    fwd=_eigvalsh_fwd,
)


#: JAX before 0.10.2 does not differentiate eigenvectors, and does not ask.
_DERIVATIVES: Named = (
    {"enable_eigvec_derivs": True}
    if "enable_eigvec_derivs" in signature(lapack.eig).parameters
    else {}
)


def _eig(a: Array, function: str) -> tuple[Array, Array]:
    check_square(a, function)
    if is_integral(a):
        raise RuntimeError(f"Unknown Complex ScalarType for {scalar_name(a.dtype)}")
    check_kernel(a, "linalg_eig_out_cpu")
    guard(
        ~jnp.all(jnp.isfinite(a)),
        RuntimeError,
        "torch.linalg.eig: input tensor should not contain infs or NaNs.",
    )
    dtype = np.dtype(
        np.complex128 if a.dtype.itemsize == (16 if is_complex(a) else 8) else np.complex64
    )
    if a.size == 0:
        return jnp.zeros(a.shape[:-1], dtype), jnp.zeros(a.shape, dtype)
    values, vectors = lapack.eig(a, compute_left_eigenvectors=False, **_DERIVATIVES)
    return values, vectors


def _eig_grad(
    grad_values: Array, grad_vectors: Array | None, values: Array, vectors: Array, a: Array
) -> Array:
    if a.size == 0:
        return jnp.zeros_like(a)
    h = adjoint(vectors)
    inner = embedded(grad_values)
    if grad_vectors is not None:
        product = h @ grad_vectors
        phase_free(jnp.imag(diagonal(product)), _DEPENDS.format("linalg_eig"))
        product = (
            product - (h @ vectors) * cast(jnp.real(diagonal(product)), product.dtype)[..., None, :]
        )
        inner = inner + zero_where_zero(
            off_diagonal(product), jnp.conj(values[..., None, :] - values[..., :, None])
        )
    grad, _ = linear_solve(h, inner @ h)
    return cast(grad, a.dtype)


@op(
    namespace="linalg",
    out=True,
    returns="linalg_eig",
    fields=("eigenvalues", "eigenvectors"),
    aten="linalg_eig",
    strides="columns:1",
    castable="torch.linalg.eig",
    node="LinalgEigBackward0",
    autocast="cpu float32",
    spelled={"A": "input"},
    unchecked=("A",),
)
@schemas(
    "(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors) ; =out:eigenvalues,eigenvectors"
)
def eig(A: Array) -> tuple[Array, Array]:
    """The complex eigenvalues and eigenvectors (columns of length 1) of square matrices. On the CPU
    only.

    Shapes: A (*, n, n) -> eigenvalues (*, n), eigenvectors (*, n, n).
    Dtypes: float32 and complex64 -> complex64, float64 and complex128 -> complex128; others are
    refused.

    Raises:
        RuntimeError: if the input is not finite or the matrices are not square.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.eig(torch.tensor([[2.5, 0.0], [0.0, 3.0]]))
        torch.return_types.linalg_eig(
        eigenvalues=tensor([2.5000+0.j, 3.0000+0.j]),
        eigenvectors=tensor([[1.+0.j, 0.+0.j],
                [0.+0.j, 1.+0.j]]))
    """
    return _eig(A, "linalg.eig")


defvjp(
    eig,
    lambda g, result, A: (_eig_grad(g[0], g[1], result[0], result[1], A),),
    saves=("A", "result"),
)


def _eigvals_fwd(A: Array) -> tuple[Array, tuple[Array, Array]]:
    values, vectors = _eig(A, "linalg.eigvals")
    return values, (values, vectors)


@op(
    namespace="linalg",
    out=True,
    aten="linalg_eigvals",
    castable=("torch.linalg.eigvals", "eigenvalues"),
    node="LinalgEigBackward0",
    autocast="cpu float32",
    spelled={"A": "input"},
    dispatched="in parts",
    unchecked=("A",),
)
@schemas("(Tensor self) -> Tensor ; =out")
def eigvals(A: Array) -> Array:
    """The complex eigenvalues of square matrices. On the CPU only.

    Shapes: A (*, n, n) -> (*, n).
    Dtypes: float32 and complex64 -> complex64, float64 and complex128 -> complex128; others are
    refused.

    Raises:
        RuntimeError: if the input is not finite or the matrices are not square.

    Example:
        >>> import jtorch as torch
        >>> torch.linalg.eigvals(torch.tensor([[2.5, 0.0], [0.0, 3.0]]))
        tensor([2.5000+0.j, 3.0000+0.j])
    """
    return _eigvals_fwd(A)[0]


defvjp(
    eigvals,
    lambda g, residuals, A: (_eig_grad(g, None, residuals[0], residuals[1], A),),
    fwd=_eigvals_fwd,
)
