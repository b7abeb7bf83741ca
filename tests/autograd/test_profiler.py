"""What the profilers note: names, nesting, schedules, tables and traces. No test looks at how long
anything took."""

from __future__ import annotations

import gzip
import importlib
import json
import os
import threading
import time
from pathlib import Path

import pytest

import jtorch as torch
from jtorch import nn
from jtorch.autograd import profiler as legacy
from jtorch.autograd.profiler_util import EventList, FunctionEvent
from jtorch.profiler import (
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    tensorboard_trace_handler,
)


def test_events_of_a_step_forward_and_backward() -> None:
    net = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
        with record_function("forward"):
            y = net(torch.ones(4, 3))
        y.sum().backward()
    averages = prof.key_averages()
    counts = {event.key: event.count for event in averages}
    assert {
        "forward",
        "aten::linear",
        "aten::addmm",
        "aten::relu",
        "aten::sum",
        "aten::mm",
        "aten::threshold_backward",
    } <= set(counts)
    assert counts["aten::linear"] == counts["aten::relu"] == 1
    assert net[0].weight.grad is not None
    linear = next(event for event in prof.events() if event.name == "aten::linear")
    assert linear.input_shapes == [[4, 3], [2, 3], [2]] and linear.cpu_parent.name == "forward"
    assert [child.name for child in linear.cpu_children] == ["aten::t", "aten::addmm"]
    assert 0 <= linear.self_cpu_time_total <= linear.cpu_time_total == linear.cpu_time
    assert averages.total_average().count == len(prof.events())


def test_names_of_methods_and_inplace_operators() -> None:
    with legacy.profile() as prof:
        torch.ones(3).add_(1)[0].item()
    names = [event.name for event in prof.function_events]
    assert names == [
        "aten::ones",
        "aten::add_",
        "aten::select",
        "aten::item",
        "aten::_local_scalar_dense",
    ]


def test_tables() -> None:
    with profile(record_shapes=True) as prof:
        torch.ones(2, 2) @ torch.ones(2, 2)
        torch.ones(3, 3) @ torch.ones(3, 3)
    table = prof.key_averages(group_by_input_shape=True).table(
        sort_by="cpu_time_total", row_limit=-1
    )
    assert (
        "Self CPU time total:" in table
        and "[[2, 2], [2, 2]]" in table
        and "[[3, 3], [3, 3]]" in table
    )
    lines = prof.key_averages().table(row_limit=1).splitlines()
    assert lines[1].split()[:3] == ["Name", "Self", "CPU"] and lines[3].split()[0] == "aten::ones"
    assert lines[5].startswith("Self CPU time total:")
    with pytest.raises(AttributeError):
        prof.key_averages().table(sort_by="no_such")


def test_schedules(tmp_path: Path) -> None:
    seen = []

    def ready(prof: profile) -> None:
        seen.append((prof.step_num, [e.key for e in prof.events() if e.is_user_annotation]))
        tensorboard_trace_handler(str(tmp_path), "me")(prof)

    with profile(
        schedule=schedule(wait=1, warmup=1, active=2, repeat=1), on_trace_ready=ready
    ) as prof:
        for _ in range(6):
            torch.ones(2).exp()
            prof.step()
    assert seen == [(4, ["ProfilerStep*", "ProfilerStep*"])]
    (file,) = tmp_path.iterdir()
    names = [event["name"] for event in json.loads(file.read_text())["traceEvents"]]
    assert (
        {"ProfilerStep#2", "ProfilerStep#3"} <= set(names)
        and names.count("aten::exp") == 2
        and file.name.startswith("me.")
    )


