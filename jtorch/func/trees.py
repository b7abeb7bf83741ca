"""Nested arguments and results: ``torch.utils._pytree``, loaded when first needed, because it stands on a higher floor."""

from __future__ import annotations

from typing import Any


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves of a nested structure, and the structure."""
    from ..utils._pytree import tree_flatten

    return tree_flatten(tree)


def unflatten(leaves: Any, spec: Any) -> Any:
    """The nested structure with new leaves."""
    from ..utils._pytree import tree_unflatten

    return tree_unflatten(leaves, spec)


def broadcast_and_flatten(tree: Any, spec: Any) -> list[Any] | None:
    """One leaf of ``tree`` for each leaf of ``spec``, which it is a prefix of; None if it is not."""
    from ..utils._pytree import _broadcast_to_and_flatten

    return _broadcast_to_and_flatten(tree, spec)


def treespec_pprint(spec: Any) -> str:
    """A structure as its tree would be printed, with ``*`` for the leaves."""
    from ..utils._pytree import treespec_pprint as shown

    return shown(spec)
