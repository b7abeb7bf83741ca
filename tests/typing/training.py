"""More code of the kind that users write: classes, loops, schedulers, custom functions, hooks,
distributions, transformations."""

from __future__ import annotations

import copy
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import Tensor, nn, optim
from torch.amp.autocast_mode import autocast
from torch.autograd import Function
from torch.distributions import Categorical, MultivariateNormal, Normal, kl_divergence
from torch.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacrev,
    stack_module_state,
    vmap,
)
from torch.nn.utils import clip_grad_norm_, parameters_to_vector, vector_to_parameters
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.optim.lr_scheduler import (
    CosineAnnealingLR,
    LambdaLR,
    LinearLR,
    OneCycleLR,
    ReduceLROnPlateau,
    SequentialLR,
    StepLR,
)
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    Sampler,
    Subset,
    TensorDataset,
    WeightedRandomSampler,
    random_split,
)
from torch.utils.data.distributed import DistributedSampler


@dataclass
class Settings:
    width: int = 8
    rate: float = 1e-2
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    dtype: torch.dtype = torch.float32


class Batch(NamedTuple):
    x: Tensor
    y: Tensor


class Squares(Dataset[tuple[Tensor, Tensor]]):
    def __init__(self, n: int) -> None:
        self.x = torch.linspace(-1, 1, n).unsqueeze(1)

    def __len__(self) -> int:
        return self.x.size(0)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.x[index], self.x[index] ** 2


class Stream(IterableDataset[Tensor]):
    def __iter__(self) -> Iterator[Tensor]:
        for i in range(4):
            yield torch.full((2,), float(i))


class EveryOther(Sampler[int]):
    def __init__(self, n: int) -> None:
        self.n = n

    def __iter__(self) -> Iterator[int]:
        return iter(range(0, self.n, 2))

    def __len__(self) -> int:
        return (self.n + 1) // 2


class Straight(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x.round() * scale

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor | None, None]:
        (x,) = ctx.saved_tensors
        return grads[0] * ctx.scale * (x.abs() <= 1).to(x.dtype), None


class Block(nn.Module):
    mask: Tensor

    def __init__(self, width: int, heads: int = 2, *, dropout: float = 0.1) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, dropout=dropout, batch_first=True)
        self.mlp = nn.Sequential(
            OrderedDict(
                [
                    ("up", nn.Linear(width, 2 * width)),
                    ("act", nn.GELU()),
                    ("down", nn.Linear(2 * width, width)),
                ]
            )
        )
        self.scale = nn.Parameter(torch.ones(width))
        self.register_buffer("mask", torch.triu(torch.ones(16, 16, dtype=torch.bool), diagonal=1))
        self.apply(self._reset)

    @staticmethod
    def _reset(module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight, gain=math.sqrt(2))
            if module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[1]
        h = self.norm(x)
        attended, _ = self.attention(h, h, h, attn_mask=self.mask[:n, :n], need_weights=False)
        return x + self.scale * self.mlp(attended)


class Model(nn.Module):
    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.embed = nn.Embedding(10, settings.width, padding_idx=0)
        self.blocks = nn.ModuleList([Block(settings.width) for _ in range(2)])
        self.heads = nn.ModuleDict(
            {"mean": nn.Linear(settings.width, 1), "spread": nn.Linear(settings.width, 1)}
        )

    def forward(self, tokens: Tensor) -> dict[str, Tensor]:
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        pooled = x.mean(dim=1)
        return {name: head(pooled).squeeze(-1) for name, head in self.heads.items()}


