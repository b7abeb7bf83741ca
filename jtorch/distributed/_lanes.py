"""Lanes: the collectives of one set of processes, carried out one after another by a thread, so
that none is waited for without end.

Each begins with a *round*: a gather of one block from each process, which says what the process is
about to do and carries the data if it is small. Whoever disagrees is found out there, before any
larger program runs, on every process alike.
"""

from __future__ import annotations

import _thread
import hashlib
import queue
import struct
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _programs
from ._programs import aligned
from .errors import DistBackendError

#: Bytes of a round that carry data, and those that say what is done: a number of the kind, then
#: text.
CARRIED, SAID = 4096, 192
#: All bytes of a round.
ROW = SAID + CARRIED
_HEAD = struct.Struct("<QQH")
#: Up to how many processes an exchange says the sizes of its parts in its first round.
_WITH_SIZES = CARRIED // 16
#: Up to how many bytes all processes' arrays are gathered and combined here, which takes one step
#: where XLA's takes more.
GATHERED = 1 << 16
#: How many bytes two processes exchange at once, which bounds the memory beside the result.
PIECE = 1 << 25


#: Those whose threads may be running.
LANES: weakref.WeakSet[Lane] = weakref.WeakSet()


class Ticket:
    """Something that a lane is to do: its result or its error, once it is done."""

    __slots__ = ("_lock", "error", "value")

    def __init__(self) -> None:
        self._lock = _thread.allocate_lock()
        self._lock.acquire()
        self.value: Any = None
        self.error: BaseException | None = None

    def finish(self) -> None:
        """Says that it is done."""
        self._lock.release()

    def wait(self, seconds: float) -> bool:
        """Whether it is done within some seconds."""
        if not self._lock.acquire(timeout=min(max(seconds, 0.0), threading.TIMEOUT_MAX)):
            return False
        self._lock.release()
        return True

    def is_done(self) -> bool:
        """Whether it is done."""
        return not self._lock.locked()


