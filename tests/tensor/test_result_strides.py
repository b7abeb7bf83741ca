"""Strides of results, where a program can see them. Expected ones are what PyTorch 2.13 gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import jtorch as torch
import jtorch.nn.functional as F

SQUARE = torch.tensor([[4.0, 1.0, 0.0], [1.0, 5.0, 2.0], [0.0, 2.0, 6.0]])
BATCH = SQUARE.expand(2, 3, 3)
TALL = torch.arange(12.0).reshape(4, 3) ** 2
TURNED = torch.arange(24.0).reshape(4, 3, 2).permute(2, 1, 0)  # (2, 3, 4), strides (1, 2, 6)

CASES: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "inverse": (lambda: torch.linalg.inv(BATCH), (9, 1, 3)),
    "cholesky": (lambda: torch.linalg.cholesky(SQUARE), (1, 3)),
    "solution": (lambda: torch.linalg.solve(SQUARE, TALL.mT), (1, 3)),
    "solution from the right": (lambda: torch.linalg.solve(SQUARE, TALL, left=False), (3, 1)),
    "solutions for vectors": (lambda: torch.linalg.solve(BATCH, torch.ones(2, 3)), (1, 2)),
    "triangular solution": (
        lambda: torch.linalg.solve_triangular(SQUARE.triu(), TALL.mT, upper=True),
        (1, 3),
    ),
    "Q": (lambda: torch.linalg.qr(TALL).Q, (1, 4)),
    "R": (lambda: torch.linalg.qr(TALL).R, (1, 3)),
    "LU": (lambda: torch.linalg.lu_factor(BATCH).LU, (9, 1, 3)),
    "pivots": (lambda: torch.linalg.lu_factor(BATCH).pivots, (3, 1)),
    "U of svd": (lambda: torch.linalg.svd(TALL, full_matrices=False).U, (1, 4)),
    "Vh of svd": (lambda: torch.linalg.svd(TALL, full_matrices=False).Vh, (1, 3)),
    "V of the older svd": (lambda: torch.svd(TALL).V, (3, 1)),
    "eigenvectors": (lambda: torch.linalg.eigh(SQUARE).eigenvectors, (1, 3)),
    "LDL": (lambda: torch.linalg.ldl_factor(SQUARE).LD, (1, 3)),
    "result in an empty tensor": (lambda: torch.linalg.inv(SQUARE, out=torch.empty(0)), (1, 3)),
    "flip": (lambda: TURNED.flip(0), (1, 2, 6)),
    "sort": (lambda: TURNED.sort(0).values, (1, 2, 6)),
    "places of sort": (lambda: TURNED.sort(0).indices, (1, 2, 6)),
    "differences": (lambda: TURNED.diff(dim=0), (1, 1, 3)),
    "dropout": (lambda: F.dropout(TURNED), (1, 2, 6)),
    "turn": (lambda: torch.rot90(torch.ones(2, 3, 4)), (4, 12, 1)),
    "turn by half": (lambda: torch.rot90(TURNED, 2), (1, 2, 6)),
    "positions": (lambda: torch.nonzero(torch.ones(2, 3)), (1, 6)),
    "written positions": (
        lambda: TURNED.index_put((torch.tensor([0]),), torch.tensor(1.0)),
        (1, 2, 6),
    ),
    "fft of an inner dimension": (lambda: torch.fft.fft(torch.ones(2, 3, 4), dim=1), (12, 1, 3)),
    "fft of turned": (lambda: torch.fft.fft(TURNED), (4, 8, 1)),
    "fft of several dimensions": (
        lambda: torch.fft.rfftn(torch.ones(4, 3, 2), dim=(0, 1)),
        (2, 1, 8),
    ),
    "fft to real numbers": (
        lambda: torch.fft.irfft2(torch.ones(4, 3, 2, dtype=torch.complex64), dim=(0, 1)),
        (4, 1, 16),
    ),
    "fft of padded": (
        lambda: torch.fft.ihfft(torch.ones(4, 3, 2).permute(2, 1, 0), 4, 1),
        (12, 1, 3),
    ),
    "stft": (
        lambda: torch.stft(torch.ones(40), 8, window=torch.ones(8), return_complex=True),
        (1, 5),
    ),
    "filter with channels inside": (
        lambda: F.conv1d(torch.ones(2, 3, 6), torch.ones(4, 2, 3).mT),
        (20, 1, 4),
    ),
    "signals with channels inside": (
        lambda: F.conv1d(torch.ones(2, 6, 3).mT, torch.ones(4, 3, 2)),
        (20, 5, 1),
    ),
    "pooled signals": (lambda: F.avg_pool1d(torch.ones(2, 6, 3).mT, 2), (9, 1, 3)),
    "pooled signals and places": (
        lambda: F.max_pool1d(torch.ones(2, 6, 3).mT, 2, return_indices=True)[1],
        (9, 1, 3),
    ),
    "resized signals": (lambda: F.interpolate(torch.ones(2, 6, 3).mT, 3, mode="area"), (9, 1, 3)),
    "a number expanded": (lambda: torch.tensor(1.0).expand(1, 1), (0, 0)),
    "log multigamma": (lambda: torch.mvlgamma(TURNED + 3, 2), (12, 4, 1)),
}


@pytest.mark.parametrize("name", CASES)
def test_strides(name: str) -> None:
    make, strides = CASES[name]
    assert make().stride() == strides


def test_values_are_where_strides_say() -> None:
    found = torch.linalg.inv(SQUARE)
    assert not found.is_contiguous() and found.mT.is_contiguous()
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        found.view(9)
    assert found.numpy().strides == (4, 12)
    assert torch.allclose(found @ SQUARE, torch.eye(3), atol=1e-6)
    assert (
        found.flatten().tolist()
        == found.contiguous().view(9).tolist()
        == [x for row in found.tolist() for x in row]
    )
    found.mT[0, 1] = 7
    assert found[1, 0].item() == 7


def test_formats_of_dimensions_of_size_one() -> None:
    assert torch.ones(2, 1, 4, 5).is_contiguous(memory_format=torch.channels_last)
    assert torch.ones(2, 3, 1, 1).is_contiguous(memory_format=torch.channels_last)
    assert not torch.ones(2, 3, 4).is_contiguous(memory_format=torch.channels_last)
    assert not torch.empty(1, 1, 0, 0).is_contiguous(memory_format=torch.channels_last)


def test_a_tensor_that_suggests_a_format_is_not_copied_to_it() -> None:
    x = torch.ones(2, 3).mT
    assert x.to(memory_format=torch.contiguous_format) is x
    image = torch.ones(1, 2, 3, 4).contiguous(memory_format=torch.channels_last)
    assert image.to(memory_format=torch.contiguous_format).stride() == (24, 12, 4, 1)


def test_a_copied_view_has_any_shape() -> None:
    assert torch.view_copy(TURNED, (24,)).tolist() == TURNED.flatten().tolist()


def test_elements_with_gaps_are_copied_by_ravel() -> None:
    x = torch.zeros(6)
    x[::2].ravel().fill_(1)
    assert x.sum().item() == 0


@pytest.mark.parametrize("shape", [(8, 1, 3, 3), (16, 16, 1, 1), (4, 8, 3, 3)])
def test_conversions_to_a_memory_format_order_dimensions_of_one_element_too(
    shape: tuple[int, ...],
) -> None:
    x = torch.ones(shape, dtype=torch.float64)
    last = torch.empty(shape, memory_format=torch.channels_last).stride()
    y = x.to(torch.float32, memory_format=torch.channels_last)
    assert y.stride() == last and x.float(memory_format=torch.channels_last).stride() == last
    assert y.to(torch.float64, memory_format=torch.contiguous_format).stride() == x.stride()


def test_strides_of_transforms_are_those_of_each_call() -> None:
    x = torch.ones(2, 3, 4)
    for _ in range(2):  # the second time from what is remembered
        assert torch.fft.fft(x, dim=1).stride() == torch.fft.fft(x, None, 1).stride() == (12, 1, 3)
        assert torch.fft.fft(x, dim=2).stride() == (12, 4, 1)
        assert (
            torch.fft.fft(TURNED).stride()
            == torch.fft.fft(TURNED, torch.tensor(4)).stride()
            == (4, 8, 1)
        )
        assert (
            torch.fft.fftn(TURNED, dim=[0, 2]).stride()
            == torch.fft.fftn(TURNED, dim=(0, 2)).stride()
        )


def test_contiguous_copies_have_their_own_strides_and_histories() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    y = x.t().contiguous()
    assert y.stride() == (2, 1) and y.is_contiguous() and y.grad_fn is not None
    (y * torch.arange(6.0).reshape(3, 2)).sum().backward()
    assert x.grad.tolist() == [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]
