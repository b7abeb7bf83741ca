"""Datasets, samplers and loaders."""

from __future__ import annotations

from jtorch import _refusals

from .dataloader import DataLoader as DataLoader
from .dataloader import _DatasetKind as _DatasetKind
from .dataloader import default_collate as default_collate
from .dataloader import default_convert as default_convert
from .dataloader import get_worker_info as get_worker_info
from .datapipe import DataChunk as DataChunk
from .datapipe import DFIterDataPipe as DFIterDataPipe
from .datapipe import IterDataPipe as IterDataPipe
from .datapipe import MapDataPipe as MapDataPipe
from .datapipe import functional_datapipe as functional_datapipe
from .dataset import ChainDataset as ChainDataset
from .dataset import ConcatDataset as ConcatDataset
from .dataset import Dataset as Dataset
from .dataset import IterableDataset as IterableDataset
from .dataset import StackDataset as StackDataset
from .dataset import Subset as Subset
from .dataset import TensorDataset as TensorDataset
from .dataset import random_split as random_split
from .distributed import DistributedSampler as DistributedSampler
from .sampler import BatchSampler as BatchSampler
from .sampler import RandomSampler as RandomSampler
from .sampler import Sampler as Sampler
from .sampler import SequentialSampler as SequentialSampler
from .sampler import SubsetRandomSampler as SubsetRandomSampler
from .sampler import WeightedRandomSampler as WeightedRandomSampler

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DFIterDataPipe",
    "DataChunk",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterDataPipe",
    "IterableDataset",
    "MapDataPipe",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "_DatasetKind",
    "default_collate",
    "default_convert",
    "functional_datapipe",
    "get_worker_info",
    "random_split",
]

__getattr__ = _refusals.missing(__name__)
