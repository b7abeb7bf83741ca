"""Trees of containers: flattening, rebuilding and mapping, as libraries use them under ``torch.utils._pytree``.

Leaves are whatever is no registered container. Knows no tensors. (``jax.tree_util`` is another registry with other rules: None is a leaf
here, dicts keep their order.)
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import json
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from ..return_types import _Result
from ..size import Size

__all__ = [
    "PyTree", "Context", "FlattenFn", "UnflattenFn", "DumpableContext", "ToDumpableContextFn", "FromDumpableContextFn", "PyTreeSpec",
    "TreeSpec", "LeafSpec", "keystr", "key_get", "register_pytree_node", "tree_is_leaf", "tree_flatten", "tree_flatten_with_path",
    "tree_unflatten", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_structure", "tree_map", "tree_map_with_path", "tree_map_",
    "tree_map_only", "tree_map_only_", "tree_all", "tree_any", "tree_all_only", "tree_any_only", "treespec_dumps", "treespec_loads",
    "treespec_pprint", "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "is_structseq", "is_structseq_class",
    "is_structseq_instance",
]  # fmt: skip

PyTree: TypeAlias = Any
Context: TypeAlias = Any
DumpableContext: TypeAlias = Any
FlattenFn: TypeAlias = Callable[[Any], tuple[list[Any], Context]]
UnflattenFn: TypeAlias = Callable[[Iterable[Any], Context], Any]
FlattenWithKeysFn: TypeAlias = Callable[[Any], tuple[list[tuple[Any, Any]], Any]]
ToDumpableContextFn: TypeAlias = Callable[[Context], DumpableContext]
FromDumpableContextFn: TypeAlias = Callable[[DumpableContext], Context]
KeyPath: TypeAlias = tuple[Any, ...]
IsLeaf: TypeAlias = "Callable[[PyTree], bool] | None"

DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1
NO_SERIALIZED_TYPE_NAME_FOUND = "NO_SERIALIZED_TYPE_NAME_FOUND"


class NodeDef(NamedTuple):
    """How a type of container is taken apart and put together."""

    type: type[Any]
    flatten_fn: FlattenFn
    unflatten_fn: UnflattenFn
    flatten_with_keys_fn: FlattenWithKeysFn | None


class _Serialized(NamedTuple):
    """How the context of a type of container is written as JSON."""

    typ: type[Any]
    serialized_type_name: str
    to_dumpable_context: ToDumpableContextFn | None
    from_dumpable_context: FromDumpableContextFn | None


SUPPORTED_NODES: dict[type[Any], NodeDef] = {}
SUPPORTED_SERIALIZED_TYPES: dict[type[Any], _Serialized] = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, type[Any]] = {}
CONSTANT_NODES: set[type] = set()


# ---- keys --------------------------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True)
class SequenceKey:
    """A place in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """What is there."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True, slots=True)
class MappingKey:
    """A key of a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """What is there."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True, slots=True)
class GetAttrKey:
    """The name of an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """What is there."""
        return getattr(obj, self.name)


def keystr(kp: KeyPath) -> str:
    """A path as text: ``['a'][0].b``."""
    return "".join(str(k) for k in kp)


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What a path leads to."""
    for k in kp:
        obj = k.get(obj)
    return obj


# ---- registering -------------------------------------------------------------------------------------------------------------------------


def register_pytree_node(
    cls: type[Any],
    flatten_fn: FlattenFn,
    unflatten_fn: UnflattenFn,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: FlattenWithKeysFn | None = None,
) -> None:
    """Makes a class a container.

    Raises:
        ValueError: if it is one already.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _private_register_pytree_node(
        cls,
        flatten_fn,
        unflatten_fn,
        serialized_type_name=serialized_type_name,
        to_dumpable_context=to_dumpable_context,
        from_dumpable_context=from_dumpable_context,
        flatten_with_keys_fn=flatten_with_keys_fn,
    )


