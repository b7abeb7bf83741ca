"""Boxes on arrays: suppression of overlapping ones, and overlaps of rotated ones."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Array = Any


def nms(dets: np.ndarray, scores: np.ndarray, iou_threshold: float) -> np.ndarray:
    """The boxes that no box of a higher score overlaps by more than the threshold, by descending
    score.

    Shapes:
        dets (N, 4) as x1, y1, x2, y2; scores (N,); the result is int64.
    """
    if dets.ndim != 2:
        raise RuntimeError(f"boxes should be a 2d tensor, got {dets.ndim}D")
    if dets.shape[1] != 4:
        raise RuntimeError(f"boxes should have 4 elements in dimension 1, got {dets.shape[1]}")
    if scores.ndim != 1:
        raise RuntimeError(f"scores should be a 1d tensor, got {scores.ndim}D")
    if len(dets) != len(scores):
        raise RuntimeError(
            f"boxes and scores should have same number of elements in dimension 0, got {len(dets)} "
            f"and {len(scores)}"
        )
    if dets.dtype != scores.dtype:
        raise RuntimeError("dets should have the same type as scores")
    order = np.argsort(-scores, kind="stable")
    left, top, right, bottom = np.ascontiguousarray(dets[order].T)
    areas = (right - left) * (bottom - top)
    alive = np.ones(len(order), bool)
    kept = []
    for i in range(len(order)):
        if not alive[i]:
            continue
        kept.append(order[i])
        rest = slice(i + 1, None)
        width = np.maximum(np.minimum(right[i], right[rest]) - np.maximum(left[i], left[rest]), 0)
        height = np.maximum(np.minimum(bottom[i], bottom[rest]) - np.maximum(top[i], top[rest]), 0)
        common = width * height
        with np.errstate(invalid="ignore", divide="ignore"):  # boxes without area
            overlap = common / (areas[i] + areas[rest] - common)
        alive[rest] &= ~(overlap.astype(np.float64) > iou_threshold)
    return np.asarray(kept, np.int64)


def _outline(box: Array) -> Array:
    """The corners (4, 2) of a box ``cx, cy, w, h, degrees``."""
    angle = jnp.deg2rad(box[4])
    along = jnp.stack([jnp.cos(angle), -jnp.sin(angle)]) * box[2] / 2
    across = jnp.stack([jnp.sin(angle), jnp.cos(angle)]) * box[3] / 2
    return box[None, :2] + jnp.stack(
        [along + across, across - along, -along - across, along - across]
    )


def _cross(a: Array, b: Array) -> Array:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def _inside(points: Array, outline: Array) -> Array:
    """Whether points (N, 2) lie in a rectangle of either orientation."""
    edges = jnp.roll(outline, -1, 0) - outline
    sides = _cross(edges[None], points[:, None] - outline[None])
    eps = jnp.finfo(points.dtype).eps * 8 * jnp.abs(sides).max()
    return (sides >= -eps).all(-1) | (sides <= eps).all(-1)


def _common(one: Array, other: Array) -> Array:
    """The area that two boxes share: that of the hull of the corners within the other and of the
    crossings of edges."""
    middle = (one[:2] + other[:2]) / 2  # near the origin little is lost by cancellation
    first = _outline(one.at[:2].add(-middle))
    second = _outline(other.at[:2].add(-middle))
    along, across = jnp.roll(first, -1, 0) - first, jnp.roll(second, -1, 0) - second
    area = _cross(along[:, None], across[None])
    between = second[None] - first[:, None]
    safe = jnp.where(area == 0, 1, area)
    t, u = _cross(between, across[None]) / safe, _cross(between, along[:, None]) / safe
    meets = (area != 0) & (t >= 0) & (t <= 1) & (u >= 0) & (u <= 1)
    crossings = first[:, None] + t[..., None] * along[:, None]
    points = jnp.concatenate([first, second, crossings.reshape(-1, 2)])
    valid = jnp.concatenate([_inside(first, second), _inside(second, first), meets.reshape(-1)])
    count = valid.sum()
    centre = jnp.where(valid[:, None], points, 0).sum(0) / jnp.maximum(count, 1).astype(
        points.dtype
    )
    offsets = jnp.where(valid[:, None], points - centre[None], 0)
    order = jnp.argsort(jnp.where(valid, jnp.arctan2(offsets[:, 1], offsets[:, 0]), jnp.inf))
    ring = offsets[order]
    number = jnp.arange(len(points))
    following = ring[jnp.where(number + 1 < count, number + 1, 0)]
    total = jnp.where(number < count, _cross(ring, following), 0).sum() / 2
    return jnp.where(count > 2, jnp.abs(total), 0)


def box_iou_rotated(boxes1: Array, boxes2: Array) -> Array:
    """Shared area over joint area: boxes1 (N, 5), boxes2 (M, 5) as ``cx, cy, w, h, degrees`` -> (N,
    M)."""
    common = jax.vmap(lambda a: jax.vmap(lambda b: _common(a, b))(boxes2))(boxes1)
    areas = boxes1[:, 2, None] * boxes1[:, 3, None], boxes2[None, :, 2] * boxes2[None, :, 3]
    return jnp.where(
        (areas[0] < 1e-14) | (areas[1] < 1e-14), 0, common / (areas[0] + areas[1] - common)
    ).astype(boxes1.dtype)
