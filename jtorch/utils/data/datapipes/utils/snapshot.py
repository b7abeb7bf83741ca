"""Restoring where a pipe stood, by going through it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...graph_settings import apply_random_seed
from .._hook_iterator import _SnapshotState
from ..datapipe import IterDataPipe

if TYPE_CHECKING:
    from .....random import Generator


def _simple_graph_snapshot_restoration(
    datapipe: IterDataPipe, n_iterations: int, rng: Generator | None = None
) -> None:
    """Goes on by ``n_iterations`` samples, so that the pipe's next iterator begins there.

    Raises:
        RuntimeError: if the pipe was restored already and not gone through since, or has fewer
            samples.
    """
    if datapipe._snapshot_state == _SnapshotState.Restored:
        raise RuntimeError(
            "Snapshot restoration cannot be applied. You can only restore simple snapshot to the "
            "graph if your graph has not been restored."
        )
    # of one that counts as restored it only changes the state; `iter` below resets it then
    datapipe.reset()
    apply_random_seed(datapipe, rng)
    ahead = iter(datapipe)
    for _ in range(n_iterations):
        try:
            next(ahead)
        except StopIteration as error:
            raise RuntimeError(
                f"Fast-forward {datapipe} by {n_iterations} iterations exceeds the number of "
                "samples available."
            ) from error
    datapipe._fast_forward_iterator = ahead
    datapipe._snapshot_state = _SnapshotState.Restored
