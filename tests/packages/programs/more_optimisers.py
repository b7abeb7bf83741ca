"""Further optimisers and helpers of training: torch_optimizer, madgrad, adabelief, dadaptation,
averages, warm-up, pruning."""

from __future__ import annotations

from typing import Any

import torch

NEEDS = [
    "torch_optimizer",
    "madgrad",
    "adabelief_pytorch",
    "dadaptation",
    "adan_pytorch",
    "torch_ema",
    "pytorch_warmup",
    "loralib",
    "torch_pruning",
]


def _net() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))


def _losses(make: Any, steps: int = 4, create_graph: bool = False) -> list[float]:
    net, losses = _net(), []
    optimizer = make(net.parameters())
    x, y = torch.randn(16, 5), torch.randint(0, 3, (16,))
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward(create_graph=create_graph)
        optimizer.step()
        losses.append(loss.item())
    return losses


def many_optimizers() -> Any:
    import torch_optimizer as to

    named = ["A2GradExp", "A2GradInc", "A2GradUni", "AccSGD", "AdaBelief", "AdaBound", "AdaMod",
             "Adafactor", "AdamP", "AggMo", "Apollo",
             "DiffGrad", "Lamb", "MADGRAD", "NovoGrad", "PID", "QHAdam", "QHM", "RAdam", "Ranger",
             "RangerQH", "RangerVA", "SGDP", "SGDW", "SWATS", "Shampoo", "Yogi"]  # fmt: skip
    found: dict[str, Any] = {name: _losses(getattr(to, name)) for name in named}
    found["Adahessian"] = _losses(lambda p: to.Adahessian(p, lr=0.1), create_graph=True)
    found["Lookahead"] = _losses(lambda p: to.Lookahead(to.Yogi(p, lr=0.1), k=2, alpha=0.5))
    return found


def single_packages() -> Any:
    from adabelief_pytorch import AdaBelief
    from adan_pytorch.adan import Adan
    from dadaptation import DAdaptAdaGrad, DAdaptAdam, DAdaptSGD
    from madgrad import MADGRAD, MirrorMADGRAD

    makes = {
        "madgrad": lambda p: MADGRAD(p, lr=0.05, momentum=0.9),
        "mirror": lambda p: MirrorMADGRAD(p, lr=0.05),
        "adabelief": lambda p: AdaBelief(
            p, lr=1e-2, eps=1e-12, rectify=True, print_change_log=False
        ),
        "adan": lambda p: Adan(p, lr=1e-2, betas=(0.02, 0.08, 0.01), weight_decay=0.02),
        "dadapt_adam": lambda p: DAdaptAdam(p, lr=1.0),
        "dadapt_sgd": lambda p: DAdaptSGD(p, lr=1.0),
        "dadapt_adagrad": lambda p: DAdaptAdaGrad(p, lr=1.0),
    }
    return {name: _losses(make, 5) for name, make in makes.items()}


def averages_and_schedules() -> Any:
    import pytorch_warmup as warmup
    from torch_ema import ExponentialMovingAverage

    net = _net()
    optimizer = torch.optim.AdamW(net.parameters(), 1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    begin = warmup.UntunedLinearWarmup(optimizer)
    average = ExponentialMovingAverage(net.parameters(), decay=0.9)
    x, rates = torch.randn(8, 5), []
    for _ in range(4):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
        with begin.dampening():
            schedule.step()
        average.update()
        rates.append(optimizer.param_groups[0]["lr"])
    with average.average_parameters():
        averaged = net(x[:1])
    return rates, averaged, net(x[:1])


def low_rank_layers() -> Any:
    import loralib

    torch.manual_seed(0)
    merged = loralib.MergedLinear(6, 9, r=2, enable_lora=[True, False, True])
    net = torch.nn.Sequential(
        loralib.Embedding(7, 6, r=2), loralib.Linear(6, 6, r=2, lora_alpha=4), merged
    )
    loralib.mark_only_lora_as_trainable(net)
    optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], 0.5)
    tokens, losses = torch.randint(0, 7, (4, 3)), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = (net(tokens) - 1).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    trained = net(tokens)
    net.eval()  # merges
    return (
        losses,
        float((net(tokens) - trained).abs().max()) < 1e-5,
        sorted(loralib.lora_state_dict(net)),
    )


def pruned_channels() -> Any:
    import torch_pruning as tp

    torch.manual_seed(0)
    first = (torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU())
    net = torch.nn.Sequential(
        *first, torch.nn.Conv2d(8, 4, 3), torch.nn.Flatten(), torch.nn.Linear(64, 5)
    )
    x = torch.randn(2, 3, 8, 8)
    before = tp.utils.count_ops_and_params(net, x)
    importance = tp.importance.GroupMagnitudeImportance(p=2)
    pruner = tp.pruner.MetaPruner(
        net, x, importance=importance, pruning_ratio=0.5, ignored_layers=[net[5]]
    )
    pruner.step()
    return (
        before,
        tp.utils.count_ops_and_params(net, x),
        [list(p.shape) for p in net.parameters()],
        net.eval()(x),
    )
