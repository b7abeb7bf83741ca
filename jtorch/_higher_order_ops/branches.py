"""Derivatives of ``torch.cond`` in programs that are traced: a branch between the derivatives of the two. Those of loops are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jtorch as torch
from jtorch._src.facts.errors import not_offered
from jtorch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing

__all__ = ["branched", "underived"]


class _Branch(torch.autograd.Function):
    """The results of two graphs of the same arguments, one of which is taken."""

    @staticmethod
    def forward(chosen: list[Any], pred: Any, graphs: Any, *given: Any) -> Any:
        del pred, graphs, given
        with disable_proxy_modes_tracing():
            return tuple([t.detach() for t in chosen])

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.pred, ctx.graphs, given = inputs[1], inputs[2], inputs[3:]
        ctx.is_tensor = [isinstance(x, torch.Tensor) for x in given]
        ctx.others = [None if isinstance(x, torch.Tensor) else x for x in given]
        ctx.save_for_backward(*[x for x in given if isinstance(x, torch.Tensor)])
        ctx.mark_non_differentiable(*[t for t in output if not _differentiable(t)])
        ctx.differentiable = [_differentiable(t) for t in output]

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        saved = iter(ctx.saved_tensors)
        given = [next(saved) if is_tensor else x for is_tensor, x in zip(ctx.is_tensor, ctx.others, strict=True)]
        wanted = [i for i, x in enumerate(given) if isinstance(x, torch.Tensor) and _differentiable(x)]
        through = [g for g, counts in zip(grads, ctx.differentiable, strict=True) if counts]
        true, false = [_slope(g, given, wanted, ctx.differentiable) for g in ctx.graphs]
        found = iter(torch.cond(ctx.pred, true, false, (through, [given[i] for i in wanted])))
        return (None, None, None, *[next(found) if i in wanted else None for i in range(len(given))])


def _differentiable(t: Any) -> bool:
    return t.dtype.is_floating_point or t.dtype.is_complex


def _slope(graph: Callable[..., Any], given: list[Any], wanted: list[int], differentiable: list[bool]) -> Callable[..., Any]:
    """The function that gives, for gradients of the results, those of the arguments that may have some."""

    def run(grads: list[Any], inputs: list[Any]) -> tuple[Any, ...]:
        with torch.enable_grad():
            full, leaves = list(given), [t.detach().requires_grad_() for t in inputs]
            for i, t in zip(wanted, leaves, strict=True):
                full[i] = t
            results = [x for x, counts in zip(graph(*full), differentiable, strict=True) if counts]
            pairs = [(x, g) for x, g in zip(results, grads, strict=True) if x.requires_grad]
            found = [None for _ in leaves]
            if pairs:
                found = torch.autograd.grad([x for x, _ in pairs], leaves, [g for _, g in pairs], allow_unused=True)
        return tuple([torch.zeros_like(t) if g is None else g.clone() for g, t in zip(found, inputs, strict=True)])

    return run


def branched(pred: Any, true: Any, false: Any, chosen: list[Any], given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results ``chosen`` with the history of a branch between two graphs of the arguments ``given``."""
    return _Branch.apply(chosen, pred, (true, false), *given)


class _Underived(torch.autograd.Function):
    """Results of a loop, which have no derivative in a graph."""

    @staticmethod
    def forward(what: str, results: list[Any], *given: Any) -> Any:
        del what, given
        with disable_proxy_modes_tracing():
            return tuple([t.detach() for t in results])

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.what = inputs[0]
        ctx.mark_non_differentiable(*[t for t in output if not _differentiable(t)])

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise not_offered(f"the derivative of torch.{ctx.what} in a program that is traced", "a graph has the steps of the example only")


def underived(what: str, results: list[Any], given: tuple[Any, ...]) -> list[Any]:
    """The results of a loop over ``given``, whose derivative is refused by name."""
    if not torch.is_grad_enabled() or not any(isinstance(x, torch.Tensor) and x.requires_grad for x in given):
        return results
    return list(_Underived.apply(what, results, *given))
