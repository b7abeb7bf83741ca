"""Losses that are written with other functions: triplets, and label sequences."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core import Tensor
from ..bind.cores import composite
from ..bind.everything import _C, F, T, functional
from ..facts import dtypes
from ..facts.warned_once import outside
from ..ops._facts import schemas

if TYPE_CHECKING:
    from ..facts.kinds import Function


def _reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    if size_average is not None or reduce is not None:
        found = "none" if reduce is False else "sum" if size_average is False else "mean"
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{found}' "
            "instead.",
            stacklevel=outside(),
        )
        return found
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def _reduced(loss: Tensor, reduction: str) -> object:
    if reduction == "none":
        return loss
    return loss.mean() if reduction == "mean" else loss.sum()


def _check_triplet(anchor: Tensor, positive: Tensor, negative: Tensor) -> None:
    a, p, n = anchor.dim(), positive.dim(), negative.dim()
    if not a == p == n:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {a}D, positive {p}D, and negative {n}D inputs"
        )


@composite(
    namespace="nn.functional",
    operands=("anchor", "positive", "negative"),
    native=False,
    autocast="float32",
    dispatched="in parts",
)
@schemas(
    "(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float "
    "eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor",
)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-06,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """``max(0, distance(anchor, positive) - distance(anchor, negative) + margin)`` with ``p``-norm
    distances.

    With ``swap`` the distance to the negative is that from the anchor or the positive, whichever is
    less.

    Shapes: three of (N, D), or (D) -> () for ``"mean"`` and ``"sum"``, else (N) or ().

    Raises:
        RuntimeError: if the ranks differ.
        ValueError: if ``margin`` is not positive.

    Example:
        >>> import jtorch as torch
        >>> a, p, n = torch.tensor([[0.0]]), torch.tensor([[1.0]]), torch.tensor([[1.5]])
        >>> torch.nn.functional.triplet_margin_loss(a, p, n)
        tensor(0.5000)
    """
    reduction = _reduction(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")

    def distance(x: object, y: object) -> Tensor:
        return F.pairwise_distance(x, y, p, eps)

    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


def _triplet(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance: Function,
    margin: float,
    swap: bool,
    reduction: str,
) -> object:
    _check_triplet(anchor, positive, negative)
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = T.minimum(far, distance(positive, negative))
    return _reduced((margin + near - far).clamp_min(0), reduction)


@composite(namespace="nn.functional", operands=("anchor", "positive", "negative"), native=False)
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[..., Any] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """``triplet_margin_loss`` with any distance, the Euclidean one by default.

    Shapes: those that ``distance_function`` takes -> () for ``"mean"`` and ``"sum"``, else that of
    the distances.

    Raises:
        RuntimeError: if the ranks differ.
        ValueError: if ``margin`` is not positive or ``reduction`` is unknown.

    Example:
        >>> import jtorch as torch
        >>> def taxicab(x, y):
        ...     return (x - y).abs().sum(-1)
        >>> a, p, n = (
        ...     torch.tensor([[0.0, 0.0]]),
        ...     torch.tensor([[1.0, 1.0]]),
        ...     torch.tensor([[1.0, 1.5]]),
        ... )
        >>> torch.nn.functional.triplet_margin_with_distance_loss(
        ...     a, p, n, distance_function=taxicab
        ... )
        tensor(0.5000)
    """
    reduction = _reduction(None, None, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if distance_function is None:
        return _triplet(anchor, positive, negative, F.pairwise_distance, margin, swap, reduction)
    return _triplet(anchor, positive, negative, distance_function, margin, swap, reduction)


def _lengths(name: str, given: Tensor, like: Tensor) -> Tensor:
    """Sequence lengths as an int64 tensor."""
    if isinstance(given, Tensor):
        if given.is_floating_point() or given.is_complex():
            raise RuntimeError(f"{name} must be integral")
        return given.to(dtypes.int64).reshape(-1)
    return T.tensor(list(given), dtype=dtypes.int64, device=like.device)


@composite(
    namespace="nn.functional",
    operands=("log_probs", "targets", "input_lengths", "target_lengths"),
    native=False,
    autocast="cpu float32",
    dispatched="in parts",
)
@schemas(
    ".IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int "
    "blank=0, int reduction=1, bool zero_infinity=False) -> Tensor",
    ".Tensor",
)
def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """The negative log likelihood of label sequences, summed over their alignments to the frames,
    with ``blank`` between labels.

    Shapes: log_probs ``(T, N, C)`` or ``(T, C)``; targets ``(N, S)``, or all sequences one after
    the other; lengths ``(N)``. The mean is over the samples, each divided by its number of labels.

    Raises:
        RuntimeError: if a length or a shape does not fit, or ``blank`` or a label is no class.

    Differs from torch: labels that are no classes are refused, where torch's kernel reads the
    numbers that lie beside those of the classes.

    Example:
        >>> import jtorch as torch
        >>> log_probs = torch.full((2, 1, 2), 0.5).log()
        >>> torch.nn.functional.ctc_loss(log_probs, torch.tensor([[1]]), [2], [1]).exp()
        tensor(1.3333)
    """
    reduction = _reduction(None, None, reduction)
    batched = log_probs.dim() == 3
    if not batched:
        log_probs = log_probs.unsqueeze(1)
    n, classes = log_probs.size(1), log_probs.size(2)
    input_lengths = _lengths("input_lengths", input_lengths, log_probs)
    target_lengths = _lengths("target_lengths", target_lengths, log_probs)
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if lengths.size(0) != n:
            raise RuntimeError(f"{name} must be of size batch_size")
    where = "for argument #2 'targets' (while checking arguments for ctc_loss_allocate_outputs)"
    if targets.dim() not in (1, 2):
        raise RuntimeError(
            f"Expected 1 to 2 dimensions, but got {targets.dim()}-dimensional tensor {where}"
        )
    if targets.dim() == 1:
        targets = _padded(targets, target_lengths)
    elif targets.size(0) != n:
        raise RuntimeError(
            f"Expected tensor to have size {n} at dimension 0, but got size {targets.size(0)} "
            f"{where}"
        )
    loss = _C._ctc_loss(
        log_probs, targets.to(dtypes.int64), input_lengths, target_lengths, blank, zero_infinity
    )
    if reduction == "mean":
        return (loss / target_lengths.clamp_min(1).to(loss.dtype)).mean()
    if reduction == "sum":
        return loss.sum()
    return loss if batched else loss.squeeze(0)


def _padded(targets: Tensor, target_lengths: Tensor) -> Any:
    """Concatenated sequences as the rows of a matrix. Reads the lengths on the host."""
    lengths = target_lengths.tolist()
    for length in lengths:
        if length < 0:
            raise RuntimeError(
                f"Expected target_lengths to have value at least 0, but got value {length} "
                "(while checking arguments for ctc_loss_allocate_outputs)"
            )
    total, width = sum(lengths), max(lengths, default=0)
    if targets.size(0) != total:
        raise RuntimeError(
            f"Expected tensor to have size {total} at dimension 0, but got size {targets.size(0)} "
            "for argument #2 'targets' (while checking arguments for ctc_loss_allocate_outputs)"
        )
    if not total:
        return targets.new_zeros((len(lengths), width))
    starts = (target_lengths.cumsum(0) - target_lengths).unsqueeze(1)
    index = starts + T.arange(width, device=targets.device).unsqueeze(0)
    return targets[index.clamp_max(total - 1)]


@composite(
    namespace="nn.functional",
    operands=("input", "linear_weight", "target", "linear_bias", "weight"),
    native=False,
)
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Any,
    target: Tensor,
    *,
    linear_bias: Any = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target)``.

    Shapes: input ``(D)`` or ``(N, D)``; linear_weight ``(C, *, D)``, which makes scores
    ``(N, C, *)``.

    Raises:
        RuntimeError: if the ranks or the numbers of features do not fit.

    Differs from torch: ``options`` asks torch to save memory by working in chunks; here the
    compiler decides.

    Example:
        >>> import jtorch as torch
        >>> x, weight = torch.tensor([[1.0, 2.0]]), torch.tensor([[0.0, 0.0], [2.0, -1.0]])
        >>> torch.nn.functional.linear_cross_entropy(x, weight, torch.tensor([1]))
        tensor(0.6931)
    """
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}"
        )
    features, wanted = input.shape[-1], linear_weight.shape[-1]
    if features != wanted:
        sizes_differ = f"got {features} and {wanted}, respectively"
        raise RuntimeError(
            f"expected equal input and linear_weight last dimensions (in_features), {sizes_differ}"
        )
    sizes = linear_weight.shape[:-1]
    if len(sizes) > 1 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} "
            f"requires batched input, (N, {features}), got unbatched input with shape "
            f"{tuple(input.shape)}"
        )
    if len(sizes) > 1:
        linear_weight = linear_weight.reshape(-1, linear_weight.shape[-1])
        linear_bias = None if linear_bias is None else linear_bias.reshape(-1)
    scores = functional.linear(input, linear_weight, linear_bias)
    if len(sizes) > 1:
        scores = scores.reshape(*scores.shape[:-1], *sizes)
    ignored = -100 if ignore_index is None else ignore_index
    loss = functional.cross_entropy
    return loss(
        scores,
        target,
        weight=weight,
        reduction=reduction,
        ignore_index=ignored,
        label_smoothing=label_smoothing,
    )


