"""What programs do with torch beside layers: hooks, functional transforms, scripts, half precision,
checkpoints, loaders, resuming."""

from __future__ import annotations

import tempfile
from typing import Any

import torch

NEEDS = ["numpy"]


def _net() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(4, 8),
        torch.nn.BatchNorm1d(8),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.2),
        torch.nn.Linear(8, 3),
    )


def trained_and_resumed() -> Any:
    x, y = torch.randn(24, 4), torch.randint(0, 3, (24,))

    def parts() -> Any:
        model = _net()
        optimizer = torch.optim.AdamW(model.parameters(), 0.05, amsgrad=True)
        warm = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=2)
        rest = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
        return model, optimizer, torch.optim.lr_scheduler.SequentialLR(optimizer, [warm, rest], [2])

    def run(model: Any, optimizer: Any, schedule: Any, steps: int) -> list[float]:
        losses = []
        for i in range(steps):
            for part in range(2):
                loss = (
                    torch.nn.functional.cross_entropy(
                        model(x[part::2]), y[part::2], label_smoothing=0.1
                    )
                    / 2
                )
                loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad(set_to_none=i % 2 == 0)
            losses.append(loss.item())
        return losses

    first = parts()
    losses = run(*first, 3)
    with tempfile.TemporaryDirectory() as folder:
        state = [part.state_dict() for part in first]
        torch.save({"parts": state, "random": torch.get_rng_state()}, f"{folder}/all.pt")
        ahead = run(*first, 2)
        kept = torch.load(f"{folder}/all.pt", weights_only=False)
        second = parts()
        for part, values in zip(second, kept["parts"]):
            part.load_state_dict(values)
        torch.set_rng_state(kept["random"])
        return losses, ahead, run(*second, 2), second[2].get_last_lr()


def hooks_and_parametrisations() -> Any:
    from torch.nn.utils import parametrizations, parametrize

    model = _net().eval()
    seen: list[Any] = []
    handles = [
        model[0].register_forward_pre_hook(lambda m, a: (a[0] * 2,)),
        model[0].register_forward_hook(lambda m, a, out: out + 1),
        model[4].register_full_backward_hook(lambda m, gi, go: seen.append(gi[0].sum().item())),
        model[4].weight.register_hook(lambda g: g * 3),
    ]
    parametrizations.weight_norm(model[4])
    parametrizations.orthogonal(model[0])
    x = torch.randn(5, 4)
    out = model(x)
    out.square().mean().backward()
    for handle in handles:
        handle.remove()
    parametrize.remove_parametrizations(model[0], "weight")
    return (
        out[0],
        seen,
        (model[0].weight.T @ model[0].weight).diagonal(),
        sorted(model.state_dict()),
    )


def functional_transforms() -> Any:
    from torch.func import (
        functional_call,
        grad,
        hessian,
        jacfwd,
        jacrev,
        jvp,
        linearize,
        stack_module_state,
        vjp,
        vmap,
    )

    model = _net().eval()
    weights = dict(model.named_parameters())
    x, y = torch.randn(5, 4), torch.randint(0, 3, (5,))

    def loss(w: Any, a: Any, b: Any) -> Any:
        return torch.nn.functional.cross_entropy(functional_call(model, w, (a[None],)), b[None])

    each = vmap(grad(loss), (None, 0, 0))(weights, x, y)
    models = [_net().eval() for _ in range(3)]
    stacked, buffers = stack_module_state(models)
    ensemble = vmap(lambda p, b: functional_call(models[0], (p, b), (x,)))(stacked, buffers)
    f = lambda v: (v.sin() * v).sum()  # noqa: E731
    out, pull = vjp(torch.sin, x)
    _, push = linearize(torch.sin, x)
    return (
        each["0.weight"].sum((1, 2)), ensemble.sum((1, 2)), hessian(f)(x[0]).diagonal(),
        jacrev(torch.cumsum)(x[0], 0)[1], jacfwd(torch.tanh)(x[0]).diagonal(),
        jvp(torch.cos, (x[0],), (x[1],))[1], pull(torch.ones_like(out))[0][0], push(x)[0],
    )  # fmt: skip


def scripts_and_compiled_functions() -> Any:
    @torch.jit.script
    def polynomial(x: torch.Tensor, n: int) -> torch.Tensor:
        total = torch.zeros_like(x)
        for i in range(n):
            if i % 2 == 0:
                total = total + x**i
            else:
                total = total - x * i
        return total

    class Gate(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sigmoid(x) * self.weight

    x = torch.randn(2, 3)
    gate = torch.jit.script(Gate())
    traced = torch.jit.trace(Gate(), x)
    compiled = torch.compile(lambda a: (a.softmax(-1) * a).sum(-1), dynamic=True)
    return (
        polynomial(x, 4),
        gate(x),
        traced(x),
        [compiled(torch.ones(n, 2)).tolist() for n in (1, 2)],
    )


def half_precision() -> Any:
    model = _net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
    losses = []
    for _ in range(2):
        with torch.autocast("cpu", torch.bfloat16):
            hidden = torch.utils.checkpoint.checkpoint(model[:2], x, use_reentrant=False)
            out = model[2:](hidden)
            loss = torch.nn.functional.cross_entropy(out, y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        losses.append(round(loss.item(), 1))
    return losses, str(out.dtype), scaler.get_scale(), str(model.half()(x.half()).dtype)


class _Squares(torch.utils.data.Dataset[Any]):
    def __len__(self) -> int:
        return 10

    def __getitem__(self, i: int) -> Any:
        return {"x": torch.full((2,), float(i)), "name": str(i), "pair": (i, i * i)}


def loaders() -> Any:
    generator = torch.Generator().manual_seed(3)
    weights = torch.utils.data.WeightedRandomSampler([1.0, 5.0] * 5, 6, generator=generator)
    found = [
        [b["name"], b["pair"][1].tolist()]
        for b in torch.utils.data.DataLoader(_Squares(), 4, sampler=weights)
    ]
    for workers in (0, 2):
        loader = torch.utils.data.DataLoader(
            _Squares(),
            4,
            shuffle=True,
            num_workers=workers,
            generator=torch.Generator().manual_seed(4),
        )
        found.append([b["pair"][0].tolist() for b in loader])
    return found
