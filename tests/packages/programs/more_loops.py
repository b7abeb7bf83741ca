"""Loops and losses of further frameworks: mmengine, poutyne, torchtnt, sb3_contrib, snntorch,
experts, slots, several objectives."""

from __future__ import annotations

import logging
import tempfile
from typing import Any

import torch

NEEDS = [
    "mmengine", "poutyne", "torchtnt", "torch_lr_finder", "sb3_contrib", "snntorch", "torchjd",
    "slot_attention", "mixture_of_experts", "st_moe_pytorch", "routing_transformer", "torchio",
    "pytorch_toolbelt",
]  # fmt: skip


def _trained(model: Any, loss: Any, steps: int = 3) -> list[float]:
    optimizer, losses = torch.optim.Adam(model.parameters(), 1e-2), []
    for _ in range(steps):
        optimizer.zero_grad()
        torch.manual_seed(1)
        found = loss()
        found.backward()
        optimizer.step()
        losses.append(found.item())
    return losses


def _data() -> Any:
    return torch.utils.data.TensorDataset(torch.randn(16, 4), torch.randn(16, 1))


def loops() -> Any:
    from mmengine.model import BaseModel
    from mmengine.runner import Runner
    from poutyne import Model
    from torch_lr_finder import LRFinder
    from torchtnt.framework.auto_unit import AutoUnit
    from torchtnt.framework.train import train

    loader = torch.utils.data.DataLoader(_data(), batch_size=4)

    class Straight(BaseModel):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, x: Any, y: Any, mode: str = "tensor") -> Any:
            out = self.layer(x)
            return {"loss": (out - y).square().mean()} if mode == "loss" else [out]

    class Unit(AutoUnit):
        def compute_loss(self, state: Any, data: Any) -> Any:
            out = self.module(data[0])
            return (out - data[1]).square().mean(), out

        def configure_optimizers_and_lr_scheduler(self, module: Any) -> Any:
            return torch.optim.SGD(module.parameters(), 0.1), None

    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        straight = Straight()
        optimizer = {"optimizer": {"type": "SGD", "lr": 0.1}}
        epochs = {"by_epoch": True, "max_epochs": 2}
        Runner(
            straight,
            folder,
            loader,
            train_cfg=epochs,
            optim_wrapper=optimizer,
            log_level="ERROR",
            experiment_name="loops",
        ).train()
        found["mmengine"] = [p.sum() for p in straight.parameters()]
        logging.shutdown()
    layer = torch.nn.Linear(4, 1)
    train(Unit(module=layer), loader, max_epochs=2)
    found["torchtnt"] = [p.sum() for p in layer.parameters()]
    layer = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    wrapped = Model(layer, "sgd", "mse", device="cpu")
    found["poutyne"] = [
        epoch["loss"] for epoch in wrapped.fit_generator(loader, epochs=2, verbose=False)
    ]
    finder = LRFinder(
        layer, torch.optim.SGD(layer.parameters(), 1e-4), torch.nn.MSELoss(), device="cpu"
    )
    finder.range_test(loader, end_lr=1, num_iter=10)
    found["torch_lr_finder"] = finder.history["loss"]
    return found


def players() -> Any:
    from sb3_contrib import QRDQN, TRPO, RecurrentPPO

    found: dict[str, Any] = {}
    for kind, policy, options in (
        (TRPO, "MlpPolicy", {"n_steps": 64, "batch_size": 32}),
        (QRDQN, "MlpPolicy", {"learning_starts": 20}),
        (RecurrentPPO, "MlpLstmPolicy", {"n_steps": 32, "batch_size": 16, "n_epochs": 2}),
    ):
        sizes = {"net_arch": [8]} | ({"lstm_hidden_size": 8} if kind is RecurrentPPO else {})
        player = kind(policy, "CartPole-v1", seed=0, device="cpu", policy_kwargs=sizes, **options)
        player.learn(100)
        found[kind.__name__] = sum(
            p.detach().double().abs().sum() for p in player.policy.parameters()
        )
    return found


