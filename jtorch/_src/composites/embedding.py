"""Look-ups in a table that may be renormalised in place first."""

from __future__ import annotations

import warnings
from typing import Any

from ...autograd.dual import has_tangent, with_tangent_of
from ...autograd.grad_mode import MODE, is_grad_enabled
from ...core import Tensor
from .. import hooks
from ..bind.cores import composite
from ..bind.everything import _C, T
from ..engine import SPECIAL
from ..facts import dtypes
from ..facts.warned_once import outside
from ..ops._facts import schemas
from ..tensor.running import inplace
from ..tensor.writing import check_inplace


def renorm(weight: Tensor, input: object, max_norm: float, norm_type: float) -> None:
    # Transformations must know what is written into, and refuse what the function captured;
    # derivatives of JAX's pass by what is written.
    if MODE.transforms or weight._read().trace is SPECIAL:
        T.embedding_renorm_(weight.detach(), input, max_norm, norm_type)
        return
    made = _C._embedding_renorm(weight.detach(), input, float(max_norm), float(norm_type))
    hooks.internals.get()._swap_(
        [weight], [with_tangent_of(weight, made) if has_tangent(weight) else made]
    )


def _sparse_gradient(weight: Tensor) -> bool:
    return weight.requires_grad and is_grad_enabled()


@composite(operands=("input", "indices"))
@schemas("(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)")
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scales the rows of ``input`` at ``indices`` whose ``norm_type`` norm is above ``max_norm``
    down to it, in place.

    Shapes: input ``(N, D)``, which is returned.

    Raises:
        RuntimeError: while operations are recorded, for a leaf that requires grad.

    Example:
        >>> import jtorch as torch
        >>> torch.embedding_renorm_(
        ...     torch.tensor([[3.0, 4.0], [6.0, 8.0]]), torch.tensor([1]), 5.0, 2.0
        ... )
        tensor([[3., 4.],
                [3., 4.]])
    """
    check_inplace(input)
    return inplace(input, _C._embedding_renorm(input, indices, float(max_norm), float(norm_type)))


@composite(namespace="nn.functional", operands=("input", "weight"), native=False)
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of ``weight`` at the indices ``input``; those longer than ``max_norm`` are first
    scaled down in place.

    Shapes: input ``(*)``, weight ``(n, d)`` give ``(*, d)``.

    Gradient: none for the row ``padding_idx``; with ``scale_grad_by_freq`` divided by how often a
    row is used; with ``sparse`` a COO tensor of the rows that were used.

    Raises:
        IndexError: if an index is out of range.
        AssertionError: if ``padding_idx`` is.

    Example:
        >>> import jtorch as torch
        >>> weight = torch.tensor([[0.0, 0.5], [1.0, 1.5], [2.0, 2.5]])
        >>> torch.nn.functional.embedding(torch.tensor([2, 0]), weight)
        tensor([[2.0000, 2.5000],
                [0.0000, 0.5000]])
    """
    if padding_idx is None:
        padding_idx = -1
    else:
        if not -weight.size(0) <= padding_idx < weight.size(0):
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= weight.size(0)
    if max_norm is not None:
        renorm(weight, input, max_norm, norm_type)
    if sparse and _sparse_gradient(weight):
        return hooks.sparse_gradients.get().Embedding.apply(
            weight, input, padding_idx, scale_grad_by_freq
        )
    return T.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


@composite(
    namespace="nn.functional",
    operands=("input", "weight", "offsets", "per_sample_weights"),
    native=False,
    dispatched="in parts",
)
@schemas(
    "(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, "
    "bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> "
    "(Tensor, Tensor, Tensor, Tensor)",
    ".padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int "
    "mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> "
    "(Tensor, Tensor, Tensor, Tensor)",
)
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum (``mode``) of the rows of ``weight`` in each bag of indices, without
    keeping the rows.

    Shapes: input ``(B, N)`` holds ``B`` bags; input ``(N)`` with ``offsets (B)`` the bags that
    begin there (with ``include_last_offset`` the last offset ends the last bag); the result is
    ``(B, d)``. Rows ``padding_idx`` do not count.

    Dtypes: weight of a floating-point type, integer indices and offsets.

    Raises:
        RuntimeError: for a weight of another type, if an index or ``padding_idx`` is no row, or the
            offsets do not begin with 0, become smaller or end behind the indices.
        ValueError: if shapes or ``mode`` do not fit.
        NotImplementedError: for ``per_sample_weights`` unless ``mode`` is ``"sum"``.

    Example:
        >>> import jtorch as torch
        >>> weight = torch.tensor([[0.0, 0.5], [1.0, 1.5], [2.0, 2.5]])
        >>> torch.nn.functional.embedding_bag(
        ...     torch.tensor([0, 1, 2]), weight, torch.tensor([0, 2]), mode="sum"
        ... )
        tensor([[1.0000, 2.0000],
                [2.0000, 2.5000]])
    """
    if weight.dtype is dtypes.int64 and input.is_floating_point():
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage "
            "`embedding_bag(weight, input, ...)` is deprecated, and should now be "
            "`embedding_bag(input, weight, ...)`.",
            stacklevel=outside(),
        )
        weight, input = input, weight
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then "
            f"it must have the same shape as the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}"
        )
    width = 0
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
                f"of fixed length sequences. However, found offsets of type {type(offsets)}"
            )
        offsets = T.arange(
            0, max(input.numel(), 1), max(input.size(1), 1), dtype=input.dtype, device=input.device
        )
        offsets = offsets[: input.size(0)] if input.numel() else input.new_zeros(input.size(0))
        width = input.size(1) if all(type(n) is int and n for n in input.shape) else 0
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
        include_last_offset = False
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}"
        )
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if sparse and mode == "max":
        raise ValueError("max mode does not support sparse weights")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub."
        )
    if padding_idx is None:
        padding_idx = -1
    else:
        if not -weight.size(0) <= padding_idx < weight.size(0):
            rows = weight.size(0)
            raise RuntimeError(
                f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, "
                f"but got {padding_idx}"
            )
        padding_idx %= weight.size(0)
    if not weight.dtype.is_floating_point:
        usual = weight.dtype is not dtypes.bool_ and not weight.dtype.is_complex
        kind = f"torch.{weight.dtype.legacy}" if usual else f"CPU{weight.dtype.scalar_name}Type"
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: "
            f"Half, BFloat16, Float, Double; but got {kind} instead (while checking arguments for "
            "embedding_bag)"
        )
    if max_norm is not None:
        renorm(weight, input, max_norm, norm_type)
    if sparse and _sparse_gradient(weight):
        return hooks.sparse_gradients.get().EmbeddingBag.apply(
            weight,
            input,
            offsets,
            per_sample_weights,
            scale_grad_by_freq,
            mode,
            include_last_offset,
            padding_idx,
        )
    options = scale_grad_by_freq, mode, per_sample_weights, include_last_offset, padding_idx
    return _C._embedding_bag(weight, input, offsets, *options, width)
