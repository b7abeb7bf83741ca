"""NAdam."""

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

__all__ = ["NAdam", "nadam"]


class NAdam(Optimizer):
    """Adam with Nesterov momentum (https://openreview.net/forum?id=OM0jvwB8jIp57ZJjtNEZ).

    Args:
        params: tensors, ``(name, tensor)`` pairs, or dicts with ``"params"`` and options of their
            own.
        lr: the learning rate, a number or a tensor.
        betas: how much of the old averages of the gradient and of its square is kept.
        eps: added to the denominator, so that it is never zero.
        weight_decay: how much of each parameter is taken off it, as a penalty on its square.
        momentum_decay: how fast the momentum grows.
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
        lr: float | torch.Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check_not_negative("momentum_decay value", momentum_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum_decay": momentum_decay,
                "decoupled_weight_decay": decoupled_weight_decay,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
            },
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._set_group_defaults(
            maximize=False,
            foreach=None,
            capturable=False,
            differentiable=False,
            decoupled_weight_decay=False,
        )
        for group in self.param_groups:
            for p in group["params"]:
                p_state = self.state.get(p)
                if p_state and not torch.is_tensor(p_state["mu_product"]):
                    p_state["mu_product"] = torch.tensor(
                        p_state["mu_product"], dtype=p_state["step"].dtype
                    )

    def _init_state(self, group: dict[str, object], p: torch.Tensor) -> dict[str, torch.Tensor]:
        step = new_step(group)
        return {
            "step": step,
            "mu_product": torch.ones_like(step),
            "exp_avg": zeros(p),
            "exp_avg_sq": zeros(p),
        }

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters once; see ``Optimizer.step``."""
        whole, buffers = torch._C._fused_nadam, "exp_avg exp_avg_sq mu_product step"
        return update_lists(
            self, closure, nadam, whole, buffers, (2, 1, 2, 1, 1), betas=("beta1", "beta2")
        )


def nadam(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    exp_avgs: list[torch.Tensor],
    exp_avg_sqs: list[torch.Tensor],
    mu_products: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,  # noqa: ARG001 (one implementation)
    capturable: bool = False,  # noqa: ARG001 (it never reads values on the host)
    differentiable: bool = False,  # noqa: ARG001 (nothing that autograd saved is overwritten)
    has_complex: bool = False,  # noqa: ARG001 (seen from the parameters)
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float,
    weight_decay: float,
    momentum_decay: float,
    eps: float,
) -> None:
    """One step of ``NAdam`` on lists."""
    lr = _to_scalar(lr)
    for i, param in enumerate(params):
        step = advance(state_steps[i])
        grad = -grads[i] if maximize else grads[i]
        if decoupled_weight_decay:
            if weight_decay != 0:
                param.mul_(1 - lr * weight_decay)
        else:
            grad = decayed(grad, param, weight_decay)
        param, grad, exp_avg, exp_avg_sq = as_real(param, grad, exp_avgs[i], exp_avg_sqs[i])
        mu = beta1 * (1.0 - 0.5 * (0.96 ** (step * momentum_decay)))
        mu_next = beta1 * (1.0 - 0.5 * (0.96 ** ((step + 1) * momentum_decay)))
        mu_products[i].mul_(mu.to(mu_products[i].dtype))  # rounded first, as a number is
        mu_product = mu_products[i].double()
        exp_avg.lerp_(grad, 1 - beta1)
        exp_avg_sq.mul_(beta2).add_(grad * grad * (1 - beta2))
        denom = (exp_avg_sq.clone() / (1 - beta2**step)).sqrt() + eps
        param.add_(grad / denom * (-lr * (1.0 - mu) / (1.0 - mu_product)))
        param.add_(exp_avg.clone() / denom * (-lr * mu_next / (1.0 - mu_product * mu_next)))


_single_tensor_nadam = _multi_tensor_nadam = in_one_way(nadam)
