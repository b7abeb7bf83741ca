"""skorch, torch_geometric, botorch, NUTS of pyro, diffusers and torchmetrics: searches, graphs,
loops of optimisation, pipelines."""

from __future__ import annotations

import warnings
from typing import Any

import torch

NEEDS = ["skorch", "sklearn", "torch_geometric", "botorch", "pyro", "diffusers", "torchmetrics"]


def grid_search() -> Any:
    from sklearn.datasets import make_classification
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from skorch import NeuralNetClassifier
    from skorch.callbacks import EarlyStopping, LRScheduler

    class Net(torch.nn.Module):
        def __init__(self, width: int = 8) -> None:
            super().__init__()
            self.first, self.last = torch.nn.Linear(8, width), torch.nn.Linear(width, 2)

        def forward(self, x: Any) -> Any:
            return self.last(torch.relu(self.first(x))).softmax(-1)

    x, y = make_classification(60, 8, n_informative=4, random_state=0)
    callbacks = [EarlyStopping(patience=2), LRScheduler("StepLR", step_size=1)]
    net = NeuralNetClassifier(
        Net, max_epochs=3, lr=0.1, verbose=0, callbacks=callbacks, optimizer=torch.optim.Adam
    )
    search = GridSearchCV(
        make_pipeline(StandardScaler(), net),
        {"neuralnetclassifier__module__width": [2, 4]},
        cv=2,
        scoring="accuracy",
    )
    search.fit(x.astype("float32"), y.astype("int64"))
    return search.best_params_, search.best_score_, search.predict_proba(x[:2].astype("float32"))


