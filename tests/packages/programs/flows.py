"""Normalising flows: nflows, zuko and normflows trained by maximum likelihood, and sampled."""

from __future__ import annotations

from typing import Any

import torch

NEEDS = ["nflows", "zuko", "normflows"]


def _train(log_prob: Any, parameters: Any, x: Any) -> list[float]:
    optimizer = torch.optim.Adam(parameters, 1e-2)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = -log_prob(x).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def coupling_splines_of_nflows() -> Any:
    from nflows import distributions, flows, nn, transforms

    def layer(mask: Any) -> Any:
        return transforms.PiecewiseRationalQuadraticCouplingTransform(
            mask,
            lambda i, o: nn.nets.ResidualNet(i, o, hidden_features=8, num_blocks=1),
            num_bins=4,
            tails="linear",
            tail_bound=3.0,
        )

    masks = [torch.tensor([1, 0, 1]), torch.tensor([0, 1, 0])]
    transform = transforms.CompositeTransform(
        [t for mask in masks for t in (layer(mask), transforms.LULinear(3, identity_init=True))]
    )
    flow = flows.Flow(transform, distributions.StandardNormal([3]))
    x = torch.randn(16, 3)
    return _train(flow.log_prob, flow.parameters(), x), flow.sample(2)


def autoregressive_flows_of_zuko() -> Any:
    import zuko

    x, context = torch.randn(16, 3), torch.randn(16, 2)
    results = []
    for flow in (
        zuko.flows.MAF(3, 2, transforms=2, hidden_features=(8,)),
        zuko.flows.NSF(3, 2, transforms=1, bins=4, hidden_features=(8,)),
    ):
        results.append(_train(lambda x, flow=flow: flow(context).log_prob(x), flow.parameters(), x))
        with torch.no_grad():
            results.append(flow(context[0]).sample((2,)).tolist())
    return results


def affine_flows_of_normflows() -> Any:
    import normflows

    base = normflows.distributions.DiagGaussian(2)
    layers: list[Any] = []
    for _ in range(2):
        layers += [
            normflows.flows.AffineCouplingBlock(normflows.nets.MLP([1, 8, 2], init_zeros=True)),
            normflows.flows.Permute(2, mode="swap"),
            normflows.flows.ActNorm(2),
        ]
    flow = normflows.NormalizingFlow(base, layers)
    x = torch.randn(16, 2) * 2 + 1
    losses = []
    # ActNorm makes some gradients zero but for rounding, whose signs Adam would follow.
    optimizer = torch.optim.SGD(flow.parameters(), 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = flow.forward_kld(x)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, flow.log_prob(x[:3])