class Lane:
    """The connection of a set of processes, and the thread that uses it.

    Args:
        connect: makes the fabric; called by the thread with the first thing to do.
        size: how many processes there are.
        explain: says which of them are lost, for errors.
    """

    def __init__(
        self, connect: Callable[[], object], size: int, explain: Callable[[], str]
    ) -> None:
        self._connect, self.size, self._explain = connect, size, explain
        self._tasks = queue.SimpleQueue()
        self._fabric: Any = None
        #: The same row for each process.
        self._blocks = aligned((size, ROW), np.dtype(np.uint8))
        self._count = 0
        #: Why nothing works any more.
        self.broken: str | None = None
        self._busy = self._closed = False
        #: Nothing is given to the thread after it was told to end.
        self._given = threading.Lock()
        self._thread = threading.Thread(target=self._work, daemon=True, name="jtorch collectives")
        self._thread.start()
        LANES.add(self)

    def submit(self, function: Callable[[Lane], object]) -> Ticket:
        """Has the thread call ``function``, after what it was given before."""
        ticket = Ticket()
        with self._given:
            if self.broken is None and not self._closed:
                self._tasks.put((ticket, function))
                return ticket
        # the thread may be waiting for good, or have ended
        ticket.error = DistBackendError(self.broken or "the group has been destroyed")
        ticket.finish()
        return ticket

    def close(self) -> None:
        """Ends the thread and the connections, after what is to be done."""
        with self._given:
            self._closed = True
            self._tasks.put(None)

    def give_up(self, reason: str) -> None:
        """Has all that comes fail: the processes are no longer at the same place."""
        if self.broken is None:
            self.broken = reason
            fabric = self._fabric
            if fabric is not None:
                fabric.abort()

    def ended(self, seconds: float) -> None:
        """Waits until the thread has ended, at most some seconds; for one that was closed."""
        self._thread.join(seconds)

    def is_busy(self) -> bool:
        """Whether something is being done, or waits to be."""
        return self._busy or not self._tasks.empty()

    def _work(self) -> None:
        while True:
            task = self._tasks.get()
            if task is None:
                self._fabric = None
                return
            self._busy = True
            ticket, function = task
            try:
                if self.broken is not None:
                    raise DistBackendError(self.broken)
                if self._fabric is None:
                    self._fabric = self._connect()
                ticket.value = function(self)
            except Disagreement as e:
                ticket.error = e
            except BaseException as e:
                ticket.error = e
                # The others must not wait for this one: letting go of the connections ends theirs.
                self._fabric = None
                if self.broken is None:
                    self.broken = f"{_first_line(e)}{self._explain()}"
                    ticket.error = DistBackendError(self.broken)
            self._busy = False
            ticket.finish()
            del task, ticket, function

    # What functions that are submitted call.

    def round(
        self, what: str, data: Any, size: int, strict: bool = True
    ) -> tuple[np.ndarray, list[int], list[str]]:
        """One block of each process: its bytes, how many it has in all, what it does.

        Raises:
            Disagreement: if one does something else, or (with ``strict``) has another amount of
                data.
        """
        blocks, mine = self._blocks, self._blocks[0]
        said = _said(what)
        _HEAD.pack_into(mine.data, 0, size, self._count, len(said))
        end = _HEAD.size + len(said)
        mine[_HEAD.size : end] = np.frombuffer(said, np.uint8)
        self._count += 1
        if data is not None and data.size <= CARRIED:
            mine[SAID : SAID + data.size] = data
        blocks[1:] = mine
        # by a message to each where a gather would take turns
        blocks = self._fabric.exchange(blocks)
        if (blocks[:, :end] == mine[:end]).all():
            return blocks[:, SAID:], [size] * self.size, [what] * self.size
        heads = [_HEAD.unpack_from(b.tobytes()[: _HEAD.size]) for b in blocks]
        words = [
            blocks[i, _HEAD.size : _HEAD.size + h[2]].tobytes().decode(errors="replace")
            for i, h in enumerate(heads)
        ]
        if len({(w, h[0] if strict else 0, h[1]) for w, h in zip(words, heads, strict=True)}) > 1:
            each = enumerate(zip(words, heads, strict=True))
            told = "; ".join(
                f"process {i}: {w.replace('|', ' ')}, {h[0]} bytes, call {h[1]}"
                for i, (w, h) in each
            )
            raise Disagreement(
                "the processes of the group do not call the same collective with the same sizes "
                f"and dtypes ({told})"
            )
        return blocks[:, SAID:], [h[0] for h in heads], words

    def gather(self, what: str, data: np.ndarray, strict: bool = True) -> list[np.ndarray]:
        """Each process's bytes; their numbers may differ unless ``strict``."""
        rows, sizes, _ = self.round(what, data, data.size, strict)
        largest = max(sizes)
        if largest > CARRIED:
            room = _room(sizes)
            block = data[None] if room == data.size else np.zeros((1, room), np.uint8)
            if room != data.size:
                block[0, : data.size] = data
            large = self._fabric.gather(block)
            return [large[i, :n] for i, n in enumerate(sizes)]
        return [rows[i, :n] for i, n in enumerate(sizes)]

    def exchange(self, what: str, parts: list[np.ndarray], strict: bool = True) -> list[np.ndarray]:
        """What each process has for this one: ``parts[i]`` are the bytes for process ``i``; with
        ``strict`` all have as many in all.

        Their sizes come first, so that how the bytes travel follows from what all know, and not
        from what one of them expects.
        """
        sizes = np.array([p.size for p in parts], np.int64)
        rows: Any
        total = sizes.nbytes + int(sizes.sum())
        if self.size <= _WITH_SIZES:
            head = sizes.view(np.uint8)
            rows, totals, _ = self.round(
                what, np.concatenate([head, *parts]) if total <= CARRIED else head, total, strict
            )
        else:
            self.round(what, None, total, strict)
            rows, totals = self.gather(f"{what}|sizes", sizes.view(np.uint8)), [CARRIED + 1]
        table = [row[: sizes.nbytes].view(np.int64) for row in rows]
        if max(totals) <= CARRIED:
            starts = [sizes.nbytes + int(row[: self.rank].sum()) for row in table]
            return [
                rows[i, at : at + int(row[self.rank])]
                for i, (at, row) in enumerate(zip(starts, table, strict=True))
            ]
        room = _room([int(n) for row in table for n in row])
        if not room:
            return [np.empty(0, np.uint8) for _ in table]
        if all(p.size == room for p in parts):
            given = np.stack(parts)
        else:
            given = np.zeros((self.size, room), np.uint8)
            for row, part in zip(given, parts, strict=True):
                row[: part.size] = part
        got = self._fabric.exchange(given)
        return [got[i, : int(row[self.rank])] for i, row in enumerate(table)]

    @property
    def rank(self) -> int:
        """This process's place in the set."""
        return self._fabric.rank

    def combine(
        self, what: str, array: np.ndarray, operation: str, agreed: bool = False
    ) -> np.ndarray:
        """The processes' vectors, combined by an operation of ``LOCAL``; ``agreed`` if a round has
        said so already."""
        if not agreed and (
            array.nbytes <= CARRIED or (array.nbytes <= GATHERED and self.size <= 8)
        ):
            return folded(
                [r.view(array.dtype) for r in self.gather(what, array.view(np.uint8))], operation
            )
        if self.size == 2:
            if not agreed:
                self.round(what, None, array.nbytes)
            return self._combine_two(array, operation)
        name, given = array.dtype.name, array
        if operation in ("sum", "product", "min", "max") and name in ("bfloat16", "float16"):
            given = array.astype(np.float32)
        elif operation == "sum" and name in ("complex64", "complex128"):
            given = array.view(f"float{array.itemsize * 4}")
        elif name == "bool":
            given = array.view(np.uint8)
            operation = {"sum": "max", "bor": "max", "product": "min", "band": "min"}.get(
                operation, operation
            )
        if given.dtype.name in _programs.ELEMENTS and operation in _programs.COMBINED:
            if not agreed:
                self.round(what, None, array.nbytes)
            total = self._fabric.combine(given, operation)
            return (
                total.view(array.dtype)
                if given.itemsize * given.size == array.nbytes
                else total.astype(array.dtype)
            )
        return folded(
            [r.view(array.dtype) for r in self.gather(what, array.view(np.uint8))], operation
        )

    def _combine_two(self, array: np.ndarray, operation: str) -> np.ndarray:
        """Each sends all that it has and combines: as many bytes as XLA's reduction moves between
        two, in half as many turns."""
        found = aligned(array.shape, array.dtype, np.empty)
        step = PIECE // array.itemsize
        for at in range(0, array.size, step):
            mine = array[at : at + step]
            theirs = self._fabric.swap(mine.view(np.uint8)).view(array.dtype)
            # in the order of processes: which of two NaNs it is must not differ
            LOCAL[operation](
                *((theirs, mine) if self.rank else (mine, theirs)), out=found[at : at + step]
            )
        return found


