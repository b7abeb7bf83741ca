"""Further packages of science: transport, molecules, simulations, flows, equations, uncertainty,
curvature, clusters."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch

NEEDS = [
    "geomloss", "torchani", "sbi", "FrEIA", "deepxde", "bayesian_torch", "blitz", "torchbnn",
    "laplace",
    "curvlinops", "torchdyn", "torch_kmeans", "kmeans_pytorch",
]  # fmt: skip


def _net(*sizes: int) -> Any:
    torch.manual_seed(0)
    layers: list[Any] = []
    for a, b in pairwise(sizes):
        layers += [torch.nn.Linear(a, b), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers[:-1])


def transport() -> Any:
    from geomloss import SamplesLoss

    x, y = torch.rand(12, 2, requires_grad=True), torch.rand(10, 2)
    found = {}
    for loss, more in (
        ("sinkhorn", {"p": 2, "blur": 0.1}),
        ("gaussian", {"blur": 0.5}),
        ("laplacian", {"blur": 0.5}),
        ("energy", {}),
    ):
        value = SamplesLoss(loss, backend="tensorized", **more)(x, y)
        found[loss] = value, torch.autograd.grad(value, x)[0][0]
    return found


def molecules() -> Any:
    import torchani

    torch.manual_seed(0)
    computer = torchani.AEVComputer.like_1x()
    species = torch.tensor([[1, 0, 0, 0, 0]])
    places = torch.tensor(
        [
            [
                [0.03, 0.006, 0.01],
                [-0.83, 0.39, -0.26],
                [-0.66, -0.84, 0.2],
                [0.45, 0.03, 0.93],
                [0.66, -0.2, -0.84],
            ]
        ],
        requires_grad=True,
    )
    aev = computer(species, places)
    aev = aev if isinstance(aev, torch.Tensor) else aev.aevs
    weights = torch.linspace(-1, 1, aev.shape[-1])
    energy = (aev * weights).sum()
    return aev.shape[-1], aev[0, 0, :8], torch.autograd.grad(energy, places)[0][0]


def simulations() -> Any:
    from sbi.inference import NPE
    from sbi.utils import BoxUniform

    torch.manual_seed(0)
    prior = BoxUniform(-2 * torch.ones(2), 2 * torch.ones(2))
    theta = prior.sample((64,))
    x = theta + 0.1 * torch.randn(64, 2)
    inference = NPE(prior, density_estimator="maf", show_progress_bars=False)
    estimator = inference.append_simulations(theta, x).train(
        max_num_epochs=2, training_batch_size=16
    )
    posterior = inference.build_posterior(estimator)
    with torch.no_grad():
        density = posterior.log_prob(torch.zeros(1, 2), x=torch.zeros(1, 2), norm_posterior=False)
    return inference.summary["training_loss"], density


def invertible_networks() -> Any:
    import FrEIA.framework as ff
    import FrEIA.modules as fm

    torch.manual_seed(0)

    def subnet(n: int, m: int) -> Any:
        return torch.nn.Sequential(torch.nn.Linear(n, 8), torch.nn.ReLU(), torch.nn.Linear(8, m))

    net = ff.SequenceINN(4)
    for _ in range(2):
        net.append(fm.AllInOneBlock, subnet_constructor=subnet, permute_soft=True)
        net.append(fm.ActNorm)
    net.append(fm.GLOWCouplingBlock, subnet_constructor=subnet)
    optimizer, losses = torch.optim.Adam(net.parameters(), 1e-2), []
    x = torch.randn(16, 4)
    for _ in range(3):
        optimizer.zero_grad()
        z, jac = net(x)
        loss = (0.5 * z.square().sum(1) - jac).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    back, _ = net(net(x)[0], rev=True)
    return losses, bool((back - x).abs().max() < 1e-3)


def equations() -> Any:
    import deepxde as dde

    dde.config.set_random_seed(0)
    space = dde.geometry.Interval(-1, 2)

    def pde(x: Any, y: Any) -> Any:
        return dde.grad.hessian(y, x) + 9.87 * torch.sin(3.1416 * x)

    edge = dde.icbc.DirichletBC(space, lambda x: 0, lambda _, on: on)
    data = dde.data.PDE(space, pde, edge, 16, 2, train_distribution="uniform")
    model = dde.Model(data, dde.nn.FNN([1, 10, 10, 1], "tanh", "Glorot uniform"))
    model.compile("sgd", lr=1e-3)
    history, _ = model.train(iterations=6, display_every=2, verbose=0)
    return [[float(v) for v in row] for row in history.loss_train]


def uncertain_layers() -> Any:
    import torchbnn
    from bayesian_torch.layers import (
        Conv2dReparameterization,
        LinearFlipout,
        LinearReparameterization,
        LSTMReparameterization,
    )
    from blitz.modules import BayesianLinear, BayesianLSTM

    found: dict[str, Any] = {}
    x = torch.randn(3, 5)
    for made in (
        LinearReparameterization(5, 4),
        LinearFlipout(5, 4),
        LSTMReparameterization(5, 4),
        Conv2dReparameterization(2, 3, 3),
    ):
        given = (
            x
            if "Linear" in type(made).__name__
            else torch.randn(2, 3, 5)
            if "LSTM" in type(made).__name__
            else torch.randn(1, 2, 5, 5)
        )
        out, *_, kl = made(given)
        out = out[0] if isinstance(out, tuple) else out
        (out.square().mean() + kl).backward()
        found[type(made).__name__] = (
            out.reshape(-1)[:3],
            kl,
            next(made.parameters()).grad.reshape(-1)[:3],
        )
    layer, memory = BayesianLinear(5, 4), BayesianLSTM(5, 4)
    found["blitz"] = layer(x)[0], memory(torch.randn(2, 3, 5))[0][0, 0]
    net = torch.nn.Sequential(
        torchbnn.BayesLinear(prior_mu=0, prior_sigma=0.1, in_features=5, out_features=2)
    )
    loss = torch.nn.functional.cross_entropy(
        net(x), torch.tensor([0, 1, 1])
    ) + 0.1 * torchbnn.BKLLoss()(net)
    loss.backward()
    found["torchbnn"] = loss, net[0].weight_mu.grad[0]
    return found


def curvature() -> Any:
    from curvlinops import (
        EFLinearOperator,
        FisherMCLinearOperator,
        GGNLinearOperator,
        HessianLinearOperator,
    )
    from laplace import Laplace
    from laplace.curvature import GGNInterface  # noqa: F401
    from laplace.curvature.curvlinops import CurvlinopsGGN

    net = _net(3, 5, 2)
    x, y = torch.randn(12, 3), torch.randint(0, 2, (12,))
    loss = torch.nn.CrossEntropyLoss()
    params = dict(net.named_parameters())
    found: dict[str, Any] = {}
    for operator in (
        HessianLinearOperator,
        GGNLinearOperator,
        EFLinearOperator,
        FisherMCLinearOperator,
    ):
        try:
            made = operator(net, loss, list(params.values()), [(x, y)])
        except Exception:  # later versions take them by name
            made = operator(net, loss, params, [(x, y)])
        found[operator.__name__] = (made @ torch.ones(made.shape[1]))[:5]
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 6)
    for structure in ("diag", "full"):
        la = Laplace(
            net,
            "classification",
            subset_of_weights="all",
            hessian_structure=structure,
            backend=CurvlinopsGGN,
        )
        la.fit(loader)
        found[structure] = la(x[:2], link_approx="probit"), la.log_marginal_likelihood()
    return found


def clusters_and_flows() -> Any:
    from kmeans_pytorch import kmeans
    from torch_kmeans import KMeans
    from torchdyn.core import NeuralODE

    x = torch.cat([torch.randn(10, 2) * 0.1, torch.randn(10, 2) * 0.1 + 3])
    labels, centres = kmeans(X=x, num_clusters=2, distance="euclidean")
    found: dict[str, Any] = {"kmeans": (int(labels[0] != labels[10]), centres.sort(0)[0])}
    result = KMeans(n_clusters=2, verbose=False)(x[None])
    found["torch_kmeans"] = result.inertia, int(result.labels[0, 0] != result.labels[0, 10])
    ode = NeuralODE(_net(2, 8, 2), sensitivity="adjoint", solver="dopri5", atol=1e-5, rtol=1e-5)
    times, path = ode(x[:4], torch.linspace(0, 1, 4))
    path[-1].square().sum().backward()
    found["ode"] = times, path[-1], next(ode.parameters()).grad.reshape(-1)[:4]
    return found
