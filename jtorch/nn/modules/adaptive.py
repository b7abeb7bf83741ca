"""The adaptive softmax for many classes of very different frequency."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from itertools import pairwise

import jtorch as torch
from jtorch import Tensor

from ...types import Device, _dtype
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log softmax in two steps: a head for the most frequent classes and one entry per cluster, and
    a small tail per cluster.

    Args:
        in_features: features of the input.
        n_classes: the number of classes.
        cutoffs: the classes at which clusters begin, from the frequent to the rare.
        div_value: by what the features of each cluster are fewer than those of the one before.
        head_bias: whether the frequent classes have a bias.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.

    Shapes: ``input (N, in_features)``, ``target (N)`` (classes sorted by frequency) ->
    ``output (N)``, the log probability of the target, and ``loss``, minus its mean. Source: Grave
    et al. (2016).
    """

    in_features: int
    n_classes: int
    cutoffs: list[int]
    div_value: float
    head_bias: bool
    head: Linear
    tail: ModuleList

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Device = None,
        dtype: _dtype | None = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if len(cutoffs) == 0:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(set(cutoffs))
            or cutoffs[0] <= 0
            or cutoffs[-1] > n_classes - 1
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
                "order, where each value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, device=device, dtype=dtype)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            hidden = int(in_features // (div_value ** (i + 1)))
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, bias=False, device=device, dtype=dtype),
                    Linear(hidden, high - low, bias=False, device=device, dtype=dtype),
                )
            )

    def reset_parameters(self) -> None:
        """Draws all weights anew."""
        self.head.reset_parameters()
        for to_hidden, to_output in map(list, self.tail):  # type: ignore[arg-type]
            to_hidden.reset_parameters()
            to_output.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """``(N, in_features)`` and ``(N)``, or ``(in_features)`` and ``()`` -> (output, loss)."""
        self._check(input_, target_)
        batched = target_.dim() > 0
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        used_rows = 0
        output = input.new_zeros(target.size(0))
        # the entry of the head: a frequent class, or the target's cluster
        in_head = target.new_zeros(target.size(0))
        for i, (low, high) in enumerate(pairwise([0, *self.cutoffs])):
            mask = (target >= low) & (target < high)
            rows = mask.nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            if i == 0:
                in_head.index_copy_(0, rows, target[mask])
            else:
                log_prob = F.log_softmax(self.tail[i - 1](input.index_select(0, rows)), dim=1)
                in_head.index_fill_(0, rows, self.shortlist_size + i - 1)
                output.index_copy_(
                    0, rows, log_prob.gather(1, (target[mask] - low).unsqueeze(1)).squeeze(1)
                )
            used_rows += rows.numel()
        if used_rows != target.size(0):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        head_log_prob = F.log_softmax(self.head(input), dim=1)
        output = output + head_log_prob.gather(1, in_head.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    @staticmethod
    def _check(input: Tensor, target: Tensor) -> None:
        if target.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target.dim() == 1 and input.size(0) != target.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input.dim() != target.dim() + 1:
            raise RuntimeError(
                f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but "
                f"found inputs with size {input.size()}"
            )

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        """The log probabilities of all classes, given what the head computed."""
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            parts.append(
                F.log_softmax(tail(input), dim=1) + head[:, self.shortlist_size + i].unsqueeze(1)
            )
        return torch.cat(parts, dim=1)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log probabilities of all classes. Shapes: ``(N, in_features)`` ->
        ``(N, n_classes)``."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row; tails are computed only where the head points to
        one. Shapes: -> ``(N)``."""
        head_output = self.head(input)
        output = torch.argmax(head_output, dim=1)
        rare = output >= self.shortlist_size
        if not rare.any():
            return output
        if rare.all():
            return torch.argmax(self._get_full_log_prob(input, head_output), dim=1)
        output[rare] = torch.argmax(self._get_full_log_prob(input[rare], head_output[rare]), dim=1)
        return output
