"""What the host tier takes a dtype for."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from jtorch._src.engine.host.kinds import kind


def test_kinds() -> None:
    # Copies are equal to the dtype itself, but NumPy does not count them among its own.
    ordinary = (
        np.float32,
        np.dtype("f4", copy=True),
        np.dtype("c16", copy=True),
        np.dtype("i8", copy=True),
        np.bool_,
    )
    assert [kind(d) for d in ordinary] == ["f", "f", "c", "i", "b"]
    halves = (np.float16, np.dtype("f2", copy=True), ml_dtypes.bfloat16)
    assert [kind(d) for d in halves] == ["h", "h", "h"]
    assert [kind(d) for d in (ml_dtypes.float8_e4m3fn, ml_dtypes.int4)] == ["", ""]
