"""The dense tensor that a sparse one was made of, so that derivatives reach the elements which it
does not specify.

The history of a sparse tensor is that of its values. That is all where PyTorch's gradient has the
specified elements only (``sparse.mm``, ``to_dense``, products of sparse tensors). That of a matrix
product, a sum or ``dense + sparse`` has all elements there: where the operand was made of a dense
tensor by ``to_sparse`` and its like, these functions give it to that tensor, past the values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch

from ..autograd.function import Function
from ..autograd.grad_mode import MODE
from ..core import Tensor
from ._tensor import SparseTensor, like

if TYPE_CHECKING:
    from .._src.facts.kinds import Decorator
    from ..autograd.function_node import FunctionCtx


# to a type checker, the Tensor of the stubs is another class than that of the core
torch: Any = jtorch


class _Unmasked(Function):
    """A result whose gradient a formula turns into that of a dense tensor as well."""

    @staticmethod
    def forward(
        ctx: Any,
        found: Tensor,
        whole: object,
        formula: Callable[..., object],
        *more: object,
    ) -> Any:
        """``found``; the formula takes its gradient and ``more``."""
        ctx.formula = formula
        ctx.save_for_backward(*more)
        return found.view_as(found)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: object) -> Any:
        """The gradients of both."""
        more = ctx.saved_tensors
        return (grad, ctx.formula(grad, *more), None, *[None for _ in more])


def whole_of(t: Tensor) -> Tensor | None:
    """The dense tensor that has the history of all elements; None where nothing is recorded, or
    only the values have one."""
    if not MODE.enabled:
        return None
    whole = t._whole if isinstance(t, SparseTensor) else t
    return whole if isinstance(whole, Tensor) and whole.requires_grad else None


def following(
    follows: Callable[..., object] | None = None,
) -> Decorator:
    """Decorator of a function that gives a sparse tensor: ``follows`` does the same to the dense
    tensor that the operand was made of.

    It may give None where it cannot; without it the dense tensor is the same.
    """

    def decorate(body: Callable[..., Any]) -> Callable[..., object]:
        def run(input: Tensor, *args: object, **kwargs: Any) -> Any:
            found = body(input, *args, **kwargs)
            if (
                found is not input
                and isinstance(found, SparseTensor)
                and (whole := whole_of(input)) is not None
            ):
                found._whole = whole if follows is None else follows(whole, *args, **kwargs)
            return found

        run.__name__, run.__doc__ = body.__name__, body.__doc__
        return run

    return decorate


def bare(t: object) -> Any:
    """A sparse tensor of which nobody knows what it was made of; others as they are."""
    return like(t, t._vals) if isinstance(t, SparseTensor) and t._whole is not None else t


def through(
    compute: Callable[..., object], s: SparseTensor, formula: Callable[..., object], *more: object
) -> Any:
    """``compute(s)``, a dense tensor, where ``formula`` gives the gradient of all elements of ``s``
    from the result's and from ``more``."""
    whole = whole_of(s)
    if whole is None:
        return compute(s)
    return _Unmasked.apply(compute(like(s, s._vals.detach())), whole, formula, *more)
