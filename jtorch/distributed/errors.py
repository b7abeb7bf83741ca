"""What goes wrong between processes."""

from __future__ import annotations


class DistError(RuntimeError):
    """Something went wrong in a process group."""


class DistBackendError(DistError):
    """The backend failed."""


class DistNetworkError(DistError):
    """The network failed."""


class DistStoreError(DistError):
    """The store failed."""


class QueueEmptyError(DistStoreError):
    """A queue of a store holds nothing, and nothing is awaited."""


for _error in (DistError, DistBackendError, DistNetworkError, DistStoreError, QueueEmptyError):
    _error.__module__ = "torch.distributed"  # programs compare and print this name
