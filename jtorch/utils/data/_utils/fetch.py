"""Fetchers: from indices to collated batches, for both kinds of datasets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

import jtorch as torch

from ..dataset import Subset, TensorDataset
from . import collate

if TYPE_CHECKING:
    from ...._src.facts.kinds import Tree


class _BaseDatasetFetcher:
    def __init__(
        self,
        dataset: Subset | TensorDataset,
        auto_collation: bool,
        collate_fn: Callable[..., object],
        drop_last: bool,
    ) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def fetch(self, possibly_batched_index: object) -> Any:
        """The collated batch (or the single sample, without automatic collation) for what the
        sampler gave."""
        raise NotImplementedError


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    def __init__(
        self, dataset: Any, auto_collation: bool, collate_fn: Callable[..., object], drop_last: bool
    ) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter = iter(dataset)
        self.ended = False

    def fetch(self, possibly_batched_index: list[object]) -> Any:
        """The next batch; StopIteration when the stream has ended."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        data = []
        for _ in possibly_batched_index:
            try:
                data.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True
                break
        if len(data) == 0 or (self.drop_last and len(data) < len(possibly_batched_index)):
            raise StopIteration
        return self.collate_fn(data)


class _MapDatasetFetcher(_BaseDatasetFetcher):
    def __init__(
        self,
        dataset: Subset | TensorDataset,
        auto_collation: bool,
        collate_fn: Callable[..., object],
        drop_last: bool,
    ) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.by_rows = (
            auto_collation and collate_fn is collate.default_collate and _holds_rows(dataset)
        )

    def fetch(self, possibly_batched_index: list[int]) -> Any:
        """The batch of the items at the given indices."""
        if not self.auto_collation:
            return self.collate_fn(self.dataset[possibly_batched_index])
        if self.by_rows:
            batch = _rows(self.dataset, possibly_batched_index)
            if batch is not None:
                return batch
        many = getattr(self.dataset, "__getitems__", None)
        if many:
            return self.collate_fn(many(possibly_batched_index))
        return self.collate_fn([self.dataset[i] for i in possibly_batched_index])


def _holds_rows(dataset: object) -> bool:
    """Whether the items are rows of plain tensors, so that a batch is one indexing instead of one
    for each sample."""
    if type(dataset) is Subset:
        return _holds_rows(dataset.dataset)
    return (
        type(dataset) is TensorDataset
        and len(dataset) > 0
        and all(type(t) is torch.Tensor for t in dataset.tensors)
    )


def _rows(dataset: Subset | TensorDataset, indices: list[int]) -> list[torch.Tensor] | None:
    """What ``default_collate`` would make of the items; None for indices that must take the
    ordinary way (and raise its errors)."""
    if not all(type(i) is int for i in indices):
        return None
    while type(dataset) is Subset:
        own = dataset.indices
        try:
            indices = [own[i] for i in indices]
        except IndexError:
            return None
        dataset = dataset.dataset
        if not all(type(i) is int for i in indices):
            return None
    n = len(dataset)
    if not all(-n <= i < n for i in indices):
        return None
    at = np.asarray(indices, np.int64)
    return [_take(t, at) for t in dataset.tensors]


def _take(tensor: torch.Tensor, at: np.ndarray) -> torch.Tensor:
    if tensor.requires_grad or tensor.device.type != "cpu":
        return tensor[torch.from_numpy(at).to(tensor.device)]
    # Read where the data lies: NumPy's memory, if the tensor was made on it and the program still
    # holds the array, must not be copied as a whole for each batch.
    alias = tensor._al
    hosted = alias is not None and alias.storage.lent() is not None
    found = (tensor.numpy() if hosted else np.asarray(tensor.jax()))[at]
    return torch.from_jax(jax.device_put(found, jax.local_devices(backend="cpu")[0]))


class _DatasetKind:
    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(
        kind: int,
        dataset: Tree,
        auto_collation: bool,
        collate_fn: Callable[..., object],
        drop_last: bool,
    ) -> _BaseDatasetFetcher:
        cls = _MapDatasetFetcher if kind == _DatasetKind.Map else _IterableDatasetFetcher
        return cls(dataset, auto_collation, collate_fn, drop_last)


_DatasetKind.__module__ = "jtorch.utils.data.dataloader"  # where PyTorch has it
