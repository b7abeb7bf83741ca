"""Messages from one process to another, with tags.

A message goes into the receiver's mailbox, a store that the receiver holds, and waits there: a
``send`` is over when it has arrived, whether or not it is asked for, so that all may send before
any receives.
"""

from __future__ import annotations

import datetime
import pickle
import struct
import time
from typing import Any

import numpy as np

from ..core import Tensor
from ._arrays import bytes_of, taken, written
from ._operands import check_tensor, outside
from ._wire import Client, Server
from .errors import DistBackendError, DistStoreError
from .group import STATE, ProcessGroup, get_rank, world
from .works import Work

_ANY = -1
#: Seconds after which a receiver looks whether the sender is still there.
_LOOK = 0.5
_SIZE = struct.Struct("<Q")


class Mail:
    """This process's mailbox, and its connections to those of others."""

    def __init__(self) -> None:
        from ._fabric import own_address

        self.server = Server("", 0)
        self.clients: dict[int, Any] = {}
        self.sent: dict[Any, int] = {}
        self.expected: dict[Any, int] = {}
        STATE.store.set(
            f"mail/{STATE.rank}", f"{own_address(STATE.host, STATE.port)}:{self.server.port}"
        )

    def client(self, rank: int, timeout: datetime.timedelta) -> Any:
        """The connection to a rank's mailbox."""
        found = self.clients.get(rank)
        if found is None:
            STATE.store.wait([f"mail/{rank}"], timeout)
            host, _, port = STATE.store.get(f"mail/{rank}").decode().rpartition(":")
            found = self.clients[rank] = Client(host, int(port), timeout.total_seconds(), met=True)
        return found

    def close(self) -> None:
        """Closes everything."""
        for client in self.clients.values():
            client.close()
        self.server.close()


def _mail() -> Mail:
    if STATE.mail is None:
        STATE.mail = Mail()
    return STATE.mail


def _known(pg: ProcessGroup, rank: int | None, in_group: int | None, what: str) -> int:
    """The global rank of a member, which may be given by its rank in the group.

    Raises:
        ValueError: if it is not in the group, or said twice or not at all.
    """
    if in_group is not None:
        if rank is not None:
            raise ValueError("Can't specify both group_rank and global_rank")
        if not 0 <= in_group < pg.size():
            raise ValueError(f"Group rank {in_group} is not part of group {pg}")
        rank = pg.ranks[in_group]
    if rank is None:
        raise ValueError(f"Must specify {what} or group_{what}")
    if rank not in pg.ranks:
        raise ValueError(f"Global rank {rank} is not part of group {pg}")
    return rank


def _peer(pg: ProcessGroup, rank: int | None, in_group: int | None, what: str) -> int:
    """The global rank of the other side.

    Raises:
        ValueError: if it is this process, or not in the group.
    """
    rank = _known(pg, rank, in_group, what)
    if rank == STATE.rank:
        word = "destination" if what == "dst" else "source"
        raise ValueError(
            f"Invalid {word} rank: {word} rank should not be the same as the rank of the current "
            "process."
        )
    return rank


def _post(pg: ProcessGroup, data: bytes, head: str, to: int, tag: int | str, name: str) -> None:
    mail = _mail()
    key = (pg.group_name, to, tag)
    number = mail.sent[key] = mail.sent.get(key, 0) + 1
    begin = head.encode()
    try:
        mail.client(to, pg.timeout).ask(
            "set",
            pg._seconds,
            f"{pg.group_name}/{STATE.rank}/{tag}/{number}",
            _SIZE.pack(len(begin)) + begin + data,
            grace=0.0,
        )
    except (DistStoreError, OSError, RuntimeError) as e:
        words = (
            f"[Rank {STATE.rank}] {name} to rank {to} in {pg._words()} failed: "
            f"{e}{STATE.lost(pg.ranks, wait=0.5)}"
        )
        raise DistBackendError(words) from None


