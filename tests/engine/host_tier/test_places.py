"""What is known of places lets NumPy look up and write without looking, and changes no number."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.engine.host.places import settled
from jtorch._src.engine.host.recipes import recipe_of
from jtorch._src.engine.host.staging import stage

from .agreement import compare, equal

DTYPES = (np.float32, np.complex64, np.int8, np.bool_)


def drawn(r: random.Random, low: int, high: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    return np.array([r.randint(low, high) for _ in range(int(np.prod(shape)))], dtype).reshape(
        shape
    )


def along(
    r: random.Random,
) -> tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...], int, bool]:
    """A function that looks up or writes along one axis of an array with places as kernels have
    them: what to give it, how many places there are, and whether negative ones count from the
    end."""
    shape = tuple([r.randint(1, 5) for _ in range(r.randint(1, 3))])
    axis, wraps, narrow = r.randrange(len(shape)), r.random() < 0.5, r.random() < 0.7
    n, mode = shape[axis], r.choice(["clip", "fill"])
    kind = r.choice(["rows", "elements", "set", "add", "flat"])
    places = (
        shape
        if kind in ("elements", "flat")
        else tuple([r.randint(1, 4) for _ in range(r.randint(0, 2))])
    )

    def fn(x: Any, i: Any) -> Any:
        i = i.astype(np.int32) if narrow else i
        if wraps:
            i = jnp.where(i < 0, i + i.dtype.type(n), i)
        if kind == "rows":
            return jnp.take(x, i, axis, mode=mode)
        if kind == "elements":
            return jnp.take_along_axis(x, i, axis, mode=mode)
        if kind == "flat":
            steps = np.arange(x.size, dtype=i.dtype).reshape(shape)
            steps = steps - (steps // int(np.prod(shape[axis + 1 :]))) % n * int(
                np.prod(shape[axis + 1 :])
            )
            at = (steps + i * i.dtype.type(np.prod(shape[axis + 1 :]))).reshape(-1)
            return x.reshape(-1).at[at].get(mode=mode).reshape(shape), x.reshape(-1).at[at[:1]].set(
                x.reshape(-1)[:1], mode=mode
            )
        at = x.at[(*(slice(None),) * axis, i)]
        return (
            at.set(x.dtype.type(1), mode=mode)
            if kind == "set" or x.dtype == np.bool_
            else at.add(x.dtype.type(1), mode=mode)
        )

    return fn, shape, places, n, wraps


@pytest.mark.parametrize("seed", range(48))
def test_places_that_are_known(seed: int) -> None:
    r = random.Random(seed)
    fn, shape, places, n, wraps = along(r)
    x = drawn(r, -3, 3, shape, r.choice(DTYPES))
    index = r.choice([np.int64, np.int64, np.int32])
    with jax.numpy_dtype_promotion("standard"):
        inside = drawn(r, -n if wraps else 0, n - 1, places, index)
        known = {1: (-n if wraps else 0, n - 1)}
        program = stage(jax.jit(fn).trace(x, inside).jaxpr, known)
        wanted = jax.tree.leaves(jax.jit(fn)(x, inside))
        for given in (x, np.asfortranarray(x)[::1]):
            for found, want in zip(program(given, inside), wanted, strict=True):
                equal(np.asarray(found), np.asarray(want), 0, 0.0, False, seed)
        # Where nothing is known, places outside are what XLA takes them for.
        compare(fn, x, drawn(r, -2 * n, 2 * n, places, index))


def names(fn: Callable[..., Any], *given: Any, known: Any = None) -> list[str]:
    return [s.name for s in settled(recipe_of(jax.jit(fn).trace(*given).jaxpr), known).steps]


def test_nothing_is_left_out_that_is_needed() -> None:
    x, i = np.arange(5, dtype=np.float32), np.array([1, -2], np.int64)

    def fn(x: Any, i: Any) -> Any:
        i = i.astype(np.int32)
        i = jnp.where(i < 0, i + np.int32(5), i)
        return x.at[i].get(mode="fill"), i

    with jax.numpy_dtype_promotion("standard"):
        # a result has its dtype
        assert "convert_element_type" in names(fn, x, i, known={1: (-5, 4)})
        assert "convert_element_type" not in names(
            lambda x, i: fn(x, i)[0], x, i, known={1: (-5, 4)}
        )
        assert "select_n" in names(lambda x, i: fn(x, i)[0], x, i, known={1: (-6, 4)})
        found = stage(jax.jit(fn).trace(x, i).jaxpr, {1: (-5, 4)})(x, i)
    assert [np.asarray(f).dtype for f in found] == [np.float32, np.int32]
    assert found[0].tolist() == [1, 3]


def test_comparisons_are_told_only_where_all_places_agree() -> None:
    x = np.arange(5, dtype=np.float32)
    with jax.numpy_dtype_promotion("standard"):
        for low, high in ((0, 4), (-1, 4), (-5, -1)):
            i = np.array([low, high], np.int64)
            fn = lambda x, i: x.at[jnp.where(i < 0, 4 + i, i)].get(  # noqa: E731
                mode="clip", wrap_negative_indices=False
            )
            (found,) = stage(jax.jit(fn).trace(x, i).jaxpr, {1: (low, high)})(x, i)
            assert found.tolist() == np.asarray(jax.jit(fn)(x, i)).tolist()


@pytest.mark.parametrize("i", [[0, 3, 1], [-1, -4, 2]])
def test_public_calls_with_places_inside_and_outside(i: list[int]) -> None:
    x, at = torch.arange(12.0).reshape(4, 3), torch.tensor(i)
    for _ in range(8):  # from the first run to generated code
        assert x[at].tolist() == [x.tolist()[k] for k in i]
        assert x.t()[:, at].tolist() == [[row[k] for k in i] for row in x.t().tolist()]
        assert torch.take(x, at).tolist() == [x.reshape(-1).tolist()[k] for k in i]
    with pytest.raises(IndexError):
        x[torch.tensor([0, 4, 1])].tolist()
    with pytest.raises(IndexError):
        x[torch.tensor([0, -5, 1])].tolist()
    assert x[at].tolist() == [x.tolist()[k] for k in i]


def test_places_of_one_number_count_from_the_end() -> None:
    x = torch.arange(12.0).reshape(4, 3)
    for k in (0, 3, -1, -4):
        for _ in range(8):
            assert x[torch.tensor(k)].tolist() == x.tolist()[k]
            assert x[:, torch.tensor([k % 3])].tolist() == [[row[k % 3]] for row in x.tolist()]
