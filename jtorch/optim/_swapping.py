"""Lets an optimiser work on other parameters and states for a while."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from .optimizer import Optimizer


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Any], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Replaces an optimiser's parameters and state inside a ``with`` block.

    ``swapin_parameters`` are in the order of the optimiser's own, and ``swapin_optim_state`` has
    the form of its ``state_dict()``. Tensors of both are changed in place by a step; everything
    else is forgotten at the end of the block.

    Raises:
        ValueError: if the numbers of parameters or groups differ.

    Example:
        >>> import jtorch as torch
        >>> p, q = torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter(torch.zeros(1))
        >>> optimizer = torch.optim.SGD([p], lr=1.0)
        >>> q.grad = torch.ones(1)
        >>> with torch.optim.swap_in_optimizer_params_and_state(
        ...     optimizer, {"q": q}, optimizer.state_dict()
        ... ):
        ...     optimizer.step()
        >>> p.item(), q.item()
        (1.0, -1.0)
    """
    given = list(swapin_parameters.values())
    own = sum(len(group["params"]) for group in optimizer.param_groups)
    groups = swapin_optim_state["param_groups"]
    if len(given) != own:
        raise ValueError(f"the optimizer has {own} parameters, but {len(given)} were given")
    if len(groups) != len(optimizer.param_groups):
        raise ValueError(
            f"the optimizer has {len(optimizer.param_groups)} parameter groups, but {len(groups)} "
            "were given"
        )
    numbers = sorted(i for group in groups for i in group["params"])
    of_number = dict(zip(numbers, given, strict=True))
    before = optimizer.param_groups, optimizer.state
    optimizer.param_groups = [
        {**group, "params": [of_number[i] for i in group["params"]]} for group in groups
    ]
    optimizer.state = defaultdict(
        dict, {of_number[i]: dict(state) for i, state in swapin_optim_state["state"].items()}
    )
    try:
        yield
    finally:
        optimizer.param_groups, optimizer.state = before
