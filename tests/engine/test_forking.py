"""Forked processes: they compute where the parent has not, and otherwise read and say that they
cannot compute."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

#: ``forked(f)`` is what ``f()`` gives or raises in a forked process, as text, within five seconds.
PREAMBLE = """
import multiprocessing, os, pickle, signal, sys, time, warnings
warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
# that other threads may hold locks: from Python 3.12 on
warnings.filterwarnings("ignore", ".*use of fork", DeprecationWarning)
import numpy as np
import jtorch as torch

def forked(f):
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            found = repr(f())
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
        os.write(theirs, found.encode())
        os._exit(0)
    os.close(theirs)
    until = time.monotonic() + 20
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "HANGS"
        time.sleep(0.002)
    with os.fdopen(ours) as file:
        return file.read()
"""
CANNOT = (
    "Cannot run compiled operations in a forked process, because the parent had run some before "
    "the fork"
)


@pytest.fixture
def program():
    """Runs a program, which must print nothing but ``ok``, in a mode of execution, or in that which
    is being tested."""

    def run(text, mode=None, tiers="auto"):
        environment = (
            os.environ
            | {"JAX_PLATFORMS": "cpu", "JTORCH_TIERS": tiers}
            | ({} if mode is None else {"JTORCH_EXECUTION": mode})
        )
        done = subprocess.run(
            [sys.executable, "-c", PREAMBLE + textwrap.dedent(text) + "\nprint('ok')"],
            env=environment, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert (done.stderr, done.stdout, done.returncode) == ("", "ok\n", 0)

    return run


@pytest.mark.parametrize("mode", ["deferred", "immediate"])
def test_fork_after_the_first_operation(program, mode):
    text = """
        x = torch.arange(6.0).reshape(2, 3)
        big = torch.ones(300, 300)
        known = (x * 2).tolist()
        pending = x + 1
        hosted = torch.from_numpy(np.ones(3))
        assert forked(x.tolist) == forked(lambda:
                                          x.numpy().tolist()) == "[[0.0, 1.0, 2.0], [3.0, 4.0, \
5.0]]"
        assert forked(pending.tolist) == "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]"
        assert forked(lambda: float(big.numpy().sum())) == "90000.0"
        assert forked(hosted.tolist) == "[1.0, 1.0, 1.0]"
        assert forked(lambda: x).startswith("tensor([[0., 1., 2.]")
        runs = [lambda: (x * 2).tolist(), lambda: (x / 8).sqrt().tolist(), lambda: x[0].tolist(),
                lambda: x.sum().item()]
        runs += [lambda: (big @ big).sum().item(), lambda: torch.zeros(3).tolist(),
                 lambda: (x.clone().add_(1) @ x.mT).tolist()]
        for run in runs:
            assert forked(run) == repr(run()), forked(run)
        step = torch.compile(lambda a: (a * 2).sum() + 1)
        assert step(x).item() == 31
        assert forked(lambda: step(x).item()) == "31.0"
        made = [lambda: torch.rand(300, 300), lambda: torch.randn(300, 300),
                lambda: torch.tensor(np.ones((999, 999)))]
        for make in made:
            assert forked(lambda: make().numpy().ndim) == "2"
        assert forked(lambda: torch.tensor([1.0, 2.0]).tolist()) == "[1.0, 2.0]"
        assert forked(lambda: torch.tensor([1.0]).numpy().tolist()) == "[1.0]"
        assert forked(lambda:
                      pickle.loads(pickle.dumps(torch.tensor([[1, 2]]))).tolist()) == "[[1, 2]]"
        assert (x * 2).tolist() == known
    """
    program(text, mode)


def test_what_is_compiled_cannot_run_after_a_fork(program):
    text = f"""
        x = torch.arange(6.0).reshape(2, 3)
        known = (x * 2).tolist()
        for run in [lambda: (x * 2).tolist(), lambda: (x / 7).exp().tolist(), lambda: \
torch.nn.Linear(3, 2)(x).tolist()]:
            assert {CANNOT!r} in forked(run), forked(run)
        assert forked(x.tolist) == forked(lambda: x.numpy().tolist()) == "[[0.0, 1.0, 2.0], [3.0, \
4.0, 5.0]]"
        assert forked(lambda: torch.tensor([1.0, 2.0]).tolist()) == "[1.0, 2.0]"
        assert (x * 2).tolist() == known
    """
    program(text, tiers="xla")


def test_fork_before_the_first_operation(program):
    program("""
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])

        def train():
            model = torch.nn.Linear(2, 1)
            optimizer = torch.optim.SGD(model.parameters(), 0.01)
            losses = []
            for _ in range(4):
                optimizer.zero_grad()
                loss = (model(x) - 1).square().mean()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            return losses[-1] < losses[0]

        assert forked(train) == "True"
        assert forked(lambda: (x @ x).tolist()) == "[[7.0, 10.0], [15.0, 22.0]]"
        assert forked(lambda: forked(lambda: (torch.ones(2) + x[0]).tolist())) == "'[2.0, 3.0]'"
        assert forked(lambda: forked(x[0].tolist)) in ("'[1.0, 2.0]'", "[1.0, 2.0]")
        assert (x @ x).tolist() == [[7.0, 10.0], [15.0, 22.0]]
        assert forked(lambda: (x @ x).tolist()) == "[[7.0, 10.0], [15.0, 22.0]]"
        assert forked(train) == "True"
    """)


def test_pools_of_forked_processes(program):
    program("""
        from concurrent.futures import ProcessPoolExecutor

        def work(n):
            return (torch.arange(4.0) * n).sum().item()

        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            assert list(pool.map(work, [1, 2, 3])) == [6.0, 12.0, 18.0]
        assert work(4) == 24.0
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            assert pool.submit(work, 5).result(timeout=20) == 30.0
        with context.Pool(1) as pool:
            assert pool.apply_async(torch.arange(3).tolist).get(timeout=20) == [0, 1, 2]
        import subprocess
        assert os.system("true") == 0 and subprocess.run(["true"],
                                                         preexec_fn=os.getpid).returncode == 0
    """)


def test_what_cannot_be_computed_does_not_stop_the_fork(program):
    program("""
        from jtorch._src.engine import forking

        x = torch.tensor([5, 9])
        pending = x + 1

        def failing():
            raise MemoryError("no room")

        flush, forking.flush = forking.flush, failing
        assert forked(x.tolist) == "[5, 9]"
        answer = forked(pending.tolist)
        assert answer == "[6, 10]" or answer.startswith("RuntimeError: Cannot run"), answer
        forking.flush = flush
        assert pending.tolist() == [6, 10]
    """)
