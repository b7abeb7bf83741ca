"""Tracing kernels for what they give: without the functions of ``jax.numpy`` as pieces of their
own, loops as loops, and warnings once."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jtorch as torch
from jtorch._src.engine import calls, programs, tracing
from jtorch._src.ops._kernel import forget_calls


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """The calls whose kernels are traced from here on, each with its jaxpr."""
    found: list[tuple[Any, Any]] = []
    whole = tracing.traced

    def traced(call: Any, avals: Any) -> Any:
        result = whole(call, avals)
        found.append((call.name, result[0].jaxpr))
        return result

    # what earlier processes have learnt would not be traced again
    monkeypatch.setattr(programs, "_place", lambda: None)
    forget_calls()
    monkeypatch.setattr(tracing, "traced", traced)
    return found


def _names(jaxpr: Any) -> list[str]:
    return [e.primitive.name for e in jaxpr.eqns]


def test_what_jax_numpy_compiles_is_part_of_the_kernel(seen: list[tuple[Any, Any]]) -> None:
    x = torch.linspace(-2, 2, 37, requires_grad=True)
    torch.logaddexp(torch.nn.functional.gelu(x), x.var()).sum().backward()
    assert {"gelu", "gelu_backward", "logaddexp"} <= {name for name, _ in seen}
    for name, jaxpr in seen:
        assert not {"jit", "pjit"} & set(_names(jaxpr)), name


def test_jax_s_own_way_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def results(n: int) -> list[Any]:
        x = torch.linspace(-3, 3, n, requires_grad=True)
        y = torch.special.log_ndtr(x) + torch.where(x > 0, x.clamp(max=1), x.floor()) / torch.std(x)
        torch.softmax(y, 0).square().sum().backward()
        assert x.grad is not None
        torch.cummax(x, 0)
        return [y.tolist(), x.grad.tolist()]

    mine = results(61)
    monkeypatch.setattr(tracing, "_tracer", lambda: None)
    forget_calls()
    assert results(61) == mine


@pytest.mark.parametrize("name", ["logcumsumexp", "cummax", "cumprod"])
def test_loops_stay_loops(seen: list[tuple[Any, Any]], name: str) -> None:
    x = torch.ones(307, dtype=torch.complex64 if name == "logcumsumexp" else torch.float32)
    result = getattr(torch, name)(x, 0)
    torch._engine.flush()
    del result
    assert seen
    assert all(len(jaxpr.eqns) < 100 for _, jaxpr in seen), [(n, len(j.eqns)) for n, j in seen]


def test_kernels_have_no_loops_but_those_that_stay() -> None:
    files = sorted((Path(torch.__file__).parent / "_src" / "ops").glob("*.py"))
    assert "_loops.py" in [file.name for file in files]
    for file in files:
        if file.name != "_loops.py":
            assert not re.search(r"\blax\.(scan|fori_loop|while_loop|map)\(", file.read_text()), (
                file.name
            )


def test_a_loop_of_no_rounds() -> None:
    with jax.disable_jit():
        from jtorch._src.ops import _loops

        assert _loops.scan(lambda c, x: (c, x), np.float32(1), np.zeros((0, 2), np.float32))[
            1
        ].shape == (0, 2)


def test_wrong_operands_raise_what_they_did() -> None:
    with pytest.raises(
        RuntimeError,
        match=r"The size of tensor a \(3\) must match the size of tensor b \(4\) at non-singleton",
    ):
        torch.add(torch.ones(3), torch.ones(4))


def test_a_kernel_warns_once_wherever_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    from jtorch._src.engine import values

    monkeypatch.setattr(values, "tier", "xla")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        torch.nn.functional.mse_loss(torch.ones(5, 3), torch.ones(1, 3)).item()
    assert len(found) == 1, [str(w.message) for w in found]


def test_what_tracing_showed_is_dropped_once_it_was_used() -> None:
    forget_calls()
    before = list(calls.all_calls())  # of other tests: some look at kernels that have long run
    y = (torch.ones(41) * 2).sum()
    assert y.item() == 82
    made = [call for call in calls.all_calls() if not any(call is old for old in before)]
    assert made
    for call in made:
        for avals in call.traces:
            if (known := call.shapes.get(avals)) is not None:
                assert known.estimate is None, call


def test_a_call_that_is_pending_with_several_shapes_is_traced_once_for_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[tuple[str, Any]] = []
    inlined = tracing._inlined
    monkeypatch.setattr(
        tracing,
        "_inlined",
        lambda call, avals: (found.append((call.name, avals)), inlined(call, avals))[1],
    )
    monkeypatch.setattr(programs, "_place", lambda: None)
    forget_calls()
    with torch.execution("deferred"):
        parts = [torch.cat([torch.ones(n, 2), torch.zeros(n, 2)]) for n in range(1, 7)]
        assert [p.sum().item() for p in parts] == [2.0 * n for n in range(1, 7)]
    joined = [avals for name, avals in found if name == "cat"]
    assert len(joined) == len(set(joined)) == 6


def test_what_was_traced_is_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "_place", lambda: None)
    kernels: list[Any] = []
    whole = tracing.traced
    monkeypatch.setattr(
        tracing, "traced", lambda call, avals: (kernels.append(call), whole(call, avals))[1]
    )
    forget_calls()
    with torch.execution("deferred"):
        parts = [torch.cat([torch.ones(n), torch.zeros(n)]) for n in range(1, 3 * tracing.PENDING)]
        (cat,) = {call for call in kernels if call.name == "cat"}
        assert 0 < len(cat.traces) <= tracing.PENDING
        assert [p.sum().item() for p in parts] == [float(n) for n in range(1, 3 * tracing.PENDING)]
    assert len(cat.traces) <= tracing.PENDING
    one = torch.cat([torch.ones(100), torch.zeros(1)])
    assert one.tolist()[-1] == 0
    assert all(avals[0].shape != (100,) for avals in cat.traces)  # it has run
