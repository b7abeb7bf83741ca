"""What users write, for the type checkers: nothing here is a mistake."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_type

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor, optim
from torch.nn import Parameter
from torch.nn.utils import clip_grad_norm_
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR
from torch.utils.data import DataLoader, Dataset, TensorDataset, WeightedRandomSampler, random_split


@dataclass
class Config:
    width: int = 64
    heads: int = 4
    layers: int = 2
    dropout: float = 0.1
    lr: float = 3e-4
    device: str | torch.device = "cpu"


class Attention(nn.Module):
    mask: Tensor

    def __init__(self, config: Config, length: int = 128) -> None:
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(config.width, 3 * config.width, bias=False)
        self.proj = nn.Linear(config.width, config.width)
        self.drop = nn.Dropout(config.dropout)
        self.register_buffer(
            "mask", torch.tril(torch.ones(length, length)).view(1, 1, length, length)
        )

    def forward(self, x: Tensor) -> Tensor:
        batch, steps, width = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.view(batch, steps, self.heads, width // self.heads).transpose(1, 2)
        k = k.view(batch, steps, self.heads, -1).transpose(1, 2)
        v = v.view(batch, steps, self.heads, -1).permute(0, 2, 1, 3)
        scores = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
        scores = scores.masked_fill(self.mask[:, :, :steps, :steps] == 0, float("-inf"))
        out = self.drop(F.softmax(scores, dim=-1)) @ v
        return self.proj(out.transpose(1, 2).contiguous().view(batch, steps, width))


class Block(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.width)
        self.attention = Attention(config)
        self.mlp = nn.Sequential(
            nn.Linear(config.width, 4 * config.width),
            nn.GELU(),
            nn.Linear(4 * config.width, config.width),
        )
        self.scale = nn.Parameter(torch.ones(config.width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm(x))
        return x + self.scale * self.mlp(x)


class Model(nn.Module):
    def __init__(self, config: Config, words: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, config.width)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.layers)])
        self.head = nn.Linear(config.width, words)
        self.apply(self._init)

    def _init(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, tokens: Tensor, target: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.head(x)
        if target is None:
            return logits, None
        return logits, F.cross_entropy(
            logits.view(-1, logits.size(-1)), target.reshape(-1), ignore_index=-1
        )

    @torch.no_grad()
    def generate(
        self, tokens: Tensor, count: int, temperature: float = 1.0, top_k: int | None = None
    ) -> Tensor:
        for _ in range(count):
            logits, _ = self(tokens[:, -128:])
            logits = logits[:, -1, :] / temperature
            if top_k is not None:
                values, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                logits[logits < values[:, [-1]]] = -float("inf")
            drawn = torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)
            tokens = torch.cat((tokens, drawn), dim=1)
        return tokens


class Squares(Dataset[tuple[Tensor, int]]):
    def __len__(self) -> int:
        return 100

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return torch.tensor([float(index)]), index * index


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return 2 * x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 2 * grad * torch.ones_like(x)


def train(model: Model, loader: DataLoader[Any], config: Config) -> list[float]:
    optimizer = optim.AdamW(model.parameters(), lr=config.lr, betas=(0.9, 0.95), weight_decay=0.1)
    scheduler = CosineAnnealingLR(optimizer, T_max=10)
    losses: list[float] = []
    model.train()
    for tokens, target in loader:
        tokens, target = tokens.to(config.device, non_blocking=True), target.to(config.device)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=False):
            _, loss = model(tokens, target)
        assert loss is not None
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses


def evaluate(model: nn.Module, batches: Iterator[Tensor]) -> float:
    model.eval()
    correct, seen = 0, 0
    with torch.no_grad():
        for batch in batches:
            logits, _ = model(batch)
            predicted = logits.argmax(dim=-1)
            correct += int((predicted == batch).sum().item())
            seen += batch.numel()
    return correct / max(seen, 1)


def statistics(x: Tensor) -> dict[str, float]:
    values, indices = x.max(dim=0)
    low, where = torch.min(x, dim=0, keepdim=True)
    best = x.max()
    ordered, order = x.sort(descending=True)
    std, mean = torch.std_mean(x)
    u, s, vh = torch.linalg.svd(x, full_matrices=False)
    assert_type(best, Tensor)
    assert_type(values, Tensor)
    return {
        "max": best.item(),
        "mean": x.mean().item(),
        "norm": float(x.norm()),
        "n": x.shape[0],
        "sum": sum(x.flatten().tolist(), 0.0),
    }


def shapes(x: Tensor) -> Tensor:
    x = x.reshape(2, -1).unsqueeze(0).expand(3, -1, -1).flatten(1)
    x = (
        torch.where(x > 0, x, torch.zeros_like(x))
        + torch.where(x > 0, 1, 2)
        + torch.where(x > 0, x, 0.0)
    )
    x = torch.stack([x, x], dim=0).squeeze(0)[..., None, :2].to(torch.float64).float().cpu()
    x[0] = 1
    x[x.isnan()] = 0.0
    first, *rest = x.split(1)
    rows = torch.arange(0, 10, 2, device=x.device, dtype=torch.long)
    grid_y, grid_x = torch.meshgrid(rows, rows, indexing="ij")
    mixed = torch.einsum("ij,jk->ik", torch.randn(2, 3), torch.randn(3, 4)).clamp(min=0.0, max=1)
    made = (
        torch.from_numpy(np.zeros((2, 2), dtype=np.float32))
        + torch.as_tensor([[1, 2], [3, 4]])
        - torch.full((2, 2), 3.5)
    )
    back: np.ndarray[Any, Any] = made.detach().numpy()
    return (
        1
        - x.mul_(2).add(first, alpha=2) ** 2
        + mixed.sum()
        + grid_y.sum()
        + grid_x.sum()
        + back.sum()
        + sum(r.sum() for r in rest)
    )


def indexed(x: Tensor, rows: list[int]) -> list[Tensor]:
    """What tensors are indexed by and reshaped to."""
    x[rows], x[None, 0], x[x > 5] = 1, 2.0, True
    found = [
        x[0],
        x[None],
        x[..., 0],
        x[:, rows],
        x[[[0, 1], [1, 0]]],
        x[x.long() > 1],
        x[np.array([0])],
        x[torch.where(x > 0)],
        x[rows[0] :],
    ]
    found += [
        x.reshape(-1),
        x.reshape(3, 2),
        x.reshape((3, 2)),
        x.reshape([6]),
        x.reshape(x.shape),
        torch.reshape(x, shape=(6,)),
    ]
    found += [
        torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0]),
        torch.sparse_coo_tensor(size=(2, 3)),
    ]
    return [*found, F.affine_grid(torch.ones(1, 2, 3), [1, 1, 2, 2], align_corners=False)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("model.pt"))
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    config = Config(device=device)
    model = Model(config, words=50).to(device)
    count: int = sum(p.numel() for p in model.parameters() if p.requires_grad)
    data = TensorDataset(torch.randint(0, 50, (64, 16)), torch.randint(0, 50, (64, 16)))
    kept, left = random_split(data, [48, 16], generator=torch.Generator().manual_seed(1))
    loader = DataLoader(kept, batch_size=8, shuffle=True, num_workers=0, drop_last=True)
    losses = train(model, loader, config)
    torch.save({"model": model.state_dict(), "losses": losses}, args.out)
    model.load_state_dict(
        torch.load(args.out, map_location="cpu", weights_only=True)["model"], strict=True
    )
    warmup = LambdaLR(
        optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True),
        lambda step: min(1.0, step / 10),
    )
    rows = pad_sequence([torch.ones(3, 2), torch.ones(2, 2)], batch_first=True)
    packed = pack_padded_sequence(rows, torch.tensor([3, 2]), batch_first=True)
    output, (h, c) = nn.LSTM(2, 5, batch_first=True)(packed)
    padded, lengths = pad_packed_sequence(output, batch_first=True)
    extra = Parameter(torch.zeros(3, requires_grad=False))
    (grad,) = torch.autograd.grad(Double.apply(extra).sum(), extra)
    jac = torch.func.vmap(torch.func.grad(lambda v: (v**2).sum()))(torch.ones(3, 2))
    print(
        len(indexed(torch.ones(2, 3), [0, 1])), len(list(WeightedRandomSampler(torch.ones(3), 2)))
    )
    print(
        count,
        len(left),
        warmup.get_last_lr(),
        h.shape,
        c.shape,
        padded,
        lengths,
        grad.sum(),
        jac,
        device.type,
        str(extra.dtype),
        shapes,
    )
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            print(
                f"{name:20s} {tuple(parameter.shape)} {parameter.grad.norm().item():.3f} "
                f"{parameter.device.type}"
            )
    print(
        evaluate(model, iter([torch.zeros(1, 4, dtype=torch.long)])),
        statistics(torch.rand(3, 3)),
        Squares()[0],
        list(model.children()),
    )


if __name__ == "__main__":
    main()
