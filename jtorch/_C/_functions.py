"""Nodes of the graph that programs name in ``torch._C._functions``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._src.refusals import stand_ins as _refusals
from ..autograd.accumulate import AccumulateGrad as AccumulateGrad
from ..autograd.function import Function
from ..core import Tensor as _Tensor

if TYPE_CHECKING:
    pass


class UndefinedGradBackward(Function):
    """The identity, whose gradient is nothing."""

    @staticmethod
    def forward(ctx: Any, *tensors: _Tensor) -> Any:
        """Copies of the tensors."""
        ctx.set_materialize_grads(False)
        found = tuple([t.view_as(t) for t in tensors])
        return found[0] if len(found) == 1 else found

    @staticmethod
    def backward(ctx: object, *grads: object) -> tuple[None, ...]:
        """None for each."""
        return (None,) * len(grads)


class UndefinedGrad:
    """Gives tensors whose gradients go nowhere."""

    def __call__(self, *tensors: object) -> _Tensor:
        return UndefinedGradBackward.apply(*tensors)


__getattr__ = _refusals.missing(__name__)
