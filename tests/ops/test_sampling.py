"""Images sampled in C: the bits of the same formulas in NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from jtorch._src.ops import grid_sampling

pytestmark = pytest.mark.skipif(
    grid_sampling._native is None, reason="the extension was not built: no compiler"
)
R = np.random.RandomState(0)


def _bits(x: np.ndarray) -> np.ndarray:
    """The bits, of one NaN and one zero for all."""
    x = np.where(np.isnan(x), np.asarray(np.nan, x.dtype), x) + x.dtype.type(0)
    return x.view(f"u{x.itemsize}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [(5, 7), (1, 4), (40, 33), (6, 5, 4), (1, 1, 3)])
def test_places_inside_outside_and_nowhere(size: tuple[int, ...], dtype: str) -> None:
    modes = [grid_sampling.BILINEAR, grid_sampling.NEAREST, grid_sampling.BICUBIC][: 5 - len(size)]
    for mode, padding, corners in itertools.product(modes, range(3), range(2)):
        for batch, channels, points in ((2, 3, 50), (1, 1, 300), (1, 0, 5)):  # more than a tile
            x = R.randn(batch, channels, *size).astype(dtype)
            grid = (R.rand(batch, points, len(size)) * 3.4 - 1.7).astype(dtype)
            grid.reshape(-1)[[0, 3, 5, 6, 7, 8]] = [np.nan, np.inf, -np.inf, 1e30, 1, -1]
            x.reshape(-1)[:2] = [np.inf, np.nan][: x.size]
            given = mode, padding, corners
            with np.errstate(all="ignore"):
                wanted = grid_sampling._by_numpy(*given)(x, grid)
            found = grid_sampling._native(x, grid, *given)
            assert found.dtype == wanted.dtype and found.shape == wanted.shape
            np.testing.assert_array_equal(_bits(found), _bits(wanted), str(given))
            # other strides are no matter
            turned = np.asarray(x[..., ::-1], order="F")[..., ::-1]
            again = grid_sampling._native(turned, np.asarray(grid, order="F"), *given)
            np.testing.assert_array_equal(_bits(again), _bits(wanted))


def test_arrays_that_cannot_be_sampled_are_refused() -> None:
    x, grid = np.ones((1, 2, 3, 3)), np.ones((1, 4, 2))
    for given in [
        (x.astype("f"), grid, 0, 0, 0), (x.astype(int), grid.astype(int), 0, 0, 0),
        (x[0], grid, 0, 0, 0), (x, grid[0], 0, 0, 0), (x, np.ones((1, 4, 3)), 0, 0, 0),
        (x, np.ones((2, 4, 2)), 0, 0, 0), (x, grid, 3, 0, 0),
        (np.ones((1, 2, 3, 3, 3)), np.ones((1, 4, 3)), 2, 0, 0), (x[:, :, :0], grid, 0, 0, 0),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match="sampled"):
            grid_sampling._native(*given)
