"""Losses. All take ``reduction``: "mean", "sum" or "none" (and the older ``size_average`` and
``reduce``, which warn)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jtorch import Tensor

from ...types import Device, _dtype
from .. import _reduction as _Reduction
from .. import functional as F
from .distance import PairwiseDistance
from .linear import Linear
from .module import Module

if TYPE_CHECKING:
    pass


__all__ = [
    "L1Loss", "NLLLoss", "NLLLoss2d", "PoissonNLLLoss", "GaussianNLLLoss", "KLDivLoss", "MSELoss",
    "BCELoss", "BCEWithLogitsLoss", "HingeEmbeddingLoss", "MultiLabelMarginLoss", "SmoothL1Loss",
    "HuberLoss", "SoftMarginLoss", "CrossEntropyLoss", "LinearCrossEntropyLoss",
    "MultiLabelSoftMarginLoss", "CosineEmbeddingLoss", "MarginRankingLoss", "MultiMarginLoss",
    "TripletMarginLoss", "TripletMarginWithDistanceLoss", "CTCLoss",
]  # fmt: skip


class _Loss(Module):
    reduction: str

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = _Reduction.legacy_get_string(size_average, reduce)
        self.reduction = reduction


class _WeightedLoss(_Loss):
    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    """``|input - target|``.

    Args:
        size_average, reduce: deprecated; ``reduction`` says it.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """``(*)`` and ``(*)`` -> ``()``."""
        return F.l1_loss(input, target, reduction=self.reduction)


