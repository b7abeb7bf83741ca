"""Approximate factorisations of matrices that are nearly of low rank: randomised SVD and principal
components."""

from __future__ import annotations

from typing import Any

from ...core import Tensor
from ..bind.cores import composite
from ..bind.everything import L, T


def _basis(A: Tensor, q: int, niter: int, M: Tensor | None) -> Tensor:
    """An orthonormal basis of ``q`` columns that nearly spans the range of ``A - M``: that of
    random combinations, after power steps."""

    def forward(x: Tensor) -> Any:
        return A @ x if M is None else A @ x - M @ x

    def back(x: Tensor) -> Tensor:
        return A.mH @ x if M is None else A.mH @ x - M.mH @ x

    start = T.randn(A.shape[-1], q, dtype=A.dtype, device=A.device)
    found = L.qr(forward(start)).Q
    for _ in range(niter):
        found = L.qr(back(found)).Q
        found = L.qr(forward(found)).Q
    return found


@composite(operands=("A", "M"), native=False, home="functional")
def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Any = None) -> Any:
    """The ``q`` largest singular values of ``A`` (or of ``A - M``) and their vectors, found with
    random numbers.

    The error falls with ``niter``, the number of power steps. The result is ``(U, S, V)`` with
    ``A`` near ``U @ diag(S) @ V.mH``.

    Shapes: A (*, m, n) -> (*, m, q), (*, q), (*, n, q).

    Raises:
        ValueError: if ``q`` or ``niter`` is negative, or ``q`` greater than a side of the matrix.

    Example:
        >>> import jtorch as torch
        >>> u, s, v = torch.svd_lowrank(torch.diag(torch.tensor([3.0, 2.0, 1.0])), q=2, niter=8)
        >>> s.round(decimals=2)
        tensor([3., 2.])

    Source: Halko, Martinsson and Tropp, Finding structure with randomness, SIAM Review 53 (2011).
    """
    rank, steps = 6 if q is None else q, 2 if niter is None else niter
    m, n = A.shape[-2:]
    shift = None if M is None else M.broadcast_to(A.shape)
    wide = m < n
    if wide:
        A, shift = A.mH, None if shift is None else shift.mH
    basis = _basis(A, rank, steps, shift)
    small = basis.mH @ A if shift is None else basis.mH @ A - basis.mH @ shift
    u, s, vh = L.svd(small, full_matrices=False)
    u, v = basis @ u, vh.mH
    return (v, s, u) if wide else (u, s, v)


@composite(operands=("A",), native=False, home="functional")
def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> Any:
    """The ``q`` (by default 6, or as many as there are) principal components of the rows of ``A``,
    centred unless ``center`` is false.

    The result is ``(U, S, V)`` as ``svd_lowrank`` gives it: the columns of ``V`` are the
    directions, ``S ** 2 / (m - 1)`` the variances.

    Shapes: A (*, m, n) -> (*, m, q), (*, q), (*, n, q).

    Raises:
        ValueError: if ``q`` or ``niter`` is negative, or ``q`` greater than a side of the matrix.

    Example:
        >>> import jtorch as torch
        >>> u, s, v = torch.pca_lowrank(torch.tensor([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]), q=1)
        >>> (v[1] / v[0]).round(decimals=3)
        tensor([2.])
    """
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not (A.dtype.is_floating_point or A.dtype.is_complex):
        raise ValueError(f"input must be a floating-point or complex tensor, but got {A.dtype}")
    return T.svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
