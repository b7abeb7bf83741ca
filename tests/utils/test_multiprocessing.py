"""Tensors between processes, and what becomes of processes that fail."""

from __future__ import annotations

import copy
import gc
import io
import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jtorch as torch
from jtorch import multiprocessing as mp
from jtorch._src.engine import values
from jtorch._src.tensor import shared_memory
from jtorch.multiprocessing.reductions import StorageWeakRef
from jtorch.utils.data import DataLoader, Dataset
from jtorch.utils.data._utils import transport

ROOT = Path(torch.__file__).parent.parent


def sent(x: Any) -> Any:
    """What arrives of an object in another process."""
    return pickle.loads(bytes(ForkingPickler.dumps(x)))


@pytest.mark.parametrize(
    "dtype",
    [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64, torch.float8_e4m3fn],
)
def test_tensors_arrive(dtype: torch.dtype) -> None:
    x = torch.tensor([[0, 1], [1, 0]]).to(dtype)
    y = sent(x)
    assert (
        y.dtype is dtype
        and torch.equal(y.to(torch.complex64), x.to(torch.complex64))
        and not y.requires_grad
    )
    assert (
        torch.equal(sent(x.t()).to(torch.float32), x.t().to(torch.float32))
        if not dtype.is_complex
        else True
    )


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
    assert (
        mp.get_context("spawn").get_start_method() == "spawn"
        and mp.cpu_count() >= 1
        and mp.current_process().name == "MainProcess"
    )
    assert set(sys.modules["multiprocessing"].__all__) <= set(dir(mp))


def test_exceptions_can_be_sent() -> None:
    error = sent(mp.ProcessExitedException("text", 1, 2, 3, "SIGTERM"))
    assert (str(error), error.error_index, error.exit_code, error.signal_name) == (
        "text",
        1,
        3,
        "SIGTERM",
    )