def test_blocks_that_cross_steps_are_parts_of_none() -> None:
    names = [["outer", "ProfilerStep#1"], ["ProfilerStep#1", "outer"]]  # what ends first
    for order in names:
        with profile() as prof:
            blocks = {"ProfilerStep#1": torch.profiler.record_function("ProfilerStep#1")}
            blocks["ProfilerStep#1"].__enter__()
            torch.ones(2).exp()
            blocks["outer"] = torch.profiler.record_function("outer")
            blocks["outer"].__enter__()
            torch.ones(2).sin()
            for name in order:
                blocks[name].__exit__(None, None, None)
                torch.ones(2).cos()
            with torch.profiler.record_function("ProfilerStep#2"):
                torch.ones(2).tan()
        found = {e.key: e for e in prof.key_averages()}
        events = {e.name: e for e in prof.events()}
        crossed = order[0] == "ProfilerStep#1"
        assert (events["outer"].cpu_parent is None) is crossed and found["ProfilerStep*"].count == 2
        assert (
            events["aten::sin"].cpu_parent is events["outer"]
            and events["aten::tan"].cpu_parent.trace_name == "ProfilerStep#2"
        )
        assert (
            events["aten::tan"].cpu_parent.cpu_parent is None
            and min(e.self_cpu_time_total for e in prof.events()) >= 0
        )


def test_nothing_is_noted_outside_or_where_it_is_not_enabled() -> None:
    with legacy.profile(enabled=False) as prof:
        torch.ones(2).exp()
    assert prof.function_events is None and str(prof) == "<unfinished torch.autograd.profile>"
    with pytest.raises(RuntimeError, match="Profiler didn't finish running"):
        prof.key_averages()
    with profile() as prof:
        pass
    torch.ones(2).exp()
    assert len(prof.events()) == 0 and prof.key_averages().table() == ""


def test_whether_a_profile_runs() -> None:
    assert not torch.autograd._profiler_enabled()
    with torch.autograd.profiler.profile():
        assert torch.autograd._profiler_enabled()
    assert not torch.autograd._profiler_enabled()


def kinds(prof: profile) -> set[str]:
    return {kind for kind, spent in prof.phase_times().items() if spent}


@pytest.fixture
def tier():
    from jtorch._src.engine import values

    before = values.tier
    yield lambda name: setattr(values, "tier", name)
    values.tier = before


def test_the_host_tier_is_told_from_compiled_programs(tier) -> None:
    tier("host")
    x = torch.ones(40, 40)
    with profile() as prof:
        (x @ x).exp().sum().item()
    assert kinds(prof) == {"host"}
    matmul = next(e for e in prof.key_averages() if e.key == "aten::mm" or e.key == "aten::matmul")
    assert 0 < matmul.phases["host"] <= matmul.cpu_time_total
    assert "Host tier time total" in prof.key_averages().table()
    step = torch.compile(lambda x: ((x * 3).cos() * x + x / 7).sum() + 0.25)
    x = torch.ones(41, 300 + os.getpid() % 5000)  # of a size that no program kept on disk has
    tier("xla")
    with profile(programs=True) as prof, record_function("step"):
        for _ in range(4):
            step(x).item()
    assert {"compile", "program"} <= kinds(prof)
    step_event = next(e for e in prof.key_averages() if e.key == "step")
    assert 0 < step_event.phases["compile"] < step_event.cpu_time_total
    assert step_event.phases["program"] > 0
    assert sum(prof.phase_times().values()) <= step_event.cpu_time_total
    assert any(
        e.key.startswith("program: ") and e.self_program_time_total for e in prof.key_averages()
    )
    assert step_event.device_time_total == (
        step_event.phases["program"] if step_event.on_device else 0
    )


def test_transfers_are_noted_with_their_bytes() -> None:
    x = torch.ones(300) + 1
    x.numpy()
    with profile() as prof:
        x.jax()
    (moved,) = [p for p in prof.events().phases if p.kind == "transfer"] or [None]
    if moved is not None:  # it is NumPy's before, unless everything is compiled
        assert (moved.name, moved.nbytes) == ("to device", 1200)


def test_programs_are_left_whole_where_that_is_asked_for() -> None:
    from jtorch._src.engine import stats

    x = torch.ones(3)
    with profile(programs=True) as prof:
        before = stats.flushes
        y = x.exp().sin().cos()
        recorded = stats.flushes - before
        y.tolist()
    assert recorded == 0 or torch.execution_mode() == "immediate"
    names = [e.name for e in prof.events()]
    assert names and not any(name.startswith("aten::") for name in names)
    assert [e.name for e in prof.events().phases] == [name.partition(": ")[2] for name in names]