def message_passing() -> Any:
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader
    from torch_geometric.nn import (
        GATConv,
        GCNConv,
        GINConv,
        MessagePassing,
        SAGEConv,
        global_mean_pool,
    )
    from torch_geometric.utils import add_self_loops, to_dense_adj

    class Mine(MessagePassing):
        def __init__(self) -> None:
            super().__init__(aggr="max")
            self.weight = torch.nn.Linear(8, 4)

        def forward(self, x: Any, edges: Any) -> Any:
            return self.propagate(edges, x=self.weight(x))

        def message(self, x_j: Any, x_i: Any) -> Any:
            return x_j - 0.5 * x_i

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.c, self.d = (
                GCNConv(5, 8),
                GATConv(8, 4, heads=2),
                Mine(),
                SAGEConv(4, 4),
            )
            self.e = GINConv(torch.nn.Linear(4, 2))

        def forward(self, data: Any) -> Any:
            edges, _ = add_self_loops(data.edge_index, num_nodes=data.num_nodes)
            x = self.b(self.a(data.x, data.edge_index).relu(), data.edge_index).relu()
            return global_mean_pool(self.e(self.d(self.c(x, edges), edges), edges), data.batch)

    edges = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 0], [1, 0, 2, 1, 3, 2, 0, 3]])
    graphs = [
        Data(x=torch.randn(4, 5), edge_index=edges, y=torch.tensor([i % 2])) for i in range(6)
    ]
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    losses = []
    for batch in DataLoader(graphs, batch_size=3):
        loss = torch.nn.functional.cross_entropy(net(batch), batch.y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, to_dense_adj(edges)[0].sum(0)


def bayesian_optimisation() -> Any:
    from botorch.acquisition import LogExpectedImprovement, qLogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from botorch.sampling import SobolQMCNormalSampler
    from gpytorch.mlls import ExactMarginalLogLikelihood

    warnings.simplefilter("ignore")
    x = torch.rand(6, 2, dtype=torch.float64)
    y = -(x - 0.3).square().sum(-1, keepdim=True)
    bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    for _ in range(2):
        model = SingleTaskGP(x, y)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        point, _ = optimize_acqf(
            LogExpectedImprovement(model, y.max()), bounds, q=1, num_restarts=2, raw_samples=8
        )
        x = torch.cat([x, point])
        y = torch.cat([y, -(point - 0.3).square().sum(-1, keepdim=True)])
    several = qLogExpectedImprovement(
        model, y.max(), sampler=SobolQMCNormalSampler(torch.Size([16]), seed=1)
    )
    return [round(v, 2) for v in x[-1].tolist()], [
        round(v, 2) for v in several(x[:4].reshape(2, 2, 2)).tolist()
    ]


def no_u_turns() -> Any:
    import pyro
    import pyro.distributions as dist
    from pyro.infer import HMC, MCMC, NUTS

    pyro.set_rng_seed(0)

    def model(x: Any) -> None:
        mean = pyro.sample("mean", dist.Normal(0.0, 1.0))
        scale = pyro.sample("scale", dist.Gamma(2.0, 2.0))
        with pyro.plate("rows", len(x)):
            pyro.sample("x", dist.StudentT(4.0, mean, scale), obs=x)

    found = []
    for kernel in (
        NUTS(model, max_tree_depth=3),
        HMC(model, step_size=0.1, num_steps=2, adapt_step_size=False),
    ):
        chain = MCMC(kernel, num_samples=4, warmup_steps=3, disable_progbar=True)
        chain.run(torch.tensor([0.5, 1.0, 1.5]))
        found.append({name: values.tolist() for name, values in chain.get_samples().items()})
    return found


def pipelines() -> Any:
    from diffusers import (
        DDIMScheduler,
        DDPMPipeline,
        DDPMScheduler,
        DPMSolverMultistepScheduler,
        UNet2DModel,
    )
    from diffusers.training_utils import EMAModel

    net = UNet2DModel(
        sample_size=8, in_channels=1, out_channels=1, layers_per_block=1,
        block_out_channels=(8, 16), norm_num_groups=4,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )  # fmt: skip
    average = EMAModel(net.parameters(), decay=0.9)
    noise = DDPMScheduler(num_train_timesteps=20)
    optimizer = torch.optim.AdamW(net.parameters(), 1e-3)
    x, steps = torch.randn(2, 1, 8, 8), torch.tensor([3, 11])
    added = torch.randn_like(x)
    loss = torch.nn.functional.mse_loss(net(noise.add_noise(x, added, steps), steps).sample, added)
    loss.backward()
    optimizer.step()
    average.step(net.parameters())
    found = [loss.item()]
    for scheduler in (
        noise,
        DDIMScheduler(num_train_timesteps=20),
        DPMSolverMultistepScheduler(num_train_timesteps=20),
    ):
        pipeline = DDPMPipeline(net, scheduler)
        pipeline.set_progress_bar_config(disable=True)
        image = pipeline(
            batch_size=1,
            num_inference_steps=2,
            generator=torch.Generator().manual_seed(0),
            output_type="np",
        ).images
        found.append(float(image.mean()))
    return found


def metrics() -> Any:
    import torchmetrics as tm

    scores, labels = torch.rand(20, 3).softmax(-1), torch.randint(0, 3, (20,))
    options: dict[str, Any] = {"task": "multiclass", "num_classes": 3}
    found = tm.MetricCollection(
        {
            "accuracy": tm.Accuracy(**options), "f": tm.F1Score(average="macro", **options),
            "auc": tm.AUROC(**options), "confusion": tm.ConfusionMatrix(**options),
            "kappa": tm.CohenKappa(**options), "calibration": tm.CalibrationError(**options),
        }
    )  # fmt: skip
    for i in range(0, 20, 5):
        found.update(scores[i : i + 5], labels[i : i + 5])
    pixels = torch.rand(2, 1, 16, 16)
    tracker = tm.MetricTracker(tm.MeanSquaredError())
    for scale in (1.0, 0.5):
        tracker.increment()
        tracker.update(scores * scale, scores)
    return {
        **found.compute(), "best": tracker.best_metric(),
        "r2": tm.R2Score()(scores[:, 0], scores[:, 1]),
        "ssim": tm.image.StructuralSimilarityIndexMeasure(data_range=1.0, kernel_size=5)(pixels,
            pixels * 0.9), "spearman": tm.SpearmanCorrCoef()(scores[:, 0], scores[:, 2]),
        "words": tm.text.WordErrorRate()(["a b c"], ["a x c"]),
    }  # fmt: skip