#: The reductions of the ``torch`` namespace are numbers. One that is left out is 0: PyTorch's
#: parser does not know the schemas' default.
_NUMBERED = ("none", "mean", "sum")


@composite(
    operands=("log_probs", "targets", "input_lengths", "target_lengths"),
    name="ctc_loss",
    autocast="cpu float32",
    dispatched="in parts",
)
def _torch_ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Any:
    """``nn.functional.ctc_loss`` with the reduction as a number: none 0, mean 1, sum 2.

    Left out, it is none, whatever PyTorch's signatures say.

    Shapes: as ``nn.functional.ctc_loss``.

    Raises:
        RuntimeError: as ``nn.functional.ctc_loss``.

    Example:
        >>> import jtorch as torch
        >>> log_probs = torch.full((2, 1, 2), 0.5).log()
        >>> torch.ctc_loss(log_probs, torch.tensor([[1]]), [2], [1], reduction=1).exp()
        tensor(1.3333)
    """
    function = F.ctc_loss
    return function(
        log_probs,
        targets,
        input_lengths,
        target_lengths,
        blank,
        _NUMBERED[reduction],
        zero_infinity,
    )


@composite(
    operands=("input", "target", "weight", "pos_weight"),
    name="binary_cross_entropy_with_logits",
    autocast="float32",
)
def _torch_binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 0,
) -> Tensor:
    """``nn.functional.binary_cross_entropy_with_logits`` with the reduction as a number: none 0,
    mean 1, sum 2.

    Left out, it is none, whatever PyTorch's signatures say.

    Shapes: ``input`` broadcasts to that of ``target`` -> the same, or ().

    Raises:
        RuntimeError: if the shapes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.binary_cross_entropy_with_logits(
        ...     torch.tensor([0.0, 0.0]), torch.tensor([0.0, 1.0]), reduction=2
        ... )
        tensor(1.3863)
    """
    function = F.binary_cross_entropy_with_logits
    if input.shape != target.shape:  # it broadcasts, as the function in nn.functional does not
        shape = target.shape
        target, input = T.broadcast_tensors(target, input)
        if target.shape != shape:
            raise RuntimeError(
                f"output with shape {list(shape)} doesn't match the broadcast shape "
                f"{list(target.shape)}"
            )
    return function(
        input, target, weight=weight, pos_weight=pos_weight, reduction=_NUMBERED[reduction]
    )


