"""``autograd.Function`` on nested tensors: forward and backward see nested tensors, autograd the
values that carry their history."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jtorch import Tensor
from jtorch.autograd import Function

from .tensor import Nested

if TYPE_CHECKING:
    from ..._src.facts.kinds import Operand, Tree
    from ...autograd.function_node import FunctionCtx


__all__ = ["apply"]


class _Context:
    """The context that the user's methods see: that of the values, with nested tensors saved as
    they came."""

    def __init__(self, inner: object, nested_inputs: Sequence[object]) -> None:
        vars(self).update(_inner=inner, _made={}, _inputs=nested_inputs, _likes=(), _ignored=())

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["_inner"], name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._inner, name, value)

    def save_for_backward(self, *tensors: object) -> None:
        """Keeps tensors for backward; of nested ones the values, and what to wrap them in."""
        vars(self)["_likes"] = tuple([x._like if isinstance(x, Nested) else None for x in tensors])
        self._inner.save_for_backward(*[_inside(x) for x in tensors])

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]:
        """What was saved."""
        return tuple(
            [
                x if like is None else like(x)
                for like, x in zip(self._likes, self._inner.saved_tensors, strict=True)
            ]
        )

    def mark_dirty(self, *tensors: object) -> None:
        """Says which inputs were changed in place."""
        self._inner.mark_dirty(*[_inside(x) for x in tensors])

    def mark_non_differentiable(self, *tensors: object) -> None:
        """Says which outputs have no gradient."""
        self._inner.mark_non_differentiable(*[_inside(x) for x in tensors])


def _inside(x: object) -> Operand:
    return x._values if isinstance(x, Nested) else x


@functools.cache
def _on_values(function: type[Function]) -> type[Function]:
    """A Function of values that does what another one does on nested tensors."""

    def forward(
        ctx: Any,
        likes: tuple[Any, ...],
        found: list[object],
        *args: object,
    ) -> Any:
        own = _Context(ctx, likes)
        nested = [x if like is None else like(x) for like, x in zip(likes, args, strict=True)]
        ctx.needs_input_grad = ctx.needs_input_grad[2:]
        if function.setup_context is not Function.setup_context:
            output = function.forward(*nested)
            function.setup_context(own, tuple(nested), output)
        else:
            output = function.forward(own, *nested)
        several = isinstance(output, (tuple, list))
        outputs = list(output) if several else [output]
        for i, o in enumerate(outputs):
            place = next((k for k, x in enumerate(nested) if x is o), None)
            found.append(o._like if isinstance(o, Nested) else None)
            outputs[i] = args[place] if place is not None else _inside(o)
        ctx.own, ctx.outs = own, tuple(found)
        return tuple(outputs) if several else outputs[0]

    def backward(ctx: FunctionCtx, *grads: object) -> Any:
        given = [
            g if like is None or g is None else like(g)
            for like, g in zip(ctx.outs, grads, strict=True)
        ]
        method = function.vjp if function.backward is Function.backward else function.backward
        answer = method(ctx.own, *given)
        answers = answer if isinstance(answer, tuple) else (answer,)
        return (None, None, *[_inside(g) for g in answers])

    return type(
        function.__name__,
        (Function,),
        {"forward": staticmethod(forward), "backward": staticmethod(backward)},
    )


def apply(function: type[Function], args: tuple[object, ...]) -> Tree:
    """``function.apply(*args)`` where some of the arguments are nested tensors."""
    likes = tuple([x._like if isinstance(x, Nested) else None for x in args])
    found: list[Any] = []
    out = _on_values(function).apply(likes, found, *[_inside(x) for x in args])
    outs = out if isinstance(out, tuple) else (out,)
    made = tuple(
        [
            x if like is None or not isinstance(x, Tensor) else like(x)
            for like, x in zip(found, outs, strict=True)
        ]
    )
    return made if isinstance(out, tuple) else made[0]
