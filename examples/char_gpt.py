"""Trains a small GPT on the text of Python's own help topics, character by character, and lets it
write.

python char_gpt.py --steps 500 --width 128 --out out/gpt
"""

import argparse
import math
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """Causal self-attention and a two-layer network, each on a normalized copy of the stream."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x):
        batch, time_, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).split(width, dim=2)
        q, k, v = (
            t.view(batch, time_, self.heads, width // self.heads).transpose(1, 2) for t in (q, k, v)
        )
        y = F.scaled_dot_product_attention(
            q, k, v, dropout_p=self.dropout if self.training else 0.0, is_causal=True
        )
        x = x + self.proj(y.transpose(1, 2).reshape(batch, time_, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Embeddings, blocks, and an output layer that shares its weights with the embedding."""

    def __init__(self, vocab, context, width, heads, layers, dropout):
        super().__init__()
        self.context = context
        self.tokens = nn.Embedding(vocab, width)
        self.positions = nn.Embedding(context, width)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids, targets=None):
        x = self.drop(
            self.tokens(ids) + self.positions(torch.arange(ids.size(1), device=ids.device))
        )
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        if targets is None:
            return logits
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))

    @torch.no_grad()
    def write(self, ids, count, temperature, generator):
        """Continues a list of characters by ``count`` more, each drawn from the model's
        distribution."""
        self.eval()
        ids = list(ids)
        for _ in range(count):
            # Always the full context, filled up behind the last character: one shape, and causal
            # attention ignores what comes later.
            recent = ids[-self.context :]
            window = torch.tensor([recent + [0] * (self.context - len(recent))])
            probabilities = F.softmax(self(window)[0, len(recent) - 1] / temperature, dim=-1)
            ids.append(torch.multinomial(probabilities, 1, generator=generator).item())
        return ids


def initialize(model, seed):
    """Fills the weights from NumPy's generator, so that they are the same wherever this runs."""
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() > 1:
                scale = (
                    0.02 / math.sqrt(2 * len(model.blocks))
                    if name.endswith(("proj.weight", "mlp.2.weight"))
                    else 0.02
                )
                p.copy_(
                    torch.from_numpy(
                        (scale * rng.standard_normal(tuple(p.shape))).astype(np.float32)
                    )
                )
            elif name.endswith("bias"):
                p.zero_()


def load_text():
    """The help topics as one text, its alphabet, and the text as numbers."""
    from pydoc_data.topics import topics

    text = "\n\n".join(topics[name] for name in sorted(topics))
    alphabet = sorted(set(text))
    index = {c: i for i, c in enumerate(alphabet)}
    return text, alphabet, np.array([index[c] for c in text], dtype=np.int64)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--sample", type=int, default=300, help="characters to write at the end")
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("out/gpt"),
        help="folder for the weights and the written text",
    )
    args = parser.parse_args()

    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)
    text, alphabet, ids = load_text()
    model = GPT(len(alphabet), args.context, args.width, args.heads, args.layers, args.dropout)
    initialize(model, args.seed)
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}],
        lr=args.lr,
        betas=(0.9, 0.95),
    )
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(
        optimizer, T_max=args.steps, eta_min=args.lr / 10
    )
    count = sum(p.numel() for p in model.parameters())
    print(f"{len(text)} characters, {len(alphabet)} different ones, {count} weights")

    rng = np.random.default_rng(args.seed)
    every, start, losses = max(args.steps // 10, 1), time.perf_counter(), []
    for step in range(1, args.steps + 1):
        starts = rng.integers(0, len(ids) - args.context - 1, args.batch_size)
        windows = torch.from_numpy(np.stack([ids[s : s + args.context + 1] for s in starts]))
        model.train()
        loss = model(windows[:, :-1], windows[:, 1:])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.detach())
        if step % every == 0 or step == 1:
            mean = torch.stack(losses).mean().item()
            losses.clear()
            rate = scheduler.get_last_lr()[0]
            print(
                f"step {step:5d}/{args.steps}  loss {mean:.4f}  gradient norm {norm.item():.3f}  "
                f"lr {rate:.1e}",
                flush=True,
            )
    seconds = time.perf_counter() - start
    print(
        f"trained in {seconds:.1f} s, {args.steps * args.batch_size * args.context / seconds:.0f} "
        "characters a second"
    )

    weights = args.out / "char_gpt.pt"
    torch.save(
        {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "alphabet": alphabet},
        weights,
    )
    model.load_state_dict(torch.load(weights)["model"])
    prompt = [alphabet.index(c) for c in "The "]
    written = model.write(
        prompt, args.sample, args.temperature, torch.Generator().manual_seed(args.seed)
    )
    sample = "".join(alphabet[i] for i in written)
    (args.out / "sample.txt").write_text(sample, encoding="utf-8")
    print(f"weights  {weights}\nsample   {args.out / 'sample.txt'}\n")
    sys.stdout.write(sample + "\n")


if __name__ == "__main__":
    main()
