"""Kullback-Leibler divergences of pairs from one family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import Tensor, inf
from jtorch.nn.functional import softplus

from ._kl_table import _batch_trace_XXT, kl_divergence, register_kl
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal, _batch_lowrank_mahalanobis
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, euler_constant

if TYPE_CHECKING:
    from .distribution import Distribution


__all__ = [
    "_kl_bernoulli_bernoulli",
    "_kl_beta_beta",
    "_kl_binomial_binomial",
    "_kl_categorical_categorical",
    "_kl_cauchy_cauchy",
    "_kl_continuous_bernoulli_continuous_bernoulli",
    "_kl_dirichlet_dirichlet",
    "_kl_expfamily_expfamily",
    "_kl_exponential_exponential",
    "_kl_gamma_gamma",
    "_kl_geometric_geometric",
    "_kl_gumbel_gumbel",
    "_kl_halfnormal_halfnormal",
    "_kl_independent_independent",
    "_kl_laplace_laplace",
    "_kl_lowrankmultivariatenormal_lowrankmultivariatenormal",
    "_kl_lowrankmultivariatenormal_multivariatenormal",
    "_kl_multivariatenormal_lowrankmultivariatenormal",
    "_kl_multivariatenormal_multivariatenormal",
    "_kl_normal_normal",
    "_kl_onehotcategorical_onehotcategorical",
    "_kl_pareto_pareto",
    "_kl_poisson_poisson",
    "_kl_transformed_transformed",
    "_kl_uniform_uniform",
]

# ---- general -------------------------------------------------------------------------------------


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """The Bregman divergence of the log normaliser."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families "
            "cannot                             be computed using Bregman divergences"
        )
    mine = [parameter.detach().requires_grad_() for parameter in p._natural_params]
    its = q._natural_params
    normalizer = p._log_normalizer(*mine)
    means = torch.autograd.grad(normalizer.sum(), mine, create_graph=True)
    result = q._log_normalizer(*its) - normalizer
    for a, b, mean in zip(mine, its, means, strict=True):
        result = result - _sum_rightmost((b - a) * mean, len(q.event_shape))
    return result


