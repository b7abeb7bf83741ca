"""The ``vmap`` that PyTorch's autograd uses itself: ``torch.func.vmap``, whose function may give None."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import MODE
from .batching import vmap
from .trees import flatten, unflatten


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Callable[..., Any]:
    """``vmap(func)``; with ``allow_none_pass_through`` results that are None stay None."""

    def run(*args: Any) -> Any:
        shape: list[Any] = []

        def some(*inner: Any) -> Any:
            flat, spec = flatten(func(*inner))
            shape[:] = [spec, [x is None and allow_none_pass_through for x in flat]]
            return tuple([x for x, missing in zip(flat, shape[1], strict=True) if not missing])

        MODE.batching += 1
        try:
            found = iter(vmap(some, in_dims, out_dims)(*args))
        finally:
            MODE.batching -= 1
        return unflatten([None if missing else next(found) for missing in shape[1]], shape[0])

    return run
