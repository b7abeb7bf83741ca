"""Attention of sequences of different lengths, packed one after the other along the first
dimension."""

# ruff: noqa: ARG001  (signatures are torch's, whether or not an argument means something here)

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jtorch as torch
from jtorch._src.facts.errors import not_offered

__all__ = ["AuxRequest", "varlen_attn", "varlen_attn_out"]


class AuxRequest(NamedTuple):
    """What to return beside the result: ``lse``, the logarithms of the sums of the exponentiated
    scores."""

    lse: bool = False


def varlen_attn(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    cu_seq_q: torch.Tensor,
    cu_seq_k: torch.Tensor | None,
    max_q: int,
    max_k: int,
    *,
    return_aux: AuxRequest | None = None,
    scale: float | None = None,
    window_size: tuple[int, int] = (-1, -1),
    enable_gqa: bool = False,
    seqused_k: torch.Tensor | None = None,
    block_table: torch.Tensor | None = None,
    num_splits: int | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """``softmax(query @ key.T * scale) @ value`` within each sequence.

    ``cu_seq_q`` and ``cu_seq_k`` say where sequences begin and, last, end. ``window_size`` is how
    far to the left and to the right of its own place, counted from the end of the sequences, a
    query looks; -1 is any distance, ``(-1, 0)`` is causal. ``seqused_k`` are the numbers of keys to
    look at, from the first of each sequence on. Queries that may look at nothing give zeros.

    Shapes: query ``(T_q, H, D)``, key and value ``(T_k, H_kv, D)``, with fewer heads only if
    ``enable_gqa``; the result has the query's shape, ``lse`` ``(H, T_q)``.

    Raises:
        RuntimeError: if the shapes do not fit.
        NotImplementedError: with ``block_table``, which addresses pages of a cache, or
            ``num_splits`` other than 0 and 1.

    Differs from torch: it runs on every device; ``max_q`` and ``max_k`` are not needed. Scores of
    all pairs are in memory at once.

    Example:
        >>> import jtorch as torch
        >>> from jtorch.nn.attention.varlen import varlen_attn
        >>> q = torch.zeros(3, 1, 2)
        >>> v = torch.tensor([[1.0, 1.0], [3.0, 3.0], [5.0, 5.0]]).unsqueeze(1)
        >>> varlen_attn(q, q, v, torch.tensor([0, 2, 3]), None, 2, 2)[:, 0, 0]
        tensor([2., 2., 5.])
    """
    if block_table is not None:
        raise not_offered(
            "varlen_attn(block_table=...)",
            "it addresses pages of a cache; give the keys and values themselves",
        )
    if num_splits not in (None, 0, 1):
        raise not_offered("varlen_attn(num_splits=...)", "XLA decides how the sums are split")
    for name, t in (("query", query), ("key", key), ("value", value)):
        if t.dim() != 3:
            raise RuntimeError(f"varlen_attn: {name} must have 3 dimensions, got {t.dim()}")
    heads = key.shape[1]
    if query.shape[1] != heads and not enable_gqa:
        raise RuntimeError(
            f"varlen_attn: query has {query.shape[1]} heads and key {heads}; set enable_gqa=True "
            "to let heads share keys"
        )
    q, k, v = (t.transpose(0, 1) for t in (query, key, value))
    if query.shape[1] != heads:
        k, v = (t.repeat_interleave(query.shape[1] // heads, 0) for t in (k, v))
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (q @ k.transpose(1, 2)).float() * factor
    allowed = _allowed(
        cu_seq_q,
        cu_seq_q if cu_seq_k is None else cu_seq_k,
        query.shape[0],
        key.shape[0],
        window_size,
        seqused_k,
    )
    scores = scores.masked_fill(~allowed, -math.inf)
    nothing = ~allowed.any(1)
    weights = torch.softmax(scores.masked_fill(nothing[:, None], 0.0), -1).masked_fill(
        nothing[:, None], 0.0
    )
    out = (weights.to(query.dtype) @ v).transpose(0, 1).contiguous()
    if return_aux is not None and return_aux.lse:
        return out, torch.logsumexp(scores, -1)
    return out


def varlen_attn_out(
    out: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    cu_seq_q: torch.Tensor,
    cu_seq_k: torch.Tensor | None,
    max_q: int,
    max_k: int,
    *,
    return_aux: AuxRequest | None = None,
    **options: Any,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """``varlen_attn`` whose result is written into ``out``, which is returned in its place."""
    found = varlen_attn(
        query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, return_aux=return_aux, **options
    )
    if isinstance(found, tuple):
        return out.copy_(found[0]), found[1]
    return out.copy_(found)


def _allowed(
    starts_q: torch.Tensor,
    starts_k: torch.Tensor,
    n: int,
    m: int,
    window: tuple[int, int],
    used: Any,
) -> torch.Tensor:
    """Where queries may look: within their own sequence, and there within the window."""
    place_q, place_k = (
        torch.arange(n, device=starts_q.device),
        torch.arange(m, device=starts_k.device),
    )
    which_q = torch.bucketize(place_q, starts_q[1:].long(), right=True)
    which_k = torch.bucketize(place_k, starts_k[1:].long(), right=True)
    last = starts_q.numel() - 2
    of_q, of_k = which_q.clamp(max=last), which_k.clamp(max=last)
    allowed = (which_q[:, None] == which_k[None]) & (which_q <= last)[:, None]
    lengths_k = starts_k.diff() if used is None else used
    if used is not None:
        allowed = allowed & (place_k - starts_k[of_k] < used[of_k])[None]
    left, right = window
    if left >= 0 or right >= 0:
        # The last query and the last key of a sequence are at the same place.
        own = place_q - starts_q[of_q] + (lengths_k - starts_q.diff())[of_q]
        distance = (place_k - starts_k[of_k])[None] - own[:, None]
        allowed = (
            allowed
            & (True if right < 0 else distance <= right)
            & (True if left < 0 else distance >= -left)
        )
    return allowed
