"""Adafactor."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import jtorch as torch

from ._common import advance, check_lr, in_one_way, new_step, pick, zeros
from ._fused import plain_gradients, plan_for
from .optimizer import Optimizer, ParamsT, _run_closure, _to_scalar

if TYPE_CHECKING:
    from .._src.facts.kinds import Named
    from ._fused import Bucket


__all__ = ["Adafactor", "adafactor"]


class Adafactor(Optimizer):
    """Adafactor: second moments of matrices kept as row and column sums
    (https://arxiv.org/abs/1804.04235).

    Args:
        params: tensors, ``(name, tensor)`` pairs, or dicts with ``"params"`` and options of their
            own.
        lr: the learning rate, a number or a tensor.
        beta2_decay: the power with which the old average of squares loses weight.
        eps: what is added to squares, and the smallest root mean square of a parameter; None for
            the smallest step of the dtype.
        d: the largest root mean square of a step.
        weight_decay: how much of each parameter is taken off it, as a penalty on its square.
        foreach: accepted; one operation for each group takes all parameters either way.
        maximize: whether to climb instead of to descend.
    """

    __module__ = "jtorch.optim"  # the name that files know it by

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not eps[0] >= 0.0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not eps[1] >= 0.0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(
            params,
            {
                "lr": lr,
                "beta2_decay": beta2_decay,
                "eps": eps,
                "d": d,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
            },
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._set_group_defaults(foreach=None)

    def _init_state(self, group: dict[str, object], p: torch.Tensor) -> dict[str, torch.Tensor]:
        grad: Any = p.grad
        state = {"step": new_step(group)}
        if grad.dim() > 1:
            state["row_var"] = grad.new_zeros([*grad.shape[:-1], 1])
            state["col_var"] = grad.new_zeros([*grad.shape[:-2], 1, grad.shape[-1]])
        else:
            state["variance"] = zeros(grad)
        return state

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters once; see ``Optimizer.step``."""
        loss = _run_closure(closure)
        for group in self.param_groups:
            if any(p.grad is not None and torch.is_complex(p) for p in group["params"]):
                raise RuntimeError("Adafactor does not support complex parameters")
            plan, grads = plan_for(self, group, None, _buffers_of)
            at_once = (
                plan.plain and all(map(plain_gradients, grads)) and all(map(_is_precise, grads))
            )
            for bucket, bucket_grads in zip(plan.buckets, grads):
                (self._by_group if at_once else self._by_parameter)(group, bucket, bucket_grads)
        return loss

    def _by_group(self, group: Named, bucket: Any, grads: list[torch.Tensor]) -> None:
        if hasattr(self, "grad_scale") or hasattr(self, "found_inf"):
            return self._by_parameter(group, bucket, grads)
        params, buffers, steps = bucket.params, bucket.buffers, bucket.stepped
        held = [buffers.get(name, []) for name in ("row_var", "col_var", "variance")]
        decays = group["weight_decay"] != 0
        eps1, eps2 = group["eps"]
        *new, step = torch._C._fused_adafactor(
            params,
            grads,
            *held,
            steps[0],
            lr=_to_scalar(group["lr"]),
            beta2_decay=group["beta2_decay"],
            weight_decay=group["weight_decay"],
            eps1=torch.finfo(params[0].dtype).eps if eps1 is None else eps1,
            eps2=eps2,
            d=group["d"],
            maximize=group["maximize"],
            writes=(1 + decays, 1, 1, 1),
        )
        writes = chain(repeat(1 + decays, len(params)), repeat(1))
        torch._C._swap_(
            [*params, *chain.from_iterable(held), *steps], [*new, *([step] * len(steps))], writes
        )
        return None

    def _by_parameter(self, group: Named, bucket: Bucket, grads: list[torch.Tensor]) -> None:
        eps1, eps2 = group["eps"]
        rows, columns, variances, steps = [
            pick(bucket.states, name) for name in ("row_var", "col_var", "variance", "step")
        ]
        adafactor(
            bucket.params,
            grads,
            rows,
            columns,
            variances,
            steps,
            d=group["d"],
            lr=group["lr"],
            beta2_decay=group["beta2_decay"],
            weight_decay=group["weight_decay"],
            eps1=eps1,
            eps2=eps2,
            maximize=group["maximize"],
            grad_scale=getattr(self, "grad_scale", None),
            found_inf=getattr(self, "found_inf", None),
        )


def _buffers_of(state: dict[str, torch.Tensor], _key: None) -> tuple[str, ...]:
    return ("row_var", "col_var", "step") if "row_var" in state else ("variance", "step")


def _is_precise(grads: list[torch.Tensor]) -> bool:
    return grads[0].dtype in (torch.float32, torch.float64)


def adafactor(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    row_vars: list[torch.Tensor | None],
    col_vars: list[torch.Tensor | None],
    variances: list[torch.Tensor | None],
    state_steps: list[torch.Tensor],
    foreach: bool | None = None,  # noqa: ARG001 (one implementation)
    grad_scale: torch.Tensor | None = None,
    found_inf: torch.Tensor | None = None,
    has_complex: bool = False,  # noqa: ARG001 (refused by the optimiser)
    *,
    d: float,
    lr: float | torch.Tensor,
    beta2_decay: float,
    weight_decay: float,
    eps1: float | None,
    eps2: float,
    maximize: bool,
) -> None:
    """One step of ``Adafactor`` on lists."""
    if not all(isinstance(t, torch.Tensor) for t in state_steps):
        raise RuntimeError("`state_steps` argument must contain a list of singleton tensors")
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Grad scaling should occur outside of optimizer.step()")
    lr = _to_scalar(lr)
    for i, param in enumerate(params):
        grad = -grads[i] if maximize else grads[i]
        floor = torch.finfo(param.dtype).eps if eps1 is None else eps1
        step = advance(state_steps[i])
        fresh = step**beta2_decay
        rate = torch.clamp(step**-0.5, max=lr)
        alpha = torch.clamp(param.norm(2).double() / param.numel() ** 0.5, min=eps2) * rate
        if weight_decay != 0:
            param.mul_(1 - lr * weight_decay)
        if grad.dim() > 1:
            row_var, col_var = row_vars[i], col_vars[i]
            if row_var is None or col_var is None:
                raise AssertionError(
                    "row_var and col_var should be defined when grad is multidimensional"
                )
            _approach(
                row_var, torch.norm(grad, dim=-1, keepdim=True).square() / grad.size(-1), fresh
            )
            _approach(
                col_var, torch.norm(grad, dim=-2, keepdim=True).square() / grad.size(-2), fresh
            )
            estimate = (row_var @ col_var) / row_var.mean(dim=-2, keepdim=True).clamp(min=floor)
        else:
            variance = variances[i]
            if variance is None:
                raise AssertionError("variance should be defined when grad is a vector")
            _approach(variance, grad * grad, fresh)
            estimate = variance.clone()
        update = estimate.clamp(min=floor * floor).rsqrt() * grad
        denom = torch.clamp(update.norm(2).double() / (update.numel() ** 0.5 * d), min=1.0)
        param.add_(update * (-alpha / denom))


def _approach(average: torch.Tensor, value: torch.Tensor, weight: torch.Tensor) -> None:
    average.lerp_(value, weight.to(average.dtype))


_single_tensor_adafactor = _multi_tensor_adafactor = in_one_way(adafactor)
