"""``nn.init``: distributions, gains and errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

import jtorch as torch
from jtorch.nn import init


def values(t: torch.Tensor) -> np.ndarray:
    return t.detach().numpy()


@pytest.mark.parametrize(
    ("name", "gain"),
    [("linear", 1), ("conv_transpose2d", 1), ("sigmoid", 1), ("tanh", 5 / 3),
     ("relu", math.sqrt(2)), ("selu", 0.75),
     ("leaky_relu", math.sqrt(2 / (1 + 0.01**2)))],
)  # fmt: skip
def test_gain(name: str, gain: float) -> None:
    assert init.calculate_gain(name) == pytest.approx(gain)


def test_gain_errors() -> None:
    assert init.calculate_gain("leaky_relu", 1) == 1
    with pytest.raises(ValueError, match="Unsupported nonlinearity x"):
        init.calculate_gain("x")
    with pytest.raises(ValueError, match="negative_slope True not a valid number"):
        init.calculate_gain("leaky_relu", True)


@pytest.mark.parametrize(
    ("function", "bound"),
    [
        (lambda t: init.xavier_uniform_(t, 2.0), 2 * math.sqrt(6 / (40 * 9 + 50 * 9))),
        (init.kaiming_uniform_, math.sqrt(6 / (40 * 9))),
        (
            lambda t: init.kaiming_uniform_(t, mode="fan_out", nonlinearity="linear"),
            math.sqrt(3 / (50 * 9)),
        ),
        (lambda t: init.uniform_(t, -3, 3), 3),
    ],
)
def test_uniform_bounds(function: object, bound: float) -> None:
    drawn = np.abs(values(function(torch.empty(50, 40, 3, 3)))).max()
    assert 0.99 * bound < drawn <= bound


@pytest.mark.parametrize(
    ("function", "std"),
    [
        (init.xavier_normal_, math.sqrt(2 / 500)),
        (lambda t: init.kaiming_normal_(t, nonlinearity="relu"), math.sqrt(2 / 200)),
        (lambda t: init.normal_(t, 0.0, 3.0), 3),
    ],
)
def test_normal_deviations(function: object, std: float) -> None:
    torch.manual_seed(0)
    assert values(function(torch.empty(300, 200))).std() == pytest.approx(std, rel=0.02)


@pytest.mark.parametrize(
    ("mean", "std", "a", "b"), [(0, 1, -2, 2), (0, 1, 1, 3), (3, 0.5, 2, 2.5), (0, 0.02, -2, 2)]
)
def test_truncated_normal(mean: float, std: float, a: float, b: float) -> None:
    torch.manual_seed(0)
    drawn = values(init.trunc_normal_(torch.empty(4000), mean, std, a, b))
    assert drawn.min() >= a
    assert drawn.max() <= b
    grid = np.linspace(max(a, mean - 8 * std), min(b, mean + 8 * std), 20001)
    density = np.exp(-0.5 * ((grid - mean) / std) ** 2)
    expected = (grid * density).sum() / density.sum()
    assert drawn.mean() == pytest.approx(expected, abs=4 * std / math.sqrt(4000))


def test_constants() -> None:
    assert init.ones_(torch.empty(2)).tolist() == [1, 1]
    assert init.zeros_(torch.empty(2)).tolist() == [0, 0]
    assert init.constant_(torch.empty(2), 0.5).tolist() == [0.5, 0.5]
    assert init.eye_(torch.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]


def test_dirac_keeps_the_input() -> None:
    weight = init.dirac_(torch.empty(4, 2, 3), groups=2)
    x = torch.arange(2 * 4 * 5.0).reshape(2, 4, 5)
    out = torch.nn.functional.conv1d(x, weight, padding=1, groups=2)
    assert (out == x).all()
    with pytest.raises(ValueError, match="dim 0 must be divisible by groups"):
        init.dirac_(torch.empty(3, 2, 3), groups=2)


@pytest.mark.parametrize("shape", [(5, 5), (3, 7), (6, 2, 2)])
def test_orthogonal(shape: tuple[int, ...]) -> None:
    q = values(init.orthogonal_(torch.empty(shape), gain=2.0)).reshape(shape[0], -1) / 2
    small = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
    np.testing.assert_allclose(small, np.eye(len(small)), atol=1e-5)


def test_sparse() -> None:
    drawn = values(init.sparse_(torch.empty(10, 4), 0.3))
    assert ((drawn == 0).sum(0) == 3).all()


def test_errors_and_warnings() -> None:
    with pytest.raises(
        ValueError,
        match="Fan in and fan out can not be computed for tensor with fewer than 2 dimensions",
    ):
        init.xavier_uniform_(torch.empty(3))
    with pytest.raises(
        ValueError, match=r"Mode x not supported, please use one of \['fan_in', 'fan_out'\]"
    ):
        init.kaiming_normal_(torch.empty(2, 2), mode="x")
    with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op"):
        init.kaiming_uniform_(torch.empty(0, 2))
    with pytest.warns(
        FutureWarning, match="`nn.init.normal` is now deprecated in favor of `nn.init.normal_`"
    ):
        init.normal(torch.empty(1))
    with pytest.warns(UserWarning, match="mean is more than 2 std from"):
        init.trunc_normal_(torch.empty(3), mean=10.0, std=1.0, a=6.0, b=7.0)


def test_no_history_and_same_object() -> None:
    p = torch.nn.Parameter(torch.empty(2, 2))
    assert init.kaiming_uniform_(p) is p
    assert p.grad_fn is None


def test_generator() -> None:
    drawn = [
        values(init.uniform_(torch.empty(3), generator=torch.Generator().manual_seed(4))).tolist()
        for _ in range(2)
    ]
    assert drawn[0] == drawn[1]
