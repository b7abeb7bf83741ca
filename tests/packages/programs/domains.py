"""d3rlpy, chemprop, PINA, CVXPYlayers, Quantus: offline learning, molecules, equations, convex
layers, explanations."""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

NEEDS = ["d3rlpy", "chemprop", "pina", "cvxpylayers", "quantus"]

_QUIET: dict[str, Any] = {
    "accelerator": "cpu",
    "logger": False,
    "enable_progress_bar": False,
    "enable_checkpointing": False,
    "enable_model_summary": False,
}


def offline_learning() -> Any:
    import d3rlpy
    from d3rlpy.dataset import MDPDataset
    from d3rlpy.logging import NoopAdapterFactory
    from d3rlpy.models.encoders import VectorEncoderFactory

    rng, steps, found = np.random.RandomState(0), 120, {}
    ends = np.zeros(steps)
    ends[19::20] = 1
    seen, rewards = rng.randn(steps, 4).astype(np.float32), rng.randn(steps, 1).astype(np.float32)
    for name, actions in {
        "DiscreteCQL": rng.randint(0, 3, (steps, 1)),
        "IQL": rng.uniform(-1, 1, (steps, 2)).astype(np.float32),
        "BCQ": rng.uniform(-1, 1, (steps, 2)).astype(np.float32),
    }.items():
        d3rlpy.seed(1)
        config = getattr(d3rlpy.algos, name + "Config")
        encoders = {
            k: VectorEncoderFactory([16]) for k in config.__dataclass_fields__ if "encoder" in k
        }
        algorithm = config(batch_size=16, **encoders).create(device="cpu:0")
        history = algorithm.fit(
            MDPDataset(seen, actions, rewards, ends),
            n_steps=6,
            n_steps_per_epoch=3,
            show_progress=False,
            logger_adapter=NoopAdapterFactory(),
        )
        with tempfile.TemporaryDirectory() as folder:
            algorithm.save(str(Path(folder, "kept.d3")))
            loaded = d3rlpy.load_learnable(str(Path(folder, "kept.d3")))
        losses = [{k: float(v) for k, v in epoch.items() if "loss" in k} for _, epoch in history]
        if name != "BCQ":  # whose choices are drawn
            found[name] = losses, algorithm.predict(seen[:3]), loaded.predict(seen[:3])
        else:
            found[name] = losses
    return found


def molecules() -> Any:
    from chemprop import data, models, nn
    from lightning import pytorch as lightning

    names = [
        "CCO",
        "CCN",
        "CCC",
        "c1ccccc1",
        "CC(=O)O",
        "CCCl",
        "C1CCCCC1",
        "CC#N",
        "CCOC",
        "OCCO",
        "c1ccncc1",
        "CC(C)C",
    ]
    values = np.random.RandomState(0).randn(len(names), 1)
    made = data.MoleculeDataset(
        [data.MoleculeDatapoint.from_smi(s, y) for s, y in zip(names, values, strict=True)]
    )
    loader = data.build_dataloader(made, batch_size=6, shuffle=False)
    model = models.MPNN(
        nn.BondMessagePassing(d_h=16, depth=2),
        nn.MeanAggregation(),
        nn.RegressionFFN(input_dim=16, hidden_dim=8),
    )
    trainer = lightning.Trainer(max_epochs=2, **_QUIET)
    trainer.fit(model, loader)
    return torch.cat(trainer.predict(model, loader))


def equations() -> Any:
    from pina import Condition, LabelTensor, Trainer
    from pina.domain import CartesianDomain
    from pina.equation import Equation, FixedValue
    from pina.model import FeedForward
    from pina.operator import laplacian
    from pina.problem import SpatialProblem
    from pina.solver import PINN

    def equation(given: Any, out: Any) -> Any:
        force = torch.sin(given.extract(["x"]) * torch.pi) * torch.sin(
            given.extract(["y"]) * torch.pi
        )
        return laplacian(out.extract(["u"]), given) - force

    square = CartesianDomain({"x": [0, 1], "y": [0, 1]})

    class Poisson(SpatialProblem):
        output_variables = ["u"]
        spatial_domain = square
        domains = {"edge": CartesianDomain({"x": [0, 1], "y": 0}), "inside": square}
        conditions = {
            "edge": Condition(domain="edge", equation=FixedValue(0.0)),
            "inside": Condition(domain="inside", equation=Equation(equation)),
        }

    problem = Poisson()
    problem.discretise_domain(5, "grid", domains=["inside"])
    problem.discretise_domain(6, "random", domains=["edge"])
    solver = PINN(problem, FeedForward(2, 1, layers=[8, 8], func=torch.nn.Tanh))
    with contextlib.redirect_stdout(io.StringIO()):
        trainer = Trainer(solver, max_epochs=8, **_QUIET)
        trainer.train()
    return solver(LabelTensor(torch.rand(4, 2), ["x", "y"])), {
        k: float(v.detach()) for k, v in trainer.callback_metrics.items()
    }


def convex_layers() -> Any:
    import cvxpy
    from cvxpylayers.torch import CvxpyLayer

    x, q = cvxpy.Variable(4), cvxpy.Parameter(4)
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(x - q)), [cvxpy.sum(x) == 1, x >= 0])
    layer, net = CvxpyLayer(problem, parameters=[q], variables=[x]), torch.nn.Linear(3, 4)
    optimizer, losses = torch.optim.Adam(net.parameters(), 0.05), []
    given, wanted = torch.randn(6, 3), torch.softmax(torch.randn(6, 4), 1)
    for _ in range(4):
        loss = (layer(net(given))[0] - wanted).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, net.weight


def explanations() -> Any:
    import quantus

    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 3, 3),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(147, 5),
    ).eval()

    def explained(model: Any, inputs: Any, targets: Any, **_: Any) -> Any:
        x = (
            torch.tensor(np.asarray(inputs), dtype=torch.float32)
            .reshape(-1, 1, 16, 16)
            .requires_grad_()
        )
        model(x).gather(1, torch.tensor(np.asarray(targets))[:, None]).sum().backward()
        return (x.grad * x).detach().sum(1, keepdim=True).abs().numpy()

    x, y = torch.rand(3, 1, 16, 16).numpy(), np.array([1, 2, 3])
    said: dict[str, Any] = {"disable_warnings": True, "display_progressbar": False}
    metrics = {
        "faithfulness": quantus.FaithfulnessCorrelation(nr_runs=5, subset_size=16, **said),
        "sensitivity": quantus.MaxSensitivity(nr_samples=2, **said),
        "sparseness": quantus.Sparseness(**said),
        "randomised": quantus.MPRT(**said),
    }
    weights = explained(model, x, y)
    return {
        name: metric(
            model=model, x_batch=x, y_batch=y, a_batch=weights, device="cpu", explain_func=explained
        )
        for name, metric in metrics.items()
    }
