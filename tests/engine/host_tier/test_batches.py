"""Formulas that come once for each of many small arrays: NumPy computes them together, and the
numbers are the same to the bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.engine import LOCAL, execution, flush, stats, tiers, values
from jtorch._src.engine.host import batches, staging

SHAPES = [(7,), (3, 5), (16, 16), (1, 1), (2, 3, 4), (7,), (40, 50), (9,), (6, 6)]


@pytest.fixture(autouse=True)
def calls_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps are counted here, and shall not become fewer."""
    monkeypatch.setattr(staging, "Straight", None)


def arrays(seed: int, shapes: Any = SHAPES, dtype: Any = np.float32) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(s).astype(dtype) for s in shapes]


def staged(kernel: Any, *operands: Any) -> tuple[staging.Program, list[np.ndarray]]:
    """The program of a kernel of lists, and what it gives in its three forms, which are the
    same."""
    flat, tree = jax.tree.flatten(operands)
    program = staging.stage(
        jax.make_jaxpr(lambda *given: kernel(*jax.tree.unflatten(tree, given)))(*flat)
    )
    found = program(*flat)
    for _ in range(staging.CODE_AFTER + 2):
        again = program(*flat)
    for a, b in zip(found, again, strict=True):
        np.testing.assert_array_equal(a, b)
    return program, [np.asarray(x) for x in found]


def alone(
    monkeypatch: pytest.MonkeyPatch, kernel: Any, *operands: Any
) -> tuple[staging.Program, list[np.ndarray]]:
    """The same with one formula after the other."""
    with monkeypatch.context() as patch:
        patch.setattr(batches, "PIECE", 0)
        return staged(kernel, *operands)


def same_bits(found: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    for a, b in zip(found, wanted, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        assert a.tobytes() == b.tobytes()


def step(params: Any, grads: Any, averages: Any, rate: Any, decay: Any) -> Any:
    kept = [
        0.9 * a + 0.1 * jnp.where(decay == 0, g, g + decay * p)
        for p, g, a in zip(params, grads, averages, strict=True)
    ]
    return [
        p - rate * a / (jnp.sqrt(jnp.abs(a)) + 1e-8) for p, a in zip(params, kept, strict=True)
    ] + kept


@pytest.mark.parametrize("decay", [0.0, 0.5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_formulas_of_a_list_are_computed_at_once(
    dtype: Any, decay: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    operands = [*(arrays(k, dtype=dtype) for k in range(3)), dtype(0.1), dtype(decay)]
    together, found = staged(step, *operands)
    single, wanted = alone(monkeypatch, step, *operands)
    same_bits(found, wanted)
    assert len(together.steps) < len(single.steps) / 4
    assert together.cost < single.cost
    assert together.calling < single.calling


def test_operands_laid_out_in_any_way(monkeypatch: pytest.MonkeyPatch) -> None:
    turned = [x.T for x in arrays(0)]
    found, wanted = (
        run(lambda xs: [x * 2 + 1 for x in xs], turned)[1]
        for run in (staged, lambda *a: alone(monkeypatch, *a))
    )
    same_bits(found, wanted)


def test_only_so_much_is_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    xs = arrays(0, [(32, 32)] * 40)
    monkeypatch.setattr(batches, "JOINED", 8 * xs[0].nbytes)
    program, found = staged(lambda xs: [x * x + 1 for x in xs], xs)
    assert len(program.steps) == 5
    same_bits(found, [x * x + np.float32(1) for x in xs])


@pytest.mark.parametrize(
    ("kernel", "shapes"),
    [
        (lambda xs: [x * 2 for x in xs], [(64, 64)] * 8),  # large
        (lambda xs: [x * 2 for x in xs], [(8,)] * 3),  # few
        (lambda xs: [x * xs[0] + 1 for x in xs], [(8,)] * 8),  # one array in all
        (lambda xs: [x * x.sum() for x in xs], [(8,)] * 8),  # not element by element
        (lambda xs: [x * (k + 2.0) for k, x in enumerate(xs)], [(8,)] * 8),  # other numbers
        (lambda xs: [x * xs[0][:1] for x in xs[1:]], [(8,)] * 9),  # of other shapes
        (lambda xs: [xs[0][:0] * 2 for _ in xs], [(8,)] * 8),  # empty
    ],
)
def test_what_is_computed_one_by_one(
    kernel: Any, shapes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    xs = arrays(0, shapes)
    program, found = staged(kernel, xs)
    single, wanted = alone(monkeypatch, kernel, xs)
    assert len(program.steps) == len(single.steps)
    same_bits(found, wanted)


def test_formulas_that_others_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def kernel(xs: Any) -> Any:
        doubled = [x * 2 for x in xs]
        # what is summed up is not joined, the rest is
        return [*doubled, sum(d.sum() for d in doubled[:2])]

    xs = arrays(0, [(8,)] * 9)
    program, found = staged(kernel, xs)
    single, wanted = alone(monkeypatch, kernel, xs)
    assert len(program.steps) == len(single.steps) - 6
    same_bits(found, wanted)


# ---- optimisers' steps ---------------------------------------------------------------------------


@pytest.fixture
def _deferred(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if values.tier != "auto":
        pytest.skip("the tiers are fixed")
    # what keeps steps over many parameters from being compiled
    monkeypatch.setattr(tiers, "ARRAY", 1e-6)
    with execution("deferred"):
        flush()
        yield
        flush()


def training(count: int, shape: tuple[int, ...], steps: int) -> tuple[list[Any], Any]:
    params = [torch.nn.Parameter(torch.tensor(x)) for x in arrays(0, [shape] * count)]
    for p, g in zip(params, arrays(1, [shape] * count), strict=True):
        p.grad = torch.tensor(g)
    optimizer = torch.optim.AdamW(params, lr=1e-2)
    for _ in range(steps):
        optimizer.step()
        flush()
    return params, optimizer


@pytest.mark.usefixtures("_deferred")
def test_steps_of_many_small_parameters_run_as_they_are_called() -> None:
    params, optimizer = training(60, (5, 7), 12)
    flushes, compiled = stats.flushes, stats.compiled
    for _ in range(5):
        optimizer.step()
    assert (stats.flushes, stats.compiled) == (flushes, compiled)
    assert LOCAL.trace is not None
    assert not LOCAL.trace.undo  # nothing is kept of steps that were not recorded
    with execution("immediate"):
        again, _ = training(60, (5, 7), 17)
    same_bits([p.detach().numpy() for p in params], [p.detach().numpy() for p in again])


@pytest.mark.usefixtures("_deferred")
def test_steps_of_large_parameters_are_recorded() -> None:
    _, optimizer = training(2, (300, 300), 12)
    flushes = stats.flushes
    optimizer.step()
    flush()
    assert stats.flushes == flushes + 1
