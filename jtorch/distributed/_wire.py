"""A ``Memory`` that other processes reach over TCP: messages of a name, a time to wait and plain
arguments.

What goes over the wire is numbers, text and bytes, in a notation of this module: nothing that is
received can run code.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import errno
import socket
import struct
import threading
import time
import weakref
from typing import Any

from . import errors
from ._memory import Memory
from .errors import DistNetworkError, DistStoreError

_LENGTH = struct.Struct("<Q")
#: What may be asked for before anything is read into memory.
_LARGEST = 1 << 40


def _packed(value: Any) -> bytes:
    if value is None:
        return b"n"
    if isinstance(value, bool):
        return b"t" if value else b"f"
    if isinstance(value, int):
        text = str(value).encode()
        return b"i" + _LENGTH.pack(len(text)) + text
    if isinstance(value, float):
        return b"d" + struct.pack("<d", value)
    if isinstance(value, str):
        text = value.encode()
        return b"s" + _LENGTH.pack(len(text)) + text
    if isinstance(value, (list, tuple)):
        return b"l" + _LENGTH.pack(len(value)) + b"".join(map(_packed, value))
    return b"b" + _LENGTH.pack(len(value)) + bytes(value)


def _unpacked(data: memoryview, at: int = 0) -> tuple[Any, int]:
    kind, at = data[at : at + 1].tobytes(), at + 1
    if kind in (b"n", b"t", b"f"):
        return {b"n": None, b"t": True, b"f": False}[kind], at
    if kind == b"d":
        return struct.unpack_from("<d", data, at)[0], at + 8
    (length,) = _LENGTH.unpack_from(data, at)
    at += 8
    if kind == b"l":
        items = []
        for _ in range(length):
            item, at = _unpacked(data, at)
            items.append(item)
        return items, at
    body = data[at : at + length].tobytes()
    return (body if kind == b"b" else body.decode() if kind == b"s" else int(body)), at + length


def _send(connection: socket.socket, value: object) -> None:
    data = _packed(value)
    connection.sendall(_LENGTH.pack(len(data)) + data)


def _receive_exactly(connection: socket.socket, count: int) -> memoryview:
    data = memoryview(bytearray(count))
    at = 0
    while at < count:
        got = connection.recv_into(data[at:])
        if not got:
            raise ConnectionResetError("the other side has closed the connection")
        at += got
    return data


class _OtherLanguageError(OSError):
    """Who listens is no store."""


def _receive(connection: socket.socket) -> Any:
    (length,) = _LENGTH.unpack(_receive_exactly(connection, 8))
    if length > _LARGEST:
        raise _OtherLanguageError("what was received is no message of a store")
    return _unpacked(_receive_exactly(connection, length))[0]


#: Seconds that a server which ends gives its threads to send what they have to say.
_ANSWERS = 2.0
#: Those that listen. Their threads end before the interpreter does, which else waits for what is
#: inside this package.
_servers: weakref.WeakSet[Server] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for server in list(_servers):
        server.close()


class Server:
    """Answers what clients ask of a memory, each connection in a thread of its own.

    A client may leave a will: a key that is set when its connection ends, however that comes.
    """

    def __init__(self, host: str, port: int, memory: Memory | None = None) -> None:
        self.memory = Memory() if memory is None else memory
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((host, port))
        except OSError as e:
            self._socket.close()
            raise DistNetworkError(
                "The server socket has failed to listen on any local network address. port: "
                f"{port}, useIpv6: false, code: {-(e.errno or 0)}, name: "
                f"{errno.errorcode.get(e.errno or 0, 'EUNKNOWN')}, message: "
                f"{str(e.strerror).lower()}"
            ) from None
        self._socket.listen(1024)
        self.port: int = self._socket.getsockname()[1]
        self._open: set[socket.socket] = set()
        #: The threads that answer.
        self._answering: set[int] = set()
        _servers.add(self)
        # No threads of Python's to those who list these: PyTorch's, which are none, stay until the
        # store is collected as well.
        _thread.start_new_thread(self._accept, ())

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # closed
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open.add(connection)
            _thread.start_new_thread(self._serve, (connection,))

    def _serve(self, connection: socket.socket) -> None:
        will: str | None = None
        try:
            while True:
                name, timeout, *arguments = _receive(connection)
                self._answering.add(threading.get_ident())
                if name == "will":
                    (will,), answer = arguments, ["", None]
                else:
                    try:
                        answer = ["", self.memory.ask(name, timeout, *arguments)]
                    except DistStoreError as e:
                        answer = [type(e).__name__, str(e)]
                _send(connection, answer)
                self._answering.discard(threading.get_ident())
        except (OSError, ValueError, struct.error, AttributeError, TypeError):
            pass  # the client has gone, or is none
        finally:
            self._answering.discard(threading.get_ident())
            self._open.discard(connection)
            connection.close()
            if will is not None:
                self.memory.ask("set", 0.0, will, b"lost")

    def close(self) -> None:
        """Ends it; the clients see their connections end, those after their answer whose request
        has been carried out."""
        # Whoever takes what a client has brought may be done with it, and close, before the client
        # has heard that it was taken.
        end = time.monotonic() + _ANSWERS
        while not self._answering <= self.memory.waiting and time.monotonic() < end:
            time.sleep(0.001)
        # Without shutdown() a thread that waits in accept() would keep the port.
        for s in (self._socket, *list(self._open)):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)
            s.close()


#: Seconds that a client waits beyond the time the server keeps, for one whose machine has vanished.
_GRACE = 60.0


class Client:
    """Asks a server, over as many connections as are needed at once.

    Args:
        host: where it runs.
        port: its port.
        timeout: seconds that connecting may take.
        met: whether it has listened before: if it no longer does then it has ended, and is not
            awaited.
    """

    def __init__(self, host: str, port: int, timeout: float, met: bool = False) -> None:
        self.host, self.port, self._met = host, port, met
        self._idle: list[socket.socket] = []
        self._idle.append(self._connected(timeout))

    def _connected(self, timeout: float) -> socket.socket:
        """A connection whose other end has answered: a port may be taken by what does not, or lets
        go of who comes too early."""
        end, pause = time.monotonic() + timeout, 0.01
        while True:
            connection = None
            try:
                connection = socket.create_connection(
                    (self.host, self.port), timeout=max(0.1, end - time.monotonic())
                )
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.settimeout(max(0.1, end - time.monotonic()))
                _send(connection, ["check", 0.0, []])
                _receive(connection)
                connection.settimeout(None)
                self._met = True
                return connection
            except (OSError, ValueError, struct.error) as e:
                if connection is not None:
                    connection.close()
                if isinstance(e, _OtherLanguageError) or not isinstance(e, OSError):
                    raise DistNetworkError(
                        f"Ping failed, invalid value returned from server at ({self.host}, "
                        f"{self.port}): {e}"
                    ) from None
                if self._met and isinstance(e, ConnectionRefusedError):
                    raise DistNetworkError(
                        f"the server at ({self.host}, {self.port}) has ended: {e}"
                    ) from None
                if time.monotonic() + pause >= end:
                    raise DistNetworkError(
                        f"The client socket has timed out after {round(timeout * 1000)}ms while "
                        f"trying to connect to ({self.host}, {self.port}). {e}"
                    ) from None
                time.sleep(pause)
                pause = min(2 * pause, 0.25)

    def ask(self, name: str, timeout: float, *arguments: object, grace: float = _GRACE) -> Any:
        """One operation of the server's memory; the answer may come ``grace`` seconds after
        ``timeout``, which the server keeps.

        Raises:
            DistStoreError: if it waited too long.
            DistNetworkError: if the server cannot be reached any more.
        """
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connected(max(timeout, 1.0))
        try:
            connection.settimeout(timeout + grace)
            _send(connection, [name, float(timeout), *arguments])
            error, answer = _receive(connection)
        except OSError as e:
            connection.close()
            raise DistNetworkError(
                f"failed to {name} {arguments[:1]} in the store at ({self.host}, {self.port}): {e}"
            ) from None
        except BaseException:
            connection.close()  # an answer may be on its way that nobody awaits
            raise
        self._idle.append(connection)
        if error:
            raise getattr(errors, error, DistStoreError)(answer)
        return answer

    def until_closed(self, seconds: float) -> None:
        """Waits until the server closes an idle connection, at most some seconds."""
        if self._idle:
            self._idle[0].settimeout(seconds)
            self._idle[0].recv(1)

    def close(self) -> None:
        """Closes the connections."""
        while self._idle:
            self._idle.pop().close()
