"""Update rules that take lists; the other rules are in the modules of their optimisers and are gathered here as in torch."""

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
    for param, g, exp_avg, exp_avg_sq, step in zip(params, grads, exp_avgs, exp_avg_sqs, state_steps):
        grad = (-g if maximize else g).coalesce()
        indices, values, size = grad._indices(), grad._values(), grad.size()
        if values.numel() == 0:
            continue
        old_avg, old_sq = exp_avg.sparse_mask(grad)._values(), exp_avg_sq.sparse_mask(grad)._values()
        avg_change = (values - old_avg) * (1 - beta1)
        sq_change = (values * values - old_sq) * (1 - beta2)
        exp_avg.add_(torch.sparse_coo_tensor(indices, avg_change, size))
        exp_avg_sq.add_(torch.sparse_coo_tensor(indices, sq_change, size))
        step_size = lr * math.sqrt(1 - beta2**step) / (1 - beta1**step)
        update = (old_avg + avg_change) / ((old_sq + sq_change).sqrt() + eps)
        param.add_(torch.sparse_coo_tensor(indices, update * -step_size, size))
