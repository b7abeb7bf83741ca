"""Samplers: the order in which a loader asks a dataset for its items."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

import numpy as np

import jtorch as torch

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

_T_co = TypeVar("_T_co", covariant=True)


class Sampler(Generic[_T_co]):
    """Base class: an iterable of indices (or lists of them), with a length where it is known."""

    def __iter__(self) -> Iterator[_T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """All indices in order.

    Args:
        data_source: the dataset; only its length counts.

    Example:
        >>> import jtorch as torch
        >>> list(torch.utils.data.SequentialSampler("abc"))
        [0, 1, 2]
    """

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices in random order, drawn as PyTorch draws them.

    Args:
        data_source: the dataset; only its length counts.
        replacement: whether an index may come several times in one pass.
        num_samples: how many indices one pass has; by default as many as the dataset has items.
            Without ``replacement`` a longer pass goes through whole orders one after the other.
        generator: what the numbers are drawn from. Without one, each pass seeds one from the
            default generator.

    Raises:
        TypeError: if ``replacement`` is no bool.
        ValueError: if ``num_samples`` is no positive integer, as for an empty dataset.

    Example:
        >>> import jtorch as torch
        >>> sorted(torch.utils.data.RandomSampler("abc"))
        [0, 1, 2]
    """

    data_source: Sized
    replacement: bool

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(
                "num_samples should be a positive integer value, but got "
                f"num_samples={self.num_samples}"
            )

    @property
    def num_samples(self) -> int:
        """The number of indices in one pass; the dataset's size, which may change, unless it was
        given."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n, total = len(self.data_source), self.num_samples
        generator = self.generator
        if generator is None:
            seed = int(torch.empty((), dtype=torch.int64).random_().item())
            generator = torch.Generator()
            generator.manual_seed(seed)
        if self.replacement:
            # a pass may be endless in effect (10**10 indices), so nothing is made ahead
            for _ in range(total // 32):
                yield from torch.randint(
                    high=n, size=(32,), dtype=torch.int64, generator=generator
                ).tolist()
            yield from torch.randint(
                high=n, size=(total % 32,), dtype=torch.int64, generator=generator
            ).tolist()
        else:
            for _ in range(total // n):
                yield from torch.randperm(n, generator=generator).tolist()
            # drawn even where nothing of it is used
            yield from torch.randperm(n, generator=generator).tolist()[: total % n]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given indices in random order.

    Args:
        indices: the indices, each of which comes once in a pass.
        generator: what the order is drawn from; by default the default generator.

    Example:
        >>> import jtorch as torch
        >>> sorted(torch.utils.data.SubsetRandomSampler([4, 7]))
        [4, 7]
    """

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: torch.Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for i in torch.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with probabilities proportional to ``weights``.

    Args:
        weights: a weight for each index, not negative; their sum need not be 1.
        num_samples: how many indices one pass has.
        replacement: whether an index may come several times; if not, each pass has different ones.
        generator: what the numbers are drawn from; by default the default generator.

    Raises:
        ValueError: for weights of more than one dimension, ``num_samples`` that is no positive
            integer, ``replacement`` that is no bool.

    Example:
        >>> import jtorch as torch
        >>> list(torch.utils.data.WeightedRandomSampler([0.0, 1.0, 0.0], 2))
        [1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float] | torch.Tensor | np.ndarray,
        num_samples: int,
        replacement: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples={num_samples}"
            )
        if not isinstance(replacement, bool):
            raise ValueError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        table = torch.as_tensor(weights, dtype=torch.double)
        if len(table.shape) != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(table.shape)}"
            )
        self.weights = table
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        yield from torch.multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        ).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of the indices of another sampler.

    Args:
        sampler: what gives the indices, one at a time.
        batch_size: how many indices a list has.
        drop_last: whether a last list that is shorter is left out.

    Raises:
        ValueError: if ``batch_size`` is no positive integer, or ``drop_last`` no bool.

    Example:
        >>> import jtorch as torch
        >>> list(torch.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool
    ) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        size: Any = len(self.sampler)  # type: ignore[arg-type]
        return (
            size // self.batch_size
            if self.drop_last
            else (size + self.batch_size - 1) // self.batch_size
        )
