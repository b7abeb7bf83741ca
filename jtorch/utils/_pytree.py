"""Trees of containers: flattening, rebuilding and mapping, as libraries use them under
``torch.utils._pytree``.

Leaves are whatever is no registered container. Knows no tensors. (``jax.tree_util`` is another
registry with other rules: None is a leaf here, dicts keep their order.)
"""

from __future__ import annotations

import enum
import functools
import json
import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

# isort: off
from ._pytree_nodes import (  # noqa: F401  (programs know all of it as this module's)
    PyTree, Context, DumpableContext, FlattenFn, UnflattenFn, FlattenWithKeysFn,
    ToDumpableContextFn, FromDumpableContextFn, KeyPath, IsLeaf, NO_SERIALIZED_TYPE_NAME_FOUND,
    NodeDef, _Serialized, SUPPORTED_NODES, SUPPORTED_SERIALIZED_TYPES,
    SERIALIZED_TYPE_TO_PYTHON_TYPE, CONSTANT_NODES, SequenceKey, MappingKey, GetAttrKey, keystr,
    key_get, register_pytree_node, _private_register_pytree_node, _register_pytree_node,
    _deregister_pytree_node, register_dataclass, ConstantNode, register_constant, is_constant_class,
    is_namedtuple_class, is_namedtuple_instance, is_namedtuple, is_structseq_class,
    is_structseq_instance, is_structseq, _sequence_keys, _mapping_keys, _dict_flatten,
    _dict_unflatten, _list_flatten_with_keys, _dict_flatten_with_keys, _list_flatten,
    _list_unflatten, _tuple_flatten, _tuple_unflatten, _namedtuple_flatten, _namedtuple_unflatten,
    _defaultdict_from, _dump_defaultdict, _load_defaultdict, _dump_namedtuple, _load_namedtuple,
    _register_namedtuple, STANDARD_DICT_TYPES, BUILTIN_TYPES, _get_node_type, tree_is_leaf,
    _is_leaf,
)  # fmt: skip

if TYPE_CHECKING:
    from .._src.facts.kinds import Named

# isort: on

__all__ = [
    "PyTree", "Context", "FlattenFn", "UnflattenFn", "DumpableContext", "ToDumpableContextFn",
    "FromDumpableContextFn", "PyTreeSpec", "TreeSpec", "LeafSpec", "keystr", "key_get",
    "register_pytree_node", "tree_is_leaf", "tree_flatten", "tree_flatten_with_path",
    "tree_unflatten", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_structure",
    "tree_map", "tree_map_with_path", "tree_map_", "tree_map_only", "tree_map_only_", "tree_all",
    "tree_any", "tree_all_only", "tree_any_only", "treespec_dumps", "treespec_loads",
    "treespec_pprint", "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance",
    "is_structseq", "is_structseq_class", "is_structseq_instance",
]  # fmt: skip

DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1


# ---- specs ---------------------------------------------------------------------------------------


