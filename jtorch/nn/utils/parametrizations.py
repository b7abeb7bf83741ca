"""Ready-made parametrizations: orthogonal, weight and spectral normalization."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

import jtorch as torch
from jtorch import Tensor

from .. import functional as F
from ..modules.module import Module
from . import parametrize
from .spectral_norm import default_dim
from .weight_norm import norm_except_dim, normalized

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _is_orthogonal(Q: Tensor, eps: float | None = None) -> bool:
    n, k = Q.size(-2), Q.size(-1)
    identity = torch.eye(k, dtype=Q.dtype, device=Q.device)
    return torch.allclose(
        Q.mH @ Q, identity, atol=10.0 * n * torch.finfo(Q.dtype).eps if eps is None else eps
    )


def _make_orthogonal(A: Tensor) -> Tensor:
    """The orthogonal factor of A = QR, R with a positive diagonal."""
    X, tau = torch.geqrf(A)
    Q = torch.linalg.householder_product(X, tau)
    return Q * X.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    """An unconstrained matrix to one with orthonormal columns (or rows)."""

    base: Tensor | None

    def __init__(
        self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True
    ) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        # coordinates around the matrix last assigned, where gradients behave
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        """``(*, n, k)`` -> ``(*, n, k)``."""
        wide = X.size(-2) < X.size(-1)
        if wide:
            X = X.mT
        n, k = X.size(-2), X.size(-1)
        if self.orthogonal_map is _OrthMaps.householder:
            A = X.tril(diagonal=-1)
            tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
            Q = torch.linalg.householder_product(A, tau)
            Q = Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)  # the diagonal holds signs
        else:
            X = X.tril()
            if n != k:
                X = torch.cat([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], dim=-1)
            A = X - X.mH  # skew-symmetric
            if self.orthogonal_map is _OrthMaps.matrix_exp:
                Q = torch.matrix_exp(A)
            else:
                identity = torch.eye(n, dtype=A.dtype, device=A.device)
                Q = torch.linalg.solve(
                    torch.add(identity, A, alpha=-0.5), torch.add(identity, A, alpha=0.5)
                )
            if n != k:
                Q = Q[..., :k]
        if hasattr(self, "base"):
            Q = self.base @ Q  # type: ignore
        return Q.mT if wide else Q

    @torch.no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        """The matrix that ``forward`` takes to ``Q``, made orthogonal if it is not."""
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of "
                f"shape {Q.shape}."
            )
        given = Q
        wide = Q.size(-2) < Q.size(-1)
        if wide:
            Q = Q.mT
        n, k = Q.size(-2), Q.size(-1)
        if not hasattr(self, "base"):
            if self.orthogonal_map is not _OrthMaps.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley "
                    "parametrizations when use_trivialization=False."
                )
            A, tau = torch.geqrf(Q)
            diagonal = A.diagonal(dim1=-2, dim2=-1)
            signs = torch.where(tau == 0.0, -diagonal.sign(), diagonal.sign())
            A = _with_diagonal(A, signs)
            return A.mT if wide else A
        if n == k:
            Q = Q.clone() if _is_orthogonal(Q) else _make_orthogonal(Q)
        else:  # completed to a square one by random columns
            N = torch.randn(*Q.size()[:-2], n, n - k, dtype=Q.dtype, device=Q.device)
            Q = _make_orthogonal(torch.cat([Q, N], dim=-1))
        self.base = Q
        # -I, which all maps take to the identity's first columns (householder: with the sign of the
        # diagonal)
        return _with_diagonal(
            torch.zeros_like(given), -torch.ones_like(given.diagonal(dim1=-2, dim2=-1))
        )


def _with_diagonal(A: Tensor, diagonal: Tensor) -> Tensor:
    """``A (*, n, k)`` with another diagonal."""
    rows = torch.arange(A.size(-2), device=A.device).unsqueeze(-1)
    columns = torch.arange(A.size(-1), device=A.device)
    padded = F.pad(diagonal, (0, A.size(-1) - diagonal.size(-1)))
    return torch.where(rows == columns, padded.unsqueeze(-2), A)


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keeps ``module.name`` (a matrix or batch of them) orthogonal: by "matrix_exp", "cayley" or
    "householder".

    The default is matrix_exp for square and complex matrices, else householder.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1) or weight.is_complex()
        orthogonal_map = "matrix_exp" if square else "householder"
    found = _OrthMaps.__members__.get(orthogonal_map)
    if found is None:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: '
            f"{orthogonal_map}"
        )
    orth = _Orthogonal(weight, found, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, orth, unsafe=True)


class _WeightNorm(Module):
    """Length and direction to a weight."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """``g`` and ``v`` -> ``g · v / |v|``."""
        return normalized(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The lengths of ``weight``, and ``weight``."""
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Module:
    """Makes ``module.name`` ``g · v / |v|``, the norm over all dimensions but ``dim`` (None: all).

    g and v are ``parametrizations.{name}.original0`` and ``original1``; state dicts of the hook
    form load too.
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def accept_hook_form(state_dict: Any, prefix: str, *_: object) -> None:
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(accept_hook_form)
    return module


class _SpectralNorm(Module):
    """A weight divided by its largest singular value; vectors by ordinary normalization."""

    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got "
                f"{dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            height, width = matrix.size()
            u = matrix.new_empty(height).normal_(0, 1)
            v = matrix.new_empty(width).normal_(0, 1)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        if weight.ndim <= 1:
            raise AssertionError(
                f"Expected weight to have more than 1 dimension, got {weight.ndim}"
            )
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.flatten(1)

    @torch.no_grad()
    def _power_method(self, weight_mat: Tensor, n_power_iterations: int) -> None:
        """Improves the singular vectors u and v in place."""
        for _ in range(n_power_iterations):
            F.normalize(torch.mv(weight_mat, self._v), dim=0, eps=self.eps, out=self._u)
            F.normalize(torch.mv(weight_mat.mH, self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight: Tensor) -> Tensor:
        """``(*)`` -> the same shape; in training, u and v take a step."""
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # the next step must not touch what autograd keeps of this one
        u, v = self._u.clone(), self._v.clone()
        return weight / torch.vdot(u, torch.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """``value``, which may be assumed to be normalized."""
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divides ``module.name`` by its spectral norm, which power iteration estimates; each training
    access improves it."""
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    norm = _SpectralNorm(
        weight, n_power_iterations, default_dim(module) if dim is None else dim, eps
    )
    return parametrize.register_parametrization(module, name, norm)
