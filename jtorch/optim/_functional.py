"""Update rules that take lists; the other rules are in the modules of their optimisers and are
gathered here as in torch."""

from __future__ import annotations

import math

import jtorch as torch

from .adadelta import adadelta as adadelta
from .adagrad import adagrad as adagrad
from .adam import adam as adam
from .adamax import adamax as adamax
from .adamw import adamw as adamw
from .asgd import asgd as asgd
from .nadam import nadam as nadam
from .radam import radam as radam
from .rmsprop import rmsprop as rmsprop
from .rprop import rprop as rprop
from .sgd import sgd as sgd


def sparse_adam(
    params: list[torch.Tensor],
    grads: list[torch.Tensor],
    exp_avgs: list[torch.Tensor],
    exp_avg_sqs: list[torch.Tensor],
    state_steps: list[int],
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float,
    maximize: bool,
) -> None:
    """One step of ``SparseAdam`` on lists."""
    for param, g, exp_avg, exp_avg_sq, step in zip(
        params, grads, exp_avgs, exp_avg_sqs, state_steps
    ):
        grad = (-g if maximize else g).coalesce()
        indices, values, size = grad._indices(), grad._values(), grad.size()
        if values.numel() == 0:
            continue
        step_size = lr * math.sqrt(1 - beta2**step) / (1 - beta1**step)
        if indices.shape[0] and _is_plain(param, values, exp_avg, exp_avg_sq):
            made = torch._C._sparse_adam(
                param,
                exp_avg,
                exp_avg_sq,
                indices,
                values,
                step_size=step_size,
                beta1=beta1,
                beta2=beta2,
                eps=eps,
            )
            torch._C._swap_((param, exp_avg, exp_avg_sq), made)
            continue
        old_avg, old_sq = (
            exp_avg.sparse_mask(grad)._values(),
            exp_avg_sq.sparse_mask(grad)._values(),
        )
        avg_change = (values - old_avg) * (1 - beta1)
        sq_change = (values * values - old_sq) * (1 - beta2)
        exp_avg.add_(torch.sparse_coo_tensor(indices, avg_change, size))
        exp_avg_sq.add_(torch.sparse_coo_tensor(indices, sq_change, size))
        update = (old_avg + avg_change) / ((old_sq + sq_change).sqrt() + eps)
        param.add_(torch.sparse_coo_tensor(indices, update * -step_size, size))


def _is_plain(param: torch.Tensor, *others: torch.Tensor) -> bool:
    """Whether one operation takes a step: of a parameter in single or double precision, and others
    like it, without subclasses."""
    if type(param) not in (torch.Tensor, torch.nn.Parameter) or param.dtype not in (
        torch.float32,
        torch.float64,
    ):
        return False
    return all(type(t) is torch.Tensor and t.dtype is param.dtype for t in others)
