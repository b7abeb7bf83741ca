"""Distributions on their own: samples agree with densities, gradients with differences, and
programs derive their own."""

from __future__ import annotations

import doctest
import importlib
import pickle
import pkgutil
from typing import Any

import numpy as np
import pytest

import jtorch as torch
import jtorch.distributions as D
from jtorch.distributions import constraints


def _one(x: float) -> torch.Tensor:
    return torch.tensor(x, dtype=torch.float64)


CONTINUOUS = {
    "Beta": lambda: D.Beta(_one(2.0), _one(3.0)),
    "ContinuousBernoulli": lambda: D.ContinuousBernoulli(_one(0.2)),
    "Exponential": lambda: D.Exponential(_one(1.5)),
    "Gamma": lambda: D.Gamma(_one(2.5), _one(1.5)),
    "Gumbel": lambda: D.Gumbel(_one(0.5), _one(0.7)),
    "HalfNormal": lambda: D.HalfNormal(_one(1.5)),
    "InverseGamma": lambda: D.InverseGamma(_one(8.0), _one(3.0)),
    "Kumaraswamy": lambda: D.Kumaraswamy(_one(2.0), _one(3.0)),
    "Laplace": lambda: D.Laplace(_one(0.5), _one(0.7)),
    "LogNormal": lambda: D.LogNormal(_one(0.1), _one(0.3)),
    "Normal": lambda: D.Normal(_one(-1.0), _one(0.7)),
    "Uniform": lambda: D.Uniform(_one(-1.0), _one(0.7)),
    "Weibull": lambda: D.Weibull(_one(1.0), _one(1.7)),
}


@pytest.mark.parametrize("name", list(CONTINUOUS))
def test_samples_have_the_moments_that_are_claimed(name: str) -> None:
    torch.manual_seed(0)
    d = CONTINUOUS[name]()
    x = d.sample((4000,)).numpy()
    error = float(d.stddev) / np.sqrt(len(x))
    assert abs(x.mean() - float(d.mean)) < 4 * error
    assert abs(x.std() / float(d.stddev) - 1) < 0.15


@pytest.mark.parametrize("name", list(CONTINUOUS))
def test_densities_integrate_to_one(name: str) -> None:
    d = CONTINUOUS[name]()
    torch.manual_seed(0)
    x = d.sample((2000,))
    low, high = float(x.min()), float(x.max())
    grid = torch.linspace(low, high, 4001, dtype=torch.float64)
    assert abs(float(torch.trapezoid(d.log_prob(grid).exp(), grid)) - 1) < 0.02


@pytest.mark.parametrize("name", ["Gamma", "Beta"])
def test_gradients_of_samples_are_those_of_the_mean(name: str) -> None:
    """The mean of many samples' derivatives is the derivative of the mean."""
    torch.manual_seed(0)
    a = torch.tensor([0.5, 3.0, 20.0], dtype=torch.float64, requires_grad=True)
    b = torch.full((3,), 2.0, dtype=torch.float64)
    d = D.Gamma(a, b) if name == "Gamma" else D.Beta(a, b)
    (found,) = torch.autograd.grad(d.rsample((3000,)).mean(0).sum(), a)
    (expected,) = torch.autograd.grad(d.mean.sum(), a)
    assert torch.allclose(found, expected, rtol=0.15)


def test_discrete_probabilities_sum_to_one() -> None:
    for d in (
        D.Bernoulli(_one(0.3)),
        D.Binomial(9, _one(0.3)),
        D.Categorical(torch.ones(4)),
        D.OneHotCategorical(torch.ones(4)),
    ):
        assert abs(float(d.log_prob(d.enumerate_support()).exp().sum()) - 1) < 1e-6
    counts = torch.arange(60.0)
    for d in (D.Poisson(7.0), D.Geometric(0.4), D.NegativeBinomial(3.0, torch.tensor(0.4))):
        assert abs(float(d.log_prob(counts).exp().sum()) - 1) < 1e-5


def test_the_same_seed_gives_the_same_numbers() -> None:
    for d in (
        D.Gamma(2.0, 1.0),
        D.Poisson(30.0),
        D.Binomial(100, torch.tensor(0.4)),
        D.VonMises(0.0, 2.0),
    ):
        torch.manual_seed(4)
        first = d.sample((5,)).tolist()
        after = torch.rand(1).item()
        torch.manual_seed(4)
        assert d.sample((5,)).tolist() == first
        assert torch.rand(1).item() == after


def test_known_numbers() -> None:
    """The numbers that PyTorch draws on a CPU for this seed."""
    torch.manual_seed(0)
    assert torch.poisson(torch.tensor([0.5, 4.0, 100.0])).tolist() == [2.0, 5.0, 94.0]
    torch.manual_seed(0)
    assert torch.binomial(torch.tensor([10.0, 100.0]), torch.tensor([0.5, 0.9])).tolist() == [
        7.0,
        89.0,
    ]
    torch.manual_seed(0)
    assert torch._standard_gamma(torch.tensor([0.5, 3.0])).tolist() == [
        0.0007893581641837955,
        1.2728434801101685,
    ]


