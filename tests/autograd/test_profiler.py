"""What the profilers note: names, nesting, schedules, tables and traces. No test looks at how long anything took."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jtorch as torch
from jtorch import nn
from jtorch.autograd import profiler as legacy
from jtorch.profiler import ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler


def test_events_of_a_step_forward_and_backward() -> None:
    net = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
        with record_function("forward"):
            y = net(torch.ones(4, 3))
        y.sum().backward()
    averages = prof.key_averages()
    counts = {event.key: event.count for event in averages}
    assert {"forward", "aten::linear", "aten::addmm", "aten::relu", "aten::sum", "aten::mm", "aten::threshold_backward"} <= set(counts)
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
    assert names == ["aten::ones", "aten::add_", "aten::select", "aten::item", "aten::_local_scalar_dense"]


def test_tables() -> None:
    with profile(record_shapes=True) as prof:
        torch.ones(2, 2) @ torch.ones(2, 2)
        torch.ones(3, 3) @ torch.ones(3, 3)
    table = prof.key_averages(group_by_input_shape=True).table(sort_by="cpu_time_total", row_limit=-1)
    assert "Self CPU time total:" in table and "[[2, 2], [2, 2]]" in table and "[[3, 3], [3, 3]]" in table
    lines = prof.key_averages().table(row_limit=1).splitlines()
    assert lines[1].split()[:3] == ["Name", "Self", "CPU"] and lines[3].split()[0] == "aten::ones" and len(lines) == 6
    with pytest.raises(AttributeError):
        prof.key_averages().table(sort_by="no_such")


def test_schedules(tmp_path: Path) -> None:
    seen = []

    def ready(prof: profile) -> None:
        seen.append((prof.step_num, [e.key for e in prof.events() if e.is_user_annotation]))
        tensorboard_trace_handler(str(tmp_path), "me")(prof)

    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=1), on_trace_ready=ready) as prof:
        for _ in range(6):
            torch.ones(2).exp()
            prof.step()
    assert seen == [(4, ["ProfilerStep#2", "ProfilerStep#3"])]
    (file,) = tmp_path.iterdir()
    names = [event["name"] for event in json.loads(file.read_text())["traceEvents"]]
    assert names.count("aten::exp") == 2 and file.name.startswith("me.")


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