class TreeSpec:
    """The structure of a tree: ``type`` of the container (None for a leaf), its context, and its
    children's specs."""

    __slots__ = ("type", "_context", "_children", "num_nodes", "num_leaves", "num_children")

    def __init__(self, type: type | None, context: Context, children_specs: list[TreeSpec]) -> None:
        if type is None and (context is not None or children_specs):
            raise AssertionError(
                f"leaf node should not have {'a context' if context is not None else 'children'}"
            )
        self.type: Any = type
        self._context: Any = context
        self._children = children_specs
        self.num_children = len(children_specs)
        self.num_nodes = 1 + sum(c.num_nodes for c in children_specs)
        self.num_leaves = 1 if type is None else sum(c.num_leaves for c in children_specs)

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        indent += 2
        parts = [child.__repr__(indent) for child in self._children]
        text = f",\n{' ' * indent}".join(parts)
        return f"TreeSpec({self.type.__name__}, {self._context}, [{text}])"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        same = str(self.type) == str(other.type) and self._context == other._context
        return same and self._children == other._children

    def __hash__(self) -> int:
        context = self._context
        if self.type is defaultdict:
            context = (context[0], tuple(context[1]))
        elif self.type in (dict, OrderedDict):
            context = tuple(context)
        elif isinstance(context, ConstantNode):
            context = context.value
        elif self.type is not None and self.type not in BUILTIN_TYPES:
            context = None
        return hash((self.type, context, tuple(self._children)))

    @property
    def context(self) -> Context:
        """What the container keeps besides its children, such as a dict's keys."""
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The children's specs; ``children()`` is the newer name."""
        return self._children

    def is_leaf(self) -> bool:
        """Whether this is the spec of a leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """The children's specs."""
        return self._children.copy()

    def child(self, index: int) -> TreeSpec:
        """One child's spec."""
        return self._children[index]

    def unflatten(self, leaves: Iterable[object]) -> PyTree:
        """The tree of this structure with the given leaves."""
        if not isinstance(leaves, list | tuple):
            leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec "
                f"refers to a pytree that holds {self.num_leaves} items ({self})."
            )
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[object]) -> PyTree:
        if self.type is None:
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn(
            [child._build(leaves) for child in self._children], self._context
        )

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """The subtrees of ``tree`` at the leaves of this structure.

        Raises:
            ValueError: if ``tree`` is not alike.
        """
        found: list[PyTree] = []
        self._flatten_up_to(tree, found)
        return found

    def _flatten_up_to(self, tree: PyTree, found: list[PyTree]) -> None:
        if self.type is None:
            found.append(tree)
            return
        for spec, child in zip(self._children, self._matching_children(tree), strict=True):
            spec._flatten_up_to(child, found)

    def _matching_children(self, tree: PyTree) -> list[PyTree]:
        kind = _get_node_type(tree)
        builtin = self.type in BUILTIN_TYPES
        dicts = self.type in STANDARD_DICT_TYPES and kind in STANDARD_DICT_TYPES
        if kind != self.type and not dicts:
            raise ValueError(
                f"{'Node type' if builtin else 'Type'} mismatch; expected {self.type!r}, but got "
                f"{kind!r}."
            )
        context: Any = None
        if dicts:
            children = list(tree)
        else:
            children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(
                f"Node arity mismatch; expected {self.num_children}, but got {len(children)}."
            )
        if dicts:
            keys = self._context[1] if self.type is defaultdict else self._context
            missing, extra = set(keys) - set(tree), set(tree) - set(keys)
            if missing or extra:
                message = (f"; missing key(s): {missing}" if missing else "") + (
                    f"; extra key(s): {extra}" if extra else ""
                )
                raise ValueError(f"Node keys mismatch{message}.")
            return [tree[key] for key in keys]
        if not builtin and context != self._context:
            raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
        if builtin and kind is not deque and context != self._context:
            raise ValueError(
                f"Node context mismatch for node type {self.type!r}; expected {self._context!r}, "
                f"but got {context!r}."
            )
        return children


PyTreeSpec: TypeAlias = TreeSpec


class LeafSpec(TreeSpec):
    """The spec of a leaf, under its old name."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, [])


_LEAF_SPEC = LeafSpec()


def treespec_leaf() -> TreeSpec:
    """The spec of a leaf."""
    return _LEAF_SPEC


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The spec of a tuple of trees with these specs."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping: Any = (), /, **kwargs: TreeSpec) -> TreeSpec:
    """The spec of a dict of trees with these specs."""
    items = dict(mapping, **kwargs)
    return TreeSpec(dict, list(items), list(items.values()))


# ---- functions -----------------------------------------------------------------------------------


def _flatten_into(tree: PyTree, leaves: list[object], is_leaf: IsLeaf) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF_SPEC
    kind = _get_node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten_into(child, leaves, is_leaf) for child in children])


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, and its structure."""
    leaves = []
    return leaves, _flatten_into(tree, leaves, is_leaf)


def tree_unflatten(leaves: Iterable[object], treespec: TreeSpec) -> PyTree:
    """The tree of a structure with the given leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            "tree_unflatten(leaves, treespec): Expected `treespec` to be instance of PyTreeSpec "
            f"but got item of type {type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[object]:
    """The leaves, one by one."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    for child in SUPPORTED_NODES[_get_node_type(tree)].flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """The structure."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """The tree of ``func`` of the leaves of one or more trees."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(list(map(func, leaves, *(spec.flatten_up_to(r) for r in rests))))


