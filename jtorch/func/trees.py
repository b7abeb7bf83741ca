"""Nested arguments and results, as ``torch.utils._pytree`` takes them apart."""

from __future__ import annotations

from typing import Any

from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten
from ..utils._pytree import treespec_pprint as shown


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves of a nested structure, and the structure."""
    return tree_flatten(tree)


def unflatten(leaves: Any, spec: Any) -> Any:
    """The nested structure with new leaves."""
    return tree_unflatten(leaves, spec)


def broadcast_and_flatten(tree: object, spec: Any) -> list[Any] | None:
    """One leaf of ``tree`` for each leaf of ``spec``, which it is a prefix of; None if it is
    not."""
    return _broadcast_to_and_flatten(tree, spec)


def treespec_pprint(spec: Any) -> str:
    """A structure as its tree would be printed, with ``*`` for the leaves."""
    return shown(spec)
