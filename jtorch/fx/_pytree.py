"""How argument containers of traced functions are opened: as ``torch.utils._pytree`` opens them."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jtorch.utils._pytree import tree_flatten

if TYPE_CHECKING:
    from ..utils._pytree import TreeSpec


SUPPORTED_NODES: dict[object, Callable[..., list[object]]] = {
    dict: lambda d, spec: [d[k] for k in spec.context],
    list: lambda x, spec: [x[i] for i in range(len(spec.children_specs))],
    tuple: lambda x, spec: [x[i] for i in range(len(spec.children_specs))],
    namedtuple: lambda x, spec: [x[i] for i in range(len(spec.children_specs))],
}
SUPPORTED_NODES_EXACT_MATCH: dict[object, object] = {
    dict: None,
    list: None,
    tuple: None,
    namedtuple: None,
}


def register_pytree_flatten_spec(
    cls: type[Any],
    flatten_fn_spec: Callable[..., list[object]],
    flatten_fn_exact_match_spec: object = None,
) -> None:
    """Says how a container is opened as a spec says."""
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def tree_flatten_spec(
    tree: object, spec: TreeSpec, exact_structural_match: bool = False
) -> list[object]:
    """The leaves of ``tree``, opened as ``spec`` says."""
    if spec.is_leaf():
        return [tree]
    if spec.type not in SUPPORTED_NODES:
        return tree_flatten(tree)[0]
    found = []
    for child, child_spec in zip(SUPPORTED_NODES[spec.type](tree, spec), spec.children_specs):
        found += tree_flatten_spec(child, child_spec, exact_structural_match)
    return found
