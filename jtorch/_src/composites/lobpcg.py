"""A few extreme eigenvalues of large symmetric matrices by LOBPCG: the matrix is only multiplied
with."""

from __future__ import annotations

from typing import Any

from ...core import Tensor
from ..bind.cores import composite
from ..bind.everything import L, T
from ..facts import dtypes
from ..facts.errors import not_offered


def _times(M: Any, x: Tensor) -> Tensor:
    return x if M is None else M @ x


def _projected(A: object, B: object, basis: Tensor, k: int, largest: bool) -> tuple[Tensor, ...]:
    """The ``k`` extreme eigenpairs of the pencil within the span of ``basis``, whose columns may
    depend on each other."""
    scale = (basis * _times(B, basis)).sum(-2, keepdim=True).clamp_min(0).sqrt()
    info = dtypes.finfo(basis.dtype)
    tiny = info.tiny
    basis = basis / scale.clamp_min(tiny)
    values, vectors = L.eigh(basis.mT @ _times(B, basis))
    good = values > values[..., -1:] * (10 * info.eps * basis.shape[-1])
    root = T.where(good, values.clamp_min(tiny).rsqrt(), T.zeros_like(values))
    orthonormal = basis @ (vectors * root.unsqueeze(-2))
    small = orthonormal.mT @ (A @ orthonormal)
    small = (small + small.mT) / 2
    # Directions that were dropped get eigenvalues at the far end, so that they are not chosen.
    bound = small.abs().sum(-1).amax(-1, keepdim=True) + 1
    off = T.where(good, T.zeros_like(values), (-bound if largest else bound).expand_as(values))
    values, vectors = L.eigh(small + T.diag_embed(off))
    if largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values[..., :k], orthonormal @ vectors[..., :k]


@composite(operands=("A", "B", "X", "iK"), native=False)
def lobpcg(
    A: Any,
    k: int | None = None,
    B: Any = None,
    X: Any = None,
    n: int | None = None,
    iK: Any = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> Any:
    """The ``k`` (by default 1) largest, or with ``largest=False`` smallest, eigenvalues of
    ``A x = l B x`` and their vectors.

    ``A`` is symmetric, ``B`` (by default the identity) positive definite; ``X`` holds ``n`` first
    guesses (random ones if missing), and ``iK`` multiplies residuals: a rough inverse of ``A``
    speeds it up. It ends after ``niter`` steps, or when all residuals relative to the norms of
    ``A`` and the vectors are below ``tol``.

    Shapes: A, B, iK (*, m, m), X (*, m, n) -> (*, k), (*, m, k).

    Gradient: that of the eigenvalues and vectors of the last projection.

    Raises:
        ValueError: if the matrix is smaller than three times ``n``.

    Differs from torch: the methods ``"basic"`` and ``"ortho"`` are one here, so the ``ortho_``
    parameters must not be given, and neither must a ``tracker``.

    Source: Knyazev, Toward the optimal preconditioned eigensolver, SIAM J. Sci. Comput. 23 (2001).

    Example:
        >>> import jtorch as torch
        >>> _ = torch.manual_seed(0)
        >>> values, vectors = torch.lobpcg(torch.diag(torch.tensor([1.0, 2.0, 9.0])), k=1)
        >>> values.round(decimals=3)
        tensor([9.])
    """
    refused = {
        "tracker": tracker,
        "ortho_iparams": ortho_iparams,
        "ortho_fparams": ortho_fparams,
        "ortho_bparams": ortho_bparams,
    }
    for name, given in refused.items():
        if given is not None:
            raise not_offered(
                f"lobpcg({name}=...)", "it tells of or steers the steps of another iteration"
            )
    if method not in (None, "basic", "ortho"):
        raise ValueError(f"method must be 'basic' or 'ortho', but got {method!r}")
    m = A.shape[-1]
    count = (1 if X is None else X.shape[-1]) if k is None else k
    width = count if n is None else n
    width = width if X is None else X.shape[-1]
    if m < 3 * width:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than "
            f"3 x the number of requested eigenpairs (={width})"
        )
    largest = True if largest is None else largest
    limit = dtypes.finfo(A.dtype).eps ** 0.5 if tol is None else tol
    steps = 1000 if niter is None else niter
    guess = T.randn((*A.shape[:-1], width), dtype=A.dtype, device=A.device) if X is None else X
    norm_a = L.matrix_norm(A).unsqueeze(-1)
    norm_b = 1.0 if B is None else L.matrix_norm(B).unsqueeze(-1)
    values, x = _projected(A, B, guess, width, largest)
    before = None
    done = 0
    while steps < 0 or done < steps:
        residual = A @ x - _times(B, x) * values.unsqueeze(-2)
        size = L.vector_norm(residual, dim=-2)
        scale = L.vector_norm(x, dim=-2) * (norm_a + values.abs() * norm_b)
        if bool((size[..., :count] < limit * scale[..., :count]).all()):
            break
        basis = [x, _times(iK, residual)] + ([] if before is None else [before])
        values, found = _projected(A, B, T.cat(basis, -1), width, largest)
        before = found - x @ (x.mT @ _times(B, found))
        x = found
        done += 1
    return values[..., :count], x[..., :count]
