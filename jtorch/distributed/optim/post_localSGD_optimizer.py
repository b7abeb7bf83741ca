"""An optimizer after whose steps parameters are averaged over processes."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import jtorch as torch

if TYPE_CHECKING:
    pass


__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(torch.optim.Optimizer):
    """Another optimizer, and an averager of ``algorithms.model_averaging`` that is asked after each
    step.

    Args:
        optim: what updates the parameters.
        averager: what averages them; its state is the number of steps.
    """

    def __init__(self, optim: torch.optim.Optimizer, averager: Any) -> None:
        self.optim, self.averager = optim, averager
        self.param_groups = optim.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]
        """The optimizer's state."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """The optimizer's state, and under ``step`` that of the averager."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over what ``state_dict`` gave; without ``step`` the averager begins anew."""
        self.optim.load_state_dict({k: v for k, v in state_dict.items() if k != "step"})
        if "step" in state_dict:
            self.averager.step = state_dict["step"]
        else:
            warnings.warn(
                "Loaded state dict does not contain a step counter for an averager. Setting step "
                "counter to 0.",
                stacklevel=2,
            )
            self.averager.step = 0

    def step(self, closure: Any = None) -> Any:
        """Updates, and averages."""
        loss = self.optim.step() if closure is None else self.optim.step(closure)
        self.averager.average_parameters(params=self.param_groups)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Takes the gradients away."""
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group of parameters."""
        self.optim.add_param_group(param_group)
