"""Numbers that are compared with elements, and must fit their dtype."""

from __future__ import annotations

import numpy as np

from ..facts import dtypes
from ..facts.errors import CPP_NAMES, check_scalar
from ._fitting import check_fits


def check_real(value: object, dtype: np.dtype) -> None:
    """Refuses a complex number, or an array of one, where the elements that it meets are real.

    Raises:
        RuntimeError: in torch's words.
    """
    if isinstance(value, complex) or getattr(value, "dtype", dtype).kind == "c":
        name = dtypes.from_np(dtype).scalar_name
        raise RuntimeError(f"value cannot be converted to type {CPP_NAMES[name]} without overflow")


def check_bound(value: float, dtype: np.dtype) -> None:
    """Refuses a number that the dtype of the elements it is compared with cannot hold.

    Raises:
        OverflowError: for an int beyond 64 bits, signed or not.
        RuntimeError: for others.
    """
    check_real(value, dtype)
    if isinstance(value, int):
        check_scalar(value)
    check_fits(value, dtype)
