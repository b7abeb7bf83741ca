"""Numbers that are compared with elements, and must fit their dtype."""

from __future__ import annotations

import numpy as np

from ..facts.errors import check_scalar
from .indexing import check_fits


def check_bound(value: float, dtype: np.dtype) -> None:
    """Refuses a number that the dtype of the elements it is compared with cannot hold.

    Raises:
        OverflowError: for an int beyond 64 bits, signed or not.
        RuntimeError: for others.
    """
    if isinstance(value, int):
        check_scalar(value)
    check_fits(value, dtype)
