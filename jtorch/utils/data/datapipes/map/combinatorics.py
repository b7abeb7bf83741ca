"""The pipe of items in random order, which is gone through."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, TypeVar

from ..datapipe import IterDataPipe, MapDataPipe
from ..iter.combinatorics import random_seed

__all__ = ["ShufflerIterDataPipe"]

_T_co = TypeVar("_T_co", covariant=True)


class ShufflerIterDataPipe(IterDataPipe[_T_co]):
    """The items for some keys (by default 0, 1, ...), in random order, which follows ``set_seed``,
    else the default generator."""

    datapipe: MapDataPipe[Any]

    def __init__(self, datapipe: Any, *, indices: list[Any] | None = None) -> None:
        super().__init__()
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices
        self._enabled = True
        self._seed: int | None = None
        self._rng = random.Random()
        self._shuffled_indices = self.indices

    def set_shuffle(self, shuffle: bool = True) -> Any:
        """Switches shuffling on or off."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Any:
        """Sets the seed of the next iterator."""
        self._seed = seed
        return self

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            for index in self.indices:
                yield self.datapipe[index]
            return
        while self._shuffled_indices:
            yield self.datapipe[self._shuffled_indices.pop()]

    def reset(self) -> None:
        """Draws the next order."""
        if self._enabled and self._seed is None:
            self._seed = random_seed()
        self._rng.seed(self._seed)
        self._seed = None
        self._shuffled_indices = self._rng.sample(self.indices, len(self.indices))

    def __len__(self) -> int:
        return len(self.datapipe)  # type: ignore[arg-type]

    def __getstate__(self) -> Any:
        state = (
            self.datapipe,
            self.indices,
            self._enabled,
            self._seed,
            self._rng.getstate(),
            self._shuffled_indices,
            self._valid_iterator_id,
            self._number_of_samples_yielded,
        )
        return state if IterDataPipe.getstate_hook is None else IterDataPipe.getstate_hook(state)

    def __setstate__(self, state: Any) -> None:
        (
            self.datapipe,
            self.indices,
            self._enabled,
            self._seed,
            order,
            self._shuffled_indices,
            *counts,
        ) = state
        self._valid_iterator_id, self._number_of_samples_yielded = counts
        self._rng = random.Random()
        self._rng.setstate(order)


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)
