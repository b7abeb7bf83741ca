"""RMSprop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch

from ._common import (
    add_scaled_,
    as_real,
    check_lr,
    check_not_negative,
    decayed,
    in_one_way,
    new_step,
    update_lists,
    zeros,
)
from .optimizer import Optimizer, ParamsT, _to_scalar, _use_grad_for_differentiable

if TYPE_CHECKING:
    from .._src.facts.kinds import Named


__all__ = ["RMSprop", "rmsprop"]


class RMSprop(Optimizer):
    """RMSprop, optionally with momentum and centred by the mean gradient
    (https://arxiv.org/abs/1308.0850).

    Args:
        params: tensors, ``(name, tensor)`` pairs, or dicts with ``"params"`` and options of their
            own.
        lr: the learning rate, a number or a tensor.
        alpha: how much of the old average of squares is kept.
        eps: added to the denominator, so that it is never zero.
        weight_decay: how much of each parameter is taken off it, as a penalty on its square.
        momentum: how much of the last step is repeated.
        centered: whether the mean of the gradients is taken off before it is squared.
        capturable: accepted; nothing is read on the host either way.
        foreach: accepted; one operation for each group takes all parameters either way.
        maximize: whether to climb instead of to descend.
        differentiable: whether autograd records the step, so that gradients go through it.

    Differs from torch:
        ``capturable=True`` works on every device.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative("epsilon value", eps)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("alpha value", alpha)
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "alpha": alpha,
                "eps": eps,
                "centered": centered,
                "weight_decay": weight_decay,
                "capturable": capturable,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
            },
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._set_group_defaults(
            momentum=0,
            centered=False,
            foreach=None,
            maximize=False,
            differentiable=False,
            capturable=False,
        )

    def _init_state(self, group: Named, p: torch.Tensor) -> dict[str, torch.Tensor]:
        state = {"step": new_step(group), "square_avg": zeros(p)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros(p)
        if group["centered"]:
            state["grad_avg"] = zeros(p)
        return state

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters once; see ``Optimizer.step``."""
        whole, buffers = torch._C._fused_rmsprop, "square_avg grad_avg momentum_buffer step"
        needs = {"momentum_buffer": "momentum", "grad_avg": "centered"}
        return update_lists(self, closure, rmsprop, whole, buffers, (1, 2, 1, 2, 1), needs)


def rmsprop(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    square_avgs: list[torch.Tensor],
    grad_avgs: list[torch.Tensor],
    momentum_buffer_list: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    foreach: bool | None = None,  # noqa: ARG001 (one implementation)
    maximize: bool = False,
    differentiable: bool = False,  # noqa: ARG001 (nothing that autograd saved is overwritten)
    capturable: bool = False,  # noqa: ARG001 (it never reads values on the host)
    has_complex: bool = False,  # noqa: ARG001 (seen from the parameters)
    *,
    lr: float,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
) -> None:
    """One step of ``RMSprop`` on lists."""
    lr = _to_scalar(lr)
    for i, param in enumerate(params):
        state_steps[i].add_(1)
        grad = decayed(-grads[i] if maximize else grads[i], param, weight_decay)
        param, grad, square_avg = as_real(param, grad, square_avgs[i])
        square_avg.mul_(alpha).add_(grad * grad * (1 - alpha))
        mean_square = square_avg.clone()
        if centered:
            grad_avg = as_real(params[i], grad_avgs[i])[1]
            grad_avg.lerp_(grad, 1 - alpha)
            mean = grad_avg.clone()
            mean_square = mean_square - mean * mean
        update = grad / (mean_square.sqrt() + eps)
        if momentum > 0:
            buf = as_real(params[i], momentum_buffer_list[i])[1]
            buf.mul_(momentum).add_(update)
            update = buf.clone()
        add_scaled_(param, update, -lr)


_single_tensor_rmsprop = _multi_tensor_rmsprop = in_one_way(rmsprop)
