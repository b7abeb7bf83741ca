"""Nested states as flat ones, whose names are the keys that lead to a value."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import jtorch as torch

if TYPE_CHECKING:
    from ..._src.facts.kinds import Tree


OBJ_PATH = tuple[str | int, ...]
FLATTEN_MAPPING = dict[str, OBJ_PATH]


def _has_inside(value: Iterable[object], inside: Callable[..., object]) -> bool:
    """Whether a list holds a tensor or a mapping, however deep: then its items are named one by
    one."""
    return any(
        isinstance(entry, torch.Tensor) or (isinstance(entry, (Mapping, list)) and inside(entry))
        for entry in value
    )


def _goes_into(value: object) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, list) and _has_inside(value, _goes_into)
    )


def _went_into(value: object) -> bool:
    """The same for checkpoints of PyTorch before 2.4, which kept mappings without tensors whole."""
    if isinstance(value, Mapping):
        return _has_inside(value.values(), _went_into)
    return isinstance(value, list) and _has_inside(value, _went_into)


def _walk(
    path: OBJ_PATH, value: Tree, into: Callable[..., object]
) -> Iterator[tuple[OBJ_PATH, Any]]:
    if not into(value):
        yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _walk((*path, str(key)), inner, into)
    else:
        for i, inner in enumerate(value):
            yield from _walk((*path, i), inner, into)


def flatten_state_dict(
    state_dict: Mapping[str, object], *, before_2_4: bool = False
) -> tuple[dict[str, Any], FLATTEN_MAPPING]:
    """The values by their names, and the keys that lead to each name.

    Raises:
        ValueError: if two values get one name.
    """
    flat = {}
    paths: FLATTEN_MAPPING = {}
    for key, value in state_dict.items():
        for path, leaf in _walk((str(key),), value, _went_into if before_2_4 else _goes_into):
            name = ".".join(map(str, path))
            if name in flat:
                raise ValueError(f"duplicated flatten key {name}")
            flat[name], paths[name] = leaf, path
    return flat, paths


def set_element(root: Any, path: OBJ_PATH, value: Any) -> None:
    """Puts a value where keys lead to; makes the dicts and lists that lack on the way."""
    at = root
    for key, following in itertools.pairwise(path):
        empty: Any = {} if isinstance(following, str) else []
        if isinstance(at, Mapping):
            at = at.setdefault(key, empty)
        else:
            at += [None] * (int(key) + 1 - len(at))
            if at[key] is None:
                at[key] = empty
            at = at[key]
    last = path[-1]
    if isinstance(last, int):
        at += [None] * (last + 1 - len(at))
    elif isinstance(at, dict) and last not in at:
        # keys that are no text have lost their type on the way
        last = next((key for key in at if str(key) == last), last)
    at[last] = value


def unflatten_state_dict(
    state_dict: Mapping[str, object], mapping: FLATTEN_MAPPING
) -> dict[str, object]:
    """The nested state of a flat one."""
    nested = {}
    for name, value in state_dict.items():
        set_element(nested, mapping[name], value)
    return nested
