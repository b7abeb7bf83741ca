"""Elementwise kernels on large arrays of ever new sizes are compiled once, for a block of
elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.special

import jtorch as torch
from jtorch._src.engine import blocks, execution, flush, tiers, values
from jtorch._src.engine.blocks import BLOCK
from jtorch._src.engine.calls import all_calls
from jtorch._src.ops._kernel import forget_calls

F = torch.nn.functional
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(autouse=True)
def _new_kernels(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Kernels of which nothing is known, and whose blocks are compiled after some two runs; traces
    are not."""
    if values.tier != "auto":
        pytest.skip("the tiers are fixed")
    monkeypatch.setattr(tiers, "KERNEL", 1000.0)
    monkeypatch.setattr(tiers, "TRACE", 1000.0)
    real = tiers.blocks_of
    monkeypatch.setattr(
        tiers,
        "blocks_of",
        lambda call, avals, shapes, _, head: real(call, avals, shapes, 1e-4, head),
    )
    flush()
    forget_calls()
    with execution("immediate"):
        yield
    forget_calls()


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of kernels that ran in blocks, run by run."""
    names: list[str] = []
    real = blocks.Blocks.run

    def run(self: Any, *args: Any) -> Any:
        names.append(self.call.name)
        return real(self, *args)

    monkeypatch.setattr(blocks.Blocks, "run", run)
    return names


def _numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.RandomState(seed).standard_normal(shape).astype("f")


def _gelu(x: np.ndarray) -> np.ndarray:
    return x * scipy.special.ndtr(x)


def test_every_size_after_some(runs: list[str]) -> None:
    for k in range(8):
        x = _numbers(3, 200 + 7 * k, 131, seed=k)
        np.testing.assert_allclose(
            F.gelu(torch.from_numpy(x)).numpy(), _gelu(x.astype("d")), rtol=1e-5, atol=1e-6
        )
    assert 4 <= runs.count("gelu") < 8


@pytest.mark.parametrize("size", [BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK - 1])
def test_all_elements_by_the_same_code(runs: list[str], size: int) -> None:
    x = _numbers(size)
    found = [F.gelu(torch.from_numpy(np.roll(x, k)[None])).numpy()[0] for k in range(6)]
    assert len(runs) >= 2
    for k in range(6 - len(runs), 6):
        np.testing.assert_array_equal(np.roll(found[k], -k), np.roll(found[-1], -5))


def test_derivatives_numbers_and_single_elements(runs: list[str]) -> None:
    beta = torch.tensor([[0.5]])
    for k in range(8):
        x = _numbers(2, 40_000 + k, seed=k)
        t = torch.from_numpy(x.copy()).requires_grad_()
        F.silu(t).sum().backward()
        wide = x.astype("d")
        s = scipy.special.expit(wide)
        np.testing.assert_allclose(t.grad.numpy(), s * (1 + wide * (1 - s)), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(
            torch.logaddexp(t.detach(), beta).numpy(), np.logaddexp(wide, 0.5), rtol=1e-5, atol=1e-6
        )
        found = torch.xlogy(t.detach(), 2.5 + k)
        np.testing.assert_allclose(found.numpy(), scipy.special.xlogy(wide, 2.5 + k), rtol=1e-5)
    assert {"silu", "silu_backward", "logaddexp", "xlogy"} <= set(runs)


def test_operands_laid_out_in_any_way(runs: list[str]) -> None:
    for k in range(6):
        x = _numbers(300 + k, 2, 260, seed=k)
        found = F.gelu(torch.from_numpy(x).transpose(0, 2)[::2].double())
        np.testing.assert_allclose(
            found.numpy(), _gelu(x.transpose(2, 1, 0)[::2].astype("d")), rtol=1e-9, atol=1e-12
        )
    assert runs


def test_memory_of_blocks_is_one_run_s(runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs read operands from memory that is written again for each block: never by two at
    once, nor after an error."""
    made: list[Any] = []
    real = blocks._tray
    monkeypatch.setattr(blocks, "_tray", lambda *args: made.append(real(*args)) or made[-1])
    xs = [_numbers(3, BLOCK + k, seed=k) for k in range(6)]
    for x in xs:
        F.gelu(torch.from_numpy(x)).numpy()
    assert len(made) == 1  # runs one after the other share it
    assert made[0] is not None
    every = [b for c in all_calls() for b in (c.blocks or {}).values()]
    (kernel,) = [b for b in every if b._trays and b._trays[0] is made[0]]

    def gelu(x: np.ndarray) -> None:
        np.testing.assert_allclose(
            F.gelu(torch.from_numpy(x)).numpy(), _gelu(x.astype("d")), rtol=1e-5, atol=1e-6
        )

    inner, calls = kernel.shapes.run, []

    def nested(*args: Any) -> Any:
        calls.append(args)
        if len(calls) == 2:  # in the middle of a run: as another thread would
            gelu(xs[0])
        return inner(*args)

    monkeypatch.setattr(kernel.shapes, "run", nested)
    gelu(xs[1])
    assert len(calls) == 7  # four blocks, and three
    assert len(made) == 1

    def failing(*args: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(kernel.shapes, "run", failing)
    with pytest.raises(KeyboardInterrupt):
        F.gelu(torch.from_numpy(xs[2])).numpy()
    monkeypatch.setattr(kernel.shapes, "run", inner)
    gelu(xs[3])
    assert len(made) == 2


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: torch.logaddexp(x, x[:1]),  # an operand that is repeated along rows
        lambda x: torch.softmax(x, 1),
        lambda x: x + x,  # waits for memory
        lambda x: F.gelu(x[:, :100]),  # too small
    ],
)
def test_what_is_left_to_numpy(runs: list[str], fn: Callable[..., Any]) -> None:
    for k in range(8):
        fn(torch.ones(300 + k, 257)).numpy()
    assert not runs


def test_where_nothing_compiled_can_run(runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    xs = [torch.from_numpy(_numbers(300 + k, 257)) for k in range(6)]
    expected = [F.gelu(x).numpy() for x in xs]
    count = len(runs)
    assert count
    monkeypatch.setattr(values, "alone", lambda *args: pytest.fail("a compiled kernel was run"))
    for x, y in zip(xs, expected, strict=True):
        np.testing.assert_allclose(F.gelu(x).numpy(), y, rtol=1e-5, atol=1e-6)
    assert len(runs) == count


def test_which_kernels_are_one_but_for_sizes(runs: list[str]) -> None:
    wide, flat = (any_form.form.recipe for any_form in (_fitting(3, 4, 5), _fitting(7)))
    assert blocks._alike(wide, flat)
    step = wide.steps[-1]
    assert not blocks._alike(
        wide._replace(steps=(*wide.steps[:-1], step._replace(ins=step.ins[::-1]))), flat
    )


def _fitting(*shape: int) -> Any:
    x = torch.ones(shape)
    F.gelu(x).numpy()
    avals = (x._read().aval,)
    (found,) = [
        c.shapes[avals].fitting for c in all_calls() if c.name == "gelu" and avals in c.shapes
    ]
    return found
