"""Mixtures, transforms, constraints, errors and samplers of distributions against PyTorch's."""

# ruff: noqa: B023 (what is made in a loop is called in it)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from distribution_cases import LOC, PROBS, SCALE, compare, covariance, outcome, torch

import jtorch

pytestmark = pytest.mark.parity

# ---- mixtures and transforms ---------------------------------------------------------------------


def _composites(T: Any) -> dict[str, Any]:
    D = T.distributions
    loc, scale, probs = (T.tensor(x.tolist(), dtype=T.float64) for x in (LOC, SCALE, PROBS))
    one = T.tensor(0.5, dtype=T.float64)
    return {
        "mixture": D.MixtureSameFamily(D.Categorical(probs), D.Normal(loc, scale)),
        "mixture of vectors": D.MixtureSameFamily(
            D.Categorical(probs[0, :2]), D.Independent(D.Normal(loc, scale), 1)
        ),
        "independent": D.Independent(D.Bernoulli(probs), 1),
        "affine": D.TransformedDistribution(D.Normal(loc, scale), D.AffineTransform(one, -one)),
        "logistic": D.TransformedDistribution(
            D.Uniform(one * 0, one * 2), [D.SigmoidTransform().inv, D.AffineTransform(1.0, 2.0)]
        ),
        "tanh": D.TransformedDistribution(
            D.Independent(D.Normal(loc, scale), 1), [D.TanhTransform(cache_size=1)]
        ),
        "stick": D.TransformedDistribution(D.Normal(loc, scale), D.StickBreakingTransform()),
        "power": D.TransformedDistribution(
            D.Exponential(scale), [D.PowerTransform(one), D.AffineTransform(loc, scale)]
        ),
        "empty": D.TransformedDistribution(D.Normal(loc, scale), []),
        "reshape": D.TransformedDistribution(
            D.Independent(D.Normal(loc, scale), 2), D.ReshapeTransform((2, 3), (6,))
        ),
        "spline": D.TransformedDistribution(
            D.Normal(loc, scale), D.CumulativeDistributionTransform(D.Normal(one * 0, one))
        ),
    }


@pytest.mark.parametrize("name", list(_composites(torch)))
def test_composites(name: str) -> None:
    pair = [_composites(T)[name] for T in (torch, jtorch)]
    for method in ("sample", "rsample"):
        torch.manual_seed(1)
        jtorch.manual_seed(1)
        compare(lambda d: getattr(d, method)((3,)), pair, 1e-12, 1e-13, method)
    torch.manual_seed(1)
    value = pair[0].sample((3,))
    values = {id(pair[0]): value, id(pair[1]): jtorch.tensor(value.tolist(), dtype=jtorch.float64)}
    for method in ("log_prob", "cdf", "icdf"):
        compare(lambda d: getattr(d, method)(values[id(d)]), pair, 1e-8, 1e-9, method)
    for attribute in ("mean", "variance", "mode", "has_rsample", "batch_shape", "event_shape"):
        compare(lambda d: getattr(d, attribute), pair, 1e-9, 1e-10, attribute)
    compare(repr, pair, 0, 0, "repr")
    compare(lambda d: repr(d.support), pair, 0, 0, "support")
    wide = [d.expand((5, *d.batch_shape)) for d in pair]
    values = {
        id(wide[0]): values[id(pair[0])].unsqueeze(1),
        id(wide[1]): values[id(pair[1])].unsqueeze(1),
    }
    compare(lambda d: d.log_prob(values[id(d)]), wide, 1e-8, 1e-9, "log_prob of expanded")


def _transforms(T: Any) -> dict[str, Any]:
    D = T.distributions
    t = D.transforms
    return {
        "Exp": t.ExpTransform(),
        "Abs": t.AbsTransform(),
        "Affine": t.AffineTransform(1.0, -2.0),
        "AffineVector": t.AffineTransform(
            T.tensor([1.0, 2.0, 3.0]), T.tensor([-1.0, 2.0, 0.5]), event_dim=1
        ),
        "Sigmoid": t.SigmoidTransform(),
        "Tanh": t.TanhTransform(),
        "Softplus": t.SoftplusTransform(),
        "Softmax": t.SoftmaxTransform(),
        "StickBreaking": t.StickBreakingTransform(),
        "CorrCholesky": t.CorrCholeskyTransform(),
        "Independent": t.IndependentTransform(t.ExpTransform(), 1),
        "Compose": t.ComposeTransform(
            [t.AffineTransform(0.5, 2.0), t.SigmoidTransform(), t.PowerTransform(T.tensor(2.0))]
        ),
        "Identity": t.identity_transform,
        "Inverse": t.TanhTransform().inv.inv.inv.inv,
        "Cat": t.CatTransform([t.ExpTransform(), t.SigmoidTransform()], dim=-1, lengths=[1, 2]),
        "Stack": t.StackTransform(
            [t.ExpTransform(), t.SigmoidTransform(), t.identity_transform], dim=-1
        ),
        "Reshape": t.ReshapeTransform((3,), (3, 1)),
        "LowerCholesky": t.LowerCholeskyTransform(),
        "PositiveDefinite": t.PositiveDefiniteTransform(),
        "CDF": t.CumulativeDistributionTransform(D.Normal(0.0, 1.0)),
    }


