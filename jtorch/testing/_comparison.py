"""The path of ``assert_close`` inside PyTorch, with the default tolerances of dtypes."""

from __future__ import annotations

import jtorch as torch

from .._src.refusals import stand_ins as _refusals
from .comparison import assert_allclose as assert_allclose
from .comparison import assert_close as assert_close
from .tensor_comparison import TOLERANCES

_DTYPE_PRECISIONS = dict(TOLERANCES)


def default_tolerances(
    *inputs: object, dtype_precisions: dict[torch.dtype, tuple[float, float]] | None = None
) -> tuple[float, float]:
    """The largest relative and absolute tolerance of the dtypes of ``inputs``, which are tensors or
    dtypes; 0 for integers and bool.

    Raises:
        TypeError: for another input.

    Example:
        >>> import jtorch as torch
        >>> from jtorch.testing._comparison import default_tolerances
        >>> default_tolerances(torch.zeros(1), torch.float64)
        (1.3e-06, 1e-05)
    """
    found = []
    for x in inputs:
        if not isinstance(x, (torch.Tensor, torch.dtype)):
            raise TypeError(f"Expected a torch.Tensor or a torch.dtype, but got {type(x)} instead.")
        found.append(x.dtype if isinstance(x, torch.Tensor) else x)
    known = _DTYPE_PRECISIONS if dtype_precisions is None else dtype_precisions
    relative, absolute = zip(*(known.get(d, (0.0, 0.0)) for d in found), strict=True)
    return max(relative), max(absolute)


def get_tolerances(
    *inputs: object, rtol: float | None, atol: float | None, id: tuple[object, ...] = ()
) -> tuple[float, float]:
    """``rtol`` and ``atol`` if both are given, the default ones of ``inputs`` if neither is.

    Raises:
        ValueError: if only one of them is given.
    """
    del id  # where in the compared containers the inputs are: only PyTorch's own errors tell
    if (rtol is None) ^ (atol is None):
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{'rtol' if rtol is None else 'atol'}."
        )
    return default_tolerances(*inputs) if rtol is None or atol is None else (rtol, atol)


__getattr__ = _refusals.missing(__name__)
