"""Resilient backpropagation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch

from ._common import as_real, check_lr, in_one_way, new_step, update_lists, zeros
from .optimizer import Optimizer, ParamsT, _to_scalar, _use_grad_for_differentiable

if TYPE_CHECKING:
    from .._src.facts.kinds import Named


__all__ = ["Rprop", "rprop"]


class Rprop(Optimizer):
    """Resilient backpropagation: each element has a step size of its own, and only signs of
    gradients count.

    Args:
        params: tensors, ``(name, tensor)`` pairs, or dicts with ``"params"`` and options of their
            own.
        lr: the learning rate, a number or a tensor.
        etas: by what step sizes are multiplied where the sign of the gradient changes, and where it
            stays.
        step_sizes: the smallest and the largest step.
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
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(
            params,
            {
                "lr": lr,
                "etas": etas,
                "step_sizes": step_sizes,
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

    def _init_state(self, group: Named, p: torch.Tensor) -> dict[str, torch.Tensor]:
        lr = _to_scalar(group["lr"])
        grad: Any = p.grad
        size = (
            torch.full_like(grad, complex(lr, lr))
            if p.dtype.is_complex
            else torch.full_like(grad, lr)
        )
        return {"step": new_step(group), "prev": zeros(p), "step_size": size}

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters once; see ``Optimizer.step``."""
        whole, buffers = torch._C._fused_rprop, "prev step_size step"
        etas, sizes = ("etaminus", "etaplus"), ("step_size_min", "step_size_max")
        return update_lists(
            self, closure, rprop, whole, buffers, (1, 1, 2, 1), etas=etas, step_sizes=sizes
        )


def rprop(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    prevs: list[torch.Tensor],
    step_sizes: list[torch.Tensor],
    state_steps: list[torch.Tensor],
    foreach: bool | None = None,  # noqa: ARG001 (one implementation)
    capturable: bool = False,  # noqa: ARG001 (it never reads values on the host)
    maximize: bool = False,
    differentiable: bool = False,  # noqa: ARG001 (nothing that autograd saved is overwritten)
    has_complex: bool = False,  # noqa: ARG001 (seen from the parameters)
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
) -> None:
    """One step of ``Rprop`` on lists."""
    for i, param in enumerate(params):
        state_steps[i].add_(1)
        grad = -grads[i] if maximize else grads[i]
        param, grad, prev, step_size = as_real(param, grad, prevs[i], step_sizes[i])
        agreement = grad * prev.clone()
        one = torch.ones_like(agreement)
        # what is left of agreement below is NaN
        factor = torch.where(agreement == 0, one, agreement)
        factor = torch.where(
            agreement > 0, etaplus * one, torch.where(agreement < 0, etaminus * one, factor)
        )
        step_size.mul_(factor).clamp_(step_size_min, step_size_max)
        # after a change of sign the element rests once
        grad = torch.where(agreement < 0, torch.zeros_like(grad), grad)
        param.sub_(grad.sign() * step_size.clone())
        prev.copy_(grad)


_single_tensor_rprop = _multi_tensor_rprop = in_one_way(rprop)
