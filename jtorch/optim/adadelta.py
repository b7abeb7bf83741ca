"""Adadelta."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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

__all__ = ["Adadelta", "adadelta"]


class Adadelta(Optimizer):
    """Adadelta: steps of the size of recent updates (https://arxiv.org/abs/1212.5701).

    Args:
        params: tensors, ``(name, tensor)`` pairs, or dicts with ``"params"`` and options of their
            own.
        lr: the learning rate, a number or a tensor.
        rho: how much of the old averages is kept.
        eps: added to the denominator, so that it is never zero.
        weight_decay: how much of each parameter is taken off it, as a penalty on its square.
        foreach: accepted; one operation for each group takes all parameters either way.
        capturable: accepted; nothing is read on the host either way.
        maximize: whether to climb instead of to descend.
        differentiable: whether autograd records the step, so that gradients go through it.

    Differs from torch:
        ``capturable=True`` works on every device.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative("epsilon value", eps)
        check_not_negative("weight_decay value", weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "rho": rho,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
                "capturable": capturable,
                "foreach": foreach,
                "differentiable": differentiable,
            },
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._set_group_defaults(
            foreach=None, maximize=False, differentiable=False, capturable=False
        )

    def _init_state(self, group: dict[str, object], p: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"step": new_step(group), "square_avg": zeros(p), "acc_delta": zeros(p)}

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters once; see ``Optimizer.step``."""
        return update_lists(
            self,
            closure,
            adadelta,
            torch._C._fused_adadelta,
            "square_avg acc_delta step",
            (1, 2, 2, 1),
        )


def adadelta(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    square_avgs: list[torch.Tensor],
    acc_deltas: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    capturable: bool = False,  # noqa: ARG001 (it never reads values on the host)
    foreach: bool | None = None,  # noqa: ARG001 (one implementation)
    differentiable: bool = False,  # noqa: ARG001 (nothing that autograd saved is overwritten)
    has_complex: bool = False,  # noqa: ARG001 (seen from the parameters)
    *,
    lr: float,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """One step of ``Adadelta`` on lists."""
    lr = _to_scalar(lr)
    for param, g, square_avg, acc_delta, step in zip(
        params, grads, square_avgs, acc_deltas, state_steps
    ):
        step.add_(1)
        grad = decayed(-g if maximize else g, param, weight_decay)
        param, grad, square_avg, acc_delta = as_real(param, grad, square_avg, acc_delta)
        square_avg.mul_(rho).add_(grad * grad * (1 - rho))
        delta = (acc_delta.clone() + eps).sqrt() / (square_avg.clone() + eps).sqrt() * grad
        acc_delta.mul_(rho).add_(delta * delta * (1 - rho))
        add_scaled_(param, delta, -lr)


_single_tensor_adadelta = _multi_tensor_adadelta = in_one_way(adadelta)
