"""Distributions to try, and how to compare PyTorch's with ours."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jtorch

torch = pytest.importorskip("torch")

Params = dict[str, Any]


def array(*shape: int, low: float = 0.3, high: float = 3.0, seed: int = 0) -> np.ndarray:
    return np.random.RandomState(seed).uniform(low, high, shape)


def simplex(*shape: int, seed: int = 0) -> np.ndarray:
    x = array(*shape, seed=seed)
    return x / x.sum(-1, keepdims=True)


def covariance(*shape: int, n: int = 3, seed: int = 0) -> np.ndarray:
    a = np.random.RandomState(seed).randn(*shape, n, n)
    return a @ a.swapaxes(-1, -2) + n * np.eye(n)


PROBS, LOGITS = array(2, 3, low=0.05, high=0.95), array(2, 3, low=-2.0, high=2.0)
LOC, SCALE = array(2, 3, low=-2.0, high=2.0, seed=1), array(2, 3, seed=2)
COV = covariance(2, seed=3)

#: Parameters by distribution: arrays become tensors, numbers stay numbers.
CASES: dict[str, list[Params]] = {
    "Bernoulli": [
        {"probs": PROBS},
        {"logits": LOGITS},
        {"probs": 0.3},
        {"probs": np.array([0.0, 0.5, 1.0])},
    ],
    "Beta": [
        {"concentration1": array(2, 3), "concentration0": array(2, 3, seed=5)},
        {"concentration1": 0.4, "concentration0": 7.0},
        {
            "concentration1": array(4, low=0.01, high=0.5),
            "concentration0": array(4, low=10, high=40.0),
        },
    ],
    "Binomial": [
        {"total_count": 7, "probs": PROBS},
        {"total_count": 40, "logits": LOGITS},
        {"total_count": np.array([[1.0, 50.0, 200.0]]), "probs": PROBS},
    ],
    "Categorical": [
        {"probs": simplex(2, 4)},
        {"logits": array(2, 3, 4)},
        {"probs": array(5)},
        {"probs": np.array([0.0, 0.4, 0.6])},
    ],
    "Cauchy": [{"loc": LOC, "scale": SCALE}, {"loc": 0.5, "scale": 2.0}],
    "Chi2": [{"df": array(2, 3)}, {"df": 3.0}],
    "ContinuousBernoulli": [
        {"probs": PROBS},
        {"logits": LOGITS},
        {"probs": np.array([0.2, 0.4995, 0.5, 0.9])},
        {"probs": 0.3},
    ],
    "Dirichlet": [
        {"concentration": array(2, 4)},
        {"concentration": array(3, low=0.1, high=0.9)},
        {"concentration": array(3) * 20},
    ],
    "Exponential": [{"rate": array(2, 3)}, {"rate": 1.5}],
    "FisherSnedecor": [
        {"df1": array(2, 3) * 3, "df2": array(2, 3, seed=1) * 5},
        {"df1": 1.0, "df2": 5.0},
    ],
    "Gamma": [
        {"concentration": array(2, 3), "rate": array(2, 3, seed=1)},
        {"concentration": 0.3, "rate": 2.0},
        {"concentration": np.array([0.01, 0.7, 3.0, 12.0, 500.0]), "rate": np.array(1.0)},
    ],
    "GeneralizedPareto": [
        {
            "loc": np.array([1.0, 2.0, 3.0]),
            "scale": 2.0,
            "concentration": np.array([0.0, 0.3, -0.4]),
        },
        {"loc": 0.0, "scale": 1.0, "concentration": 2.0},
    ],
    "Geometric": [
        {"probs": PROBS},
        {"logits": LOGITS},
        {"probs": 0.3},
        {"probs": np.array([1.0, 0.5])},
    ],
    "Gumbel": [{"loc": LOC, "scale": SCALE}, {"loc": 0.5, "scale": 2.0}],
    "HalfCauchy": [{"scale": SCALE}, {"scale": 2.0}],
    "HalfNormal": [{"scale": SCALE}, {"scale": 2.0}],
    "InverseGamma": [
        {"concentration": array(2, 3) * 2, "rate": array(2, 3, seed=1)},
        {"concentration": 3.0, "rate": 2.0},
    ],
    "Kumaraswamy": [
        {"concentration1": array(2, 3), "concentration0": array(2, 3, seed=5)},
        {"concentration1": 2.0, "concentration0": 0.7},
    ],
    "Laplace": [{"loc": LOC, "scale": SCALE}, {"loc": 0.5, "scale": 2.0}],
    "LKJCholesky": [
        {"dim": 3, "concentration": np.array(0.7)},
        {"dim": 4, "concentration": array(2)},
        {"dim": 2, "concentration": 1.0},
    ],
    "LogNormal": [{"loc": LOC, "scale": SCALE}, {"loc": 0.5, "scale": 0.3}],
    "LogisticNormal": [{"loc": LOC, "scale": SCALE}, {"loc": 0.5, "scale": 0.3}],
    "LowRankMultivariateNormal": [
        {"loc": array(2, 3), "cov_factor": array(2, 3, 2), "cov_diag": array(2, 3, seed=1)},
        {"loc": array(3), "cov_factor": array(3, 1), "cov_diag": array(2, 3, seed=1)},
    ],
    "Multinomial": [
        {"total_count": 7, "probs": simplex(2, 4)},
        {"total_count": 3, "logits": array(5)},
    ],
    "MultivariateNormal": [
        {"loc": array(2, 3), "covariance_matrix": COV},
        {"loc": array(3), "precision_matrix": COV},
        {"loc": array(4, 1, 3), "scale_tril": np.linalg.cholesky(COV)},
    ],
    "NegativeBinomial": [
        {"total_count": 7, "probs": PROBS},
        {"total_count": array(2, 3) * 4, "logits": LOGITS},
    ],
    "Normal": [
        {"loc": LOC, "scale": SCALE},
        {"loc": 0.5, "scale": 2.0},
        {"loc": np.array(1.0), "scale": 0.1},
    ],
    "OneHotCategorical": [{"probs": simplex(2, 4)}, {"logits": array(5)}],
    "OneHotCategoricalStraightThrough": [{"probs": simplex(2, 4)}, {"logits": array(5)}],
    "Pareto": [{"scale": SCALE, "alpha": array(2, 3)}, {"scale": 1.0, "alpha": 3.0}],
    "Poisson": [{"rate": array(2, 3) * 4}, {"rate": 0.7}, {"rate": np.array([0.0, 30.0, 1000.0])}],
    "RelaxedBernoulli": [
        {"temperature": np.array(0.7), "probs": PROBS},
        {"temperature": np.array([0.5]), "logits": LOGITS},
    ],
    "RelaxedOneHotCategorical": [
        {"temperature": np.array(0.7), "probs": simplex(2, 4)},
        {"temperature": np.array(2.0), "logits": array(5)},
    ],
    "StudentT": [{"df": array(2, 3), "loc": LOC, "scale": SCALE}, {"df": 3.0}],
    "Uniform": [{"low": LOC, "high": LOC + SCALE}, {"low": -1.0, "high": 2.0}],
    "VonMises": [
        {"loc": LOC, "concentration": array(2, 3, high=8.0)},
        {"loc": np.array(0.3), "concentration": np.array([1e-6, 4.0])},
    ],
    "Weibull": [
        {"scale": SCALE, "concentration": array(2, 3)},
        {"scale": 1.0, "concentration": 2.0},
    ],
    "Wishart": [
        {"df": 5.0, "covariance_matrix": COV},
        {"df": np.array([4.5, 9.0]), "precision_matrix": COV},
        {"df": np.array(7.0), "scale_tril": np.linalg.cholesky(COV[0])},
    ],
}
ALL = [
    pytest.param(name, i, id=f"{name}{i}")
    for name, cases in CASES.items()
    for i in range(len(cases))
]

#: Sums of many terms, of which single precision keeps fewer digits.
_LOOSE = {
    "Wishart",
    "Gamma",
    "LKJCholesky",
    "LowRankMultivariateNormal",
    "MultivariateNormal",
    "ContinuousBernoulli",
    "Binomial",
}


def args(T: Any, params: Params, dtype: str, grad: bool = False) -> Params:
    made = {}
    for name, value in params.items():
        if isinstance(value, np.ndarray):
            value = T.tensor(value.tolist(), dtype=getattr(T, dtype))
            if grad:
                value.requires_grad_()
        made[name] = value
    return made


def both(
    name: str, params: Params, dtype: str = "float64", grad: bool = False, **options: Any
) -> list[Any]:
    return [
        getattr(T.distributions, name)(**args(T, params, dtype, grad), **options)
        for T in (torch, jtorch)
    ]


def numpy(x: Any) -> Any:
    return x.detach().numpy() if hasattr(x, "detach") else x


def outcome(f: Callable[[], Any]) -> Any:
    """What a call gives, or the error it raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f()
    except Exception as error:
        return error