def _private_register_pytree_node(
    cls: type[Any],
    flatten_fn: FlattenFn,
    unflatten_fn: UnflattenFn,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: FlattenWithKeysFn | None = None,
) -> None:
    if cls in SUPPORTED_NODES:
        warnings.warn(f"{cls} is already registered as pytree node. Overwriting the previous registration.", stacklevel=2)
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    name = NO_SERIALIZED_TYPE_NAME_FOUND if serialized_type_name is None else serialized_type_name
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    SUPPORTED_SERIALIZED_TYPES[cls] = _Serialized(cls, name, to_dumpable_context, from_dumpable_context)
    SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


def _register_pytree_node(
    cls: type[Any],
    flatten_fn: FlattenFn,
    unflatten_fn: UnflattenFn,
    to_str_fn: Any = None,
    maybe_from_str_fn: Any = None,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: FlattenWithKeysFn | None = None,
) -> None:
    """``register_pytree_node`` under its old name."""
    if to_str_fn is not None or maybe_from_str_fn is not None:
        warnings.warn(
            "`to_str_fn` and `maybe_from_str_fn` is deprecated. Please use `to_dumpable_context` and `from_dumpable_context` instead.",
            FutureWarning,
            stacklevel=2,
        )
    _private_register_pytree_node(
        cls,
        flatten_fn,
        unflatten_fn,
        serialized_type_name=serialized_type_name,
        to_dumpable_context=to_dumpable_context,
        from_dumpable_context=from_dumpable_context,
        flatten_with_keys_fn=flatten_with_keys_fn,
    )


def _deregister_pytree_node(cls: type[Any]) -> None:
    """Makes a class a leaf again."""
    del SUPPORTED_NODES[cls]
    SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(SUPPORTED_SERIALIZED_TYPES.pop(cls).serialized_type_name, None)


def register_dataclass(
    cls: type[Any],
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Makes a dataclass a container of its fields; fields that are None are no children."""
    if not dataclasses.is_dataclass(cls):
        if field_names is None:
            raise ValueError(f"field_names must be specified with a list of all fields used to initialize {cls}, as it is not a dataclass.")
    else:
        own = {f.name for f in dataclasses.fields(cls) if f.init} - set(drop_field_names or ())
        if field_names is None:
            field_names = [f.name for f in dataclasses.fields(cls) if f.init]
        elif own != set(field_names):
            message = "field_names does not include all dataclass fields.\n"
            if missing := own - set(field_names):
                message += (
                    f"Missing fields in `field_names`: {missing}. If you want to include these fields in the pytree, please add them to "
                    "`field_names`, otherwise please add them to `drop_field_names`.\n"
                )
            if unexpected := set(field_names) - own:
                message += (
                    f"Unexpected fields in `field_names`: {unexpected}. Please remove these fields, or add them to `drop_field_names`.\n"
                )
            raise ValueError(message)
    names = field_names

    def flatten(obj: Any) -> tuple[list[Any], Context]:
        full = [n for n in names if getattr(obj, n) is not None]
        return [getattr(obj, n) for n in full], [full, [n for n in names if n not in full]]

    def unflatten(values: Iterable[Any], context: Context) -> Any:
        full, empty = context
        return cls(**dict(zip(full, values, strict=True)), **dict.fromkeys(empty))

    def flatten_with_keys(obj: Any) -> tuple[list[tuple[Any, Any]], Context]:
        values, context = flatten(obj)
        return [(GetAttrKey(n), v) for n, v in zip(context[0], values)], context

    _private_register_pytree_node(
        cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=flatten_with_keys
    )


@dataclasses.dataclass(frozen=True, slots=True)
class ConstantNode:
    """The context of a constant."""

    value: Any


def register_constant(cls: type[Any]) -> None:
    """Makes a class a container without children: its objects are part of the structure and compare as such."""
    for name in ("__eq__", "__hash__"):
        if (getattr(cls, name) is object.__eq__) if name == "__eq__" else getattr(cls, name) is None:
            raise TypeError(f"register_constant(cls) expects `cls` to have a non-default `{name}` implementation.")
    _private_register_pytree_node(
        cls,
        lambda x: ([], ConstantNode(x)),
        lambda _, context: context.value,
        flatten_with_keys_fn=lambda x: ([], ConstantNode(x)),
    )
    CONSTANT_NODES.add(cls)


def is_constant_class(cls: type[Any]) -> bool:
    """Whether ``register_constant`` was called for the class."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


# ---- the standard containers -------------------------------------------------------------------------------------------------------------


def is_namedtuple_class(cls: type) -> bool:
    """Whether a class was made by ``namedtuple`` (or derives from one)."""
    return (
        isinstance(cls, type)
        and issubclass(cls, tuple)
        and isinstance(getattr(cls, "_fields", None), tuple)
        and all(type(field) is str for field in cls._fields)
        and callable(getattr(cls, "_make", None))
        and callable(getattr(cls, "_asdict", None))
    )


def is_namedtuple_instance(obj: object) -> bool:
    """Whether an object is of a named tuple's class."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: object) -> bool:
    """Whether an object or class is a named tuple."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: type) -> bool:
    """Whether a class is a struct sequence of the interpreter, such as ``time.struct_time``."""
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and all(isinstance(getattr(cls, n, None), int) for n in ("n_fields", "n_sequence_fields", "n_unnamed_fields"))
        and not cls.__flags__ & (1 << 10)  # Py_TPFLAGS_BASETYPE
    )


