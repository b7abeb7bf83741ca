"""Variance, order statistics and the mode."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.ops import statistics

nan, inf = math.nan, math.inf


def close(found, expected) -> None:
    np.testing.assert_allclose(
        np.asarray(found.tolist() if hasattr(found, "tolist") else found), expected, rtol=1e-6
    )


def test_variance_and_its_corrections() -> None:
    x = torch.tensor([[1.0, 2.0, 4.0], [5.0, 5.0, 5.0]])
    close(x.var(1), [7 / 3, 0])
    close(x.std(1, unbiased=False), [math.sqrt(14 / 9), 0])
    close(x.var(dim=1, correction=2), [14 / 3, 0])
    close(torch.var(x, 1, True, True), [[7 / 3], [0]])
    close(x.var(False), np.var(x.numpy()))
    close(x.var(True), np.var(x.numpy(), ddof=1))
    both = torch.std_mean(x, dim=0, correction=0)
    close(both[0], [2, 1.5, 0.5])
    close(both[1], [3, 3.5, 4.5])
    close(torch.tensor([1 + 1j, -1 - 1j]).var(correction=0), 2)


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
def test_variance_of_too_few() -> None:
    assert (
        math.isnan(torch.ones(1).var())
        and math.isnan(torch.ones(0).std())
        and torch.tensor([1.0, 2.0]).var(correction=3).item() == inf
    )


def test_variance_far_from_zero() -> None:
    close(torch.tensor([1e4, 1e4 + 1, 1e4 + 2]).var(), 1)


def test_gradient_of_std_of_equal_values_is_zero() -> None:
    x = torch.full((3,), 2.0, requires_grad=True)
    x.std().backward()
    assert x.grad.tolist() == [0, 0, 0]


def test_gradient_of_std() -> None:
    x = torch.tensor([1.0, 2.0, 6.0], requires_grad=True)
    x.std().backward()
    close(x.grad, np.array([-2, -1, 3]) / (2 * math.sqrt(7)))


def test_median_takes_the_lower_middle() -> None:
    x = torch.tensor([[4.0, 1.0, 3.0, 2.0]])
    assert torch.median(x).item() == 2
    values, indices = x.median(1)
    assert (values.tolist(), indices.tolist()) == ([2], [3])
    assert (
        math.isnan(torch.tensor([1.0, nan, 2.0]).median())
        and torch.nanmedian(torch.tensor([1.0, nan, 2.0])).item() == 1
    )
    assert torch.tensor([1.0, nan, nan]).median(0).indices.item() == 1
    assert math.isnan(torch.empty(0).median())


def test_mode_prefers_the_smallest_of_the_most_frequent() -> None:
    x = torch.tensor([3, 1, 2, 1, 3])
    assert tuple(v.item() for v in x.mode()) == (1, 3)
    assert torch.tensor([nan, nan, 2.0, 2.0]).mode().values.item() == 2


def test_kthvalue() -> None:
    x = torch.tensor([[9.0, 7.0, 8.0], [nan, 1.0, 0.0]])
    values, indices = x.kthvalue(2, keepdim=True)
    assert (values.tolist(), indices.tolist()) == ([[8], [1]], [[2], [1]])


@pytest.mark.parametrize(
    ("how", "expected"),
    [("linear", 1.75), ("lower", 1), ("higher", 2), ("midpoint", 1.5), ("nearest", 2)],
)
def test_quantile_interpolation(how: str, expected: float) -> None:
    assert (
        torch.quantile(torch.tensor([3.0, 0.0, 2.0, 1.0, 4.0, 5.0]), 0.35, interpolation=how).item()
        == expected
    )


def test_quantile_shapes_and_nan() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    q = torch.tensor([0.0, 0.5])
    assert torch.quantile(x, q, dim=1, keepdim=True).shape == (2, 3, 1)
    assert torch.quantile(x, q).tolist() == [0, 5.5] and torch.quantile(
        x, 0.5, keepdim=True
    ).shape == (1, 1)
    assert (
        math.isnan(torch.quantile(torch.tensor([1.0, nan]), 0.0))
        and torch.nanquantile(torch.tensor([1.0, nan, 3.0]), 0.5).item() == 2
    )


def test_gradients_of_order_statistics() -> None:
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    (x.median(0).values + 10 * x.kthvalue(3).values + 100 * torch.quantile(x, 0.25)).backward()
    assert x.grad.tolist() == [10, 50, 51]


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: torch.arange(3).std(),
            RuntimeError,
            "std and var only support floating point and complex dtypes",
        ),
        (
            lambda: torch.ones(3).var(unbiased=True, correction=1),
            TypeError,
            "invalid combination of arguments",
        ),
        (
            lambda: torch.ones(3).kthvalue(4),
            RuntimeError,
            r"kthvalue\(\): selected number k out of range for dimension 0",
        ),
        (
            lambda: torch.quantile(torch.ones(3), 1.5),
            RuntimeError,
            r"quantile\(\) q must be in the range \[0, 1\] but got 1.5",
        ),
        (
            lambda: torch.quantile(torch.ones(3), torch.tensor([1.5])).tolist(),
            RuntimeError,
            "q values must be in the range",
        ),
        (
            lambda: torch.quantile(torch.arange(3), 0.5),
            RuntimeError,
            "input tensor must be either float or double dtype",
        ),
        (
            lambda: torch.tensor([True]).median(),
            NotImplementedError,
            "\"median_cpu\" not implemented for 'Bool'",
        ),
    ],
)
def test_errors(call, kind, text) -> None:
    with pytest.raises(kind, match=text):
        call()


def test_median_of_nothing() -> None:
    for kind, expected in (
        ("int64", -(2**63)),
        ("int32", -(2**31)),
        ("int16", 0),
        ("uint8", 0),
        ("bool", True),
    ):
        x = torch.empty(0, dtype=getattr(torch, kind))
        assert x.median().item() == x.nanmedian().item() == expected


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("f", [torch.var_mean, torch.std_mean])
def test_the_mean_of_one_element_has_a_gradient(f) -> None:
    x = torch.tensor([[3.0]], requires_grad=True)
    spread, mean = f(x)
    assert torch.autograd.grad(mean, x, retain_graph=True)[0].tolist() == [[1.0]]
    assert torch.autograd.grad(spread, x)[0].isnan().all()
    spread, mean = f(x, dim=1, correction=0)
    assert torch.autograd.grad(spread.sum() + mean.sum(), x)[0].tolist() == [[1.0]]


def test_one_value_does_not_deviate_from_itself_where_xla_computes_it_twice() -> None:
    a = jnp.asarray([[0.1, 0.7, -1.3], [2.1, -0.4, 0.9]], np.float32)
    b = jnp.asarray([[1.2, -0.3, 0.8], [0.5, 1.9, -0.6]], np.float32)

    @jax.jit
    def spread(a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
        value = jnp.mean((a - b.astype(jnp.bfloat16).astype(np.float32)) ** 2)
        return statistics._var(value, None, 1.0, False), statistics._var(value, None, 0.0, False)

    of_samples, of_all = spread(a, b)
    assert np.isnan(of_samples)
    assert of_all == 0