def _fetch(
    pg: ProcessGroup,
    sources: list[int],
    numbers: dict[int, int],
    tag: int | str,
    seconds: float,
    name: str,
) -> tuple[int, str, bytes]:
    """The next message of one of some ranks: from whom, its head and its data."""
    memory = _mail().server.memory
    end = time.monotonic() + seconds
    while True:
        for source in sources:
            key = f"{pg.group_name}/{source}/{tag}/{numbers[source]}"
            left = min(_LOOK if len(sources) == 1 else 0.002, max(0.0, end - time.monotonic()))
            try:
                found = memory.ask("take", left, key, "")
            except DistStoreError:
                continue
            (n,) = _SIZE.unpack_from(found)
            return source, found[8 : 8 + n].decode(), found[8 + n :]
        where = (
            f"[Rank {STATE.rank}] {name} from rank {', '.join(map(str, sources))} (tag {tag}) in "
            f"{pg._words()}"
        )
        gone = STATE.lost(tuple(sources)) if time.monotonic() < end else ""
        # What a process sent before it ended may have come in the meantime.
        if gone and not any(
            memory.ask("check", 0.0, [f"{pg.group_name}/{s}/{tag}/{numbers[s]}"]) for s in sources
        ):
            raise DistBackendError(f"{where} failed{gone}")
        if time.monotonic() >= end:
            raise DistBackendError(f"{where} timed out: nothing has come within {seconds} seconds")


class _Received(Work):
    """A ``recv`` on its way."""

    def __init__(self, tensor: Tensor, pg: ProcessGroup, sources: list[int], tag: int) -> None:
        super().__init__("recv", pg, None, None, [tensor], pg._seconds)
        self._tensor, self._tag, self._sources = tensor, tag, sources
        expected = _mail().expected
        self._any = len(sources) != 1
        if not self._any:
            key = (pg.group_name, sources[0], tag)
            expected[key] = expected.get(key, 0) + 1
            self._numbers = {sources[0]: expected[key]}
        self._source = _ANY

    def wait(self, timeout: Any = None) -> bool:
        """Waits for the message and writes it into the tensor; True."""
        if self._source != _ANY:
            return True
        seconds = (
            timeout.total_seconds()
            if timeout is not None and timeout.total_seconds() > 0
            else self._group._seconds
        )
        pg, expected = self._group, _mail().expected
        if self._any:
            self._numbers = {
                s: expected.get((pg.group_name, s, self._tag), 0) + 1 for s in self._sources
            }
        source, head, data = _fetch(
            pg, self._sources, self._numbers, self._tag, seconds, self._name
        )
        if self._any:
            expected[pg.group_name, source, self._tag] = self._numbers[source]
        self._source = source
        dtype = self._tensor._aval.dtype
        if head != dtype.name or len(data) != self._tensor.numel() * dtype.itemsize:
            raise DistBackendError(
                f"[Rank {STATE.rank}] recv from rank {source} in {pg._words()}: {len(data)} bytes "
                f"of {head} for a tensor of dtype {dtype.name} and shape "
                f"{tuple(self._tensor.shape)}"
            )
        written(self._tensor, np.frombuffer(data, dtype))
        return True

    def is_completed(self) -> bool:
        """Whether the message is there."""
        if self._source != _ANY:
            return True
        pg, memory = self._group, _mail().server.memory
        numbers = (
            {s: _mail().expected.get((pg.group_name, s, self._tag), 0) + 1 for s in self._sources}
            if self._any
            else self._numbers
        )
        if not any(
            memory.ask("check", 0.0, [f"{pg.group_name}/{s}/{self._tag}/{n}"])
            for s, n in numbers.items()
        ):
            return False
        return self.wait()

    def source_rank(self) -> int:
        """Whose message was received, as its rank in the group."""
        self.wait()
        return self._group.ranks.index(self._source)


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: object = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Sends a tensor; it may be changed at once."""
    check_tensor(tensor, "tensor")
    if outside(group):
        return None
    pg = world(group)
    array = taken(tensor)
    _post(
        pg,
        bytes_of(array).tobytes(),
        array.dtype.name,
        _peer(pg, dst, group_dst, "dst"),
        tag,
        "send",
    )
    return Work("send", pg, None, None, [tensor])


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: object = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Sends a tensor."""
    isend(tensor, dst, group, tag, group_dst)


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: object = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Begins to receive a tensor; ``wait`` writes it. Without ``src``, from anyone."""
    check_tensor(tensor, "tensor")
    if outside(group):
        return None
    pg = world(group)
    if src is None and group_src is None:
        return _Received(tensor, pg, [r for r in pg.ranks if r != STATE.rank], tag)
    return _Received(tensor, pg, [_peer(pg, src, group_src, "src")], tag)


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: object = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receives a tensor, without ``src`` from anyone; the rank of the sender, -1 outside of the
    group."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return work._source


class P2POp:
    """A ``isend`` or ``irecv`` for ``batch_isend_irecv``.

    Raises:
        ValueError: for another function.
    """

    def __init__(
        self,
        op: Any,
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        check_tensor(tensor, "tensor")
        self.op, self.tensor, self.tag = op, tensor, tag
        self.group = world() if group is None else group
        self.peer, self.group_peer = peer, group_peer
        if not outside(self.group):
            pg = world(self.group)
            if group_peer is None:
                _known(pg, peer, None, "rank")
                self.group_peer = pg.ranks.index(peer)
            else:
                self.peer = _known(pg, peer, group_peer, "rank")

    def __repr__(self) -> str:
        own, other = get_rank(self.group), self.group_peer
        source, to = (own, other) if self.op is isend else (other, own)
        shape: Any = self.tensor.shape
        named = getattr(self.group, "group_name", "default_pg")
        return (
            f"P2POp({self.op.__name__} pg={named}, group_src={source}, group_dst={to},  {shape}, "
            f"{self.tensor.dtype})"
        )


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Starts several sends and receives; their works, in order.

    Raises:
        ValueError: for something else than ``P2POp`` in the list.
    """
    if not isinstance(p2p_op_list, list) or not all(isinstance(p, P2POp) for p in p2p_op_list):
        raise ValueError(
            "Invalid ``p2p_op_list``. Each op is expected to to be of type "
            "``torch.distributed.P2POp``."
        )
    if not p2p_op_list:
        raise IndexError("list index out of range")
    found = []
    for p in p2p_op_list:
        word = "group_dst" if p.op is isend else "group_src"
        work = p.op(p.tensor, group=p.group, tag=p.tag, **{word: p.group_peer})
        if work is not None:
            found.append(work)
    return found


