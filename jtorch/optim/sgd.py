"""Stochastic gradient descent with momentum."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import jtorch as torch

from ._common import (
    add_scaled_,
    changed_in_parts,
    check_fused,
    check_lr,
    check_not_negative,
    decayed,
    in_one_way,
    in_parts,
    no_amp,
)
from ._fused import plain_gradients, plan_for, unscaled
from .optimizer import Optimizer, ParamsT, _run_closure, _to_scalar

if TYPE_CHECKING:
    from .._src.facts.kinds import Named
    from ._fused import Bucket


__all__ = ["SGD", "sgd"]


class SGD(Optimizer):
    """Stochastic gradient descent, optionally with momentum, by one recorded operation for each
    group.

    ``foreach`` and ``fused`` are accepted: every way is the fused one, except for
    ``differentiable=True``.

    Args:
        params: tensors, ``(name, tensor)`` pairs, or dicts with ``"params"`` and options of their
            own.
        lr: the learning rate, a number or a tensor.
        momentum: how much of the last step is repeated.
        dampening: how much of the gradient does not enter the momentum.
        weight_decay: how much of each parameter is taken off it, as a penalty on its square.
        nesterov: whether the gradient is taken ahead of the momentum.
        maximize: whether to climb instead of to descend.
        foreach: accepted; one operation for each group takes all parameters either way.
        differentiable: whether autograd records the step, so that gradients go through it.
        fused: accepted; one operation for each group takes all parameters either way.
    """

    _sparse_grads = True

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | torch.Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
                "foreach": foreach,
                "differentiable": differentiable,
                "fused": fused,
            },
        )
        check_fused(fused, foreach, differentiable)
        if fused:
            self._step_supports_amp_scaling = True

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._set_group_defaults(
            nesterov=False, maximize=False, foreach=None, differentiable=False, fused=False
        )

    def _init_state(self, group: dict[str, object], p: torch.Tensor) -> dict[str, object]:
        # filled by the first step
        return {"momentum_buffer": None} if group["momentum"] != 0 else {}

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters once; see ``Optimizer.step``."""
        loss = _run_closure(closure)
        for group in self.param_groups:
            plan, grads = plan_for(self, group, group["momentum"] != 0, _buffers_of)
            fused = plan.plain and not group["differentiable"] and all(map(plain_gradients, grads))
            for bucket, bucket_grads in zip(plan.buckets, grads):
                if unscaled(self, bucket_grads):
                    (self._by_group if fused else self._by_parameter)(group, bucket, bucket_grads)
        return loss

    def _by_group(self, group: Named, bucket: Bucket, grads: list[torch.Tensor]) -> None:
        momentum = group["momentum"]
        buffers = bucket.buffers.get("momentum_buffer", [])
        n = len(grads)
        new = torch._C._fused_sgd(
            bucket.params,
            grads,
            buffers,
            lr=_to_scalar(group["lr"]),
            momentum=momentum,
            dampening=group["dampening"],
            weight_decay=group["weight_decay"],
            use_momentum=momentum != 0,
            nesterov=bool(group["nesterov"]),
            maximize=bool(group["maximize"]),
            writes=(1, 2),
        )
        if buffers:
            if new[0] is not bucket.params[0]:
                torch._C._swap_(bucket.params + buffers, new, chain(repeat(1, n), repeat(2)))
            return
        torch._C._swap_(bucket.params, new[:n])
        if momentum != 0:
            for state, buffer in zip(bucket.states, new[n:]):
                state["momentum_buffer"] = buffer
            del self._plans[id(group)]  # it was made for a step without buffers

    def _by_parameter(self, group: Named, bucket: Bucket, grads: list[torch.Tensor]) -> None:
        buffers = [state.get("momentum_buffer") for state in bucket.states]
        ready = not group["differentiable"] and (group["momentum"] == 0 or None not in buffers)
        parts = in_parts(bucket.params, grads, buffers) if ready else None
        own, own_grads, own_buffers = parts or (bucket.params, grads, buffers)
        with torch.set_grad_enabled(group["differentiable"]):
            sgd(
                own,
                own_grads,
                own_buffers,
                weight_decay=group["weight_decay"],
                momentum=group["momentum"],
                lr=group["lr"],
                dampening=group["dampening"],
                nesterov=group["nesterov"],
                maximize=group["maximize"],
            )
        if parts is not None:
            changed_in_parts(bucket.params, buffers)
        if group["momentum"] != 0:
            for state, buffer in zip(bucket.states, buffers):
                state["momentum_buffer"] = buffer
            self._plans.pop(id(group), None)


def _buffers_of(state: dict[str, torch.Tensor | None], momentum: bool) -> tuple[str, ...]:
    return ("momentum_buffer",) if momentum and state["momentum_buffer"] is not None else ()


def sgd(
    params: list[torch.Tensor],
    d_p_list: list[torch.Tensor],
    momentum_buffer_list: list[torch.Tensor | None],
    # sparse and dense gradients take the same operations
    has_sparse_grad: bool = False,  # noqa: ARG001
    foreach: bool | None = None,  # noqa: ARG001 (one implementation)
    fused: bool | None = None,  # noqa: ARG001
    grad_scale: torch.Tensor | None = None,
    found_inf: torch.Tensor | None = None,
    *,
    weight_decay: float,
    momentum: float,
    lr: float,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """One step of ``SGD`` on lists, by public operations; missing momentum buffers are put into
    their list."""
    no_amp(grad_scale, found_inf)
    lr = _to_scalar(lr)
    for i, (param, g) in enumerate(zip(params, d_p_list)):
        grad = decayed(-g if maximize else g, param, weight_decay)
        if momentum != 0:
            buf = momentum_buffer_list[i]
            if buf is None:
                buf = momentum_buffer_list[i] = grad.detach().clone()
            else:
                buf.mul_(momentum).add_(grad, alpha=1 - dampening)
            grad = grad.add(buf, alpha=momentum) if nesterov else buf
        add_scaled_(param, grad, -lr)


_single_tensor_sgd = _multi_tensor_sgd = _fused_sgd = in_one_way(sgd)
