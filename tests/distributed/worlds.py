"""Starts the processes of a world, has each run the cases of a program, and gathers what became of
them."""

from __future__ import annotations

import functools
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def cases(program: str) -> list[str]:
    """The names of the cases of a program, read from its text."""
    return re.findall(r"^def (check_\w+)", (PROGRAMS / f"{program}.py").read_text(), re.MULTILINE)


@functools.cache
def outcomes(program: str, processes: int) -> dict[str, dict[int, str]]:
    """Case -> rank -> "ok" or a traceback, of one world in which all cases ran one after
    another."""
    with tempfile.TemporaryDirectory() as folder:
        port, started = free_port(), []
        for rank in range(processes):
            environment = dict(
                os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(processes),
                MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), WORLD_FOLDER=folder,
            )  # fmt: skip
            command = [sys.executable, str(PROGRAMS / f"{program}.py")]
            started.append(
                subprocess.Popen(
                    command,
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
            )
        outputs, end = [], time.monotonic() + 300
        for p in started:
            try:
                outputs.append(p.communicate(timeout=max(1.0, end - time.monotonic()))[0])
            except subprocess.TimeoutExpired:
                p.kill()
                outputs.append(p.communicate()[0])
        found: dict[str, dict[int, str]] = {name: {} for name in cases(program)}
        for rank, output in enumerate(outputs):
            path = Path(folder) / f"{rank}.json"
            told = json.loads(path.read_text()) if path.exists() else {}
            for name in found:
                found[name][rank] = told.get(
                    name,
                    f"did not run; the process ended with {started[rank].returncode}:\n"
                    f"{output[-3000:]}",
                )
        return found


def check(program: str, processes: int, name: str) -> None:
    """Fails with what the processes said of a case."""
    bad = {rank: text for rank, text in outcomes(program, processes)[name].items() if text != "ok"}
    assert not bad, "\n".join(f"rank {rank}: {text}" for rank, text in bad.items())
