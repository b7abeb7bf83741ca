"""Which tier runs what: NumPy first, compiled programs where they pay, and the same way in every
run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.engine import (
    calls,
    execution,
    flush,
    numbers_of,
    programs,
    run,
    stats,
    tiers,
    values,
)
from jtorch._src.engine.host.staging import stage


@pytest.fixture(autouse=True)
def _auto() -> Iterator[None]:
    if values.tier != "auto":
        pytest.skip("the tiers are fixed")
    with execution("deferred"):
        flush()
        yield
        flush()


def array(t: Any) -> Any:
    flush()
    return t._read().array


def program_of(function: Any, *args: Any, **kwargs: Any) -> Any:
    """What NumPy runs for the last call that a function makes."""
    made: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiers, "stage", lambda recipe: made.append(stage(recipe)) or made[-1])
        array(function(*args, **kwargs))
    return made[-1]


def compiling(monkeypatch: pytest.MonkeyPatch, **seconds: float) -> None:
    for name, value in seconds.items():
        monkeypatch.setattr(tiers, name, value)


@pytest.mark.parametrize("mode", ["deferred", "immediate"])
def test_values_stay_where_they_were_made(mode: str) -> None:
    with execution(mode):
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        y = (x * 2).exp()
        assert type(array(x)) is type(array(y)) is np.ndarray
        assert y.tolist()[0][0] == pytest.approx(np.exp(2.0), rel=1e-6)
        assert type(array(y)) is np.ndarray
        found = y.jax()
        assert isinstance(found, jax.Array)
        assert array(y) is found  # converted once
        assert y.jax() is found


def test_results_have_memory_of_their_own() -> None:
    with execution("immediate"):
        big = torch.arange(1000.0)
        for made in (big[:3] * 1, big.reshape(10, 100).mT * 1, big.expand(2, 1000) + 0):
            a = array(made)
            assert a.base is None
            assert a.flags.c_contiguous
        assert big.reshape(10, 100).mT.contiguous().numpy().strides == (40, 4)


def test_large_kernels_are_compiled_once_that_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    compiling(monkeypatch, KERNEL=1e-3, EQUATION=0.0)
    x = torch.ones(64, 1031)
    with execution("immediate"):
        kinds = [type(array(torch.special.entr(x))) for _ in range(60)]
    first = kinds.index(type(x.jax()))
    assert first > 1
    assert kinds == [np.ndarray] * first + [type(x.jax())] * (60 - first)


def test_kernels_that_take_longer_than_the_compiler_are_compiled_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch.linalg.solve(torch.eye(3), torch.ones(3, 1)).tolist()
    compiling(monkeypatch, KERNEL=2e-4, EQUATION=0.0)
    many, few = torch.eye(3).repeat(1031, 1, 1), torch.eye(3).repeat(5, 1, 1)
    with execution("immediate"):
        assert type(array(torch.linalg.inv(few))) is np.ndarray
        assert isinstance(array(torch.linalg.inv(many)), jax.Array)
    x = torch.eye(3).repeat(1033, 1, 1)
    assert torch.equal(torch.linalg.inv(x) * 2, x * 2)


def test_small_kernels_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    compiling(monkeypatch, KERNEL=0.0, EQUATION=0.0)
    x = torch.ones(3, 7)
    with execution("immediate"):
        assert {type(array(torch.sub(x, x))) for _ in range(100)} == {np.ndarray}


def test_what_numpy_does_faster_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    compiling(monkeypatch, KERNEL=1e-4, EQUATION=0.0)
    x = torch.arange(90_000).reshape(300, 300) % 37
    with execution("immediate"):
        for once in (
            lambda: torch.cumsum(x, 1), lambda: torch.sort(x > 9, dim=1).indices,
            lambda: torch.topk(x, 3).indices, lambda: torch.median(x),
            lambda: torch.median(x.double(), 0).indices, lambda: torch.lgamma(x.double()),
        ):  # fmt: skip
            assert {type(array(once())) for _ in range(30)} == {np.ndarray}
        # as other large kernels do not
        assert np.ndarray is not type([array(torch.lcm(x, x + 1)) for _ in range(60)][-1])


def test_products_take_the_compiler_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    compiling(monkeypatch, KERNEL=1e-4, EQUATION=0.0)
    x, w, depthwise = torch.ones(4, 64, 12, 12), torch.ones(64, 64, 3, 3), torch.ones(64, 1, 3, 3)
    a = torch.ones(300, 300)
    with execution("immediate"):
        assert all(type(array(a @ a)) is np.ndarray for _ in range(40))
        apart = [
            program_of(torch.nn.functional.conv2d, x, k, padding=1, groups=64 // k.shape[1]).even
            for k in (w, depthwise)
        ]
    assert apart[0] > 0 == apart[1]


def test_factorisations_of_large_matrices_wait_for_no_compiler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiling(monkeypatch, KERNEL=5e-3, EQUATION=0.0)
    a = torch.eye(700).mul_(3) + 0.001
    with execution("immediate"):
        for once in (
            lambda: torch.linalg.cholesky(a), lambda: torch.linalg.eigh(a).eigenvalues,
            lambda: torch.linalg.svdvals(a), lambda: torch.linalg.lu_factor(a).LU,
            lambda: torch.linalg.qr(a).R, lambda: torch.linalg.solve_triangular(a, a, upper=True),
        ):  # fmt: skip
            assert type(array(once())) is np.ndarray


def test_what_no_cache_holds_waits_for_memory() -> None:
    def far(n: int) -> float:
        program = program_of(torch.nn.functional.gelu, torch.linspace(-3, 3, n))
        return program.far / program.cost

    shares = [far(n) for n in (70_000, 200_000, 400_000, 1_100_000, 4_400_000)]
    assert shares[0] == 0 < shares[1] < shares[2] < shares[3] < 1
    assert shares[3] == pytest.approx(shares[4], 0.02)


def test_numpys_vector_code_counts_as_faster() -> None:
    x = torch.rand(5_001)
    for function in (torch.atan, torch.tan, torch.sinh, torch.expm1, torch.log1p):
        program = program_of(function, x)
        assert program.kept > 0.9 * (program.cost - program.calling), function
    assert program_of(torch.pow, x, x).kept
    assert not program_of(torch.log1p, x.bfloat16()).kept  # it has none
    assert not program_of(torch.exp, x).kept
    # many of single precision are two vectorised functions, few, or doubles, SciPy's
    many = program_of(torch.exp2, x.repeat(9)), program_of(torch.exp2, x.double().repeat(9))
    assert many[0].cost < many[1].cost / 4


@pytest.mark.parametrize(("processors", "kept"), [(2, True), (8, False)])
def test_what_waits_for_memory_stays_on_few_processors(
    processors: int, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiling(monkeypatch, KERNEL=1e-4, EQUATION=0.0, PROCESSORS=processors)
    x = torch.ones(1031, 300 + processors)  # a kernel that no other test has had compiled
    with execution("immediate"):
        for once in (
            lambda: x + x,
            lambda: x < 2,
            lambda: torch.floor(x),
            lambda: torch.exp(x),
            lambda: torch.cat([x, x]),
        ):
            found = [type(array(once())) for _ in range(60)]
            assert (found[-1] is np.ndarray) is kept
        assert np.ndarray is not type([array(torch.sigmoid(x)) for _ in range(60)][-1])


def test_traces_are_compiled_once_that_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    compiling(monkeypatch, TRACE=2e-3, TRACE_OP=0.0, KERNEL=1e9, LAUNCH_TRACE=15e-6)
    x = torch.linspace(0, 1, 77)

    def program() -> float:
        y = x
        for _ in range(20):
            y = torch.cos(y) + 0.125
        return y.sum().item()

    compiled = stats.compiled
    found = [program()]
    while stats.compiled == compiled and len(found) < 100:
        found.append(program())
    assert 3 < len(found) < 100
    np.testing.assert_allclose(found, found[0], rtol=1e-5)


def test_errors_of_values_are_raised_by_the_host() -> None:
    with execution("deferred"):
        with pytest.raises(
            IndexError, match="index 3 is out of bounds for dimension 0 with size 3"
        ):
            torch.arange(3.0)[(torch.tensor([1, 2]) * 2 + 1).remainder(7)]
        with pytest.raises(torch.linalg.LinAlgError, match="the input is not positive-definite"):
            torch.linalg.cholesky(-torch.eye(3) * 2)


def test_warnings_of_numpy_are_not_the_users() -> None:
    with np.errstate(all="raise"):
        for mode in ("deferred", "immediate"):
            with execution(mode):
                for _ in range(9):
                    assert (
                        torch.tensor([1.0, 0.0]) / torch.tensor([0.0, 0.0])
                    ).isnan().tolist() == [False, True]
        with pytest.raises(FloatingPointError):
            np.float32(1) / np.float32(0)


PROGRAM = """
import hashlib, sys
import jax
traced = []
jax.monitoring.register_event_duration_secs_listener(lambda name, *_,
                                                     **__: name.endswith("jaxpr_trace_duration")
                                                     and traced.append(name))