class Alone:
    """The lane of a group of one process: what is submitted is done at once, without threads and
    without JAX's collectives."""

    rank, size, broken = 0, 1, None

    def submit(self, function: Callable[[Any], Any]) -> Ticket:
        """Calls ``function``."""
        ticket = Ticket()
        try:
            ticket.value = function(self)
        except Exception as e:
            ticket.error = e
        ticket.finish()
        return ticket

    def round(self, what: str, data: object, size: int, strict: bool = True) -> Any:
        """Nothing: all agree."""

    def gather(self, what: str, data: np.ndarray, strict: bool = True) -> list[np.ndarray]:
        """The process's own bytes."""
        return [data.copy()]

    def exchange(self, what: str, parts: list[np.ndarray], strict: bool = True) -> list[np.ndarray]:
        """The process's own bytes."""
        return [parts[0].copy()]

    def combine(
        self, what: str, array: np.ndarray, operation: str, agreed: bool = False
    ) -> np.ndarray:
        """The process's own array."""
        return array.copy()

    def close(self, reason: str = "") -> None:
        """Nothing."""

    give_up = close

    def is_busy(self) -> bool:
        """False."""
        return False


class Disagreement(DistBackendError):
    """The processes call different things, or send what another has no room for; all have come to
    it, and the connection is still good."""


LOCAL = {
    "sum": np.add, "product": np.multiply, "min": np.minimum, "max": np.maximum,
    "band": np.bitwise_and, "bor": np.bitwise_or, "bxor": np.bitwise_xor,
}  # fmt: skip


def folded(rows: list[np.ndarray], operation: str) -> np.ndarray:
    """Arrays combined one after another, in the order of the processes."""
    total = rows[0].copy()
    for row in rows[1:]:
        LOCAL[operation](total, row, out=total)
    return total


def _said(what: str) -> bytes:
    """What is done, in the bytes that a round has for it; a longer text ends with a digest of the
    whole, which differs where that does."""
    text = what.encode()
    room = SAID - _HEAD.size
    return (
        text
        if len(text) <= room
        else text[: room - 34]
        + b"..."
        + hashlib.md5(text, usedforsecurity=False).hexdigest()[:31].encode()
    )


def _room(sizes: list[int]) -> int:
    """The bytes of a row for each of some sizes: the same program serves sizes that differ and
    vary."""
    largest = max(sizes)
    return largest if min(sizes) == largest or not largest else 1 << (largest - 1).bit_length()


def _first_line(e: BaseException) -> str:
    text = str(e).strip() or type(e).__name__
    return text.splitlines()[0][:500]