def tree_map_(
    func: Callable[..., object], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Calls ``func`` on the leaves and returns the tree."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for args in zip(leaves, *(spec.flatten_up_to(r) for r in rests)):
        func(*args)
    return tree


def _predicate(what: Any) -> Callable[[Any], bool]:
    if isinstance(what, type | tuple) or type(what).__name__ == "UnionType":
        return lambda x: isinstance(x, what)
    if callable(what):
        return what  # type: ignore[return-value]
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def map_only(
    type_or_types_or_pred: object, /
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator: the function on what is of the types (or fulfils the predicate), all else
    unchanged."""
    pred = _predicate(type_or_types_or_pred)

    def wrapper(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(func)
        def wrapped(x: object) -> Any:
            return func(x) if pred(x) else x

        return wrapped

    return wrapper


def tree_map_only(
    type_or_types_or_pred: object,
    /,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: IsLeaf = None,
) -> PyTree:
    """``tree_map`` for leaves of some types; the others stay."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: object,
    /,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: IsLeaf = None,
) -> PyTree:
    """``tree_map_`` for leaves of some types."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether ``pred`` holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether ``pred`` holds for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Whether ``pred`` holds for all leaves of some types."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Whether ``pred`` holds for a leaf of some types."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _broadcast_to_and_flatten(
    tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf = None
) -> list[object] | None:
    """The leaves of ``tree``, each repeated for the part of a larger structure that it stands for;
    None where they do not fit."""
    full = tree_unflatten([0] * treespec.num_leaves, treespec)
    leaves, spec = tree_flatten(tree, is_leaf)
    try:
        parts = spec.flatten_up_to(full)
    except ValueError:
        return None
    return [leaf for leaf, part in zip(leaves, parts) for _ in tree_iter(part, is_leaf)]


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[object]:
    """The leaves of all arguments."""
    return [leaf for a in (*args, *kwargs.values()) for leaf in tree_iter(a)]


def _paths(path: KeyPath, tree: PyTree, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, object]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    kind = _get_node_type(tree)
    with_keys = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if with_keys is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a "
            "flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, child in with_keys(tree)[0]:
        yield from _paths((*path, key), child, is_leaf)


def tree_flatten_with_path(
    tree: PyTree, is_leaf: IsLeaf = None
) -> tuple[list[tuple[KeyPath, object]], TreeSpec]:
    """The leaves with their paths, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, object]]:
    """The leaves with their paths."""
    return list(_paths((), tree, is_leaf))


def tree_map_with_path(
    func: Callable[..., object], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """``tree_map`` whose function gets the path first."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [
        [path for path, _ in pairs],
        [leaf for _, leaf in pairs],
        *(spec.flatten_up_to(r) for r in rests),
    ]
    return spec.unflatten(list(map(func, *columns)))


# ---- specs as text -------------------------------------------------------------------------------


def _member_to_json(value: object) -> dict[str, object]:
    """A member of an enumeration, by the places of its class and its own name."""
    if not isinstance(value, enum.Enum):
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
    kind = type(value)
    return {"__enum__": True, "fqn": f"{kind.__module__}:{kind.__qualname__}", "name": value.name}


def _member_from_json(data: Named) -> object:
    """The member that ``_member_to_json`` has written. A text imports no module: it may come with a
    file."""
    if data.get("__enum__") is not True:
        return data
    module, _, path = data["fqn"].partition(":")
    if module not in sys.modules:
        raise NotImplementedError(
            f"Deserializing members of {data['fqn']} in pytree needs its module: import {module} "
            "first."
        )
    kind: Any = functools.reduce(getattr, path.split("."), sys.modules[module])
    if not (isinstance(kind, type) and issubclass(kind, enum.Enum)):
        raise TypeError(f"{data['fqn']} is no enumeration")
    return kind[data["name"]]


def _to_json(spec: TreeSpec) -> dict[str, object]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    known = SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if known is None:
        raise NotImplementedError(f"Serializing {spec.type} in pytree is not registered.")
    if known.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your "
            "_register_pytree_node call with a `serialized_type_name` kwarg."
        )
    if known.to_dumpable_context is not None:
        context = known.to_dumpable_context(spec.context)
    else:
        try:
            context = json.dumps(spec.context, default=_member_to_json)
        except TypeError as e:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register "
                "a custom serializer using _register_pytree_node."
            ) from e
    return {
        "type": known.serialized_type_name,
        "context": context,
        "children_spec": [_to_json(c) for c in spec.children()],
    }


def _from_json(data: Mapping[str, Any]) -> TreeSpec:
    if data["type"] is None:
        return _LEAF_SPEC
    if data["type"] not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Deserializing {data['type']} in pytree is not registered.")
    kind: Any = SERIALIZED_TYPE_TO_PYTHON_TYPE[data["type"]]
    load = SUPPORTED_SERIALIZED_TYPES[kind].from_dumpable_context
    context = (
        json.loads(data["context"], object_hook=_member_from_json)
        if load is None
        else load(data["context"])
    )
    return TreeSpec(kind, context, [_from_json(child) for child in data["children_spec"]])


def _check_protocol(protocol: int) -> None:
    if protocol != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(
            f"Unknown protocol {protocol}. Available protocols: "
            f"[{DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL}]"
        )


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A structure as JSON, the same as PyTorch's."""
    protocol = DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL if protocol is None else protocol
    _check_protocol(protocol)
    return json.dumps((protocol, _to_json(treespec)))


def treespec_loads(serialized: str) -> TreeSpec:
    """The structure that ``treespec_dumps`` wrote."""
    protocol, data = json.loads(serialized)
    _check_protocol(protocol)
    return _from_json(data)


class _Asterisk:
    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """A structure as its tree would be printed, with ``*`` for the leaves."""
    return repr(tree_unflatten([_Asterisk()] * treespec.num_leaves, treespec))
