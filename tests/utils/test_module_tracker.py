"""``ModuleTracker``: which modules run."""

from __future__ import annotations

import jtorch as torch
from jtorch.utils.module_tracker import ModuleTracker


def test_the_backward_pass_ends() -> None:
    seen = []
    x = torch.rand(2, requires_grad=True)
    module = torch.nn.Linear(2, 2)
    with ModuleTracker() as tracker:
        y = module(x)
        x.register_hook(lambda _: seen.append(tracker.is_bw))
        y.sum().backward()
        assert seen == [True] and not tracker.is_bw and tracker.parents == {"Global"}
