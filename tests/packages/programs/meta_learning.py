"""higher, BackPACK, opacus and captum: inner loops, per-sample gradients, privacy, attributions."""

from __future__ import annotations

from typing import Any

import torch

NEEDS = ["higher", "backpack", "opacus", "captum"]


def _net() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 2))


def inner_loops() -> Any:
    import higher

    model, x, y = _net(), torch.randn(8, 4), torch.randint(0, 2, (8,))
    outer = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for _ in range(2):
        inner = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        outer.zero_grad()
        with higher.innerloop_ctx(model, inner, copy_initial_weights=False) as (functional, steps):
            for _ in range(2):
                steps.step(torch.nn.functional.cross_entropy(functional(x), y))
            loss = torch.nn.functional.cross_entropy(functional(x), y)
            loss.backward()
        outer.step()
        losses.append(loss.item())
    return losses, model[0].weight.grad[0]


def per_sample_gradients() -> Any:
    from backpack import backpack, extend
    from backpack.extensions import KFAC, BatchGrad, BatchL2Grad, DiagGGNExact, Variance

    model, loss = extend(_net()), extend(torch.nn.CrossEntropyLoss())
    x, y = torch.randn(5, 4), torch.randint(0, 2, (5,))
    with backpack(BatchGrad(), BatchL2Grad(), Variance(), DiagGGNExact(), KFAC()):
        loss(model(x), y).backward()
    weight = model[0].weight
    plain = _net()

    def loss_of(w: Any, a: Any, b: Any) -> Any:
        return torch.nn.functional.cross_entropy(
            torch.func.functional_call(plain, {"0.weight": w}, (a[None],)), b[None]
        )

    per_sample = torch.func.vmap(torch.func.grad(loss_of), (None, 0, 0))(weight.detach(), x, y)
    return (
        weight.grad_batch[0, 0],
        weight.batch_l2,
        weight.variance[0],
        weight.diag_ggn_exact[0],
        bool((weight.grad_batch * 5 - per_sample).abs().max() < 1e-5),
    )


def privacy() -> Any:
    from opacus import PrivacyEngine
    from opacus.utils.batch_memory_manager import BatchMemoryManager
    from opacus.validators import ModuleValidator

    model = ModuleValidator.fix(
        torch.nn.Sequential(
            torch.nn.Conv1d(1, 4, 3),
            torch.nn.BatchNorm1d(4),
            torch.nn.Flatten(),
            torch.nn.Linear(16, 2),
        )
    )
    data = torch.utils.data.TensorDataset(torch.randn(12, 1, 6), torch.randint(0, 2, (12,)))
    loader = torch.utils.data.DataLoader(data, 4)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    engine = PrivacyEngine()
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=optimizer,
        data_loader=loader,
        noise_multiplier=0.8,
        max_grad_norm=1.0,
        poisson_sampling=False,
    )
    losses = []
    with BatchMemoryManager(
        data_loader=loader, max_physical_batch_size=2, optimizer=optimizer
    ) as small:
        for x, y in small:
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
    return type(model._module[1]).__name__, losses, engine.get_epsilon(1e-5)


def attributions() -> Any:
    from captum.attr import (
        DeepLift,
        FeatureAblation,
        GuidedBackprop,
        InputXGradient,
        IntegratedGradients,
        LayerConductance,
        NoiseTunnel,
        Occlusion,
    )

    model = torch.nn.Sequential(
        torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 2)
    ).eval()
    x = torch.randn(3, 4)
    found = {
        cls.__name__: cls(model).attribute(x, target=1)[0]
        for cls in (DeepLift, FeatureAblation, GuidedBackprop, InputXGradient)
    }
    attribution, delta = IntegratedGradients(model).attribute(
        x, target=0, return_convergence_delta=True, n_steps=10
    )
    found["integrated"], found["delta"] = attribution[0], delta.abs().max() < 0.1
    found["layer"] = LayerConductance(model, model[0]).attribute(x, target=1, n_steps=8)[0]
    found["window"] = Occlusion(model).attribute(x, (2,), target=1)[0]
    found["noise"] = NoiseTunnel(InputXGradient(model)).attribute(
        x, nt_samples=4, stdevs=0.1, target=1
    )[0]
    return found
