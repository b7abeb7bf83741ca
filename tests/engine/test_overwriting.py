"""Parts of arrays that are written over where they lie: who may be written into, and what XLA's
loops must not read too late."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch._src.engine import LOCAL, flush, stats, values
from jtorch._src.engine.apart import kernels
from jtorch._src.tensor.setting import set_at_once

pytestmark = pytest.mark.usefixtures("one_thread")


def _at_hand(*shape: int) -> torch.Tensor:
    x = torch.arange(float(np.prod(shape))).reshape(shape) * 1.0
    x.tolist()
    return x


@pytest.mark.skipif(values.tier == "xla", reason="nothing is in NumPy's memory")
def test_parts_are_written_where_they_lie() -> None:
    x = _at_hand(4, 6)
    before, version = stats.flushes, x._version
    assert set_at_once(x, 0, 5)
    assert set_at_once(x, (1, slice(None, None, 2)), 7.5)
    assert set_at_once(x, (slice(2, 4), -1), torch.tensor([1.0, 2.0]))
    assert stats.flushes == before
    assert x._version == version + 3
    assert x.tolist() == [
        [5] * 6,
        [7.5, 7, 7.5, 9, 7.5, 11],
        [12, 13, 14, 15, 16, 1],
        [18, 19, 20, 21, 22, 2],
    ]


@pytest.mark.skipif(values.tier == "xla", reason="nothing is in NumPy's memory")
def test_views_are_written_through() -> None:
    x = _at_hand(3, 4)
    y = x[1].unsqueeze(0)
    y.tolist()
    assert set_at_once(y, (0, 2), -1.0)
    assert x.tolist()[1] == [4, 5, -1, 7]
    assert x._version == y._version == 1
    x[1].add_(1.0)
    assert y.tolist() == [[5, 6, 0, 8]]


@pytest.mark.parametrize(
    ("index", "value"),
    [
        (7, 1.0),
        ((0, 0, 0), 1.0),
        (0, [1.0]),
        (slice(None, None, -1), 1.0),
        (True, 1.0),
        (0, 1j),
        (0, 1e39),
        (0, torch.ones(3)),
        (0, torch.ones(4, dtype=torch.float64)),
    ],
)
def test_what_is_not_plain_is_left_alone(index: object, value: object) -> None:
    x = _at_hand(3, 4)
    before = x.tolist()
    assert not set_at_once(x, index, value)
    assert x.tolist() == before
    assert x._version == 0


def test_who_else_has_the_elements_keeps_them() -> None:
    x = _at_hand(3, 4)
    twin, later = x.clone(), x * 2
    kept = x.detach().clone()
    x[0] = -1.0
    x[:, 1] = -2.0
    assert twin.tolist()[0] == kept.tolist()[0] == [0, 1, 2, 3]
    assert later.tolist()[0] == [0, 2, 4, 6]


def test_memory_that_numpy_shares_is_followed() -> None:
    x = _at_hand(3, 4)
    seen = x.numpy()
    x[2] = 9.0
    assert seen[2].tolist() == [9] * 4
    seen[0] = 3.0
    x[1, 1] = 8.0
    assert x.tolist() == [[3] * 4, [4, 8, 6, 7], [9] * 4]


def test_leaves_are_refused_as_ever() -> None:
    w = torch.zeros(3, requires_grad=True)
    with pytest.raises(
        RuntimeError,
        match="a view of a leaf Variable that requires grad is being used in an in-place operation",
    ):
        w[0] = 1.0
    with torch.no_grad():
        w[0] = 1.0
    with torch.inference_mode():
        i = torch.zeros(3)
        i.tolist()
    with pytest.raises(
        RuntimeError, match="Inplace update to inference tensor outside InferenceMode"
    ):
        i[0] = 1.0
    assert (w.tolist(), i.tolist()) == ([1, 0, 0], [0, 0, 0])


def test_many_parts_of_a_pending_tensor_are_written_at_once() -> None:
    x = torch.zeros(40, 3)
    for i in range(40):
        x[i] = float(i)
    assert x[39, 0].item() == 39
    assert x.sum().item() == 3 * sum(range(40))


def test_values_that_are_written_over_are_not_kept() -> None:
    """A part's value knows of the facts of the whole that it was read from, not of its elements."""
    x = torch.ones(300, 300) + 1
    row = torch.ones(300)
    live = []
    for i in range(5):
        x[i] = row * i
        live.append(x)
    part = x[0]
    part.tolist()
    gc.collect()
    whole = x._al.storage.value if x._al is not None else x._v
    assert part._al.value.meta.source is whole.meta
    assert sys.getrefcount(whole) <= 4


