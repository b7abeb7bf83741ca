"""``NestedTensor`` and what makes it from its parts, under the names that programs import and that
files hold."""

from __future__ import annotations

from typing import Any

from ...core import Tensor
from ...wrappers.nested.constructing import nested_tensor_from_jagged
from ...wrappers.nested.ragged import Cut, pack
from ...wrappers.nested.ragged import NestedInt as NestedInt
from ...wrappers.nested.tensor import NestedTensor as NestedTensor
from ...wrappers.nested.tensor import _rebuild_njt as _rebuild_njt
from ...wrappers.nested.tensor import build

#: PyTorch's symbolic lengths by offsets: lengths are part of the tensors here, so it stays empty.
_tensor_symint_registry: dict[object, object] = {}


def nested_view_from_values_offsets(
    values: Tensor,
    offsets: Tensor | None,
    ragged_idx: int = 1,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> object:
    """A jagged view of packed values; see ``nested_tensor_from_jagged``."""
    return nested_view_from_values_offsets_lengths(
        values, offsets, None, ragged_idx, min_seqlen, max_seqlen
    )


def nested_view_from_values_offsets_lengths(
    values: Tensor,
    offsets: Tensor | None,
    lengths: Tensor | None,
    ragged_idx: int = 1,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> object:
    """A jagged view of packed values with holes; see ``nested_tensor_from_jagged``."""
    return nested_tensor_from_jagged(values, offsets, lengths, ragged_idx, min_seqlen, max_seqlen)


def nested_from_padded(
    padded: Tensor,
    offsets: Tensor,
    ragged_idx: int = 1,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
    sum_S: Any = None,
) -> object:
    """A jagged tensor of the items in a padded dense one, cut to the lengths that ``offsets``
    tells."""
    cut = Cut(offsets)
    cut.ragged.know(min_seqlen, max_seqlen)
    front = padded if ragged_idx == 1 else padded.movedim(ragged_idx, 1)
    rows = pack(front, cut, int(offsets[-1]) if sum_S is None else sum_S)
    return build(rows if ragged_idx == 1 else rows.movedim(0, ragged_idx - 1), cut, ragged_idx)
