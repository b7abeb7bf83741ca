"""The flags of checks: NumPy and XLA find the same check failed, with the same value."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.engine.host.staging import stage
from jtorch._src.ops._declare import Guard
from jtorch._src.ops._flags import flags_of


def flags(*pairs: tuple[np.ndarray, np.ndarray | None]) -> tuple[np.ndarray, np.ndarray]:
    """By XLA and by NumPy."""
    given = [b for b, _ in pairs] + [v for _, v in pairs if v is not None]

    def fn(*arrays: jax.Array) -> jax.Array:
        values = iter(arrays[len(pairs) :])
        return flags_of(
            [
                Guard(b, ValueError, "", None if v is None else next(values))
                for b, (_, v) in zip(arrays, pairs, strict=False)
            ]
        )

    jaxpr = jax.make_jaxpr(fn)(*given)
    assert [e.primitive.name for e in jaxpr.jaxpr.eqns][-1:] == ["jtorch.flags"]
    (found,) = stage(jaxpr)(*given)
    return np.asarray(jax.jit(fn)(*given)), np.asarray(found)


@pytest.mark.parametrize("seed", range(12))
def test_both_find_the_first_place(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(rng.integers(1, 4)):
        shape = [(), (1,), (0,), (3, 4), (7,), (16, 256), (32, 1024)][rng.integers(7)]
        bad = rng.random(shape) < rng.choice([0.0, 0.01, 0.5, 1.0])
        dtype = rng.choice([np.int64, np.int32, np.uint8])
        value = [
            None,
            rng.integers(0, 99, shape).astype(dtype),
            rng.integers(0, 99, ()).astype(dtype),
        ][rng.integers(3)]
        pairs.append((np.asarray(bad), None if value is None else np.asarray(value)))
    by_xla, by_numpy = flags(*pairs)
    assert by_numpy.dtype == by_xla.dtype
    assert np.array_equal(by_numpy[:, 0], by_xla[:, 0])
    failed = by_xla[:, 0] == 1
    assert np.array_equal(by_numpy[failed], by_xla[failed])
    assert failed.tolist() == [bool(b.any()) for b, _ in pairs]


def test_batches_and_derivatives() -> None:
    bad, value = np.array([[False, True], [False, False]]), np.array([3, 4])
    fn = lambda b: flags_of([Guard(b, ValueError, "", jnp.asarray(value))])  # noqa: E731
    found = jax.vmap(fn)(bad)
    assert found[:, 0, 0].tolist() == [1, 0]
    assert found[0, 0, 1] == 4
    primal, _ = jax.jvp(
        lambda x: (flags_of([Guard(x > 1, ValueError, "", None)]), x)[1], (2.0,), (1.0,)
    )
    assert primal == 2.0


def test_the_value_of_the_first_bad_place_is_named() -> None:
    x = torch.zeros(3, 2)
    for _ in range(7):  # walked, then as generated code
        with pytest.raises(torch.linalg.LinAlgError, match=r"Batch element 1"):
            torch.linalg.inv(
                torch.stack([torch.eye(2), torch.zeros(2, 2), torch.zeros(2, 2)])
            ).tolist()
        with pytest.raises((IndexError, RuntimeError), match="7"):
            torch.gather(x, 0, torch.tensor([[0, 1], [7, 9]])).tolist()
        assert torch.linalg.inv(torch.stack([torch.eye(2)] * 2)).tolist() == [[[1, 0], [0, 1]]] * 2