@pytest.mark.parametrize("name", list(_transforms(torch)))
def test_transforms(name: str) -> None:
    pair = [_transforms(T)[name] for T in (torch, jtorch)]
    x = np.random.RandomState(0).randn(2, 3, 3).astype(np.float32)
    given = {id(pair[0]): torch.from_numpy(x), id(pair[1]): jtorch.from_numpy(x)}
    compare(lambda t: t(given[id(t)]), pair, 1e-5, 1e-5, "call")
    compare(lambda t: t.inv(t(given[id(t)])), pair, 1e-4, 1e-4, "inverse")
    compare(
        lambda t: t.log_abs_det_jacobian(given[id(t)], t(given[id(t)])),
        pair,
        1e-4,
        1e-4,
        "jacobian",
    )
    for attribute in ("sign", "bijective", "domain", "codomain", "event_dim"):
        compare(lambda t: getattr(t, attribute), pair, 0, 0, attribute)
        if attribute != "event_dim":
            compare(lambda t: getattr(t.inv, attribute), pair, 0, 0, f"{attribute} of the inverse")
    compare(repr, pair, 0, 0, "repr")
    compare(lambda t: repr(t.inv), pair, 0, 0, "repr of the inverse")
    for shape in ((), (2,), (2, 3), (3, 3)):
        compare(
            lambda t: tuple(t.forward_shape(type(given[id(t)].shape)(shape))),
            pair,
            0,
            0,
            f"forward_shape{shape}",
        )
        compare(
            lambda t: tuple(t.inverse_shape(type(given[id(t)].shape)(shape))),
            pair,
            0,
            0,
            f"inverse_shape{shape}",
        )
    cached = [outcome(lambda t=t: t.with_cache(1)) for t in pair]
    assert type(cached[0]).__name__ == type(cached[1]).__name__
    compare(lambda t: t == t.with_cache(1), pair, 0, 0, "equality")


def _constraints(T: Any) -> dict[str, Any]:
    c = T.distributions.constraints
    plain = [
        name
        for name in c.__all__
        if isinstance(getattr(c, name), c.Constraint) and name != "dependent"
    ]
    made = {name: getattr(c, name) for name in plain}
    made |= {
        "greater_than": c.greater_than(0.5),
        "greater_than_eq": c.greater_than_eq(1.0),
        "less_than": c.less_than(0.5),
        "interval": c.interval(-1.0, 0.5),
        "half_open_interval": c.half_open_interval(-1.0, 1.0),
        "integer_interval": c.integer_interval(0, 1),
        "multinomial": c.multinomial(3),
        "independent": c.independent(c.positive, 1),
        "cat": c.cat([c.positive, c.real], dim=-1, lengths=[1, 2]),
        "stack": c.stack([c.positive, c.real, c.boolean], dim=-1),
        "mixture": c.MixtureSameFamilyConstraint(c.positive),
        "less": c._IntegerLessThan(2),
        "dependent": c.dependent,
    }
    return made


_MATRICES = np.stack(
    [
        np.eye(3),
        np.tril(np.ones((3, 3))),
        np.zeros((3, 3)),
        covariance(),
        -np.eye(3),
        np.linalg.cholesky(covariance()),
        np.full((3, 3), 1 / 3),
    ]
).astype(np.float32)


@pytest.mark.parametrize("name", list(_constraints(torch)))
def test_constraints(name: str) -> None:
    pair = [_constraints(T)[name] for T in (torch, jtorch)]
    given = {id(pair[0]): torch.from_numpy(_MATRICES), id(pair[1]): jtorch.from_numpy(_MATRICES)}
    compare(lambda c: c.check(given[id(c)]), pair, 0, 0, "check")
    for attribute in ("is_discrete", "event_dim"):
        compare(lambda c: getattr(c, attribute), pair, 0, 0, attribute)
    compare(repr, pair, 0, 0, "repr")
    for registry in ("biject_to", "transform_to"):
        found = [
            outcome(lambda T=T, c=c: repr(getattr(T.distributions, registry)(c)))
            for T, c in zip((torch, jtorch), pair, strict=True)
        ]
        assert str(found[0]) == str(found[1])


