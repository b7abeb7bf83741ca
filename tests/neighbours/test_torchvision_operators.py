"""torchvision's operators on arrays, against the plainest reading of what they compute; entered
under ``torch.ops.torchvision``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.neighbours import torchvision as _torchvision
from jtorch._src.neighbours.torchvision import boxes, regions


@pytest.fixture(autouse=True)
def _operators() -> None:
    _torchvision.define()


def roi_align(*given: Any) -> jax.Array:
    """The kernel as one program, instead of one for each of its operations."""
    return jax.jit(lambda maps, rois: regions.roi_align(maps, rois, *given[2:]))(*given[:2])


def bilinear(image: np.ndarray, y: float, x: float) -> float:
    height, width = image.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    a, b = y - top, x - left
    upper = image[top, left] * (1 - b) + image[top, right] * b
    return upper * (1 - a) + (image[bottom, left] * (1 - b) + image[bottom, right] * b) * a


def aligned_cell(
    image: np.ndarray,
    box: np.ndarray,
    cells: tuple[int, int],
    cell: tuple[int, int],
    ratio: int,
    shift: float,
) -> float:
    x1, y1, x2, y2 = box - shift
    tall, wide = y2 - y1, x2 - x1
    if shift == 0:
        tall, wide = max(tall, 1), max(wide, 1)
    step = tall / cells[0], wide / cells[1]
    many = [ratio if ratio > 0 else math.ceil(s) for s in step]
    samples = [
        bilinear(
            image,
            y1 + (cell[0] + (i + 0.5) / many[0]) * step[0],
            x1 + (cell[1] + (j + 0.5) / many[1]) * step[1],
        )
        for i in range(many[0])
        for j in range(many[1])
    ]
    return sum(samples) / max(len(samples), 1)


ROIS = np.array(
    [
        [0, 1.2, 0.5, 6.3, 5.1],
        [1, -2.0, 2.0, 3.0, 11.0],
        [0, 4.0, 4.0, 4.5, 4.2],
        [1, 6.5, 5.0, 20.0, 9.0],
    ]
)


@pytest.fixture
def maps() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(2, 8, 7, 8))


@pytest.mark.parametrize("ratio", [2, 3, -1])
@pytest.mark.parametrize("aligned", [False, True])
def test_roi_align(maps: np.ndarray, ratio: int, aligned: bool) -> None:
    got = np.asarray(
        roi_align(torch.tensor(maps).jax(), torch.tensor(ROIS).jax(), 0.75, 2, 3, ratio, aligned)
    )
    assert got.shape == (4, 8, 2, 3)
    for k, roi in enumerate(ROIS):
        for c in (0, 5):
            for p in range(2):
                for q in range(3):
                    cell = aligned_cell(
                        maps[int(roi[0]), c],
                        roi[1:] * 0.75,
                        (2, 3),
                        (p, q),
                        ratio,
                        0.5 if aligned else 0.0,
                    )
                    np.testing.assert_allclose(got[k, c, p, q], cell, atol=1e-12)


def test_chunks_give_the_same(maps: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    operands = torch.tensor(maps).jax(), torch.tensor(np.tile(ROIS, (3, 1))).jax()
    whole = [roi_align(*operands, 1.0, 2, 2, ratio, True) for ratio in (2, 0)]
    monkeypatch.setattr(regions, "_CHUNK", 1000)
    for ratio, expected in zip((2, 0), whole, strict=True):
        np.testing.assert_allclose(
            roi_align(*operands, 1.0, 2, 2, ratio, True), expected, atol=1e-12
        )


@pytest.mark.parametrize("ratio", [2, 0])
def test_ps_roi_align(maps: np.ndarray, ratio: int) -> None:
    out, mapping = torch.ops.torchvision.ps_roi_align(
        torch.tensor(maps), torch.tensor(ROIS[:2]), 0.75, 2, 2, ratio
    )
    assert mapping.dtype == torch.int32 and out.shape == (2, 2, 2, 2)
    for k, roi in enumerate(ROIS[:2]):
        for c, p, q in np.ndindex(2, 2, 2):
            channel = (c * 2 + p) * 2 + q
            assert mapping[k, c, p, q] == channel
            cell = aligned_cell(
                maps[int(roi[0]), channel], roi[1:] * 0.75, (2, 2), (p, q), ratio, 0.5
            )
            np.testing.assert_allclose(out[k, c, p, q].item(), cell, atol=1e-12)


def away(x: float) -> int:
    return int(math.copysign(math.floor(abs(x) + 0.5), x))


def cells_of(
    roi: np.ndarray, more: int, number: int, last: tuple[int, int]
) -> Iterator[tuple[tuple[int, int], slice, slice]]:
    x1, y1, x2, y2 = (away(v) for v in roi[1:])
    tall, wide = max(y2 - y1 + more, 1), max(x2 - x1 + more, 1)

    def bound(start: int, length: int, i: int, end: int) -> slice:
        clip = (
            max(v, 0)
            for v in (
                math.floor(i * length / number) + start,
                math.ceil((i + 1) * length / number) + start,
            )
        )
        return slice(*(min(v, end) for v in clip))

    for p in range(number):
        for q in range(number):
            yield (p, q), bound(y1, tall, p, last[0]), bound(x1, wide, q, last[1])


def test_roi_pool(maps: np.ndarray) -> None:
    out, place = torch.ops.torchvision.roi_pool(torch.tensor(maps), torch.tensor(ROIS), 1.0, 2, 2)
    assert place.dtype == torch.int32
    empty = 0
    for k, roi in enumerate(ROIS):
        for (p, q), rows, columns in cells_of(roi, 1, 2, (7, 8)):
            part = maps[int(roi[0]), 3][rows, columns]
            empty += not part.size
            assert out[k, 3, p, q].item() == (part.max() if part.size else 0)
            at = place[k, 3, p, q].item()
            assert at == -1 if not part.size else maps[int(roi[0]), 3].reshape(-1)[at] == part.max()
    assert empty


def test_ps_roi_pool(maps: np.ndarray) -> None:
    out, _ = torch.ops.torchvision.ps_roi_pool(torch.tensor(maps), torch.tensor(ROIS), 1.0, 2, 2)
    for k, roi in enumerate(ROIS):
        for (p, q), rows, columns in cells_of(roi, 0, 2, (6, 7)):  # without the last row and column
            part = maps[int(roi[0]), 4 + p * 2 + q][rows, columns]
            np.testing.assert_allclose(
                out[k, 1, p, q].item(), part.mean() if part.size else 0, atol=1e-12
            )


POOLS: dict[str, Callable[..., Any]] = {
    "roi_align": lambda x, r: torch.ops.torchvision.roi_align(x, r, 0.75, 2, 2, 2, True),
    "roi_align, as many samples as fit": lambda x, r: torch.ops.torchvision.roi_align(
        x, r, 0.75, 2, 2, -1, False
    ),
    "roi_pool": lambda x, r: torch.ops.torchvision.roi_pool(x, r, 1.0, 2, 2)[0],
    "ps_roi_align": lambda x, r: torch.ops.torchvision.ps_roi_align(x, r, 0.75, 2, 2, 2)[0],
}


@pytest.mark.parametrize("pool", POOLS.values(), ids=POOLS)
def test_derivatives_with_respect_to_the_map(maps: np.ndarray, pool: Callable[..., Any]) -> None:
    x = torch.tensor(maps[:, :4, :4, :4], requires_grad=True)
    rois = torch.tensor(np.array([[0, 0.3, 0.4, 2.9, 3.1], [1, 1.0, -1.0, 3.0, 2.0]]))
    assert torch.autograd.gradcheck(lambda x: pool(x, rois), (x,))


def test_the_operators_of_derivatives(maps: np.ndarray) -> None:
    ops, x, rois = torch.ops.torchvision, torch.tensor(maps, requires_grad=True), torch.tensor(ROIS)
    pooled, place = ops.roi_pool(x, rois, 1.0, 2, 2)
    g = torch.rand_like(pooled)
    (expected,) = torch.autograd.grad(pooled, x, g)
    assert torch.allclose(ops._roi_pool_backward(g, rois, place, 1.0, 2, 2, *maps.shape), expected)
    out = ops.roi_align(x, rois, 0.5, 2, 2, 2, False)
    (expected,) = torch.autograd.grad(out, x, g)
    assert torch.allclose(
        ops._roi_align_backward(g, rois, 0.5, 2, 2, *maps.shape, 2, False), expected
    )


def plain_deformed(
    x: np.ndarray,
    w: np.ndarray,
    offset: np.ndarray,
    mask: np.ndarray,
    out: tuple[int, int],
    groups: int,
) -> np.ndarray:
    """Stride (2, 1), padding (1, 2), dilation (1, 2); one group of offsets for each half of the
    channels."""
    batch, channels, height, width = x.shape
    filters, per, kh, kw = w.shape
    result = np.zeros((batch, filters, *out))

    def read(image: np.ndarray, y: float, x: float) -> float:
        total = 0.0
        for row in (math.floor(y), math.floor(y) + 1):
            for column in (math.floor(x), math.floor(x) + 1):
                if 0 <= row < height and 0 <= column < width:
                    total += image[row, column] * (1 - abs(y - row)) * (1 - abs(x - column))
        return total

    for n, o, i, j in np.ndindex(batch, filters, *out):
        for c in range(per):
            channel = o // (filters // groups) * per + c
            half = channel // (channels // 2)
            for a, b in np.ndindex(kh, kw):
                tap = half * kh * kw + a * kw + b
                y = i * 2 - 1 + a + offset[n, 2 * tap, i, j]
                at = j - 2 + 2 * b + offset[n, 2 * tap + 1, i, j]
                result[n, o, i, j] += (
                    w[o, c, a, b] * mask[n, tap, i, j] * read(x[n, channel], y, at)
                )
    return result


def test_deformable_convolution() -> None:
    rng = np.random.default_rng(3)
    x, w, bias = rng.normal(size=(2, 4, 5, 6)), rng.normal(size=(6, 2, 2, 3)), rng.normal(size=6)
    out = (5 + 2 - 2) // 2 + 1, (6 + 4 - 5) + 1
    offset, mask = rng.normal(size=(2, 2 * 2 * 6, *out)) * 2, rng.random((2, 2 * 6, *out))
    operands = [torch.tensor(t, requires_grad=True) for t in (x, w, offset, mask, bias)]

    def run(*t: Any) -> Any:
        return torch.ops.torchvision.deform_conv2d(*t, 2, 1, 1, 2, 1, 2, 2, 2, True)

    expected = plain_deformed(x, w, offset, mask, out, 2) + bias[:, None, None]
    np.testing.assert_allclose(run(*operands).detach().numpy(), expected, atol=1e-10)
    gradients = torch.autograd.grad(run(*operands).square().sum(), operands)
    again = torch.ops.torchvision._deform_conv2d_backward(
        2 * run(*operands), *operands, 2, 1, 1, 2, 1, 2, 2, 2, True
    )
    for one, other, t in zip(gradients, again, operands, strict=True):
        assert one.shape == t.shape and torch.allclose(one, other)
    with pytest.raises(RuntimeError, match=r"offset\.shape is not valid"):
        run(*operands[:2], operands[2][:, :2], *operands[3:])


def test_nms() -> None:
    rng = np.random.default_rng(1)
    corners = rng.random((60, 2)) * 10
    dets = np.concatenate([corners, corners + rng.random((60, 2)) * 5], 1)
    scores = rng.random(60).round(1)  # with equal ones, of which the first wins

    def overlap(a: np.ndarray, b: np.ndarray) -> float:
        w, h = (max(min(a[i + 2], b[i + 2]) - max(a[i], b[i]), 0) for i in (0, 1))
        return w * h / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - w * h)

    kept: list[int] = []
    for i in sorted(range(60), key=lambda i: -scores[i]):
        if all(overlap(dets[i], dets[j]) <= 0.3 for j in kept):
            kept.append(i)
    got = torch.ops.torchvision.nms(torch.tensor(dets), torch.tensor(scores), 0.3)
    assert got.dtype == torch.int64 and got.tolist() == kept and 1 < len(kept) < 60
    with pytest.raises(RuntimeError, match="boxes should have 4 elements in dimension 1, got 3"):
        torch.ops.torchvision.nms(torch.ones(2, 3), torch.ones(2), 0.5)
    assert torch.ops.torchvision.nms(torch.ones(0, 4), torch.ones(0), 0.5).shape == (0,)


def test_rotated_boxes() -> None:
    box_iou_rotated = jax.jit(boxes.box_iou_rotated)
    one = torch.tensor([[0.0, 0, 2, 2, 0], [0, 0, 2, 2, 45], [5, 5, 4, 2, 90]], dtype=torch.float64)
    got = np.asarray(box_iou_rotated(one.jax(), one.jax()))
    octagon = 8 * (math.sqrt(2) - 1)
    expected = np.eye(3)
    expected[0, 1] = expected[1, 0] = octagon / (8 - octagon)
    np.testing.assert_allclose(got, expected, atol=1e-9)
    upright = torch.tensor([[5.0, 5, 2, 4, 0]], dtype=torch.float64)
    np.testing.assert_allclose(box_iou_rotated(one[2:].jax(), upright.jax()), [[1.0]], atol=1e-9)
    beside = torch.tensor([[5.0, 6, 2, 4, 0]], dtype=torch.float64)
    np.testing.assert_allclose(box_iou_rotated(one[2:].jax(), beside.jax()), [[6 / 10]], atol=1e-9)


def test_what_is_not_there() -> None:
    with pytest.raises(NotImplementedError, match="qnms is not offered"):
        torch.ops.torchvision.qnms(torch.ones(1, 4), torch.ones(1), 0.5)
    assert torch.ops.torchvision._cuda_version() == -1
    with pytest.raises(RuntimeError, match=r"rois must have shape as Tensor\[K, 5\]"):
        torch.ops.torchvision.roi_align(
            torch.ones(1, 1, 2, 2), torch.ones(1, 4), 1.0, 1, 1, 1, False
        )
