"""Batches of sequences of different lengths: padded and packed forms."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import jtorch as torch
from jtorch import Tensor

from .. import functional as F

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pad_packed_sequence",
    "pad_sequence", "unpad_sequence", "pack_sequence", "unpack_sequence",
]  # fmt: skip


class PackedSequence_(NamedTuple):
    """The fields of a PackedSequence."""

    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


class PackedSequence(PackedSequence_):
    """Sequences of decreasing length, stored time step by time step: step t is the next
    ``batch_sizes[t]`` rows of ``data``.

    Made by ``pack_padded_sequence`` and ``pack_sequence``; recurrent modules take it and return it.
    ``sorted_indices`` is the order in which the batch was sorted, ``unsorted_indices`` its inverse;
    both None if it came sorted.
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        """Makes one of its fields, or of a pair of data and batch sizes."""
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
                "created manually. They should be instantiated by functions like pack_sequence and "
                "pack_padded_sequences in nn.utils.rnn. "
                "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with(self, data: Tensor, convert: Callable[[Tensor], Tensor]) -> PackedSequence:
        order = [
            None if t is None else convert(t) for t in (self.sorted_indices, self.unsorted_indices)
        ]
        return type(self)(data, self.batch_sizes, *order)

    def pin_memory(self) -> PackedSequence:
        """The same in pinned memory."""
        return self._with(self.data.pin_memory(), lambda t: t.pin_memory())

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """``data`` converted as by ``Tensor.to``; the object itself if there is nothing to do.
        ``batch_sizes`` stays on the CPU."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        return self._with(
            data, lambda t: t.to(data.device, non_blocking=kwargs.get("non_blocking", False))
        )

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Moved to a GPU."""
        if args or "device" in kwargs:
            return self.to(*args, **kwargs)
        return self.to(*args, **kwargs, device="cuda")

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Moved to the CPU."""
        return self.to(*args, **{**kwargs, "device": "cpu"})

    def double(self) -> PackedSequence:
        """Cast to float64."""
        return self.to(dtype=torch.double)

    def float(self) -> PackedSequence:
        """Cast to float32."""
        return self.to(dtype=torch.float)

    def half(self) -> PackedSequence:
        """Cast to float16."""
        return self.to(dtype=torch.half)

    def long(self) -> PackedSequence:
        """Cast to int64."""
        return self.to(dtype=torch.long)

    def int(self) -> PackedSequence:
        """Cast to int32."""
        return self.to(dtype=torch.int)

    def short(self) -> PackedSequence:
        """Cast to int16."""
        return self.to(dtype=torch.short)

    def char(self) -> PackedSequence:
        """Cast to int8."""
        return self.to(dtype=torch.int8)

    def byte(self) -> PackedSequence:
        """Cast to uint8."""
        return self.to(dtype=torch.uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether ``data`` is on a GPU."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether ``data`` is in pinned memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes ``permutation``; None for None."""
    return None if permutation is None else torch.argsort(permutation)


def _lengths(lengths: Tensor | list[int], batch: int, enforce_sorted: bool) -> list[int]:
    """``lengths`` as a list, checked."""
    found = lengths.tolist() if isinstance(lengths, Tensor) else [int(n) for n in lengths]
    if not isinstance(found, list):
        raise RuntimeError("`lengths` must be a 1-D tensor")
    if len(found) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(found)} "
            f"(batch_size={batch})"
        )
    if enforce_sorted and any(a < b for a, b in pairwise(found)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
            "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    if min(found, default=1) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    return found


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | list[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Packs a padded batch ``(T, B, *)`` (``(B, T, *)`` if ``batch_first``), whose sequences have
    ``lengths``.

    The lengths must decrease if ``enforce_sorted``; otherwise the batch is sorted and the order
    kept. Differentiable in ``input``.
    """
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    batch, steps = (input.size(0), input.size(1)) if batch_first else (input.size(1), input.size(0))
    sizes = _lengths(lengths, batch, enforce_sorted)
    order: list[int] | None = None
    if not enforce_sorted:
        order = sorted(range(batch), key=lambda b: -sizes[b])
    columns = range(batch) if order is None else order
    ordered = [sizes[b] for b in columns]
    if ordered[0] > steps:
        raise RuntimeError(
            f"Expected sequence length to be at most {steps}, the padded length, but got "
            f"{ordered[0]}"
        )
    batch_sizes = [sum(n > t for n in ordered) for t in range(ordered[0])]
    rows = [
        b * steps + t if batch_first else t * batch + b
        for t, n in enumerate(batch_sizes)
        for b in columns[:n]
    ]
    flat = input.reshape(batch * steps, *input.shape[2:])
    data = flat.index_select(0, torch.tensor(rows, dtype=torch.int64, device=input.device))
    indices = None if order is None else torch.tensor(order, dtype=torch.int64, device=input.device)
    return PackedSequence(data, torch.tensor(batch_sizes, dtype=torch.int64), indices, None)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The padded batch ``(T, B, *)`` (``(B, T, *)`` if ``batch_first``) of a packed one, in its
    original order, and the lengths."""
    batch_sizes = sequence.batch_sizes.tolist()
    steps = len(batch_sizes)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, "
                f"but got total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    data = sequence.data
    batch, padding = batch_sizes[0], data.size(0)
    columns = (
        list(range(batch))
        if sequence.unsorted_indices is None
        else sequence.unsorted_indices.tolist()
    )
    starts = [sum(batch_sizes[:t]) for t in range(len(batch_sizes))]

    def row(t: int, b: int) -> int:
        return starts[t] + b if t < len(batch_sizes) and b < batch_sizes[t] else padding

    in_order = sequence.unsorted_indices is None
    if batch_first and not in_order:
        rows, shape = [row(t, b) for b in columns for t in range(steps)], (batch, steps)
    else:
        rows, shape = [row(t, b) for t in range(steps) for b in columns], (steps, batch)
    if padding in rows:
        data = torch.cat([data, data.new_full((1, *data.shape[1:]), padding_value)])
    index = torch.tensor(rows, dtype=torch.int64, device=data.device)
    padded = data.index_select(0, index).reshape(*shape, *data.shape[1:])
    # a view, as in PyTorch: only what had to be put in order is laid out anew
    if batch_first and in_order:
        padded = padded.transpose(0, 1)
    return padded, torch.tensor(
        [sum(n > b for n in batch_sizes) for b in columns], dtype=torch.int64
    )


def pad_sequence(
    sequences: Tensor | Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Stacks tensors ``(L_i, *)`` to ``(max L, B, *)`` (``(B, max L, *)`` if ``batch_first``),
    padding the shorter ones.

    Args:
        sequences: tensors that differ in their first size.
        batch_first: put the batch before the sequence.
        padding_value: the number to pad with.
        padding_side: ``"right"``, or ``"left"``.
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    items = tuple(sequences)
    if not items:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    longest = max(item.size(0) for item in items)
    padded = []
    for item in items:
        missing = longest - item.size(0)
        ends = [missing, 0] if padding_side == "left" else [0, missing]
        padded.append(
            F.pad(item, [0, 0] * (item.dim() - 1) + ends, value=padding_value) if missing else item
        )
    return torch.stack(padded, 0 if batch_first else 1)._written(1 + len(items))


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The sequences of a padded batch, cut to their lengths."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [
        sequence[:length]
        for sequence, length in zip(padded_sequences, lengths.tolist(), strict=True)
    ]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs tensors ``(L_i, *)``, which must come by decreasing length if ``enforce_sorted``."""
    lengths = [sequence.size(0) for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed batch."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
