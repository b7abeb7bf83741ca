"""gpytorch, torchdiffeq and pyro: exact and variational Gaussian processes, differential equations,
variational inference."""

from __future__ import annotations

from typing import Any

import torch

NEEDS = ["gpytorch", "torchdiffeq", "pyro"]


def exact_gaussian_process() -> Any:
    import gpytorch

    class Model(gpytorch.models.ExactGP):
        def __init__(self, x: Any, y: Any, likelihood: Any) -> None:
            super().__init__(x, y, likelihood)
            self.mean = gpytorch.means.ConstantMean()
            self.kernel = gpytorch.kernels.ScaleKernel(
                gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=2)
            )

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    x = torch.rand(12, 2, dtype=torch.float64)
    y = (x * 4).sin().sum(-1)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Model(x, y, likelihood).double()
    likelihood.double()
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimizer = torch.optim.Adam(model.parameters(), 0.1)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = -objective(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        found = likelihood(model(torch.rand(3, 2, dtype=torch.float64)))
    return losses, found.mean, found.variance


def variational_gaussian_process() -> Any:
    import gpytorch

    class Model(gpytorch.models.ApproximateGP):
        def __init__(self, points: Any) -> None:
            distribution = gpytorch.variational.CholeskyVariationalDistribution(points.size(0))
            strategy = gpytorch.variational.VariationalStrategy(
                self, points, distribution, learn_inducing_locations=True
            )
            super().__init__(strategy)
            self.mean = gpytorch.means.LinearMean(1)
            self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    x = torch.linspace(0, 1, 16).unsqueeze(-1)
    y = (x.squeeze(-1) * 6).sin()
    model, likelihood = Model(x[::4]), gpytorch.likelihoods.GaussianLikelihood()
    objective = gpytorch.mlls.VariationalELBO(likelihood, model, 16)
    optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], 0.05)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = -objective(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def neural_differential_equation() -> Any:
    from torchdiffeq import odeint, odeint_adjoint

    net = torch.nn.Sequential(
        torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)
    ).double()

    class Field(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def forward(self, t: Any, y: Any) -> Any:
            return self.net(y) * torch.cos(t)

    start, times = (
        torch.tensor([[1.0, 0.0]], dtype=torch.float64),
        torch.linspace(0, 1, 4, dtype=torch.float64),
    )
    results = []
    for solve, method in ((odeint, "dopri5"), (odeint_adjoint, "dopri5"), (odeint, "rk4")):
        net.zero_grad()
        solve(Field(), start, times, method=method)[-1].sum().backward()
        results.append(net[0].weight.grad[0].tolist())
    return results


def stochastic_variational_inference() -> Any:
    import pyro
    import pyro.distributions as dist
    from pyro.infer import SVI, Predictive, Trace_ELBO, TraceEnum_ELBO, config_enumerate
    from pyro.infer.autoguide import AutoDiagonalNormal

    pyro.clear_param_store()
    pyro.set_rng_seed(1)
    data = torch.tensor([0.2, 1.3, 0.7, 2.1])

    def model(data: Any = None) -> None:
        mean = pyro.sample("mean", dist.Normal(0.0, 2.0))
        scale = pyro.sample("scale", dist.HalfNormal(1.0))
        with pyro.plate("data", 4):
            pyro.sample("x", dist.Normal(mean, scale + 0.1), obs=data)

    guide = AutoDiagonalNormal(model)
    svi = SVI(model, guide, pyro.optim.ClippedAdam({"lr": 0.05}), Trace_ELBO(num_particles=2))
    losses = [svi.step(data) for _ in range(4)]
    median = {k: v.item() for k, v in guide.median().items()}
    drawn = Predictive(model, guide=guide, num_samples=3)()["x"]

    @config_enumerate
    def mixture(data: Any) -> None:
        weight = pyro.param("weight", torch.tensor([0.4, 0.6]), constraint=dist.constraints.simplex)
        with pyro.plate("rows", len(data)):
            which = pyro.sample("which", dist.Categorical(weight))
            pyro.sample("y", dist.Normal(torch.tensor([0.0, 2.0])[which], 1.0), obs=data)

    second = SVI(
        mixture,
        lambda data: None,
        pyro.optim.Adam({"lr": 0.1}),
        TraceEnum_ELBO(max_plate_nesting=1),
    )
    return (
        losses,
        median,
        drawn.mean(0),
        [second.step(data) for _ in range(2)],
        pyro.param("weight"),
    )
