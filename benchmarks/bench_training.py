"""What does a training step cost: forward, backward, optimiser, and the loss read?"""

from __future__ import annotations

from . import _asv
from .programs import gpt, lstm, mlp, optimizers, resnet, second_order


class Training(_asv.ContestBenchmark):
    contests = {
        **mlp.CONTESTS,
        **gpt.CONTESTS,
        **resnet.CONTESTS,
        **lstm.CONTESTS,
        **optimizers.CONTESTS,
        **second_order.CONTESTS,
    }
