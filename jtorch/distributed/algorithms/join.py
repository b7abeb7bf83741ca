"""Blocks in which processes may have different amounts of work: those that are through take part in
the others' collectives."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, NamedTuple

import jtorch as torch

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """What a process that is through does in place of the others' collectives.

    Attributes:
        running: how many processes still have work, in ``main_hook``.
    """

    running = 0

    def main_hook(self) -> None:
        """Called for each step that the others still do."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called once all are through."""


class Joinable(ABC):
    """Something with collectives that can be taken part in."""

    @abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = None

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook."""

    @property
    @abstractmethod
    def join_device(self) -> torch.device:
        """The device for collectives of the block."""

    @property
    @abstractmethod
    def join_process_group(self) -> None:
        """The group for collectives of the block."""


class _Config(NamedTuple):
    enable: bool
    throw: bool
    is_first: bool


class Join:
    """The block.

    Args:
        joinables: what has collectives; each step of the block calls ``notify_join_context`` on
            each.
        enable: whether amounts may differ at all.
        throw_on_early_termination: whether all raise once one is through.
        kwargs: given to the ``join_hook`` of each.
    """

    def __init__(
        self,
        joinables: list[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._hooks = [j.join_hook(**kwargs) for j in joinables]
        groups = {j.join_process_group for j in joinables}
        if len(groups) > 1:
            raise ValueError("Using join context manager with multiple process groups")
        self._joinables, self._enable, self._throw = joinables, enable, throw_on_early_termination
        self._group = next(iter(groups))
        for i, j in enumerate(joinables):
            j._join_config = _Config(enable, throw_on_early_termination, i == 0)

    def __enter__(self) -> None:
        """Begins it."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Takes part in the others' collectives until all are through."""
        try:
            if self._enable and kind is None:
                self._shadow()
        finally:
            for j in self._joinables:
                j._join_config = None

    def _shadow(self) -> None:
        last, times = True, 0
        while True:
            running = torch.zeros(1)
            torch.distributed.all_reduce(running, group=self._group)
            if running.item() == 0:
                break
            if self._throw:
                self._tell()
            last = False
            for hook in self._hooks:
                hook.running = int(running.item())
                hook.main_hook()
            times += 1
            if times == 1000:
                warnings.warn(
                    "Detected uneven input skew of greater than 1000. This means that rank "
                    f"{self._group.rank()} has at least 1000 fewer inputs than other "
                    "currently-active ranks.",
                    stacklevel=2,
                )
        for hook in self._hooks:
            hook.post_hook(last)

    def _tell(self) -> None:
        torch.distributed.all_reduce(torch.ones(1), group=self._group)
        raise RuntimeError(f"Rank {self._group.rank()} exhausted all inputs.")

    @staticmethod
    def notify_join_context(joinable: Any) -> Any:
        """Says that this process still has work; called at the beginning of each step. How many
        have, where that is counted.

        Raises:
            RuntimeError: if another has none any more and that is an error.
        """
        config = getattr(joinable, "_join_config", None)
        if config is None or not config.enable or not config.is_first:
            return None
        group = joinable.join_process_group
        running = torch.ones(1)
        torch.distributed.all_reduce(running, group=group)
        if config.throw and running.item() < group.size():
            torch.distributed.all_reduce(torch.zeros(1), group=group)
            raise RuntimeError(
                "Detected at least one rank that exhausted inputs. Throwing across all ranks."
            )
        return int(running.item())
