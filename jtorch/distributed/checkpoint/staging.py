"""Copies of states that are made before they are written in the background."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import jtorch as torch

from ..tensor import DTensor
from .metadata import STATE_DICT_TYPE

if TYPE_CHECKING:
    from ..._src.facts.kinds import Tree


__all__ = ["AsyncStager", "BlockingAsyncStager", "DefaultStager", "StagingOptions"]


@runtime_checkable
class AsyncStager(Protocol):
    """Copies a state so that training may change it while the copy is written."""

    _synchronize_after_execute: bool = True

    @property
    def should_synchronize_after_execute(self) -> bool:
        """Whether ``async_save`` waits for the copy before it returns."""
        return self._synchronize_after_execute

    def stage(self, state_dict: STATE_DICT_TYPE) -> Future[STATE_DICT_TYPE] | STATE_DICT_TYPE:
        """The copy, or what it will be in."""
        ...

    def synchronize_staging(self) -> None:
        """Waits for the copy."""
        ...

    def close(self) -> None:
        """Lets go of what was needed for copies."""
        ...


def _copied(value: Tree) -> Tree:
    if isinstance(value, dict):
        return (
            type(value)((key, _copied(inner)) for key, inner in value.items())
            if type(value) is dict
            else _copied(dict(value))
        )
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_copied, value))
    if isinstance(value, list | tuple):
        return type(value)(map(_copied, value))
    if isinstance(value, DTensor):
        local = _copied(value.to_local())
        return DTensor.from_local(
            local,
            value.device_mesh,
            value.placements,
            run_check=False,
            shape=value.size(),
            stride=value.stride(),
        ).requires_grad_(value.requires_grad)
    if isinstance(value, torch.Tensor):
        copy = value.detach().cpu().clone()
        copy.jax()  # what is pending runs here, in the thread that recorded it
        return copy.requires_grad_(value.requires_grad)
    return value


class BlockingAsyncStager:
    """Copies at once.

    Args:
        cache_staged_state_dict: of no effect: copies are made anew, as memory is JAX's.
        type_check: of no effect.
    """

    _synchronize_after_execute: bool = False

    def __init__(self, cache_staged_state_dict: bool = False, type_check: bool = False) -> None:
        self.cache_staged_state_dict, self.type_check = cache_staged_state_dict, type_check

    @property
    def should_synchronize_after_execute(self) -> bool:
        """Whether ``async_save`` waits for the copy before it returns."""
        return self._synchronize_after_execute

    def stage(self, state_dict: STATE_DICT_TYPE) -> STATE_DICT_TYPE:
        """The copy."""
        return _copied(state_dict)

    def synchronize_staging(self) -> None:
        """The copy is there."""

    def close(self) -> None:
        """There is nothing to let go of."""


@dataclass
class StagingOptions:
    """How copies are made. The copy is on the host and made at once, whatever is said; a future is
    given for ``use_async_staging``."""

    use_pinned_memory: bool = True
    use_shared_memory: bool = True
    use_async_staging: bool = True
    use_non_blocking_copy: bool = True


class DefaultStager:
    """Copies at once, and gives a future if its options ask for one.

    Args:
        config: the options.
    """

    _synchronize_after_execute: bool = False

    def __init__(self, config: StagingOptions = StagingOptions()) -> None:
        self._config = config

    @property
    def should_synchronize_after_execute(self) -> bool:
        """Whether ``async_save`` waits for the copy before it returns."""
        return self._synchronize_after_execute

    def stage(
        self, state_dict: STATE_DICT_TYPE, **kwargs: Any
    ) -> Future[STATE_DICT_TYPE] | STATE_DICT_TYPE:
        """The copy, or a future that holds it."""
        del kwargs
        copy = _copied(state_dict)
        if not self._config.use_async_staging:
            return copy
        future: Future[STATE_DICT_TYPE] = Future()
        future.set_result(copy)
        return future

    def synchronize_staging(self) -> None:
        """The copy is there."""

    def close(self) -> None:
        """There is nothing to let go of."""
