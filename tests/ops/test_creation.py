"""Factory kernels and the public factories made of them: shapes, dtypes, values, limits."""

from __future__ import annotations

import numpy as np
import pytest

import jtorch as torch
from jtorch.signal import windows


def test_constants() -> None:
    assert torch.zeros(2, 3).tolist() == [[0.0] * 3] * 2
    assert torch.ones((2,), dtype=torch.int64).tolist() == [1, 1]
    assert torch.zeros(()).shape == ()
    assert torch.empty(2, 0).shape == (2, 0)
    with pytest.raises(RuntimeError, match="zeros: Dimension size must be non-negative"):
        torch.zeros(2, -1)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (3, torch.int64),
        (3.5, torch.float32),
        (True, torch.bool),
        (1j, torch.complex64),
        (-1, torch.int64),
    ],
)
def test_full_takes_the_dtype_of_its_number(value, dtype: torch.dtype) -> None:
    found = torch.full((2,), value)
    assert found.dtype is dtype
    assert found.tolist() == [value, value]


def test_full_refuses_what_does_not_fit() -> None:
    assert torch.full((1,), -1, dtype=torch.uint8).tolist() == [255]
    with pytest.raises(
        RuntimeError, match="value cannot be converted to type uint8_t without overflow"
    ):
        torch.full((2,), 300, dtype=torch.uint8).tolist()
    with pytest.raises(
        RuntimeError, match="value cannot be converted to type float without overflow"
    ):
        torch.full((2,), 1j, dtype=torch.float32)
    assert torch.full((1,), float("inf")).tolist() == [float("inf")]


@pytest.mark.parametrize(
    "args", [(5,), (1, 5), (1, 9, 3), (5, 0, -2), (0, 0), (0.0, 1.0, 0.25), (1.5,), (-1, 1, 0.5)]
)
def test_arange_follows_python_and_numpy(args) -> None:
    found = torch.arange(*args)
    assert found.dtype is (torch.int64 if all(type(a) is int for a in args) else torch.float32)
    np.testing.assert_allclose(found.numpy(), np.arange(*args).astype(found.numpy().dtype))


