"""Several processes that run one function, and what became of them."""

from __future__ import annotations

import ctypes
import logging
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

log = logging.getLogger(__name__)

#: Set to "1", processes of the start method "forkserver" are started at the same time.
ENV_VAR_PARALLEL_START = "TORCH_MP_PARALLEL_START"
_PR_SET_PDEATHSIG = 1


class ProcessException(Exception):
    """A process failed: ``error_index`` says which, ``error_pid`` its id."""

    __slots__ = ("error_index", "error_pid", "msg")

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """A process failed with an exception; the message holds its traceback."""

    __slots__ = ()


class ProcessExitedException(ProcessException):
    """A process was ended by a signal, or exited with another code than 0."""

    __slots__ = ("exit_code", "signal_name")

    def __init__(
        self,
        msg: str,
        error_index: int,
        error_pid: int,
        exit_code: int,
        signal_name: str | None = None,
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> Any:
        return type(self), (
            self.msg,
            self.error_index,
            self.error_pid,
            self.exit_code,
            self.signal_name,
        )


def _end_with_parent() -> None:
    """Has the operating system interrupt this process when the one that started it ends (Linux
    only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT)


def _run(fn: Callable[..., object], i: int, args: tuple[object, ...], error_file: str) -> None:
    _end_with_parent()
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # the parent is going down, and says why
    except Exception:
        with open(error_file, "w", encoding="utf-8") as file:
            file.write(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """The processes that ``start_processes`` started.

    Attributes:
        processes: one for each index.
        error_files: where each leaves the traceback of its exception.
        sentinels: those that still run, as index by sentinel.
    """

    def __init__(self, processes: Sequence[Any], error_files: Sequence[str]) -> None:
        self.processes, self.error_files = processes, error_files
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The processes' ids."""
        return [int(process.pid) for process in self.processes]

    def _wait_for_all(self, timeout: float) -> None:
        end = time.monotonic() + timeout
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))

    def _stop(self, grace_period: float | None) -> None:
        """Ends those that run: asked, told, and in the end killed."""
        if grace_period is not None:
            self._wait_for_all(grace_period)
        for process in self.processes:
            if process.is_alive():
                log.warning("Terminating process %s via signal SIGTERM", process.pid)
                process.terminate()
        self._wait_for_all(30 if grace_period is None else grace_period)
        for process in self.processes:
            if process.is_alive():
                log.warning("Process %s did not end on SIGTERM: killing it", process.pid)
                process.kill()
            process.join()

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits for one process to end, at most ``timeout`` seconds; True once all have ended well.

        When one fails, the others are ended too: ``grace_period`` is how long they may take to do
        so by themselves.

        Raises:
            ProcessRaisedException: a process ended with an exception.
            ProcessExitedException: a process was ended by a signal, or exited with another code
                than 0.
        """
        if not self.sentinels:
            return True
        failed = None
        for sentinel in multiprocessing.connection.wait(self.sentinels.keys(), timeout=timeout):
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                failed = index
                break
        if failed is None:
            return not self.sentinels
        self._stop(grace_period)
        raise self._error(failed)

    def _error(self, index: int) -> ProcessException:
        process, code = self.processes[index], self.processes[index].exitcode
        try:
            with open(self.error_files[index], encoding="utf-8") as file:
                text = file.read()
        except OSError:  # it did not get to write anything
            if code >= 0:
                return ProcessExitedException(
                    f"process {index:d} terminated with exit code {code:d}",
                    index,
                    process.pid,
                    code,
                )
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"<Unknown signal {-code}>"
            return ProcessExitedException(
                f"process {index:d} terminated with signal {name}", index, process.pid, code, name
            )
        os.unlink(self.error_files[index])
        return ProcessRaisedException(
            f"\n\n-- Process {index:d} terminated with the following error:\n{text}",
            index,
            process.pid,
        )


class SpawnContext(ProcessContext):
    """The old name of ``ProcessContext``."""

    def __init__(self, processes: Sequence[object], error_files: Sequence[str]) -> None:
        warnings.warn("SpawnContext is renamed to ProcessContext since 1.4 release.", stacklevel=2)
        super().__init__(processes, error_files)


def start_processes(
    fn: Callable[..., object],
    args: tuple[object, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Starts ``nprocs`` processes, each of which calls ``fn(i, *args)`` with its index.

    Waits for them and returns None, or returns their ``ProcessContext`` if ``join`` is False.

    Raises:
        ProcessRaisedException: one of them ended with an exception.
        ProcessExitedException: one of them was ended by a signal, or exited with another code
            than 0.
    """
    context = multiprocessing.get_context(start_method)

    def start(i: int) -> tuple[Any, str]:
        handle, path = tempfile.mkstemp(prefix="jtorch-errorfile-", suffix=".txt")
        os.close(handle)
        # the name alone is wanted: that there is a file says that there was an exception
        os.unlink(path)
        process = context.Process(target=_run, args=(fn, i, args, path), daemon=daemon)
        process.start()
        return process, path

    if start_method == "forkserver" and os.environ.get(ENV_VAR_PARALLEL_START, "0") == "1":
        with ThreadPoolExecutor(max_workers=nprocs) as pool:
            started = list(pool.map(start, range(nprocs)))
    else:
        started = [start(i) for i in range(nprocs)]
    found = ProcessContext([process for process, _ in started], [path for _, path in started])
    if not join:
        return found
    while not found.join():
        pass
    return None


def spawn(
    fn: Callable[..., object],
    args: tuple[object, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """``start_processes`` with fresh interpreters.

    Raises:
        ProcessRaisedException: one of them ended with an exception.
        ProcessExitedException: one of them was ended by a signal, or exited with another code
            than 0.
    """
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\n"
            "To use a different start_method use:\n"
            "\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method)
