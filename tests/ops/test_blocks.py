"""Large arrays are scanned row by row and reduced in columns on processors: the results are those
of small ones."""

from __future__ import annotations

import numpy as np
import pytest

import jtorch as torch
from jtorch._src.ops import _columns, _running

SHAPES = [(5000,), (70, 100), (3, 2000), (2000, 3), (16, 9, 40)]


def _data(shape, dtype, near_one=False):
    found = np.random.default_rng(3).standard_normal(shape)
    return (1 + found / 500 if near_one else found * 20).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_running_sums_and_products_of_large_arrays(shape, dtype):
    assert np.prod(shape) >= _running.SMALLEST
    for dim in range(len(shape)):
        x = _data(shape, dtype)
        assert np.allclose(
            torch.tensor(x).cumsum(dim).numpy(), np.cumsum(x, dim, np.float64), rtol=1e-6, atol=1e-4
        )
        x = _data(shape, dtype, near_one=True)
        assert np.allclose(
            torch.tensor(x).cumprod(dim).numpy(), np.cumprod(x, dim, np.float64), rtol=1e-5
        )


@pytest.mark.parametrize("dim", [0, 1])
def test_running_sums_are_accumulated_in_double_precision(dim):
    x = torch.full((2, 100_000) if dim else (100_000, 2), 0.1)
    assert abs(x.cumsum(dim).max().item() - 10_000) < 1e-3
    assert abs(torch.full((1000,), 0.1).cumsum(0)[-1].item() - np.float32(0.1) * 1000.0) < 1e-5


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_running_extrema_of_large_arrays(shape):
    x = np.round(_data(shape, "float32"))  # with equal ones
    x.flat[x.size // 2] = np.nan
    for dim in range(len(shape)):
        for f, values in ((torch.cummax, np.maximum), (torch.cummin, np.minimum)):
            found, places = f(torch.tensor(x), dim)
            assert np.array_equal(found.numpy(), values.accumulate(x, dim), equal_nan=True)
            assert np.array_equal(
                np.take_along_axis(x, places.numpy(), dim), found.numpy(), equal_nan=True
            )
            later = np.arange(x.shape[dim]).reshape([-1 if d == dim else 1 for d in range(x.ndim)])
            assert (places.numpy() <= later).all()
            assert (
                places.numpy()[(x == found.numpy())]
                == np.broadcast_to(later, x.shape)[x == found.numpy()]
            ).all()


def test_running_sums_have_running_gradients():
    x = torch.tensor(_data((70, 100), "float32"), requires_grad=True)
    w = _data((70, 100), "float32")
    (x.cumsum(0) * torch.tensor(w)).sum().backward()
    assert np.allclose(x.grad.numpy(), np.cumsum(w[::-1], 0)[::-1], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("shape", [(40_000,), (129, 129), (100, 512), (3, 70, 512)], ids=str)
def test_large_reductions(shape):
    assert np.prod(shape) >= _columns.SMALLEST
    whole = _data(shape, "int64")
    near_one = _data(shape, "float64", near_one=True)
    for dim in (None, -1):
        keep = {} if dim is None else {"dim": dim, "keepdim": True}
        x = torch.tensor(whole)
        assert np.array_equal(x.sum(**keep).numpy(), whole.sum(dim, keepdims=dim is not None))
        assert np.array_equal(
            (x > 3).sum(**keep).numpy(), (whole > 3).sum(dim, keepdims=dim is not None)
        )
        assert np.array_equal(x.amax(() if dim is None else dim).numpy(), whole.max(dim))
        assert np.allclose(
            torch.tensor(near_one).prod(**keep).numpy(),
            near_one.prod(dim, keepdims=dim is not None),
            rtol=1e-12,
        )
    assert torch.tensor(whole).max().item() == whole.max()
    assert torch.tensor(whole).min().item() == whole.min()
    assert torch.count_nonzero(torch.tensor(whole)).item() == np.count_nonzero(whole)


def test_inverse_square_roots_are_those_of_the_two_steps():
    x = np.abs(_data((20_000,), "float32")) + np.float32(0.01)
    assert np.array_equal(torch.tensor(x).rsqrt().numpy(), np.float32(1) / np.sqrt(x))
    assert torch.tensor([0.0, -0.0, float("inf")]).rsqrt().tolist() == [
        float("inf"),
        float("-inf"),
        0,
    ]
