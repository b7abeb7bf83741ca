"""Gradients of densities and samples, and Kullback-Leibler divergences, against PyTorch's."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from distribution_cases import (
    ALL,
    CASES,
    COV,
    LOC,
    PROBS,
    SCALE,
    Params,
    args,
    array,
    compare,
    outcome,
    slip,
    torch,
    values,
)

import jtorch

pytestmark = pytest.mark.parity


def _gradients(d: Any, params: Params, f: Callable[[Any], Any]) -> list[Any]:
    leaves = [p for p in params.values() if hasattr(p, "requires_grad")]
    out = f(d)
    weight = np.cos(np.arange(out.numel())).reshape(tuple(out.shape))
    T = torch if isinstance(out, torch.Tensor) else jtorch
    total = (out * T.tensor(weight.tolist(), dtype=out.dtype)).sum()
    found = T.autograd.grad(total, leaves, allow_unused=True)
    return [None if g is None else g.numpy() for g in found]


@pytest.mark.parametrize(("name", "i"), ALL)
def test_gradients(name: str, i: int) -> None:
    params = CASES[name][i]
    if name == "Wishart" and i:
        pytest.skip("one takes long enough")
    if not any(isinstance(p, np.ndarray) for p in params.values()):
        pytest.skip("numbers have no gradients")
    given = values(name, i, "float64")
    for what in ("log_prob", "rsample", "entropy"):
        found = []
        for T, value in zip((torch, jtorch), given, strict=True):
            made = args(T, params, "float64", grad=True)
            d = getattr(T.distributions, name)(**made)
            T.manual_seed(5)
            calls = {
                "log_prob": lambda d, v=value: d.log_prob(v),
                "rsample": lambda d: d.rsample((2,)),
                "entropy": lambda d: d.entropy(),
            }
            call = calls[what]
            found.append(outcome(lambda d=d, made=made, call=call: _gradients(d, made, call)))
        theirs, ours = found
        if isinstance(theirs, Exception):
            assert type(ours) is type(theirs) or slip(theirs), (what, theirs, ours)
            continue
        if isinstance(ours, Exception):
            raise AssertionError(f"{what} has no gradient") from ours
        for a, b in zip(ours, theirs, strict=True):
            assert (a is None) == (b is None), what
            if b is not None:
                # PyTorch's derivative of gamma and beta numbers is fitted to few digits: in places
                # rounding alone is seen.
                np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7, err_msg=what)


# ---- divergences ---------------------------------------------------------------------------------

_KL_CASES = {
    **{name: cases[0] for name, cases in CASES.items()},
    "Binomial": {"total_count": 7, "probs": PROBS},
    "Pareto": {"scale": SCALE * 0.1, "alpha": array(2, 3) + 2},
    "Uniform": {"low": PROBS * 0.4 + 0.01, "high": PROBS * 0.4 + 0.4},
    "MultivariateNormal": {"loc": array(2, 3), "covariance_matrix": COV},
}


def _second(params: Params) -> Params:
    """Other parameters of the same shapes."""
    fixed = ("covariance_matrix", "total_count")
    return {
        k: v * 0.9 + 0.05 if isinstance(v, np.ndarray) and k not in fixed else v
        for k, v in params.items()
    }


def _registered() -> list[tuple[str, str]]:
    return sorted((p.__name__, q.__name__) for p, q in torch.distributions.kl._KL_REGISTRY)


def test_the_same_pairs_are_registered() -> None:
    assert (
        sorted((p.__name__, q.__name__) for p, q in jtorch.distributions.kl._KL_REGISTRY)
        == _registered()
    )


_PAIRS = [pair for pair in _registered() if set(pair) <= set(_KL_CASES)]


@pytest.mark.parametrize(("p", "q"), _PAIRS, ids=["-".join(pair) for pair in _PAIRS])
def test_divergences(p: str, q: str) -> None:
    found = []
    for T in (torch, jtorch):
        first = args(T, _KL_CASES[p], "float64", grad=True)
        second = args(T, _second(_KL_CASES[q]), "float64", grad=True)
        a, b = getattr(T.distributions, p)(**first), getattr(T.distributions, q)(**second)
        value = T.distributions.kl_divergence(a, b)
        leaves = [x for x in (*first.values(), *second.values()) if hasattr(x, "requires_grad")]
        grads = (
            T.autograd.grad(value.sum(), leaves, allow_unused=True) if value.requires_grad else []
        )
        found.append((value.detach().numpy(), [None if g is None else g.numpy() for g in grads]))
    (value, grads), (ours, our_grads) = found
    np.testing.assert_allclose(ours, value, rtol=1e-8, atol=1e-9)
    if np.isfinite(value).all():
        for a, b in zip(our_grads, grads, strict=True):
            if b is None:
                assert a is None or not a.any()
            else:
                np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-8)


_SOME = ["Normal", "Gamma", "Uniform", "Beta", "Pareto", "Cauchy", "Weibull", "HalfNormal"]


@pytest.mark.parametrize(("p", "q"), list(itertools.product(_SOME, repeat=2)))
def test_divergences_of_all_pairs(p: str, q: str) -> None:
    pairs = [
        (
            getattr(T.distributions, p)(**args(T, _KL_CASES[p], "float64")),
            getattr(T.distributions, q)(**args(T, CASES[q][0], "float64")),
        )
        for T in (torch, jtorch)
    ]
    kl = {
        id(pairs[0]): torch.distributions.kl_divergence,
        id(pairs[1]): jtorch.distributions.kl_divergence,
    }
    compare(lambda pair: kl[id(pair)](*pair), pairs, 1e-8, 1e-9, "kl")


def test_divergences_of_wrapped_distributions() -> None:
    found = []
    for T in (torch, jtorch):
        D = T.distributions
        loc, scale = T.tensor(LOC.tolist()), T.tensor(SCALE.tolist())
        p, q = D.Normal(loc, scale), D.Normal(loc + 1, scale * 2)
        found.append(
            [
                D.kl_divergence(D.Independent(p, 1), D.Independent(q, 1)).numpy(),
                D.kl_divergence(D.LogNormal(loc, scale), D.LogNormal(loc + 1, scale * 2)).numpy(),
                D.kl_divergence(
                    D.Bernoulli(T.tensor([0.0, 1.0, 0.5])), D.Bernoulli(T.tensor([0.0, 0.0, 1.0]))
                ).numpy(),
                D.kl_divergence(
                    D.Categorical(T.tensor([0.0, 0.5, 0.5])),
                    D.Categorical(T.tensor([0.5, 0.5, 0.0])),
                ).numpy(),
                D.kl_divergence(D.Binomial(5, T.tensor(0.2)), D.Binomial(3, T.tensor(0.2))).numpy(),
            ]
        )
        for a, b in (
            (D.Independent(p, 1), D.Independent(q, 2)),
            (p, D.Cauchy(0.0, 1.0)),
            (D.Binomial(3, T.tensor(0.2)), D.Binomial(5, T.tensor(0.2))),
            (D.LogNormal(loc, scale), D.Gumbel(loc, scale)),
        ):
            with pytest.raises(NotImplementedError):
                D.kl_divergence(a, b)
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
