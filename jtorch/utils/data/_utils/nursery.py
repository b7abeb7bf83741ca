"""A process that workers are forked from: what they import is imported once, while the main process
does other things.

It has run no operation when it forks, and has no threads, so that its forks can do whatever a
process that was started afresh can.
"""

from __future__ import annotations

import collections
import gc
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence

from . import worker

#: A message to the main process: what happened (a process was born, or ended), its id, and what it
#: ended with.
_NEWS = struct.Struct("=Bii")
_BORN, _ENDED = 0, 1
#: How long who waits for news leaves the socket to itself, in seconds.
_PATIENCE = 0.05
#: How many open files a message hands on at most (Linux's limit).
MOST_FILES = 253


def can_be() -> bool:
    """Whether the platform forks in a way that is safe, hands on open files, and tells of the end
    of processes."""
    return sys.platform == "linux" and hasattr(socket, "send_fds") and hasattr(os, "pidfd_open")


class Nursery:
    """The process, as the main process sees it. It ends when the main process does, whose end of
    their socket is closed then.

    Args:
        command: what Python runs in it, with ``{fd}`` for the number of its end of the socket; it
            calls ``main``.
        environment: its environment variables.
        flags: options for the interpreter.
    """

    def __init__(
        self, command: str, environment: Mapping[str, str], flags: Sequence[str] = ()
    ) -> None:
        self._lock = threading.RLock()
        self._socket, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, *flags, "-c", command.format(fd=theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
            )
        self.alive = True
        self._unborn: collections.deque[Child] = collections.deque()
        self._children: dict[int, Child] = {}

    def fork(self, fd: int, *files: int) -> Child:
        """A process more, which has copies of the open files ``fd`` and ``files``, and of this
        process's output and error output.

        Raises:
            OSError: if the nursery has gone.
        """
        with self._lock:
            socket.send_fds(self._socket, [b"+"], [fd, 1, 2, *files])
            child = Child(self)
            self._unborn.append(child)
        return child

    def hear(self, seconds: float) -> None:
        """Takes what news there are, waiting for some for so long."""
        with self._lock:
            while self.alive and select.select([self._socket], [], [], seconds)[0]:
                try:
                    news = self._socket.recv(_NEWS.size, socket.MSG_WAITALL)
                except OSError:
                    news = b""
                if len(news) < _NEWS.size:
                    self._mourn()
                    return
                what, pid, code = _NEWS.unpack(news)
                if what == _BORN:
                    child = self._unborn.popleft()
                    child._pid = pid
                    self._children[pid] = child
                elif (child := self._children.pop(pid, None)) is not None:
                    child.returncode = code
                seconds = 0.0

    def _mourn(self) -> None:
        """The process has gone: what was not born never will be, and nobody tells what becomes of
        the others."""
        self.alive = False
        for child in self._unborn:
            child.returncode = -signal.SIGKILL
        self._unborn.clear()
        for child in self._children.values():
            child.alone = True

    def close(self) -> None:
        """Ends the process, which does not end those that it has made."""
        with self._lock:
            self._mourn()
            self._socket.close()
        self.process.kill()
        self.process.wait()

    def leave(self) -> None:
        """Forgets it, in a fork of the main process."""
        self.alive = False
        self._socket.close()


class Child:
    """A process that a nursery has made, with what ``subprocess.Popen`` offers of it.

    Attributes:
        returncode: what it ended with, negative for a signal; None while it runs, as far as was
            heard.
        alone: whether the nursery went before it.
    """

    def __init__(self, nursery: Nursery) -> None:
        self._nursery = nursery
        self._pid = 0
        self.returncode: int | None = None
        self.alone = False

    @property
    def pid(self) -> int:
        """The process's id, 0 if it was never made."""
        while not self._pid and self.returncode is None:
            self._nursery.hear(_PATIENCE)
        return self._pid

    def poll(self) -> int | None:
        """What it ended with, None while it runs."""
        if self.returncode is None:
            self._nursery.hear(0.0)
        if self.returncode is None and self.alone and _has_ended(self._pid):
            self.returncode = 0  # nobody knows
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Waits for its end, and gives what it ended with.

        Raises:
            subprocess.TimeoutExpired: after ``timeout`` seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while (found := self.poll()) is None:
            if deadline is not None and time.monotonic() >= deadline:
                assert timeout is not None
                raise subprocess.TimeoutExpired("a worker", timeout)
            if self.alone:
                time.sleep(_PATIENCE)
            else:
                self._nursery.hear(_PATIENCE)
        return found

    def terminate(self) -> None:
        """Asks it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Ends it."""
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: int) -> None:
        """Sends it a signal, if it runs."""
        if self.pid and self.poll() is None:
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                pass


def _has_ended(pid: int) -> bool:
    """Whether a process has ended that is not this one's child, even if nobody has asked yet what
    it ended with."""
    try:
        file = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([file], [], [], 0)[0])
    finally:
        os.close(file)


# ---- in the process itself -----------------------------------------------------------------------


def _work(files: list[int]) -> None:
    worker.main(files[0])


def main(fd: int, live: Callable[[list[int]], None] = _work) -> None:
    """The life of a nursery whose socket to the main process is ``fd``, and whose forks call
    ``live`` with the files they are given."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the main process's business
    connection = socket.socket(fileno=fd)
    bell, rope = os.pipe()
    os.set_blocking(bell, False)
    os.set_blocking(rope, False)
    signal.set_wakeup_fd(rope, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # JAX's warning is about its threads, of which there are none yet.
    warnings.filterwarnings("ignore", message=r".*fork\(\)", category=RuntimeWarning)
    gc.collect()
    gc.freeze()  # so that collections in the forks leave shared memory shared
    while True:
        ready, _, _ = select.select([connection, bell], [], [])
        try:
            if bell in ready:
                os.read(bell, 4096)
                _tell_of_ends(connection)
            if connection in ready:
                order, files, _, _ = socket.recv_fds(connection, 1, MOST_FILES)
                if not order:
                    os._exit(0)
                pid = os.fork()
                if pid == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    connection.close()
                    _live(bell, rope, files, live)
                for file in files:
                    os.close(file)
                connection.sendall(_NEWS.pack(_BORN, pid, 0))
        except OSError:  # the main process has gone
            os._exit(0)


def _tell_of_ends(connection: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        connection.sendall(_NEWS.pack(_ENDED, pid, os.waitstatus_to_exitcode(status)))


def _live(bell: int, rope: int, files: list[int], live: Callable[[list[int]], None]) -> None:
    """The life of a fork. It never comes back."""
    try:
        for at, file in enumerate(files[1:3], 1):
            os.dup2(file, at)
            os.close(file)
        os.close(bell)
        os.close(rope)
        live([files[0], *files[3:]])
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        os._exit(1)
