"""Several groups at once: of lists of ranks, of as many each, parts of a group."""

from __future__ import annotations

import os
from typing import Any

from .group import STATE, ProcessGroup, new_group, world

__all__ = ["new_subgroups", "new_subgroups_by_enumeration", "split_group"]


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Any,
    timeout: object = None,
    backend: str | None = None,
    pg_options: object = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """One group for each list of ranks, which must not overlap; this process's, and all.

    Raises:
        ValueError: for no list, or a rank in two of them.
    """
    if ranks_per_subgroup_list is None or len(ranks_per_subgroup_list) == 0:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    own, all_of_them, where = None, [], {}
    for ranks in ranks_per_subgroup_list:
        made = new_group(
            ranks=ranks,
            timeout=timeout,
            backend=backend,
            pg_options=pg_options,
            group_desc=group_desc,
        )
        all_of_them.append(made)
        for rank in ranks:
            if rank in where:
                raise ValueError(
                    f"Rank {rank} has appeared in both subgroup {where[rank]} and {ranks}"
                )
            where[rank] = ranks
            if rank == STATE.rank:
                own = made
    return own, all_of_them


def new_subgroups(
    group_size: int | None = None,
    group: object = None,
    timeout: object = None,
    backend: str | None = None,
    pg_options: object = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """The world in groups of ``group_size`` consecutive ranks; this process's, and all.

    Raises:
        ValueError: if the size does not divide that of the world.
    """
    del group
    world()
    size = group_size or int(os.environ.get("LOCAL_WORLD_SIZE", STATE.size))
    if size <= 0:
        raise ValueError(f"The arg 'group_size' ({size}) must be positive")
    if size > STATE.size:
        raise ValueError(
            f"The arg 'group_size' ({size}) must not exceed the world size ({STATE.size})"
        )
    if STATE.size % size:
        raise ValueError(f"The world size ({STATE.size}) must be divisible by '{size=}'")
    parts = [list(range(i, i + size)) for i in range(0, STATE.size, size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def split_group(
    parent_pg: ProcessGroup | None = None,
    split_ranks: list[list[int]] | None = None,
    timeout: object = None,
    pg_options: object = None,
    group_desc: str | None = None,
    backend: Any = None,
) -> ProcessGroup | None:
    """The one of several parts of a group, given as lists of ranks in it, that this process is in;
    None in none.

    Raises:
        ValueError: without lists, or if they overlap.
    """
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    parent = world(parent_pg)
    flat = [r for part in split_ranks for r in part]
    if len(set(flat)) != len(flat):
        raise ValueError("the split group must not have repeated ranks")
    found = None
    for part in split_ranks:
        made = new_group(
            [parent.ranks[r] for r in part],
            timeout,
            backend or parent.backend,
            pg_options,
            group_desc=group_desc,
        )
        found = made if isinstance(made, ProcessGroup) else found
    return found
