"""Where packages reach into transformations: containers under ``vmap``, losses of torchrl, tracers
of torch_geometric, kornia."""

from __future__ import annotations

from typing import Any

import torch

NEEDS = ["tensordict", "torchrl", "torch_geometric", "kornia"]


def _batch(*size: int) -> Any:
    from tensordict import TensorDict

    after = {
        "observation": torch.randn(*size, 4),
        "reward": torch.randn(*size, 1),
        "done": torch.rand(*size, 1) > 0.8,
        "terminated": torch.zeros(*size, 1, dtype=torch.bool),
    }
    now = {
        "observation": torch.randn(*size, 4),
        "action": torch.rand(*size, 2) - 0.5,
        "action_log_prob": torch.randn(*size),
    }
    return TensorDict({**now, "next": after}, size)


def _value() -> Any:
    from torchrl.modules import MLP, ValueOperator

    return ValueOperator(MLP(in_features=4, out_features=1, num_cells=[8]), in_keys=["observation"])


def _actor() -> Any:
    from tensordict.nn import InteractionType, NormalParamExtractor, TensorDictModule
    from torchrl.data import Bounded
    from torchrl.modules import MLP, ProbabilisticActor, TanhNormal

    net = torch.nn.Sequential(
        MLP(in_features=4, out_features=4, num_cells=[8]), NormalParamExtractor()
    )
    return ProbabilisticActor(
        TensorDictModule(net, ["observation"], ["loc", "scale"]),
        ["loc", "scale"],
        distribution_class=TanhNormal,
        return_log_prob=True,
        spec=Bounded(-1, 1, (2,)),
        default_interaction_type=InteractionType.RANDOM,
    )


def containers_under_vmap() -> Any:
    batch = _batch(3, 5)
    value = _value()
    found: dict[str, Any] = {}
    out = torch.vmap(value)(batch)
    found["sizes"] = list(out.batch_size), list(out["state_value"].shape), out["state_value"].sum()
    found["columns"] = torch.vmap(lambda d: d["observation"].sum(), 1)(batch)
    found["chunks"] = torch.vmap(lambda d: d.select("observation") * 2, chunk_size=2)(batch)[
        "observation"
    ].sum()
    return found


def advantages() -> Any:
    from torchrl.objectives.value import GAE, TD0Estimator, TDLambdaEstimator

    found: dict[str, Any] = {}
    for name, made in {
        "gae": GAE(gamma=0.9, lmbda=0.95, value_network=_value()),
        "loops": GAE(gamma=0.9, lmbda=0.95, value_network=_value(), vectorized=False),
        "differentiable": GAE(gamma=0.9, lmbda=0.95, value_network=_value(), differentiable=True),
        "td0": TD0Estimator(gamma=0.9, value_network=_value()),
        "lambda": TDLambdaEstimator(gamma=0.9, lmbda=0.8, value_network=_value()),
    }.items():
        out = made(_batch(3, 5))
        found[name] = out["advantage"].reshape(-1)[:4], out["value_target"].sum()
    return found


def losses_of_policies() -> Any:
    from torchrl.objectives import ClipPPOLoss, SoftUpdate, TD3Loss
    from torchrl.objectives.value import GAE

    found: dict[str, Any] = {}
    critic, batch = _value(), _batch(3, 5)
    GAE(gamma=0.9, lmbda=0.95, value_network=critic)(batch)
    loss = ClipPPOLoss(_actor(), critic)
    optimizer = torch.optim.Adam(loss.parameters(), 1e-2)
    for step in range(3):
        out = loss(batch)
        total = sum(v for k, v in out.items() if k.startswith("loss_"))
        total.backward()
        optimizer.step()
        optimizer.zero_grad()
        found[f"ppo {step}"] = total
    from tensordict.nn import TensorDictModule
    from torchrl.modules import MLP, ValueOperator

    class Both(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = MLP(in_features=6, out_features=1, num_cells=[8])

        def forward(self, observation: Any, action: Any) -> Any:
            return self.layers(torch.cat([observation, action], -1))

    policy = TensorDictModule(
        MLP(in_features=4, out_features=2, num_cells=[8]), ["observation"], ["action"]
    )
    td3 = TD3Loss(policy, ValueOperator(Both(), in_keys=["observation", "action"]), bounds=(-1, 1))
    average = SoftUpdate(td3, tau=0.1)
    out = td3(_batch(6))
    (out["loss_actor"] + out["loss_qvalue"]).backward()
    average.step()
    found["td3"] = (
        out["loss_actor"],
        out["loss_qvalue"],
        sum(p.grad.abs().sum() for p in td3.parameters() if p.grad is not None),
    )
    return found


def traced_graphs() -> Any:
    from torch_geometric.data import HeteroData
    from torch_geometric.nn import SAGEConv, to_hetero

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = SAGEConv((6, 6), 4), torch.nn.Linear(4, 2)

        def forward(self, x: Any, edge_index: Any) -> Any:
            return self.last(self.first(x, edge_index).relu())

    data = HeteroData()
    data["a"].x, data["b"].x = torch.randn(8, 6), torch.randn(4, 6)
    data["a", "to", "b"].edge_index = torch.stack([torch.arange(8), torch.arange(8) % 4])
    data["b", "rev", "a"].edge_index = torch.stack([torch.arange(4), torch.arange(4)])
    model = to_hetero(Net(), data.metadata())
    out = model(data.x_dict, data.edge_index_dict)
    return dict(sorted(out.items())), sorted(name for name, _ in model.named_parameters())


def functions_in_classes() -> Any:
    from kornia.losses import HausdorffERLoss

    x = torch.rand(1, 2, 8, 8, requires_grad=True)
    value = HausdorffERLoss()(x, torch.randint(0, 2, (1, 1, 8, 8)))
    return value, torch.autograd.grad(value, x)[0].abs().sum()
