"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Self

import jtorch as torch
from jtorch import Tensor, nan

from .._src.facts.warned_once import outside
from . import constraints
from .chi2 import Chi2
from .constraints import Constraint
from .exp_family import ExponentialFamily
from .multivariate_normal import _precision_to_scale_tril
from .utils import _all_numbers, lazy_property

__all__ = ["Wishart"]

_log_2 = math.log(2)


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    """The derivative of the multivariate log gamma function."""
    if not constraints._holds(x.gt((p - 1) / 2)):
        raise AssertionError("Wrong domain for multivariate digamma function.")
    halves = torch.arange(p, dtype=x.dtype, device=x.device).div(2)
    return torch.digamma(x.unsqueeze(-1) - halves.expand(x.shape + (-1,))).sum(-1)


def _clamp_above_eps(x: Tensor) -> Tensor:
    return x.clamp(min=torch.finfo(x.dtype).eps)


class Wishart(ExponentialFamily):
    """Sums of ``df`` outer products of centred normal vectors with themselves.

    Their covariance, its inverse or its Cholesky factor is given: exactly one of them.

    Args:
        df: more than the size of the matrices less 1.

    Source: S. Sawyer, "Wishart distributions and inverse-Wishart sampling", 2007, for Bartlett's
    decomposition.
    """

    support: Constraint = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0  # type: ignore[assignment]

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        """The matrices must be positive definite, and there must be enough degrees of freedom."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = {name: matrix for name, matrix in given.items() if matrix is not None}
        if len(given) != 1:
            raise AssertionError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        ((name, matrix),) = given.items()
        assert matrix is not None
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch "
                "dimensions"
            )
        if _all_numbers(df):
            batch_shape = torch.Size(matrix.shape[:-2])
            self.df = torch.tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch_shape = torch.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        event_shape = matrix.shape[-2:]
        if not constraints._holds(~self.df.le(event_shape[-1] - 1)):
            raise ValueError(
                f"Value of df={df} expected to be greater than ndim - 1 = {event_shape[-1] - 1}."
            )
        self.__dict__[name] = matrix.expand(batch_shape + (-1, -1))
        if not constraints._holds(~self.df.lt(event_shape[-1])):
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 "
                "< df < ndim.",
                stacklevel=outside(),
            )
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        if scale_tril is not None:
            self._unbroadcasted_scale_tril = scale_tril
        elif covariance_matrix is not None:
            self._unbroadcasted_scale_tril = torch.linalg.cholesky(covariance_matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)
        self._prepare(batch_shape)

    def _prepare(self, batch_shape: torch.Size) -> None:
        """Makes what sampling needs: the distributions of the squared diagonal of Bartlett's
        factor."""
        self._batch_dims = [-(x + 1) for x in range(len(batch_shape))]
        factor = self._unbroadcasted_scale_tril
        row = torch.arange(factor.shape[-1], dtype=factor.dtype, device=factor.device)
        self._dist_chi2 = Chi2(df=self.df.unsqueeze(-1) - row.expand(batch_shape + (-1,)))

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        ranks = {
            "_unbroadcasted_scale_tril": 2,
            "df": 0,
            "covariance_matrix": 2,
            "scale_tril": 2,
            "precision_matrix": 2,
        }
        new = self._expanded(Wishart, batch_shape, _instance, **ranks)
        Wishart._prepare(new, new._batch_shape)
        return new

    def _batched(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._batched(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance of the vectors."""
        factor = self._unbroadcasted_scale_tril
        return self._batched(factor @ factor.transpose(-2, -1))

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        factor = self._unbroadcasted_scale_tril
        identity = torch.eye(self._event_shape[-1], device=factor.device, dtype=factor.dtype)
        return self._batched(torch.cholesky_solve(identity, factor))

    def _scalar(self, x: Tensor) -> Tensor:
        return x.view(self._batch_shape + (1, 1))

    @property
    def mean(self) -> Tensor:
        return self._scalar(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        return self._scalar(factor.masked_fill(factor <= 0, nan)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        return self._scalar(self.df) * (
            covariance.pow(2) + torch.einsum("...i,...j->...ij", diagonal, diagonal)
        )

    def _bartlett_sampling(self, sample_shape: Sequence[int] = torch.Size()) -> Tensor:
        p = self._event_shape[-1]
        noise = _clamp_above_eps(self._dist_chi2.rsample(sample_shape).sqrt()).diag_embed(
            dim1=-2, dim2=-1
        )
        i, j = torch.tril_indices(p, p, offset=-1)
        below = torch.Size(sample_shape) + self._batch_shape + (p * (p - 1) // 2,)
        noise[..., i, j] = torch.randn(below, dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.transpose(-2, -1)

    def _over_batch(self, found: Tensor) -> Tensor:
        return found.amax(self._batch_dims) if self._batch_shape else found

    def rsample(
        self, sample_shape: Sequence[int] = torch.Size(), max_try_correction: int | None = None
    ) -> Tensor:
        """Samples; those that came out singular are drawn anew, at most ``max_try_correction``
        times (10 by default).

        PyTorch takes the regular ones among the first samples for singular, warns and draws them
        once more. So does this: the numbers are the same. Samples that JAX traces are drawn anew
        where they are singular, ``max_try_correction`` times (2 by default).
        """
        attempts = 10 if max_try_correction is None else max_try_correction
        sample_shape = torch.Size(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        regular = self.support.check(sample)
        if constraints._traced(regular):
            return self._redrawn(
                sample,
                self._over_batch(~regular),
                sample_shape,
                2 if max_try_correction is None else attempts,
            )
        is_singular = self._over_batch(regular)
        if is_singular.any():
            warnings.warn("Singular sample detected.", stacklevel=outside())
            for _ in range(attempts):
                fresh = self._bartlett_sampling(is_singular[is_singular].shape)
                sample[is_singular] = fresh
                still = self._over_batch(~self.support.check(fresh))
                is_singular[is_singular.clone()] = still
                if not is_singular.any():
                    break
        return sample

    def _redrawn(
        self, sample: Tensor, singular: Tensor, sample_shape: torch.Size, attempts: int
    ) -> Tensor:
        """Samples of which nobody can say which are singular: all are drawn anew, and those taken
        that are wanted."""
        for _ in range(attempts):
            fresh = self._bartlett_sampling(sample_shape)
            sample = torch.where(
                singular.reshape(sample_shape + (1,) * (sample.dim() - len(sample_shape))),
                fresh,
                sample,
            )
            singular = singular & self._over_batch(~self.support.check(fresh))
        return sample

    def _half_log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        trace = (
            torch.cholesky_solve(value, self._unbroadcasted_scale_tril)
            .diagonal(dim1=-2, dim2=-1)
            .sum(dim=-1)
        )
        density = (nu - p - 1) / 2 * torch.linalg.slogdet(value).logabsdet - trace / 2
        return density - nu * (p * _log_2 / 2 + self._half_log_det()) - torch.mvlgamma(nu / 2, p=p)

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        scale = (p + 1) * (p * _log_2 / 2 + self._half_log_det())
        return (
            scale
            + torch.mvlgamma(nu / 2, p=p)
            - (nu - p - 1) / 2 * _mvdigamma(nu / 2, p=p)
            + nu * p / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (-torch.linalg.slogdet(-2 * x).logabsdet + _log_2 * p) + torch.mvlgamma(
            half, p=p
        )
