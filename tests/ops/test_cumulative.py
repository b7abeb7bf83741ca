"""Running sums, products and extrema, differences and the trapezoid rule."""

from __future__ import annotations

import math

import numpy as np
import pytest

import jtorch as torch

nan, inf = math.nan, math.inf


def test_running_sums_and_products() -> None:
    x = torch.tensor([[1, 2, 3], [4, 5, 6]], dtype=torch.int8)
    assert x.cumsum(1).tolist() == [[1, 3, 6], [4, 9, 15]] and x.cumsum(0).dtype is torch.int64
    assert x.cumprod(-1, dtype=torch.float32).tolist() == [[1, 2, 6], [4, 20, 120]]
    y = torch.ones(3)
    assert y.cumsum_(0) is y and y.tolist() == [1, 2, 3]
    assert torch.tensor(3.0).cumsum(0).item() == 3


def test_running_extrema_keep_the_last_place_and_nan() -> None:
    values, indices = torch.tensor([1.0, 3, 3, 2, nan, 5, nan]).cummax(0)
    assert (
        indices.tolist() == [0, 1, 2, 2, 4, 4, 6]
        and values[:4].tolist() == [1, 3, 3, 3]
        and values[4:].isnan().all()
    )
    assert torch.tensor([2, 1, 1, 3]).cummin(0).indices.tolist() == [0, 1, 2, 2]
    assert torch.tensor([False, True, False]).cummax(0).values.tolist() == [False, True, True]


def test_logcumsumexp() -> None:
    x = torch.tensor([-inf, 1000.0, 1000.0, inf, 3.0, nan, 1.0])
    found = torch.logcumsumexp(x, 0).tolist()
    assert found[:5] == [-inf, 1000, pytest.approx(1000 + math.log(2)), inf, inf] and all(
        map(math.isnan, found[5:])
    )
    large = torch.tensor([-1.7e308, -1.6e308, 1.0, 1.7e308, 2.0], dtype=torch.float64)
    assert torch.logcumsumexp(large, 0).tolist() == [-1.7e308, -1.6e308, 1, 1.7e308, 1.7e308]
    y = np.random.RandomState(0).randn(3, 50)
    np.testing.assert_allclose(
        torch.logcumsumexp(torch.tensor(y), 1).numpy(), np.logaddexp.accumulate(y, 1), rtol=1e-12
    )


def _gradient(f, values) -> list[float]:
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    (f(x) * torch.arange(1, x.numel() + 1)).sum().backward()
    return x.grad.tolist()


def test_gradients() -> None:
    assert _gradient(lambda x: x.cumsum(0), [5.0, 6.0, 7.0]) == [6, 5, 3]
    assert _gradient(lambda x: x.cummax(0).values, [5.0, 4.0, 7.0]) == [3, 0, 3]
    assert _gradient(lambda x: x.cumprod(0), [2.0, 0.0, 3.0]) == [1, 4 + 18, 0]
    found = _gradient(lambda x: torch.logcumsumexp(x, 0), [0.0, 0.0, -inf])
    assert found == pytest.approx([1 + 1 + 1.5, 1 + 1.5, 0])


@pytest.mark.parametrize(
    ("shape", "dim"), [((3, 7), 1), ((7, 3), 0), ((5, 150), 0), ((2, 6, 70), 1), ((1, 4), 0)]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64])
def test_gradients_of_running_products(
    dtype: torch.dtype, shape: tuple[int, ...], dim: int
) -> None:
    """Beside the sum of all products that an element is a factor of, zeros among them."""
    r = np.random.RandomState(0)
    x, g = (r.randn(*shape) + (1j * r.randn(*shape) if dtype.is_complex else 0) for _ in range(2))
    x.reshape(-1)[[0, 2]] = 0
    leaf = torch.tensor(x, dtype=dtype, requires_grad=True)
    leaf.cumprod(dim).backward(torch.tensor(g, dtype=dtype))
    rows, above = np.moveaxis(x, dim, 0), np.moveaxis(g, dim, 0)
    expected = np.zeros_like(rows)
    for k in range(len(rows)):
        without = rows.copy()
        without[k] = 1
        expected[k] = (above * np.cumprod(without, 0).conj())[k:].sum(0)
    assert leaf.grad is not None
    found = np.moveaxis(leaf.grad.resolve_conj().numpy(), dim, 0)
    np.testing.assert_allclose(
        found, expected, rtol=1e-12 if dtype is torch.float64 else 1e-5, atol=1e-5
    )


def test_running_products_that_were_written_over() -> None:
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    y = x.cumprod(0)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_diff() -> None:
    x = torch.tensor([1, 4, 9, 16])
    assert (
        torch.diff(x).tolist() == [3, 5, 7]
        and x.diff(n=2).tolist() == [2, 2]
        and x.diff(n=9).tolist() == []
    )
    assert x.diff(prepend=torch.tensor([0]), append=torch.tensor([0.5])).tolist() == [
        1,
        3,
        5,
        7,
        -15.5,
    ]
    assert torch.tensor([True, False, False]).diff().tolist() == [True, False]
    with pytest.raises(RuntimeError, match="order must be non-negative but got -1"):
        x.diff(n=-1)


def test_trapezoid() -> None:
    y = torch.tensor([0, 1, 4])
    assert torch.trapezoid(y).item() == 3 and torch.trapz(y, dx=0.5).item() == 1.5
    assert torch.trapezoid(y, torch.tensor([0, 1, 3])).item() == 5.5
    assert torch.cumulative_trapezoid(y.float()).tolist() == [0.5, 3]
    assert torch.trapezoid(torch.ones(2, 3), dim=0).tolist() == [1, 1, 1]
    assert torch.trapezoid(torch.ones(0)).item() == 0
    with pytest.raises(
        RuntimeError, match="trapezoid: There must be one `x` value for each sample point"
    ):
        torch.trapezoid(y, torch.arange(5))
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        torch.trapezoid(y, y, dx=2)


def test_trapezoid_of_infinities() -> None:
    assert torch.trapezoid(torch.tensor([1.0, inf, 2.0])).item() == inf
    for y in ([-inf], [inf, 3.0, 2.0]):  # half of what stands at the ends is taken from the sum
        assert math.isnan(torch.trapezoid(torch.tensor(y)))
    assert (
        torch.trapezoid(torch.tensor([5.0])).item() == 0
        and torch.trapezoid(torch.tensor([1, 2, 4])).item() == 4.5
    )