# ---- errors --------------------------------------------------------------------------------------

_ERRORS: dict[str, Callable[[Any], Any]] = {
    "bad parameter": lambda T: T.distributions.Normal(T.tensor([0.0, 1.0]), T.tensor([1.0, -1.0])),
    "bad number": lambda T: T.distributions.Normal(0.0, -1.0),
    "not a number": lambda T: T.distributions.Normal(float("nan"), 1.0),
    "bad simplex": lambda T: T.distributions.Dirichlet(T.tensor([[1.0, -1.0]])),
    "bad probability": lambda T: T.distributions.Bernoulli(T.tensor([0.1, 1.5])),
    "bad bounds": lambda T: T.distributions.Uniform(T.tensor(1.0), T.tensor(0.0)),
    "bad covariance": lambda T: T.distributions.MultivariateNormal(
        T.zeros(2), T.tensor([[1.0, 2.0], [2.0, 1.0]])
    ),
    "bad value": lambda T: T.distributions.Gamma(1.0, 1.0).log_prob(T.tensor([-1.0])),
    "not a tensor": lambda T: T.distributions.Normal(0.0, 1.0).log_prob(1.0),
    "bad event": lambda T: T.distributions.Dirichlet(T.ones(3)).log_prob(T.ones(2)),
    "bad batch": lambda T: T.distributions.Normal(T.zeros(3), T.ones(3)).log_prob(T.ones(2)),
    "bad integer": lambda T: T.distributions.Poisson(1.0).log_prob(T.tensor(0.5)),
    "out of range": lambda T: T.distributions.Categorical(T.ones(3)).log_prob(T.tensor(3)),
    "both": lambda T: T.distributions.Bernoulli(T.tensor(0.5), T.tensor(0.5)),
    "neither": lambda T: T.distributions.Categorical(),
    "scalar": lambda T: T.distributions.Categorical(T.tensor(0.5)),
    "scalar logits": lambda T: T.distributions.Categorical(logits=T.tensor(0.5)),
    "scalar concentration": lambda T: T.distributions.Dirichlet(T.tensor(0.5)),
    "string": lambda T: T.distributions.Normal("0", 1.0),
    "total count": lambda T: T.distributions.Multinomial(T.tensor([1, 2]), T.ones(2)),
    "too many batch dimensions": lambda T: T.distributions.Independent(
        T.distributions.Normal(0.0, 1.0), 1
    ),
    "three matrices": lambda T: T.distributions.MultivariateNormal(T.zeros(2), T.eye(2), T.eye(2)),
    "scalar loc": lambda T: T.distributions.MultivariateNormal(T.tensor(0.0), T.eye(2)),
    "one-dimensional factor": lambda T: T.distributions.MultivariateNormal(
        T.zeros(2), scale_tril=T.ones(2)
    ),
    "low rank": lambda T: T.distributions.LowRankMultivariateNormal(
        T.zeros(3), T.ones(2, 1), T.ones(3)
    ),
    "low rank batches": lambda T: T.distributions.LowRankMultivariateNormal(
        T.zeros(2, 3), T.ones(4, 3, 1), T.ones(3)
    ),
    "dimension": lambda T: T.distributions.LKJCholesky(1),
    "degrees of freedom": lambda T: T.distributions.Wishart(1.0, T.eye(3)),
    "zero probability": lambda T: T.distributions.Geometric(T.tensor([0.0, 0.5])),
    "no mixture": lambda T: T.distributions.MixtureSameFamily(
        T.distributions.Normal(0.0, 1.0), T.distributions.Normal(T.zeros(2), T.ones(2))
    ),
    "mixture sizes": lambda T: T.distributions.MixtureSameFamily(
        T.distributions.Categorical(T.ones(3)), T.distributions.Normal(T.zeros(2), T.ones(2))
    ),
    "mixture batches": lambda T: T.distributions.MixtureSameFamily(
        T.distributions.Categorical(T.ones(3, 2)),
        T.distributions.Normal(T.zeros(4, 2), T.ones(4, 2)),
    ),
    "transforms": lambda T: T.distributions.TransformedDistribution(
        T.distributions.Normal(0.0, 1.0), "exp"
    ),
    "list of transforms": lambda T: T.distributions.TransformedDistribution(
        T.distributions.Normal(0.0, 1.0), ["exp"]
    ),
    "too few dimensions": lambda T: T.distributions.TransformedDistribution(
        T.distributions.Normal(0.0, 1.0), T.distributions.StickBreakingTransform()
    ),
    "cache size": lambda T: T.distributions.ExpTransform(cache_size=2),
    "no expand": lambda T: type(
        "Mine", (T.distributions.Normal,), {"__init__": lambda self: None}
    )().expand((2,)),
    "inhomogeneous": lambda T: T.distributions.Binomial(
        T.tensor([1.0, 2.0]), T.tensor(0.5)
    ).enumerate_support(),
    "cartesian": lambda T: T.distributions.Independent(
        T.distributions.Bernoulli(T.ones(2) / 2), 1
    ).enumerate_support(),
    "divergence": lambda T: T.distributions.kl_divergence(
        T.distributions.Normal(0.0, 1.0), T.distributions.Cauchy(0.0, 1.0)
    ),
    "vectors of other sizes": lambda T: T.distributions.kl_divergence(
        T.distributions.MultivariateNormal(T.zeros(2), T.eye(2)),
        T.distributions.MultivariateNormal(T.zeros(3), T.eye(3)),
    ),
    "registry": lambda T: T.distributions.biject_to(T.distributions.constraints.lower_cholesky),
    "register": lambda T: T.distributions.biject_to.register(3, lambda c: c),
    "default": lambda T: T.distributions.Distribution.set_default_validate_args("yes"),
    "no support": lambda T: T.distributions.Distribution(validate_args=False).support,
    "sum": lambda T: T.distributions.constraints.independent(
        T.distributions.constraints.real, 2
    ).check(T.zeros(3)),
    "triangle": lambda T: T.distributions.utils.vec_to_tril_matrix(T.zeros(4)).tolist(),
    "diagonal": lambda T: T.distributions.utils.tril_matrix_to_vec(T.zeros(2, 2), 4),
    "poisson": lambda T: T.poisson(T.tensor([-1.0])),
    "poisson dtype": lambda T: T.poisson(T.tensor([1])),
    "binomial dtype": lambda T: T.binomial(T.tensor([1.0]), T.tensor([0.5], dtype=T.float64)),
    "gamma dtype": lambda T: T._standard_gamma(T.tensor([1])),
}


