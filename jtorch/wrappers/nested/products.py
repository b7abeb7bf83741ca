"""Matrix products of jagged tensors: with dense weights on the packed values, with dense batches
and each other in padded form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch import Tensor

from .dims import require_jagged
from .jagged import TABLE
from .ragged import pack
from .tensor import NestedTensor, structure_matches

if TYPE_CHECKING:
    from ..._src.facts.kinds import Function


@TABLE.implements("linear")
def linear(input: Any, weight: Tensor, bias: Tensor | None = None) -> NestedTensor:
    """``input @ weight.T + bias`` for each item."""
    if isinstance(weight, NestedTensor) or isinstance(bias, NestedTensor):
        raise ValueError(
            "NestedTensor linear_default(input: jt, weight: t, bias: t?): expected weight to be a "
            "tensor"
        )
    require_jagged(input, "linear_default(input: jt, weight: t, bias: t?)", "input")
    if len(input._size) == 2:
        raise RuntimeError(
            f"linear(): the features of shape {tuple(input._size)} are the ragged dimension"
        )
    return input._like(torch.nn.functional.linear(input._values, weight, bias))


def _in_padded_form(nt: NestedTensor, product: Function) -> NestedTensor:
    """``product`` of the padded form, packed again."""
    found = product(nt._padded(0.0))
    front = found if nt._ragged_idx == 1 else found.movedim(nt._ragged_idx, 1)
    return nt._from_rows(pack(front, nt._cut, nt._total()))


@TABLE.implements("matmul", "__matmul__", "__rmatmul__", "linalg.matmul")
def matmul(input: Any, other: Any) -> Tensor:
    """The matrix product of each item with a dense matrix, with its matrix of a dense batch, or
    with another nested tensor's item.

    ``(B, j, D) @ (D, E)`` and ``(B, j, D) @ (B, D, E)`` are ``(B, j, E)``,
    ``(B, D, E) @ (B, E, j)`` is ``(B, D, j)``, and ``(B, D, j) @ (B, j, E)``, summed over the
    ragged dimension, is dense: ``(B, D, E)``.

    Raises:
        RuntimeError: for other shapes.
    """
    left, right = isinstance(input, NestedTensor), isinstance(other, NestedTensor)
    a = input._size if left else input.shape
    b = other._size if right else other.shape
    if left and not right:
        inside = input._ragged_idx < len(a) - 1
        if len(a) >= 3 and len(a) == len(b) and inside and input._cut.lengths is None:
            return _in_padded_form(input, lambda x: torch.matmul(x, other))
        if len(b) == 2 and len(a) > 2 and inside:
            return input._like(torch.matmul(input._values, other))
    elif right and not left:
        if (
            len(b) >= 3
            and len(a) == len(b)
            and other._ragged_idx >= 2
            and other._cut.lengths is None
        ):
            return _in_padded_form(other, lambda x: torch.matmul(input, x))
        if len(a) == 2 and len(b) > 2 and other._ragged_idx >= 2:
            return other._like(torch.matmul(input, other._values))
    else:
        if (
            len(a) > 3
            and len(b) > 3
            and input._ragged_idx == other._ragged_idx == 1
            and structure_matches(input, b)
        ):
            return input._like(torch.matmul(input._values, other._values))
        if (
            len(a) == len(b) == 3
            and (input._ragged_idx, other._ragged_idx) == (2, 1)
            and a[2] == b[1]
        ):
            return torch.bmm(input._padded(0.0), other._padded(0.0))
    raise RuntimeError(
        f"matmul(): not supported between inputs of shapes {tuple(a)} and {other.shape}"
    )


@TABLE.implements("bmm")
def bmm(input: Tensor, mat2: Tensor) -> Any:
    """``matmul`` of batches of matrices."""
    if input.dim() != 3:
        raise ValueError("bmm(): input must be 3D")
    if mat2.dim() != 3:
        raise ValueError("bmm(): mat2 must be 3D")
    return matmul(input, mat2)


@TABLE.implements("embedding", "nn.functional.embedding")
def embedding(input: Any, weight: Any, *args: Any, **options: object) -> NestedTensor:
    """Rows of ``weight`` for nested indices; ``torch.embedding`` takes the weight first."""
    indices, table = (input, weight) if isinstance(input, NestedTensor) else (weight, input)
    return indices._like(torch.nn.functional.embedding(indices._values, table, *args, **options))


@TABLE.implements("prelu")
def prelu(input: NestedTensor, weight: Tensor) -> NestedTensor:
    """``prelu`` with one weight; a weight for each channel has no channel dimension to go with."""
    if weight.numel() != 1:
        raise NotImplementedError(
            "prelu with several weights is not offered by jtorch for nested tensors: its channels "
            "would be the ragged dimension"
        )
    return input._like(torch.nn.functional.prelu(input._values, weight.reshape(-1)))
