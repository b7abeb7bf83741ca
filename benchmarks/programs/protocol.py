"""The override protocol alone: functions with an empty body, over plain, duck, mixed and many
operands, under a mode, and one wrapper.

The cases are those of NumPy's and PyTorch's first benchmarks of their protocols. ``bare`` is the
yardstick of a row: the same call without any check, or the same function on plain tensors.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from ..contest import HAS_TORCH, Bar, Builder, Contest, Step

CALLS = 2000
MANY = 10_000


class Duck:
    """Answers every function at once."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> None:
        return None


def _functions(
    library: str, bare: bool = False
) -> tuple[Callable[..., Any], Callable[..., Any], Any]:
    """A function of two tensors and one of a list, both empty, as a library would make them
    overridable; and a tensor."""

    def binary(input: Any, other: Any) -> Any:
        return None

    def many(tensors: Any) -> Any:
        return None

    if library == "jtorch":
        import jtorch
        from jtorch.dispatch import torch_function_dispatch

        if bare:
            return binary, many, jtorch.ones(1)
        pair = torch_function_dispatch(
            lambda input, other: (input, other), public="benchmark.binary", enter=False
        )(binary)
        return (
            pair,
            torch_function_dispatch(lambda tensors: tensors, public="benchmark.many", enter=False)(
                many
            ),
            jtorch.ones(1),
        )
    import torch
    from torch.overrides import handle_torch_function, has_torch_function

    def checked_binary(input: Any, other: Any) -> Any:
        if has_torch_function((input, other)):
            return handle_torch_function(checked_binary, (input, other), input, other)
        return None

    def checked_many(tensors: Any) -> Any:
        if has_torch_function(tensors):
            return handle_torch_function(checked_many, tensors, tensors)
        return None

    return checked_binary, checked_many, torch.ones(1)


def _step(f: Callable[..., Any], args: tuple[Any, ...], calls: int, block: Any = None) -> Step:
    def step() -> None:
        with block if block is not None else contextlib.nullcontext():
            for _ in range(calls):
                f(*args)

    return Step(step)


#: Row -> (which function, its arguments made of a tensor and a duck).
_KINDS: dict[str, tuple[int, Callable[[Any, Any], tuple[Any, ...]]]] = {
    "plain": (0, lambda t, d: (t, t)),
    "one duck": (0, lambda t, d: (d, 1)),
    "two ducks": (0, lambda t, d: (d, d)),
    "mixed": (0, lambda t, d: (t, d)),
    "list of two ducks": (1, lambda t, d: ([d, d],)),
    "list of both": (1, lambda t, d: ([t, d],)),
    "many plain": (1, lambda t, d: ([t] * MANY,)),
    "many with a duck": (1, lambda t, d: ([t] * (MANY - 1) + [d],)),
}
_MICRO = 1e-6
_BARS = {
    "plain": [Bar("deferred", 1, "bare", plus=0.15 * _MICRO)],
    "one duck": [Bar("deferred", _MICRO)],
    "two ducks": [Bar("deferred", _MICRO)],
    "mixed": [Bar("deferred", 1.5 * _MICRO)],
    "list of two ducks": [Bar("deferred", 1.5 * _MICRO)],
    "list of both": [Bar("deferred", 1.5 * _MICRO)],
    "many plain": [Bar("deferred", 60 * _MICRO)],
}


def _operands(kind: str) -> Contest:
    which, make = _KINDS[kind]
    calls = CALLS if not kind.startswith("many") else 20

    def build(library: str, bare: bool = False) -> Step:
        *functions, tensor = _functions(library, bare)
        return _step(functions[which], make(tensor, Duck()), calls)

    builders: dict[str, Builder] = {"deferred": lambda: build("jtorch")}
    if HAS_TORCH:
        builders["torch"] = lambda: build("torch")
    if kind in ("plain", "many plain"):
        builders["bare"] = lambda: build("jtorch", bare=True)
    return Contest(f"protocol {kind}", builders, _BARS.get(kind, ()), ops=calls, agree=None)


def _mode(answers: bool) -> Contest:
    """A call inside one function mode, which answers itself or calls the function."""

    def mode_of(library: Any) -> Any:
        class Mode(library.overrides.TorchFunctionMode):
            def __torch_function__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                return None if answers else func(*args, **(kwargs or {}))

        return Mode()

    def build(library: str) -> Step:
        binary, _, tensor = _functions(library)
        module = __import__(library)
        return _step(binary, (tensor, tensor), CALLS, mode_of(module))

    def bare() -> Step:
        binary, _, tensor = _functions("jtorch")
        return _step(binary, (tensor, tensor), CALLS)

    builders: dict[str, Builder] = {"deferred": lambda: build("jtorch"), "bare": bare}
    if HAS_TORCH:
        builders["torch"] = lambda: build("torch")
    name = "protocol mode that answers" if answers else "protocol mode that calls"
    return Contest(
        name,
        builders,
        [Bar("deferred", 1, "bare", plus=_MICRO)] if answers else (),
        ops=CALLS,
        agree=None,
    )


def _metadata() -> Contest:
    """``add`` of two MetadataTensors beside ``add`` of two tensors."""

    def build(wrap: bool) -> Step:
        import jtorch
        from jtorch.wrappers import MetadataTensor

        x: Any = jtorch.ones(1)
        if wrap:
            x = MetadataTensor(x, {"unit": "km", "by": "me"})
        return _step(jtorch.add, (x, x), 200)

    bars = [Bar("deferred", 1, "bare", plus=3 * _MICRO)]
    builders: dict[str, Builder] = {"deferred": lambda: build(True), "bare": lambda: build(False)}
    return Contest("protocol MetadataTensor add", builders, bars, ops=200, agree=None)


CONTESTS: dict[str, Callable[[], Contest]] = {
    **{f"protocol {kind}": (lambda kind=kind: _operands(kind)) for kind in _KINDS},
    "protocol mode that answers": lambda: _mode(True),
    "protocol mode that calls": lambda: _mode(False),
    "protocol MetadataTensor add": _metadata,
}