class NLLLoss(_WeightedLoss):
    """``-weight[target] · input[target]`` for log probabilities ``input (N, C, *)`` and classes
    ``target (N, *)``.

    The mean is weighted; targets equal to ``ignore_index`` count nothing.

    Args:
        weight: a factor for each class.
        size_average, reduce: deprecated; ``reduction`` says it.
        ignore_index: targets of this class count for nothing.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
    """

    __constants__ = ["ignore_index", "reduction"]
    ignore_index: int

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """``(N, C, *)`` and ``(N, *)`` -> ``()``."""
        return F.nll_loss(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class NLLLoss2d(NLLLoss):
    """The deprecated name of ``NLLLoss``.

    Args:
        weight: a factor for each class.
        size_average, reduce: deprecated; ``reduction`` says it.
        ignore_index: targets of this class count for nothing.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        warnings.warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in "
            "replacement and see https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more "
            "details.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class PoissonNLLLoss(_Loss):
    """``exp(input) - target · input`` (without ``log_input``:
    ``input - target · log(input + eps)``); ``full`` adds Stirling's term.

    Args:
        log_input: whether the input is the logarithm of the rate.
        full: whether Stirling's term for large targets is added.
        size_average, reduce: deprecated; ``reduction`` says it.
        eps: added to the rate before its logarithm is taken.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
    """

    __constants__ = ["log_input", "full", "eps", "reduction"]

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        """``(*)`` and ``(*)`` -> ``()``."""
        return F.poisson_nll_loss(
            log_input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class GaussianNLLLoss(_Loss):
    """``½ (log max(var, eps) + (input - target)² / max(var, eps))``; ``full`` adds the constant.

    Args:
        full: whether the constant term is added.
        eps: the smallest variance.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
    """

    __constants__ = ["full", "eps", "reduction"]

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        """``(*)``, ``(*)`` and ``(*)`` or a number -> ``()``."""
        return F.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


class KLDivLoss(_Loss):
    """``target · (log(target) - input)`` for log probabilities ``input``; with ``log_target`` the
    target is a logarithm too.

    Args:
        size_average, reduce: deprecated; ``reduction`` says it.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
        log_target: whether the target is given as logarithms.
    """

    __constants__ = ["reduction"]

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """``(*)`` and ``(*)`` -> ``()``."""
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class MSELoss(_Loss):
    """``(input - target)²``.

    Args:
        size_average, reduce: deprecated; ``reduction`` says it.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """``(*)`` and ``(*)`` -> ``()``."""
        return F.mse_loss(input, target, reduction=self.reduction)


class BCELoss(_WeightedLoss):
    """``-weight · (target · log(input) + (1 - target) · log(1 -
    input))`` for probabilities ``input``.

    Args:
        weight: a factor for each element, of a shape that broadcasts with the input's.
        size_average, reduce: deprecated; ``reduction`` says it.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """``(*)`` and ``(*)`` -> ``()``."""
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """``BCELoss`` of ``sigmoid(input)``, stable; ``pos_weight`` weighs the positive terms.

    Args:
        weight: a factor for each element, of a shape that broadcasts with the input's.
        size_average, reduce: deprecated; ``reduction`` says it.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
        pos_weight: a factor for the positive part, one for each class.
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """``(*)`` and ``(*)`` -> ``()``."""
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class HingeEmbeddingLoss(_Loss):
    """``input`` where the target is 1, ``max(0, margin - input)`` where it is -1.

    Args:
        margin: how far those that shall differ must be apart.
        size_average, reduce: deprecated; ``reduction`` says it.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
    """

    __constants__ = ["margin", "reduction"]

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """``(*)`` and ``(*)`` -> ``()``."""
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """The hinge between each target class (``target`` lists them, up to a -1) and each other class.
    Shapes: ``(N, C)`` both.

    Args:
        size_average, reduce: deprecated; ``reduction`` says it.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """``(N, C)`` and ``(N, C)`` -> ``()``."""
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """``½ d² / beta`` where ``d = |input - target| < beta``, else ``d - ½ beta``.

    Args:
        size_average, reduce: deprecated; ``reduction`` says it.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
        beta: where the square becomes linear.
    """

    __constants__ = ["reduction"]

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """``(*)`` and ``(*)`` -> ``()``."""
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """``½ d²`` where ``d = |input - target| < delta``, else ``delta · (d - ½ delta)``.

    Args:
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
        delta: where the square becomes linear.
    """

    __constants__ = ["reduction", "delta"]

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """``(*)`` and ``(*)`` -> ``()``."""
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class SoftMarginLoss(_Loss):
    """``log(1 + exp(-target · input))``, targets 1 and -1.

    Args:
        size_average, reduce: deprecated; ``reduction`` says it.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """``(*)`` and ``(*)`` -> ``()``."""
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class CrossEntropyLoss(_WeightedLoss):
    """``NLLLoss`` of ``log_softmax(input)``; the target is classes ``(N, *)`` or probabilities
    ``(N, C, *)``.

    ``label_smoothing`` mixes the target with the uniform distribution.

    Args:
        weight: a factor for each class.
        size_average, reduce: deprecated; ``reduction`` says it.
        ignore_index: targets of this class count for nothing.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
        label_smoothing: how much of the target's probability goes to all classes alike, from 0
            to 1.
    """

    __constants__ = ["ignore_index", "reduction", "label_smoothing"]
    ignore_index: int
    label_smoothing: float

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """``(N, C, *)`` and ``(N, *)`` or ``(N, C, *)`` -> ``()``."""
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class LinearCrossEntropyLoss(_WeightedLoss):
    """``CrossEntropyLoss`` of a linear layer's output, whose logits need not be kept.

    Args:
        in_features: features of the input.
        num_classes: the number of classes.
        out_features: the sizes of the target's other dimensions.
        bias: whether a bias is added, and learnt.
        device: where parameters and buffers are made.
        dtype: the dtype of parameters and buffers.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
        weight: a factor for each class.
        ignore_index: targets of this class count for nothing.
        label_smoothing: how much of the target's probability goes to all classes alike, from 0
            to 1.
        options: how the logits are computed in parts.

    Shapes: ``input (N, in_features)``, ``target (N, *out_features)`` -> ``()``.
    """

    __constants__ = ["num_classes", "out_features", "reduction", "ignore_index", "label_smoothing"]
    num_classes: int
    out_features: tuple[int, ...]
    ignore_index: int | None
    label_smoothing: float

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Device = None,
        dtype: _dtype | None = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(
                f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}"
            )
        if label_smoothing < 0 or label_smoothing > 1.0:
            raise RuntimeError(
                f"expected label_smoothing to be in range [0, 1], got {label_smoothing}"
            )
        super().__init__(weight=weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.linear = Linear(
            in_features,
            math.prod(out_features, start=num_classes),
            bias=bias,
            device=device,
            dtype=dtype,
        )
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """``(N, in_features)`` and ``(N, *out_features)`` -> ``()``."""
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape((*shape, self.linear.in_features)),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        """The settings, for ``repr``."""
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over classes of the logistic loss. Shapes: ``input (N, C)``, ``target (N, C)`` of 0
    and 1.

    Args:
        weight: a factor for each class.
        size_average, reduce: deprecated; ``reduction`` says it.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
    """

    __constants__ = ["reduction"]

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """``(N, C)`` and ``(N, C)`` -> ``()``."""
        return F.multilabel_soft_margin_loss(
            input, target, weight=self.weight, reduction=self.reduction
        )


class CosineEmbeddingLoss(_Loss):
    """``1 - cos(input1, input2)`` where the target is 1, ``max(0, cos - margin)`` where it is -1.

    Args:
        margin: what the cosine of those that shall differ may be, from -1 to 1.
        size_average, reduce: deprecated; ``reduction`` says it.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
    """

    __constants__ = ["margin", "reduction"]

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """``(N, D)``, ``(N, D)`` and ``(N)`` -> ``()``."""
        return F.cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class MarginRankingLoss(_Loss):
    """``max(0, -target · (input1 - input2) + margin)``.

    Args:
        margin: by how much the one shall be greater than the other.
        size_average, reduce: deprecated; ``reduction`` says it.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
    """

    __constants__ = ["margin", "reduction"]

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """``(N)``, ``(N)`` and ``(N)`` -> ``()``."""
        return F.margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class MultiMarginLoss(_WeightedLoss):
    """``sum over i ≠ target of max(0, margin - input[target] + input[i])ᵖ / C``. Shapes: ``input
    (N, C)``, ``target (N)``.

    Args:
        p: 1 or 2, the power of the violations.
        margin: by how much the target's score shall be greater than the others.
        weight: a factor for each class.
        size_average, reduce: deprecated; ``reduction`` says it.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
    """

    __constants__ = ["p", "margin", "reduction"]

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.dim() != 1:
            raise ValueError(
                f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D "
                "instead"
            )
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """``(N, C)`` and ``(N)`` -> ``()``."""
        return F.multi_margin_loss(
            input,
            target,
            p=self.p,
            margin=self.margin,
            weight=self.weight,
            reduction=self.reduction,
        )


class TripletMarginLoss(_Loss):
    """``max(0, |anchor - positive|_p - |anchor - negative|_p + margin)``; ``swap`` takes the nearer
    of anchor and positive.

    Args:
        margin: by how much the negative shall be farther than the positive.
        p: the power of the distance.
        eps: added to differences, so that the distance can be differentiated.
        swap: whether the nearer of anchor and positive is compared with the negative.
        size_average, reduce: deprecated; ``reduction`` says it.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
    """

    __constants__ = ["margin", "p", "eps", "swap", "reduction"]

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(
                f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead"
            )
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """``(N, D)`` each -> ``()``."""
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    """``TripletMarginLoss`` with a distance function of one's own.

    Args:
        distance_function: gives the distances of two batches; the Euclidean one if None.
        margin: by how much the negative shall be farther than the positive.
        swap: whether the nearer of anchor and positive is compared with the negative.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
    """

    __constants__ = ["margin", "swap", "reduction"]

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(
                "TripletMarginWithDistanceLoss: expected margin to be greater than 0, got "
                f"{margin} instead"
            )
        self.distance_function = (
            distance_function if distance_function is not None else PairwiseDistance()
        )
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """``(N, *)`` each -> ``()``."""
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


class CTCLoss(_Loss):
    """Minus the log probability of all alignments of a target sequence with the input
    (connectionist temporal classification).

    Args:
        blank: the class that stands for no label.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``: what is made of the losses of the elements.
        zero_infinity: whether infinite losses, of targets that do not fit, and their gradients
            become zero.

    Shapes: ``log_probs (T, N, C)``, ``targets (N, S)`` or concatenated, ``input_lengths (N)``,
    ``target_lengths (N)``.
    """

    __constants__ = ["blank", "reduction"]

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor
    ) -> Tensor:
        """``(T, N, C)``, ``(N, S)``, ``(N)`` and ``(N)`` -> ``()``."""
        return F.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )
