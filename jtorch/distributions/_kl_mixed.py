"""Kullback-Leibler divergences of pairs from different families: the entropy of one, and its
moments in the other's log density.

``KL(p || q) = -H(p) - E_p[log q(x)]``, and the log densities here are sums of a few functions of
``x`` whose means are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jtorch as torch
from jtorch import Tensor, inf

from ._kl_table import _infinite_like, _x_log_x, register_kl
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform
from .utils import euler_constant

# ---- means under p -------------------------------------------------------------------------------


def _mean_log(p: Any) -> Tensor:
    """``E[log x]``."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -p.rate.log() - euler_constant
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return _uniform_mean_log(p.low, p.high)


def _uniform_mean_log(low: Tensor, high: Tensor) -> Tensor:
    width = high - low
    return (_x_log_x(high) - _x_log_x(low) - width) / width


def _mean_exp(p: Any, s: Tensor) -> Tensor:
    """``E[exp(-x / s)]``."""
    if isinstance(p, Exponential):
        product = p.rate * s
        return product / (product + 1)
    if isinstance(p, Gamma):
        return (1 + (p.rate * s).reciprocal()).pow(-p.concentration)
    if isinstance(p, Normal):
        return torch.exp(0.5 * (p.scale / s).pow(2) - p.loc / s)
    return s / (p.high - p.low) * (torch.exp(-p.low / s) - torch.exp(-p.high / s))


# ---- means of log q under p ----------------------------------------------------------------------


def _under_exponential(p: Any, q: Exponential) -> Tensor:
    return q.rate.log() - q.rate * p.mean


def _under_gamma(p: Any, q: Gamma) -> Tensor:
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    return (q.concentration - 1) * _mean_log(p) - q.rate * p.mean - normalizer


def _under_normal(p: Any, q: Normal) -> Tensor:
    squared = q.scale.pow(2)
    return (
        -0.5 * (2 * math.pi * squared).log()
        - 0.5 * (p.variance + (p.mean - q.loc).pow(2)) / squared
    )


def _under_gumbel(p: Any, q: Gumbel) -> Tensor:
    return (
        (q.loc - p.mean) / q.scale
        - torch.exp(q.loc / q.scale) * _mean_exp(p, q.scale)
        - q.scale.log()
    )


def _under_continuous_bernoulli(p: Any, q: ContinuousBernoulli) -> Tensor:
    return p.mean * q.logits + torch.log1p(-q.probs) + q._cont_bern_log_norm()


def _under_uniform(p: object, q: Uniform) -> Tensor:
    return -(q.high - q.low).log()


def _under_beta(p: Uniform, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    means = (a - 1) * _mean_log(p) + (b - 1) * _uniform_mean_log(1 - p.high, 1 - p.low)
    return means - (a.lgamma() + b.lgamma() - (a + b).lgamma())


def _under_pareto(p: Uniform, q: Pareto) -> Tensor:
    return (q.alpha * q.scale.pow(q.alpha)).log() - (q.alpha + 1) * _mean_log(p)


# ---- pairs ---------------------------------------------------------------------------------------


def _pair(
    kind_p: type,
    kind_q: type,
    mean: Callable[..., object],
    outside: Callable[..., object] | None = None,
) -> None:
    """Registers a pair.

    Args:
        mean: the mean of log q under p.
        outside: where p has samples that q has not (or its mean of them is infinite), so that the
            divergence is infinite.
    """

    @register_kl(kind_p, kind_q)
    def divergence(p: Any, q: object) -> Tensor:
        found = -p.entropy() - mean(p, q)
        return found if outside is None else found.masked_fill(outside(p, q), inf)


_pair(Beta, ContinuousBernoulli, _under_continuous_bernoulli)
_pair(Beta, Exponential, _under_exponential)
_pair(Beta, Gamma, _under_gamma)
_pair(Beta, Normal, _under_normal)
_pair(Beta, Uniform, _under_uniform, lambda p, q: (q.low > 0) | (q.high < 1))
_pair(ContinuousBernoulli, Exponential, _under_exponential)
_pair(ContinuousBernoulli, Normal, _under_normal)
# PyTorch calls it infinite too where the bounds are equal, and where only one of them is outside.
_pair(ContinuousBernoulli, Uniform, _under_uniform, lambda p, q: (q.low >= 0) | (q.high <= 1))
_pair(Exponential, Gamma, _under_gamma)
_pair(Exponential, Gumbel, _under_gumbel)
_pair(Exponential, Normal, _under_normal)
_pair(Gamma, Exponential, _under_exponential)
_pair(Gamma, Gumbel, _under_gumbel)
_pair(Gamma, Normal, _under_normal)
_pair(Gumbel, Normal, _under_normal)
_pair(Laplace, Normal, _under_normal)
_pair(Normal, Gumbel, _under_gumbel)
_pair(Pareto, Exponential, _under_exponential, lambda p, q: p.alpha <= 1)
_pair(Pareto, Gamma, _under_gamma, lambda p, q: p.alpha <= 1)
_pair(Pareto, Normal, _under_normal, lambda p, q: p.alpha <= 2)
_pair(Uniform, Beta, _under_beta, lambda p, q: (p.high > 1) | (p.low < 0))
_pair(
    Uniform,
    ContinuousBernoulli,
    _under_continuous_bernoulli,
    lambda p, q: (p.high >= 1) | (p.low <= 0),
)
_pair(Uniform, Exponential, _under_exponential, lambda p, q: p.low < 0)
_pair(Uniform, Gamma, _under_gamma, lambda p, q: p.low < 0)
_pair(Uniform, Gumbel, _under_gumbel)
_pair(Uniform, Normal, _under_normal)
_pair(Uniform, Pareto, _under_pareto, lambda p, q: p.low < q.scale)


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p: Normal, q: Laplace) -> Tensor:
    """The mean distance from q's centre is that of a folded normal number."""
    apart = p.loc - q.loc
    relative = apart / p.scale
    distance = math.sqrt(2 / math.pi) * p.scale * torch.exp(
        -0.5 * relative.pow(2)
    ) + apart * torch.erf(math.sqrt(0.5) * relative)
    return distance / q.scale - torch.log(p.scale / q.scale) - 0.5 * (1 + math.log(0.5 * math.pi))


#: Pairs whose first has samples where the second has none: infinite, of the shape of the parameter
#: named.
_DISJOINT = {
    (Beta, "concentration1"): (Pareto,),
    (ContinuousBernoulli, "probs"): (Pareto,),
    (Exponential, "rate"): (Beta, ContinuousBernoulli, Pareto, Uniform),
    (Gamma, "concentration"): (Beta, ContinuousBernoulli, Pareto, Uniform),
    (Gumbel, "loc"): (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    (Laplace, "loc"): (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    (Normal, "loc"): (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    (Pareto, "scale"): (Beta, ContinuousBernoulli, Uniform),
    (Poisson, "rate"): (Bernoulli, Binomial),
}


def _register_disjoint(kind_p: type, parameter: str, kinds_q: tuple[type, ...]) -> None:
    def divergence(p: object, q: object) -> Tensor:
        return _infinite_like(getattr(p, parameter))

    for kind_q in kinds_q:
        register_kl(kind_p, kind_q)(divergence)


for (_kind, _parameter), _others in _DISJOINT.items():
    _register_disjoint(_kind, _parameter, _others)
