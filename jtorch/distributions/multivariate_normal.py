"""The multivariate normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import jtorch as torch
from jtorch import Tensor

from . import constraints
from .constraints import Constraint
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """Matrices (*, n, m) times vectors (*, m), where batches broadcast."""
    return torch.matmul(bmat, bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL: Tensor, bx: Tensor) -> Tensor:
    """``x.T @ inv(L @ L.T) @ x`` for Cholesky factors (*, n, n) and vectors (*, n).

    The batch of the factors must broadcast to that of the vectors. Each factor is solved once for
    all vectors that share it.
    """
    n, batch = bx.size(-1), bx.shape[:-1]
    outer = len(batch) - (bL.dim() - 2)
    # Split every batch dimension of the vectors into (repetitions, dimension of the factors), and
    # bring the repetitions to the front.
    split = list(batch[:outer])
    for size, theirs in zip(bL.shape[:-2], batch[outer:], strict=True):
        split += [theirs // size, size]
    repeated, shared = (
        list(range(outer)) + list(range(outer, len(split), 2)),
        list(range(outer + 1, len(split), 2)),
    )
    order = repeated + shared
    x = bx.reshape(*split, n).permute((*order, len(split)))
    factors = bL.reshape(-1, n, n)
    columns = x.reshape(-1, factors.size(0), n).permute(1, 2, 0)
    squares = torch.linalg.solve_triangular(factors, columns, upper=False).pow(2).sum(-2).t()
    back = [order.index(d) for d in range(len(order))]
    return squares.reshape(x.shape[:-1]).permute(back).reshape(batch)


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """The Cholesky factor of the inverse of ``P``: factorised from its last row up, ``P`` gives the
    inverse of that factor."""
    reversed_factor = torch.linalg.cholesky(torch.flip(P, (-2, -1)))
    inverse = torch.transpose(torch.flip(reversed_factor, (-2, -1)), -2, -1)
    identity = torch.eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return torch.linalg.solve_triangular(inverse, identity, upper=False)


class MultivariateNormal(Distribution):
    """Normal vectors of mean ``loc``, with a covariance, its inverse, or its Cholesky factor given:
    exactly one of them.

    The Cholesky factor is what computations use.

    Shapes: loc (*, n), matrices (*, n, n).
    """

    arg_constraints: dict[str, Constraint] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support: Constraint = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {
            "scale_tril": scale_tril,
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
        }
        given = {name: matrix for name, matrix in given.items() if matrix is not None}
        if len(given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        ((name, matrix),) = given.items()
        assert matrix is not None
        if matrix.dim() < 2:
            shown = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(
                f"{shown} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch_shape = torch.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.__dict__[name] = matrix.expand(batch_shape + (-1, -1))
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        if scale_tril is not None:
            self._unbroadcasted_scale_tril = scale_tril
        elif covariance_matrix is not None:
            self._unbroadcasted_scale_tril = torch.linalg.cholesky(covariance_matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        ranks = {"loc": 1, "covariance_matrix": 2, "scale_tril": 2, "precision_matrix": 2}
        new = self._expanded(MultivariateNormal, batch_shape, _instance, **ranks)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    def _batched(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._batched(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_scale_tril
        return self._batched(torch.matmul(factor, factor.mT))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._batched(torch.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return (
            self._unbroadcasted_scale_tril.pow(2)
            .sum(-1)
            .expand(self._batch_shape + self._event_shape)
        )

    def rsample(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        eps = _standard_normal(
            self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device
        )
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, eps)

    def _half_log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return (
            -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - self._half_log_det()
        )

    def entropy(self) -> Tensor:
        found = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return found.expand(self._batch_shape) if self._batch_shape else found
