"""Conditions, futures and streams."""

from __future__ import annotations

import threading

import pytest

import jtorch as torch
from jtorch.futures import Future, collect_all, wait_all


def test_conditions_raise_the_chosen_error() -> None:
    torch._check(True)
    with pytest.raises(RuntimeError, match="Expected cond to be True"):
        torch._check(False)
    with pytest.raises(IndexError, match="7 is too far"):
        torch._check_index(False, lambda: f"{7} is too far")
    with pytest.raises(TypeError, match="got a Tensor"):
        torch._check(torch.tensor(True))
    with pytest.raises(TypeError, match="message must be a callable"):
        torch._check_value(False, "text")
    with pytest.raises(ValueError, match="Expected cond"):
        torch._check_tensor_all_with(ValueError, torch.tensor([True, False]))


def test_messages_are_only_made_when_needed() -> None:
    def never() -> str:
        raise AssertionError

    torch._check(True, never)
    with pytest.warns(FutureWarning, match="_check_is_size will be removed"):
        torch._check_is_size(3, never)


def test_futures_between_threads() -> None:
    future: Future[int] = Future()
    seen: list[int] = []
    future.add_done_callback(lambda f: seen.append(f.wait()))
    after = collect_all([future, future.then(lambda f: f.wait() * 2)])
    thread = threading.Timer(0.05, future.set_result, [21])
    thread.start()
    assert wait_all(after.wait()) == [21, 42]
    thread.join()
    assert seen == [21]
    with pytest.raises(RuntimeError, match="only be marked completed once"):
        future.set_result(1)


def test_errors_in_futures(capsys: pytest.CaptureFixture[str]) -> None:
    future: Future[int] = Future()
    with pytest.raises(RuntimeError, match="not completed"):
        future.value()
    future.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        future.wait()
    with pytest.raises(RuntimeError, match="running the callback: ValueError: no"):
        future.then(lambda f: f.wait()).wait()
    future.add_done_callback(lambda f: print(f.wait()))  # noqa: T201
    assert "ValueError: no" in capsys.readouterr().err


def test_forked_functions_are_futures() -> None:
    future = torch.jit.fork(lambda x: x + 1, 1)
    assert isinstance(future, torch.Future) and future.done() and torch.jit.wait(future) == 2


def test_streams_of_the_cpu() -> None:
    with torch.Stream("cpu") as stream:
        event = stream.record_event()
    assert stream.query() and event.query() and stream == torch.Stream(device="cpu")
    start, end = torch.Event(enable_timing=True), torch.Event(enable_timing=True)
    start.record()
    end.record()
    assert start.elapsed_time(end) >= 0
    with pytest.raises(ValueError, match="enable_timing"):
        event.elapsed_time(end)


def test_streams_show_the_parts_that_they_were_made_of() -> None:
    made = [torch.Stream(stream_id=n, device_index=2, device_type=1) for n in (1, 2, 1)]
    assert (made[0].stream_id, made[0].device_index, made[0].device_type) == (1, 2, 1)
    assert str(made[0].device) == "cuda:2"
    assert made[0] == made[2] != made[1]
    assert torch.Stream("cpu").device_type == 0
    with pytest.raises(TypeError, match="together"):
        torch.Stream(stream_id=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        torch.Stream(foo=1)
    with pytest.raises(NotImplementedError, match="no such device"):
        torch.Stream(stream_id=1, device_index=2, device_type=3)
