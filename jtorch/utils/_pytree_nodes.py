"""Which types are containers, and how each is taken apart and put together: the registry of
``torch.utils._pytree``.

Leaves are whatever is no registered container. Knows no tensors.
"""

from __future__ import annotations

import dataclasses
import importlib
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from .._src.facts.size import Size
from ..return_types import _Result

if TYPE_CHECKING:
    from .._src.facts.kinds import Function, Tree, Values


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


# ---- keys ----------------------------------------------------------------------------------------


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

    def get(self, obj: object) -> Any:
        """What is there."""
        return getattr(obj, self.name)


def keystr(kp: KeyPath) -> str:
    """A path as text: ``['a'][0].b``."""
    return "".join(str(k) for k in kp)


def key_get(obj: object, kp: KeyPath) -> Any:
    """What a path leads to."""
    for k in kp:
        obj = k.get(obj)
    return obj


# ---- registering ---------------------------------------------------------------------------------


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
        warnings.warn(
            f"{cls} is already registered as pytree node. Overwriting the previous registration.",
            stacklevel=2,
        )
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or "
            "registered."
        )
    name = NO_SERIALIZED_TYPE_NAME_FOUND if serialized_type_name is None else serialized_type_name
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    SUPPORTED_SERIALIZED_TYPES[cls] = _Serialized(
        cls, name, to_dumpable_context, from_dumpable_context
    )
    SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


def _register_pytree_node(
    cls: type[Any],
    flatten_fn: FlattenFn,
    unflatten_fn: UnflattenFn,
    to_str_fn: object = None,
    maybe_from_str_fn: object = None,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: FlattenWithKeysFn | None = None,
) -> None:
    """``register_pytree_node`` under its old name."""
    warnings.warn(
        "`torch.utils._pytree._register_pytree_node` is deprecated. Please use "
        "`torch.utils._pytree.register_pytree_node` instead.",
        FutureWarning,
        stacklevel=2,
    )
    if to_str_fn is not None or maybe_from_str_fn is not None:
        warnings.warn(
            "`to_str_fn` and `maybe_from_str_fn` is deprecated. Please use `to_dumpable_context` "
            "and `from_dumpable_context` instead.",
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
    SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(
        SUPPORTED_SERIALIZED_TYPES.pop(cls).serialized_type_name, None
    )


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
            raise ValueError(
                "field_names must be specified with a list of all fields used to initialize "
                f"{cls}, as it is not a dataclass."
            )
    else:
        own = {f.name for f in dataclasses.fields(cls) if f.init} - set(drop_field_names or ())
        if field_names is None:
            field_names = [f.name for f in dataclasses.fields(cls) if f.init]
        elif own != set(field_names):
            message = "field_names does not include all dataclass fields.\n"
            if missing := own - set(field_names):
                message += (
                    f"Missing fields in `field_names`: {missing}. If you want to include these "
                    "fields in the pytree, please add them to `field_names`, otherwise please add "
                    "them to `drop_field_names`.\n"
                )
            if unexpected := set(field_names) - own:
                message += (
                    f"Unexpected fields in `field_names`: {unexpected}. Please remove these "
                    "fields, or add them to `drop_field_names`.\n"
                )
            raise ValueError(message)
    names = field_names

    def flatten(obj: object) -> tuple[Values, Context]:
        full = [n for n in names if getattr(obj, n) is not None]
        return [getattr(obj, n) for n in full], [full, [n for n in names if n not in full]]

    def unflatten(values: Iterable[object], context: Context) -> Any:
        full, empty = context
        return cls(**dict(zip(full, values, strict=True)), **dict.fromkeys(empty))

    def flatten_with_keys(obj: object) -> tuple[list[tuple[object, object]], Context]:
        values, context = flatten(obj)
        return [(GetAttrKey(n), v) for n, v in zip(context[0], values)], context

    _private_register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=flatten_with_keys,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class ConstantNode:
    """The context of a constant."""

    value: Any


def register_constant(cls: type[Any]) -> None:
    """Makes a class a container without children: its objects are part of the structure and compare
    as such."""
    for name in ("__eq__", "__hash__"):
        if (
            (getattr(cls, name) is object.__eq__)
            if name == "__eq__"
            else getattr(cls, name) is None
        ):
            raise TypeError(
                f"register_constant(cls) expects `cls` to have a non-default `{name}` "
                "implementation."
            )
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


# ---- the standard containers ---------------------------------------------------------------------


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
        and all(
            isinstance(getattr(cls, n, None), int)
            for n in ("n_fields", "n_sequence_fields", "n_unnamed_fields")
        )
        and not cls.__flags__ & (1 << 10)  # Py_TPFLAGS_BASETYPE
    )


def is_structseq_instance(obj: object) -> bool:
    """Whether an object is of a struct sequence's class."""
    return is_structseq_class(type(obj))