def test_memory_is_that_of_results() -> None:
    x = torch.ones(100)
    with profile(profile_memory=True) as prof, record_function("block"):
        y = x * 2
        y.add_(1)
        y[10:]
        torch.zeros(10, dtype=torch.float64)
    memory = {e.key: (e.self_cpu_memory_usage, e.cpu_memory_usage) for e in prof.key_averages()}
    assert memory["aten::mul"] == (400, 400)
    assert memory["aten::add_"] == memory["aten::slice"] == (0, 0)
    assert memory["aten::zeros"][1] == 80
    assert memory["block"] == (0, 480)
    assert "Self CPU Mem" in prof.key_averages().table()
    assert "CPU Mem" not in torch.autograd.profiler_util.EventList(prof.events()).table()


def test_operations_are_counted() -> None:
    with profile(with_flops=True) as prof:
        torch.ones(3, 4) @ torch.ones(4, 5)
    assert max(e.flops for e in prof.events()) == 2 * 3 * 4 * 5


def test_stacks_show_the_lines_of_the_program(tmp_path: Path) -> None:
    def inner() -> None:
        torch.ones(200).exp()

    with profile(with_stack=True) as prof:
        inner()
        inner()
    exp = next(e for e in prof.events() if e.name == "aten::exp")
    assert exp.stack[0].endswith(": inner") and __file__ in exp.stack[0]
    assert "test_stacks_show" in exp.stack[1]
    averages = prof.key_averages(group_by_stack_n=2)
    assert {e.count for e in averages if e.key == "aten::exp"} == {1}  # from two lines
    assert {e.count for e in prof.key_averages(group_by_stack_n=1) if e.key == "aten::exp"} == {2}
    assert "Source Location" in averages.table()
    prof.export_stacks(tmp_path / "stacks")
    lines = (tmp_path / "stacks").read_text().splitlines()
    assert lines and all(
        line.rpartition(" ")[2].isdigit() and "_inner " in line.replace(":", "") for line in lines
    )
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(tmp_path / "stacks", "count")
    with profile() as prof:
        pass
    with pytest.raises(AssertionError, match="with_stack"):
        prof.export_stacks(tmp_path / "stacks")


def test_traces_have_rows_for_the_engine(tmp_path: Path) -> None:
    with profile(profile_memory=True) as prof:
        torch.ones(50).exp()
    prof.add_metadata("run", "first")
    prof.add_metadata_json("sizes", "[1, 2]")
    path = tmp_path / "trace.json.gz"
    prof.export_chrome_trace(path)
    with gzip.open(path, "rt") as file:
        trace = json.load(file)
    assert (trace["run"], trace["sizes"]) == ("first", [1, 2])
    events = trace["traceEvents"]
    rows = {e["args"]["name"]: e["tid"] for e in events if e["name"] == "thread_name"}
    assert {"thread 1", "Compile", "Host tier", "Programs", "Transfers"} == set(rows)
    spans = [e for e in events if e["ph"] == "X"]
    assert {e["tid"] for e in spans if e["cat"] == "cpu_op"} == {1}
    ran = [e for e in spans if e["cat"] in ("host", "program")]
    assert ran and {e["tid"] for e in ran} <= {rows["Host tier"], rows["Programs"]}
    op = next(e for e in spans if e["name"] == "aten::exp")
    assert any(op["ts"] <= e["ts"] and e["ts"] + e["dur"] <= op["ts"] + op["dur"] for e in ran)
    assert [e["args"]["bytes made"] for e in events if e["ph"] == "C"] == [200, 400]


def test_compressed_traces(tmp_path: Path) -> None:
    with profile(on_trace_ready=tensorboard_trace_handler(str(tmp_path), use_gzip=True)):
        torch.ones(2).exp()
    (file,) = tmp_path.iterdir()
    assert file.name.endswith(".pt.trace.json.gz")
    assert json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]


def test_the_engine_is_as_it_was_afterwards() -> None:
    from jtorch._src.engine import at_once, run, tiers

    record = importlib.import_module("jtorch._src.engine.record")
    array = type(torch.ones(1).jax())

    def state() -> list[object]:
        found: list[object] = [vars(array)["_value"]]
        return found + [
            vars(m)[n]
            for m in (at_once, run, record, tiers)
            for n in sorted(vars(m))
            if callable(vars(m)[n])
        ]

    before = state()
    with pytest.raises(ZeroDivisionError), profile():
        assert state() != before
        with legacy.profile():
            torch.ones(2).exp()
        assert state() != before
        torch.ones(2).exp()
        1 / 0
    assert state() == before