def is_structseq_instance(obj: object) -> bool:
    """Whether an object is of a struct sequence's class."""
    return is_structseq_class(type(obj))


def is_structseq(obj: object) -> bool:
    """Whether an object or class is a struct sequence."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _sequence_keys(d: Any) -> list[tuple[Any, Any]]:
    return [(SequenceKey(i), v) for i, v in enumerate(d)]


def _mapping_keys(d: Any) -> list[tuple[Any, Any]]:
    return [(MappingKey(k), v) for k, v in d.items()]


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], Context]:
    return list(d.values()), list(d.keys())


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


def _list_flatten_with_keys(d: list[Any]) -> tuple[list[Any], Context]:
    values, context = _list_flatten(d)
    return list(zip(map(SequenceKey, range(len(values))), values, strict=True)), context


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[Any], Context]:
    values, context = _dict_flatten(d)
    return list(zip(map(MappingKey, context), values, strict=True)), context


def _list_flatten(d: list[Any]) -> tuple[list[Any], Context]:
    return d, None


def _list_unflatten(values: Iterable[Any], context: Context) -> list[Any]:  # noqa: ARG001
    return list(values)


def _tuple_flatten(d: tuple[Any, ...]) -> tuple[list[Any], Context]:
    return list(d), None


def _tuple_unflatten(values: Iterable[Any], context: Context) -> tuple[Any, ...]:  # noqa: ARG001
    return tuple(values)


def _namedtuple_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), type(d)


def _namedtuple_unflatten(values: Iterable[Any], context: Context) -> Any:
    return context(*values)


def _defaultdict_from(values: Iterable[Any], context: Context) -> Any:
    factory, keys = context
    return defaultdict(factory, _dict_unflatten(values, keys))


def _dump_defaultdict(context: Any) -> DumpableContext:
    factory, keys = context
    return {"default_factory_module": factory.__module__, "default_factory_name": factory.__qualname__, "dict_context": keys}


def _load_defaultdict(dumped: DumpableContext) -> Context:
    factory = getattr(importlib.import_module(dumped["default_factory_module"]), dumped["default_factory_name"])
    return [factory, dumped["dict_context"]]


def _dump_namedtuple(context: Any) -> DumpableContext:
    if context not in SUPPORTED_SERIALIZED_TYPES:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {context} because we didn't register a serializated_type_name. "
            "Please register using `_register_namedtuple`."
        )
    return SUPPORTED_SERIALIZED_TYPES[context].serialized_type_name


def _load_namedtuple(dumped: Any) -> Context:
    if dumped not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(
            f"Can't deserialize TreeSpec of namedtuple class {dumped} because we couldn't find a serializated name."
        )
    return SERIALIZED_TYPE_TO_PYTHON_TYPE[dumped]


def _register_namedtuple(cls: type[Any], *, serialized_type_name: str) -> None:
    """Gives a named tuple's class the name under which tree specs are written."""
    SUPPORTED_SERIALIZED_TYPES[cls] = _Serialized(cls, serialized_type_name, None, None)
    SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


