"""Schedules that rise and fall, and move momentum against the rate."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ._lr_base import (
    LRScheduler,
    Rates,
    _check_optimizer,
    _format_param,
    _update_param_group_val,
    _warn_get_lr_called_within_step,
)
from .optimizer import Optimizer

if TYPE_CHECKING:
    from .._src.facts.kinds import Named


class _CyclesMomentum(LRScheduler):
    """Schedules that move momentum (or Adam's first coefficient) against the rate."""

    def _init_momentum(
        self, base: Any, maximum: Any, last_epoch: int
    ) -> tuple[list[float], list[float]]:
        optimizer = self.optimizer
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
            )
        self.use_beta1 = "betas" in optimizer.defaults
        bases = _format_param("base_momentum", optimizer, base)
        maxima = _format_param("max_momentum", optimizer, maximum)
        if last_epoch == -1:
            for high, low, group in zip(maxima, bases, optimizer.param_groups, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"] = high
                group["base_momentum"] = low
        return bases, maxima

    def _set_momentum(self, group: Named, momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_CyclesMomentum):
    """Rates that go up and down between ``base_lr`` and ``max_lr``
    (https://arxiv.org/abs/1506.01186).

    Args:
        optimizer: whose learning rates are set.
        base_lr: the smallest learning rate, for all groups or one for each.
        max_lr: the largest one.
        step_size_up: steps from the smallest to the largest.
        step_size_down: steps back; as many if None.
        mode: ``"triangular"``, ``"triangular2"`` (each cycle half as high) or ``"exp_range"``
            (lower by ``gamma`` each step).
        gamma: for ``"exp_range"``.
        scale_fn: the height of a cycle, in place of ``mode``.
        scale_mode: ``"cycle"`` or ``"iterations"``: what ``scale_fn`` is given.
        cycle_momentum: whether the momentum goes the other way meanwhile.
        base_momentum: the smallest momentum, where the learning rate is largest; for all groups or
            one for each.
        max_momentum: the largest momentum, where the learning rate is smallest; for all groups or
            one for each.
        last_epoch: the number of the last step that was made; -1 to begin.
    """

    __module__ = "jtorch.optim.lr_scheduler"  # the name that files know it by

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = _format_param("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                _update_param_group_val(group, "lr", lr)
        self.max_lrs = _format_param("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_ref: Callable[[float], float]
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.base_momentums, self.max_momentums = self._init_momentum(
                base_momentum, max_momentum, last_epoch
            )
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _init_scale_fn(self) -> None:
        if self._scale_fn_custom is not None:
            return
        if self.mode == "exp_range":
            self._scale_fn_ref = partial(self._exp_range_scale_fn, self.gamma)
            self.scale_mode = "iterations"
        else:
            self._scale_fn_ref = (
                self._triangular_scale_fn
                if self.mode == "triangular"
                else self._triangular2_scale_fn
            )
            self.scale_mode = "cycle"

    def scale_fn(self, x: float) -> float:
        """The height of cycle (or iteration) ``x``."""
        return self._scale_fn_ref(x) if self._scale_fn_custom is None else self._scale_fn_custom(x)

    @staticmethod
    def _triangular_scale_fn(x: float) -> float:
        return 1.0

    @staticmethod
    def _triangular2_scale_fn(x: float) -> float:
        return 1 / (2.0 ** (x - 1))

    @staticmethod
    def _exp_range_scale_fn(gamma: float, x: float) -> float:
        return gamma**x

    def get_lr(self) -> Rates:
        """See the base class; moves momentum as well."""
        _warn_get_lr_called_within_step(self)
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        at = cycle if self.scale_mode == "cycle" else self.last_epoch
        lrs = [
            low + (high - low) * height * self.scale_fn(at)
            for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]
        if self.cycle_momentum:
            for low, high, group in zip(
                self.base_momentums, self.max_momentums, self.optimizer.param_groups, strict=True
            ):
                self._set_momentum(group, high - (high - low) * height * self.scale_fn(at))
        return lrs

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimiser; of a scale function, its attributes if it is an
        object."""
        state = super().state_dict()
        state.pop("_scale_fn_ref", None)
        fn = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = (
            None if fn is None or isinstance(fn, types.FunctionType) else fn.__dict__.copy()
        )
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over the result of ``state_dict()``."""
        fn = state_dict.pop("_scale_fn_custom")
        super().load_state_dict(state_dict)
        if fn is not None:
            self._scale_fn_custom.__dict__.update(fn)
        self._init_scale_fn()


class OneCycleLR(_CyclesMomentum):
    """One rise to ``max_lr`` and one long fall far below the start
    (https://arxiv.org/abs/1708.07120).

    Args:
        optimizer: whose learning rates are set.
        max_lr: the largest learning rate, for all groups or one for each.
        total_steps: how many steps there are; or ``epochs`` and ``steps_per_epoch``.
        epochs: epochs.
        steps_per_epoch: steps of each.
        pct_start: which share of them the learning rate rises.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        cycle_momentum: whether the momentum goes the other way meanwhile.
        base_momentum: the smallest momentum, where the learning rate is largest; for all groups or
            one for each.
        max_momentum: the largest momentum, where the learning rate is smallest; for all groups or
            one for each.
        div_factor: the largest learning rate divided by the first.
        final_div_factor: the first divided by the last.
        three_phase: whether it falls to the first before it falls to the last.
        last_epoch: the number of the last step that was made; -1 to begin.
    """

    __module__ = "jtorch.optim.lr_scheduler"  # the name that files know it by

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = self._steps(total_steps, epochs, steps_per_epoch)
        up = {
            "start_lr": "initial_lr",
            "end_lr": "max_lr",
            "start_momentum": "max_momentum",
            "end_momentum": "base_momentum",
        }
        down = {
            "start_lr": "max_lr",
            "end_lr": "min_lr",
            "start_momentum": "base_momentum",
            "end_momentum": "max_momentum",
        }
        last, peak = self.total_steps - 1, float(pct_start * self.total_steps)
        if three_phase:
            back = {**down, "end_lr": "initial_lr"}
            final = {**up, "end_lr": "min_lr", "end_momentum": "max_momentum"}
            phases = [(peak - 1, up), (2 * peak - 2, back), (last, final)]
        else:
            phases = [(peak - 1, up), (last, down)]
        self._schedule_phases = [{"end_step": end, **names} for end, names in phases]
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        max_lrs = _format_param("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, high in zip(optimizer.param_groups, max_lrs):
                group["initial_lr"] = high / div_factor
                group["max_lr"] = high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._init_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _steps(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        given = (
            {"total_steps": total_steps}
            if total_steps is not None
            else {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
        )
        for name, value in given.items():
            if value <= 0 or not isinstance(value, int):
                raise ValueError(f"Expected positive integer {name}, but got {value}")
        return math.prod(given.values())

    def _anneal_func(self, start: float, end: float, pct: float) -> Any:
        if "_anneal_func_type" not in self.__dict__:  # a state of old files holds the function
            return self.__dict__["anneal_func"](start, end, pct)
        return (self._annealing_cos if self._anneal_func_type == "cos" else self._annealing_linear)(
            start, end, pct
        )

    @staticmethod
    def _annealing_cos(start: float, end: float, pct: float) -> float:
        return end + (start - end) / 2.0 * (math.cos(math.pi * pct) + 1)

    @staticmethod
    def _annealing_linear(start: Any, end: Any, pct: float) -> object:
        return (end - start) * pct + start

    def get_lr(self) -> Rates:
        """See the base class; moves momentum as well."""
        _warn_get_lr_called_within_step(self)
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        start = 0.0
        phase = self._schedule_phases[-1]
        for candidate in self._schedule_phases:
            phase = candidate
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        pct = (step - start) / (phase["end_step"] - start)
        lrs = []
        for group in self.optimizer.param_groups:
            lrs.append(self._anneal_func(group[phase["start_lr"]], group[phase["end_lr"]], pct))
            if self.cycle_momentum:
                self._set_momentum(
                    group,
                    self._anneal_func(
                        group[phase["start_momentum"]], group[phase["end_momentum"]], pct
                    ),
                )
        return lrs
