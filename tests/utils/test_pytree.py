"""Trees of containers."""

from __future__ import annotations

import collections
import dataclasses
import enum
import sys
from typing import Any

import pytest

from jtorch.fx.immutable_collections import immutable_dict, immutable_list
from jtorch.utils import _pytree as P

Point = collections.namedtuple("Point", "x y")

TREE: Any = {
    "list": [1, (2, None)],
    "point": Point(3, [4]),
    "ordered": collections.OrderedDict(b=5, a=6),
    "default": collections.defaultdict(list, {1: 7}),
    "deque": collections.deque([8, 9], maxlen=3),
    "empty": [],
}


def test_flatten_and_rebuild() -> None:
    leaves, spec = P.tree_flatten(TREE)
    assert leaves == [1, 2, None, 3, 4, 5, 6, 7, 8, 9]
    again = P.tree_unflatten(leaves, spec)
    assert again == TREE
    assert again["deque"].maxlen == 3
    assert again["default"].default_factory is list
    assert spec.num_leaves == 10
    assert P.treespec_pprint(P.tree_structure({"a": [1, (2,)]})) == "{'a': [*, (*,)]}"
    with pytest.raises(
        ValueError,
        match="`leaves` has length 1 but the spec refers to a pytree that holds 10 items",
    ):
        P.tree_unflatten([1], spec)


def test_maps() -> None:
    assert P.tree_map(lambda x: x * 2, [1, {"a": (2,)}]) == [2, {"a": (4,)}]
    assert P.tree_map(lambda a, b: a + b, [1, [2]], [10, [20]]) == [11, [22]]
    assert P.tree_map_only(int, str, [1, 2.0, "x"]) == ["1", 2.0, "x"]
    assert P.tree_map_only((int, float), str, [1, 2.0, "x"]) == ["1", "2.0", "x"]
    assert P.tree_map_only(lambda x: x == 2, str, [1, 2]) == [1, "2"]
    assert P.tree_all(bool, [1, [2]])
    assert P.tree_any_only(str, lambda s: s == "x", [1, "x"])
    assert P.tree_map(len, [[1, 2], [3]], is_leaf=lambda x: x and not isinstance(x[0], list)) == [
        2,
        1,
    ]
    with pytest.raises(ValueError, match="Node arity mismatch; expected 2, but got 1"):
        P.tree_map(lambda a, b: a, [1, 2], [1])
    with pytest.raises(ValueError, match="missing key"):
        P.tree_map(lambda a, b: a, {"a": 1}, {"b": 1})


def test_paths() -> None:
    paths = {P.keystr(path): leaf for path, leaf in P.tree_leaves_with_path(TREE)}
    assert paths["['list'][1][0]"] == 2
    assert paths["['point'].y[0]"] == 4
    for path, leaf in P.tree_leaves_with_path(TREE):
        assert P.key_get(TREE, path) is leaf


def test_specs_compare_hash_and_print() -> None:
    a, b = P.tree_structure({"x": [1, 2]}), P.tree_structure({"x": [3, 4]})
    assert a == b
    assert hash(a) == hash(b)
    assert a != P.tree_structure({"y": [1, 2]})
    assert repr(a) == "TreeSpec(dict, ['x'], [TreeSpec(list, None, [*,\n    *])])"
    assert P.treespec_loads(P.treespec_dumps(a)) == a


def test_broadcasting() -> None:
    assert P._broadcast_to_and_flatten(
        {"a": 1, "b": 2}, P.tree_structure({"a": [0, 0], "b": 0})
    ) == [1, 1, 2]
    assert P._broadcast_to_and_flatten([1], P.tree_structure({"a": 0})) is None


def test_registered_classes() -> None:
    class Pair:
        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

    assert P.tree_leaves(Pair(1, 2))[0].a == 1
    P.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda v, _: Pair(*v))
    try:
        assert P.tree_leaves([Pair(1, [2])]) == [1, 2]
        assert P.tree_map(str, Pair(1, 2)).b == "2"
        with pytest.raises(ValueError, match="is already registered as pytree node"):
            P.register_pytree_node(Pair, lambda p: ([], None), lambda v, _: Pair(1, 2))
    finally:
        P._deregister_pytree_node(Pair)
    assert P.tree_is_leaf(Pair(1, 2))


def test_dataclasses() -> None:
    @dataclasses.dataclass
    class Config:
        a: Any
        b: Any = None

    P.register_dataclass(Config)
    try:
        assert P.tree_leaves(Config([1, 2])) == [1, 2]
        assert P.tree_map(lambda x: x + 1, Config(1)) == Config(2, None)
    finally:
        P._deregister_pytree_node(Config)


class Kind(enum.Enum):
    ONE = 1


def test_members_of_enumerations_are_written() -> None:
    spec = P.TreeSpec(dict, [Kind.ONE], [P.treespec_leaf()])
    text = P.treespec_dumps(spec)
    assert '\\"__enum__\\": true' in text and P.treespec_loads(text) == spec


@pytest.mark.parametrize(
    ("fqn", "error"),
    [
        ("antigravity:Kind", NotImplementedError),
        ("os:environ", TypeError),
        ("json:JSONDecoder", TypeError),
    ],
)
def test_texts_of_members_import_nothing(fqn: str, error: type[Exception]) -> None:
    text = P.treespec_dumps(P.TreeSpec(dict, [Kind.ONE], [P.treespec_leaf()]))
    with pytest.raises(error):
        P.treespec_loads(text.replace(f"{Kind.__module__}:{Kind.__qualname__}", fqn))
    assert "antigravity" not in sys.modules


def test_immutable_containers_have_paths() -> None:
    tree = immutable_dict(a=immutable_list([1, 2]))
    assert P.tree_flatten_with_path(tree)[0] == [
        ((P.MappingKey("a"), P.SequenceKey(i)), i + 1) for i in range(2)
    ]


def test_the_old_name_of_registration_is_deprecated() -> None:
    with pytest.warns(FutureWarning, match="_register_pytree_node` is deprecated"):
        P._register_pytree_node(
            type("Own", (), {}), lambda x: ([], None), lambda children, context: None
        )
