"""Pooling: what is refused."""

from __future__ import annotations

import pytest

import jtorch as torch


@pytest.mark.parametrize("n", [1, 2, 3])
def test_adaptive_pooling_needs_channels(n: int) -> None:
    x = torch.ones((1, 0) + (5,) * n)
    for kind in ("max", "avg") if n == 3 else ("max",):
        with pytest.raises(RuntimeError, match="with dimension 1 being empty"):
            getattr(torch.nn.functional, f"adaptive_{kind}_pool{n}d")(x, 2)
    assert getattr(torch.nn.functional, f"adaptive_max_pool{n}d")(torch.ones((0, 3) + (5,) * n), 2).shape == (0, 3) + (2,) * n


@pytest.mark.parametrize("n", [1, 2, 3])
def test_sizes_that_no_unpooled_tensor_can_have(n: int) -> None:
    x, places = torch.ones((1, 1) + (2,) * n), torch.zeros((1, 1) + (2,) * n, dtype=torch.int64)
    unpool = getattr(torch.nn.functional, f"max_unpool{n}d")
    with pytest.raises(ValueError, match=r"must contain non-negative spatial dimensions, but got output_size\[0\]=-"):
        unpool(x, places, 2, 2, 2**40)
    with pytest.raises(TypeError, match="Overflow when unpacking long long"):
        unpool(x, places, 2, 2, -(2**62))
    with pytest.raises(RuntimeError, match="overflow"):
        unpool(x, places, 2, 2**62)
    assert unpool(x, places, 0, 1, 0, output_size=[1] * n).shape == (1, 1) + (1,) * n
    assert unpool(x, places, 2, 2, 2).shape == (1, 1) + (0,) * n