import jtorch as torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.Tanh(), torch.nn.Linear(30, 3),
                            torch.nn.LogSoftmax(-1))
optimizer = torch.optim.Adam(model.parameters(), 0.01)
from jtorch._src.engine import tiers, stats
# so that all tiers have their turn
tiers.TRACE, tiers.TRACE_OP, tiers.EQUATION, tiers.APART, tiers.ARRAY = 1e-4, 0.0, 0.0, 0.0, 0.0
x = torch.randn(16, 20)
for n in range(40):
    optimizer.zero_grad()
    loss = model(x[: 16 - n % 3]).square().mean()
    loss.backward()
    optimizer.step()
    if n % 7 == 0:
        loss.item()
digest = hashlib.sha256(b"".join(p.detach().numpy().tobytes()
                                 for p in model.parameters())).hexdigest()
print(digest, stats.compiled > 0, stats.stepped, stats.replayed)
print(len(traced), file=sys.stderr)
"""


def _run(folder: Path, **env: str) -> tuple[str, int]:
    given = os.environ | {
        "JTORCH_CACHE_DIR": str(folder),
        "JAX_PLATFORMS": "cpu",
        "JTORCH_EXECUTION": "deferred",
        **env,
    }
    given.pop("JTORCH_CACHE", None)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=given,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, int(done.stderr)


def test_two_runs_give_the_same_bits_and_the_second_traces_nothing(tmp_path: Path) -> None:
    first, traced = _run(tmp_path)
    assert " True " in first
    assert traced > 0
    assert _run(tmp_path) == (first, 0)
    assert _run(tmp_path / "other")[0] == first


def test_a_tier_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(
        AssertionError, match="JTORCH_TIERS must be one of auto, host, xla, got 'numpy'"
    ):
        _run(tmp_path, JTORCH_TIERS="numpy")


def test_recipes_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, Any] = {}
    monkeypatch.setattr(programs, "key_of", lambda *parts: repr(parts))
    monkeypatch.setattr(programs, "remember", kept.__setitem__)
    monkeypatch.setattr(programs, "remembered", kept.get)
    call = calls.Call("double", lambda x: x + x, identity="double, for this test")
    aval = values.aval_of((3,), np.dtype("f4"), values.default_device())
    for _ in range(2):
        call.shapes.clear()
        shapes = calls.shapes_of(call, (aval,), values.default_device())
        np.testing.assert_array_equal(shapes.run(np.float32([1, 2, 3])), np.float32([2, 4, 6]))
        monkeypatch.setattr(calls.Shapes, "traced", lambda *_: pytest.fail("traced again"))


@pytest.mark.parametrize("mode", ["deferred", "immediate"])
def test_what_numpy_refuses_is_compiled_and_lack_of_memory_is_torchs_error(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = torch.linspace(0, 1, 19)
    with execution(mode):
        wanted = torch.frac(x * 3).tolist()
        name = "frac"
        (shapes,) = [
            s
            for c in calls.all_calls()
            if c.name == name
            for a, s in c.shapes.items()
            if a[0].shape == (19,)
        ]

        def fail(error: Exception) -> Any:
            def run(*_: Any) -> Any:
                raise error

            return run

        with monkeypatch.context() as patch:
            patch.setattr(shapes, "run", fail(MemoryError("no room")))
            with pytest.raises(RuntimeError, match="out of memory: no room"):
                torch.frac(x * 3).tolist()
        shapes.run = fail(IndexError("list index out of range"))
        assert torch.frac(x * 3).tolist() == pytest.approx(wanted)
        assert not shapes.on_host
        calls.begin(next(c for c in calls.all_calls() if c.name == name), (x._aval,), shapes)


def test_what_is_read_cannot_be_written_into() -> None:
    x = torch.tensor([1.0, 2.0]) * 2
    with pytest.raises(ValueError, match="read-only"):
        numbers_of(x._read())[0] = 5
    assert x.tolist() == [2, 4]


def test_traces_that_come_again_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiling(monkeypatch, TRACE=1e9)
    asked: list[Any] = []
    known = run.known
    monkeypatch.setattr(
        run, "known", lambda call, avals: asked.append(call.name) or known(call, avals)
    )
    x, w = torch.linspace(0, 1, 12).reshape(3, 4), torch.linspace(1, 2, 12).reshape(4, 3)

    def program(keep: bool) -> tuple[float, Any]:
        y = x
        for _ in range(12):
            y = ((y @ w) * 0.125).mm(x).cos()
        kept = y + 1 if keep else None
        return y.sum().item(), None if kept is None else kept.sum().item()

    compiled = stats.compiled
    first = program(False), program(True)
    for _ in range(3):
        program(False)
        program(True)
    asked.clear()
    assert (program(False), program(True)) == first
    assert asked == []
    assert stats.compiled == compiled


def test_what_is_kept_of_a_trace_goes_by_what_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    compiling(monkeypatch, TRACE=1e9)
    x = torch.linspace(0, 1, 9)
    wanted = [float(v) for v in np.cos(np.cos(np.linspace(0, 1, 9, dtype=np.float32)))]

    def program(alive: int) -> list[Any]:
        steps = [x]
        for _ in range(20):
            steps.append(steps[-1].cos())
        kept = steps[2] if alive else None
        last = steps[-1]
        del steps
        last.tolist()
        return wanted if kept is None else kept.tolist()

    for n in range(12):
        assert program(n % 3 % 2) == pytest.approx(wanted)
