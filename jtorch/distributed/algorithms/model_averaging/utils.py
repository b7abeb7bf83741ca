"""One average of parameters over processes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import jtorch as torch

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]


def average_parameters(params: Iterable[torch.nn.Parameter], process_group: Any) -> None:
    """Replaces parameters by their means over the processes of a group, all at once. Outside of the
    group nothing is done."""
    distributed = torch.distributed
    if distributed._rank_not_in_group(process_group):
        return
    with torch.no_grad():
        chosen = list(params)
        flat = torch.cat([p.detach().reshape(-1) for p in chosen]) / distributed.get_world_size(
            process_group
        )
        distributed.all_reduce(flat, group=process_group)
        at = 0
        for p in chosen:
            p.copy_(flat[at : at + p.numel()].view(p.shape))
            at += p.numel()


def get_params_to_average(params: Iterable[object]) -> list[torch.nn.Parameter]:
    """The parameters that have a gradient, of parameters or of an optimizer's groups."""
    found: list[Any] = []
    for item in params:
        found += [
            p for p in (item["params"] if isinstance(item, dict) else [item]) if p.grad is not None
        ]
    return found


def average_parameters_or_parameter_groups(params: Iterable[object], process_group: object) -> None:
    """``average_parameters`` of those that have a gradient."""
    average_parameters(get_params_to_average(params), process_group)
