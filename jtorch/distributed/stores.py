"""Stores: keys and values that the processes of a group share, by which they find one another and
agree."""

from __future__ import annotations

import contextlib
import datetime
import operator
import os
import time
from collections import deque
from typing import Any

from ._memory import Memory
from ._wire import Client, Server, _packed, _unpacked
from .errors import DistStoreError

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store", "TCPStore"]

_FIVE_MINUTES = datetime.timedelta(minutes=5)
#: Seconds in which a holder answers that does not hang.
_SOON = 2.0


def _bytes(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode()
    # `bytes` of a number would be so many zeros
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(
            "incompatible function arguments: values of a store are text or bytes, not "
            f"{type(value).__name__}"
        )
    return bytes(value)


def _text(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(
            f"incompatible function arguments: keys of a store are text, not {type(key).__name__}"
        )
    return key


class Store:
    """Base of the stores; a subclass in Python may override the methods that it offers.

    Values are bytes, and text is stored in UTF-8. Methods that wait do so for at most ``timeout``.
    """

    def __init__(self) -> None:
        self._timeout = _FIVE_MINUTES

    @property
    def timeout(self) -> datetime.timedelta:
        """How long to wait for keys."""
        return self._timeout

    def set_timeout(self, timeout: datetime.timedelta) -> None:
        """Sets how long to wait for keys."""
        self._timeout = timeout

    def _ask(self, name: str, timeout: float, *arguments: object) -> Any:
        raise NotImplementedError(f"Store.{name}: this store has no such operation")

    def _seconds(self, timeout: datetime.timedelta | None = None) -> float:
        return (self.timeout if timeout is None else timeout).total_seconds()

    def set(self, key: str, value: Any) -> None:
        """Stores a value."""
        self._ask("set", self._seconds(), _text(key), _bytes(value))

    def get(self, key: str) -> bytes:
        """The value of a key, once it is there.

        Raises:
            DistStoreError: if it is not there in time.
        """
        return self._ask("get", self._seconds(), _text(key))

    def add(self, key: str, amount: int) -> int:
        """Adds to a counter, which begins at 0, and returns it.

        Raises:
            TypeError: for an amount that is no whole number.
        """
        try:
            number = operator.index(amount)
        except TypeError:
            words = f"counters of a store take whole numbers, not {type(amount).__name__}"
            raise TypeError(f"incompatible function arguments: {words}") from None
        return self._ask("add", self._seconds(), _text(key), number)

    def append(self, key: str, value: Any) -> None:
        """Makes the value of a key longer."""
        self._ask("append", self._seconds(), _text(key), _bytes(value))

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Stores a value if the present one is as expected (an empty one: if there is none); what
        is there afterwards."""
        return self._ask(
            "compare_set",
            self._seconds(),
            _text(key),
            _bytes(expected_value),
            _bytes(desired_value),
        )

    def wait(self, keys: list[str], timeout: datetime.timedelta | None = None) -> None:
        """Waits for keys.

        Raises:
            DistStoreError: if they are not there in time.
        """
        self._ask("wait", self._seconds(timeout), [_text(key) for key in keys])

    def check(self, keys: list[str]) -> bool:
        """Whether all keys are there."""
        return self._ask("check", self._seconds(), [_text(key) for key in keys])

    def delete_key(self, key: str) -> bool:
        """Forgets a key; whether it was there."""
        return self._ask("delete_key", self._seconds(), _text(key))

    def num_keys(self) -> int:
        """How many keys there are."""
        return self._ask("num_keys", self._seconds())

    def list_keys(self) -> list[str]:
        """The keys, in order."""
        return self._ask("list_keys", self._seconds())

    def multi_get(self, keys: list[str]) -> list[bytes]:
        """The values of several keys."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: list[str], values: list[Any]) -> None:
        """Stores several values.

        Raises:
            DistStoreError: if there are not as many values as keys.
        """
        if len(keys) != len(values):
            raise DistStoreError("multiSet keys and values vectors must be of same size")
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def queue_push(self, key: str, value: Any) -> None:
        """Puts a value at the end of a queue."""
        self._ask("queue_push", self._seconds(), _text(key), _bytes(value))

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Takes the first value of a queue; waits for one if ``block``."""
        return self._ask("queue_pop", self._seconds(), _text(key), block)

    def queue_len(self, key: str) -> int:
        """How many values a queue holds."""
        return self._ask("queue_len", self._seconds(), _text(key))

    def barrier(self, key: str, world_size: int, timeout: datetime.timedelta | None = None) -> None:
        """Waits until ``world_size`` processes have called this with the same key.

        Raises:
            DistStoreError: if they have not in time.
        """
        if self.add(f"{key}/came", 1) >= world_size:
            self.set(f"{key}/all", b"1")
        self.wait([f"{key}/all"], self.timeout if timeout is None else timeout)

    def has_extended_api(self) -> bool:
        """Whether there are ``append``, ``multi_get`` and ``multi_set``."""
        return True

    def clone(self) -> Store:
        """A store with the same keys."""
        return self


class HashStore(Store):
    """A store in this process's memory, for its threads.

    Example:
        >>> import jtorch as torch
        >>> store = torch.distributed.HashStore()
        >>> store.set("key", "value")
        >>> store.get("key"), store.add("count", 2)
        (b'value', 2)
    """

    def __init__(self) -> None:
        super().__init__()
        self._memory = Memory()

    def _ask(self, name: str, timeout: float, *arguments: object) -> Any:
        try:
            return self._memory.ask(name, timeout, *arguments)
        except DistStoreError:
            raise DistStoreError("Wait timeout") from None


class TCPStore(Store):
    """A store that one process holds and the others reach over TCP.

    Args:
        host_name: where the process runs that holds it.
        port: its port; 0 for one that is free, in the process that holds it.
        world_size: how many processes will use it; None if that is not known.
        is_master: whether this process holds it.
        timeout: how long to wait for the others, and by default for keys.
        wait_for_workers: whether the process that holds it waits until all ``world_size`` have
            come.
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: datetime.timedelta = _FIVE_MINUTES,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        del multi_tenant, use_libuv  # the server is the same
        if master_listen_fd is not None:
            raise NotImplementedError(
                "TCPStore(master_listen_fd=...) is not offered by jtorch: the store opens its own "
                "socket"
            )
        if world_size == 0:
            raise ValueError("TCPStore world size cannot be 0")
        self._timeout = timeout
        self._server = Server("", port) if is_master else None
        self.host, self.port = host_name, port if self._server is None else self._server.port
        seconds = timeout.total_seconds()
        self._client = None if self._server else Client(host_name, self.port, seconds)
        if world_size is not None and world_size > 0 and wait_for_workers:
            came = self._ask("add", seconds, "init/", 1)
            if came >= world_size:
                self._ask("set", seconds, "init/all", b"1")
            if self._server is not None:  # it alone must not end before the others have come
                try:
                    self._ask("wait", seconds, ["init/all"])
                except DistStoreError:
                    came = self._ask("add", seconds, "init/", 0)
                    self._close()  # whoever handles the error may try again, at the same port
                    words = (
                        f"Timed out after {round(seconds)} seconds waiting for clients. "
                        f"{came}/{world_size} clients joined."
                    )
                    raise DistStoreError(words) from None

    def _ask(self, name: str, timeout: float, *arguments: object) -> Any:
        where: Any = self._server.memory if self._server else self._client
        return where.ask(name, timeout, *arguments)

    def _soon(self, name: str, *arguments: object) -> object:
        """An operation that waits for no key, of a store whose holder may have ended or hang: at
        most some seconds."""
        return (
            self._ask(name, 0.0, *arguments)
            if self._client is None
            else self._client.ask(name, 0.0, *arguments, grace=_SOON)
        )

    def num_keys(self) -> int:
        """How many keys there are."""
        return super().num_keys() - self.check(["init/all"])

    def list_keys(self) -> list[str]:
        """The keys, in order."""
        return [key for key in super().list_keys() if not key.startswith("init/")]

    @property
    def libuvBackend(self) -> bool:
        """False: the server is Python's."""
        return False

    def _close(self) -> None:
        if self._client is not None:
            self._client.close()
        if self._server is not None:
            self._server.close()

    def __del__(self) -> None:
        if getattr(self, "_client", None) is not None or getattr(self, "_server", None) is not None:
            with contextlib.suppress(Exception):
                self._close()

    def __repr__(self) -> str:
        return f"TCPStore({self.host}, {self.port}{', server' if self._server else ''})"


class FileStore(Store):
    """A store in a file that all processes see.

    Args:
        file_name: the file, which is made if it is not there; the last of ``world_size`` processes
            that lets go of the store removes it.
        world_size: how many processes will use it; -1 if that is not known.
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path = file_name
        self._world_size = world_size
        self._ask("add", 0.0, "init/users", 1)

    def _ask(self, name: str, timeout: float, *arguments: object) -> Any:
        end, pause = time.monotonic() + timeout, 0.001
        while True:
            try:
                return self._once(name, 0.0, *arguments)
            except DistStoreError:
                if time.monotonic() >= end:
                    waited = (
                        f"Timeout waiting for key: {arguments[0]} after {round(timeout * 1000)} ms"
                    )
                    raise DistStoreError("Wait timeout" if name == "wait" else waited) from None
            time.sleep(pause)
            pause = min(2 * pause, 0.02)

    def _once(self, name: str, timeout: float, *arguments: object) -> object:
        import fcntl

        with open(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            data = file.read()
            memory = Memory()
            if data:
                values, queues = _unpacked(memoryview(data))[0]
                memory.values = dict(values)
                memory.queues.update((key, deque(items)) for key, items in queues)
            result = memory.ask(name, timeout, *arguments)
            new = _packed(
                [
                    list(map(list, memory.values.items())),
                    [[key, list(items)] for key, items in memory.queues.items()],
                ]
            )
            if new != data:
                file.seek(0)
                file.write(new)
                file.truncate()
                file.flush()
        return result

    def num_keys(self) -> int:
        """How many keys there are."""
        return super().num_keys() - 1

    def list_keys(self) -> list[str]:
        """The keys, in order."""
        return [key for key in super().list_keys() if not key.startswith("init/")]

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            if self._world_size > 0 and self._ask("add", 0.0, "init/left", 1) >= self._world_size:
                os.unlink(self.path)


class PrefixStore(Store):
    """The keys of another store that begin with a prefix."""

    def __init__(self, prefix: str, store: Store) -> None:
        self.prefix, self.underlying_store = prefix, store

    @property
    def _timeout(self) -> datetime.timedelta:
        return self.underlying_store.timeout

    def set_timeout(self, timeout: datetime.timedelta) -> None:
        """Sets how long to wait for keys."""
        self.underlying_store.set_timeout(timeout)

    def _key(self, key: str) -> str:
        return f"{self.prefix}/{_text(key)}"

    # Each by the method of its name, so that stores written in Python serve as well.
    def set(self, key: str, value: Any) -> None:
        """Stores a value."""
        self.underlying_store.set(self._key(key), value)

    def get(self, key: str) -> bytes:
        """The value of a key, once it is there."""
        # which one written in Python may give as text
        return _bytes(self.underlying_store.get(self._key(key)))

    def add(self, key: str, amount: int) -> int:
        """Adds to a counter, which begins at 0, and returns it."""
        return self.underlying_store.add(self._key(key), amount)

    def append(self, key: str, value: Any) -> None:
        """Makes the value of a key longer."""
        self.underlying_store.append(self._key(key), value)

    def compare_set(self, key: str, expected_value: Any, desired_value: Any) -> bytes:
        """Stores a value if the present one is as expected; what is there afterwards."""
        return self.underlying_store.compare_set(self._key(key), expected_value, desired_value)

    def wait(self, keys: list[str], timeout: datetime.timedelta | None = None) -> None:
        """Waits for keys."""
        names = [self._key(key) for key in keys]
        if timeout is None:
            self.underlying_store.wait(names)
        else:
            self.underlying_store.wait(names, timeout)

    def check(self, keys: list[str]) -> bool:
        """Whether all keys are there."""
        return self.underlying_store.check([self._key(key) for key in keys])

    def delete_key(self, key: str) -> bool:
        """Forgets a key; whether it was there."""
        return self.underlying_store.delete_key(self._key(key))

    def num_keys(self) -> int:
        """How many keys the other store has."""
        return self.underlying_store.num_keys()

    def list_keys(self) -> list[str]:
        """Those of the other store's keys that have the prefix, without it."""
        start = self._key("")
        return [
            key.removeprefix(start)
            for key in self.underlying_store.list_keys()
            if key.startswith(start)
        ]

    @property
    def _underlying_non_prefix_store(self) -> Store:
        """The innermost store."""
        found: Any = self.underlying_store
        while isinstance(found, PrefixStore):
            found = found.underlying_store
        return found

    def queue_push(self, key: str, value: Any) -> None:
        """Puts a value at the end of a queue."""
        self.underlying_store.queue_push(self._key(key), value)

    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Takes the first value of a queue."""
        return self.underlying_store.queue_pop(self._key(key), block)

    def queue_len(self, key: str) -> int:
        """How many values a queue holds."""
        return self.underlying_store.queue_len(self._key(key))
