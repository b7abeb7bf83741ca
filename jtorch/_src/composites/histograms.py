"""Histograms in the forms that have a name each, of one dimension and of several."""

from __future__ import annotations

from typing import Any

from ...core import Tensor
from ...return_types import make
from ..bind.cores import composite
from ..bind.everything import _C
from ..ops._facts import schemas
from .reductions import invalid_combination


@composite(method=True, operands=("input", "bins", "weight", "out"))
@schemas(
    ".bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor "
    "hist, Tensor bin_edges) ; =bins_tensor_out:hist,bin_edges",
    ".bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool "
    "density=False) -> (Tensor hist, Tensor bin_edges) ; =bin_ct_out:hist,bin_edges",
)
def histogram(
    input: Tensor,
    bins: Any = 100,
    *,
    range: Any = None,
    weight: Tensor | None = None,
    density: bool = False,
    out: Any = None,
) -> Any:
    """Counts of elements in bins, and the bins' edges: ``bins`` of equal width over ``range``, or
    between given edges.

    With ``weight`` the sums of weights; ``density`` divides by the total and the widths. The last
    bin holds its right edge too.

    Shapes: any -> counts (n) and edges (n + 1); ``weight`` has the input's shape.

    Dtypes: float32 and float64; counts and edges have the input's.

    Raises:
        RuntimeError: if there is no bin, the range is empty or not finite, edges are no vector, or
            the weight's shape or dtype differs.

    Example:
        >>> import jtorch as torch
        >>> counts, edges = torch.histogram(torch.tensor([1.0, 2.0, 2.5]), bins=2, range=(0.0, 4.0))
        >>> counts, edges
        (tensor([1., 2.]), tensor([0., 2., 4.]))
    """
    if isinstance(bins, Tensor):
        if range is not None:
            raise invalid_combination("histogram", "both edges and range")
        return _C._histogram_edges(input, bins, weight, density, out=out)
    return _C._histogram_count(
        input, bins, None if range is None else tuple(range), weight, density, out=out
    )


@composite(operands=("input", "weight"), lists=("bins",), native=False, dispatched="in parts")
@schemas(
    "(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, bool density=False) -> "
    "(Tensor hist, Tensor[] bin_edges)",
    ".int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None, bool "
    "density=False) -> (Tensor hist, Tensor[] bin_edges)",
    ".TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None, Tensor? weight=None, bool "
    "density=False) -> (Tensor hist, Tensor[] bin_edges)",
)
def histogramdd(
    input: Tensor, bins: Any, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    """Counts of points in a grid of bins, and the bins' edges in each dimension.

    Shapes: input (*A, d) -> (n_1, ..., n_d); weight (*A). ``bins`` is one number, or d numbers, or
    d vectors of edges.

    Dtypes: float32 and float64; counts and edges have the input's.

    Raises:
        RuntimeError: if bins, range or weight do not fit.

    Example:
        >>> import jtorch as torch
        >>> points = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        >>> torch.histogramdd(points, bins=[2, 2], range=[0.0, 1.0, 0.0, 1.0]).hist
        tensor([[0., 1.],
                [1., 1.]])
    """
    if isinstance(bins, int):
        bins = (bins,) * (input.shape[-1] if input.ndim else 1)
    bins = tuple(bins)
    if any(isinstance(b, Tensor) for b in bins):
        if range is not None:
            raise invalid_combination("histogramdd", "both edges and range")
        hist = _C._histogramdd_edges(input, list(bins), weight, density)
        return _HISTOGRAMDD((hist, bins))
    hist, *edges = _C._histogramdd_count(
        input, bins, None if range is None else tuple(range), weight, density
    )
    return _HISTOGRAMDD((hist, tuple(edges)))


_HISTOGRAMDD = make("histogramdd", ("hist", "bin_edges"))
