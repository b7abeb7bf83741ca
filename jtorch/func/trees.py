"""Nested arguments and results, as ``torch.utils._pytree`` takes them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten
from ..utils._pytree import treespec_pprint as shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._src.facts.kinds import Tree, Values
    from ..utils._pytree import TreeSpec


def flatten(tree: object) -> tuple[list[Any], Any]:
    """The leaves of a nested structure, and the structure."""
    return tree_flatten(tree)


def unflatten(leaves: Iterable[object], spec: Any) -> Tree:
    """The nested structure with new leaves."""
    return tree_unflatten(leaves, spec)


def broadcast_and_flatten(tree: object, spec: TreeSpec) -> Values | None:
    """One leaf of ``tree`` for each leaf of ``spec``, which it is a prefix of; None if it is
    not."""
    return _broadcast_to_and_flatten(tree, spec)


def treespec_pprint(spec: TreeSpec) -> str:
    """A structure as its tree would be printed, with ``*`` for the leaves."""
    return shown(spec)
