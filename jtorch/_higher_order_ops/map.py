"""A function applied to each slice of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._src.composites import control
from jtorch.utils._pytree import tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from .._src.facts.kinds import Values


__all__ = ["map"]


def map(f: Callable[..., object], xs: torch.Tensor, *args: torch.Tensor) -> Any:
    """``f(x, *args)`` for each ``x`` along the first dimension of ``xs``, stacked.

    Args:
        f: a function of a slice and of the other arguments, that gives a tree of tensors.
        xs: a tree of tensors whose first dimensions are equal.
        args: given to each call as they are.

    Raises:
        RuntimeError: if ``xs`` has no tensors, or their first dimensions are 0 or differ.

    Example:
        >>> import jtorch as torch
        >>> from jtorch._higher_order_ops import map
        >>> map(lambda x, y: x * y, torch.arange(3), torch.tensor(2))
        tensor([0, 2, 4])
    """
    leaves, spec = tree_flatten(xs)
    if not leaves or not all(isinstance(x, torch.Tensor) for x in leaves):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {xs}.")
    lengths = [x.shape[0] if x.ndim else 0 for x in leaves]
    if lengths[0] == 0:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    if any(n != lengths[0] for n in lengths):
        raise RuntimeError(
            "Leading dimensions of mapped xs must be consistent. Got shapes "
            f"{[x.shape for x in leaves]}."
        )
    shape: list[Any] = []

    def one(slices: list[torch.Tensor], *more: torch.Tensor) -> list[object]:
        flat, found = tree_flatten(f(tree_unflatten(slices, spec), *more))
        shape[:] = [found]
        return flat

    found = (
        control.captured("map", one, leaves, args)
        if control.captured is not None
        else NotImplemented
    )
    results = mapped(one, leaves, *args) if found is NotImplemented else found
    return tree_unflatten(results, shape[0])


def mapped(
    f: Callable[..., Values], xs: list[torch.Tensor], *args: torch.Tensor
) -> list[torch.Tensor]:
    """The loop itself, over a list of tensors."""
    found = control.looped(lambda carry, slices: (carry, f(slices, *args)), [], xs)
    if found is not None:
        return found[1]
    rows = [f([x[i] for x in xs], *args) for i in range(xs[0].shape[0])]
    return [torch.stack(column) for column in zip(*rows, strict=True)]