def _register_standard() -> None:
    def register(cls: type, flatten: FlattenFn, unflatten: UnflattenFn, name: str, keys: Any, dump: Any = None, load: Any = None) -> None:
        _private_register_pytree_node(
            cls,
            flatten,
            unflatten,
            serialized_type_name=name,
            to_dumpable_context=dump,
            from_dumpable_context=load,
            flatten_with_keys_fn=lambda d: (keys(d), flatten(d)[1]),
        )

    register(tuple, _tuple_flatten, _tuple_unflatten, "builtins.tuple", _sequence_keys)
    register(list, _list_flatten, _list_unflatten, "builtins.list", _sequence_keys)
    register(dict, _dict_flatten, _dict_unflatten, "builtins.dict", _mapping_keys)
    register(
        namedtuple,  # type: ignore[arg-type]  # stands for all its classes
        _namedtuple_flatten,
        _namedtuple_unflatten,
        "collections.namedtuple",
        lambda d: [(GetAttrKey(name), getattr(d, name)) for name in d._fields],
        _dump_namedtuple,
        _load_namedtuple,
    )
    register(OrderedDict, _dict_flatten, lambda v, c: OrderedDict(zip(c, v)), "collections.OrderedDict", _mapping_keys)
    register(
        defaultdict,
        lambda d: (list(d.values()), [d.default_factory, list(d.keys())]),
        _defaultdict_from,
        "collections.defaultdict",
        _mapping_keys,
        _dump_defaultdict,
        _load_defaultdict,
    )
    register(Size, lambda d: (list(d), None), lambda v, _: Size(v), "torch.Size", _sequence_keys)
    register(deque, lambda d: (list(d), d.maxlen), lambda v, c: deque(v, maxlen=c), "collections.deque", _sequence_keys)


_register_standard()

STANDARD_DICT_TYPES: frozenset[type] = frozenset({dict, OrderedDict, defaultdict})
BUILTIN_TYPES: frozenset[Any] = frozenset({tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque})


def _get_node_type(tree: Any) -> Any:
    kind = type(tree)
    if kind not in SUPPORTED_NODES and isinstance(tree, tuple):
        if is_namedtuple_class(kind):
            return namedtuple
        if isinstance(tree, _Result):  # the classes of what functions return are made when a function first returns it
            _private_register_pytree_node(
                kind,
                lambda d: (list(d), None),
                lambda values, _: kind(list(values)),
                serialized_type_name=f"torch.return_types.{kind.__name__}",
                flatten_with_keys_fn=lambda d: (_sequence_keys(d), None),
            )
    return kind


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether nothing is inside: no registered container, or one that ``is_leaf`` says to leave whole."""
    if is_leaf is not None and is_leaf(tree):
        return True
    return _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


# ---- specs -------------------------------------------------------------------------------------------------------------------------------


class TreeSpec:
    """The structure of a tree: ``type`` of the container (None for a leaf), its context, and its children's specs."""

    __slots__ = ("type", "_context", "_children", "num_nodes", "num_leaves", "num_children")

    def __init__(self, type: Any, context: Context, children_specs: list[TreeSpec]) -> None:
        if type is None and (context is not None or children_specs):
            raise AssertionError(f"leaf node should not have {'a context' if context is not None else 'children'}")
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

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """The tree of this structure with the given leaves."""
        if not isinstance(leaves, list | tuple):
            leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds "
                f"{self.num_leaves} items ({self})."
            )
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> PyTree:
        if self.type is None:
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn([child._build(leaves) for child in self._children], self._context)

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
            raise ValueError(f"{'Node type' if builtin else 'Type'} mismatch; expected {self.type!r}, but got {kind!r}.")
        context: Any = None
        if dicts:
            children: list[Any] = list(tree)
        else:
            children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
        if dicts:
            keys = self._context[1] if self.type is defaultdict else self._context
            missing, extra = set(keys) - set(tree), set(tree) - set(keys)
            if missing or extra:
                message = (f"; missing key(s): {missing}" if missing else "") + (f"; extra key(s): {extra}" if extra else "")
                raise ValueError(f"Node keys mismatch{message}.")
            return [tree[key] for key in keys]
        if not builtin and context != self._context:
            raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
        if builtin and kind is not deque and context != self._context:
            raise ValueError(f"Node context mismatch for node type {self.type!r}; expected {self._context!r}, but got {context!r}.")
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


