"""An operator computed, and given, in another dtype than that of its operands."""

from __future__ import annotations

import re
from typing import Any

import jtorch as torch

from .._src.aten.overloads import OpOverload
from .._src.refusals import stand_ins as _refusals
from ..core import Tensor
from .operators import OPERATORS, HigherOrderOperator

__all__ = ["out_dtype"]

_ALLOWED = (
    "linear.default", "mm.default", "conv2d.default", "convolution.default", "mul.Tensor",
    "mul.Scalar", "div.Tensor", "div.Scalar",
)  # fmt: skip


def _wide(x: object, dtype: torch.dtype) -> object:
    return x.to(torch.promote_types(x.dtype, dtype)) if isinstance(x, Tensor) else x


class _WithoutGradient(torch.autograd.Function):
    """The call, through which no gradient passes."""

    @staticmethod
    def forward(ctx: Any, op: Any, dtype: torch.dtype, *args: Any) -> Tensor:
        """Computes in the wider of the operands' and the result's dtype."""
        del ctx
        return op(*[_wide(x, dtype) for x in args]).to(dtype)

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        """There is none.

        Raises:
            RuntimeError: always.
        """
        del ctx
        raise RuntimeError("Autograd not implemented for out_dtype")


def _run(op: Any, output_dtype: torch.dtype, *args: Any) -> Tensor:
    if not isinstance(op, OpOverload):
        raise ValueError("out_dtype's first argument must be an OpOverload")
    if op._schema.is_mutable:
        raise ValueError("out_dtype's first argument needs to be a functional operator")
    returns = [re.sub(r"^(.+)\[\]$", r"List[\1]", str(r.type)) for r in op._schema.returns]
    if returns != ["Tensor"]:
        raise ValueError(
            "out_dtype's can only apply to ops that return a single tensor"
            f"Instead got [{', '.join(returns)}]"
        )
    allowed = [
        getattr(getattr(torch.ops.aten, name), overload)
        for name, _, overload in (path.partition(".") for path in _ALLOWED)
    ]
    if op not in allowed:
        raise ValueError(f"out_dtype only allows the following operators: {allowed}.")
    if torch.is_grad_enabled() and any(isinstance(x, Tensor) and x.requires_grad for x in args):
        return _WithoutGradient.apply(op, output_dtype, *args)
    return op(*[_wide(x, output_dtype) for x in args]).to(output_dtype)


def _declared() -> HigherOrderOperator:
    """``out_dtype(op, dtype, *args)``: what an operator gives in ``dtype``, in which it is
    computed, too: ``out_dtype(torch.ops.aten.mm.default, torch.int32, a, b)`` of bytes does not
    wrap around. Traces show the conversions and the operator.

    Raises:
        ValueError: for what is no operator, or not one of products, quotients and convolutions.
    """
    found = HigherOrderOperator("out_dtype", _run)
    OPERATORS["out_dtype"] = found
    torch.ops.higher_order.out_dtype = found
    return found


out_dtype = _declared()

__getattr__ = _refusals.missing(__name__)