def fit(settings: Settings, folder: Path) -> float:
    torch.manual_seed(0)
    model = Model(settings).to(settings.device, dtype=settings.dtype)
    decay = [p for n, p in model.named_parameters() if p.ndim > 1]
    others = [p for n, p in model.named_parameters() if p.ndim <= 1]
    optimizer = optim.AdamW(
        [{"params": decay, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
        lr=settings.rate,
        betas=(0.9, 0.95),
    )
    warmup = LinearLR(optimizer, start_factor=0.1, total_iters=2)
    schedule = SequentialLR(
        optimizer, [warmup, CosineAnnealingLR(optimizer, T_max=10)], milestones=[2]
    )
    plateau = ReduceLROnPlateau(
        optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True), mode="min", patience=2
    )
    tokens = torch.randint(0, 10, (16, 5), device=settings.device)
    loader: DataLoader[tuple[Tensor, ...]] = DataLoader(
        TensorDataset(tokens, tokens.float().mean(1)), batch_size=8, shuffle=True, drop_last=True
    )
    history: list[float] = []
    best: dict[str, Tensor] = {}
    for epoch in range(2):
        model.train()
        for inputs, target in loader:
            optimizer.zero_grad(set_to_none=True)
            with autocast("cpu", dtype=torch.bfloat16, enabled=epoch > 0):
                found = model(inputs)
                posterior = Normal(
                    found["mean"].float(), F.softplus(found["spread"].float()) + 1e-3
                )
                loss = (
                    -posterior.log_prob(target).mean()
                    + 1e-3 * kl_divergence(posterior, Normal(0.0, 1.0)).mean()
                )
            loss.backward()
            norm = clip_grad_norm_(model.parameters(), max_norm=1.0)
            optimizer.step()
            history.append(loss.item() + 0.0 * float(norm))
        schedule.step()
        plateau.step(history[-1])
        best = {k: v.detach().clone() for k, v in model.state_dict().items()}
    rates = [float(rate) for rate in schedule.get_last_lr()]
    torch.save(
        {"model": best, "optimizer": optimizer.state_dict(), "rates": rates}, folder / "last.pt"
    )
    loaded = torch.load(folder / "last.pt", map_location="cpu", weights_only=True)
    missing, unexpected = model.load_state_dict(loaded["model"])
    assert not missing and not unexpected
    model.eval()
    with torch.no_grad(), torch.inference_mode():
        return float(model(tokens)["mean"].sum())


def hooks(net: nn.Module, x: Tensor) -> dict[str, Tensor]:
    seen: dict[str, Tensor] = {}

    def keep(name: str) -> Callable[[nn.Module, tuple[Any, ...], Any], None]:
        def hook(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
            seen[name] = output.detach()

        return hook

    handles = [
        module.register_forward_hook(keep(name)) for name, module in net.named_modules() if name
    ]
    x.register_hook(lambda g: g * 2)
    net(x).sum().backward()
    for handle in handles:
        handle.remove()
    return seen


def transformations() -> Tensor:
    def energy(w: Tensor, x: Tensor) -> Tensor:
        return (w * x).sin().sum()

    w, xs = torch.rand(3), torch.rand(4, 3)
    per_example: Tensor = vmap(grad(energy), in_dims=(None, 0))(w, xs)
    gradient, value = grad_and_value(energy)(w, xs[0])
    curvature = hessian(energy)(w, xs[0])
    slope = jacrev(energy)(w, xs[0])
    nets = [nn.Linear(3, 2) for _ in range(3)]
    params, buffers = stack_module_state(nets)  # type: ignore[arg-type, unused-ignore]
    skeleton = copy.deepcopy(nets[0]).to("meta")
    outs = vmap(lambda p, b, x: functional_call(skeleton, (p, b), (x,)), in_dims=(0, 0, None))(
        params, buffers, xs
    )
    return (
        per_example.sum() + gradient.sum() + value + curvature.trace() + slope.norm() + outs.sum()
    )


def sequences() -> Tensor:
    rows = [torch.rand(n, 2) for n in (4, 2, 3)]
    padded = pad_sequence(rows, batch_first=True)
    lengths = torch.tensor([len(r) for r in rows])
    packed = pack_padded_sequence(padded, lengths, batch_first=True, enforce_sorted=False)
    lstm = nn.LSTM(2, 5, num_layers=2, batch_first=True, bidirectional=True)
    output, (h, c) = lstm(packed)
    unpacked, sizes = pad_packed_sequence(output, batch_first=True)
    assert unpacked.shape == (3, 4, 10) and torch.equal(sizes, lengths) and h.shape == c.shape
    return unpacked[:, -1]


def arithmetic(x: Tensor) -> Tensor:
    values, indices = x.topk(2, dim=-1)
    largest, where = x.max(dim=1, keepdim=True)
    smallest = torch.min(x, torch.zeros_like(x))
    q, r = torch.linalg.qr(x)
    u, s, vh = torch.linalg.svd(x, full_matrices=False)
    unique, counts = torch.unique(x.round(), return_counts=True)
    picked = x.gather(1, indices).masked_fill(values < 0, float("-inf")).clamp_min(-1.0)
    x[0, :] = 1.0
    x[x > 2] *= 0.5
    a, *others = x.split(1, dim=0)
    total = sum((o.sum() for o in others), start=a.sum())
    n: int = x.numel() + x.dim() + counts.shape[0] + int(where[0].item()) + int(x.argmax())
    rows, columns = x.shape
    text = f"{x.mean().item():.3f} {x.dtype} {x.device.type} {rows * columns}"
    grid = torch.stack(torch.meshgrid(torch.arange(3), torch.arange(2), indexing="ij"), dim=-1)
    mixed = (
        torch.where(grid > 0, 1, 2).float().mean()
        + torch.einsum("ij,kj->ik", q, r.T).norm()
        + (u * s @ vh).norm()
    )
    return (
        picked.sum()
        + total
        + largest.sum()
        + smallest.sum()
        + n * mixed
        + unique.sum()
        + len(text)
        - 1
        + (2**x).sum() / 3
    )


def worker(rank: int, world: int) -> None:
    dist.init_process_group("gloo", rank=rank, world_size=world)
    sampler: DistributedSampler[tuple[torch.Tensor, torch.Tensor]] = DistributedSampler(
        Squares(10), shuffle=True
    )
    sampler.set_epoch(1)
    own: nn.DataParallel[nn.Linear] = nn.DataParallel(nn.Linear(3, 4))
    print(
        own.module.weight.shape,
        [batch[0].shape for batch in DataLoader(Squares(10), batch_size=2, sampler=sampler)],
    )
    dist.destroy_process_group()


def normalised() -> nn.Module:
    if dist.is_initialized():
        mp.spawn(worker, args=(2,), nprocs=2)
    nn.utils.spectral_norm(nn.Linear(3, 3), n_power_iterations=2)
    return nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))


