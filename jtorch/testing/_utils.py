"""What tests do with random numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar

import jtorch as torch

_Result = TypeVar("_Result")


@contextlib.contextmanager
def freeze_rng_state() -> Iterator[None]:
    """A block after which draws go on as if it had made none."""
    state = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(state)


def wrapper_set_seed(op: Callable[..., _Result], *args: object, **kwargs: object) -> _Result:
    """``op`` of the arguments, with the same draws every time; those of others stay as they
    were."""
    with freeze_rng_state():
        torch.manual_seed(42)
        return op(*args, **kwargs)
