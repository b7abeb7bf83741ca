"""sort, argsort, msort and topk."""

from __future__ import annotations

import math

import numpy as np
import pytest

import jtorch as torch

nan, inf = math.nan, math.inf

DTYPES = ["uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("descending", [False, True])
def test_sort_is_stable_in_every_dtype(dtype: str, descending: bool) -> None:
    data = np.random.RandomState(0).randint(0, 20, (4, 60)) - (0 if dtype == "uint8" else 10)
    x = torch.tensor(data).to(getattr(torch, dtype))
    values, indices = x.sort(1, descending=descending, stable=True)
    expected = np.argsort(-data if descending else data, axis=1, kind="stable")
    np.testing.assert_array_equal(indices.numpy(), expected)
    np.testing.assert_array_equal(values.double().numpy(), np.take_along_axis(data, expected, 1))


def test_nan_is_largest_and_zeros_are_equal() -> None:
    x = torch.tensor([nan, 0.0, -inf, -0.0, inf, nan])
    assert x.sort().indices.tolist() == [2, 1, 3, 4, 0, 5]
    assert x.sort(descending=True).indices.tolist() == [0, 5, 4, 1, 3, 2]
    assert math.copysign(1, x.sort().values[2].item()) == -1
    assert x.topk(3).indices.tolist() == [0, 5, 4] and x.topk(
        2, largest=False
    ).indices.tolist() == [2, 1]


def test_extreme_integers() -> None:
    for dtype in (torch.int32, torch.int64):
        info = torch.iinfo(dtype)
        x = torch.tensor([0, info.max, info.min, -1], dtype=dtype)
        assert x.sort().values.tolist() == [info.min, -1, 0, info.max]
        assert x.sort(descending=True).values.tolist() == [info.max, 0, -1, info.min]


@pytest.mark.parametrize("k", [1, 3, 50, 400])
@pytest.mark.parametrize("largest", [True, False])
def test_topk(k: int, largest: bool) -> None:
    data = np.random.RandomState(1).randn(3, 400).astype(np.float32)
    values, indices = torch.topk(torch.tensor(data), k, largest=largest)
    expected = np.argsort(-data if largest else data, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(indices.numpy(), expected)
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(data, expected, 1))


def test_forms() -> None:
    x = torch.tensor([[2, 1], [1, 3]])
    assert torch.argsort(x, dim=0).tolist() == [[1, 0], [0, 1]] and torch.msort(x).tolist() == [
        [1, 1],
        [2, 3],
    ]
    assert torch.tensor(1.0).sort() == (torch.tensor(1.0), torch.tensor(0))
    assert torch.tensor([True, False]).sort().values.tolist() == [False, True]
    assert torch.empty(0).sort().values.shape == (0,) and torch.ones(2, 3).topk(0).values.shape == (
        2,
        0,
    )
    assert x.topk(1, 0).indices.tolist() == [[0, 1]]


def test_gradients_go_to_where_elements_came_from() -> None:
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    weight = torch.tensor([1.0, 10.0, 100.0])
    (x.sort().values * weight).sum().backward()
    assert x.grad.tolist() == [100, 1, 10]
    x.grad = None
    (x.topk(2).values * weight[:2]).sum().backward()
    assert x.grad.tolist() == [1, 0, 10]
    x.grad = None
    (torch.msort(x) * weight).sum().backward()
    assert x.grad.tolist() == [100, 1, 10]


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: torch.tensor([1j]).sort(),
            RuntimeError,
            "Sort does not support complex dtypes on CPU",
        ),
        (lambda: torch.ones(3).topk(4), RuntimeError, "selected index k out of range"),
        (
            lambda: torch.tensor([True]).topk(1),
            RuntimeError,
            "topk does not support bool dtypes on CPU",
        ),
        (lambda: torch.ones(3).sort(4), IndexError, "Dimension out of range"),
    ],
)
def test_errors(call, kind, text) -> None:
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("bits", [0, 6, 20, 31])
def test_long_rows_are_sorted_as_short_ones_are(bits: int, dtype: type, descending: bool) -> None:
    rng = np.random.default_rng(bits)
    low, high = (
        (0, min(1 << bits, 256)) if dtype is np.uint8 else (-(1 << bits) // 2, (1 << bits) // 2 + 1)
    )
    data = rng.integers(low, max(high, low + 1), (1, 40000)).astype(dtype)
    if np.dtype(dtype).kind == "f":
        data[0, ::7], data[0, 3::70] = -0.0, nan
    values, indices = torch.tensor(data).sort(1, descending=descending)
    places = np.arange(data.size)
    keys = (
        np.where(np.isnan(data[0]), inf, data[0])
        if np.dtype(dtype).kind == "f"
        else data[0].astype(np.int64)
    )
    expected = np.lexsort((places, -keys if descending else keys))
    np.testing.assert_array_equal(indices.numpy()[0], expected)
    np.testing.assert_array_equal(values.numpy()[0], data[0][expected])


def test_sixty_four_bits_are_sorted_in_long_rows() -> None:
    info = np.iinfo(np.int64)
    data = np.random.default_rng(0).integers(info.min, info.max, 40000)
    np.testing.assert_array_equal(
        torch.tensor(data).argsort().numpy(), np.argsort(data, kind="stable")
    )
    small = data >> 20
    np.testing.assert_array_equal(
        torch.tensor(small).argsort().numpy(), np.argsort(small, kind="stable")
    )


@pytest.mark.parametrize("sizes", [(40, 90), (9000,)])
def test_the_largest_of_sixty_four_bits(sizes: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).integers(-(2**62), 2**62, sizes)
    x.reshape(-1)[:2] = 2**63 - 1, -(2**63)
    for t in (torch.tensor(x), torch.tensor(x.astype(float))):
        found = torch.topk(t, 3)
        assert found.values.tolist() == np.sort(t.numpy())[..., :-4:-1].tolist()
        assert torch.take_along_dim(t, found.indices, -1).tolist() == found.values.tolist()
        assert (
            torch.topk(t, 3, largest=False).values.tolist() == np.sort(t.numpy())[..., :3].tolist()
        )
