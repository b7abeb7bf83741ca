"""The ``vmap`` that PyTorch's autograd uses itself: ``torch.func.vmap``, whose function may give None."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _refusals
from .func import vmap
from .func.trees import flatten, unflatten


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Callable[..., Any]:
    """``vmap(func)``; with ``allow_none_pass_through`` results that are None stay None."""
    if not allow_none_pass_through:
        return vmap(func, in_dims, out_dims)

    def run(*args: Any) -> Any:
        shape: list[Any] = []

        def some(*inner: Any) -> Any:
            flat, spec = flatten(func(*inner))
            shape[:] = [spec, [x is None for x in flat]]
            return tuple([x for x in flat if x is not None])

        found = iter(vmap(some, in_dims, out_dims)(*args))
        return unflatten([None if missing else next(found) for missing in shape[1]], shape[0])

    return run


__getattr__ = _refusals.missing(__name__)
