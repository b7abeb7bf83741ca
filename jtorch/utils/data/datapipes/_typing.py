"""The metaclasses of pipes, which put the common behaviour around ``__iter__`` and ``reset``."""

from __future__ import annotations

import functools
from abc import ABCMeta
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jtorch._src.refusals import stand_ins as _refusals

from ._hook_iterator import _SnapshotState, hook_iterator

if TYPE_CHECKING:
    from ...._src.facts.kinds import Named


class GenericMeta(ABCMeta):
    """The metaclass below those of pipes."""


class _DataPipeMeta(GenericMeta):
    """The metaclass of pipes."""


def _conditional(reset: Callable[..., object]) -> Callable[..., None]:
    """``reset`` of a pipe, which leaves one that was just restored from a snapshot where it
    stands."""

    @functools.wraps(reset)
    def conditional_reset(self: Any, *args: Any, **kwargs: Any) -> None:
        if self._snapshot_state in (_SnapshotState.Iterating, _SnapshotState.NotStarted):
            self._number_of_samples_yielded = 0
            self._fast_forward_iterator = None
            reset(self, *args, **kwargs)
        self._snapshot_state = _SnapshotState.Iterating

    return conditional_reset


class _IterDataPipeMeta(_DataPipeMeta):
    """The metaclass of pipes that are gone through."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: Named, **kwargs: object) -> Any:
        if "reset" in namespace:
            namespace["reset"] = _conditional(namespace["reset"])
        if "__iter__" in namespace:
            hook_iterator(namespace)
        return super().__new__(cls, name, bases, namespace, **kwargs)


__getattr__ = _refusals.missing(__name__)