def is_structseq(obj: object) -> bool:
    """Whether an object or class is a struct sequence."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _sequence_keys(d: Iterable[object]) -> list[tuple[SequenceKey, object]]:
    return [(SequenceKey(i), v) for i, v in enumerate(d)]


def _mapping_keys(d: Any) -> list[tuple[object, object]]:
    return [(MappingKey(k), v) for k, v in d.items()]


def _dict_flatten(d: dict[object, object]) -> tuple[list[object], Context]:
    return list(d.values()), list(d.keys())


def _dict_unflatten(values: Iterable[object], context: Context) -> dict[object, object]:
    return dict(zip(context, values, strict=True))


def _list_flatten_with_keys(d: Values) -> tuple[Values, Context]:
    values, context = _list_flatten(d)
    return list(zip(map(SequenceKey, range(len(values))), values, strict=True)), context


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[Any], Context]:
    values, context = _dict_flatten(d)
    return list(zip(map(MappingKey, context), values, strict=True)), context


def _list_flatten(d: Values) -> tuple[list[object], Context]:
    return d, None


def _list_unflatten(values: Iterable[object], context: Context) -> list[object]:  # noqa: ARG001
    return list(values)


def _tuple_flatten(d: tuple[object, ...]) -> tuple[list[object], Context]:
    return list(d), None


def _tuple_unflatten(values: Iterable[object], context: Context) -> tuple[object, ...]:  # noqa: ARG001
    return tuple(values)


def _namedtuple_flatten(d: Any) -> tuple[list[object], Context]:
    return list(d), type(d)


def _namedtuple_unflatten(values: Iterable[object], context: Context) -> object:
    return context(*values)


def _defaultdict_from(values: Iterable[object], context: Context) -> object:
    factory, keys = context
    return defaultdict(factory, _dict_unflatten(values, keys))


def _dump_defaultdict(context: Any) -> DumpableContext:
    factory, keys = context
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def _load_defaultdict(dumped: DumpableContext) -> Context:
    factory = getattr(
        importlib.import_module(dumped["default_factory_module"]), dumped["default_factory_name"]
    )
    return [factory, dumped["dict_context"]]


def _dump_namedtuple(context: object) -> DumpableContext:
    if context not in SUPPORTED_SERIALIZED_TYPES:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {context} because we didn't register a "
            "serializated_type_name. Please register using `_register_namedtuple`."
        )
    return SUPPORTED_SERIALIZED_TYPES[context].serialized_type_name


def _load_namedtuple(dumped: Any) -> Context:
    if dumped not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(
            f"Can't deserialize TreeSpec of namedtuple class {dumped} because we couldn't find a "
            "serializated name."
        )
    return SERIALIZED_TYPE_TO_PYTHON_TYPE[dumped]


def _register_namedtuple(cls: type[Any], *, serialized_type_name: str) -> None:
    """Gives a named tuple's class the name under which tree specs are written."""
    SUPPORTED_SERIALIZED_TYPES[cls] = _Serialized(cls, serialized_type_name, None, None)
    SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


def _register_standard() -> None:
    def register(
        cls: type,
        flatten: FlattenFn,
        unflatten: UnflattenFn,
        name: str,
        keys: Function,
        dump: Callable[..., object] | None = None,
        load: Callable[..., object] | None = None,
    ) -> None:
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
    register(
        OrderedDict,
        _dict_flatten,
        lambda v, c: OrderedDict(zip(c, v)),
        "collections.OrderedDict",
        _mapping_keys,
    )
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
    register(
        deque,
        lambda d: (list(d), d.maxlen),
        lambda v, c: deque(v, maxlen=c),
        "collections.deque",
        _sequence_keys,
    )


_register_standard()

STANDARD_DICT_TYPES: frozenset[type] = frozenset({dict, OrderedDict, defaultdict})
BUILTIN_TYPES: frozenset[object] = frozenset(
    {tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque}
)


def _get_node_type(tree: Tree) -> Any:
    kind = type(tree)
    if kind not in SUPPORTED_NODES and isinstance(tree, tuple):
        if is_namedtuple_class(kind):
            return namedtuple
        # the classes of what functions return are made when a function first returns it
        if isinstance(tree, _Result):
            _private_register_pytree_node(
                kind,
                lambda d: (list(d), None),
                lambda values, _: kind(list(values)),
                serialized_type_name=f"torch.return_types.{kind.__name__}",
                flatten_with_keys_fn=lambda d: (_sequence_keys(d), None),
            )
    return kind


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether nothing is inside: no registered container, or one that ``is_leaf`` says to leave
    whole."""
    if is_leaf is not None and is_leaf(tree):
        return True
    return _get_node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


# Programs know, print and pickle all of this as of ``torch.utils._pytree``.
for _own in [*globals().values()]:
    if getattr(_own, "__module__", None) == __name__:
        _own.__module__ = "jtorch.utils._pytree"
