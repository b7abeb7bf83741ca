"""``torch.utils.benchmark``: statements are run as often as said, reports and tables say what was
measured."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import pytest

import jtorch as torch
from jtorch.utils.benchmark import (
    Compare,
    Language,
    Measurement,
    TaskSpec,
    Timer,
    select_unit,
    trim_sigfig,
    unit_to_english,
)


def _made(times: list[float], n: int = 100, **words: Any) -> Measurement:
    return Measurement(n, times, TaskSpec(**{"stmt": "f(x)", "setup": "pass", **words}))


def _report(m: Measurement) -> list[str]:
    return repr(m).splitlines()[1:]


def test_units_and_digits() -> None:
    assert [select_unit(t) for t in (3e-9, 2e-6, 0.5, 2.0)] == [
        ("ns", 1e-9),
        ("us", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
    ]
    assert (
        unit_to_english("ms") == "millisecond"
        and trim_sigfig(1234.5, 2) == 1200.0
        and trim_sigfig(0.0, 2) == 0.0
    )
    assert (
        _made([1e-3, 1.1e-3, 1.2e-3, 5e-3]).significant_figures == 1
        and _made([2.0], 1).significant_figures == 5
    )


def test_what_is_known_of_the_times() -> None:
    m = _made([1e-3, 1.1e-3, 1.2e-3, 5e-3], label="L", sub_label="S", env="E")
    assert (m.median, m.mean, m.iqr) == pytest.approx((1.15e-5, 2.075e-5, 1.075e-5))
    assert (
        m.has_warnings
        and not m.meets_confidence()
        and (m.title, m.as_row_name, m.env, m.label) == ("L: S", "S", "E", "L")
    )
    assert [
        m.raw_times
        for m in Measurement.merge([_made([1.0], 1), _made([2.0], 2), _made([3.0], 1, stmt="g")])
    ] == [[1.0, 1.0], [3.0]]


def test_reports() -> None:
    assert _report(_made([1e-3], setup="x = 1")) == [
        "f(x)",
        "setup: x = 1",
        "  10.00 us",
        "  1 measurement, 100 runs , 1 thread",
    ]
    assert _report(_made([1e-3, 1.1e-3, 1.2e-3, 5e-3], label="L", description="D",
                         num_threads=4)) == [
        "L", "D", "  Median: 11.50 us", "  IQR:    10.75 us (10.75 to 21.50)",
        "  4 measurements, 100 runs per measurement, 4 threads",
        "  WARNING: Interquartile range is 93.5% of the median measurement.",
        "           This suggests significant environmental influence.",
    ]  # fmt: skip
    assert "setup:\n  a\n  b\n\n" in repr(_made([1.0], setup="a\nb"))


def test_tables() -> None:
    times = {
        (size, d): 1e-3 * size * (1 if d == "v1" else 1.7) for size in (1, 10) for d in ("v1", "v2")
    }
    results = [
        _made([t], label="A", sub_label=f"n={size}", description=d)
        for (size, d), t in times.items()
    ]
    table = Compare(results)
    assert str(table) == (
        "[------------ A -------------]\n"
        "            |    v1   |    v2 \n1 threads: -------------------\n"
        "      n=1   |   10.0  |   17.0\n"
        "      n=10  |  100.0  |  170.0\n"
        "\nTimes are in microseconds (us).\n"
    )
    table.trim_significant_figures()
    assert "n=10  |  100  |  170" in str(table)
    table.colorize()
    assert str(table).count("\033[92m") == 2 and str(table).count("\033[31m") == 2
    with contextlib.redirect_stdout(io.StringIO()) as out:
        table.print()
    assert out.getvalue() == f"{table}\n"
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        table.extend_results([3])  # type: ignore[list-item]


def test_statements_run() -> None:
    seen: list[int] = []
    names = {"seen": seen, "threads": (threads := [])}
    m = Timer(
        "seen.append(1); threads.append(torch.get_num_threads())", globals=names, num_threads=2
    ).timeit(500)
    assert len(seen) == 505 and m.number_per_run == 500 and m.mean > 0 and set(threads) == {2}
    assert (
        torch.get_num_threads()
        == Timer("x", setup="x = torch.get_num_threads()").timeit(1).num_threads
        or torch.get_num_threads() > 1
    )
    found: list[tuple[int, float]] = []
    m = Timer("y = x + 1", setup="x = torch.ones(2)").blocked_autorange(
        lambda *a: found.append(a), min_run_time=0.01
    )
    assert (
        [t for _, t in found] == m.raw_times
        and sum(m.raw_times) >= 0.01
        and m.number_per_run == found[0][0]
    )
    m = Timer("pass").adaptive_autorange(max_run_time=0.02)
    assert len(m.times) >= 4 or sum(m.raw_times) >= 0.02


def test_what_is_pending_is_computed_within_the_time() -> None:
    ticks: list[str] = []
    x = torch.ones(2)

    def clock() -> float:
        torch.synchronize()
        ticks.append("tick")
        return float(len(ticks))

    assert (
        Timer("x + 1", timer=clock, globals={"x": x}).timeit(1).raw_times == [1.0]
        and len(ticks) == 4
    )


def test_refusals() -> None:
    with pytest.raises(NotImplementedError, match="nothing here compiles"):
        Timer("f();", language="c++")
    with pytest.raises(ValueError, match="Invalid language"):
        Timer("f()", language="rust")
    with pytest.raises(ValueError, match="only a `str` stmt"):
        Timer(print)  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match="blocked_autorange"):
        Timer("1", language=Language.PYTHON).repeat()
    with pytest.raises(NotImplementedError, match="collect_callgrind"):
        Timer("1").collect_callgrind()
    with pytest.raises(NameError, match="missing"):
        Timer("missing").timeit(1)


@pytest.mark.parametrize(
    "stmt", ["x.exp()", "y = x.exp()", "for _ in range(1):\n    y = x.exp()", "y = 1; x.exp()"]
)
def test_what_a_run_records_is_computed_in_it(stmt: str) -> None:
    from jtorch._src.engine import stats, values

    # a shape of which no other test has made a kernel that runs when it is called
    x = torch.ones(311)
    before = values.tier, stats.flushes
    with torch.execution("deferred"):
        values.tier = "xla"
        try:
            Timer(stmt, globals={"x": x}).timeit(100)
        finally:
            values.tier = before[0]
    assert stats.flushes - before[1] >= 102


def test_statements_keep_their_meaning() -> None:
    seen: list[int] = []
    Timer("seen.append(1)\nseen.append(2)", globals={"seen": seen}).timeit(1)
    assert seen == [1, 2] * 3
    Timer("  if True:\n    seen.clear()  # all\n", globals={"seen": seen}).timeit(1)
    assert seen == []
    with pytest.raises(SyntaxError):
        Timer("1 +").timeit(1)