def test_random_words_are_given_back() -> None:
    """What a rejection sampler drew in advance and did not need is drawn again by the next one."""
    generator = torch.Generator().manual_seed(1)
    pieces = [torch.poisson(torch.tensor([20.0]), generator=generator).item() for _ in range(20)]
    generator = torch.Generator().manual_seed(1)
    assert torch.poisson(torch.full((20,), 20.0), generator=generator).tolist() == pieces


def test_a_distribution_of_ones_own() -> None:
    class Triangle(D.Distribution):
        arg_constraints: Any = {"width": constraints.positive}
        has_rsample = True

        def __init__(self, width: torch.Tensor, validate_args: bool | None = None) -> None:
            self.width = width
            super().__init__(width.shape, validate_args=validate_args)

        @constraints.dependent_property(is_discrete=False, event_dim=0)
        def support(self) -> Any:
            return constraints.interval(0.0, self.width)

        def rsample(self, sample_shape: Any = ()) -> torch.Tensor:
            return self.width * torch.rand(self._extended_shape(sample_shape)).sqrt()

        def log_prob(self, value: torch.Tensor) -> torch.Tensor:
            if self._validate_args:
                self._validate_sample(value)
            return torch.log(2 * value / self.width**2)

    d = Triangle(torch.tensor([1.0, 2.0]))
    assert d.sample((3,)).shape == (3, 2)
    assert repr(d) == "Triangle(width: torch.Size([2]))"
    with pytest.raises(ValueError, match="within the support"):
        d.log_prob(torch.tensor(1.5))
    with pytest.raises(ValueError, match="Expected parameter width"):
        Triangle(torch.tensor(-1.0))
    with pytest.raises(NotImplementedError):
        d.expand((3, 2))
    shifted = D.TransformedDistribution(d, D.AffineTransform(1.0, 2.0))
    assert torch.allclose(
        shifted.log_prob(torch.tensor([2.0, 3.0])), d.log_prob(torch.tensor([0.5, 1.0])) - np.log(2)
    )


def test_divergences_of_ones_own() -> None:
    class Special(D.Normal):
        pass

    @D.register_kl(Special, D.Normal)
    def special(p: Any, q: Any) -> torch.Tensor:
        return torch.tensor(7.0)

    try:
        assert D.kl_divergence(Special(0.0, 1.0), D.Normal(0.0, 1.0)) == 7
        assert D.kl_divergence(D.Normal(0.0, 1.0), Special(0.0, 1.0)) == 0
        with pytest.raises(TypeError, match="Expected type_p"):
            D.register_kl(3, D.Normal)  # type: ignore[arg-type]

        @D.register_kl(D.Normal, Special)
        def other(p: Any, q: Any) -> torch.Tensor:
            return torch.tensor(8.0)

        with pytest.warns(RuntimeWarning, match=r"Ambiguous kl_divergence\(Special, Special\)"):
            assert D.kl_divergence(Special(0.0, 1.0), Special(0.0, 1.0)) == 7
    finally:
        for pair in ((Special, D.Normal), (D.Normal, Special)):
            D.kl._KL_REGISTRY.pop(pair, None)
        D.kl._KL_MEMOIZE.clear()


def test_lazy_attributes_have_history() -> None:
    probs = torch.tensor([0.2, 0.8], requires_grad=True)
    d = D.Categorical(probs)
    with torch.no_grad():
        d.logits  # who reads it first does not decide
    d.logits[0].backward()
    assert probs.grad is not None
    with pytest.raises(AttributeError):
        D.Normal(0.0, 1.0).probs


def test_caches_give_back_what_went_in() -> None:
    t = D.TanhTransform(cache_size=1)
    x = torch.tensor(20.0)
    assert t.inv(t(x)) is x
    assert not torch.isfinite(D.TanhTransform().inv(D.TanhTransform()(x)))
    again = pickle.loads(pickle.dumps(D.AffineTransform(1.0, 2.0)))
    assert again == D.AffineTransform(1.0, 2.0)


def test_gradients_flow_through_transformed_samples() -> None:
    loc = torch.zeros(2, requires_grad=True)
    d = D.TransformedDistribution(
        D.Independent(D.Normal(loc, torch.ones(2)), 1), [D.TanhTransform()]
    )
    torch.manual_seed(0)
    x = d.rsample()
    d.log_prob(x.detach() * 0.5).backward()
    assert torch.isfinite(loc.grad).all() and (loc.grad != 0).any()


def test_examples_in_docstrings() -> None:
    names = [name for _, name, _ in pkgutil.iter_modules(D.__path__, "jtorch.distributions.")]
    for name in [*names, "jtorch._src.composites.rejection"]:
        assert doctest.testmod(importlib.import_module(name)).failed == 0, name
