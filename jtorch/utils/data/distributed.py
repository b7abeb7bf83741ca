"""The sampler that gives each process of a job its own part of a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized

import jtorch as torch

from .sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """Every ``num_replicas``-th index from ``rank`` on, of an order that all processes shuffle alike by ``seed + epoch``.

    The number of indices is made divisible by repeating some, or by leaving some out with ``drop_last``.
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if (num_replicas is None or rank is None) and not torch.distributed.is_available():
            raise RuntimeError("Requires distributed package to be available")
        replicas: int = torch.distributed.get_world_size() if num_replicas is None else num_replicas
        own: int = torch.distributed.get_rank() if rank is None else rank
        if own >= replicas or own < 0:
            raise ValueError(f"Invalid rank {own}, rank should be in the interval [0, {replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = replicas
        self.rank = own
        self.epoch = 0
        self.drop_last = drop_last
        size = len(dataset)
        spare = replicas if drop_last and size % replicas != 0 else 0
        self.num_samples = math.ceil((size - spare) / replicas)
        self.total_size = self.num_samples * replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        size = len(self.dataset)
        if self.shuffle:
            generator = torch.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = torch.randperm(size, generator=generator).tolist()
        else:
            indices = list(range(size))
        missing = self.total_size - size
        if missing > 0:
            indices += (indices * math.ceil(missing / size))[:missing]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch that the order depends on; call it before each pass."""
        self.epoch = epoch