@composite(operands=("input", "target"), name="kl_div", autocast="float32", dispatched="in parts")
def _torch_kl_div(
    input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False
) -> Any:
    """``nn.functional.kl_div`` with the reduction as a number (none 0, mean 1, sum 2), and without
    its warning.

    Left out, it is none, whatever PyTorch's signatures say.

    Shapes: those that broadcast -> the common one, or ().

    Raises:
        RuntimeError: if the shapes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.kl_div(torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]), reduction=2)
        tensor(0.1308)
    """
    return _reduced(
        F.kl_div(input, target, reduction="none", log_target=log_target), _NUMBERED[reduction]
    )


@composite(
    operands=("input", "target"), name="poisson_nll_loss", autocast="float32", dispatched="in parts"
)
def _torch_poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Any:
    """``nn.functional.poisson_nll_loss`` with the reduction as a number: none 0, mean 1, sum 2.

    Shapes: those that broadcast -> the common one, or ().

    Raises:
        RuntimeError: if the shapes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.poisson_nll_loss(
        ...     torch.tensor([0.0, 1.0]), torch.tensor([1.0, 2.0]), False, False, 1.0, 0
        ... )
        tensor([ 0.0000, -0.3863])
    """
    return F.poisson_nll_loss(
        input, target, log_input, full, eps=eps, reduction=_NUMBERED[reduction]
    )


