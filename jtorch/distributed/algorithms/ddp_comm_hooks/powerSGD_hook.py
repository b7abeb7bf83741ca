"""PowerSGD: gradients travel as products of two narrow matrices (Vogels et al., 2019), and what
that loses is added to the next ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import jtorch as torch

from . import default_hooks

if TYPE_CHECKING:
    pass


__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


class PowerSGDState:
    """What the hook is told, and what it keeps from step to step.

    Args:
        process_group: the processes; all if it is None.
        matrix_approximation_rank: how many columns the narrow matrices have.
        start_powerSGD_iter: how many steps gradients are averaged as they are.
        min_compression_rate: how much smaller matrices must become.
        use_error_feedback: add what was lost to the next gradients.
        warm_start: begin with the last step's matrices.
        orthogonalization_epsilon: what is added to norms that are divided by; 0 for a QR
            decomposition.
        random_seed: of the first matrices, the same in all processes.
        compression_stats_logging_frequency: of no effect.
        batch_tensors_with_same_shape: of no effect on results.

    Raises:
        ValueError: if compression begins in the first step although something is kept.
    """

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is "
                "enabled, because PowerSGD can only be applied after the first two iterations in "
                "DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank, self.start_powerSGD_iter = (
            matrix_approximation_rank,
            start_powerSGD_iter,
        )
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.compression_stats_logging_frequency = compression_stats_logging_frequency
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.rng = np.random.RandomState(random_seed)
        #: By bucket: what was lost, and the narrow matrices.
        self.error_dict: dict[int, torch.Tensor] = {}
        self.q_memory_dict: dict[int, list[torch.Tensor]] = {}
        self.iter = 0
        #: How many numbers there were, and how many were sent for them.
        self.total_numel_before_compression = self.total_numel_after_compression = 0

    def compression_stats(self) -> tuple[float, int, int]:
        """How many times fewer numbers were sent than there were, how many there were, and how many
        were sent."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return before / after if after else 0, before, after

    def maybe_increase_iter(self, bucket: Any) -> None:
        """Counts a step, at its last bucket."""
        if bucket.is_last():
            self.iter += 1

    def _shrinks(self, n: int, m: int, rank: int) -> bool:
        return (n + m) * rank * self.min_compression_rate < n * m


def _orthogonal(matrix: torch.Tensor, epsilon: float) -> torch.Tensor:
    """The columns, made orthonormal."""
    if epsilon == 0:
        if matrix.dtype.itemsize < 4:  # which is not decomposed
            return torch.linalg.qr(matrix.float())[0].to(matrix.dtype)
        return torch.linalg.qr(matrix)[0]
    columns: list[torch.Tensor] = []
    for i in range(matrix.shape[1]):
        column = matrix[:, i]
        for done in columns:
            column = column - (done * column).sum() * done
        columns.append(column / (column.norm() + epsilon))
    return torch.stack(columns, 1)


def _alike(matrices: list[torch.Tensor]) -> list[list[torch.Tensor]]:
    """The matrices of each shape, in the order in which shapes come first: that in which PyTorch
    draws numbers for them."""
    found: dict[Any, list[torch.Tensor]] = {}
    for matrix in matrices:
        found.setdefault(matrix.shape, []).append(matrix)
    return list(found.values())


def _random(same: list[torch.Tensor], rank: int) -> tuple[torch.Tensor, ...]:
    """A narrow matrix to begin with for each matrix of one shape."""
    rows, columns = same[0].shape
    return torch.randn(len(same), columns, min(rows, columns, rank), dtype=same[0].dtype).unbind(0)


def _summed(tensors: list[torch.Tensor], group: object) -> list[torch.Tensor]:
    """Tensors summed over the processes, all at once."""
    if not tensors:
        return []
    flat = torch.cat([t.reshape(-1) for t in tensors])
    torch.distributed.all_reduce(flat, group=group)
    parts = flat.split([t.numel() for t in tensors])
    return [part.view(t.shape) for part, t in zip(parts, tensors, strict=True)]


