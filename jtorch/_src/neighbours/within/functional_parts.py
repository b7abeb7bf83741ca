"""Inner functions of ``torch.nn.functional`` that copies of PyTorch's layers call: of attention,
norms and softmax."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....core import Tensor
from ...bind.everything import F
from ...composites.attention import check_shapes, projected
from ...composites.embedding import renorm
from ...composites.softmax import implicit_dim

__all__ = [
    "_get_softmax_dim",
    "_in_projection",
    "_in_projection_packed",
    "_mha_shape_check",
    "_no_grad_embedding_renorm_",
    "_verify_batch_size",
    "_verify_spatial_size",
]

_get_softmax_dim = implicit_dim
_mha_shape_check = check_shapes
_no_grad_embedding_renorm_ = renorm


def _verify_batch_size(size: Sequence[int]) -> None:
    """Refuses sizes ``(N, C, *)`` of which a channel has one value: its variance would be 0.

    Raises:
        ValueError: for those.
    """
    if size[0] * math.prod(size[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {size}"
        )


def _verify_spatial_size(size: Sequence[int]) -> None:
    """Refuses sizes ``(N, C, *)`` of which a channel of an example has one value.

    Raises:
        ValueError: for those.
    """
    if math.prod(size[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {size}"
        )


def _in_projection_packed(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None
) -> list[Tensor]:
    """Query, key and value ``(..., E)`` by the parts of one weight ``(3 E, E)``, in as few products
    as the operands allow."""
    return [part.contiguous() for part in projected(q, k, v, [], [], w, b)]


def _in_projection(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    b_q: Tensor | None = None,
    b_k: Tensor | None = None,
    b_v: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Query ``(..., Eq)``, key and value by a weight ``(Eq, E)`` each.

    Raises:
        AssertionError: if sizes of weights or biases do not fit.
    """
    n = q.size(-1)
    for name, operand, weight, bias in (
        ("query", q, w_q, b_q),
        ("key", k, w_k, b_k),
        ("value", v, w_v, b_v),
    ):
        expected = (n, operand.size(-1))
        if weight.shape != expected:
            raise AssertionError(
                f"expecting {name} weights shape of {expected}, but got {weight.shape}"
            )
        if bias is not None and bias.shape != (n,):
            raise AssertionError(f"expecting {name} bias shape of {(n,)}, but got {bias.shape}")
    return F.linear(q, w_q, b_q), F.linear(k, w_k, b_k), F.linear(v, w_v, b_v)
