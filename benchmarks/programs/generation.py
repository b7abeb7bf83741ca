"""A small GPT-2 (6 layers of width 384) writes 128 tokens, its cache of keys and values growing by
one each: greedily, and sampled.

``python -m benchmarks.programs.generation WHO`` writes once and prints what that took, the making
of the model left out.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..contest import Bar, Contest, Step, namespace, same_program

VOCABULARY, WIDTH, HEADS, LAYERS, PROMPT, NEW = 4096, 384, 6, 6, 16, 128


def writer(torch: Any, batch: int, sampled: bool) -> Callable[[], Any]:
    """What gives the tokens after a prompt, (batch, NEW)."""
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: Any, cache: Any) -> tuple[Any, Any]:
            b, t, _ = x.shape
            q, k, v = (
                y.view(b, t, HEADS, WIDTH // HEADS).transpose(1, 2)
                for y in self.qkv(self.norm1(x)).split(WIDTH, dim=2)
            )
            if cache is not None:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, WIDTH))
            return x + self.down(functional.gelu(self.up(self.norm2(x)))), (k, v)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.positions = (
                nn.Embedding(VOCABULARY, WIDTH),
                nn.Embedding(PROMPT + NEW, WIDTH),
            )
            self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
            self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

        def forward(self, ids: Any, at: int, caches: list[Any]) -> tuple[Any, list[Any]]:
            x = self.tokens(ids) + self.positions(torch.arange(at, at + ids.shape[1]))
            kept = []
            for block, cache in zip(self.blocks, caches, strict=True):
                x, cache = block(x, cache)
                kept.append(cache)
            return self.head(self.norm(x[:, -1])), kept

    rng = np.random.default_rng(0)
    model = Model().eval()
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(
                torch.tensor(
                    (rng.standard_normal(tuple(p.shape)) * (0.2 if p.dim() > 1 else 0.5)).astype(
                        np.float32
                    )
                )
            )
    prompt = torch.tensor(rng.integers(0, VOCABULARY, (batch, PROMPT)))

    def write() -> Any:
        torch.manual_seed(0)
        ids, at, caches, found = prompt, 0, [None] * LAYERS, []
        with torch.no_grad():
            for _ in range(NEW):
                logits, caches = model(ids, at, caches)
                at += ids.shape[1]
                if sampled:
                    ids = torch.multinomial(functional.softmax(logits, -1), 1)
                else:
                    ids = logits.argmax(-1, keepdim=True)
                found.append(ids)
            return torch.cat(found, 1)

    return write


def _contest(name: str, batch: int, sampled: bool) -> Contest:
    def program(torch: Any) -> Step:
        write = writer(torch, batch, sampled)
        return Step(lambda: write().tolist())

    # Sampled tokens part as soon as a probability differs in its last place near a number drawn.
    return Contest(
        name,
        same_program(program),
        [Bar("deferred", 0.9, "torch")],
        agree=None if sampled else 1e-4,
        check=1,
        apart=True,
    )


CONTESTS: dict[str, Callable[[], Contest]] = {
    name: (lambda name=name, batch=batch, sampled=sampled: _contest(name, batch, sampled))
    for batch in (1, 8)
    for sampled in (False, True)
    for name in [
        f"generation 6x384, 128 tokens, batch {batch}, {'sampled' if sampled else 'greedy'}"
    ]
}


def main(who: str) -> None:
    """Writes once and prints the seconds."""
    write = writer(namespace(who), 1, False)
    begun, used = time.perf_counter(), time.process_time()
    write().tolist()
    print(json.dumps([time.perf_counter() - begun, time.process_time() - used]))


if __name__ == "__main__":
    main(sys.argv[1])