@register_kl(Independent, Independent)
def _kl_independent_independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    """The same transforms change nothing."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


# ---- discrete ------------------------------------------------------------------------------------


def _weighed(weight: Tensor, difference: Tensor, q_probs: Tensor) -> Tensor:
    """``weight * difference``, nothing where the weight is 0, and infinite where only q's
    probability is."""
    found = (weight * difference).masked_fill(q_probs == 0, inf)
    return found.masked_fill(weight == 0, 0)


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    hit = _weighed(p.probs, softplus(-q.logits) - softplus(-p.logits), q.probs)
    return hit + _weighed(1 - p.probs, softplus(q.logits) - softplus(p.logits), 1 - q.probs)


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    one = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return (p.total_count * one).masked_fill(p.total_count > q.total_count, inf)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p: Categorical, q: Categorical) -> Tensor:
    return _weighed(p.probs, p.logits - q.logits, q.probs).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


# ---- continuous, of numbers ----------------------------------------------------------------------


@register_kl(Beta, Beta)
def _kl_beta_beta(p: Beta, q: Beta) -> Tensor:
    pa, pb, qa, qb = p.concentration1, p.concentration0, q.concentration1, q.concentration0
    pn, qn = pa + pb, qa + qb
    normalizers = (
        qa.lgamma() + qb.lgamma() + pn.lgamma() - (pa.lgamma() + pb.lgamma() + qn.lgamma())
    )
    return (
        normalizers
        + (pa - qa) * torch.digamma(pa)
        + (pb - qb) * torch.digamma(pb)
        + (qn - pn) * torch.digamma(pn)
    )


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (
        4 * p.scale * q.scale
    ).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(
    p: ContinuousBernoulli, q: ContinuousBernoulli
) -> Tensor:
    normalizers = (
        p._cont_bern_log_norm()
        + torch.log1p(-p.probs)
        - q._cont_bern_log_norm()
        - torch.log1p(-q.probs)
    )
    return p.mean * (p.logits - q.logits) + normalizers


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    scales = b * (p.rate / q.rate).log() + (q.rate - p.rate) * (a / p.rate)
    return scales + torch.lgamma(b) - torch.lgamma(a) + (a - b) * torch.digamma(a)


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio = p.scale / q.scale
    shift = q.loc / q.scale - p.loc / q.scale
    return (
        torch.exp(shift + (1 + ratio).lgamma())
        - shift
        - ratio.log()
        + ratio * euler_constant
        - (1 + euler_constant)
    )


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return distance / q.scale + ratio * torch.exp(-distance / p.scale) - ratio.log() - 1


@register_kl(Normal, Normal)
def _kl_normal_normal(p: Normal, q: Normal) -> Tensor:
    variances = (p.scale / q.scale).pow(2)
    return 0.5 * (variances + ((p.loc - q.loc) / q.scale).pow(2) - 1 - variances.log())


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return found.masked_fill(p.scale < q.scale, inf)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p: Uniform, q: Uniform) -> Tensor:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return found.masked_fill((q.low > p.low) | (q.high < p.high), inf)


# ---- continuous, of vectors ----------------------------------------------------------------------


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    normalizers = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return normalizers + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


def _same_events(p: Distribution, q: Distribution, kind: str) -> int:
    """The size of the vectors of both."""
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between two {kind} with                          different event "
            "shapes cannot be computed"
        )
    return p.event_shape[0]


def _solved(q: Any, *factors: Tensor) -> list[Tensor]:
    """Matrices solved by the Cholesky factor of ``q``, batches broadcast."""
    batch = torch.broadcast_shapes(q._unbroadcasted_scale_tril.shape[:-2], factors[0].shape[:-2])
    lower = q._unbroadcasted_scale_tril.expand(batch + q._unbroadcasted_scale_tril.shape[-2:])
    return [
        torch.linalg.solve_triangular(lower, f.expand(batch + f.shape[-2:]), upper=False)
        for f in factors
    ]


def _whitening(q: LowRankMultivariateNormal) -> Tensor:
    """``A`` for which the precision of the low-rank ``q`` is ``inv(D) - A.T @ A``."""
    scaled = q._unbroadcasted_cov_factor.mT / q._unbroadcasted_cov_diag.unsqueeze(-2)
    return torch.linalg.solve_triangular(q._capacitance_tril, scaled, upper=False)


def _lowrank_distance(p: Any, q: LowRankMultivariateNormal) -> Tensor:
    return _batch_lowrank_mahalanobis(
        q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, q.loc - p.loc, q._capacitance_tril
    )


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrankmultivariatenormal_lowrankmultivariatenormal(
    p: LowRankMultivariateNormal, q: LowRankMultivariateNormal
) -> Tensor:
    n, a = _same_events(p, q, "Low Rank Multivariate Normals"), _whitening(q)
    factor, diagonal = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    trace = (diagonal / q._unbroadcasted_cov_diag).sum(-1)
    trace = trace + _batch_trace_XXT(factor * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1))
    trace = (
        trace
        - _batch_trace_XXT(a * diagonal.sqrt().unsqueeze(-2))
        - _batch_trace_XXT(a.matmul(factor))
    )
    return 0.5 * (q._log_det() - p._log_det() + trace + _lowrank_distance(p, q) - n)


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrankmultivariatenormal(
    p: MultivariateNormal, q: LowRankMultivariateNormal
) -> Tensor:
    n, a = _same_events(p, q, "(Low Rank) Multivariate Normals"), _whitening(q)
    factor = p._unbroadcasted_scale_tril
    trace = _batch_trace_XXT(
        factor * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1)
    ) - _batch_trace_XXT(a.matmul(factor))
    return 0.5 * (q._log_det() - 2 * p._half_log_det() + trace + _lowrank_distance(p, q) - n)


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrankmultivariatenormal_multivariatenormal(
    p: LowRankMultivariateNormal, q: MultivariateNormal
) -> Tensor:
    n = _same_events(p, q, "(Low Rank) Multivariate Normals")
    parts = _solved(
        q, p._unbroadcasted_cov_factor, torch.diag_embed(p._unbroadcasted_cov_diag.sqrt())
    )
    trace = _batch_trace_XXT(parts[0]) + _batch_trace_XXT(parts[1])
    distance = _batch_mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)
    return 0.5 * (2 * q._half_log_det() - p._log_det() + trace + distance - n)


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(
    p: MultivariateNormal, q: MultivariateNormal
) -> Tensor:
    n = _same_events(p, q, "Multivariate Normals")
    trace = _batch_trace_XXT(_solved(q, p._unbroadcasted_scale_tril)[0])
    distance = _batch_mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)
    return q._half_log_det() - p._half_log_det() + 0.5 * (trace + distance - n)
