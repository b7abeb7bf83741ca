"""Gradients of branches and loops in programs that are traced.

The tensors that a trace of a branch or of one step gives know how that branch or that step was
computed. The results of the operator are to know the operator: their gradient is the operator
again, on the gradients of its functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._src.composites import control
from jtorch._src.facts.errors import not_offered
from jtorch.fx.experimental import proxy_tensor

from .operators import map_lists, scan_lists

if TYPE_CHECKING:
    from .._src.facts.kinds import Values
    from ..autograd.function_node import FunctionCtx


__all__ = ["of_cond", "of_map", "of_scan", "underived"]

Run = Callable[..., Any]


class _Operator(torch.autograd.Function):
    """Results that are given, whose gradients for the inputs ``pull`` computes."""

    @staticmethod
    def forward(
        ctx: Any,
        pull: Run,
        results: list[torch.Tensor],
        differentiable: list[bool],
        *inputs: torch.Tensor,
    ) -> tuple[torch.Tensor, ...]:
        ctx.pull = pull
        ctx.save_for_backward(*inputs)
        with proxy_tensor.disable_proxy_modes_tracing():
            found = [t.detach() for t in results]
        ctx.mark_non_differentiable(
            *[t for t, yes in zip(found, differentiable, strict=True) if not yes]
        )
        return tuple(found)

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return (
            None,
            None,
            None,
            *ctx.pull(list(ctx.saved_tensors), list(grads), list(ctx.needs_input_grad[3:])),
        )


def _joined(
    pull: Run, results: list[torch.Tensor], differentiable: list[bool], inputs: list[torch.Tensor]
) -> list[torch.Tensor]:
    """The results with the history of the operator, where there is to be one."""
    if (
        not torch.is_grad_enabled()
        or not any(differentiable)
        or not any(x.requires_grad for x in inputs)
    ):
        return results
    return list(_Operator.apply(pull, results, differentiable, *inputs))


class _Inputs:
    """A graph's inputs, of which only tensors are operands; the others, sizes, are kept."""

    def __init__(self, values: list[torch.Tensor]) -> None:
        self.fixed = {i: v for i, v in enumerate(values) if not isinstance(v, torch.Tensor)}
        self.tensors = [v for v in values if isinstance(v, torch.Tensor)]
        self.many = len(values)

    def all_of(self, tensors: tuple[torch.Tensor, ...] | list[torch.Tensor]) -> list[object]:
        """All values, with these tensors."""
        rest = iter(tensors)
        return [self.fixed[i] if i in self.fixed else next(rest) for i in range(self.many)]


def _pulled(
    run: Run,
    inputs: list[torch.Tensor],
    grads: list[torch.Tensor],
    wanted: list[bool],
    create: bool,
) -> list[torch.Tensor]:
    """Gradients of ``run(*inputs)`` for the wanted inputs, zeros where it does not depend on them.
    ``grads`` are those of its results."""
    with torch.enable_grad():
        own = [x if not w else _apart(x, create) for x, w in zip(inputs, wanted, strict=True)]
        results = run(*own)
        asked = [(y, g) for y, g in zip(results, grads, strict=True) if y.requires_grad]
        sources = [x for x, w in zip(own, wanted, strict=True) if w]
        found: Any = [None] * len(sources)
        if asked and sources:
            ys, gs = zip(*asked, strict=True)
            found = torch.autograd.grad(ys, sources, gs, create_graph=create, allow_unused=True)
        return [
            torch.zeros_like(x) if g is None else g.clone()
            for x, g in zip(sources, found, strict=True)
        ]


def _apart(x: torch.Tensor, create: bool) -> torch.Tensor:
    """A tensor of its own for each input, through which a gradient of the gradient passes if there
    is to be one."""
    return x.view_as(x) if create and x.requires_grad else x.detach().requires_grad_()


def _spread(found: list[torch.Tensor], wanted: list[bool]) -> list[torch.Tensor | None]:
    """Gradients at the places of the wanted inputs, None elsewhere."""
    rest = iter(found)
    return [next(rest) if w else None for w in wanted]


def of_cond(
    pred: object,
    true: Run,
    false: Run,
    values: list[torch.Tensor],
    results: list[torch.Tensor],
    differentiable: list[bool],
) -> list[torch.Tensor]:
    """The results of ``cond``, whose gradient is that of the branch that is taken."""
    inputs = _Inputs(values)

    def pull(
        tensors: list[torch.Tensor], grads: list[torch.Tensor], wanted: list[bool]
    ) -> list[torch.Tensor | None]:
        create, many = torch.is_grad_enabled(), len(tensors)

        def of(branch: Run) -> Run:
            def run(*operands: torch.Tensor) -> Values:
                return _pulled(
                    lambda *x: branch(*inputs.all_of(x)),
                    list(operands[:many]),
                    list(operands[many:]),
                    wanted,
                    create,
                )

            return run

        return _spread(control.cond(pred, of(true), of(false), (*tensors, *grads)), wanted)

    return _joined(pull, results, differentiable, inputs.tensors)


