"""Kernels of the inner operators of linear algebra, products, Fourier transforms and windows, on
plain tensors."""

from __future__ import annotations

from typing import Any

from ...core import Tensor
from ..bind.everything import FFT, F, L, T
from ..facts.errors import LinAlgError
from .kernels import kernel
from .overloads import aten
from .pulling import through

A = aten

_FAILURES = {
    "inv": (
        "The diagonal element {} is zero, the inversion could not be completed because the "
        "input matrix is singular."
    ),
    "linalg.inv": (
        "The diagonal element {} is zero, the inversion could not be completed because the "
        "input matrix is singular."
    ),
    "torch.linalg.solve": "The solver failed because the input matrix is singular.",
    "linalg.cholesky": "The factorization could not be completed because the input is not "
    "positive-definite (the leading minor of order {} is not "
    "positive-definite).",
    "linalg.lu_factor": "U[{0},{0}] is zero and using it on lu_solve would result in a division by "
    "zero. If you still want to perform the factorization, consider calling "
    "linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
}


@kernel(A._grouped_mm)
def _grouped_mm(
    self: Tensor, mat2: Tensor, offs: Any = None, bias: Any = None, out_dtype: Any = None
) -> Any:
    return F.grouped_mm(self, mat2, offs=offs, bias=bias, out_dtype=out_dtype)


@kernel(A._linalg_check_errors)
def _linalg_check_errors(info: Tensor, api_name: str, *, is_matrix: bool) -> None:
    if info.is_meta or not bool((info != 0).any()):
        return
    codes = info.reshape(-1).tolist()
    place = next(i for i, code in enumerate(codes) if code)
    text = _FAILURES.get(api_name, "The algorithm failed to converge (error code: {}).").format(
        codes[place]
    )
    raise LinAlgError(f"{api_name}: {'' if is_matrix else f'(Batch element {place}): '}{text}")


# ---- factors -------------------------------------------------------------------------------------


@kernel(A._linalg_solve_ex)
def _linalg_solve_ex(A: Any, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    lu, pivots, info = L.lu_factor_ex(A)
    vector = B._aval.ndim == 1 or (
        A._aval.ndim - 1 == B._aval.ndim and A._aval.shape[:-1] == B._aval.shape
    )
    out = L.lu_solve(lu, pivots, B.unsqueeze(-1) if vector else B, left=left)
    if check_errors:
        _linalg_check_errors(info, "torch.linalg.solve_ex", is_matrix=A._aval.ndim == 2)
    return out.squeeze(-1) if vector else out, lu, pivots, info


def _factored(A: Tensor) -> Any:
    """The factors of a matrix, or of its transpose where that lies in memory as LAPACK wants it."""
    transposed = A.is_contiguous() and not A.is_complex()
    lu, pivots, _ = L.lu_factor_ex(A.mT if transposed else A)
    return lu, pivots


@kernel(A._linalg_det)
def _linalg_det(A: Tensor) -> Any:
    return (L.det(A), *_factored(A))


@kernel(A._linalg_slogdet)
def _linalg_slogdet(A: Tensor) -> Any:
    sign, size = L.slogdet(A)
    return (sign, size, *_factored(A))


@kernel(A._linalg_eigh)
def _linalg_eigh(A: Any, UPLO: str = "L", compute_v: bool = True) -> Any:
    if compute_v:
        return tuple(L.eigh(A, UPLO))
    values = L.eigvalsh(A, UPLO)
    return values, A.new_empty(0)


@kernel(A._linalg_svd)
def _linalg_svd(
    A: Any, full_matrices: bool = False, compute_uv: bool = True, *, driver: object = None
) -> Any:
    if compute_uv:
        return tuple(L.svd(A, full_matrices, driver=driver))
    return A.new_empty(0), L.svdvals(A, driver=driver), A.new_empty(0)


@kernel(A.linalg_pinv.atol_rtol_tensor)
def linalg_pinv(
    self: Tensor, *, atol: object = None, rtol: object = None, hermitian: bool = False
) -> Any:
    return L.pinv(self, atol=atol, rtol=rtol, hermitian=hermitian)


# ---- Fourier transforms --------------------------------------------------------------------------

#: Names of the scalings 0 (none), 1 (by the root of the size) and 2 (by the size), forward and
#: backward.
_FORWARD = ("backward", "ortho", "forward")
_BACKWARD = ("forward", "ortho", "backward")


@kernel(A._fft_c2c)
def _fft_c2c(self: Tensor, dim: Any, normalization: int, forward: bool) -> Any:
    if not dim:
        return self.clone()
    if forward:
        return FFT.fftn(self, dim=tuple(dim), norm=_FORWARD[normalization])
    return FFT.ifftn(self, dim=tuple(dim), norm=_BACKWARD[normalization])


@kernel(A._fft_r2c)
def _fft_r2c(self: Tensor, dim: Any, normalization: int, onesided: bool) -> Any:
    return (FFT.rfftn if onesided else FFT.fftn)(self, dim=tuple(dim), norm=_FORWARD[normalization])


@kernel(A._fft_c2r)
def _fft_c2r(self: Tensor, dim: Any, normalization: int, last_dim_size: int) -> Any:
    sizes = [self._aval.shape[d] for d in dim[:-1]]
    return FFT.irfftn(
        self, s=(*sizes, last_dim_size), dim=tuple(dim), norm=_BACKWARD[normalization]
    )


# ---- windows and masks ---------------------------------------------------------------------------


@kernel(A.unfold_backward)
def unfold_backward(
    grad_in: Tensor, input_sizes: list[int], dim: int, size: int, step: int
) -> Tensor:
    shape = tuple(input_sizes)
    count = 1
    for n in shape:
        count *= n
    places = (
        T.arange(count, device=grad_in.device).reshape(shape).unfold(dim, size, step).reshape(-1)
    )
    return grad_in.new_zeros(count).index_add(0, places, grad_in.reshape(-1)).reshape(shape)


@kernel(A.masked_scatter_backward)
def masked_scatter_backward(grad_output: Tensor, mask: Tensor, sizes: Any) -> Any:
    count = 1
    for n in sizes:
        count *= n
    picked = grad_output.masked_select(mask.expand_as(grad_output))
    missing = count - picked.numel()
    if missing > 0:
        picked = T.cat([picked, picked.new_zeros(missing)])
    return picked[:count].reshape(tuple(sizes))


@kernel(A._pdist_forward)
def _pdist_forward(self: Tensor, p: float = 2) -> Any:
    return T.pdist(self, p)


@kernel(A._pdist_backward)
def _pdist_backward(grad: object, self: object, p: float, pdist: object) -> Any:
    del pdist
    return through(lambda x: T.pdist(x, p), self, grad)
