"""Adam for sparse gradients: only the rows that a gradient names move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jtorch as torch

from ._common import check_betas, check_lr, zeros
from ._functional import sparse_adam
from .optimizer import Optimizer, ParamsT, _run_closure, _to_scalar

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam that updates moments and parameters at the entries of sparse gradients only. Parameters
    are dense.

    Args:
        params: tensors, ``(name, tensor)`` pairs, or dicts with ``"params"`` and options of their
            own.
        lr: the learning rate, a number or a tensor.
        betas: how much of the old averages of the gradient and of its square is kept.
        eps: added to the denominator, so that it is never zero.
        maximize: whether to climb instead of to descend.
    """

    _sparse_grads = True

    def __init__(
        self,
        params: ParamsT,
        lr: float | torch.Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_lr(lr)
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        places = [
            (p, [g, i])
            for g, group in enumerate(self.param_groups)
            for i, p in enumerate(group["params"])
        ]
        sparse = [place for p, place in places if p.is_sparse]
        if sparse:
            raise ValueError(
                f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors"
            )
        is_complex = [place for p, place in places if p.is_complex()]
        if is_complex:
            raise ValueError(
                f"Complex params at indices {is_complex}: SparseAdam does not support complex "
                "parameters"
            )

    def _init_state(
        self, group: dict[str, object], p: torch.Tensor
    ) -> dict[str, torch.Tensor | int]:
        return {"step": 0, "exp_avg": zeros(p), "exp_avg_sq": zeros(p)}

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters once; see ``Optimizer.step``."""
        loss = _run_closure(closure)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None and not p.grad.is_sparse:
                    raise RuntimeError(
                        "SparseAdam does not support dense gradients, please consider Adam instead"
                    )
            params, grads, states = self._collect(group)
            for state in states:
                state["step"] += 1
            beta1, beta2 = group["betas"]
            sparse_adam(
                params,
                grads,
                [state["exp_avg"] for state in states],
                [state["exp_avg_sq"] for state in states],
                [state["step"] for state in states],
                eps=group["eps"],
                beta1=beta1,
                beta2=beta2,
                lr=_to_scalar(group["lr"]),
                maximize=group.get("maximize", False),
            )
        return loss
