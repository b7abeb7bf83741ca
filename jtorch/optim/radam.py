"""RAdam."""

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

__all__ = ["RAdam", "radam"]


class RAdam(Optimizer):
    """Adam with its adaptive rate rectified in the first steps (https://arxiv.org/abs/1908.03265).

    Args:
        params: tensors, ``(name, tensor)`` pairs, or dicts with ``"params"`` and options of their
            own.
        lr: the learning rate, a number or a tensor.
        betas: how much of the old averages of the gradient and of its square is kept.
        eps: added to the denominator, so that it is never zero.
        weight_decay: how much of each parameter is taken off it, as a penalty on its square.
        decoupled_weight_decay: whether the decay is taken off the parameters instead of being added
            to their gradients.
        foreach: accepted; one operation for each group takes all parameters either way.
        maximize: whether to climb instead of to descend.
        capturable: accepted; nothing is read on the host either way.
        differentiable: whether autograd records the step, so that gradients go through it.

    Differs from torch:
        ``capturable=True`` works on every device.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
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
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "decoupled_weight_decay": decoupled_weight_decay,
                "differentiable": differentiable,
            },
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._set_group_defaults(
            foreach=None,
            maximize=False,
            differentiable=False,
            decoupled_weight_decay=False,
            capturable=False,
        )

    def _init_state(self, group: dict[str, object], p: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"step": new_step(group), "exp_avg": zeros(p), "exp_avg_sq": zeros(p)}

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters once; see ``Optimizer.step``."""
        whole = torch._C._fused_radam
        return update_lists(
            self,
            closure,
            radam,
            whole,
            "exp_avg exp_avg_sq step",
            (1, 1, 2, 1),
            betas=("beta1", "beta2"),
        )


def radam(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    exp_avgs: list[torch.Tensor],
    exp_avg_sqs: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,  # noqa: ARG001 (one implementation)
    differentiable: bool = False,  # noqa: ARG001 (nothing that autograd saved is overwritten)
    capturable: bool = False,  # noqa: ARG001 (it never reads values on the host)
    has_complex: bool = False,  # noqa: ARG001 (seen from the parameters)
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    eps: float,
) -> None:
    """One step of ``RAdam`` on lists."""
    lr = _to_scalar(lr)
    rho_inf = 2 / (1 - beta2) - 1
    for i, param in enumerate(params):
        step = advance(state_steps[i])
        grad = -grads[i] if maximize else grads[i]
        if decoupled_weight_decay:
            if weight_decay != 0:
                param.mul_(1 - lr * weight_decay)
        else:
            grad = decayed(grad, param, weight_decay)
        param, grad, exp_avg, exp_avg_sq = as_real(param, grad, exp_avgs[i], exp_avg_sqs[i])
        exp_avg.lerp_(grad, 1 - beta1)
        exp_avg_sq.mul_(beta2).add_(grad * grad * (1 - beta2))
        correction2 = 1 - beta2**step
        rho = rho_inf - 2 * step * beta2**step / correction2
        rectified = rho > 5.0
        # Where the rate is not rectified its formula is outside of its domain: a value inside is
        # put there before the root.
        safe = torch.where(rectified, rho, 6.0)
        rect = ((safe - 4) * (safe - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * safe)).sqrt()
        adaptive = (correction2.sqrt() * rect) / (exp_avg_sq.clone().sqrt() + eps)
        factor = torch.where(rectified, adaptive, torch.ones_like(adaptive))
        param.sub_(exp_avg.clone() * (lr / (1 - beta1**step)) * factor)


_single_tensor_radam = _multi_tensor_radam = in_one_way(radam)
