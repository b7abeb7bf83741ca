"""Sums, products, extrema and counts: kernels on plain arrays and public functions, against values
worked out by hand."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.ops import reductions

nan, inf = math.nan, math.inf


def test_kernels_run_on_plain_arrays_and_under_jit() -> None:
    x = jnp.arange(6, dtype=jnp.float32).reshape(2, 3)
    assert reductions.sum(x, 1).tolist() == [3, 12]
    assert jax.jit(lambda v: reductions._max_dim(v, 0))(x)[1].tolist() == [1, 1, 1]


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int8, torch.int32, torch.int64])
def test_integers_are_accumulated_in_int64(dtype) -> None:
    x = torch.ones(300, dtype=dtype)
    for made in (x.sum(), torch.nansum(x), x.cumsum(0)[-1]):
        assert made.dtype is torch.int64 and made.item() == 300
    assert x.prod().dtype is torch.int64 and x.sum(dtype=torch.float64).dtype is torch.float64


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32, torch.float64])
def test_the_result_has_the_dtype_that_is_asked_for(dtype) -> None:
    x = torch.tensor([1.0, 2.0])
    for made in (
        x.sum(dtype=dtype),
        torch.nansum(x, dtype=dtype),
        torch.prod(x, dtype=dtype),
        x.sum(0, dtype=dtype),
    ):
        assert made.dtype is dtype


def test_half_precision_is_accumulated_in_float32() -> None:
    assert torch.full((4096,), 0.1, dtype=torch.bfloat16).sum().item() == 410.0
    assert torch.ones(4096, dtype=torch.float16).mean().item() == 1.0


def test_dims() -> None:
    x = torch.ones(2, 3, 4)
    assert x.sum((0, -1)).tolist() == [8, 8, 8]
    assert x.sum(axis=1, keepdims=True).shape == (2, 1, 4)
    assert x.sum(()).item() == 24 and x.any(()).shape == (2, 3, 4)
    assert torch.tensor(3.0).sum(-1).item() == 3


def test_nan_is_ignored_or_spreads() -> None:
    x = torch.tensor([1.0, nan, 3.0])
    assert torch.nansum(x).item() == 4 and torch.nanmean(x).item() == 2
    assert all(
        math.isnan(v) for v in (x.sum(), x.amax(), x.max(), x.min(0).values, torch.aminmax(x).min)
    )
    assert x.argmax().item() == x.argmin().item() == x.max(0).indices.item() == 1
    assert math.isnan(torch.nanmean(torch.tensor([nan])).item())


def test_first_of_equal_extrema() -> None:
    x = torch.tensor([[1, 3, 3], [2, 0, 0]])
    assert x.max(1).indices.tolist() == [1, 0] and x.min(1).indices.tolist() == [0, 1]
    assert x.argmax().item() == 1 and x.argmax(keepdim=True).shape == (1, 1)


def test_forms_of_max() -> None:
    x, y = torch.tensor([1.0, 4.0]), torch.tensor([2.0, 3.0])
    assert torch.max(x).item() == 4
    assert torch.max(x, y).tolist() == torch.max(x, other=y).tolist() == x.max(y).tolist() == [2, 4]
    values, indices = torch.max(x, 0, keepdim=True)
    assert (values.tolist(), indices.tolist()) == ([4], [1])
    assert (
        repr(torch.max(x, dim=0))
        == "torch.return_types.max(\nvalues=tensor(4.),\nindices=tensor(1))"
    )
    out = torch.empty(()), torch.empty((), dtype=torch.int64)
    torch.min(x, 0, out=out)
    assert (out[0].item(), out[1].item()) == (1, 0)


def test_truth_and_counts() -> None:
    x = torch.tensor([[0, 2], [0, 0]])
    assert (x.any(1).tolist(), x.all(0).tolist(), torch.count_nonzero(x).item()) == (
        [True, False],
        [False, False],
        1,
    )
    assert torch.ones(2, dtype=torch.uint8).all().dtype is torch.uint8
    assert torch.empty(0).all().item() is True and torch.empty(0).any().item() is False


def _gradient(f, values) -> list[float]:
    x = torch.tensor(values, requires_grad=True)
    f(x).sum().backward()
    return x.grad.tolist()


@pytest.mark.parametrize(
    ("f", "values", "expected"),
    [
        (lambda x: x.max(0).values, [1.0, 3.0, 3.0], [0, 1, 0]),
        (lambda x: x.min(0).values, [1.0, 1.0, 3.0], [1, 0, 0]),
        (lambda x: x.amax(), [1.0, 3.0, 3.0], [0, 0.5, 0.5]),
        (lambda x: x.max(), [1.0, 3.0, 3.0], [0, 0.5, 0.5]),
        (lambda x: x.aminmax().max, [1.0, 3.0, 3.0], [0, 0.5, 0.5]),
        (lambda x: x.max(), [1.0, nan, nan], [0, 0.5, 0.5]),
        (lambda x: x.prod(), [2.0, 0.0, 5.0], [0, 10, 0]),
        (lambda x: x.prod(), [2.0, 0.0, 0.0], [0, 0, 0]),
        (lambda x: x.mean(), [2.0, 4.0], [0.5, 0.5]),
        (torch.nansum, [2.0, nan], [1, 0]),
    ],
)
def test_gradients(f, values, expected) -> None:
    assert _gradient(f, values) == expected


def test_results_of_max_may_be_changed_in_place() -> None:
    x = torch.tensor([1.0, 3.0], requires_grad=True)
    values, _ = x.max(0)
    values.mul_(2)
    values.backward()
    assert x.grad.tolist() == [0, 2]


def test_second_derivative_of_prod() -> None:
    x = torch.tensor([2.0, 3.0, 4.0], requires_grad=True)
    (g,) = torch.autograd.grad(x.prod(), x, create_graph=True)
    (h,) = torch.autograd.grad(g[0], x)
    assert h.tolist() == [0, 4, 3]


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_derivatives_of_products_of_many(dim: int, zeros: int) -> None:
    """Of so many elements they are the product by each one, unless there is a zero."""
    rng = np.random.default_rng(0)
    rows = np.exp(rng.standard_normal((64, 128)) / 4) * rng.choice([-1, 1], (64, 128))
    rows[5, 7 : 7 + zeros] = 0
    x = torch.tensor(rows if dim else np.ascontiguousarray(rows.T), requires_grad=True)
    made = x.prod(dim)
    (g,) = torch.autograd.grad(made, x, torch.full_like(made, 2.0), create_graph=True)
    (h,) = torch.autograd.grad(g[5, 6] if dim else g[6, 5], x)
    others = np.where(np.eye(128, dtype=bool), 1.0, rows[:, None])
    found, second = (g.detach().numpy(), h.numpy()) if dim else (g.detach().numpy().T, h.numpy().T)
    np.testing.assert_allclose(found, 2 * np.prod(others, -1), 1e-9)
    wanted = np.zeros_like(rows)
    wanted[5] = [0.0 if k == 6 else 2 * np.prod(np.delete(rows[5], [k, 6])) for k in range(128)]
    np.testing.assert_allclose(second, wanted, 1e-9, 1e-12)


def test_a_changed_product_has_no_derivative() -> None:
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    made = x.prod()
    made.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        made.backward()


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: torch.arange(3).mean(),
            RuntimeError,
            "mean.*could not infer output dtype. Input dtype must be either .* Got: Long",
        ),
        (
            lambda: torch.ones(3, 3).sum(5),
            IndexError,
            r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 5\)",
        ),
        (
            lambda: torch.ones(3, 3).sum((0, -2)),
            RuntimeError,
            "dim 0 appears multiple times in the list of dims",
        ),
        (
            lambda: torch.ones(0, 3).amax(0),
            IndexError,
            r"amax\(\): Expected reduction dim 0 to have non-zero size.",
        ),
        (
            lambda: torch.ones(0).max(),
            RuntimeError,
            r"max\(\): Expected reduction dim to be specified for input.numel\(\) == 0.",
        ),
        (
            lambda: torch.ones(0).argmax(),
            IndexError,
            r"argmax\(\): Expected reduction dim to be specified",
        ),
        (
            lambda: torch.tensor([1j]).max(),
            NotImplementedError,
            "\"max_all\" not implemented for 'ComplexFloat'",
        ),
        (lambda: torch.tensor([True]).argmin(), RuntimeError, "does not support bool input"),
        (
            lambda: torch.ones(2).max(torch.ones(2), other=torch.ones(2)),
            TypeError,
            "argument 'dim' .position 1. must be int, not Tensor",
        ),
    ],
)
def test_errors(call, kind, text) -> None:
    with pytest.raises(kind, match=text):
        call()


def test_large_sums_are_accurate() -> None:
    x = np.random.RandomState(0).rand(1_000_000).astype(np.float32)
    assert abs(torch.tensor(x).sum().item() / x.astype(np.float64).sum() - 1) < 1e-6


@pytest.mark.parametrize("name", ["all", "any"])
@pytest.mark.parametrize("given", [torch.bool, torch.uint8])
@pytest.mark.parametrize("wanted", [torch.bool, torch.uint8])
def test_truth_is_written_as_bool_or_byte(
    name: str, given: torch.dtype, wanted: torch.dtype
) -> None:
    out = torch.empty(0, dtype=wanted)
    assert getattr(torch, name)(torch.tensor([3, 0]).to(given), 0, out=out) is out
    assert out.dtype is wanted and bool(out) is (name == "any")
