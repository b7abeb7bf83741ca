"""The sampler that gives each process of a job its own part of a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized

import jtorch as torch

from .sampler import Sampler, _T_co

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[_T_co]):
    """The part of the indices that one process of several goes through: every ``num_replicas``-th
    one from ``rank`` on.

    The number of indices is made divisible by repeating some, or by leaving some out with
    ``drop_last``. Call ``set_epoch`` before each pass, else every pass has the same order.

    Args:
        dataset: the dataset; only its length counts.
        num_replicas: how many processes there are; by default those of the default process group.
        rank: the number of this process; by default that in the default process group.
        shuffle: whether the order is random, the same one in all processes.
        seed: what the order is drawn with, added to the number of the epoch. It must be the same in
            all processes.
        drop_last: whether indices are left out, instead of repeated, so that all processes have as
            many.

    Raises:
        ValueError: if ``rank`` is not below ``num_replicas``.

    Example:
        >>> import jtorch as torch
        >>> list(
        ...     torch.utils.data.DistributedSampler("abcde", num_replicas=2, rank=1, shuffle=False)
        ... )
        [1, 3, 0]
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
            raise ValueError(
                f"Invalid rank {own}, rank should be in the interval [0, {replicas - 1}]"
            )
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
