"""``_int_mm``: products of bytes are exact, although they are computed with floats."""

from __future__ import annotations

import numpy as np
import pytest

import jtorch as torch


@pytest.mark.parametrize("inner", [0, 3, 257, 258, 259, 1024, 1025, 2051])
@pytest.mark.parametrize("left", [np.int8, np.uint8])
@pytest.mark.parametrize("right", [np.int8, np.uint8])
def test_the_largest_sums_are_exact(inner: int, left: type, right: type) -> None:
    """Around the numbers of products whose sum a float still has exactly; odd ones make sums that
    are no multiples of a power of two."""
    random = np.random.default_rng(0)
    for extreme in (True, False):
        operands = []
        for dtype, shape in ((left, (3, inner)), (right, (inner, 5))):
            low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
            values = (
                np.full(shape, high if dtype is np.uint8 else low)
                if extreme
                else random.integers(low, high + 1, shape)
            )
            if extreme and values.size:
                values.flat[0] += 1 if low else -1
            operands.append(values.astype(dtype))
        found = torch._int_mm(*[torch.from_numpy(x) for x in operands])
        assert found.dtype is torch.int32
        assert (found.numpy() == operands[0].astype(np.int64) @ operands[1].astype(np.int64)).all()
