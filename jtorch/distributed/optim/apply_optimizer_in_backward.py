"""Optimisers that step in the backward pass, each for one parameter and as soon as its gradient is
there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jtorch as torch
from jtorch.utils.weak import WeakTensorKeyDictionary

__all__: list[str] = []

#: Parameter -> the handles of its hooks, which wrappers that combine gradients first take away.
param_to_optim_hook_handle_map: Any = WeakTensorKeyDictionary()


def _stepping(param: torch.Tensor) -> None:
    """Steps the optimisers of a parameter, whose gradient is then gone."""
    with torch.no_grad():
        for optimizer in param._in_backward_optimizers:
            optimizer.step()
    param.grad = None


def _apply_optimizer_in_backward(
    optimizer_class: Callable[..., torch.optim.Optimizer],
    params: Iterable[torch.nn.Parameter],
    optimizer_kwargs: dict[str, object],
    register_hook: bool = True,
) -> None:
    """Gives each parameter an optimiser of its own, which steps when ``backward()`` has added to
    its gradient; this is then None.

    Args:
        optimizer_class: the optimiser.
        params: the parameters.
        optimizer_kwargs: the optimiser's arguments.
        register_hook: False to leave the steps to a wrapper, such as ``DistributedDataParallel``.
    """
    for param in params:
        optimizer = optimizer_class([param], **optimizer_kwargs)
        held: Any = param
        if not hasattr(held, "_in_backward_optimizers"):
            held._in_backward_optimizers, held._optimizer_classes, held._optimizer_kwargs = (
                [],
                [],
                [],
            )
        held._in_backward_optimizers.append(optimizer)
        held._optimizer_classes.append(optimizer_class)
        held._optimizer_kwargs.append(optimizer_kwargs)
        # one hook steps all of them
        if register_hook and param not in param_to_optim_hook_handle_map:
            param_to_optim_hook_handle_map[param] = [
                param.register_post_accumulate_grad_hook(_stepping)
            ]


def _taken_over(params: Iterable[torch.Tensor]) -> Callable[[], None]:
    """Takes the hooks of parameters away for a wrapper that combines gradients, and gives what it
    calls after that."""
    found = []
    for param in params:
        for handle in param_to_optim_hook_handle_map.pop(param, []):
            handle.remove()
        if hasattr(param, "_in_backward_optimizers"):
            found.append(param)

    def steps() -> None:
        for param in found:
            if param.grad is not None:
                _stepping(param)

    return steps


def _get_in_backward_optimizers(module: torch.nn.Module) -> list[torch.optim.Optimizer]:
    """The optimisers of a module's parameters, for checkpoints."""
    return [
        optimizer
        for param in module.parameters()
        for optimizer in getattr(param, "_in_backward_optimizers", ())
    ]
