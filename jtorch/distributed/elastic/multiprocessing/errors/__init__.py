"""How a process that fails tells the launcher why: a file that the launcher names in its
environment."""

from __future__ import annotations

import faulthandler
import functools
import json
import os
import signal
import socket
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

__all__ = ["ChildFailedError", "ErrorHandler", "ProcessFailure", "get_error_handler", "record"]

_EMPTY = "<N/A>"
_HOW = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
F = TypeVar("F", bound=Callable[..., Any])


class ErrorHandler:
    """Writes what ended a process into the file of ``TORCHELASTIC_ERROR_FILE``."""

    def initialize(self) -> None:
        """Has crashes print where they happen."""
        try:
            faulthandler.enable(all_threads=True)
        except Exception as e:
            warnings.warn(f"Unable to enable fault handler. {type(e).__name__}: {e}", stacklevel=2)

    def _file(self) -> str | None:
        return os.environ.get("TORCHELASTIC_ERROR_FILE")

    def record_exception(self, e: BaseException) -> None:
        """Writes an exception."""
        where = self._file()
        if where is None:
            return
        text = "".join(traceback.format_exception(type(e), e, e.__traceback__))
        extra = {"py_callstack": text, "timestamp": str(int(time.time()))}
        with open(where, "w", encoding="utf-8") as file:
            json.dump(
                {"message": {"message": f"{type(e).__name__}: {e}", "extraInfo": extra}}, file
            )

    def copy_error_file(self, rootcause_error_file: str, error_code: int = 0) -> None:
        """Makes a child's file the process's own."""
        where = self._file()
        if where is None:
            return
        with open(rootcause_error_file, encoding="utf-8") as file:
            found = json.load(file)
        message = found.get("message")
        if isinstance(message, dict) and error_code:
            message["errorCode"] = error_code
        with open(where, "w", encoding="utf-8") as file:
            json.dump(found, file)


def get_error_handler() -> ErrorHandler:
    """The handler."""
    return ErrorHandler()


@dataclass
class ProcessFailure:
    """A process that failed: its number, its exit code, and what it left in its error file."""

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    error_file_data: dict[str, Any] = field(init=False)
    message: str = field(init=False)
    timestamp: int = field(init=False)

    def __post_init__(self) -> None:
        self.error_file_data, self.timestamp = {}, int(time.time())
        if os.path.isfile(self.error_file):
            try:
                with open(self.error_file, encoding="utf-8") as file:
                    self.error_file_data = json.load(file)
                message = self.error_file_data["message"]
                if isinstance(message, str):
                    self.message = message
                else:
                    self.message = (
                        message.get("extraInfo", {}).get("py_callstack") or message["message"]
                    )
                    self.timestamp = int(
                        message.get("extraInfo", {}).get("timestamp", self.timestamp)
                    )
                return
            except (OSError, ValueError, KeyError, TypeError, AttributeError):
                pass  # it was ended while it wrote
        self.error_file = _EMPTY
        self.message = (
            f"Signal {-self.exitcode} ({self.signal_name()}) received by PID {self.pid}"
            if self.exitcode < 0
            else _HOW
        )

    def signal_name(self) -> str:
        """The signal that ended it; ``<N/A>`` if none did."""
        if self.exitcode >= 0:
            return _EMPTY
        try:
            return signal.Signals(-self.exitcode).name
        except ValueError:
            return "<Unknown signal>"

    def timestamp_isoformat(self) -> str:
        """When it failed."""
        return datetime.fromtimestamp(self.timestamp).isoformat(sep="_")


class ChildFailedError(Exception):
    """Processes that the launcher started have failed.

    Args:
        name: what they ran.
        failures: by rank.
    """

    def __init__(self, name: str, failures: dict[int, ProcessFailure]) -> None:
        self.name, self.failures = name, failures
        if not failures:
            raise AssertionError("ChildFailedError needs a failure")
        super().__init__(self.format_msg())

    def get_first_failure(self) -> tuple[int, ProcessFailure]:
        """The rank that failed first, and how."""
        rank = min(self.failures, key=lambda r: self.failures[r].timestamp)
        return rank, self.failures[rank]

    def format_msg(self, boarder_delim: str = "=", section_delim: str = "-") -> str:
        """The report."""
        title = f"{self.name} FAILED"
        first, _ = self.get_first_failure()
        others = [
            self._format(i, r, f)
            for i, (r, f) in enumerate((r, f) for r, f in self.failures.items() if r != first)
        ]
        root = self._format(0, first, self.failures[first])
        body = "\n".join(others) or "  <NO_OTHER_FAILURES>"
        width = min(max([len(title), *(len(line) for line in f"{body}\n{root}".splitlines())]), 60)
        border, section = boarder_delim * width, section_delim * width
        parts = (
            border,
            title,
            section,
            "Failures:",
            body,
            section,
            "Root Cause (first observed failure):",
            root,
            border,
        )
        return "\n" + "\n".join(parts)

    def _format(self, index: int, rank: int, failure: ProcessFailure) -> str:
        traceback_ = failure.message.replace("\n", "\n  ").rstrip()
        ended_by = f" ({failure.signal_name()})" if failure.exitcode < 0 else ""
        return (
            f"[{index}]:\n"
            f"  time      : {failure.timestamp_isoformat()}\n"
            f"  host      : {socket.getfqdn()}\n"
            f"  rank      : {rank} (local_rank: {failure.local_rank})\n"
            f"  exitcode  : {failure.exitcode} (pid: {failure.pid}){ended_by}\n"
            f"  error_file: {failure.error_file}\n  traceback : {traceback_}"
        )


def record(fn: F, error_handler: ErrorHandler | None = None) -> F:
    """Has ``fn``, a program's main function, leave its exception for the launcher to report; it is
    raised all the same."""
    handler = get_error_handler() if error_handler is None else error_handler

    @functools.wraps(fn)
    def wrapped(*args: object, **kwargs: object) -> Any:
        handler.initialize()
        try:
            return fn(*args, **kwargs)
        except SystemExit:
            raise
        except ChildFailedError as e:
            _, failure = e.get_first_failure()
            if failure.error_file != _EMPTY:
                handler.copy_error_file(failure.error_file, failure.exitcode)
            else:
                handler.record_exception(e)
            raise
        except Exception as e:
            handler.record_exception(e)
            raise

    return wrapped  # type: ignore[return-value]
