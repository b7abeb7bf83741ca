"""A worker's setup that is no longer needed: loaders shard pipes over their workers by
themselves."""

from __future__ import annotations

import warnings


def worker_init_fn(worker_id: int) -> None:
    """Does nothing but warn."""
    del worker_id
    warnings.warn(
        "Usage of `backward_compatibility.worker_init_fn` is deprecated as `DataLoader` "
        "automatically applies sharding in every worker",
        FutureWarning,
        stacklevel=2,
    )
