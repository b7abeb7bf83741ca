"""Every distribution against PyTorch's: samples for the same seed, densities, moments and texts."""

# ruff: noqa: B023 (what is made in a loop is called in it)

from __future__ import annotations

import pytest
from distribution_cases import ALL, CASES, array, both, compare, tolerance, torch, values

import jtorch

pytestmark = pytest.mark.parity

#: Double precision of the first parameters, single precision of the others.
SAMPLED = [
    pytest.param(name, i, dtype, id=f"{name}{i}-{dtype}")
    for name, cases in CASES.items()
    for i in range(len(cases))
    for dtype in ("float32" if i else "float64",)
]


@pytest.mark.parametrize(("name", "i"), ALL)
def test_values(name: str, i: int) -> None:
    dtype = "float32" if i % 2 else "float64"
    rtol, atol = tolerance(name, dtype)
    pair = both(name, CASES[name][i], dtype)
    assert tuple(pair[1].batch_shape) == tuple(pair[0].batch_shape)
    assert tuple(pair[1].event_shape) == tuple(pair[0].event_shape)
    for attribute in (
        "mean",
        "mode",
        "variance",
        "stddev",
        "probs",
        "logits",
        "has_rsample",
        "has_enumerate_support",
    ):
        compare(lambda d: getattr(d, attribute), pair, rtol, atol, attribute)
    for method in ("entropy", "enumerate_support"):
        compare(lambda d: getattr(d, method)(), pair, rtol, atol, method)
    compare(
        lambda d: d.enumerate_support(expand=False),
        pair,
        rtol,
        atol,
        "enumerate_support(expand=False)",
    )
    compare(repr, pair, rtol, atol, "repr")
    wide = [d.expand((4, *d.batch_shape)) for d in pair]
    compare(repr, wide, rtol, atol, "repr of expanded")
    compare(lambda d: d.mean, wide, rtol, atol, "mean of expanded")
    compare(lambda d: d.batch_shape, wide, rtol, atol, "shape of expanded")


@pytest.mark.parametrize(("name", "i", "dtype"), SAMPLED)
def test_samples(name: str, i: int, dtype: str) -> None:
    pair = both(name, CASES[name][i], dtype)
    rtol, atol = (1e-12, 1e-13) if dtype == "float64" else (2e-6, 2e-6)
    for shape in ((), (2, 5)):
        for method in ("sample", "rsample"):
            torch.manual_seed(7)
            jtorch.manual_seed(7)
            compare(lambda d: getattr(d, method)(shape), pair, rtol, atol, f"{method}{shape}")
            assert jtorch.rand(()).item() == torch.rand(()).item(), (
                "the generators are at different places"
            )
    wide = [d.expand((2, *d.batch_shape)) for d in pair]
    torch.manual_seed(7)
    jtorch.manual_seed(7)
    compare(lambda d: d.sample(), wide, rtol, atol, "sample of expanded")


@pytest.mark.parametrize(("name", "i"), ALL)
def test_densities(name: str, i: int) -> None:
    dtype = "float32" if i % 2 else "float64"
    rtol, atol = tolerance(name, dtype)
    pair = both(name, CASES[name][i], dtype)
    given = dict(zip(map(id, pair), values(name, i, dtype), strict=True))
    # A matrix or a share that was rounded may lie just outside of the support: then both refuse it.
    compare(lambda d: d.log_prob(given[id(d)]), pair, 20 * rtol, 20 * atol, "log_prob")
    compare(lambda d: d.cdf(given[id(d)]), pair, rtol, atol, "cdf")
    p = array(4, *pair[0].batch_shape, low=0.02, high=0.98)
    shares = {
        id(d): T.tensor(p.tolist(), dtype=getattr(T, dtype))
        for T, d in zip((torch, jtorch), pair, strict=True)
    }
    compare(lambda d: d.icdf(shares[id(d)]), pair, 10 * rtol, 10 * atol, "icdf")
    compare(lambda d: repr(d.support), pair, rtol, atol, "support")
    compare(lambda d: d.support.check(given[id(d)]).all(), pair, rtol, atol, "check")
