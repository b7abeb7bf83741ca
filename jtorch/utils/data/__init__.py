"""Datasets, samplers and loaders."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from jtorch._src.refusals import stand_ins as _refusals

from .dataloader import DataLoader as DataLoader
from .dataloader import _DatasetKind as _DatasetKind
from .dataloader import default_collate as default_collate
from .dataloader import default_convert as default_convert
from .dataloader import get_worker_info as get_worker_info
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

if TYPE_CHECKING:
    from .datapipes._decorator import argument_validation as argument_validation
    from .datapipes._decorator import functional_datapipe as functional_datapipe
    from .datapipes._decorator import (
        guaranteed_datapipes_determinism as guaranteed_datapipes_determinism,
    )
    from .datapipes._decorator import non_deterministic as non_deterministic
    from .datapipes._decorator import runtime_validation as runtime_validation
    from .datapipes._decorator import runtime_validation_disabled as runtime_validation_disabled
    from .datapipes.datapipe import DataChunk as DataChunk
    from .datapipes.datapipe import DFIterDataPipe as DFIterDataPipe
    from .datapipes.datapipe import IterDataPipe as IterDataPipe
    from .datapipes.datapipe import MapDataPipe as MapDataPipe

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
    "argument_validation",
    "default_collate",
    "default_convert",
    "functional_datapipe",
    "get_worker_info",
    "guaranteed_datapipes_determinism",
    "non_deterministic",
    "random_split",
    "runtime_validation",
    "runtime_validation_disabled",
]

#: Loaded when first asked for: most programs have no pipes.
_PIPES = {
    "datapipes.datapipe": ("DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"),
    "datapipes._decorator": (
        "argument_validation",
        "functional_datapipe",
        "guaranteed_datapipes_determinism",
        "non_deterministic",
        "runtime_validation",
        "runtime_validation_disabled",
    ),
}

_missing = _refusals.missing(__name__)


def __getattr__(name: str) -> Any:
    for module, names in _PIPES.items():
        if name in names:
            found = globals()[name] = getattr(importlib.import_module(f"{__name__}.{module}"), name)
            return found
    return _missing(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *(name for names in _PIPES.values() for name in names)})