@pytest.mark.parametrize("name", list(_ERRORS))
def test_errors(name: str) -> None:
    theirs, ours = (outcome(lambda T=T: _ERRORS[name](T)) for T in (torch, jtorch))
    assert isinstance(theirs, Exception), "PyTorch raises nothing"
    assert type(ours).__name__ == type(theirs).__name__, ours
    # where an error was found later, it says what raised it
    assert str(ours).partition(" (in ")[0] == str(theirs)


def test_validation_can_be_turned_off() -> None:
    for T in (torch, jtorch):
        d = T.distributions.Normal(0.0, -1.0, validate_args=False)
        assert T.isnan(d.log_prob(T.tensor(0.0)))
        T.distributions.Distribution.set_default_validate_args(False)
        try:
            T.distributions.Normal(0.0, -1.0)
        finally:
            T.distributions.Distribution.set_default_validate_args(True)


# ---- samplers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["_standard_gamma", "_sample_dirichlet", "poisson", "binomial"])
def test_samplers_give_the_same_numbers(name: str, dtype: str) -> None:
    rng = np.random.RandomState(1)
    x = (rng.rand(3000) ** 3 * 40).astype(dtype).reshape(-1, 10)
    operands = (np.floor(x * 8), rng.rand(*x.shape).astype(dtype)) if name == "binomial" else (x,)
    for turned in (False, True):
        found = []
        for T in (torch, jtorch):
            T.manual_seed(11)
            given = [T.from_numpy(o) for o in operands]
            found.append(
                [
                    getattr(T, name)(*(g.T if turned else g for g in given)).numpy(),
                    T.rand(1).numpy(),
                ]
            )
        # The sum of Dirichlet shares may round otherwise.
        np.testing.assert_allclose(
            found[1][0], found[0][0], rtol=1e-15 if name == "_sample_dirichlet" else 0
        )
        np.testing.assert_array_equal(found[1][1], found[0][1])


def test_gradients_of_samples() -> None:
    rng = np.random.RandomState(0)
    a, b = np.exp(rng.randn(2, 4000) * 2.5)
    x = torch._standard_gamma(torch.from_numpy(a)).numpy()
    theirs, ours = (
        T._standard_gamma_grad(T.from_numpy(a), T.from_numpy(x)).numpy() for T in (torch, jtorch)
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)
    x = torch._sample_dirichlet(torch.from_numpy(np.stack([a, b], -1))).numpy()[:, 0]
    x = np.ascontiguousarray(x)
    theirs, ours = (
        T._dirichlet_grad(*map(T.from_numpy, (x, a, a + b))).numpy() for T in (torch, jtorch)
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)
