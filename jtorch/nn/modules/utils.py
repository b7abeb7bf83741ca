"""Helpers for arguments that are one number or one per dimension."""

from __future__ import annotations

import collections.abc
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..._src.facts.kinds import Row


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    def parse(x: int) -> tuple[int, ...]:
        if isinstance(x, collections.abc.Iterable):
            return tuple(x)
        return tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Sequence[object], n: int) -> Row:
    """The items of ``t`` from last to first, each ``n`` times: a convolution's padding as ``F.pad``
    wants it."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(
    out_size: int | Sequence[int | None], defaults: Sequence[int]
) -> int | list[int]:
    """``out_size`` with each None replaced by the entry of ``defaults`` at its place, counted from
    the end."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [
        d if v is None else v for v, d in zip(out_size, defaults[-len(out_size) :], strict=False)
    ]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Strips ``prefix`` (such as ``"module."``) off the keys of ``state_dict`` and of its metadata,
    in place."""
    for key in list(state_dict.keys()):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    for key in list(metadata.keys()):
        # The metadata of the prefix itself has the prefix's name without the dot.
        if len(key) == 0:
            continue
        if key == prefix.replace(".", "") or key.startswith(prefix):
            metadata[key[len(prefix) :]] = metadata.pop(key)
