"""A hook's combined gradients given to a functional optimiser, bucket by bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__: list[str] = []

_FUNCTIONAL_OPTIM_STEP_METHOD_NAME = "step_param"


class _OptimizerHookState:
    """Which optimiser steps.

    Args:
        functional_optim: what has a method ``step_param``, as ``as_functional_optim`` makes it.
        params: the parameters that it updates; all if it is None.

    Raises:
        ValueError: for an optimiser without that method.
    """

    def __init__(self, functional_optim: Any, params: Iterable[object] | None = None) -> None:
        if not hasattr(functional_optim, _FUNCTIONAL_OPTIM_STEP_METHOD_NAME):
            raise ValueError(
                f"Class {type(functional_optim)} must implement method "
                f"{_FUNCTIONAL_OPTIM_STEP_METHOD_NAME}."
            )
        self.functional_optimizer = functional_optim
        self.params_to_optimize = None if params is None else set(params)


def _hook_then_optimizer(
    hook: Callable[[Any, Any], Any], optimizer_state: _OptimizerHookState
) -> Callable[[Any, Any], Any]:
    """The hook, after which the optimiser steps with what it gave."""

    def hook_then_optimizer_wrapper(hook_state: object, bucket: Any) -> object:
        def stepped(future: Any) -> Any:
            value = future.value()
            value = value[0] if isinstance(value, (list, tuple)) else value
            if value is not bucket.buffer():
                bucket.buffer().copy_(value)
            chosen = optimizer_state.params_to_optimize
            for gradient, parameter in zip(bucket.gradients(), bucket.parameters(), strict=True):
                if chosen is None or parameter in chosen:
                    optimizer_state.functional_optimizer.step_param(parameter, gradient)
            return bucket.buffer()

        return hook(hook_state, bucket).then(stepped)

    return hook_then_optimizer_wrapper