def test_arange_by_keyword_and_dtype() -> None:
    assert torch.arange(end=3).tolist() == [0, 1, 2]
    assert torch.arange(1, end=3).tolist() == [1, 2]
    assert torch.arange(start=1, end=4, step=2).tolist() == [1, 3]
    assert torch.arange(3, dtype=torch.float16).dtype is torch.float16
    assert torch.arange(0.5, 3.5, dtype=torch.int64).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("args", "error", "words"),
    [
        ((5, 1), RuntimeError, "upper bound and lower bound inconsistent with step sign"),
        ((1, 5, 0), RuntimeError, "step must be nonzero"),
        ((float("inf"),), RuntimeError, "unsupported range: 0 -> inf"),
        (("a",), TypeError, "arange(): argument 'end' (position 1) must be Number, not str"),
        ((), TypeError, "arange() received an invalid combination of arguments - got ()"),
    ],
)
def test_arange_refuses(args, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        torch.arange(*args)
    assert words in str(caught.value)


def test_range_includes_its_end_and_warns() -> None:
    with pytest.warns(UserWarning, match="torch.range is deprecated"):
        assert torch.range(0, 3).tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("steps", [0, 1, 2, 5, 100])
def test_lines_follow_numpy(steps: int) -> None:
    np.testing.assert_allclose(
        torch.linspace(-3, 7.5, steps).numpy(), np.linspace(-3, 7.5, steps), rtol=1e-6, atol=1e-6
    )
    np.testing.assert_allclose(
        torch.logspace(-1, 2, steps, 2).numpy(), np.logspace(-1, 2, steps, base=2), rtol=1e-5
    )


def test_lines_end_exactly_and_cut_integers() -> None:
    there, back = torch.linspace(0.1, 0.7, 100), torch.linspace(0.7, 0.1, 100)
    assert torch.equal(there, back.flip(0))  # each half is counted from its own end
    assert torch.linspace(0, 10, 5, dtype=torch.int64).tolist() == [0, 2, 5, 7, 10]
    assert torch.logspace(0, 3, 4, dtype=torch.int64).tolist() == [1, 10, 100, 1000]
    with pytest.raises(ValueError, match="step must be nonzero"):
        torch.arange(0, 3, 0.5, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="number of steps must be non-negative"):
        torch.linspace(0, 1, -1)


def test_lines_of_halves_round_each_step() -> None:
    # not 0.3 rounded
    assert torch.linspace(0, 1, 11, dtype=torch.float16)[3].item() == 0.2998046875
    assert torch.linspace(2, 3, 1, dtype=torch.bfloat16).tolist() == [2.0]


def test_eye_and_triangle_positions() -> None:
    np.testing.assert_array_equal(torch.eye(2, 3).numpy(), np.eye(2, 3))
    assert torch.tril_indices(2, 3).tolist() == [[0, 1, 1], [0, 0, 1]]
    assert torch.triu_indices(2, 3, 1).tolist() == [[0, 0, 1], [1, 2, 2]]
    with pytest.raises(RuntimeError, match="n must be greater or equal to 0, got -1"):
        torch.eye(-1)


@pytest.mark.parametrize("name", ["hann", "hamming", "blackman", "bartlett"])
def test_windows_follow_numpy(name: str) -> None:
    numpy_name = "hanning" if name == "hann" else name
    found = getattr(torch, f"{name}_window")
    np.testing.assert_allclose(
        found(7, False, dtype=torch.float64).numpy(), getattr(np, numpy_name)(7), atol=1e-12
    )
    np.testing.assert_allclose(
        found(6, dtype=torch.float64).numpy(), getattr(np, numpy_name)(7)[:-1], atol=1e-12
    )
    assert found(1).tolist() == [1.0]
    assert found(0).shape == (0,)


def test_kaiser_window_follows_numpy() -> None:
    np.testing.assert_allclose(
        torch.kaiser_window(7, False, 6.0, dtype=torch.float64).numpy(),
        np.kaiser(7, 6.0),
        atol=1e-12,
    )
    np.testing.assert_allclose(
        windows.kaiser(7, beta=6.0, dtype=torch.float64).numpy(), np.kaiser(7, 6.0), atol=1e-12
    )


def test_like_another_tensor() -> None:
    x = torch.zeros(2, 3, dtype=torch.float64)
    assert torch.ones_like(x).dtype is torch.float64
    assert torch.zeros_like(x, dtype=torch.int64).dtype is torch.int64
    assert torch.full_like(torch.tensor([1, 2]), 2.7).tolist() == [2, 2]
    assert x.new_zeros(4).dtype is torch.float64
    assert x.new_full((2,), 7).tolist() == [7.0, 7.0]
    assert x.new_tensor([1, 2]).dtype is torch.float64
    assert x.new_ones((2, 1), dtype=torch.int64).tolist() == [[1], [1]]


def test_memory_order() -> None:
    assert torch.empty_strided((2, 3), (1, 2)).stride() == (1, 2)
    assert torch.empty_permuted((2, 3, 5), (0, 2, 1)).stride() == (15, 1, 3)
    with pytest.raises(RuntimeError, match="Duplicate dim not allowed"):
        torch.empty_permuted((2, 3), (0, 0))


def test_gradients_on_request() -> None:
    assert torch.ones(2, requires_grad=True).requires_grad
    with pytest.raises(RuntimeError, match="can require gradients"):
        torch.ones(2, dtype=torch.int64, requires_grad=True)


def test_lines_between_tensors_have_no_history() -> None:
    end = torch.tensor(0.5, requires_grad=True)
    for made, wanted in (
        (torch.linspace(0, end, 3), [0.0, 0.25, 0.5]),
        (torch.linspace(end * 2, torch.tensor(3.0), 3), [1.0, 2.0, 3.0]),
        (torch.logspace(end * 2, 2, 2), [10.0, 100.0]),
    ):
        assert made.tolist() == wanted
        assert not made.requires_grad