# ---- functions ---------------------------------------------------------------------------------------------------------------------------


def _flatten_into(tree: PyTree, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF_SPEC
    kind = _get_node_type(tree)
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten_into(child, leaves, is_leaf) for child in children])


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, and its structure."""
    leaves: list[Any] = []
    return leaves, _flatten_into(tree, leaves, is_leaf)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree of a structure with the given leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of PyTreeSpec but got item of type {type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
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


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """The tree of ``func`` of the leaves of one or more trees."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(list(map(func, leaves, *(spec.flatten_up_to(r) for r in rests))))


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
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


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator: the function on what is of the types (or fulfils the predicate), all else unchanged."""
    pred = _predicate(type_or_types_or_pred)

    def wrapper(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(func)
        def wrapped(x: Any) -> Any:
            return func(x) if pred(x) else x

        return wrapped

    return wrapper


def tree_map_only(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """``tree_map`` for leaves of some types; the others stay."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """``tree_map_`` for leaves of some types."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether ``pred`` holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether ``pred`` holds for a leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether ``pred`` holds for all leaves of some types."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether ``pred`` holds for a leaf of some types."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf = None) -> list[Any] | None:
    """The leaves of ``tree``, each repeated for the part of a larger structure that it stands for; None where they do not fit."""
    full = tree_unflatten([0] * treespec.num_leaves, treespec)
    leaves, spec = tree_flatten(tree, is_leaf)
    try:
        parts = spec.flatten_up_to(full)
    except ValueError:
        return None
    return [leaf for leaf, part in zip(leaves, parts) for _ in tree_iter(part, is_leaf)]


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of all arguments."""
    return [leaf for a in (*args, *kwargs.values()) for leaf in tree_iter(a)]


def _paths(path: KeyPath, tree: PyTree, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    kind = _get_node_type(tree)
    with_keys = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if with_keys is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, child in with_keys(tree)[0]:
        yield from _paths((*path, key), child, is_leaf)


def tree_flatten_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves with their paths, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """The leaves with their paths."""
    return list(_paths((), tree, is_leaf))


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """``tree_map`` whose function gets the path first."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [[path for path, _ in pairs], [leaf for _, leaf in pairs], *(spec.flatten_up_to(r) for r in rests)]
    return spec.unflatten(list(map(func, *columns)))


# ---- specs as text -----------------------------------------------------------------------------------------------------------------------


def _to_json(spec: TreeSpec) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    known = SUPPORTED_SERIALIZED_TYPES.get(spec.type)
    if known is None:
        raise NotImplementedError(f"Serializing {spec.type} in pytree is not registered.")
    if known.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your _register_pytree_node call with a "
            "`serialized_type_name` kwarg."
        )
    if known.to_dumpable_context is not None:
        context = known.to_dumpable_context(spec.context)
    else:
        try:
            context = json.dumps(spec.context)
        except TypeError as e:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register a custom serializer using "
                "_register_pytree_node."
            ) from e
    return {"type": known.serialized_type_name, "context": context, "children_spec": [_to_json(c) for c in spec.children()]}


def _from_json(data: Mapping[str, Any]) -> TreeSpec:
    if data["type"] is None:
        return _LEAF_SPEC
    if data["type"] not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Deserializing {data['type']} in pytree is not registered.")
    kind: Any = SERIALIZED_TYPE_TO_PYTHON_TYPE[data["type"]]
    load = SUPPORTED_SERIALIZED_TYPES[kind].from_dumpable_context
    context = json.loads(data["context"]) if load is None else load(data["context"])
    return TreeSpec(kind, context, [_from_json(child) for child in data["children_spec"]])


def _check_protocol(protocol: int) -> None:
    if protocol != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL}]")


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
