"""Optimisers of other packages, averages of weights, and schedules: pytorch_optimizer,
schedulefree, prodigyopt, lion, ema."""

from __future__ import annotations

import copy
from typing import Any

import torch

NEEDS = ["pytorch_optimizer", "schedulefree", "prodigyopt", "lion_pytorch", "ema_pytorch"]


def _problem() -> Any:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.GELU(), torch.nn.Linear(6, 2))
    return model, torch.randn(12, 4), torch.randn(12, 2)


def _losses(make: Any, steps: int = 4, modes: bool = False) -> Any:
    model, x, y = _problem()
    optimizer = make(model)
    if modes:
        optimizer.train()
    losses = []
    for _ in range(steps):

        def closure() -> Any:
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward(create_graph=getattr(optimizer, "graph", False))
            return loss

        losses.append(float(optimizer.step(closure)))
    if modes:
        optimizer.eval()
    state = copy.deepcopy(optimizer.state_dict())
    optimizer.load_state_dict(state)
    return losses, model[0].weight[0].tolist()


def of_pytorch_optimizer() -> Any:
    import pytorch_optimizer as po

    names = (
        "AdaBelief AdaBound Adan CAME DAdaptAdam Lamb Lion MADGRAD NovoGrad QHAdam RAdam Ranger "
        "SM3 Shampoo StableAdamW Tiger"
    )
    found = {}
    for name in names.split():
        cls = getattr(po, name, None) or po.load_optimizer(name.lower())
        found[name] = _losses(lambda model, cls=cls: cls(model.parameters(), lr=1e-2))
    return found


def sharpness_aware() -> Any:
    from pytorch_optimizer import SAM, Lookahead

    model, x, y = _problem()
    optimizer = SAM(model.parameters(), torch.optim.SGD, lr=0.05, momentum=0.9)
    losses = []
    for _ in range(3):
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.first_step(zero_grad=True)
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.second_step(zero_grad=True)
        losses.append(loss.item())
    return losses, _losses(
        lambda model: Lookahead(torch.optim.AdamW(model.parameters(), 0.05), k=2)
    )


def without_schedules() -> Any:
    import schedulefree
    from lion_pytorch import Lion
    from prodigyopt import Prodigy

    return {
        "adamw": _losses(
            lambda m: schedulefree.AdamWScheduleFree(m.parameters(), lr=0.05, warmup_steps=2),
            modes=True,
        ),
        "sgd": _losses(lambda m: schedulefree.SGDScheduleFree(m.parameters(), lr=0.5), modes=True),
        "radam": _losses(
            lambda m: schedulefree.RAdamScheduleFree(m.parameters(), lr=0.05), modes=True
        ),
        "prodigy": _losses(lambda m: Prodigy(m.parameters(), lr=1.0, weight_decay=0.01)),
        "lion": _losses(lambda m: Lion(m.parameters(), lr=0.01, weight_decay=0.1)),
    }


def averages_and_schedules() -> Any:
    import pytorch_optimizer as po
    from ema_pytorch import EMA

    model, x, y = _problem()
    average = EMA(model, beta=0.9, update_after_step=1, update_every=1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    schedule = po.CosineAnnealingWarmupRestarts(
        optimizer, first_cycle_steps=4, max_lr=0.1, min_lr=0.01, warmup_steps=1
    )
    swa = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.5)
    )
    rates = []
    for _ in range(5):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        schedule.step()
        average.update()
        swa.update_parameters(model)
        rates.append(optimizer.param_groups[0]["lr"])
    return rates, average(x)[0], swa(x)[0]
