"""A loop over the slices of tensors that carries something along."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jtorch as torch
from jtorch._src.composites import control
from jtorch.utils._pytree import tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from .._src.facts.kinds import Values


__all__ = ["scan"]


def scan(
    combine_fn: Callable[[Any, Any], tuple[Any, Any]],
    init: torch.Tensor,
    xs: dict[str, torch.Tensor] | torch.Tensor,
    *,
    dim: int = 0,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Calls ``carry, y = combine_fn(carry, x)`` for each slice of ``xs``; gives the last carry and
    all ``y``, stacked.

    Args:
        combine_fn: a function of the carry and of a slice, that gives the next carry, of the same
            structure, sizes and dtypes, and a tree.
        init: the first carry, a tree of tensors.
        xs: a tree of tensors of one length along ``dim``.
        dim: the dimension to go along, and to stack along; the first where a result has fewer.
        reverse: go from the last slice to the first.

    Raises:
        RuntimeError: if ``xs`` has no tensors, their lengths differ or are 0, or the carry changes.

    Example:
        >>> import jtorch as torch
        >>> from jtorch._higher_order_ops import scan
        >>> scan(lambda c, x: (c + x, c * x), torch.tensor(0), torch.arange(4))
        (tensor(6), tensor([0, 0, 2, 9]))
    """
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    carried, carry_spec = tree_flatten(init)
    leaves, spec = tree_flatten(xs)
    if not leaves or not all(isinstance(x, torch.Tensor) for x in [*carried, *leaves]):
        raise RuntimeError(
            "scan() operator requires init and xs to be trees of tensors, and xs to have one"
        )
    rank = leaves[0].ndim
    if not -rank <= dim < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got "
            f"{dim})"
        )
    dim %= rank
    leaves = [x.movedim(dim, 0) for x in leaves] if dim else leaves
    if any(x.shape[0] != leaves[0].shape[0] for x in leaves):
        raise RuntimeError(
            "scan() operator requires all xs to have the same length along the scanned dimension"
        )
    leaves = [x.flip(0) for x in leaves] if reverse else leaves
    shape: list[Any] = []

    def combine(carry: list[torch.Tensor], x: list[torch.Tensor]) -> tuple[Values, Values]:
        new, y = combine_fn(tree_unflatten(carry, carry_spec), tree_unflatten(x, spec))
        new_leaves, new_spec = tree_flatten(new)
        if new_spec != carry_spec:
            raise RuntimeError(
                f"scan() operator: the carry has the structure {new_spec}, and had {carry_spec}"
            )
        flat, y_spec = tree_flatten(y)
        shape[:] = [y_spec]
        return new_leaves, flat

    found = (
        control.captured("scan", combine, carried, leaves)
        if control.captured is not None
        else NotImplemented
    )
    last, ys = scanned(combine, carried, leaves) if found is NotImplemented else found
    ys = [y.flip(0) for y in ys] if reverse else ys
    ys = [y.movedim(0, dim) if 0 < dim < y.ndim else y for y in ys]
    return tree_unflatten(last, carry_spec), tree_unflatten(ys, shape[0])


def scanned(
    combine: Callable[[Values, Values], tuple[Values, Values]],
    carry: list[torch.Tensor],
    xs: list[torch.Tensor],
) -> tuple[Values, Values]:
    """The loop itself, along the first dimension of a list of tensors."""
    found = control.looped(combine, carry, xs)
    if found is not None:
        return found
    length = xs[0].shape[0]
    if not length:
        raise RuntimeError("scan() operator doesn't support 0-sized inputs")
    rows = []
    for i in range(length):
        before = carry
        carry, y = combine(carry, [x[i] for x in xs])
        for old, new in zip(before, carry, strict=True):
            if old.shape != new.shape or old.dtype is not new.dtype:
                raise RuntimeError(
                    f"scan() operator: the carry changes from {list(old.shape)} of {old.dtype} to "
                    f"{list(new.shape)} of {new.dtype}"
                )
        rows.append(y)
    return carry, [torch.stack(column) for column in zip(*rows, strict=True)]