def test_other_threads_may_compute_meanwhile() -> None:
    x, stop, failed = torch.ones(30, 30), threading.Event(), []

    def work() -> None:
        try:
            while not stop.is_set():
                assert (x @ x)[0, 0].item() == 30
                time.sleep(0.001)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(5):
        with profile() as prof:
            (x + 1).sum().item()
        assert {"aten::add", "aten::sum"} <= {e.name for e in prof.events()}
    stop.set()
    thread.join()
    assert not failed


def test_execution_traces_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="execution_trace_observer"):
        profile(execution_trace_observer=object())


def test_events_made_by_hand_find_the_calls_they_ran_inside_of() -> None:
    spans = [(1, 0, 1), (1, 1, 2), (0, 0, 2), (0, 1, 2), (0, 1, 3), (0, 4, 9), (0, 5, 6)]
    events = EventList(
        FunctionEvent(i, "call", thread, a, b, node_id=0) for i, (thread, a, b) in enumerate(spans)
    )
    events.append(FunctionEvent(7, "elsewhere", 0, 5, 6, is_async=True))
    events._populate_cpu_children()
    assert [[child.id for child in event.cpu_children] for event in events] == [
        [],
        [],
        [],
        [],
        [3],
        [6],
        [],
        [],
    ]
    assert events[3].cpu_parent is events[4] and events[7].cpu_parent is None
    assert events[5].self_cpu_time_total == 4


def test_blocks_that_graphs_enter_and_leave_by_operators() -> None:
    ops = torch.ops.profiler
    with legacy.profile() as prof:
        handle = ops._record_function_enter("older")
        torch.ones(2).relu()
        ops._record_function_exit(handle)
        handle = ops._record_function_enter_new("newer", "with arguments")
        torch.ones(2).exp()
        ops._record_function_exit(handle)
    children = {
        event.name: {child.name for child in event.cpu_children} for event in prof.function_events
    }
    assert "aten::relu" in children["older"] and "aten::exp" not in children["older"]
    assert "aten::exp" in children["newer"] and "aten::relu" not in children["newer"]
    assert not any("_record_function" in name for name in children)


@pytest.mark.parametrize(("kept", "counted"), [(False, 5), (True, 10)])
def test_recordings_are_kept_together_if_asked(kept: bool, counted: int) -> None:
    with torch.profiler.profile(
        schedule=torch.profiler.schedule(wait=0, warmup=0, active=5, repeat=2), acc_events=kept
    ) as prof:
        for _ in range(12):
            _ = torch.ones(3) + 1
            prof.step()
    events = prof.events()
    assert sum(e.name == "aten::add" for e in events) == counted
    assert [e.id for e in events] == list(range(len(events)))
    assert prof.profiler.function_events is events


def test_nested_operands_have_no_sizes() -> None:
    x = torch.nested.nested_tensor([torch.rand(4, 5), torch.rand(3, 5)])
    with torch.profiler.profile(record_shapes=True) as prof:
        _ = torch.nn.functional.linear(x, torch.rand(2, 5))
    (found,) = [e.input_shapes for e in prof.events() if e.name == "aten::linear"]
    assert found[:2] == [[], [2, 5]]


def test_labels_made_while_someone_looks() -> None:
    label = importlib.import_module("jtorch._C._profiler")._RecordFunctionFast
    x = torch.ones(2)
    assert not legacy._is_profiler_enabled
    with torch.profiler.profile(record_shapes=True) as prof:
        assert legacy._is_profiler_enabled
        with label("told", [x, 1], {"stream": 0}), label("alone"):
            _ = x + x
    assert not legacy._is_profiler_enabled
    found = {e.name: (e.input_shapes, e.kwinputs) for e in prof.events()}
    assert found["told"] == ([[2], []], {"stream": 0})
    assert found["alone"] == ([], {})
    with pytest.raises(RuntimeError, match="must be a string"):
        label(1)
