"""NumPy's gathers and scatters agree with XLA's."""

from __future__ import annotations

import math
import random
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

from jtorch._src.engine.host import indexing
from jtorch._src.engine.host.staging import stage

from .agreement import compare

BFLOAT16 = ml_dtypes.bfloat16
MODES = (
    lax.GatherScatterMode.CLIP,
    lax.GatherScatterMode.FILL_OR_DROP,
    lax.GatherScatterMode.PROMISE_IN_BOUNDS,
)
DTYPES = (
    np.float32,
    np.float64,
    np.float16,
    BFLOAT16,
    np.complex64,
    np.bool_,
    np.int8,
    np.uint8,
    np.int32,
    np.int64,
    np.uint64,
)
SCATTERS = (
    lax.scatter,
    lax.scatter_add,
    lax.scatter_sub,
    lax.scatter_mul,
    lax.scatter_min,
    lax.scatter_max,
)


def counted(dtype: Any, *shape: int) -> np.ndarray:
    return (np.arange(int(np.prod(shape))) % 100 - 3).reshape(shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows(dtype: Any) -> None:
    x = counted(dtype, 6, 4, 3)
    i = np.array([[2, 0], [5, 5], [-1, 6]], np.int32)

    def fn(x: Any, i: Any) -> Any:
        found = [jnp.take(x, i, axis, mode=mode) for axis in (0, 1, 2) for mode in ("clip", "fill")]
        found += [
            jnp.take(x, i[0, 0], 1),
            jnp.take(x, i[2, 1], 1, mode="fill"),
            jnp.take(x, i[:1, :1], 0),
        ]
        return [*found, x.at[i[:, 0], :, i[:, 1]].get(mode="fill"), x[i[0, 1], i[1, 0], i[0, 0]]]

    compare(fn, x, i)
    compare(fn, np.asfortranarray(x)[::-1], i)


@pytest.mark.parametrize("index", [np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64])
def test_dtypes_of_indices(index: Any) -> None:
    i = np.array([[0], [3], [120]], index)
    rows = lax.GatherDimensionNumbers(
        offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,)
    )
    back = lax.ScatterDimensionNumbers(
        update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )

    def fn(x: Any, u: Any, i: Any) -> Any:
        found = [lax.gather(x, i, rows, (1, 2), mode=mode) for mode in MODES]
        return [
            *found,
            *[
                scatter(x, i, u, back, mode=mode)
                for scatter in (lax.scatter, lax.scatter_add)
                for mode in MODES[:2]
            ],
        ]

    for size in (5, 300):
        compare(fn, counted(np.float32, size, 2), counted(np.float32, 3, 2), i)


def test_elements_along_an_axis() -> None:
    x = counted(np.float32, 3, 4, 5)
    i = np.array([0, 3, -1, 4, 7, 1], np.int64).reshape(1, 2, 3)[[0, 0, 0], :][..., [0, 1, 2, 0, 1]]

    def fn(x: Any, i: Any) -> Any:
        found = [jnp.take_along_axis(x, i, 1, mode=mode) for mode in ("clip", "fill")]
        return [*found, jnp.take_along_axis(x, i.swapaxes(1, 2)[:, :4], 2, mode="fill")]

    compare(fn, x, i)


