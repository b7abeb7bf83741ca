"""Attention of many queries to many keys, a block of rows at a time, so that scores stay in the
processor's caches and no array of all of them is made."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._declare import Array
from ._loops import scan
from ._sizes import fewer

#: From so many scores on blocks are used, and about so many are in a block.
_FROM, _IN_A_BLOCK = 1 << 21, 1 << 19
#: Fewer rows than these are not worth a block.
_FEWEST_ROWS = 16


class Blocks(NamedTuple):
    """How queries ``(*, L, E)`` are divided.

    Attributes:
        heads: how many matrices there are, and in how many groups they go.
        rows: how many rows there are of queries, and in how many groups they go.
    """

    heads: tuple[int, int]
    rows: tuple[int, int]


def blocks_of(query: Array, key: Array) -> Blocks | None:
    """How to divide attention of operands with equal leading dimensions; None where it is computed
    at once: for little, for sizes that are not known, and on accelerators, whose products are
    fastest where they are largest."""
    sizes = (*query.shape, key.shape[-2])
    if jax.default_backend() != "cpu" or fewer(math.prod(query.shape[:-1]) * key.shape[-2], _FROM):
        return None
    if not all(type(n) is int for n in sizes):
        return None
    if key.shape[-2] == 1:  # what is kept of a row must not look like its one probability
        return None
    count, (rows, columns) = math.prod(query.shape[:-2]), (query.shape[-2], key.shape[-2])
    together = _divisor(count, max(1, _IN_A_BLOCK // (rows * columns)))
    most = max(_FEWEST_ROWS, _IN_A_BLOCK // columns)
    some = rows if rows <= most else _divisor(rows, most)
    if some < _FEWEST_ROWS:
        some = rows
    found = Blocks((count, count // together), (rows, rows // some))
    return found if found.heads[1] * found.rows[1] > 1 else None


def _divisor(n: int, most: int) -> int:
    """The largest divisor of ``n`` that is at most ``most``."""
    return next(d for d in range(min(n, most), 0, -1) if n % d == 0)


def by_blocks(
    blocks: Blocks,
    compute: Callable[..., tuple[Sequence[Any], Sequence[Any]]],
    whole: Sequence[Array],
    divided: Sequence[Array | None],
) -> tuple[list[Array], list[Array]]:
    """What ``compute(first, whole, divided)`` gives of each block: arrays with its rows, and arrays
    that are summed over the blocks of rows. ``first`` is None where a block has all rows.

    Args:
        whole: arrays ``(*, n, m)`` of which each block gets all rows of its matrices.
        divided: arrays ``(*, L, m)`` of which it gets its own, from row ``first`` on. Leading
            dimensions, and L, may be 1 and are then shared.

    Shapes: with the leading dimensions as one.
    """
    (count, groups), (rows, parts) = blocks
    together, some = count // groups, rows // parts

    def grouped(x: Array | None) -> Array | None:
        if x is None or (x.ndim < 3 or math.prod(x.shape[:-2]) == 1):
            return None
        return x.reshape(groups, together, *x.shape[-2:])

    def shared(x: Array) -> Array:
        return x.reshape(1, *x.shape[-2:])

    taken = [grouped(x) for x in (*whole, *divided)]

    def of_group(mine: list[Array | None]) -> tuple[Any, Any]:
        all_of = [
            x if x is None or m is not None else shared(x)
            for x, m in zip((*whole, *divided), mine, strict=True)
        ]
        all_of = [x if m is None else m for x, m in zip(all_of, mine, strict=True)]
        fixed, parted = all_of[: len(whole)], all_of[len(whole) :]

        def of_rows(i: Any) -> tuple[Any, Any]:
            part = [
                x
                if x is None or x.shape[1] == 1
                else lax.dynamic_slice_in_dim(x, i * some, some, 1)
                for x in parted
            ]
            return compute(i * some, fixed, part)

        if parts == 1:
            return compute(None, fixed, parted)
        first = jax.eval_shape(of_rows, np.int32(0))[1]

        def step(sums: Any, i: Any) -> tuple[Any, Any]:
            own, more = of_rows(i)
            return [a + b for a, b in zip(sums, more, strict=True)], own

        sums, own = scan(
            step, [jnp.zeros(s.shape, s.dtype) for s in first], np.arange(parts, dtype=np.int32)
        )
        return [jnp.moveaxis(x, 0, 1).reshape(together, rows, *x.shape[3:]) for x in own], sums

    if groups > 1:
        _, (own, sums) = scan(lambda carry, mine: (carry, of_group(mine)), (), taken)
    else:
        own, sums = _alone(of_group, taken)
    return [x.reshape(count, *x.shape[2:]) for x in own], [
        x.reshape(count, *x.shape[2:]) for x in sums
    ]


def _alone(f: Callable[..., tuple[Any, Any]], taken: list[Array | None]) -> tuple[Any, Any]:
    """``f`` of the only group."""
    own, sums = f([None if x is None else x[0] for x in taken])
    return [x[None] for x in own], [x[None] for x in sums]