def powerSGD_hook(state: PowerSGDState, bucket: Any) -> Any:
    """The mean over the processes, of matrices that are large enough by an approximation of low
    rank."""
    group = torch.distributed.distributed_c10d.world(state.process_group)
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return default_hooks.allreduce_hook(group, bucket)
    world, index, buffer = group.size(), bucket.index(), bucket.buffer()
    if state.use_error_feedback and index in state.error_dict:
        buffer.add_(state.error_dict[index])
    before = buffer.clone() if state.use_error_feedback else None
    matrices, others = [], []
    for gradient in bucket.gradients():
        matrix = gradient.view(gradient.shape[0], -1) if gradient.ndim else gradient.view(1, 1)
        rank = min(*matrix.shape, state.matrix_approximation_rank)
        shrinks = state._shrinks(matrix.shape[0], matrix.shape[1], rank)
        (matrices if shrinks else others).append(matrix)
        state.total_numel_before_compression += matrix.numel()
        state.total_numel_after_compression += (
            sum(matrix.shape) * rank if shrinks else matrix.numel()
        )
    alike = _alike(matrices)
    matrices = [matrix for same in alike for matrix in same]
    qs = state.q_memory_dict.get(index) if state.warm_start else None
    if qs is None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(state.rng.randint(1_000_000_000)))
            drawn = alike if state.batch_tensors_with_same_shape else [[m] for m in matrices]
            qs = [q for same in drawn for q in _random(same, state.matrix_approximation_rank)]
    qs = [_orthogonal(q, state.orthogonalization_epsilon) for q in qs]
    for matrix, total in zip(others, _summed(others, group), strict=True):
        matrix.copy_(total / world)
    products = [m @ q for m, q in zip(matrices, qs, strict=True)]
    ps = [_orthogonal(p, state.orthogonalization_epsilon) for p in _summed(products, group)]
    qs = [q / world for q in _summed([m.t() @ p for m, p in zip(matrices, ps, strict=True)], group)]
    for matrix, p, q in zip(matrices, ps, qs, strict=True):
        matrix.copy_(p @ q.t())
    state.q_memory_dict[index] = qs
    if state.use_error_feedback:
        state.error_dict[index] = before - buffer
    state.maybe_increase_iter(bucket)
    future = torch.futures.Future()
    future.set_result(buffer)
    return future


def batched_powerSGD_hook(state: PowerSGDState, bucket: Any) -> Any:
    """The mean over the processes of a bucket that counts as one square matrix, by an approximation
    of low rank."""
    group = torch.distributed.distributed_c10d.world(state.process_group)
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return default_hooks.allreduce_hook(group, bucket)
    index, buffer = bucket.index(), bucket.buffer()
    n = buffer.numel()
    side = math.ceil(math.sqrt(n))
    state.total_numel_before_compression += n
    state.total_numel_after_compression += side * state.matrix_approximation_rank * 2
    flat = torch.cat([buffer, torch.zeros(side * side - n, dtype=buffer.dtype)])
    if state.use_error_feedback and index in state.error_dict:
        flat = flat + state.error_dict[index]
    matrix = flat.view(side, side)
    kept = state.q_memory_dict.get(index) if state.warm_start else None
    if kept is None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(state.rng.randint(1_000_000_000)))
            kept = [torch.randn(side, state.matrix_approximation_rank, dtype=buffer.dtype)]
    q = _orthogonal(kept[0], 0)
    p = _orthogonal(_summed([matrix @ q], group)[0], 0)
    q = _summed([matrix.t() @ p], group)[0] / group.size()
    found = p @ q.t()
    state.q_memory_dict[index] = [q]
    if state.use_error_feedback:
        state.error_dict[index] = flat - found.view(-1)
    buffer.copy_(found.view(-1)[:n])
    state.maybe_increase_iter(bucket)
    future = torch.futures.Future()
    future.set_result(buffer)
    return future