def slip(error: Exception) -> bool:
    """Whether PyTorch trips over itself: it compares parameters to a number of another dtype, or
    changes a mask that it still needs."""
    return (
        "Double did not match Float" in str(error)
        or "torch.BoolTensor" in str(error)
        or "CPUBoolType" in str(error)
    )


def compare(f: Callable[[Any], Any], pair: list[Any], rtol: float, atol: float, what: str) -> None:
    theirs, ours = (outcome(lambda d=d: f(d)) for d in pair)
    if isinstance(theirs, Exception):
        assert type(ours) is type(theirs) or slip(theirs), (what, theirs, ours)
        return
    if isinstance(ours, Exception):
        raise AssertionError(f"{what} failed") from ours
    if hasattr(theirs, "detach"):
        assert tuple(ours.shape) == tuple(theirs.shape), what
        assert str(ours.dtype) == str(theirs.dtype), what
        if theirs.dtype is torch.float32:  # numbers as parameters have the default dtype
            rtol, atol = max(rtol, 2e-6), max(atol, 2e-6)
        np.testing.assert_allclose(numpy(ours), numpy(theirs), rtol=rtol, atol=atol, err_msg=what)
    else:
        assert str(ours) == str(theirs).replace("torch.", "torch."), what


def tolerance(name: str, dtype: str) -> tuple[float, float]:
    if name == "Multinomial":
        return 1e-6, 1e-6  # of whose entropy parts are of single precision in any case
    if dtype == "float64":
        return 1e-9, 1e-10
    return (1e-4, 2e-5) if name in _LOOSE else (5e-5, 1e-5)


def values(name: str, i: int, dtype: str) -> list[Any]:
    """Samples of PyTorch's, in both libraries."""
    torch.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = getattr(torch.distributions, name)(**args(torch, CASES[name][i], dtype)).sample(
            (4,)
        )
    return [drawn, jtorch.from_numpy(drawn.numpy())]
