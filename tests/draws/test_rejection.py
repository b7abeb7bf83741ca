"""Gamma, Poisson and binomial numbers: the loops in C draw what those in Python do, and leave the
generator where they do."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import jtorch as torch
from jtorch._src.draws import rejection
from jtorch._src.draws.mt19937 import Twister

R = np.random.RandomState(0)
GIVEN: dict[str, Callable[[int], tuple[np.ndarray, ...]]] = {
    # zeros, concentrations below 1, which take one number more, and what is no number
    "gamma": lambda n: (R.choice([0, 0.01, 0.4, 1, 2.5, 40, 1e6, np.nan], n),),
    # counted, transformed, and infinite
    "poisson": lambda n: (R.choice([0, 0.1, 3, 9.9, 10, 80, 1e5, np.inf], n),),
    # by gaps, by squeezes, and none of either
    "binomial": lambda n: (
        R.choice([0, 1, 7, 60, 5000, np.nan], n),
        R.choice([0, 0.01, 0.3, 0.5, 0.7, 0.99, 1, np.nan], n),
    ),
}


@pytest.mark.skipif(rejection._native is None, reason="the extension was not built: no compiler")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", GIVEN)
def test_loops_in_c_draw_what_those_in_python_do(
    name: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for count in (1, 21, 33, 400, 20000):  # beyond a block of uniform numbers, too
        given = [x.astype(dtype) for x in GIVEN[name](count)]
        found = []
        for native in (rejection._native, None):
            monkeypatch.setattr(rejection, "_native", native)
            twister = Twister(count)
            twister.bits32(count % 7)
            numbers = getattr(rejection, name)(twister, *given)
            found.append((numbers.tobytes(), twister.get_state().tobytes(), twister.word()))
        monkeypatch.undo()
        assert found[0] == found[1], count


@pytest.mark.skipif(rejection._native is None, reason="the extension was not built: no compiler")
def test_arrays_that_do_not_fit_are_refused() -> None:
    table, one = np.ones((1, 4)), np.ones(4)
    for kind, rows, uniforms, found, at in [
        (3, table, one, one, 0), (0, table, one, one, 0), (1, table, one.astype("f"), one, 0),
        (1, table, one[::2], one, 0), (1, table, one, one[:3], 0), (1, table, one, one, -1),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match="no numbers can be drawn"):
            rejection._native(kind, rows, uniforms, found, at, None)
    with pytest.raises(TypeError):
        rejection._native(0, np.ones((4, 4)), one, one, 0, "kept")
    assert one.tolist() == [1.0] * 4


def test_no_number_of_trials_ends() -> None:
    for count in (2, 100):
        found = torch.binomial(torch.full((count,), math.nan), torch.full((count,), 0.5))
        assert found.isnan().all()
