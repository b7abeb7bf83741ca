"""What does a training step cost: forward, backward, optimiser, and the loss read?"""

from __future__ import annotations

from ._asv import ContestBenchmark
from .programs import gpt, mlp


class Training(ContestBenchmark):
    contests = {**mlp.CONTESTS, **gpt.CONTESTS}
