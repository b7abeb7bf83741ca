"""Functions of ``torch`` that stand under public ones of ``nn.functional`` and under modules, with
their own results and orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...autograd.names import named
from ...core import Tensor, from_host, from_value
from ..bind.cores import composite
from ..bind.everything import _C, F, L, T
from ..engine import put, values
from ..facts import dtypes
from ..ops._facts import schemas

if TYPE_CHECKING:
    from ..facts.kinds import Operand


# ---- dropout, shuffles, norms --------------------------------------------------------------------


@composite(operands=("input",))
@schemas("(Tensor input, float p, bool? train) -> (Tensor, Tensor) ; =out:out0,out1")
def native_dropout(input: Tensor, p: float, train: bool | None) -> Any:
    """``dropout`` and the mask of the elements that stay: all of them unless ``train`` (None trains
    too).

    Shapes: that of ``input``, twice.

    Dtypes: floating-point ones.

    Raises:
        RuntimeError: for integers and bool, when it trains.

    Example:
        >>> import jtorch as torch
        >>> torch.native_dropout(torch.ones(2), 0.5, False)
        (tensor([1., 1.]), tensor([True, True]))
    """
    mask = T.ones_like(input, dtype=dtypes.bool_)
    if input.numel() == 0:
        return input, T.empty_like(input)
    if train is False:
        return input.clone(), mask
    keep = 1.0 - p
    if input.dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {input.dtype.scalar_name}"
        )
    mask.bernoulli_(keep)
    made = input * mask * (1.0 / keep if keep else 0.0)
    return named(made, "NativeDropoutBackward0"), mask


def _shuffled(input: object, groups: int) -> object:
    return T.channel_shuffle(input, groups)


@composite(
    aliases=("nn.functional.native_channel_shuffle",), operands=("input",), dispatched="in parts"
)
@schemas("(Tensor self, SymInt groups) -> Tensor")
def native_channel_shuffle(input: Tensor, groups: int) -> Any:
    """``channel_shuffle``: the channels of ``groups`` interleaved.

    Shapes: input (N, C, *) -> (N, C, *).

    Raises:
        RuntimeError: if the channels are not divisible by ``groups``.

    Example:
        >>> import jtorch as torch
        >>> torch.native_channel_shuffle(torch.arange(4.0).reshape(1, 4, 1), 2).flatten()
        tensor([0., 2., 1., 3.])
    """
    return _shuffled(input, groups)


@composite(operands=("v",), dispatched="in parts")
@schemas(".")
def norm_except_dim(v: Any, pow: int = 2, dim: int = 0) -> Tensor:
    """The ``pow``-norm over all dimensions but ``dim``, which keeps its place; over all with
    ``dim=-1``.

    Shapes: v (*A) -> (1, ..., A[dim], ..., 1), or ().

    Example:
        >>> import jtorch as torch
        >>> torch.norm_except_dim(torch.tensor([[3.0, 4.0], [0.0, 2.0]]), 2, 0)
        tensor([[5.],
                [2.]])
    """
    if dim == -1:
        return L.vector_norm(v, pow)
    return L.vector_norm(v, pow, tuple(d for d in range(v.dim()) if d != dim), keepdim=True)


def _one_number(input: Tensor, x: object, kind: dtypes.dtype | None) -> object:
    """A tensor of one number on the device of ``input``."""
    fits = (
        type(x) is float and abs(x) < 3e38
        if kind.is_floating_point
        else type(x) is int and abs(x) < 1 << 31
    )
    if fits and type(input) is Tensor:
        made, place = np.array([x], kind.np), input._aval.device
        return (
            from_value(put(made, place)) if values.on_host(place) else from_host(made, input.device)
        )
    return input.new_full((1,), x, dtype=kind)


@composite(operands=("input", "scale", "zero_point"))
def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Any:
    """Rounds ``input`` to the grid that integers from ``quant_min`` to ``quant_max`` make:
    ``scale * (n - zero_point)``.

    Shapes: that of ``input``.

    Gradient: that of the identity where nothing was clipped, else 0.

    Raises:
        RuntimeError: if the bounds do not fit.

    Example:
        >>> import jtorch as torch
        >>> torch.fake_quantize_per_tensor_affine(torch.tensor([0.3, 9.0]), 0.5, 0, 0, 10)
        tensor([0.5000, 5.0000])
    """
    given = ((scale, dtypes.float32), (zero_point, dtypes.int32))
    made = [x if isinstance(x, Tensor) else _one_number(input, x, kind) for x, kind in given]
    return _C._fake_quantize(input, *made, quant_min, quant_max)


# ---- embedding bags ------------------------------------------------------------------------------

_MODES = ("sum", "mean", "max")


@composite(operands=("weight", "indices", "offsets", "per_sample_weights"), dispatched="in parts")
def embedding_bag(
    weight: Tensor | None,
    indices: Any,
    offsets: Any,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """``nn.functional.embedding_bag`` with ``mode`` 0, 1 or 2 for sum, mean and maximum, and what
    its gradient needs.

    The result is ``(bags, offset2bag, bag_size, max_indices)``: the bag of each index (empty for
    plain sums), the numbers of rows that count (zeros for sums), and for the maximum the rows it
    was found in.

    Shapes: weight (n, d), indices (k), offsets (B) -> (B, d), and three that depend on the mode.

    Raises:
        ValueError, RuntimeError: as ``nn.functional.embedding_bag``.

    Example:
        >>> import jtorch as torch
        >>> torch.embedding_bag(torch.eye(2), torch.tensor([0, 1]), torch.tensor([0]))[0]
        tensor([[1., 1.]])
    """
    found = F.embedding_bag(
        indices,
        weight,
        offsets,
        None,
        2.0,
        scale_grad_by_freq,
        _MODES[mode],
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )
    count, n = found.shape[0], indices.numel()
    places = T.arange(n, dtype=offsets.dtype, device=offsets.device)
    bags = T.searchsorted(offsets[:count].contiguous(), places, right=True) - 1
    if mode == 0:
        zeros = T.zeros_like(offsets)
        return (
            found,
            bags.to(offsets.dtype) if padding_idx is not None else offsets.new_empty(0),
            zeros,
            zeros.clone(),
        )
    zeros = offsets.new_zeros(count)
    counted = (
        T.ones_like(indices)
        if padding_idx is None
        else (indices != padding_idx % weight.size(0)).to(indices.dtype)
    )
    sizes = zeros.index_add(0, bags, counted.to(zeros.dtype))
    if mode == 1:
        return found, bags.to(offsets.dtype), sizes, sizes.clone()
    mine = (bags.unsqueeze(0) == T.arange(count, device=bags.device).unsqueeze(1)) & (counted != 0)
    rows = weight.detach()[indices].unsqueeze(0).masked_fill(~mine.unsqueeze(-1), float("-inf"))
    best = indices[rows.argmax(1)] if n else zeros.new_zeros(found.shape)
    return found, bags.to(offsets.dtype), sizes, best * (sizes > 0).unsqueeze(1)


# ---- batch normalisation over several processes --------------------------------------------------


def _dims(input: Tensor) -> tuple[int, ...]:
    return (0, *range(2, input.dim()))


def _on_channels(x: Tensor, input: Tensor) -> Tensor:
    return x.reshape((1, -1) + (1,) * (input.dim() - 2))


def _moved(running: Operand, target: Tensor, momentum: float) -> None:
    if running is not None:
        running.copy_(running * (1 - momentum) + target * momentum)


@composite(operands=("input",))
def batch_norm_stats(input: Tensor, eps: float) -> Any:
    """The mean of each channel, and one over the root of its variance and ``eps``.

    Shapes: input (N, C, *) -> (C), (C).

    Example:
        >>> import jtorch as torch
        >>> torch.batch_norm_stats(torch.tensor([[1.0], [3.0]]), 0.0)
        (tensor([2.]), tensor([1.]))
    """
    variance, mean = T.var_mean(input, _dims(input), correction=0)
    return mean, (variance + eps).rsqrt()


@composite(operands=("input", "weight", "bias", "mean", "invstd", "out"))
def batch_norm_elemt(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Any,
    invstd: Any,
    eps: float,
    *,
    out: Any = None,
) -> Tensor:
    """Normalises channels by given moments: ``(input - mean) * invstd * weight + bias``.

    Shapes: input (N, C, *), the others (C) -> (N, C, *).

    Example:
        >>> import jtorch as torch
        >>> one = torch.ones(1)
        >>> torch.batch_norm_elemt(
        ...     torch.tensor([[1.0], [3.0]]), one, one, 2 * one, one, 0.0
        ... ).flatten()
        tensor([0., 2.])
    """
    del eps  # it is part of invstd
    found = (input - _on_channels(mean, input)) * _on_channels(invstd, input)
    if weight is not None:
        found = found * _on_channels(weight, input)
    if bias is not None:
        found = found + _on_channels(bias, input)
    found = found.to(input.dtype)
    return found if out is None else out.copy_(found)


@composite(operands=("input", "mean", "invstd", "running_mean", "running_var", "counts"))
def batch_norm_gather_stats_with_counts(
    input: Tensor,
    mean: Any,
    invstd: Any,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    counts: Any,
) -> Any:
    """The moments of all processes from those of each, which stand in rows; running statistics are
    moved towards them in place.

    Shapes: mean, invstd (world, C), counts (world) -> (C), (C).

    Example:
        >>> import jtorch as torch
        >>> row = torch.ones(2, 1)
        >>> torch.batch_norm_gather_stats_with_counts(
        ...     torch.zeros(1, 1), row, row, None, None, 0.1, 0.0, torch.tensor([1.0, 3.0])
        ... )
        (tensor([1.]), tensor([1.]))
    """
    del input
    weights = counts.reshape(-1, 1).to(mean.dtype)
    total = weights.sum()
    average = (mean * weights).sum(0) / total
    variance = ((1 / invstd.square() - eps + (mean - average).square()) * weights).sum(0) / total
    _moved(running_mean, average, momentum)
    _moved(running_var, variance * total / (total - 1), momentum)
    return average, (variance + eps).rsqrt()


@composite(operands=("input", "mean", "invstd", "running_mean", "running_var"))
def batch_norm_gather_stats(
    input: Tensor,
    mean: Any,
    invstd: Any,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    count: int,
) -> Any:
    """``batch_norm_gather_stats_with_counts`` for processes that all saw ``count`` elements a
    channel.

    Shapes: mean, invstd (world, C) -> (C), (C).

    Example:
        >>> import jtorch as torch
        >>> row = torch.ones(2, 1)
        >>> torch.batch_norm_gather_stats(torch.zeros(1, 1), row, row, None, None, 0.1, 0.0, 2)
        (tensor([1.]), tensor([1.]))
    """
    counts = mean.new_full((mean.shape[0],), count)
    return T.batch_norm_gather_stats_with_counts(
        input, mean, invstd, running_mean, running_var, momentum, eps, counts
    )


@composite(operands=("grad_out", "input", "mean", "invstd", "weight"))
def batch_norm_backward_reduce(
    grad_out: Any,
    input: Any,
    mean: Any,
    invstd: Any,
    weight: Tensor | None,
    input_g: bool,
    weight_g: bool,
    bias_g: bool,
) -> Any:
    """The sums that the gradient of normalisation needs from all processes, and the gradients of
    weight and bias (None if not asked for).

    Shapes: grad_out, input (N, C, *), the others (C) -> four of (C): the sum of gradients, that of
    gradients times deviations, and both parameters' gradients.

    Example:
        >>> import jtorch as torch
        >>> one, x = torch.ones(1), torch.tensor([[1.0], [3.0]])
        >>> torch.batch_norm_backward_reduce(x, x, 2 * one, one, one, True, True, False)
        (tensor([4.]), tensor([2.]), tensor([2.]), None)
    """
    del weight
    dims = _dims(input)
    sum_dy = grad_out.sum(dims)
    sum_dy_xmu = (grad_out * (input - _on_channels(mean, input))).sum(dims)
    sums = (sum_dy, sum_dy_xmu) if input_g else (None, None)
    return *sums, sum_dy_xmu * invstd if weight_g else None, sum_dy.clone() if bias_g else None


@composite(
    operands=("grad_out", "input", "mean", "invstd", "weight", "sum_dy", "sum_dy_xmu", "count")
)
def batch_norm_backward_elemt(
    grad_out: Any,
    input: Any,
    mean: Any,
    invstd: Any,
    weight: Tensor | None,
    sum_dy: Any,
    sum_dy_xmu: Any,
    count: Any,
) -> Tensor:
    """The gradient of normalisation from the sums over all processes, each of which saw ``count``
    elements a channel.

    Shapes: grad_out, input (N, C, *), count (world), the others (C) -> (N, C, *).

    Example:
        >>> import jtorch as torch
        >>> one, x = torch.ones(1), torch.tensor([[1.0], [3.0]])
        >>> torch.batch_norm_backward_elemt(
        ...     x, x, 2 * one, one, one, 4 * one, 2 * one, torch.tensor([2])
        ... ).flatten()
        tensor([0., 0.])
    """
    total = count.sum().to(sum_dy.dtype)
    deviation = input - _on_channels(mean, input)
    slope = _on_channels(invstd.square() * sum_dy_xmu / total, input)
    found = (grad_out - _on_channels(sum_dy / total, input) - deviation * slope) * _on_channels(
        invstd, input
    )
    return (found if weight is None else found * _on_channels(weight, input)).to(input.dtype)


@composite(operands=("input", "running_mean", "running_var"))
def batch_norm_update_stats(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: float
) -> Any:
    """The mean and variance of each channel, towards which the running statistics are moved in
    place.

    Shapes: input (N, C, *) -> (C), (C).

    Example:
        >>> import jtorch as torch
        >>> torch.batch_norm_update_stats(
        ...     torch.tensor([[1.0], [3.0]]), torch.zeros(1), torch.ones(1), 0.1
        ... )
        (tensor([2.]), tensor([1.]))
    """
    dims = _dims(input)
    variance, mean = T.var_mean(input, dims, correction=0)
    count = input.numel() // max(input.shape[1], 1)
    _moved(running_mean, mean, momentum)
    _moved(running_var, variance * (count / (count - 1)), momentum)
    return mean, variance