def of_map(
    step: Run,
    xs: list[torch.Tensor],
    more: list[torch.Tensor],
    results: list[torch.Tensor],
    differentiable: list[bool],
) -> list[torch.Tensor]:
    """The results of ``map``: gradients of what is mapped are mapped, those of the other operands
    added up."""
    inputs, many = _Inputs(more), len(xs)

    def pull(
        tensors: list[torch.Tensor], grads: list[torch.Tensor], wanted: list[bool]
    ) -> list[torch.Tensor | None]:
        create = torch.is_grad_enabled()

        def one(slices: list[torch.Tensor], *others: torch.Tensor) -> list[torch.Tensor]:
            operands = [*slices[:many], *others]
            return _pulled(
                lambda *x: step(*x[:many], *inputs.all_of(x[many:])),
                operands,
                slices[many:],
                wanted,
                create,
            )

        found = map_lists(one, [*tensors[:many], *grads], tuple(tensors[many:]))
        spread = _spread(found, wanted)
        return [g if g is None or i < many else g.sum(0) for i, g in enumerate(spread)]

    return _joined(pull, results, differentiable, [*xs, *inputs.tensors])


def of_scan(
    step: Run,
    init: list[torch.Tensor],
    xs: list[torch.Tensor],
    more: list[torch.Tensor],
    results: list[torch.Tensor],
    differentiable: list[bool],
) -> list[torch.Tensor]:
    """The results of ``scan``: a scan from the end, of the gradients, on what was carried into each
    step."""
    inputs, many, length = _Inputs(more), len(init), len(init) + len(xs)

    def pull(
        tensors: list[torch.Tensor], grads: list[torch.Tensor], wanted: list[bool]
    ) -> list[torch.Tensor | None]:
        if torch.is_grad_enabled():
            raise not_offered(
                "the gradient of a gradient of torch.scan in a program that is traced",
                "the first is a scan without one",
            )
        carried, slices, others = tensors[:many], tensors[many:length], tensors[length:]
        real = [_is_real(t) for t in tensors]

        def keep(carry: list[torch.Tensor], x: list[torch.Tensor]) -> tuple[object, ...]:
            return list(step(*carry, *x, *inputs.all_of(others)))[:many], [c.clone() for c in carry]

        _, before = scan_lists(keep, carried, slices)
        outer = [g for g, yes in zip(grads[:many], real, strict=False) if yes]
        sums = [torch.zeros_like(t) for t, yes in zip(others, real[length:], strict=True) if yes]

        def back(
            state: list[torch.Tensor], at: list[torch.Tensor]
        ) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
            rest = iter(state)
            last = [next(rest) if real[i] else torch.zeros_like(at[i]) for i in range(many)]
            found = _pulled(
                lambda *x: step(*x[:length], *inputs.all_of(x[length:])),
                [*at[:length], *others],
                [*last, *at[length:]],
                real,
                False,
            )
            split = _spread(found, real)
            total = [
                s + g
                for s, g in zip(rest, [g for g in split[length:] if g is not None], strict=True)
            ]
            return [g for g in split[:many] if g is not None] + total, [
                g for g in split[many:length] if g is not None
            ]

        reversed_ = [t.flip(0) for t in (*before, *slices, *grads[many:])]
        state, gradients = scan_lists(back, [*outer, *sums], reversed_)
        counted = sum(real[:many])
        found = [*state[:counted], *[g.flip(0) for g in gradients], *state[counted:]]
        return [g if w else None for g, w in zip(_spread(found, real), wanted, strict=True)]

    return _joined(pull, results, differentiable, [*init, *xs, *inputs.tensors])


def underived(
    name: str, values: list[torch.Tensor], results: list[torch.Tensor]
) -> list[torch.Tensor]:
    """The results of an operator whose gradient is refused."""

    def pull(*_: object) -> list[Any]:
        raise not_offered(
            f"the gradient of torch.{name} in a program that is traced",
            "how many rounds there are is not known",
        )

    return _joined(pull, results, [_is_real(t) for t in results], _Inputs(values).tensors)


def _is_real(t: torch.Tensor) -> bool:
    return t.dtype.is_floating_point or t.dtype.is_complex