@composite(
    operands=("input", "target"),
    name="hinge_embedding_loss",
    autocast="float32",
    dispatched="in parts",
)
def _torch_hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0
) -> Tensor:
    """``nn.functional.hinge_embedding_loss`` with the reduction as a number: none 0, mean 1, sum 2.

    Left out, it is none, whatever PyTorch's signatures say.

    Shapes: those that broadcast -> the common one, or ().

    Raises:
        RuntimeError: if the shapes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.hinge_embedding_loss(
        ...     torch.tensor([0.25, 0.25]), torch.tensor([1.0, -1.0]), reduction=0
        ... )
        tensor([0.2500, 0.7500])
    """
    return F.hinge_embedding_loss(input, target, margin, reduction=_NUMBERED[reduction])


@composite(
    operands=("input1", "input2", "target"),
    name="margin_ranking_loss",
    autocast="float32",
    dispatched="in parts",
)
def _torch_margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """``nn.functional.margin_ranking_loss`` with the reduction as a number: none 0, mean 1, sum 2.

    Left out, it is none, whatever PyTorch's signatures say.

    Shapes: three that broadcast -> the broadcast shape, or ().

    Raises:
        RuntimeError: if the shapes do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.margin_ranking_loss(
        ...     torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([1.0]), margin=0.5
        ... )
        tensor([2.5000])
    """
    # the function in nn.functional wants as many dimensions of each
    most = max(t.ndim for t in (input1, input2, target))
    a, b, c = (
        t if t.ndim == most else t[(None,) * (most - t.ndim)] for t in (input1, input2, target)
    )
    return F.margin_ranking_loss(a, b, c, margin, reduction=_NUMBERED[reduction])


@composite(
    operands=("input1", "input2", "target"),
    name="cosine_embedding_loss",
    autocast="float32",
    dispatched="in parts",
)
def _torch_cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Any:
    """``nn.functional.cosine_embedding_loss`` with the reduction as a number: none 0, mean 1,
    sum 2.

    Left out, it is none, whatever PyTorch's signatures say.

    Shapes: (N, D), (N, D), (N) -> (N), or (); or without N.

    Raises:
        RuntimeError: if the shapes do not fit.

    Example:
        >>> import jtorch as torch
        >>> x = torch.tensor([[1.0, 0.0]])
        >>> torch.cosine_embedding_loss(x, x, torch.tensor([-1]), margin=0.25)
        tensor([0.7500])
    """
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=_NUMBERED[reduction])


@composite(
    operands=("anchor", "positive", "negative"),
    name="triplet_margin_loss",
    autocast="float32",
    dispatched="in parts",
)
def _torch_triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-06,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    """``nn.functional.triplet_margin_loss`` with the reduction as a number: none 0, mean 1, sum 2.

    Left out, it is none, whatever PyTorch's signatures say.

    Shapes: three of (N, D) or (D) -> (N), or ().

    Raises:
        RuntimeError: if the ranks differ.

    Example:
        >>> import jtorch as torch
        >>> a, p, n = torch.tensor([[0.0]]), torch.tensor([[1.0]]), torch.tensor([[1.5]])
        >>> torch.triplet_margin_loss(a, p, n)
        tensor([0.5000])
    """
    return F.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=_NUMBERED[reduction]
    )
