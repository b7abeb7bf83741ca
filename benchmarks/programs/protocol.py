"""The override protocol alone: a function with an empty body, over plain, duck, mixed and many operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..contest import HAS_TORCH, Builder, Contest, Step

CALLS = 2000
MANY = 20


def _ours(kind: str) -> Step:
    import jtorch
    from jtorch.overridable import specialise

    binary = specialise(lambda input, other: None, "torch.benchmark_binary", ("input", "other"), enter=False)
    many = specialise(lambda tensors: None, "torch.benchmark_many", (), ("tensors",), enter=False)
    return _calls(kind, binary, many, jtorch.ones(1))


def _torchs(kind: str) -> Step:
    import torch
    from torch.overrides import handle_torch_function, has_torch_function

    def binary(input: Any, other: Any) -> Any:
        if has_torch_function((input, other)):
            return handle_torch_function(binary, (input, other), input, other)
        return None

    def many(tensors: Any) -> Any:
        if has_torch_function(tensors):
            return handle_torch_function(many, tensors, tensors)
        return None

    return _calls(kind, binary, many, torch.ones(1))


class Duck:
    """Answers every function at once."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> None:
        return None


def _calls(kind: str, binary: Callable[..., Any], many: Callable[..., Any], tensor: Any) -> Step:
    duck = Duck()
    f, args = {
        "plain": (binary, (tensor, tensor)),
        "duck": (binary, (duck, duck)),
        "mixed": (binary, (tensor, duck)),
        "many plain": (many, ([tensor] * MANY,)),
        "many mixed": (many, ([tensor] * (MANY - 1) + [duck],)),
    }[kind]

    def step() -> None:
        for _ in range(CALLS):
            f(*args)

    return Step(step)


KINDS = ("plain", "duck", "mixed", "many plain", "many mixed")


def contest(kind: str) -> Contest:
    """An empty overridable function; PyTorch's contestant is its own protocol in a Python function."""
    builders: dict[str, Builder] = {"deferred": lambda: _ours(kind)}
    if HAS_TORCH:
        builders["torch"] = lambda: _torchs(kind)
    return Contest(f"protocol {kind}", builders, ops=CALLS, agree=None)


CONTESTS: dict[str, Callable[[], Contest]] = {f"protocol {kind}": (lambda kind=kind: contest(kind)) for kind in KINDS}
