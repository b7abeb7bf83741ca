"""``torch._linalg_utils``, ``torch._lowrank`` and ``torch._lobpcg``: forms of matrices that may be
absent, for methods of few products."""

from __future__ import annotations

import jtorch as torch
from jtorch import eig as eig
from jtorch import lobpcg as lobpcg
from jtorch import lstsq as lstsq
from jtorch import matrix_rank as matrix_rank
from jtorch import pca_lowrank as pca_lowrank
from jtorch import solve as solve
from jtorch import svd_lowrank as svd_lowrank
from jtorch import symeig as _symeig  # noqa: F401  (PyTorch's name for it)
from jtorch._src.composites.lowrank import _basis


def is_sparse(A: torch.Tensor) -> bool:
    """Whether a matrix has the layout of coordinates.

    Raises:
        TypeError: if it is no tensor.
    """
    if not isinstance(A, torch.Tensor):
        raise TypeError(f"expected Tensor but got {type(A)}")
    return A.layout is torch.sparse_coo


def get_floating_dtype(A: torch.Tensor) -> torch.dtype:
    """The dtype to compute in: the matrix's own if it has a fraction (half, single or double), else
    float32."""
    return A.dtype if A.dtype in (torch.float16, torch.float32, torch.float64) else torch.float32


def matmul(A: torch.Tensor | None, B: torch.Tensor) -> torch.Tensor:
    """``A @ B``; None is the identity, and ``A`` may be sparse.

    Example:
        >>> import jtorch as torch
        >>> from jtorch._linalg_utils import matmul
        >>> matmul(None, torch.ones(2, 1)).shape
        torch.Size([2, 1])
    """
    if A is None:
        return B
    return torch.sparse.mm(A, B) if is_sparse(A) else torch.matmul(A, B)


def bform(X: torch.Tensor, A: torch.Tensor | None, Y: torch.Tensor) -> torch.Tensor:
    """The bilinear form ``X.mT @ A @ Y``."""
    return matmul(X.mT, matmul(A, Y))


def qform(A: torch.Tensor | None, S: torch.Tensor) -> torch.Tensor:
    """The quadratic form ``S.mT @ A @ S``."""
    return bform(S, A, S)


def basis(A: torch.Tensor) -> torch.Tensor:
    """An orthonormal basis of the columns."""
    return torch.linalg.qr(A).Q


def symeig(A: torch.Tensor, largest: bool | None = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Eigenvalues and eigenvectors of a symmetric matrix, of which the upper triangle is read:
    ascending, or descending if ``largest``."""
    values, vectors = torch.linalg.eigh(A, UPLO="U")
    if largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values, vectors


def get_approximate_basis(
    A: torch.Tensor, q: int, niter: int | None = 2, M: torch.Tensor | None = None
) -> torch.Tensor:
    """An orthonormal basis of ``q`` columns that nearly spans the range of ``A - M``, found with
    random numbers and ``niter`` power steps.

    Shapes: A (*, m, n), M (*, m, n) -> (*, m, q).
    """
    return _basis(A, q, 2 if niter is None else niter, M)
