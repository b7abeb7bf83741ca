"""Sums and maxima over paths through grids of probabilities, on NumPy's arrays: the loss of
transducers, and alignment by CTC."""

from __future__ import annotations

import numpy as np


def transducer(
    logits: np.ndarray,
    targets: np.ndarray,
    frames: np.ndarray,
    labels: np.ndarray,
    blank: int,
    clamp: float,
    fused: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """The losses of an RNN transducer, and their derivatives with respect to ``logits``, computed
    in float64.

    Shapes:
        logits (B, T, U + 1, D); targets (B, U); frames (B,), labels (B,): the lengths.
        The results are (B,) and as ``logits``.
    """
    if logits.ndim != 4 or targets.ndim != 2:
        raise RuntimeError(
            f"logits must be 4-D and targets 2-D, got {logits.ndim}-D and {targets.ndim}-D"
        )
    if logits.shape[2] != targets.shape[1] + 1:
        raise RuntimeError(
            f"logits must have one place more than targets: {logits.shape[2]} for "
            f"{targets.shape[1]}"
        )
    blank = blank % logits.shape[3]
    costs, slopes = np.zeros(len(logits)), np.zeros(logits.shape)
    for i, (length, count) in enumerate(zip(frames.tolist(), labels.tolist(), strict=True)):
        grid = logits[i, :length, : count + 1].astype(np.float64)
        if fused:
            grid = grid - np.logaddexp.reduce(grid, axis=-1, keepdims=True)
        costs[i], slopes[i, :length, : count + 1] = _transducer(
            grid, targets[i, :count], blank, fused
        )
    return costs, slopes.clip(-clamp, clamp) if clamp > 0 else slopes


def _transducer(
    grid: np.ndarray, targets: np.ndarray, blank: int, fused: bool
) -> tuple[float, np.ndarray]:
    """The same of one sequence, of log-probabilities (T, U + 1, D)."""
    length, places, _ = grid.shape
    stay = grid[:, :, blank]
    step = np.full((length, places), -np.inf)
    label = np.arange(places - 1)
    step[:, :-1] = grid[:, label, targets]
    first, last = np.full((length, places), -np.inf), np.full((length + 1, places + 1), -np.inf)
    first[0, 0], last[length, places - 1] = 0.0, 0.0
    for diagonal in range(1, length + places - 1):
        u = np.arange(max(0, diagonal - length + 1), min(places, diagonal + 1))
        t = diagonal - u
        by_frame = np.where(t > 0, first[t - 1, u] + stay[t - 1, u], -np.inf)
        by_label = np.where(u > 0, first[t, u - 1] + step[t, u - 1], -np.inf)
        first[t, u] = np.logaddexp(by_frame, by_label)
    for diagonal in range(length + places - 2, -1, -1):
        u = np.arange(max(0, diagonal - length + 1), min(places, diagonal + 1))
        t = diagonal - u
        last[t, u] = np.logaddexp(last[t + 1, u] + stay[t, u], last[t, u + 1] + step[t, u])
    total = last[0, 0]
    slopes = np.zeros_like(grid)
    slopes[:, :, blank] = -np.exp(first + stay + last[1:, :-1] - total)
    slopes[:, label, targets] -= np.exp(first + step + last[:-1, 1:] - total)[:, :-1]
    if fused:
        slopes -= np.exp(grid) * slopes.sum(-1, keepdims=True)
    return -total, slopes


def alignment(
    log_probs: np.ndarray, targets: np.ndarray, frames: np.ndarray, labels: np.ndarray, blank: int
) -> np.ndarray:
    """The label of each frame on the likeliest path of CTC that gives ``targets``.

    Shapes:
        log_probs (1, T, C); targets (1, L); frames (1,), labels (1,): the lengths.
        The result is (1, T), of the dtype of ``targets``.
    """
    if log_probs.ndim != 3 or targets.ndim != 2:
        raise RuntimeError(
            f"log_probs must be 3-D and targets 2-D, got {log_probs.ndim}-D and {targets.ndim}-D"
        )
    if len(log_probs) != 1 or len(targets) != 1:
        raise RuntimeError("The batch dimension for log_probs must be 1 at the current version")
    if log_probs.dtype.kind != "f" or targets.dtype.kind != "i":
        raise RuntimeError("log_probs must be of a floating dtype, and targets int32 or int64")
    length, count = int(frames[0]), int(labels[0])
    if length != log_probs.shape[1] or count != targets.shape[1]:
        raise RuntimeError("input length and target length must be those of log_probs and targets")
    label = targets[0]
    repeats = int((label[1:] == label[:-1]).sum())
    if length < count + repeats:
        raise RuntimeError(
            f"targets length is too long for CTC. Found log_probs length: {length}, targets "
            f"length: {count}, and number of repeats: {repeats}"
        )
    states = np.full(2 * count + 1, blank, targets.dtype)
    states[1::2] = label
    skips = np.zeros(len(states), bool)
    skips[3::2] = label[1:] != label[:-1]
    scores = log_probs[0][:, states]
    best, back = (
        np.full(len(states), -np.inf, log_probs.dtype),
        np.zeros((length, len(states)), np.int64),
    )
    best[:2] = scores[0, :2]
    for t in range(1, length):
        ways = np.full((3, len(states)), -np.inf, log_probs.dtype)
        ways[0], ways[1, 1:], ways[2, 2:] = best, best[:-1], best[:-2]
        ways[2, ~skips] = -np.inf
        back[t] = ways.argmax(0)
        best = ways.max(0) + scores[t]
    state = len(states) - 1 if count == 0 or best[-1] > best[-2] else len(states) - 2
    path = np.empty((1, length), targets.dtype)
    for t in range(length - 1, -1, -1):
        path[0, t] = states[state]
        state -= back[t, state]
    return path
