"""Scans with an associative function, in as many rounds as the length has binary digits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jtorch as torch
from jtorch.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["associative_scan"]


def associative_scan(
    combine_fn: Callable[[Any, Any], Any],
    xs: tuple[torch.Tensor, ...] | torch.Tensor,
    dim: int,
    reverse: bool = False,
    combine_mode: str = "pointwise",
) -> torch.Tensor:
    """All partial results of combining slices along a dimension, from the first (or last) on.

    Args:
        combine_fn: an associative function of two slices, trees of tensors like ``xs`` without the
            dimension.
        xs: a tree of tensors of one length along ``dim``.
        reverse: begin at the end.
        combine_mode: ``"generic"``, or ``"pointwise"`` for elementwise functions of tensors on an
            accelerator.

    Raises:
        ValueError: for another mode, no function, or ``"pointwise"`` on the CPU.

    Example:
        >>> import jtorch as torch
        >>> from jtorch._higher_order_ops import associative_scan
        >>> associative_scan(torch.add, torch.arange(5), 0, combine_mode="generic")
        tensor([ 0,  1,  3,  6, 10])
    """
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(
            f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}"
        )
    leaves, spec = tree_flatten(xs)
    if combine_mode == "pointwise" and not all(x.device.type in ("cuda", "xpu") for x in leaves):
        raise ValueError(
            "For combine_mode='pointwise', all input tensors need to be on CUDA or XPU"
        )
    rank = leaves[0].ndim
    if not -rank <= dim < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got "
            f"{dim})"
        )
    dim %= rank
    if len({x.shape[dim] for x in leaves}) > 1:
        raise ValueError("xs leaves must have the same length along the scanned dimension")

    def one(*slices: torch.Tensor) -> tuple[object, ...]:
        half = len(slices) // 2
        found, got = tree_flatten(
            combine_fn(tree_unflatten(slices[:half], spec), tree_unflatten(slices[half:], spec))
        )
        if got != spec:
            raise RuntimeError(
                f"The combine_fn's result has another structure than xs: {got} instead of {spec}"
            )
        return tuple(found)

    over_all = torch.vmap(one, in_dims=dim, out_dims=dim)
    given = [x.flip(dim) for x in leaves] if reverse else leaves
    scanned = _scan(lambda a, b: list(over_all(*a, *b)), given, dim)
    return tree_unflatten([x.flip(dim) for x in scanned] if reverse else scanned, spec)


def _scan(
    combine: Callable[[Any, Any], list[Any]], xs: Sequence[torch.Tensor], dim: int
) -> list[torch.Tensor]:
    """Pairs are combined, their scan gives every other result, and one more round of combining the
    rest."""
    length = xs[0].shape[dim]
    if length < 2:
        return list(xs)

    def part(
        items: Sequence[torch.Tensor], start: int, stop: int | None, step: int
    ) -> list[torch.Tensor]:
        place = (slice(None),) * dim + (slice(start, stop, step),)
        return [x[place] for x in items]

    paired = length - length % 2
    odd = _scan(combine, combine(part(xs, 0, paired, 2), part(xs, 1, paired, 2)), dim)
    before = part(odd, 0, (length - 1) // 2, 1)
    later = (
        combine(before, part(xs, 2, None, 2))
        if length > 2
        else [x[(slice(None),) * dim + (slice(0, 0),)] for x in xs]
    )
    even = [
        torch.cat([first, rest], dim) for first, rest in zip(part(xs, 0, 1, 1), later, strict=True)
    ]
    return [_interleaved(a, b, dim) for a, b in zip(even, odd, strict=True)]


def _interleaved(a: torch.Tensor, b: torch.Tensor, dim: int) -> torch.Tensor:
    n = b.shape[dim]
    first = a.narrow(dim, 0, n)
    mixed = torch.stack([first, b], dim + 1).flatten(dim, dim + 1)
    return torch.cat([mixed, a.narrow(dim, n, 1)], dim) if a.shape[dim] > n else mixed
