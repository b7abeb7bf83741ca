"""Tensors between processes, and what becomes of processes that fail."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import pytest

import jtorch as torch
from jtorch import multiprocessing as mp

ROOT = Path(torch.__file__).parent.parent


def sent(x: Any) -> Any:
    """What arrives of an object in another process."""
    return pickle.loads(bytes(ForkingPickler.dumps(x)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64, torch.float8_e4m3fn])
def test_tensors_arrive_by_value(dtype: torch.dtype) -> None:
    x = torch.tensor([[0, 1], [1, 0]]).to(dtype)
    y = sent(x)
    assert y.dtype is dtype and torch.equal(y.to(torch.complex64), x.to(torch.complex64)) and not y.requires_grad
    assert torch.equal(sent(x.t()).to(torch.float32), x.t().to(torch.float32)) if not dtype.is_complex else True


def test_parameters_and_gradients() -> None:
    p = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    assert type(sent(p)) is torch.nn.Parameter and not sent(p).requires_grad
    x = torch.ones(2, requires_grad=True)
    assert sent(x).requires_grad and sent([x, {"a": x}])[1]["a"].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        sent(x * 2)
    assert sent((x * 2).detach()).tolist() == [2, 2]


def test_meta_tensors_and_storages() -> None:
    m = sent(torch.empty(2, 3, device="meta").t())
    assert m.is_meta and m.shape == (3, 2) and m.stride() == (1, 3)
    assert sent(torch.arange(3, dtype=torch.uint8).untyped_storage()).tolist() == [0, 1, 2]


def test_modules() -> None:
    net = torch.nn.Linear(2, 1)
    assert torch.equal(sent(net).weight, net.weight)


def test_plain_pickles_stay_what_they_are() -> None:
    buffer = io.BytesIO()
    pickle.dump(torch.ones(1, requires_grad=True), buffer)
    buffer.seek(0)
    assert pickle.load(buffer).requires_grad


def test_names() -> None:
    assert mp.get_all_sharing_strategies() >= {mp.get_sharing_strategy()}
    with pytest.raises(AssertionError, match="invalid sharing strategy 'x'"):
        mp.set_sharing_strategy("x")
    assert mp.get_context("spawn").get_start_method() == "spawn" and mp.cpu_count() >= 1 and mp.current_process().name == "MainProcess"
    assert set(sys.modules["multiprocessing"].__all__) <= set(dir(mp))


def test_exceptions_can_be_sent() -> None:
    error = sent(mp.ProcessExitedException("text", 1, 2, 3, "SIGTERM"))
    assert (str(error), error.error_index, error.exit_code, error.signal_name) == ("text", 1, 3, "SIGTERM")


PROGRAM = """
import sys
sys.path[:0] = [{root!r}]
import jtorch as torch
from jtorch import multiprocessing as mp


def fill(i, queue):
    queue.put((i, torch.full((2,), float(i), requires_grad=True)))


def fail(i):
    if i == 1:
        raise KeyError("told")


def leave(i):
    sys.exit(3)


def double(x):
    return x * 2


if __name__ == "__main__":
    assert mp.get_start_method(allow_none=True) is None
    torch.ones(1).add(1).tolist()  # starts JAX
    assert mp.get_start_method() == "spawn", mp.get_start_method()
    queue = mp.SimpleQueue()
    mp.spawn(fill, (queue,), nprocs=2)
    got = dict(queue.get() for _ in range(2))
    assert {{i: t.tolist() for i, t in got.items()}} == {{0: [0, 0], 1: [1, 1]}} and got[1].requires_grad
    for function, kind, words in (
        (fail, mp.ProcessRaisedException, "Process 1 terminated with the following error"),
        (leave, mp.ProcessExitedException, "process 0 terminated with exit code 3"),
    ):
        try:
            mp.spawn(function, nprocs=2 if function is fail else 1)
        except kind as error:
            assert words in str(error) and ("told" in str(error)) == (function is fail), error
        else:
            raise AssertionError(function)
    process = mp.Process(target=fill, args=(5, queue))
    process.start()
    assert queue.get()[1].tolist() == [5, 5]
    process.join()
    with mp.Pool(1) as pool:
        assert [t.tolist() for t in pool.map(double, [torch.ones(1), torch.ones(2)])] == [[2], [2, 2]]
    print("done")
"""


def test_processes(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.format(root=str(ROOT)))
    found = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=240)
    assert found.stdout == "done\n", found.stderr
