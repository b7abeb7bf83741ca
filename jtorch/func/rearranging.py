"""``rearrange``: permutes, splits and joins dimensions as a pattern says."""

from __future__ import annotations

import keyword
import math
import re
import warnings
from typing import Any

import jtorch

_TOKEN = re.compile(r"\s*(->|\.\.\.|[()]|[^\s().]+|\.)")


class DimensionBindError(Exception):
    """A dimension cannot be split as a pattern asks."""


#: One side of a pattern: names, or groups of them; ``...`` stands for any number of dimensions and
#: a group of none for one of size 1.
Side = list[Any]


def rearrange(tensor: jtorch.Tensor, pattern: str, **axes_lengths: int) -> jtorch.Tensor:
    """``tensor`` with its dimensions permuted, split and joined as ``pattern`` says:
    ``"b (h w) c -> b c h w"``.

    Dimensions have names, those in parentheses lie in one, the first the slowest; ``...`` stands
    for those that are not named and ``1`` or ``()`` for one of size 1. ``axes_lengths`` are the
    sizes of names; of each dimension to be split one may be left out. A list of tensors is stacked
    first.

    Raises:
        ValueError: for a pattern that is wrong, or does not fit the tensor.
        DimensionBindError: if a dimension cannot be split into the sizes.

    Example:
        >>> import jtorch as torch
        >>> x = torch.arange(6).view(2, 3)
        >>> torch.func.rearrange(x, "a (b c) -> c a b", b=3)
        tensor([[[0, 1, 2],
                 [3, 4, 5]]])
    """
    if not isinstance(tensor, jtorch.Tensor):
        tensor = jtorch.stack(tensor)
    left, right = _parsed(pattern)
    _check(left, right, pattern, axes_lengths)
    ndim, more = tensor.dim(), "..." in left
    named = len(left) - more
    if named > ndim or (named < ndim and not more):
        least = " at least" if more else ""
        raise ValueError(
            f"Number of dimensions in pattern ({named}) must be{least or ' equal to'} the number "
            f"of dimensions in the tensor ({ndim})"
        )
    rest = [f".{i}" for i in range(ndim - named)]
    split: list[str] = []
    sizes: dict[str, int] = {}
    at = 0
    for item in left:
        if item == "...":
            for name in rest:
                sizes[name] = tensor.shape[at]
                at += 1
            split += rest
            continue
        names = item if isinstance(item, list) else [item]
        sizes.update(_bound(names, tensor.shape[at], axes_lengths, at))
        split += names
        at += 1
    flat = tensor.reshape([sizes[n] for n in split])
    groups = [
        g
        for item in right
        for g in ([[n] for n in rest] if item == "..." else [_opened(item, rest)])
    ]
    order = [split.index(n) for g in groups for n in g]
    # of size 1, named by the left side alone
    dropped = [i for i in range(len(split)) if i not in order]
    return flat.permute([*order, *dropped]).reshape(
        [math.prod(sizes[n] for n in g) for g in groups]
    )


def _opened(item: list[str] | str, rest: list[str]) -> list[str]:
    if not isinstance(item, list):
        return [item]
    return [n for name in item for n in (rest if name == "..." else [name])]


def _parsed(pattern: str) -> tuple[Side, Side]:
    parts = pattern.split("->")
    if len(parts) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    count = 0
    sides = []
    for text in parts:
        if text.replace("...", "", 1).count("."):
            raise ValueError(
                "Expression may contain dots only inside ellipsis (...); only one ellipsis for "
                "tensor "
            )
        side: Side = []
        group: list[str] | None = None
        for token in _TOKEN.findall(text):
            if token == "(":
                if group is not None:
                    raise ValueError(
                        "Axis composition is one-level (brackets inside brackets not allowed)"
                    )
                group = []
            elif token == ")":
                if group is None:
                    raise ValueError("Brackets are not balanced")
                side.append(group)
                group = None
            elif token == "1":
                if group is None:
                    side.append([])
            else:
                _check_name(token)
                (side if group is None else group).append(token)
        if group is not None:
            raise ValueError(f"Imbalanced parentheses in expression: '{text}'")
        # Each dimension of size 1 gets a name of its own, so that it can be told from the others.
        named = []
        for item in side:
            if item == [] and len(sides) == 0:
                named.append([f"1{count}"])
                count += 1
            else:
                named.append(item)
        sides.append(named)
    return sides[0], sides[1]


def _check_name(name: str) -> None:
    if name == "...":
        return
    if name.isdecimal():
        raise ValueError("rearrange only supports unnamed axes of size 1")
    why = ""
    if not name.isidentifier():
        why = "not a valid python identifier"
    elif name[0] == "_" or name[-1] == "_":
        why = "axis name should should not start or end with underscore"
    if why:
        raise ValueError(f"Invalid axis identifier: {name}\n{why}")
    if keyword.iskeyword(name):
        warnings.warn(
            f"It is discouraged to use axes names that are keywords: {name}",
            RuntimeWarning,
            stacklevel=5,
        )


def _names(side: Side) -> list[str]:
    return [
        n
        for item in side
        for n in (item if isinstance(item, list) else [item])
        if not n[0].isdecimal()
    ]


def _check(left: Side, right: Side, pattern: str, lengths: dict[str, int]) -> None:
    for side in (left, right):
        names = _names(side)
        for i, name in enumerate(names):
            if name in names[:i]:
                raise ValueError(f"Indexing expression contains duplicate dimension '{name}'")
    if "..." not in _names(left) and "..." in _names(right):
        raise ValueError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if any(isinstance(item, list) and "..." in item for item in left):
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    odd = set(_names(left)) ^ set(_names(right))
    if odd:
        raise ValueError(
            f"Identifiers only on one side of rearrange expression (should be on both): {odd}"
        )
    unknown = set(lengths) - set(_names(left))
    if unknown:
        raise ValueError(f"Identifiers not found in rearrange expression: {unknown}")


def _bound(names: list[str], size: int, lengths: dict[str, int], at: int) -> dict[str, int]:
    """The sizes of the names that share a dimension."""
    if len(names) == 1:
        if names[0][0].isdecimal() and size != 1:
            raise ValueError(f"Dimension {at} has size {size}, where the pattern has 1")
        if lengths.get(names[0], size) != size:
            raise DimensionBindError(
                f"inferred dimension does not evenly fit into larger dimension: {size} vs "
                f"({lengths[names[0]]},)"
            )
        return {names[0]: size}
    unknown = [i for i, n in enumerate(names) if n not in lengths]
    if len(unknown) > 1:
        raise DimensionBindError(
            f"cannot infer the sizes of two dimensions at once d{at + unknown[0]} and "
            f"d{at + unknown[1]}"
        )
    known = math.prod(lengths[n] for n in names if n in lengths)
    if (unknown and (not known or size % known)) or (not unknown and known != size):
        sizes = ", ".join(str(lengths[n]) if n in lengths else "'?'" for n in names)
        raise DimensionBindError(
            f"inferred dimension does not evenly fit into larger dimension: {size} vs ({sizes})"
        )
    return {n: lengths[n] if n in lengths else size // known for n in names}
