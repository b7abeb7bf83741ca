"""Adam and its variant AMSGrad, with weight decay in the gradient or decoupled from it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import jtorch as torch

from ._common import (
    add_scaled_,
    advance,
    as_real,
    changed_in_parts,
    check_betas,
    check_fused,
    check_lr,
    check_not_negative,
    decayed,
    in_one_way,
    in_parts,
    new_step,
    no_amp,
    pick,
    zeros,
)
from ._fused import plain_gradients, plan_for, unscaled
from .optimizer import Optimizer, ParamsT, _run_closure, _to_scalar

if TYPE_CHECKING:
    from .._src.facts.kinds import Named
    from ._fused import Bucket


__all__ = ["Adam", "adam"]


def _check_tensor_betas(betas: tuple[Any, Any], foreach: bool | None, capturable: bool) -> None:
    kinds = [isinstance(b, torch.Tensor) for b in betas]
    if kinds[0] != kinds[1] or not all(isinstance(b, float | torch.Tensor) for b in betas):
        raise ValueError("betas must be either both floats or both Tensors")
    if kinds[0]:
        for i in (0, 1):
            if not capturable and foreach:
                raise ValueError(
                    f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True"
                )
            if betas[i].numel() != 1:
                raise ValueError(f"Tensor betas[{i}] must be 1-element")


class Adam(Optimizer):
    """Adam by one recorded operation for each group (https://arxiv.org/abs/1412.6980).

    ``foreach``, ``fused`` and ``capturable`` are accepted: every way is fused and never reads a
    value on the host, except for ``differentiable=True``.

    Args:
        params: tensors, ``(name, tensor)`` pairs, or dicts with ``"params"`` and options of their
            own.
        lr: the learning rate, a number or a tensor.
        betas: how much of the old averages of the gradient and of its square is kept.
        eps: added to the denominator, so that it is never zero.
        weight_decay: how much of each parameter is taken off it, as a penalty on its square.
        amsgrad: whether the largest average of squares so far is divided by.
        foreach: accepted; one operation for each group takes all parameters either way.
        maximize: whether to climb instead of to descend.
        capturable: accepted; nothing is read on the host either way.
        differentiable: whether autograd records the step, so that gradients go through it.
        fused: accepted; one operation for each group takes all parameters either way.
        decoupled_weight_decay: whether the decay is taken off the parameters instead of being added
            to their gradients.

    Differs from torch:
        ``capturable=True`` works on every device.
    """

    _no_sparse_grads = "Adam does not support sparse gradients, please consider SparseAdam instead"

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-3,
        betas: tuple[float | torch.Tensor, float | torch.Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, torch.Tensor) and foreach and not capturable:
            raise ValueError(
                "lr as a Tensor is not supported for capturable=False and foreach=True"
            )
        check_lr(lr)
        check_not_negative("epsilon value", eps)
        check_betas(betas)
        check_not_negative("weight_decay value", weight_decay)
        _check_tensor_betas(betas, foreach, capturable)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": tuple(map(_to_scalar, betas)),
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
                "fused": fused,
                "decoupled_weight_decay": decoupled_weight_decay,
            },
        )
        check_fused(fused, foreach, differentiable)
        if fused:
            self._step_supports_amp_scaling = True

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._set_group_defaults(
            amsgrad=False,
            maximize=False,
            foreach=None,
            capturable=False,
            differentiable=False,
            decoupled_weight_decay=False,
            fused=None,
        )

    def _init_state(self, group: dict[str, object], p: torch.Tensor) -> dict[str, torch.Tensor]:
        state = {"step": new_step(group), "exp_avg": zeros(p), "exp_avg_sq": zeros(p)}
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros(p)
        return state

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters once; see ``Optimizer.step``."""
        loss = _run_closure(closure)
        for group in self.param_groups:
            plan, grads = plan_for(self, group, group["amsgrad"], _buffers_of)
            fused = plan.plain and not group["differentiable"] and all(map(plain_gradients, grads))
            for bucket, bucket_grads in zip(plan.buckets, grads):
                if unscaled(self, bucket_grads):
                    (self._by_group if fused else self._by_parameter)(group, bucket, bucket_grads)
        return loss

    def _by_group(self, group: Named, bucket: Any, grads: list[torch.Tensor]) -> None:
        params, buffers = bucket.params, bucket.buffers
        exp_avgs, exp_avg_sqs, maxima = (
            buffers["exp_avg"],
            buffers["exp_avg_sq"],
            buffers.get("max_exp_avg_sq", []),
        )
        steps = bucket.stepped
        beta1, beta2 = group["betas"]
        decoupled = bool(group["decoupled_weight_decay"])
        decays = decoupled and group["weight_decay"] != 0
        *new, step = torch._C._fused_adam(
            params,
            grads,
            exp_avgs,
            exp_avg_sqs,
            maxima,
            steps[0],
            lr=_to_scalar(group["lr"]),
            beta1=beta1,
            beta2=beta2,
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=bool(group["amsgrad"]),
            maximize=bool(group["maximize"]),
            decoupled=decoupled,
            writes=(1 + decays, 1, 2, 1),
        )
        writes = chain(
            repeat(1 + decays, len(params)),
            repeat(1, len(exp_avgs)),
            repeat(2, len(exp_avg_sqs)),
            repeat(1),
        )
        torch._C._swap_(
            [*params, *exp_avgs, *exp_avg_sqs, *maxima, *steps],
            [*new, *([step] * len(steps))],
            writes,
        )

    def _by_parameter(self, group: Named, bucket: Bucket, grads: list[torch.Tensor]) -> None:
        states = bucket.states
        if group["differentiable"] and any(state["step"].requires_grad for state in states):
            raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
        beta1, beta2 = group["betas"]
        lists = (
            bucket.params,
            grads,
            *[pick(states, name) for name in ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")],
        )
        parts = None if group["differentiable"] else in_parts(*lists)
        own, own_grads, exp_avgs, exp_avg_sqs, maxima = parts or lists
        with torch.set_grad_enabled(group["differentiable"]):
            adam(
                own,
                own_grads,
                exp_avgs,
                exp_avg_sqs,
                maxima,
                pick(states, "step"),
                amsgrad=group["amsgrad"],
                beta1=beta1,
                beta2=beta2,
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                eps=group["eps"],
                maximize=group["maximize"],
                decoupled_weight_decay=group["decoupled_weight_decay"],
            )
        if parts is not None:
            changed_in_parts(lists[0], *lists[2:])


def _buffers_of(_state: dict[str, torch.Tensor], amsgrad: bool) -> tuple[str, ...]:
    return (
        ("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step")
        if amsgrad
        else ("exp_avg", "exp_avg_sq", "step")
    )


def adam(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    exp_avgs: list[torch.Tensor],
    exp_avg_sqs: list[torch.Tensor],
    max_exp_avg_sqs: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    foreach: bool | None = None,  # noqa: ARG001 (one implementation)
    capturable: bool = False,  # noqa: ARG001 (it never reads values on the host)
    differentiable: bool = False,  # noqa: ARG001 (nothing that autograd saved is overwritten)
    fused: bool | None = None,  # noqa: ARG001
    grad_scale: torch.Tensor | None = None,
    found_inf: torch.Tensor | None = None,
    has_complex: bool = False,  # noqa: ARG001 (seen from the parameters)
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: float | torch.Tensor,
    beta2: float | torch.Tensor,
    lr: float | torch.Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """One step of ``Adam`` on lists, by public operations."""
    no_amp(grad_scale, found_inf)
    if not all(isinstance(t, torch.Tensor) for t in state_steps):
        raise RuntimeError(
            "API has changed, `state_steps` argument must contain a list of singleton tensors"
        )
    lr, beta1, beta2 = _to_scalar(lr), _to_scalar(beta1), _to_scalar(beta2)
    for i, param in enumerate(params):
        grad = -grads[i] if maximize else grads[i]
        step = advance(state_steps[i])
        if decoupled_weight_decay:
            if weight_decay != 0:
                param.mul_(1 - lr * weight_decay)
        else:
            grad = decayed(grad, param, weight_decay)
        param, grad, exp_avg, exp_avg_sq = as_real(param, grad, exp_avgs[i], exp_avg_sqs[i])
        exp_avg.lerp_(grad, 1 - beta1)
        exp_avg_sq.mul_(beta2).add_(grad * grad * (1 - beta2))
        if amsgrad:
            maximum = as_real(params[i], max_exp_avg_sqs[i])[1]
            maximum.copy_(torch.maximum(maximum.clone(), exp_avg_sq))
            second = maximum.clone()
        else:
            second = exp_avg_sq.clone()
        denom = second.sqrt() / (1 - beta2**step).sqrt() + eps
        add_scaled_(param, exp_avg.clone() / denom, -lr / (1 - beta1**step))


_single_tensor_adam = _multi_tensor_adam = _fused_adam = in_one_way(adam)
