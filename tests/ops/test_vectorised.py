"""Kernels that have a formulation of their own because XLA's takes one element at a time: against
NumPy in double precision."""

from __future__ import annotations

import numpy as np
import pytest

import jtorch as torch

_RNG = np.random.default_rng(0)
_EDGES = np.array(
    [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        np.inf,
        -np.inf,
        np.nan,
        3.4e38,
        -3.4e38,
        1.2e-38,
        0.41421357,
        2.4142137,
    ],
    np.float32,
)


def _close(found: np.ndarray, exact: np.ndarray, rtol: float = 4e-7) -> None:
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, exact.astype(found.dtype), rtol=rtol, atol=1.2e-38)


_NUMPY = {"atan": "arctan", "asin": "arcsin", "acos": "arccos", "tan": "tan", "exp2": "exp2"}


@pytest.mark.parametrize(("name", "numpy_name"), list(_NUMPY.items()), ids=list(_NUMPY))
def test_functions_of_one_array(name: str, numpy_name: str) -> None:
    x = np.concatenate(
        [
            _EDGES,
            _RNG.uniform(-1, 1, 4096).astype(np.float32),
            _RNG.uniform(-120, 120, 4096).astype(np.float32),
        ]
    )
    with np.errstate(all="ignore"):
        exact = getattr(np, numpy_name)(x.astype(np.float64))
    found = getattr(torch, name)(torch.tensor(x)).numpy()
    _close(found, exact)
    zeros = found == 0
    with np.errstate(all="ignore"):
        assert (np.signbit(found) == np.signbit(exact))[zeros & (x == 0)].all()


def test_atan2() -> None:
    y, x = np.repeat(_EDGES, _EDGES.size), np.tile(_EDGES, _EDGES.size)
    y = np.concatenate([y, _RNG.standard_normal(4096).astype(np.float32)])
    x = np.concatenate([x, _RNG.standard_normal(4096).astype(np.float32)])
    found = torch.atan2(torch.tensor(y), torch.tensor(x)).numpy()
    _close(found, np.arctan2(y.astype(np.float64), x.astype(np.float64)))
    zeros = (found == 0) & (y == 0)
    assert (np.signbit(found) == np.signbit(y))[zeros].all()


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e12])
def test_remainders_are_exact(scale: float) -> None:
    a = (_RNG.standard_normal(4096) * scale).astype(np.float32)
    b = _RNG.standard_normal(4096).astype(np.float32)
    np.testing.assert_array_equal(
        torch.fmod(torch.tensor(a), torch.tensor(b)).numpy(), np.fmod(a, b)
    )
    np.testing.assert_array_equal(
        torch.remainder(torch.tensor(a), torch.tensor(b)).numpy(), np.remainder(a, b)
    )


def test_remainders_at_the_edges() -> None:
    a, b = np.repeat(_EDGES, _EDGES.size), np.tile(_EDGES, _EDGES.size)
    with np.errstate(all="ignore"):
        exact = np.fmod(a, b)
    np.testing.assert_array_equal(torch.fmod(torch.tensor(a), torch.tensor(b)).numpy(), exact)


@pytest.mark.parametrize("n", [5, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32, np.uint8])
def test_selection(n: int, dtype: type) -> None:
    """Below and above the length from which elements are found by counting."""
    x = (_RNG.standard_normal((3, n)) * 40).astype(dtype)
    for k in (1, n // 2, n):
        values, places = torch.kthvalue(torch.tensor(x), k)
        np.testing.assert_array_equal(values.numpy(), np.sort(x, -1)[:, k - 1])
        np.testing.assert_array_equal(places.numpy(), np.argmax(x == values.numpy()[:, None], -1))


def test_selection_with_nan() -> None:
    x = _RNG.standard_normal((2, 300)).astype(np.float32)
    x[0, [7, 20]] = np.nan
    values, places = torch.median(torch.tensor(x), 1)
    assert np.isnan(values[0].item()) and places[0] == 7
    np.testing.assert_array_equal(
        torch.nanmedian(torch.tensor(x), 1).values.numpy(),
        np.nanquantile(x, 0.5, axis=1, method="lower"),
    )


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_positions_along_inner_dimensions(dim: int) -> None:
    x = _RNG.standard_normal((3, 4, 5)).astype(np.float32)
    index = np.array([2, 0, 2])
    at = (slice(None),) * dim + (index,)
    t, i = torch.tensor(x), torch.tensor(index)
    np.testing.assert_array_equal(torch.index_select(t, dim, i).numpy(), x[at])
    np.testing.assert_array_equal(
        t[(slice(None),) * dim + (i.reshape(3, 1),)].numpy(),
        x[(slice(None),) * dim + (index.reshape(3, 1),)],
    )
    added = x.copy()
    np.add.at(added, at, x[at])
    np.testing.assert_allclose(
        torch.index_add(t, dim, i, torch.tensor(x[at])).numpy(), added, rtol=1e-6
    )
    filled = x.copy()
    filled[at] = 7
    np.testing.assert_array_equal(torch.index_fill(t, dim, i, 7).numpy(), filled)


@pytest.mark.parametrize("n", [1, 7, 4096, 256 * 17])
def test_first_bad_place(n: int) -> None:
    """The error names the first position that is out of range, in arrays of every layout that is
    searched in columns."""
    index = np.zeros(n, np.int64)
    index[n // 3 :] = 9
    index[n // 3] = 5
    with pytest.raises((IndexError, RuntimeError), match="5"):
        torch.gather(torch.zeros(4), 0, torch.tensor(index)).numpy()


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_many_reflections(dtype: type) -> None:
    a = _RNG.standard_normal((12, 10)).astype(dtype)
    packed, tau = torch.geqrf(torch.tensor(a))
    q = torch.linalg.householder_product(packed, tau)
    np.testing.assert_allclose((q @ torch.triu(packed)[:10]).numpy(), a, atol=1e-12)
    eye = torch.eye(12, dtype=q.dtype)
    whole = torch.ormqr(packed, tau, eye)
    np.testing.assert_allclose(whole[:, :10].numpy(), q.numpy(), atol=1e-12)
    np.testing.assert_allclose(
        (torch.ormqr(packed, tau, whole, transpose=True)).numpy(), np.eye(12), atol=1e-12
    )


def test_margin_of_many_labels() -> None:
    """More pairs of classes than are taken at once give what the sum over single samples gives."""
    scores = _RNG.standard_normal((5, 512))
    labels = _RNG.integers(0, 512, (5, 512))
    labels[:, 3] = -1
    loss = torch.nn.functional.multilabel_margin_loss
    x = torch.tensor(scores, requires_grad=True)
    loss(x, torch.tensor(labels)).backward()
    rows = [torch.tensor(row, requires_grad=True) for row in scores]
    whole = sum(loss(row, torch.tensor(one)) for row, one in zip(rows, labels, strict=True)) / 5
    whole.backward()
    np.testing.assert_allclose(
        x.grad.numpy(), np.stack([row.grad.numpy() for row in rows]), atol=1e-12
    )
