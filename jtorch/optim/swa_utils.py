"""Averages of weights over training, and the schedule that goes with them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

import jtorch as torch
from jtorch.nn import Module

from .lr_scheduler import LRScheduler, _format_param, _warn_get_lr_called_within_step
from .optimizer import Optimizer

__all__ = [
    "AveragedModel",
    "update_bn",
    "SWALR",
    "get_ema_multi_avg_fn",
    "get_swa_multi_avg_fn",
    "get_ema_avg_fn",
    "get_swa_avg_fn",
]

Tensors = list[torch.Tensor] | tuple[torch.Tensor, ...]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def _inexact(t: torch.Tensor) -> bool:
    return torch.is_floating_point(t) or torch.is_complex(t)


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[Tensors, Tensors, Any], None]:
    """A function that moves averages towards the current values by ``1 - decay``."""
    _check_decay(decay)

    @torch.no_grad()
    def ema_update(ema_param_list: Tensors, current_param_list: Tensors, _: object) -> None:
        for average, current in zip(ema_param_list, current_param_list, strict=True):
            if _inexact(average):
                average.lerp_(current, 1 - decay)
            else:
                average.copy_(average * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable[[Tensors, Tensors, Any], None]:
    """A function that updates equal averages of ``num_averaged`` values by one more."""

    @torch.no_grad()
    def swa_update(
        averaged_param_list: Tensors, current_param_list: Tensors, num_averaged: torch.Tensor | int
    ) -> None:
        weight = 1 / (num_averaged + 1)
        for average, current in zip(averaged_param_list, current_param_list, strict=True):
            if _inexact(average):
                average.add_((current - average) * weight)
            else:
                average.add_(torch.div(current - average, num_averaged + 1, rounding_mode="trunc"))

    return swa_update


def get_ema_avg_fn(
    decay: float = 0.999,
) -> Callable[[torch.Tensor, torch.Tensor, Any], torch.Tensor]:
    """A function that returns ``decay * average + (1 - decay) * current``."""
    _check_decay(decay)

    @torch.no_grad()
    def ema_update(
        ema_param: torch.Tensor,
        current_param: torch.Tensor,
        num_averaged: object,  # noqa: ARG001
    ) -> torch.Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[[torch.Tensor, torch.Tensor, Any], torch.Tensor]:
    """A function that returns the average with one more value."""

    @torch.no_grad()
    def swa_update(
        averaged_param: torch.Tensor, current_param: torch.Tensor, num_averaged: torch.Tensor | int
    ) -> torch.Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of ``model`` whose parameters are averages; ``update_parameters(model)`` takes one
    more set into them.

    Buffers are copied, or averaged too with ``use_buffers``. Without a function of one's own the
    average is the equal one.
    """

    n_averaged: torch.Tensor

    def __init__(
        self,
        model: Module,
        device: int | torch.device | None = None,
        avg_fn: Callable[[torch.Tensor, torch.Tensor, torch.Tensor | int], torch.Tensor]
        | None = None,
        multi_avg_fn: Callable[[Tensors, Tensors, Any], None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Takes the parameters of ``model`` into the averages."""
        with torch.no_grad():
            if self.use_buffers:
                mine = itertools.chain(self.module.parameters(), self.module.buffers())
                its = itertools.chain(model.parameters(), model.buffers())
            else:
                mine, its = self.parameters(), model.parameters()
            pairs = [(a.detach(), c.detach().to(a.device)) for a, c in zip(mine, its)]
            if self.n_averaged == 0:
                for average, current in pairs:
                    average.copy_(current)
            elif self.avg_fn is not None:
                for average, current in pairs:
                    average.copy_(self.avg_fn(average, current, self.n_averaged.to(average.device)))
            elif pairs:
                update = self.multi_avg_fn or get_swa_multi_avg_fn()
                groups: dict[Any, tuple[list[torch.Tensor], list[torch.Tensor]]] = {}
                # functions may take all tensors of a call to be of one kind
                for average, current in pairs:
                    averages, currents = groups.setdefault(
                        (average.device, average.dtype), ([], [])
                    )
                    averages.append(average)
                    currents.append(current)
                for (device, _), (averages, currents) in groups.items():
                    update(averages, currents, self.n_averaged.to(device))
            if not self.use_buffers:
                for average, current in zip(self.module.buffers(), model.buffers(), strict=True):
                    average.detach().copy_(current.detach().to(average.device))
            self.n_averaged += 1


@torch.no_grad()
def update_bn(
    loader: Iterable[Any], model: Module, device: int | torch.device | None = None
) -> None:
    """Recomputes the running statistics of all batch norms of ``model`` by one pass over
    ``loader``."""
    momenta = {}
    for module in model.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None  # cumulative average
    for batch in loader:
        input = batch[0] if isinstance(batch, list | tuple) else batch
        model(input if device is None else input.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Anneals the rates to ``swa_lr`` in ``anneal_epochs`` and keeps them there."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for rate, group in zip(
            _format_param("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True
        ):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _linear_anneal(t: float) -> float:
        return t

    @staticmethod
    def _cosine_anneal(t: float) -> float:
        return (1 - math.cos(math.pi * t)) / 2

    def _set_anneal_func(self, anneal_strategy: str) -> None:
        self._anneal_strategy = anneal_strategy
        self.anneal_func = self._cosine_anneal if anneal_strategy == "cos" else self._linear_anneal

    def get_lr(self) -> Any:
        """See the base class."""
        _warn_get_lr_called_within_step(self)
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        length = max(1, self.anneal_epochs)
        before = self.anneal_func(max(0, min(1, (step - 1) / length)))
        alpha = self.anneal_func(max(0, min(1, step / length)))
        rates = []
        for group in self.optimizer.param_groups:
            lr, target = group["lr"], group["swa_lr"]
            start = target if before == 1 else (lr - before * target) / (1 - before)
            rates.append(target * alpha + start * (1 - alpha))
        return rates

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimiser and the function."""
        return {
            key: value
            for key, value in self.__dict__.items()
            if key not in ("optimizer", "anneal_func")
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over the result of ``state_dict()``."""
        self.__dict__.update(state_dict)
        self._set_anneal_func(self._anneal_strategy)
