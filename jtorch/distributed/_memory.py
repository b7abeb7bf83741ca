"""Keys and values as a dictionary that several threads share: what a store holds, wherever it is
held."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from .errors import DistStoreError, QueueEmptyError


class Memory:
    """The dictionary, and the operations of stores on it: ``ask(name, timeout, *arguments)``."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.queues: dict[str, deque[bytes]] = {}
        self._changed = threading.Condition()
        #: The threads that wait for a key.
        self.waiting: set[int] = set()

    def ask(self, name: str, timeout: float, *arguments: object) -> Any:
        """Carries out one operation; those that wait do so at most ``timeout`` seconds.

        Raises:
            DistStoreError: after that time.
        """
        with self._changed:
            return getattr(self, f"do_{name}")(timeout, *arguments)

    def _put(self, key: str, value: bytes) -> None:
        self.values[key] = value
        self._changed.notify_all()

    def do_set(self, _: float, key: str, value: bytes) -> None:
        """Stores a value."""
        self._put(key, value)

    def do_get(self, timeout: float, key: str) -> bytes:
        """The value, once there is one."""
        self.do_wait(timeout, [key])
        return self.values[key]

    def do_take(self, timeout: float, key: str, other: str) -> bytes | None:
        """The value, which is then forgotten, once there is one; None if there is one of ``other``
        instead."""
        self._until(timeout, lambda: key in self.values or other in self.values, [key])
        return self.values.pop(key, None)

    def do_wait(self, timeout: float, keys: list[str]) -> None:
        """Waits until all keys are there."""
        self._until(timeout, lambda: all(key in self.values for key in keys), keys)

    def _until(self, timeout: float, done: Callable[..., object], keys: list[str]) -> None:
        end = time.monotonic() + timeout
        while not done():
            left = end - time.monotonic()
            if left <= 0:
                raise DistStoreError(
                    f"wait timeout after {round(timeout * 1000)}ms, keys: "
                    f"{', '.join(f'/{key}' for key in keys)}"
                )
            self.waiting.add(threading.get_ident())
            try:
                self._changed.wait(left)
            finally:
                self.waiting.discard(threading.get_ident())

    def do_add(self, _: float, key: str, amount: int) -> int:
        """Adds to a counter."""
        before = self.values.get(key, b"0")
        if not before.removeprefix(b"-").isdigit():
            raise ValueError("stoll")  # (PyTorch's whole text)
        found = int(before) + amount
        self._put(key, str(found).encode())
        return found

    def do_append(self, _: float, key: str, value: bytes) -> None:
        """Makes a value longer."""
        self._put(key, self.values.get(key, b"") + value)

    def do_compare_set(self, _: float, key: str, expected: bytes, desired: bytes) -> bytes:
        """Replaces a value that is as expected; what is there then."""
        found = self.values.get(key)
        if found is None and expected:
            return expected
        if (found or b"") == expected:
            self._put(key, desired)
            return desired
        return found or b""

    def do_check(self, _: float, keys: list[str]) -> bool:
        """Whether all keys are there."""
        return all(key in self.values for key in keys)

    def do_delete_key(self, _: float, key: str) -> bool:
        """Forgets a key; whether it was there."""
        return self.values.pop(key, None) is not None

    def do_num_keys(self, _: float) -> int:
        """How many keys there are."""
        return len(self.values)

    def do_list_keys(self, _: float) -> list[str]:
        """The keys, in order."""
        return sorted(self.values)

    def do_queue_push(self, _: float, key: str, value: bytes) -> None:
        """Puts a value at the end of a queue."""
        self.queues.setdefault(key, deque()).append(value)
        self._changed.notify_all()

    def do_queue_pop(self, timeout: float, key: str, block: bool) -> bytes:
        """Takes the first value of a queue, once there is one."""
        if not block and not self.queues.get(key):
            raise QueueEmptyError(f"queue {key} is empty")
        self._until(timeout, lambda: self.queues.get(key), [key])
        return self.queues[key].popleft()

    def do_queue_len(self, _: float, key: str) -> int:
        """How many values a queue holds."""
        return len(self.queues.get(key, ()))
