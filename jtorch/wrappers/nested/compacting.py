"""Jagged tensors without holes: the rows that belong to items, gathered."""

from __future__ import annotations

import jtorch as torch

from .ragged import Cut
from .tensor import NestedTensor, build


def compact(nt: NestedTensor) -> NestedTensor:
    """``nt`` itself if there are no holes between its items, else a copy without them, of a new
    structure."""
    cut = nt._cut
    if cut.lengths is None:
        return nt
    at = cut.offsets.device
    with torch.no_grad():
        ends = torch.nn.functional.pad(cut.counts().cumsum(0), (1, 0))
        places = torch.arange(int(ends[-1]), device=at)
        rows = torch.searchsorted(ends[1:].contiguous(), places, right=True)
        index = cut.offsets[rows] + places - ends[rows]
    return build(
        nt._values.index_select(nt._ragged_idx - 1, index), Cut(ends), nt._ragged_idx, type(nt)
    )
