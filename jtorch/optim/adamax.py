"""Adamax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jtorch as torch

from ._common import (
    advance,
    as_real,
    check_betas,
    check_lr,
    check_not_negative,
    decayed,
    in_one_way,
    new_step,
    update_lists,
    zeros,
)
from .optimizer import Optimizer, ParamsT, _to_scalar, _use_grad_for_differentiable

__all__ = ["Adamax", "adamax"]


class Adamax(Optimizer):
    """Adamax: Adam with the infinity norm of past gradients (https://arxiv.org/abs/1412.6980).

    Args:
        params: tensors, ``(name, tensor)`` pairs, or dicts with ``"params"`` and options of their
            own.
        lr: the learning rate, a number or a tensor.
        betas: how much of the old averages of the gradient and of its square is kept.
        eps: added to the denominator, so that it is never zero.
        weight_decay: how much of each parameter is taken off it, as a penalty on its square.
        foreach: accepted; one operation for each group takes all parameters either way.
        maximize: whether to climb instead of to descend.
        differentiable: whether autograd records the step, so that gradients go through it.
        capturable: accepted; nothing is read on the host either way.

    Differs from torch:
        ``capturable=True`` works on every device.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative("epsilon value", eps)
        check_betas(betas)
        check_not_negative("weight_decay value", weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._set_group_defaults(
            foreach=None, maximize=False, differentiable=False, capturable=False
        )

    def _init_state(self, group: dict[str, object], p: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"step": new_step(group), "exp_avg": zeros(p), "exp_inf": zeros(p)}

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters once; see ``Optimizer.step``."""
        whole = torch._C._fused_adamax
        return update_lists(
            self,
            closure,
            adamax,
            whole,
            "exp_avg exp_inf step",
            (1, 1, 2, 1),
            betas=("beta1", "beta2"),
        )


def adamax(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    exp_avgs: list[torch.Tensor],
    exp_infs: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    foreach: bool | None = None,  # noqa: ARG001 (one implementation)
    maximize: bool = False,
    differentiable: bool = False,  # noqa: ARG001 (nothing that autograd saved is overwritten)
    capturable: bool = False,  # noqa: ARG001 (it never reads values on the host)
    has_complex: bool = False,  # noqa: ARG001 (seen from the parameters)
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
) -> None:
    """One step of ``Adamax`` on lists."""
    lr = _to_scalar(lr)
    for i, param in enumerate(params):
        step = advance(state_steps[i])
        grad = decayed(-grads[i] if maximize else grads[i], param, weight_decay)
        param, grad, exp_avg, exp_inf = as_real(param, grad, exp_avgs[i], exp_infs[i])
        exp_avg.lerp_(grad, 1 - beta1)
        exp_inf.copy_(torch.maximum(exp_inf.mul_(beta2).clone(), grad.abs() + eps))
        param.add_(exp_avg.clone() / exp_inf.clone() * (-lr / (1 - beta1**step)))


_single_tensor_adamax = _multi_tensor_adamax = in_one_way(adamax)
