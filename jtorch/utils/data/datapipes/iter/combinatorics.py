"""Pipes that change the order of items."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sized
from typing import Any, TypeVar

import jtorch as torch

from ...sampler import Sampler, SequentialSampler
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import length_of

__all__ = ["SamplerIterDataPipe", "ShufflerIterDataPipe"]

_T_co = TypeVar("_T_co", covariant=True)


class SamplerIterDataPipe(IterDataPipe[_T_co]):
    """What a sampler of a pipe gives."""

    datapipe: IterDataPipe[Any]
    sampler: Sampler[Any]

    def __init__(
        self,
        datapipe: Any,
        sampler: type[Sampler] = SequentialSampler,
        sampler_args: tuple[Any, ...] | None = None,
        sampler_kwargs: dict[str, Any] | None = None,
    ) -> None:
        if not isinstance(datapipe, Sized):
            raise AssertionError("Sampler class requires input datapipe implemented `__len__`")
        super().__init__()
        self.datapipe = datapipe
        self.sampler_args = sampler_args or ()
        self.sampler_kwargs = {} if sampler_kwargs is None else sampler_kwargs
        self.sampler_kwargs["data_source"] = datapipe
        self.sampler = sampler(*self.sampler_args, **self.sampler_kwargs)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sampler)

    def __len__(self) -> int:
        return length_of(self, self.sampler)


def random_seed() -> int:
    """A seed from the default generator."""
    return int(torch.empty((), dtype=torch.int64).random_().item())


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(IterDataPipe[_T_co]):
    """Items in random order: each is drawn from a buffer, in whose place the next one goes.

    The order follows ``set_seed``, else the default generator; loaders set the seed.
    """

    datapipe: IterDataPipe[Any]
    buffer_size: int

    def __init__(self, datapipe: Any, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        super().__init__()
        self._buffer = []
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        self.datapipe = (
            datapipe if unbatch_level == 0 else datapipe.unbatch(unbatch_level=unbatch_level)
        )
        self.buffer_size = buffer_size
        self._enabled = True
        self._seed: int | None = None
        self._rng = random.Random()

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
            yield from self.datapipe
            return
        for item in self.datapipe:
            if len(self._buffer) < self.buffer_size:
                self._buffer.append(item)
                continue
            i = self._rng.randint(0, len(self._buffer) - 1)
            drawn, self._buffer[i] = self._buffer[i], item
            yield drawn
        while self._buffer:
            yield self._buffer.pop(self._rng.randint(0, len(self._buffer) - 1))

    def __len__(self) -> int:
        return length_of(self, self.datapipe)

    def reset(self) -> None:
        """Empties the buffer and seeds the order."""
        self._buffer = []
        if self._enabled:
            self._rng.seed(random_seed() if self._seed is None else self._seed)
            self._seed = None

    def __getstate__(self) -> Any:
        state = (
            self.datapipe,
            self.buffer_size,
            self._enabled,
            self._seed,
            self._buffer,
            self._rng.getstate(),
            self._valid_iterator_id,
            self._number_of_samples_yielded,
        )
        return state if IterDataPipe.getstate_hook is None else IterDataPipe.getstate_hook(state)

    def __setstate__(self, state: Any) -> None:
        self.datapipe, self.buffer_size, self._enabled, self._seed, self._buffer, order, *counts = (
            state
        )
        self._valid_iterator_id, self._number_of_samples_yielded = counts
        self._rng = random.Random()
        self._rng.setstate(order)

    def __del__(self) -> None:
        if "_buffer" in self.__dict__:
            self._buffer.clear()
