"""What becomes of a world in which a process fails: the others end with an error that says which
call, group and rank, and never abort."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

import pytest
from worlds import PROGRAMS, free_port

CASES = [
    ("exits", 0, 7),
    ("is killed", 1, -9),
    ("is missed", 2, -9),
    ("hangs", 2, 0),
    ("stops", 0, -9),
]


@pytest.mark.parametrize(("how", "culprit", "code"), CASES)
def test_others_end_with_an_error(how: str, culprit: int, code: int) -> None:
    environment = dict(
        os.environ, WORLD_SIZE="3", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port())
    )
    command = [sys.executable, str(PROGRAMS / "failing.py"), how, str(culprit)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    started = [
        subprocess.Popen(command, env=dict(environment, RANK=str(rank)), **pipes)
        for rank in range(3)
    ]
    try:
        outputs = ["", "", ""]
        # the one that fails last: it may be a stopped one
        for rank in sorted(range(3), key=lambda rank: rank == culprit):
            if how == "stops" and rank == culprit:
                started[rank].kill()
            outputs[rank] = started[rank].communicate(timeout=300)[0]
    finally:
        for p in started:
            p.kill()
    late = how in ("hangs", "stops")
    word = "recv from rank 2" if how == "is missed" else f"all_reduce of group {int(late)}"
    for rank, (p, output) in enumerate(zip(started, outputs, strict=True)):
        assert p.returncode == (code if rank == culprit else 1), output
        if rank != culprit:
            assert f"[Rank {rank}] {word}" in output and "of ranks [0, 1, 2]" in output, output
            assert float(re.search(r"([\d.]+) seconds:", output)[1]) < 10, output
            if late:
                assert "timed out" in output
            elif culprit:  # rank 0 may have seen it first, and taken the store with it
                assert (
                    f"ended: rank {culprit}" in output
                    or "rank 0, which held the store, has ended" in output
                ), output


def launched(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "jtorch", "-m", "torch.distributed.run", *arguments]
    return subprocess.Popen(
        command,
        env=dict(os.environ, **environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_launcher_reports_and_restarts(tmp_path) -> None:
    script = tmp_path / "train.py"
    script.write_text("""
import os, sys
from torch.distributed.elastic.multiprocessing.errors import record
@record
def main():
    import torch.distributed as dist
    dist.init_process_group()
    rows = [None, None]
    dist.all_gather_object(rows, os.environ["TORCHELASTIC_RESTART_COUNT"])
    print("attempt", rows, sys.argv[1:], os.environ["LOCAL_WORLD_SIZE"], os.environ["NPROC"],
          flush=True)
    dist.destroy_process_group()
    if os.environ["RANK"] == "1":
        raise ValueError("of rank 1")
main()
""")
    port, logs = str(free_port()), tmp_path / "logs"
    share = max(1, len(os.sched_getaffinity(0)) // 2)  # of the processors
    where = ("--nproc-per-node=2", "--master_port", port, f"--log-dir={logs}")
    p = launched(*where, "--max-restarts=1", "--redirects=1", "--tee", "0:1", str(script), "--x")
    out, err = p.communicate(timeout=100)
    assert p.returncode == 1, err
    assert (
        "ChildFailedError" in err
        and re.search(r"rank      : 1 \(local_rank: 1\)", err)
        and "exitcode  : 1 (pid:" in err
    )
    assert "ValueError: of rank 1" in err and "train.py FAILED" in err
    assert (
        f"[default0]:attempt ['0', '0'] ['--x'] 2 {share}" in out
        and "[default0]:attempt ['1', '1']" in out
        and "default1" not in out
    )
    assert "attempt ['1', '1']" in next(logs.glob("*/attempt_1/1/stdout.log")).read_text()


def test_two_nodes_and_signals(tmp_path) -> None:
    script = tmp_path / "wait.py"
    script.write_text("""
import os, sys, time
# at once, as two processes write to one pipe
sys.stdout.write(f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']} {os.getpid()}\\n")
sys.stdout.flush()
time.sleep(float(sys.argv[1]))
""")
    port = str(free_port())
    nodes = [
        launched(
            "--nnodes=2",
            "--nproc-per-node=2",
            f"--node-rank={node}",
            "--master-port",
            port,
            str(script),
            "0.1",
        )
        for node in range(2)
    ]
    outputs = [p.communicate(timeout=300) for p in nodes]
    assert [p.returncode for p in nodes] == [0, 0], outputs
    assert [sorted(re.findall(r"rank (\d) of 4", out)) for out, _ in outputs] == [
        ["0", "1"],
        ["2", "3"],
    ]

    p = launched("--standalone", "--nproc-per-node=1", str(script), "60")
    assert p.stdout is not None
    pid = int(p.stdout.readline().split()[-1])
    p.terminate()
    _, err = p.communicate(timeout=300)
    assert p.returncode == 1 and "SignalException" in err
    for _ in range(50):
        if not os.path.exists(f"/proc/{pid}"):
            break
        time.sleep(0.1)
    assert not os.path.exists(f"/proc/{pid}") or "Z" in open(f"/proc/{pid}/stat").read()  # noqa: SIM115


def test_the_report_names_signals_and_those_that_had_to_end(tmp_path) -> None:
    script = tmp_path / "killed.py"
    script.write_text("""
import os, signal, time
if os.environ["RANK"] == "1":
    os.kill(os.getpid(), signal.SIGKILL)
time.sleep(60)
""")
    p = launched("--nproc-per-node=2", "--master-port", str(free_port()), str(script))
    _, err = p.communicate(timeout=300)
    assert p.returncode == 1
    others, root = err.split("Root Cause (first observed failure):")
    assert re.search(
        r"rank      : 1 \(local_rank: 1\)\n  exitcode  : -9 \(pid: \d+\) \(SIGKILL\)", root
    ), err
    assert re.search(
        r"rank      : 0 \(local_rank: 0\)\n  exitcode  : -15 \(pid: \d+\) \(SIGTERM\)", others
    ), err


def test_what_worlds_cannot_do_is_refused() -> None:
    for arguments, words in (
        (["--nnodes=1:4"], "worlds do not change their size"),
        (["--rdzv-backend=etcd"], "use c10d or static"),
    ):
        p = launched(*arguments, "x.py")
        _, err = p.communicate(timeout=300)
        assert p.returncode == 1 and "NotImplementedError" in err and words in err
