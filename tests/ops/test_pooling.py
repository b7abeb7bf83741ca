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