def post_message(pg: ProcessGroup, data: bytes, to: int, name: str) -> None:
    """Sends bytes under a name, to a global rank; it does not wait for the other side."""
    _post(pg, data, "", to, name, f"message ({name})")


def fetch_message(pg: ProcessGroup, source: int, name: str) -> bytes:
    """The next message of a global rank under a name, waiting for it as long as the group
    allows."""
    key, expected = (pg.group_name, source, name), _mail().expected
    number = expected.get(key, 0) + 1
    data = _fetch(pg, [source], {source: number}, name, pg._seconds, f"message ({name})")[2]
    expected[key] = number
    return data


#: The tag of objects, which tensors cannot have.
_OBJECTS = -7


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: object = None,
    device: object = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Sends the objects of a list, as pickles."""
    del device, use_batch
    if outside(group):
        return
    pg = world(group)
    to = _peer(pg, dst, group_dst, "dst")
    _post(
        pg,
        pickle.dumps(list(object_list)),
        f"objects {len(object_list)}",
        to,
        _OBJECTS,
        "send_object_list",
    )


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: object = None,
    device: object = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receives objects into a list of as many places as were sent; the rank of the sender, -1
    outside of the group."""
    del device, use_batch
    if outside(group):
        return -1
    pg = world(group)
    anyone = src is None and group_src is None
    sources = (
        [r for r in pg.ranks if r != STATE.rank] if anyone else [_peer(pg, src, group_src, "src")]
    )
    expected = _mail().expected
    numbers = {s: expected.get((pg.group_name, s, _OBJECTS), 0) + 1 for s in sources}
    source, _, data = _fetch(pg, sources, numbers, _OBJECTS, pg._seconds, "recv_object_list")
    expected[pg.group_name, source, _OBJECTS] = numbers[source]
    found = pickle.loads(data)
    if len(found) != len(object_list):
        raise RuntimeError(
            f"recv_object_list: rank {source} sent {len(found)} objects for a list of "
            f"{len(object_list)}"
        )
    object_list[:] = found
    return source