def main(folder: Path) -> None:
    print(normalised()(torch.ones(1, 3)).shape)
    print(fit(Settings(), folder))
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    print(sorted(hooks(net, torch.ones(2, 3, requires_grad=True))))
    flat = parameters_to_vector(net.parameters())
    vector_to_parameters(flat * 0.5, net.parameters())
    print(
        transformations().shape, sequences().shape, arithmetic(torch.rand(3, 3)).item() is not None
    )
    x = torch.tensor([0.2, 0.7], requires_grad=True)
    made = Straight.apply(x, 2.0)
    made.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0]
    whole = Squares(10)
    first, second = random_split(whole, [8, 2], generator=torch.Generator().manual_seed(0))
    picked = Subset(whole, [1, 2])
    both = ConcatDataset([picked, second])
    for part in (
        DataLoader(first, batch_size=4),
        DataLoader(second),
        DataLoader(picked),
        DataLoader(both),
    ):
        for a, b in part:
            assert torch.allclose(a**2, b)
    for batch in DataLoader(Stream(), batch_size=2):
        assert batch.shape == (2, 2)
    weighted = WeightedRandomSampler([0.1, 0.9], num_samples=3)
    assert len(list(weighted)) == 3 and list(EveryOther(4)) == [0, 2]
    pairs = [Batch(torch.ones(2), torch.zeros(1)) for _ in range(2)]
    joined = Batch(*(torch.stack(list(parts)) for parts in zip(*pairs, strict=True)))
    choice = Categorical(logits=torch.zeros(3)).sample((2,))
    cloud = MultivariateNormal(torch.zeros(2), covariance_matrix=torch.eye(2)).rsample()
    sgd = optim.SGD(net.parameters(), lr=0.1)
    schedules = [
        StepLR(sgd, step_size=2),
        LambdaLR(sgd, lambda step: 0.9**step),
        OneCycleLR(sgd, max_lr=0.1, total_steps=10),
    ]
    print(
        joined.x.shape,
        choice.shape,
        cloud.shape,
        len(schedules),
        torch.backends.cudnn.is_available(),
        torch.cuda.is_available(),
    )
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    scaler.scale(net(torch.ones(1, 3)).sum()).backward()
    scaler.step(sgd)
    scaler.update()

    def closure() -> float:
        sgd.zero_grad()
        loss = F.mse_loss(net(torch.ones(1, 3)), torch.zeros(1, 1))
        loss.backward()
        return loss.item()

    optim.LBFGS(net.parameters(), max_iter=2, line_search_fn="strong_wolfe").step(closure)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        main(Path(place))