def spikes() -> Any:
    import snntorch
    from snntorch import functional, spikegen, surrogate

    hidden = snntorch.Leaky(beta=0.9, spike_grad=surrogate.fast_sigmoid(), learn_beta=True)
    last = snntorch.Synaptic(alpha=0.8, beta=0.9, spike_grad=surrogate.atan())
    net = torch.nn.ModuleList([torch.nn.Linear(6, 8), hidden, torch.nn.Linear(8, 3), last])
    x, y = torch.randn(4, 6) * 3, torch.tensor([0, 1, 2, 0])

    def loss() -> Any:
        inner, (current, outer), spikes, potentials = (
            hidden.init_leaky(),
            last.init_synaptic(),
            [],
            [],
        )
        for _ in range(5):
            spike, inner = hidden(net[0](x), inner)
            spike, current, outer = last(net[2](spike), current, outer)
            spikes.append(spike)
            potentials.append(outer)
        return (
            functional.ce_rate_loss()(torch.stack(spikes), y)
            + torch.stack(potentials).square().mean()
        )

    return {
        "losses": _trained(net, loss, 4),
        "rate": spikegen.rate(torch.rand(2, 4), num_steps=5).sum(),
    }


def mixtures() -> Any:
    from mixture_of_experts import MoE
    from routing_transformer import RoutingTransformerLM
    from slot_attention import SlotAttention
    from st_moe_pytorch import MoE as StableMoE
    from torchjd.aggregation import MGDA, Mean, PCGrad

    x = torch.randn(2, 8, 8)
    experts, stable, slots = (
        MoE(dim=8, num_experts=4),
        StableMoE(dim=8, num_experts=4, gating_top_n=2),
        SlotAttention(3, 16, iters=2),
    )
    words = torch.arange(64).reshape(2, 32) % 16
    routed = RoutingTransformerLM(
        num_tokens=16,
        dim=16,
        heads=2,
        depth=1,
        max_seq_len=32,
        causal=True,
        window_size=8,
        n_local_attn_heads=1,
    )

    def of_words() -> Any:
        out, extra = routed(words)
        return torch.nn.functional.cross_entropy(out.transpose(1, 2), words) + extra

    rows = torch.randn(2, 6)
    return {
        "experts": _trained(experts, lambda: (found := experts(x))[0].square().mean() + found[1]),
        "stable experts": _trained(
            stable, lambda: (found := stable(x))[0].square().mean() + found[1]
        ),
        "slots": _trained(
            slots, lambda: slots(torch.ones(2, 10, 16).cumsum(1) / 10).square().mean()
        ),
        "routed": _trained(routed, of_words),
        "objectives": [aggregate(rows).sum() for aggregate in (MGDA(), PCGrad(), Mean())],
    }


def volumes_and_masks() -> Any:
    import torchio
    from pytorch_toolbelt import losses

    subject = torchio.Subject(
        image=torchio.ScalarImage(tensor=torch.randn(1, 8, 8, 8)),
        label=torchio.LabelMap(tensor=(torch.randn(1, 8, 8, 8) > 0).float()),
    )
    changed = torchio.Compose([
        torchio.RandomFlip(axes=(0, 1), flip_probability=1.0), torchio.ZNormalization(),
        torchio.CropOrPad((6, 6, 6)), torchio.RandomNoise(std=0.1), torchio.RandomBiasField(),
        torchio.RescaleIntensity((0, 1)),
    ])(subject)  # fmt: skip
    found: dict[str, Any] = {"torchio": [changed.image.data.sum(), changed.label.data.sum()]}
    x, y = torch.randn(2, 1, 8, 8, requires_grad=True), (torch.randn(2, 1, 8, 8) > 0).float()
    for loss in (
        losses.DiceLoss("binary"),
        losses.JaccardLoss("binary"),
        losses.BinaryFocalLoss(),
        losses.BinaryLovaszLoss(),
    ):
        value = loss(x, y)
        found[type(loss).__name__] = value, torch.autograd.grad(value, x)[0].square().sum()
    return found