def test_large_operands_that_are_not_contiguous() -> None:
    x = counted(np.float32, 300, 400).T
    i = np.array([[1, 399], [-1, 400]], np.int32)
    compare(
        lambda x, i: [
            jnp.take(x, i, axis, mode=mode) for axis in (0, 1) for mode in ("clip", "fill")
        ],
        x,
        i,
    )


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_many_elements_are_looked_up_in_pieces(axis: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the last piece lacks, and where indices are outside; the batch may or may not begin
    with the first dimension."""
    made = []
    blocks = indexing._gather_blocks
    monkeypatch.setattr(
        indexing, "_gather_blocks", lambda *given: made.append(blocks(*given)) or made[-1]
    )
    rng = np.random.default_rng(axis)
    x, i = rng.standard_normal((37, 50, 41)).astype(np.float32), rng.integers(-60, 60, (37, 50, 41))

    def fn(x: Any, i: Any) -> Any:
        return [jnp.take_along_axis(x, i, axis, mode=mode) for mode in ("clip", "fill")]

    compare(fn, x, i)
    compare(fn, np.asfortranarray(x), i.astype(np.int32))
    assert made


@pytest.mark.parametrize("dtype", DTYPES)
def test_scattered_rows_and_elements(dtype: Any) -> None:
    x, u = (
        counted(dtype, 6, 3),
        counted(dtype, 5, 3)[::-1] if np.dtype(dtype).kind == "b" else counted(dtype, 5, 3),
    )
    i = np.array([2, 0, 2, 5, 6], np.int32)
    rows = lax.ScatterDimensionNumbers(
        update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )
    row = lax.ScatterDimensionNumbers(
        update_window_dims=(0,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )
    points = lax.ScatterDimensionNumbers(
        update_window_dims=(), inserted_window_dims=(0, 1), scatter_dims_to_operand_dims=(0, 1)
    )
    kind = np.dtype(dtype).kind
    fns = [
        f
        for f in SCATTERS
        if not (kind == "b" and f is not lax.scatter) and not (kind == "c" and f in SCATTERS[4:])
    ]

    def fn(x: Any, u: Any, i: Any) -> Any:
        both = jnp.stack([i, i[::-1] - 2], 1)
        found = [f(x, i[:, None], u, rows, mode=mode) for f in fns for mode in MODES[:2]]
        found += [f(x, both, u[:, 0], points) for f in fns]
        return found + [f(x, i[at : at + 1], u[at], row) for f in fns for at in (1, 4)]

    compare(fn, x, u, i)


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float64, np.int8, np.uint8, np.int32, np.uint64, np.complex64]
)
def test_many_rows_that_are_added(dtype: Any) -> None:
    x, u = counted(dtype, 50, 4, 8), counted(dtype, 700, 4, 8)
    i = ((np.arange(700) * 37) % 53 - 1).astype(np.int32)  # some twice, some outside
    rows = lax.ScatterDimensionNumbers(
        update_window_dims=(1, 2), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )
    blocks = lax.ScatterDimensionNumbers(
        update_window_dims=(2, 3), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )
    last = lax.ScatterDimensionNumbers(
        update_window_dims=(0, 1), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )
    other = lax.ScatterDimensionNumbers(
        update_window_dims=(0, 1), inserted_window_dims=(1,), scatter_dims_to_operand_dims=(1,)
    )

    def fn(x: Any, u: Any, i: Any) -> Any:
        found = [lax.scatter_add(x, i[:, None], u, rows, mode=mode) for mode in MODES[:2]]
        found.append(
            lax.scatter_add(x, i.reshape(70, 10, 1), u.reshape(70, 10, 4, 8), blocks, mode=MODES[1])
        )
        found.append(lax.scatter_add(x, i[:, None], jnp.moveaxis(u, 0, 2), last, mode=MODES[1]))
        return [
            *found,
            lax.scatter_add(
                x.swapaxes(0, 1), i[:, None], jnp.moveaxis(u, 0, 2), other, mode=MODES[0]
            ),
        ]

    compare(fn, x, u, i)


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16, np.float32])
def test_sums_of_duplicates_round_each_time(dtype: Any) -> None:
    compare(
        lambda x, u, i: [x.at[i].add(u), x.at[i].subtract(u)],
        np.zeros(3, dtype),
        np.ones(3000, dtype),
        np.arange(3000) % 2,
    )


def test_special_numbers() -> None:
    u = np.array([np.nan, 1, np.inf, -np.inf, np.inf, 2], np.float32)
    i = np.array([0, 0, 1, 1, 2, 3])
    compare(
        lambda x, u, i: [getattr(x.at[i], f)(u) for f in ("set", "add", "max", "min", "multiply")],
        np.zeros(4, np.float32),
        u,
        i,
    )


def test_nothing_to_move() -> None:
    none, i = np.zeros((0,), np.int32), np.zeros((0, 2), np.float32)
    x = counted(np.float32, 3, 2)
    compare(
        lambda x, e, n: [
            jnp.take(x, n, 0),
            x.at[n].set(e),
            x.at[n].add(e),
            jnp.take(x, jnp.zeros((0, 3), int), 1),
        ],
        x,
        i,
        none,
    )


class Case:
    """Dimension numbers of a gather, and of the scatter that is its transpose, at random."""

    def __init__(self, draw: random.Random) -> None:
        rank = draw.randint(1, 4)
        self.shape = tuple(draw.choice([1, 2, 3, 4]) for _ in range(rank))
        dims = list(range(rank))
        nbatch = draw.randint(0, 2)
        batch = [draw.choice([1, 2, 3]) for _ in range(nbatch)]
        batching = sorted(draw.sample(dims, draw.randint(0, min(nbatch, rank - 1))))
        # These run along with dimensions of the indices, so they are as large.
        along = draw.sample(range(nbatch), len(batching))
        for o, axis in zip(batching, along, strict=True):
            self.shape = (*self.shape[:o], batch[axis], *self.shape[o + 1 :])
        free = [o for o in dims if o not in batching]
        indexed = draw.sample(free, draw.randint(int(math.prod(batch) > 1), len(free)))
        collapsed = sorted(draw.sample(free, draw.randint(0, len(free))))
        self.sizes = tuple(
            [
                1 if o in collapsed or o in batching else draw.choice([n, n, draw.randint(1, n)])
                for o, n in enumerate(self.shape)
            ]
        )
        kept = [o for o in free if o not in collapsed]
        offsets = tuple(sorted(draw.sample(range(len(kept) + nbatch), len(kept))))
        self.gather = lax.GatherDimensionNumbers(
            offsets, tuple(collapsed), tuple(indexed), tuple(batching), tuple(along)
        )
        self.scatter = lax.ScatterDimensionNumbers(
            offsets, tuple(collapsed), tuple(indexed), tuple(batching), tuple(along)
        )
        rng = np.random.default_rng(draw.randint(0, 1 << 30))
        self.indices = rng.integers(
            -1, 5 if draw.random() < 0.7 else 1, (*batch, len(indexed))
        ).astype(draw.choice([np.int32, np.int64]))
        out = [self.sizes[o] for o in kept]
        rest = iter(batch)
        first = iter(out)
        updates = [next(first) if i in offsets else next(rest) for i in range(len(out) + nbatch)]
        self.operand = counted(draw.choice([np.float32, np.int32, np.int8]), *self.shape)
        self.updates = counted(self.operand.dtype, *updates)


@pytest.mark.parametrize("seed", range(8))
def test_any_dimension_numbers(seed: int) -> None:
    draw = random.Random(seed)
    cases = [Case(draw) for _ in range(8)]
    modes = [draw.choice(MODES[:2]) for _ in cases]
    reduces = [draw.choice(SCATTERS) for _ in cases]

    def fn(*operands: Any) -> Any:
        found = []
        for k, (case, mode, reduce) in enumerate(zip(cases, modes, reduces, strict=True)):
            x, i, u = operands[3 * k : 3 * k + 3]
            found += [
                lax.gather(x, i, case.gather, case.sizes, mode=mode),
                reduce(x, i, u, case.scatter, mode=mode),
            ]
        return found

    compare(fn, *[x for case in cases for x in (case.operand, case.indices, case.updates)])


@pytest.mark.parametrize("mode", ["drop", "clip", "promise_in_bounds"])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.complex64])
def test_many_updates_are_added_one_after_another(mode: str, dtype: type) -> None:
    rng = np.random.default_rng(0)
    x, u = (rng.standard_normal(n) * 9 for n in (70, 20000))
    x, u = x.astype(dtype), u.astype(dtype)
    i = rng.integers(0, 70, 20000) if mode == "promise_in_bounds" else rng.integers(-20, 90, 20000)
    program = stage(
        jax.make_jaxpr(lambda *a: a[0].at[a[1]].add(a[2], mode=mode, wrap_negative_indices=False))(
            x, i, u
        )
    )
    inside = (i >= 0) & (i < 70) if mode == "drop" else np.full(i.shape, True)
    expected = x.copy()
    np.add.at(expected, np.clip(i, 0, 69)[inside], u[inside])
    np.testing.assert_array_equal(program(x, i, u)[0], expected)
