"""How PyTorch's compiler writes operators as loops, which XLA does here: what programs register is
kept by nobody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from jtorch._src.refusals import stand_ins as _refusals

Function = TypeVar("Function", bound=Callable[..., Any])


def register_lowering(
    aten_fn: object, broadcast: bool = False, **kwargs: object
) -> Callable[[Function], Function]:
    """A decorator that gives its function: operators are compiled as their own kernels compute
    them, which have the same results.

    Args:
        aten_fn: the operator.
        broadcast: as in PyTorch.
        kwargs: as in PyTorch.
    """
    del aten_fn, broadcast, kwargs
    return lambda function: function


__getattr__ = _refusals.missing(__name__)
