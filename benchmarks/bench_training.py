"""What does a training step cost: forward, backward, optimiser, and the loss read?"""

from __future__ import annotations

from . import _asv
from .programs import gpt, mlp


class Training(_asv.ContestBenchmark):
    contests = {**mlp.CONTESTS, **gpt.CONTESTS}
