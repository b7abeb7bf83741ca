"""Pooling: what is refused, where gradients go, and that nothing is computed twice."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.ops import _pooling


@pytest.mark.parametrize("n", [1, 2, 3])
def test_adaptive_pooling_needs_channels(n: int) -> None:
    x = torch.ones((1, 0) + (5,) * n)
    for kind in ("max", "avg") if n == 3 else ("max",):
        with pytest.raises(RuntimeError, match="with dimension 1 being empty"):
            getattr(torch.nn.functional, f"adaptive_{kind}_pool{n}d")(x, 2)
    assert (
        getattr(torch.nn.functional, f"adaptive_max_pool{n}d")(
            torch.ones((0, 3) + (5,) * n), 2
        ).shape
        == (0, 3) + (2,) * n
    )


@pytest.mark.parametrize("n", [1, 2, 3])
def test_sizes_that_no_unpooled_tensor_can_have(n: int) -> None:
    x, places = torch.ones((1, 1) + (2,) * n), torch.zeros((1, 1) + (2,) * n, dtype=torch.int64)
    unpool = getattr(torch.nn.functional, f"max_unpool{n}d")
    with pytest.raises(
        ValueError,
        match=r"must contain non-negative spatial dimensions, but got output_size\[0\]=-",
    ):
        unpool(x, places, 2, 2, 2**40)
    with pytest.raises(TypeError, match="Overflow when unpacking long long"):
        unpool(x, places, 2, 2, -(2**62))
    with pytest.raises(RuntimeError, match="overflow"):
        unpool(x, places, 2, 2**62)
    assert unpool(x, places, 0, 1, 0, output_size=[1] * n).shape == (1, 1) + (1,) * n
    assert unpool(x, places, 2, 2, 2).shape == (1, 1) + (0,) * n


#: Size, kernel, stride, padding, dilation of windows that overlap, leave gaps, or end before the
#: input does.
WINDOWS = {
    "overlapping": ((7, 6), (3, 3), (1, 1), (1, 1), (1, 1)),
    "strided": ((8, 9), (3, 2), (2, 2), (1, 0), (1, 1)),
    "dilated": ((9, 9), (3, 3), (2, 1), (1, 1), (2, 3)),
    "with gaps": ((9, 8), (2, 2), (4, 3), (0, 1), (1, 1)),
    "one dimension": ((11,), (5,), (2,), (2,), (1,)),
    "three dimensions": ((5, 4, 6), (2, 3, 2), (1, 2, 1), (1, 1, 0), (1, 1, 2)),
}


def windows(case: str) -> _pooling.Windows:
    size, kernel, stride, padding, dilation = WINDOWS[case]
    out = tuple(
        _pooling.out_size(*numbers, False)
        for numbers in zip(size, kernel, stride, padding, dilation, strict=True)
    )
    return _pooling.Windows(size, kernel, stride, padding, dilation, out)


@pytest.mark.parametrize("case", WINDOWS)
def test_gradients_go_to_the_elements_that_were_the_maxima(case: str) -> None:
    win = windows(case)
    r = np.random.RandomState(0)
    x, g = r.randn(2, 3, *win.size).astype("float32"), r.randn(2, 3, *win.out).astype("float32")
    best, tap = _pooling.window_argmax(x, win)
    wanted = np.zeros((6, int(np.prod(win.size))), "float32")
    places = np.asarray(_pooling.flat_index(tap, win)).reshape(6, -1)
    for row, at, share in zip(wanted, places, g.reshape(6, -1), strict=True):
        np.add.at(row, at, share)
    np.testing.assert_array_equal(
        np.take_along_axis(x.reshape(6, -1), places, 1), np.asarray(best).reshape(6, -1)
    )
    np.testing.assert_array_equal(best, _pooling.window_max(x, win))
    np.testing.assert_allclose(
        np.asarray(_pooling.spread_to_tap(g, tap, win)).reshape(6, -1), wanted, rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("case", WINDOWS)
def test_what_windows_share_is_made_once(case: str) -> None:
    win = windows(case)
    x, g = np.zeros((2, 3, *win.size), np.float32), np.zeros((2, 3, *win.out), np.float32)
    tap = np.zeros(g.shape, np.int32)
    assert (
        str(jax.make_jaxpr(lambda g, tap: _pooling.spread_to_tap(g, tap, win))(g, tap)).count(
            "pad["
        )
        == 2
    )
    for taken in (_pooling.window_max, _pooling.window_argmax):
        assert "optimization_barrier" in str(
            jax.make_jaxpr(lambda x, taken=taken: taken(x, win))(x)
        )


def test_the_last_place_outside_an_unpooled_tensor_is_named() -> None:
    x, places = torch.zeros(1, 1, 4), torch.tensor([[[0, 9, 8, 3]]])
    with pytest.raises(RuntimeError, match=r"invalid max index: 8 \("):
        torch.nn.functional.max_unpool1d(x, places, 2)
    with pytest.raises(RuntimeError, match=r"invalid max index: -1 \("):
        torch.nn.functional.max_unpool1d(x, places - 9 * (places == 8), 2)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("kind", ["avg", "max"])
def test_no_windows_have_no_gradient(n: int, kind: str) -> None:
    x = torch.ones((2, 3) + (4,) * n, requires_grad=True)
    pool = getattr(torch.nn.functional, f"adaptive_{kind}_pool{n}d")
    y = pool(x, 0).sum()
    found = "2, 3, 1, 0" if n == 1 else f"2, 3{', 0' * n}"
    with pytest.raises(
        RuntimeError,
        match=rf"adaptive_{kind}_pool{max(n, 2)}d_backward\(\): Expected grad_output to have "
        rf"non-zero size for non-batch dimensions, but grad_output has sizes \[{found}\]",
    ):
        y.backward()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_unpooling_with_arguments_of_other_lengths(n: int) -> None:
    x, places = torch.ones((1, 1) + (1,) * n), torch.zeros((1, 1) + (1,) * n, dtype=torch.int64)
    unpool = getattr(torch.nn.functional, f"max_unpool{n}d")
    with pytest.raises(RuntimeError, match="There should be exactly"):
        unpool(x, places, (1,) * (n - 1))
    for args in (((1,) * (n + 1),), (1, (1,) * (n - 1)), (1, 1, (0,) * (n - 1))):
        with pytest.raises(IndexError, match="tuple index out of range"):
            unpool(x, places, *args)
    if n == 3:
        with pytest.raises(RuntimeError, match="in stride, but got: 4 elements"):
            unpool(x, places, 1, (1,) * 4)
    else:
        assert unpool(x, places, 1, (1,) * (n + 1)).shape == x.shape
