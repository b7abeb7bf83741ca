"""Spiking and recurrent cells, flows matched to data, equations, wavelets, tensor trains, measures,
meta-optimisers, pruned networks."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

NEEDS = [
    "spikingjelly",
    "xlstm",
    "torchcfm",
    "torchdyn",
    "ptwt",
    "tntorch",
    "torcheval",
    "torchopt",
    "torch_optimizer",
    "torch_pruning",
]


def _trained(model: Any, loss: Any, steps: int = 3) -> list[float]:
    optimizer, losses = torch.optim.Adam(model.parameters(), 1e-2), []
    for _ in range(steps):
        optimizer.zero_grad()
        found = loss()
        found.backward()
        optimizer.step()
        losses.append(found.item())
    return losses


def cells() -> Any:
    from spikingjelly.activation_based import functional, layer, neuron, surrogate
    from xlstm import (
        mLSTMBlockConfig,
        mLSTMLayerConfig,
        sLSTMBlockConfig,
        sLSTMLayerConfig,
        xLSTMBlockStack,
        xLSTMBlockStackConfig,
    )

    lif = neuron.LIFNode(surrogate_function=surrogate.ATan())
    spiking = nn.Sequential(layer.Linear(4, 8), lif, layer.Linear(8, 2), neuron.IFNode())
    x = 3 * torch.randn(5, 4)

    def loss() -> Any:
        functional.reset_net(spiking)
        return (sum(spiking(x) for _ in range(4)) - 1).square().mean()

    heads = {"num_heads": 2, "conv1d_kernel_size": 4}
    m, s = (
        mLSTMLayerConfig(qkv_proj_blocksize=4, **heads),
        sLSTMLayerConfig(backend="vanilla", **heads),
    )
    blocks = {"mlstm_block": mLSTMBlockConfig(mlstm=m), "slstm_block": sLSTMBlockConfig(slstm=s)}
    stack = xLSTMBlockStack(
        xLSTMBlockStackConfig(
            context_length=8, num_blocks=2, embedding_dim=16, slstm_at=[1], **blocks
        )
    )
    words = torch.randn(2, 8, 16)
    return {
        "spikes": _trained(spiking, loss),
        "xlstm": _trained(stack, lambda: stack(words).square().mean()),
    }


def flows_and_equations() -> Any:
    from torchcfm.conditional_flow_matching import (
        ConditionalFlowMatcher,
        TargetConditionalFlowMatcher,
    )
    from torchcfm.models.models import MLP
    from torchdyn.core import NeuralODE

    found: dict[str, Any] = {}
    start, end = torch.randn(8, 2), torch.randn(8, 2) + 2
    for kind in (ConditionalFlowMatcher, TargetConditionalFlowMatcher):
        model, matcher = MLP(dim=2, w=16, time_varying=True), kind(sigma=0.1)

        def loss(model: Any = model, matcher: Any = matcher) -> Any:
            torch.manual_seed(1)
            t, xt, ut = matcher.sample_location_and_conditional_flow(start, end)
            return (model(torch.cat([xt, t[:, None]], -1)) - ut).square().mean()

        found[kind.__name__] = _trained(model, loss)
    field = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
    equation = NeuralODE(field, sensitivity="adjoint", solver="rk4")
    times = torch.linspace(0, 1, 5)
    found["equation"] = _trained(equation, lambda: equation(start, times)[1][-1].square().mean())
    return found


def wavelets_trains_and_measures() -> Any:
    import ptwt
    import pywt
    import tntorch
    from torcheval import metrics
    from torcheval.metrics import functional as measures

    x = torch.randn(2, 32)
    levels = ptwt.wavedec(x, "db2", level=2, mode="zero")
    train = tntorch.Tensor(torch.randn(4, 5, 6), ranks_tt=3)
    scores, labels = torch.rand(20, 4), torch.randint(0, 4, (20,))
    curve = metrics.BinaryAUROC()
    for part in (slice(10), slice(10, 20)):
        curve.update(scores[part, 0], (labels[part] > 1).long())
    return {
        "levels": [level.square().sum() for level in levels],
        "back": ptwt.waverec(levels, "db2")[:, :32] - x,
        "matrix": [level.sum() for level in ptwt.MatrixWavedec(pywt.Wavelet("db2"), 2)(x)],
        "train": [tntorch.norm(train), tntorch.sum(train)],
        "measures": [
            measures.multiclass_accuracy(scores, labels),
            measures.multiclass_f1_score(scores, labels, num_classes=4, average="macro"),
            measures.multiclass_auroc(scores, labels, num_classes=4),
            curve.compute(),
        ],
    }


def optimisers_and_pruning() -> Any:
    import torch_optimizer
    import torch_pruning
    import torchopt
    import torchvision

    found: dict[str, Any] = {}
    x = torch.randn(6, 4)
    for name in (
        "AdaBelief",
        "AdaBound",
        "AdamP",
        "DiffGrad",
        "Lamb",
        "QHAdam",
        "RAdam",
        "SGDP",
        "Yogi",
    ):
        torch.manual_seed(2)
        model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
        optimizer = getattr(torch_optimizer, name)(model.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            loss = model(x).square().sum()
            loss.backward()
            optimizer.step()
        found[name] = loss
    inner, scale = nn.Linear(4, 1), torch.ones((), requires_grad=True)
    steps = torchopt.MetaAdam(inner, lr=0.1)
    for _ in range(2):
        steps.step((inner(x) * scale).square().mean())
    inner(x).square().mean().backward()
    net = torchvision.models.resnet18(num_classes=4).eval()
    image, importance = torch.randn(1, 3, 32, 32), torch_pruning.importance.MagnitudeImportance(p=2)
    torch_pruning.pruner.MagnitudePruner(
        net, image, importance=importance, pruning_ratio=0.5, ignored_layers=[net.fc]
    ).step()
    kept = sum(p.numel() for p in net.parameters())
    return {**found, "through steps": scale.grad, "kept": kept, "pruned": net(image).detach().sum()}
