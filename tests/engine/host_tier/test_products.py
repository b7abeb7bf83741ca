"""NumPy's products agree with XLA's."""

from __future__ import annotations

import random
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from jax import lax

from .agreement import compare

BFLOAT16 = ml_dtypes.bfloat16


def whole(dtype: Any, *shape: int, seed: int = 0) -> np.ndarray:
    """Small whole numbers, so that sums of products are exact in any order; no zeros, so that no
    product is -0.0."""
    rng = np.random.default_rng((seed, *shape))
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.3
    found = rng.integers(1, 4, shape)
    if dtype.kind == "u":
        return found.astype(dtype)
    found *= rng.choice([-1, 1], shape)
    return (
        (found + 1j * rng.integers(1, 4, shape)).astype(dtype)
        if dtype.kind == "c"
        else found.astype(dtype)
    )


def dots(*numbers: Any, **options: Any) -> Any:
    return lambda *xs: [
        lax.dot_general(xs[2 * i], xs[2 * i + 1], n, **options) for i, n in enumerate(numbers)
    ]


@pytest.mark.parametrize(
    "dtype",
    [
        np.float32,
        np.float64,
        np.complex64,
        np.complex128,
        np.float16,
        BFLOAT16,
        np.int8,
        np.uint8,
        np.int32,
        np.int64,
        np.bool_,
    ],
)
def test_common_products(dtype: Any) -> None:
    a, b, c, v = whole(dtype, 3, 4), whole(dtype, 4, 5), whole(dtype, 5, 4), whole(dtype, 4)
    none: Any = ((), ())
    numbers = [
        ((((1,), (0,)), none)),
        (((1,), (1,)), none),
        (((0,), (1,)), none),
        (((0,), (0,)), none),
        (((1,), (0,)), none),
    ]
    numbers += [(((0,), (0,)), none), (((0,), (0,)), none), (((0,), (1,)), none)]
    given = [a, b, a, c, b, a, a.T.copy(), b, a, v, v, b, v, v[::-1], v, c]
    s, t = whole(dtype, 2, 3, 4), whole(dtype, 2, 4, 5)
    numbers += [
        (((2,), (1,)), ((0,), (0,))),
        (((2,), (2,)), ((0,), (0,))),
        (((1,), (1,)), ((0,), (0,))),
        (((2,), (0,)), none),
    ]
    given += [s, t, s, t.swapaxes(1, 2), s.swapaxes(1, 2), t, s, b]
    numbers += [(((), ()), none), (((), ()), none), (((), ()), ((0,), (0,)))]
    given += [a, v, v[0], a, s, t]
    compare(dots(*numbers), *given)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, BFLOAT16, np.int32])
def test_large_matrices_the_other_way_round(dtype: Any) -> None:
    """The sum goes over the last dimension but one, of several matrices."""
    a, b = whole(dtype, 3, 2, 64, 70), whole(dtype, 5, 64)
    none: Any = ((), ())
    numbers = [(((2,), (1,)), none), (((2,), (0,)), none)]
    compare(dots(*numbers), a, b, a, b.T.copy())
    compare(dots(*numbers), a.swapaxes(0, 1), b[:, ::-1], a[..., ::2], b.T)


def test_products_with_another_result() -> None:
    given = [
        (np.int8, np.int32),
        (BFLOAT16, np.float32),
        (np.float32, np.float64),
        (np.int16, np.int64),
        (np.float16, np.float32),
    ]
    operands = [x for a, _ in given for x in (whole(a, 3, 4), whole(a, 4, 2))]

    def fn(*xs: Any) -> Any:
        return [
            lax.dot(xs[2 * i], xs[2 * i + 1], preferred_element_type=out)
            for i, (_, out) in enumerate(given)
        ]

    compare(fn, *operands)


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
)
def test_integers_wrap(dtype: Any) -> None:
    info = np.iinfo(dtype)
    rng = np.random.default_rng(0)
    a, b = (
        rng.integers(info.min, info.max, shape, dtype, endpoint=True)
        for shape in ((40, 30), (30, 20))
    )
    compare(
        lambda a, b: [
            lax.dot(a, b),
            lax.dot(a[:2], b),
            lax.dot(a, b, preferred_element_type=np.int64),
        ],
        a,
        b,
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, BFLOAT16])
def test_special_numbers(dtype: Any) -> None:
    a = np.array([[0, np.inf], [1, np.nan], [-np.inf, 1], [0, 0]], dtype)
    b = np.array([[1, 0, np.inf], [0, 1, -np.inf]], dtype)
    compare(
        lambda a, b: [lax.dot(a, b), lax.dot(a, b[:, 1]), lax.dot(b.T, a.T), lax.dot(a[0], b)], a, b
    )


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16])
def test_half_precision_sums_in_float32(dtype: Any) -> None:
    ones = np.ones((2, 3000), dtype)
    compare(
        lambda x: [
            lax.dot(x, x.T),
            lax.dot(x, x[0]),
            lax.dot(x, x.T, preferred_element_type=np.float32),
        ],
        ones,
    )


@pytest.mark.parametrize("sizes", [(0, 3, 2), (2, 0, 3), (2, 3, 0)])
def test_empty_products(sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    a, b = np.ones((m, k), np.float32), np.ones((k, n), np.float32)
    batched = dots(
        (((1,), (0,)), ((), ())), (((2,), (1,)), ((0,), (0,))), (((2,), (1,)), ((0,), (0,)))
    )
    compare(
        batched,
        a,
        b,
        np.stack([a, a]),
        np.stack([b, b]),
        np.zeros((0, m, k), np.float32),
        np.zeros((0, k, n), np.float32),
    )


@pytest.mark.parametrize("seed", range(6))
def test_any_dimension_numbers(seed: int) -> None:
    draw = random.Random(seed)
    numbers, given = [], []
    for case in range(12):
        batch, contract = draw.choice([0, 0, 1, 2]), draw.choice([0, 1, 1, 2])
        left, right = draw.choice([0, 1, 2]), draw.choice([0, 1, 2])
        sizes = [draw.choice([1, 2, 3, 4]) for _ in range(batch + contract + left + right)]
        shared = list(range(batch + contract))
        a = shared + [batch + contract + i for i in range(left)]
        b = shared + [batch + contract + left + i for i in range(right)]
        draw.shuffle(a)
        draw.shuffle(b)
        draw.shuffle(shared)
        summed, stacked = [i for i in shared if i >= batch], [i for i in shared if i < batch]
        numbers.append(
            tuple(
                [
                    (tuple([a.index(i) for i in part]), tuple([b.index(i) for i in part]))
                    for part in (summed, stacked)
                ]
            )
        )
        dtype = draw.choice([np.float32, np.float32, np.complex64, BFLOAT16, np.int32, np.int8])
        x, y = (
            whole(dtype, *[sizes[i] for i in a], seed=case),
            whole(dtype, *[sizes[i] for i in b], seed=case),
        )
        given += [np.asfortranarray(x), y] if draw.random() < 0.5 else [x, y]
    compare(dots(*numbers), *given)
