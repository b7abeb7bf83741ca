"""A BERT-like encoder (4 layers of width 256) over texts of 64 different lengths, each seen twice.

``python -m benchmarks.programs.inference WHO`` reads all of them once and prints what that took,
the making of the model left out.
"""

from __future__ import annotations

import json
import random
import sys
import time
from typing import Any

import numpy as np

from ..contest import namespace

VOCABULARY, WIDTH, HEADS, LAYERS, LENGTHS, BATCH = 8192, 256, 4, 4, 64, 4


def main(who: str) -> None:
    """Reads all texts and prints the seconds, and the sum of what came out."""
    torch: Any = namespace(who)
    nn = torch.nn
    rng = np.random.default_rng(0)
    words = nn.Embedding(VOCABULARY, WIDTH)
    layer = nn.TransformerEncoderLayer(
        WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True
    )
    encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False).eval()
    with torch.no_grad():
        for p in (*words.parameters(), *encoder.parameters()):
            p.copy_(
                torch.tensor(
                    (rng.standard_normal(tuple(p.shape)) / p.shape[-1] ** 0.5).astype(np.float32)
                )
            )
    lengths = [4 * (i + 1) for i in range(LENGTHS)] * 2
    random.Random(0).shuffle(lengths)
    texts = [torch.tensor(rng.integers(0, VOCABULARY, (BATCH, n))) for n in lengths]
    total = 0.0
    begun, used = time.perf_counter(), time.process_time()
    with torch.no_grad():
        for text in texts:
            total += encoder(words(text)).mean(1).square().sum().item()
    print(json.dumps([time.perf_counter() - begun, time.process_time() - used, total]))


if __name__ == "__main__":
    main(sys.argv[1])
