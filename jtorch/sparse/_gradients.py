"""Sparse gradients: only the rows of a table that were looked up, only the elements that were
gathered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jtorch

from .._src.bind.everything import _C, PUBLIC
from ..autograd.function import Function
from ..autograd.grad_mode import unrecorded
from ..autograd.items import _item, _tensor
from ..autograd.tape import FREED, Node
from ..core import from_value
from ._tensor import coo

if TYPE_CHECKING:
    from .._src.facts.kinds import Values
    from ..autograd.function_node import FunctionCtx


# to a type checker, the Tensor of the stubs is another class than that of the core
torch: Any = jtorch


class Embedding(Function):
    """Rows of a table, whose gradient names the rows that were used, each as often as it was."""

    @staticmethod
    def forward(
        ctx: Any,
        weight: jtorch.Tensor,
        indices: object,
        padding_idx: int,
        scale_grad_by_freq: bool,
    ) -> jtorch.Tensor:
        """``weight[indices]``."""
        ctx.save_for_backward(indices)
        ctx.size, ctx.padding_idx, ctx.by_freq = (
            tuple(weight.shape),
            padding_idx,
            scale_grad_by_freq,
        )
        return PUBLIC["embedding"](weight, indices, padding_idx, False)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: jtorch.Tensor) -> tuple[jtorch.Tensor | None, ...]:
        """A COO gradient of the table."""
        (indices,) = ctx.saved_tensors
        _unscaled(ctx.by_freq)
        return (
            _rows(
                indices.reshape(-1),
                grad.reshape(indices.numel(), ctx.size[1]),
                ctx.size,
                ctx.padding_idx,
            ),
            None,
            None,
            None,
        )


def _unscaled(by_freq: bool) -> None:
    if by_freq:
        raise RuntimeError(
            "embedding_backward: scale_grad_by_freq not supported with sparse gradients"
        )


def _rows(
    indices: jtorch.Tensor, values: jtorch.Tensor, size: tuple[int, ...], padding_idx: int
) -> jtorch.Tensor:
    if padding_idx >= 0:
        kept = torch.nonzero(indices != padding_idx).squeeze(1)
        indices, values = indices.index_select(0, kept), values.index_select(0, kept)
    return coo(indices.to(torch.int64).unsqueeze(0), values, size)


class EmbeddingBag(Function):
    """Sums or means of rows in bags, whose gradient names the rows that were used."""

    @staticmethod
    def forward(
        ctx: Any,
        weight: object,
        indices: object,
        offsets: object,
        per_sample_weights: object,
        scale_grad_by_freq: bool,
        mode: str,
        last: bool,
        padding_idx: int,
    ) -> jtorch.Tensor:
        """What ``embedding_bag`` gives."""
        ctx.save_for_backward(weight, indices, offsets, per_sample_weights)
        ctx.options = (scale_grad_by_freq, mode, last, padding_idx)
        return _C._embedding_bag(
            weight,
            indices,
            offsets,
            scale_grad_by_freq,
            mode,
            per_sample_weights,
            last,
            padding_idx,
        )

    @staticmethod
    def backward(ctx: FunctionCtx, grad: jtorch.Tensor) -> tuple[jtorch.Tensor | None, ...]:
        """A COO gradient of the table, and a dense one of the weights."""
        weight, indices, offsets, samples = ctx.saved_tensors
        by_freq, mode, last, padding_idx = ctx.options
        _unscaled(by_freq)
        n, count = indices.shape[0], offsets.shape[0] - int(last)
        to_samples = None
        size = tuple(weight.shape)
        if n == 0 or count == 0:
            values = weight.new_zeros((0, size[1]))
            return (
                coo(indices.new_zeros((1, 0), dtype=torch.int64), values, size),
                None,
                None,
                samples,
                None,
                None,
                None,
                None,
            )
        bags = (
            torch.searchsorted(
                offsets[:count].contiguous(), torch.arange(n, dtype=offsets.dtype), right=True
            )
            - 1
        )
        rows = grad.index_select(0, bags)
        used = indices != padding_idx
        if mode == "mean":
            sizes = (
                torch.zeros(count, dtype=torch.int64)
                .index_add(0, bags, used.to(torch.int64))
                .clamp(min=1)
            )
            rows = rows / sizes.index_select(0, bags).to(rows.dtype).unsqueeze(1)
        if samples is not None:
            if ctx.needs_input_grad[3]:
                to_samples = (rows * weight.index_select(0, indices)).sum(1)
                to_samples = torch.where(used, to_samples, torch.zeros((), dtype=to_samples.dtype))
            rows = rows * samples.unsqueeze(1)
        return (
            _rows(indices, rows, size, padding_idx),
            None,
            None,
            to_samples,
            None,
            None,
            None,
            None,
        )


class Gather(Node):
    """The node of ``gather`` with ``sparse_grad``, whose gradient names the elements that were
    taken, each as often as it was."""

    __slots__ = ()

    def apply(self, grads: Sequence[object]) -> Values:
        """A COO gradient of the input."""
        with unrecorded():
            return [_item(self._gradient(from_value(grads[0])), False), None]

    def apply_tracked(self, grads: Sequence[object]) -> list[object]:
        """The same, with the history of its values."""
        return [_item(self._gradient(_tensor(grads[0], True)), True), None]

    def _gradient(self, grad: jtorch.Tensor) -> jtorch.Tensor:
        if self.saved is None:
            raise RuntimeError(FREED)
        size, taken = self.avals[0].shape, self.avals[1].shape or (1,)
        # no dimension to look at, or nothing to look for: no index is kept
        if not size or 0 in taken:
            return coo(
                torch.zeros((len(size), grad.numel()), dtype=torch.int64), grad.reshape(-1), size
            )
        index = from_value(self.kept_values()[0])
        at = list(torch.ones(taken, dtype=torch.bool).nonzero().t())
        at[self.call.extra.layout[1].value] = index.reshape(-1).to(torch.int64)
        return coo(torch.stack(at), grad.reshape(-1), size)


#: The nodes of operations with a flag that asks for a sparse gradient.
LAID = {"gather": Gather}
