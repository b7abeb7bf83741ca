"""What collectives ask of their operands before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import Tensor
from . import debugging
from .group import GroupMember, ProcessGroup


def refuse(name: str, value: object) -> None:
    """Raises the error of an argument that is no tensor."""
    raise TypeError(
        f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
        f"             but got {type(value)} instead."
    )


def check_tensor(value: object, name: str) -> None:
    """Refuses what is no tensor.

    Raises:
        TypeError: for it.
    """
    if not isinstance(value, Tensor):
        refuse(name, value)


def check_tensors(values: object, name: str) -> None:
    """Refuses what is no list of tensors.

    Raises:
        TypeError: for it.
    """
    if not isinstance(values, (list, tuple)) or not all(isinstance(t, Tensor) for t in values):
        told = (
            f" with elements of type {[type(v) for v in values]}."
            if isinstance(values, (list, tuple))
            else " instead."
        )
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(values)}{told}"
        )


def check_same_dtype(*tensors: Any) -> None:
    """Refuses tensors of several dtypes.

    Raises:
        ValueError: for them.
    """
    flat: list[Tensor] = []
    for t in tensors:
        flat += t if isinstance(t, (list, tuple)) else [t]
    for t in flat[1:]:
        if t.dtype != flat[0].dtype:
            raise ValueError(
                f"Invalid usage of tensors with different dtypesFound {flat[0].dtype} and  "
                f"{t.dtype}"
            )


def check_places(places: Sequence[Tensor], like: Tensor, name: str) -> None:
    """Refuses tensors that are to hold others like one, and have another shape.

    Raises:
        RuntimeError: for the first of them.
    """
    for i, t in enumerate(places):
        if t.shape != like.shape:
            raise RuntimeError(
                f"ProcessGroupGloo::{name}: invalid tensor size at index {i} (expected "
                f"{sizes_of(like)}, got {sizes_of(t)})"
            )


def sizes_of(t: Tensor) -> str:
    """A shape as PyTorch's C++ code writes it."""
    return f"({', '.join(map(str, t.shape))})"


def outside(group: object) -> bool:
    """Whether this process is not in the group, and so does nothing."""
    return (
        group is not None
        and not isinstance(group, (ProcessGroup, str))
        and group == GroupMember.NON_GROUP_MEMBER
    )


def root_of(
    pg: ProcessGroup, rank: int | None, in_group: int | None, name: str, default: int | None = 0
) -> int:
    """The place in the group of a rank that is given as a global or a group rank.

    Raises:
        ValueError: if both are given, or neither where there is no default, or the group has not
            that rank.
        RuntimeError: for a place that the group has not.
    """
    if in_group is not None:
        if rank is not None:
            raise ValueError("Can't specify both group_rank and global_rank")
        root = in_group
    elif rank is None:
        if default is None:
            raise ValueError("Must specify global_rank or group_rank")
        root = default
    elif pg is GroupMember.WORLD:
        root = rank
    elif rank not in pg.ranks:
        raise ValueError(f"Global rank {rank} is not part of group {pg}")
    else:
        root = pg.ranks.index(rank)
    if not 0 <= root < pg.size():
        raise RuntimeError(f"ProcessGroupGloo::{name}: invalid root rank: {root}")
    return root


def what_is_done(name: str, *facts: object) -> str:
    """What the processes must agree on, in words."""
    return "|".join([name, *map(str, facts)])


def shape_words(t: Tensor) -> str:
    """A tensor's shape, for comparison between processes where ``TORCH_DISTRIBUTED_DEBUG=DETAIL``
    asks for it."""
    return str(tuple(t.shape)) if debugging.get_debug_level() == debugging.DebugLevel.DETAIL else ""


def averaged(total: np.ndarray, kind: str, processes: int) -> np.ndarray:
    """The sum, or the mean."""
    return (total / processes).astype(total.dtype, copy=False) if kind == "avg" else total


def check_some(tensors: Sequence[Tensor], name: str) -> None:
    """Refuses an empty list.

    Raises:
        NotImplementedError: for it, as PyTorch's dispatcher has it.
    """
    if not tensors:
        raise NotImplementedError(
            "There were no tensor arguments to this function (e.g., you passed an empty list of "
            f"Tensors), but no fallback function is registered for schema c10d::{name}."
        )


def sizes_of_each(tensors: Sequence[Tensor]) -> str:
    """How many elements each of several tensors has, for comparison between processes; their shapes
    where those are compared."""
    return ", ".join(shape_words(t) or str(t.numel()) for t in tensors)
