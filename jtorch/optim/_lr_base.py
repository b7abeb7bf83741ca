"""The base of learning rate schedules: when and how rates are set."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import ref

import jtorch as torch

from .optimizer import Optimizer, _to_scalar

if TYPE_CHECKING:
    from .._src.facts.kinds import Named, Values


Rates: TypeAlias = "list[float | torch.Tensor]"

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if "
    "epoch is different from None, the closed form is used instead of the new chainable form, "
    "where available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)
_SEE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


def _copied(value: float) -> torch.Tensor | float:
    return value.clone() if isinstance(value, torch.Tensor) else value


def _format_param(name: str, optimizer: Optimizer, param: Any) -> Values:
    """One value of ``param`` for each group."""
    count = len(optimizer.param_groups)
    if isinstance(param, list | tuple):
        if len(param) != count:
            raise ValueError(
                f"{name} must have the same length as optimizer.param_groups. {name} has "
                f"{len(param)} values, param_groups has {count}."
            )
    else:
        param = [param] * count
    return [_copied(p) for p in param]


def _param_groups_val_list(optimizer: Optimizer, key: str) -> list[torch.Tensor | float]:
    """An option of each group; tensors are copied, since they are changed in place."""
    return [_copied(group[key]) for group in optimizer.param_groups]


def _update_param_group_val(param_group: Named, key: str, val: torch.Tensor | float) -> None:
    if isinstance(param_group[key], torch.Tensor):
        param_group[key].fill_(_to_scalar(val))
    else:
        param_group[key] = val


def _check_optimizer(optimizer: Optimizer) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _count_steps(optimizer: Optimizer) -> None:
    """Makes ``optimizer.step`` note that it was called, so that schedulers can tell when they are
    called first."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    func = optimizer.step.__func__
    owner = ref(optimizer)  # no cycle: the wrapper lies in the optimiser itself

    @wraps(func)
    def step(*args: object, **kwargs: object) -> None:
        opt = owner()
        opt._opt_called = True
        return func(opt, *args, **kwargs)

    step._wrapped_by_lr_sched = True
    optimizer.step = step


@contextmanager
def _flag(scheduler: object, name: str) -> Iterator[None]:
    setattr(scheduler, name, True)
    try:
        yield
    finally:
        setattr(scheduler, name, False)


def _enable_get_lr_call(o: object) -> object:
    """A block in which ``get_lr`` of a scheduler does not warn that it is called by the program."""
    return _flag(o, "_get_lr_called_within_step")


def _initial_mode(o: object) -> object:
    """A block in which a scheduler takes its first step."""
    return _flag(o, "_is_initial")


class LRScheduler:
    """Base class of schedules: ``get_lr`` gives the rates at ``last_epoch``.

    Args:
        optimizer: whose learning rates are set.
        last_epoch: the number of the last step that was made; -1 to begin.
    """

    __module__ = "jtorch.optim.lr_scheduler"  # the name that files know it by

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming "
                    "scheduler with last_epoch >= 0.\n"
                    "This typically happens when:\n"
                    "1. You're trying to resume training from a checkpoint but haven't properly "
                    "loaded the optimizer state\n"
                    "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
                )
        self.base_lrs: Rates = _param_groups_val_list(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _count_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        with _flag(self, "_is_initial"):
            self.step()

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimiser."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over the result of ``state_dict()``."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> Rates:
        """The rates of the last step, one for each group."""
        return self._last_lr

    def get_lr(self) -> Rates:
        """The rates at ``last_epoch``, for the use of ``step``."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Moves on by one epoch (or to ``epoch``) and sets the groups' rates."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(
                    "Seems like `optimizer.step()` has been overridden after learning rate "
                    "scheduler initialization. Please, make sure to call `optimizer.step()` before "
                    f"`lr_scheduler.step()`. {_SEE}",
                    UserWarning,
                    stacklevel=2,
                )
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(
                    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch "
                    "1.1.0 and later, you should call them in the opposite order: "
                    "`optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will "
                    "result in PyTorch skipping the first value of the learning rate schedule. "
                    f"{_SEE}",
                    UserWarning,
                    stacklevel=2,
                )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        with _flag(self, "_get_lr_called_within_step"):
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
            self._set(self.get_lr() if closed is None else closed())

    def _set(self, values: Rates) -> None:
        for param_group, lr in zip(self.optimizer.param_groups, values, strict=True):
            _update_param_group_val(param_group, "lr", lr)
        self._last_lr: Rates = self._current()

    def _current(self) -> Rates:
        return _param_groups_val_list(self.optimizer, "lr")

    def _scaled(self, factor: float) -> Rates:
        return [group["lr"] * factor for group in self.optimizer.param_groups]


def _warn_get_lr_called_within_step(lr_scheduler: LRScheduler) -> None:
    if not lr_scheduler._get_lr_called_within_step:
        warnings.warn(
            "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
            UserWarning,
            stacklevel=3,
        )


class _LRScheduler(LRScheduler):
    """The base class under its old name."""