@pytest.fixture(params=["file_descriptor", "file_system"])
def strategy(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each way to pass memory on."""
    before = mp.get_sharing_strategy()
    if request.param not in mp.get_all_sharing_strategies():
        pytest.skip("not on this system")
    mp.set_sharing_strategy(request.param)
    yield request.param
    mp.set_sharing_strategy(before)


def shared_files() -> list[str]:
    """What this process keeps in files of shared memory."""
    folder = shared_memory._FILES
    return [name for name in os.listdir(folder) if name.startswith(f"torch_{os.getpid()}_")]


def test_what_is_sent_shares_memory(strategy: str) -> None:
    x = torch.zeros(2, 3)
    kept = x[1]
    y, row, again = sent([x, kept, x.t()])
    y[1, 2] = 5
    assert (
        x.tolist() == [[0, 0, 0], [0, 0, 5]]
        and kept.tolist() == row.tolist() == [0, 0, 5]
        and x.is_shared()
        and y.is_shared()
    )
    kept.fill_(7)
    assert y[1].tolist() == again[:, 1].tolist() == [7, 7, 7]
    assert y.untyped_storage() == row.untyped_storage() == x.untyped_storage()
    assert sent(x.storage().untyped()).tolist() == x.untyped_storage().tolist()
    bits = torch.arange(4, dtype=torch.int32).share_memory_().view(torch.int16)
    sent(bits)[1] = 1
    assert bits.view(torch.int32).tolist() == [65536, 1, 2, 3]
    z = torch.tensor([1 + 2j]).conj()
    assert sent(z).tolist() == [1 - 2j]
    assert sent(torch.empty(0)).tolist() == [] and sent(torch.DoubleStorage([1, 2])).tolist() == [
        1,
        2,
    ]


def test_memory_goes_with_what_looks_at_it(strategy: str) -> None:
    gc.collect()  # what other tests left
    assert not shared_files()
    for _ in range(3):
        x = torch.ones(5).share_memory_()
        y = sent(x)
        assert bool(shared_files()) == (strategy == "file_system")
        del x
        y += 1
        assert y.tolist() == [2] * 5
        del y
        gc.collect()
        assert not shared_files()
    x = torch.ones(5).share_memory_()
    start, fd = (
        x.data_ptr(),
        x.untyped_storage()._share_fd_cpu_()[0] if strategy == "file_descriptor" else -1,
    )
    del x
    gc.collect()
    assert fd < 0 or not is_open(fd, start)


def is_open(fd: int, address: int) -> bool:
    """Whether this process still has a descriptor of shared memory, or the memory itself where it
    was."""
    maps = Path("/proc/self/maps")
    if maps.exists() and any(
        line.startswith(f"{address:x}-") and "memfd:jtorch" in line
        for line in maps.read_text().splitlines()
    ):
        return True
    try:
        return os.path.realpath(f"/proc/self/fd/{fd}").startswith("/memfd:jtorch")
    except OSError:
        return False


def test_sharing_moves_all_that_look_at_the_memory(strategy: str) -> None:
    array = np.arange(8.0)
    x = torch.from_numpy(array[::2])
    part = x[1:]
    address = x.data_ptr()
    assert (
        not x.is_shared()
        and x.share_memory_() is x
        and part.is_shared()
        and x.data_ptr() != address
    )
    part[0] = 9
    assert x.tolist() == [0, 9, 4, 6] and array[2] == 2 and x.stride() == (2,) and x._version == 1
    assert (
        x.share_memory_().data_ptr() == x.data_ptr()
        and not x.clone().is_shared()
        and not copy.deepcopy(x).is_shared()
    )
    w = torch.arange(6.0).view(2, 3).t().contiguous().t().requires_grad_()
    w.share_memory_()
    (w * w).sum().backward()
    assert w.tolist() == [[0, 1, 2], [3, 4, 5]] and w.grad.tolist() == [[0, 2, 4], [6, 8, 10]]
    net = torch.nn.BatchNorm1d(2)
    assert net.share_memory() is net and all(t.is_shared() for t in net.state_dict().values())
    torch.optim.SGD(net.parameters(), lr=1.0).step()
    with pytest.raises(RuntimeError, match=r"_share_f.*: only available on CPU"):
        torch.empty(1, device="meta").share_memory_()
    with pytest.raises(NotImplementedError, match="Cannot access storage of SparseTensorImpl"):
        torch.ones(1).to_sparse().share_memory_()
    assert (
        torch.UntypedStorage._new_shared(4).tolist() == [0] * 4
        and torch.FloatStorage._new_shared(2).is_shared()
    )


def test_memory_of_files(tmp_path: Path) -> None:
    file = tmp_path / "numbers"
    np.arange(3.0).tofile(file)
    x = torch.from_file(str(file), shared=True, size=3, dtype=torch.float64)
    assert x.is_shared() and x.untyped_storage().filename == str(file)
    with pytest.raises(RuntimeError, match="mapped from a file"):
        sent(x)
    private = torch.from_file(str(file), size=3, dtype=torch.float64)
    assert (
        private.is_shared()
        and private.untyped_storage().filename is None
        and sent(private).tolist() == [0, 1, 2]
    )


def test_weak_references() -> None:
    storage = torch.UntypedStorage(4)
    reference = StorageWeakRef(storage)
    assert (
        not reference.expired()
        and reference == StorageWeakRef(storage)
        and hash(reference) == storage._cdata
    )
    del storage
    gc.collect()
    assert reference.expired()


def test_names_that_have_gone() -> None:
    with pytest.raises(
        RuntimeError,
        match="unable to open shared memory object </torch_no_such_file> in read-write mode",
    ):
        torch.UntypedStorage._new_shared_filename_cpu(b"", b"/torch_no_such_file", 8)
    if "file_descriptor" in mp.get_all_sharing_strategies():
        storage = torch.UntypedStorage(8)
        fd, size = storage._share_fd_cpu_()
        with pytest.raises(RuntimeError, match="less than the 16 bytes"):
            torch.UntypedStorage._new_shared_fd_cpu(fd, size + 8)


SHARING = """
import os, sys, warnings
sys.path[:0] = [{root!r}]
warnings.filterwarnings("ignore", ".*fork", RuntimeWarning)
warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
import jtorch as torch
from jtorch import multiprocessing as mp
from jtorch._src.tensor import shared_memory


def work(x, ours, theirs):
    x += 3
    made = torch.full((2,), 7.0)
    ours.put(made)
    theirs.get()  # the sender of a descriptor must be there until it is taken
    ours.put(float(made[0]))


def never_read(queue):
    queue.put(torch.ones(4))


if __name__ == "__main__":
    torch.ones(1).add(1).tolist()
    for strategy in mp.get_all_sharing_strategies():
        mp.set_sharing_strategy(strategy)
        for method in ("spawn", "fork"):
            context = mp.get_context(method)
            x = torch.zeros(4).share_memory_()
            ours, theirs = context.Queue(), context.Queue()
            process = context.Process(target=work, args=(x[1:3], ours, theirs))
            process.start()
            made = ours.get()
            assert x.tolist() == [0, 3, 3, 0], x
            made[0] = 5
            theirs.put(None)
            assert made.is_shared() and ours.get() == 5
            process.join()
            assert process.exitcode == 0
    process = context.Process(target=never_read, args=(context.SimpleQueue(),))
    process.start()
    process.join()
    kept = torch.ones(3).share_memory_()
    print("done")
    print(shared_memory.family(), file=sys.stderr)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.skipif(values.tier == "xla", reason="forked processes compile nothing")
def test_processes_share_memory_and_leave_nothing(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(SHARING.format(root=str(ROOT)))
    found = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=240
    )
    assert found.stdout == "done\n", found.stderr
    (family,) = found.stderr.split()  # and no warning
    assert not [name for name in os.listdir(shared_memory._FILES) if f"_{family}_" in name]


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
    assert {{i: t.tolist() for i, t in got.items()}} == {{0: [0, 0], 1: [1, 1]}} and \
got[1].requires_grad
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
        assert [t.tolist() for t in pool.map(double, [torch.ones(1), torch.ones(2)])] == [[2], \
[2, 2]]
    print("done")
"""


def test_processes(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.format(root=str(ROOT)))
    found = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=240
    )
    assert found.stdout == "done\n", found.stderr


class Counting(Dataset[torch.Tensor]):
    """Examples that note in shared memory how often they were asked for."""

    def __init__(self) -> None:
        self.asked = torch.zeros(6).share_memory_()
        self.view = self.asked[3:]

    def __len__(self) -> int:
        return 6

    def __getitem__(self, i: int) -> torch.Tensor:
        self.asked[i] += 1
        return self.view[:1]


def test_datasets_share_memory_with_workers(strategy: str) -> None:
    data = Counting()
    batches = [
        *DataLoader(data, batch_size=2, num_workers=2),
        *DataLoader(data, batch_size=None, num_workers=1),
    ]
    assert data.asked.tolist() == [2] * 6 and len(batches) == 9
    batches[-1][0] = 8  # not collated: the memory itself
    assert data.asked.tolist() == [2, 2, 2, 8, 2, 2]


def test_descriptors_go_along_with_messages() -> None:
    ours, theirs = socket.socketpair()
    with Connection(ours.detach()) as here, Connection(theirs.detach()) as there:
        many = [torch.full((1,), float(i)) for i in range(300)]
        for t in many:
            torch.UntypedStorage._share_fd_cpu_(t.untyped_storage())
        transport.send(here, transport.dumps((many, many[0])))
        transport.send(here, transport.dumps("next"))
        message = transport.receive(there)
        got, first = transport.loads(message)
        assert transport.loads(transport.receive(there)) == "next"
        got[7][0] = -1
        assert (
            many[7].item() == -1
            and first.untyped_storage() == many[0].untyped_storage()
            and len(message.fds) == 300
        )
        fds = message.fds
        del message
        assert not any(
            os.path.realpath(f"/proc/self/fd/{fd}").startswith("/memfd:jtorch")
            for fd in fds
            if fd not in _kept(many)
        )


def _kept(tensors: list[torch.Tensor]) -> set[int]:
    return {t.untyped_storage()._share_fd_cpu_()[0] for t in tensors}
