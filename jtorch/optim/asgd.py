"""Averaged stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch

from ._common import (
    advance,
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


__all__ = ["ASGD", "asgd"]


class ASGD(Optimizer):
    """Averaged stochastic gradient descent; the average is the state's ``ax``
    (https://dl.acm.org/citation.cfm?id=131098).

    Args:
        params: tensors, ``(name, tensor)`` pairs, or dicts with ``"params"`` and options of their
            own.
        lr: the learning rate, a number or a tensor.
        lambd: how fast the parameters decay.
        alpha: the power with which the learning rate falls.
        t0: the step at which averaging begins.
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
        lr: float | torch.Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_not_negative("weight_decay value", weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "lambd": lambd,
                "alpha": alpha,
                "t0": t0,
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
        for group in self.param_groups:
            for p in group["params"]:
                p_state = self.state.get(p) or {}
                for name in ("eta", "mu"):
                    if name in p_state and not torch.is_tensor(p_state[name]):
                        p_state[name] = torch.tensor(p_state[name], dtype=p_state["step"].dtype)

    def _init_state(self, group: Named, p: torch.Tensor) -> dict[str, torch.Tensor]:
        step = new_step(group)
        eta = torch.as_tensor(_to_scalar(group["lr"]), dtype=step.dtype).clone().detach()
        return {"step": step, "eta": eta, "mu": torch.ones_like(step), "ax": zeros(p)}

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters once; see ``Optimizer.step``."""
        return update_lists(
            self, closure, asgd, torch._C._fused_asgd, "ax mu eta step", (2, 1, 1, 1, 1)
        )


def asgd(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    axs: list[torch.Tensor],
    mus: list[torch.Tensor],
    etas: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    foreach: bool | None = None,  # noqa: ARG001 (one implementation)
    maximize: bool = False,
    differentiable: bool = False,  # noqa: ARG001 (nothing that autograd saved is overwritten)
    capturable: bool = False,  # noqa: ARG001 (it never reads values on the host)
    has_complex: bool = False,  # noqa: ARG001 (seen from the parameters)
    *,
    lambd: float,
    lr: float,
    t0: float,
    alpha: float,
    weight_decay: float,
) -> None:
    """One step of ``ASGD`` on lists."""
    lr = _to_scalar(lr)
    for i, param in enumerate(params):
        step = advance(state_steps[i])
        mu, eta = mus[i].clone(), etas[i].clone()
        grad = decayed(-grads[i] if maximize else grads[i], param, weight_decay)
        param, grad, ax = as_real(param, grad, axs[i])
        param.mul_(1 - lambd * eta.double())
        param.sub_(grad * eta)
        now = param.clone()
        # mu is 1 until averaging begins: the average is then the parameter itself, without rounding
        ax.copy_(torch.where(mu == 1, now, ax + (now - ax) * mu))
        etas[i].copy_(lr / (1 + lambd * lr * step) ** alpha)
        mus[i].copy_(1 / torch.clamp(step - t0, min=1))


_single_tensor_asgd = _multi_tensor_asgd = in_one_way(asgd)