PROGRAMS = {
    "reversed in a strided view": lambda x: _put(x, (slice(0, 5, 2), 1), x[0:5:2, 1].flip(0)),
    "reversed, and reshaped": lambda x: _put(x, (slice(None), 1), x[:, 1].flip(0)).unsqueeze(1),
    "reversed by positions": lambda x: _put(
        x, (slice(None), x[0, 1:2].long()), x[:, 1:2].flip(0)
    ).unsqueeze(1),
    "shifted, and reshaped": lambda x: _put(x, slice(1, None), x[:-1].clone()).reshape(1, 5, 3),
    "through a longer view": lambda x: _put(
        x.unsqueeze(1), (slice(None), 0, 1), x[:, 1].flip(0) + 1
    ),
    "in its place": lambda x: _put(x, slice(1, 3), x[1:3] * 2 + 1).unsqueeze(0),
    "a column by a row": lambda x: _put(x[:3], (slice(None), 1), x[0] * 1.0).unsqueeze(1),
    "one position along another": lambda x: _put(x, (slice(None), 0), x[:, 2] - x[:, 0]).unsqueeze(
        0
    ),
}


def _put(x: torch.Tensor, index: object, value: torch.Tensor) -> torch.Tensor:
    x[index] = value
    return x


@pytest.fixture(scope="module")
def compiled() -> dict[str, object]:
    """What the programs give where XLA runs everything."""
    program = f"""
import json, runpy
import jtorch as torch
programs = runpy.run_path({__file__!r})["PROGRAMS"]
print(json.dumps({{name: f(torch.arange(15.0).reshape(5, 3) * 1.0).tolist() for name, f in \
programs.items()}}))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "JTORCH_TIERS": "xla"},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_writes_read_first(name: str, compiled: dict[str, object]) -> None:
    start = np.arange(15.0, dtype=np.float32).reshape(5, 3)
    expected = _by_numpy(name, start.copy()).tolist()
    step = torch.compile(lambda x: PROGRAMS[name](x * 1.0) + 0)
    for _ in range(3):
        assert step(torch.tensor(start)).tolist() == expected
    assert compiled[name] == expected


def _by_numpy(name: str, x: np.ndarray) -> np.ndarray:
    if "reversed" in name:
        places = slice(0, 5, 2) if "strided" in name else slice(None)
        x[places, 1] = x[places, 1][::-1].copy()
    elif name == "shifted, and reshaped":
        x[1:] = x[:-1].copy()
        return x.reshape(1, 5, 3)
    elif name == "through a longer view":
        x[:, 1] = x[:, 1][::-1] + 1
    elif name == "a column by a row":
        x[:3, 1] = x[0].copy()
        return x[:3, None]
    elif name == "in its place":
        x[1:3] = x[1:3] * 2 + 1
        return x[None]
    else:
        x[:, 0] = x[:, 2] - x[:, 0]
        return x[None]
    return x if "strided" in name else x[:, None]


@pytest.mark.skipif(os.environ.get("JTORCH_EXECUTION") == "immediate", reason="nothing is recorded")
@pytest.mark.parametrize(
    ("write", "apart"),
    [
        (lambda x, i: _put(x, 2, x[2] + i[0]), False),
        (lambda x, i: _put(x, 2, x[3] * i[0]), False),
        (lambda x, i: _put(x, slice(1, 3), x[1:3].exp()), False),
        (lambda x, i: _put(x, (slice(None), 1), i[:, 0]), False),
        (lambda x, i: _put(x, (slice(None), 1), x[0] + i[0]), True),
        (lambda x, i: _put(x, slice(1, 3), x[0:2] + 1), True),
        (lambda x, i: _put(x, 1, x[1] + x.sum(0)), True),
    ],
)
def test_only_writes_of_what_lies_elsewhere_take_the_longer_way(write: Any, apart: bool) -> None:
    flush()
    x, other = torch.ones(5, 5) * 1.0, torch.full((5, 5), 2.0) * 1.0
    write(x, other)
    steps = LOCAL.trace.state.steps()
    found = [kernel is not s.call.jitted for s, kernel in zip(steps, kernels(steps), strict=True)]
    assert found == [False] * (len(steps) - 1) + [apart]
