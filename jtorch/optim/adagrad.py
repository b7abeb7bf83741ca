"""Adagrad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jtorch as torch

from ._common import (
    add_scaled_,
    advance,
    as_real,
    check_fused,
    check_lr,
    check_not_negative,
    decayed,
    in_one_way,
    new_step,
    no_amp,
    update_lists,
)
from .optimizer import Optimizer, ParamsT, _to_scalar, _use_grad_for_differentiable

__all__ = ["Adagrad", "adagrad"]


class Adagrad(Optimizer):
    """Adagrad: steps scaled by the root of the sum of squared gradients
    (https://jmlr.org/papers/v12/duchi11a.html).

    Args:
        params: tensors, ``(name, tensor)`` pairs, or dicts with ``"params"`` and options of their
            own.
        lr: the learning rate, a number or a tensor.
        lr_decay: how fast the learning rate falls.
        weight_decay: how much of each parameter is taken off it, as a penalty on its square.
        initial_accumulator_value: the sum of squares to begin with.
        eps: added to the denominator, so that it is never zero.
        foreach: accepted; one operation for each group takes all parameters either way.
        maximize: whether to climb instead of to descend.
        differentiable: whether autograd records the step, so that gradients go through it.
        fused: accepted; one operation for each group takes all parameters either way.
    """

    _sparse_grads = True

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_not_negative("lr_decay value", lr_decay)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("initial_accumulator_value value", initial_accumulator_value)
        check_not_negative("epsilon value", eps)
        super().__init__(
            params,
            {
                "lr": lr,
                "lr_decay": lr_decay,
                "eps": eps,
                "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "fused": fused,
            },
        )
        check_fused(fused, foreach, differentiable)
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p] = self._init_state(group, p)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._set_group_defaults(foreach=None, maximize=False, differentiable=False, fused=None)

    def _init_state(self, group: dict[str, object], p: torch.Tensor) -> dict[str, torch.Tensor]:
        value = self.defaults["initial_accumulator_value"]
        value = complex(value, value) if torch.is_complex(p) else value
        return {
            "step": new_step(group),
            "sum": torch.full_like(p, value, memory_format=torch.preserve_format),
        }

    def share_memory(self) -> None:
        """Shares the sums between processes, where tensors can be."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters once; see ``Optimizer.step``."""
        return update_lists(self, closure, adagrad, torch._C._fused_adagrad, "sum step", (1, 1, 1))


def adagrad(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    state_sums: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    fused: bool | None = None,  # noqa: ARG001 (one implementation)
    grad_scale: torch.Tensor | None = None,
    found_inf: torch.Tensor | None = None,
    has_sparse_grad: bool = False,  # noqa: ARG001 (seen from the gradients)
    foreach: bool | None = None,  # noqa: ARG001
    differentiable: bool = False,  # noqa: ARG001 (nothing that autograd saved is overwritten)
    has_complex: bool = False,  # noqa: ARG001
    *,
    lr: float,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """One step of ``Adagrad`` on lists."""
    no_amp(grad_scale, found_inf)
    lr = _to_scalar(lr)
    for param, g, state_sum, step_t in zip(params, grads, state_sums, state_steps):
        step = advance(step_t)
        grad = -g if maximize else g
        if weight_decay != 0 and grad.is_sparse:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        grad = decayed(grad, param, weight_decay)
        clr = lr / (1 + (step - 1) * lr_decay) if lr_decay != 0 else lr
        if grad.is_sparse:
            grad = grad.coalesce()
            indices, values = grad._indices(), grad._values()
            state_sum.add_(torch.sparse_coo_tensor(indices, values.pow(2), grad.size()))
            std = state_sum.sparse_mask(grad)._values().sqrt() + eps
            param.add_(torch.sparse_coo_tensor(indices, values / std * -clr, grad.size()))
            continue
        param, grad, state_sum = as_real(param, grad, state_sum)
        state_sum.add_(grad * grad)
        add_scaled_(param, grad / (state_sum.clone().sqrt() + eps), -clr)


_single_tensor_adagrad = _multi_tensor_adagrad = _fused_adagrad = in_one_way(adagrad)
