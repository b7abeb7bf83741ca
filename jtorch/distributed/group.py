"""Process groups: which processes there are, which of them belong together, and what connects
them."""

from __future__ import annotations

import atexit
import contextlib
import datetime
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

from .._src.facts.devices import device
from ..accelerator import current_accelerator, device_count
from ._backends import Backend as Backend
from ._backends import BackendConfig
from ._backends import ReduceOp as ReduceOp
from ._lanes import LANES, ROW, Alone, Disagreement, Lane, Ticket
from ._wire import Client
from .constants import default_pg_timeout
from .errors import DistBackendError as DistBackendError
from .errors import DistError as DistError
from .errors import DistNetworkError as DistNetworkError
from .errors import DistStoreError as DistStoreError
from .errors import QueueEmptyError as QueueEmptyError
from .rendezvous import rendezvous
from .stores import FileStore as FileStore
from .stores import HashStore as HashStore
from .stores import PrefixStore as PrefixStore
from .stores import Store as Store
from .stores import TCPStore as TCPStore
from .works import Work as Work
from .works import settle


class ProcessGroup:
    """Some of the processes, in an order of their own, among which collectives go on independently
    of other groups."""

    def __init__(
        self,
        ranks: tuple[int, ...],
        name: str,
        backend: Backend,
        store: Store,
        timeout: datetime.timedelta,
        desc: str,
    ) -> None:
        self.ranks, self.backend, self.store = ranks, backend, store
        self.group_name, self.group_desc = name, desc
        self._set_seconds(timeout)
        self._rank = ranks.index(STATE.rank)
        self._lane: Any = Alone() if len(ranks) == 1 else None
        self.bound_device_id: device | None = None
        self._ended = False

    def _set_seconds(self, timeout: datetime.timedelta) -> None:
        self.timeout, self._seconds = timeout, timeout.total_seconds()

    def rank(self) -> int:
        """This process's place in the group."""
        return self._rank

    def size(self) -> int:
        """How many processes it has."""
        return len(self.ranks)

    def name(self) -> str:
        """The backend's name."""
        return str(self.backend)

    def _get_backend(self, device: object) -> ProcessGroup:
        """What carries out collectives of a device's tensors: the group itself."""
        del device  # one engine serves all
        return self

    @property
    def _device_types(self) -> list[object]:
        """The devices whose tensors it takes."""
        return [device(kind) for kind in BackendConfig(self.backend).device_backend_map]

    def get_group_store(self) -> Store:
        """The store of the group."""
        return self.store

    def set_timeout(self, timeout: datetime.timedelta) -> None:
        """Sets how long collectives may take."""
        self._set_seconds(timeout)

    def abort(self) -> None:
        """Has all that is under way and all that comes fail."""
        if self._lane is not None:
            self._lane.give_up("the group has been aborted")

    def shutdown(self) -> None:
        """Ends the group's connections."""
        self._ended = True
        if self._lane is not None:
            self._lane.close()

    def has_ended(self) -> bool:
        """Whether it was destroyed."""
        return self._ended

    def _words(self) -> str:
        return f"group {self.group_name} ({self.group_desc}) of ranks {list(self.ranks)}"

    def _failed(self, name: str, error: BaseException) -> DistBackendError:
        words = f"[Rank {STATE.rank}] {name} of {self._words()} failed: {error}"
        found = DistBackendError(words)
        found.__cause__ = None if isinstance(error, DistBackendError) else error
        return found

    def _late(self, name: str, seconds: float | None) -> DistBackendError:
        reason = f"{name} has not ended within {seconds} seconds{STATE.lost(self.ranks)}"
        if self._lane is not None:
            self._lane.give_up(f"an earlier call failed: {reason}")
        return DistBackendError(
            f"[Rank {STATE.rank}] {name} of {self._words()} timed out: {reason}"
        )

    def _submit(self, name: str, task: Callable[..., object]) -> Ticket:
        del name
        lane = self._lane
        if lane is None:
            lane = self._lane = Lane(
                self._connected, len(self.ranks), lambda: STATE.lost(self.ranks, wait=0.5)
            )
        return lane.submit(task)

    def _connected(self) -> object:
        from ._fabric import Fabric, own_address

        key = f"fabric/{self.group_name}"
        # Whoever waits in vain for the others inside of JAX's client is ended by it, with SIGABRT:
        # all have to be here before.
        if self._rank:
            self.store.set(f"{key}/came/{self._rank}", b"")
        else:
            self._await([f"{key}/came/{rank}" for rank in range(1, len(self.ranks))])
        if self._lane.broken is not None:  # the call was given up meanwhile
            raise DistBackendError(self._lane.broken)
        return Fabric(
            self._rank,
            len(self.ranks),
            own_address(STATE.host, STATE.port),
            lambda text: self.store.set(key, text),
            lambda: self._learnt(key),
            self._seconds + _GRACE,
            ROW,
        )

    def _learnt(self, key: str) -> str:
        try:
            self._await([key])
            if self._lane.broken is not None:
                raise DistBackendError(self._lane.broken)
        except DistError:
            with contextlib.suppress(DistError, NotImplementedError):
                self.store.delete_key(f"{key}/came/{self._rank}")
            raise
        return self.store.get(key).decode()

    def _await(self, keys: list[str]) -> None:
        """Waits for keys of the store while none of the group's processes has ended."""
        end = time.monotonic() + self._seconds
        while True:
            left = end - time.monotonic()
            try:
                self.store.wait(keys, datetime.timedelta(seconds=max(0.0, min(left, _LOOK))))
                break
            except DistStoreError:
                lost = STATE.lost(self.ranks)
                if lost or left <= _LOOK:
                    missing = [
                        key.rpartition("/")[2] for key in keys if not self.store.check([key])
                    ]
                    who = ", ".join(missing) if self._rank == 0 else "0"
                    words = (
                        f"the group was not connected within {self._seconds} seconds: its process "
                        f"{who} has not come"
                    )
                    raise DistStoreError(f"{words}{lost}") from None
        if lost := STATE.lost(self.ranks):
            raise DistStoreError(f"the group cannot be connected{lost}")

    def __repr__(self) -> str:
        return f"<torch.distributed.distributed_c10d.ProcessGroup object, {self._words()}>"


ProcessGroup.__module__ = "torch.distributed.distributed_c10d"

#: Seconds between two looks at who has ended.
_LOOK = 1.0
#: Seconds that JAX's client is given beyond a group's own: what it does at their end ends the
#: process.
_GRACE = 3600.0


class _State:
    """What this process knows of the world; nothing while there is no default group."""

    #: How often a default group was made: the same in all processes, so that keys of one world are
    #: never those of the next.
    made = 0

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forgets everything."""
        self.rank, self.size = -1, 0
        self.host: str | None = None
        self.port = 0
        self.store: Any = None
        self.is_own = False
        self.count = 0
        #: How many groups were made of some ranks by those ranks alone.
        self.made_of: dict[tuple[int, ...], int] = {}
        self.groups: list[ProcessGroup] = []
        self.presence: Any = None
        self.mail: Any = None

    def lost(self, ranks: tuple[int, ...], wait: float = 0.0) -> str:
        """Words about those of some ranks that have ended, as far as it is known; it is not known
        while the store does not answer."""
        store, tcp = self.store, _tcp_of(self.store)
        if tcp is None or self.presence is None:
            return ""
        end = time.monotonic() + wait
        try:
            while True:
                gone = [
                    r
                    for r in ranks
                    if r != self.rank and tcp._soon("check", [_prefix_of(store, f"lost/{r}")])
                ]
                if gone or time.monotonic() >= end:
                    break
                time.sleep(0.02)
        except DistError as e:
            return (
                ""
                if isinstance(e.__context__, TimeoutError)
                else "; rank 0, which held the store, has ended"
            )
        return f"; ended: rank {', '.join(map(str, gone))}" if gone else ""


STATE = _State()


class GroupMember:
    """The default group, and the mark of a process that is not in a group."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


class group:
    """The default group as ``dist.group.WORLD``."""

    WORLD: ProcessGroup | None = None


def is_initialized() -> bool:
    """Whether ``init_process_group`` was called."""
    return GroupMember.WORLD is not None


def _tcp_of(store: object) -> TCPStore | None:
    while isinstance(store, PrefixStore):
        store = store.underlying_store
    return store if isinstance(store, TCPStore) else None


def _prefix_of(store: object, key: str) -> str:
    while isinstance(store, PrefixStore):
        store, key = store.underlying_store, f"{store.prefix}/{key}"
    return key


def _bound(device_id: device | None) -> device | None:
    """The device that a group is told to be of, if it is one that a group can be bound to.

    Raises:
        ValueError: for the CPU, and for a device without index.
    """
    if device_id is not None and (device_id.index is None or device_id.type == "cpu"):
        raise ValueError(
            "init_process_group device_id parameter must be an accelerator with an index"
        )
    return device_id


def _own_device(device_id: Any) -> device | None:
    """The device that the default group is told to be of.

    Raises:
        ValueError: if this machine has no such accelerator.
    """
    if device_id is None:  # the question would start JAX
        return None
    own = current_accelerator()
    change = "Please use a different compiled version that supports your accelerator."
    if isinstance(device_id, int):
        if own is None:
            raise ValueError(
                "device_id is an int, but no accelerator support is found from the current "
                f"compilation. {change}"
            )
        device_id = device(own.type, device_id)
    if device_id.type == "cpu":
        return _bound(device_id)
    if own is None or device_id.type != own.type:
        raise ValueError(
            f"device_id {device_id} does not match the current compilation's accelerator support: "
            f"{own}. {change}"
        )
    if device_id.index is None:
        raise ValueError("Please use a device_id with index.")
    count = device_count()
    if device_id.index >= count:
        raise ValueError(
            f"device_id {device_id} is out of range. Please use a device index less than the "
            f"number of accelerators available: {count}."
        )
    return device_id


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: datetime.timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: object | None = None,
    device_id: object = None,
    _ranks: list[int] | None = None,
) -> None:
    """Makes the default group, of all processes: waits for them.

    Args:
        backend: ``"gloo"``, or the name of another that programs give (``"nccl"``,
            ``"cpu:gloo,cuda:nccl"``); the engine is the same.
        init_method: ``env://`` (the default), ``tcp://host:port`` or ``file:///path``.
        timeout: how long collectives may take; 30 minutes by default.
        world_size: how many processes there are.
        rank: which of them this is.
        store: a store they share, in place of ``init_method``.
        device_id: the accelerator of this process, or its index; kept as the group's
            ``bound_device_id``.

    Raises:
        ValueError: if there is a group already, something that is needed is not given, or
            ``device_id`` is no accelerator here.
        DistNetworkError: if the others are not met in time.

    Example:
        >>> import jtorch as torch
        >>> torch.distributed.init_process_group(
        ...     "gloo", store=torch.distributed.HashStore(), rank=0, world_size=1
        ... )
        >>> torch.distributed.get_world_size()
        1
        >>> torch.distributed.destroy_process_group()
    """
    del group_name, pg_options, _ranks  # of no effect here
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    bound = _own_device(device_id)
    kind = Backend(backend or "gloo").checked()
    timeout = default_pg_timeout if timeout is None else timeout
    if not isinstance(timeout, datetime.timedelta):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, got {timeout}"
        )
    own = store is None
    if store is None:
        store, rank, world_size = next(
            iter(
                rendezvous(
                    "env://" if init_method is None else init_method,
                    rank,
                    world_size,
                    timeout=timeout,
                )
            )
        )
        store.set_timeout(timeout)
    elif world_size < 1 or rank < 0:
        raise AssertionError(
            "world_size must be positive if using store"
            if world_size < 1
            else "rank must be non-negative if using store"
        )
    if not 0 <= rank < world_size:
        raise ValueError(
            f"Invalid rank {rank}, rank should be in the interval [0, {world_size - 1}]"
        )
    _State.made += 1
    tcp = _tcp_of(store)
    STATE.rank, STATE.size, STATE.is_own = rank, world_size, own
    STATE.host, STATE.port = (tcp.host, tcp.port) if tcp is not None else (None, 0)
    STATE.store = PrefixStore(f"default_pg/{_State.made}", store)
    world = ProcessGroup(tuple(range(world_size)), "0", kind, STATE.store, timeout, "default_pg")
    world.bound_device_id = bound
    STATE.groups.append(world)
    STATE.count = 1
    try:
        if world_size > 1:
            _introduce(tcp, timeout)
            met = world._submit("init", lambda lane: lane.round("init", None, 0))
            Work("init_process_group", world, met, None, None, world._seconds).wait()
    except BaseException:
        world.shutdown()
        STATE.clear()
        raise
    GroupMember.WORLD = group.WORLD = world


def _introduce(tcp: Any, timeout: datetime.timedelta) -> None:
    """Leaves the will that tells the others when this process ends; waits until the store's holder
    is there."""
    if tcp is None:
        return
    # A connection of its own: it ends with the process, whatever becomes of the others. The
    # holder's own reaches itself.
    STATE.presence = Client(
        "127.0.0.1" if tcp._server else tcp.host, tcp.port, timeout.total_seconds()
    )
    STATE.presence.ask("will", 0.0, _prefix_of(STATE.store, f"lost/{STATE.rank}"))


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Ends a group; without one, or given the default group, all of them. Another
    ``init_process_group`` may follow.

    Raises:
        AssertionError: if there is no default group.
        ValueError: if the group has been destroyed.
    """
    if group == GroupMember.NON_GROUP_MEMBER:
        return
    found = _the(group)
    if found is None:
        raise AssertionError("Process group cannot be None")
    if found is not GroupMember.WORLD:
        if found not in STATE.groups:
            raise ValueError("Invalid process group specified")
        found.shutdown()
        STATE.groups.remove(found)
        return
    _forget()


#: Seconds that a process which leaves waits for the others to leave, too, before it closes a store
#: that it holds.
_PARTING = 5.0
#: Seconds that a program which ends gives the threads of collectives to end.
_ENDING = 2.0


def _forget() -> None:
    settle()
    store, tcp, presence, rank, size = (
        STATE.store,
        _tcp_of(STATE.store),
        STATE.presence,
        STATE.rank,
        STATE.size,
    )
    is_own = STATE.is_own
    for found in STATE.groups:
        found.shutdown()
    if STATE.mail is not None:
        STATE.mail.close()
    GroupMember.WORLD = globals()["group"].WORLD = None
    STATE.clear()
    with contextlib.suppress(DistError, OSError):
        if size > 1 and tcp is not None:
            held = tcp._server is not None
            agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
            tcp._soon("set", _prefix_of(store, f"left/{rank}"), b"")
            if presence is not None:
                presence.ask("will", 0.0, None, grace=_PARTING)
                presence.close()
            end = time.monotonic() + _PARTING
            if not is_own:
                pass  # the program goes on using the store that it has given
            # what the others still ask for must be there until they have left, and the port free
            # when this returns
            elif held:
                while time.monotonic() < end and not all(
                    store.check([f"left/{r}"]) or store.check([f"lost/{r}"])
                    for r in range(size)
                    if r != rank
                ):
                    time.sleep(0.001)
                tcp._close()
            elif not agent:
                tcp._client.until_closed(_PARTING)
                tcp._close()


@atexit.register
def _leave() -> None:
    """Lets the interpreter go: nothing is awaited, as a process that ends early must not wait for
    those that do not."""
    lanes = list(LANES)
    for lane in lanes:
        lane.close()
        if lane.is_busy():
            lane.give_up("the program has ended")
    # A thread that comes back from XLA while the interpreter ends would abort the process; what is
    # given up comes back at once.
    end = time.monotonic() + _ENDING
    for lane in lanes:
        lane.ended(max(0.0, end - time.monotonic()))


def world(group: object = None) -> ProcessGroup:
    """The group that is meant.

    Raises:
        ValueError: if there is none.
    """
    found = _the(group)
    if found is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group."
        )
    return found


def _the(group: object) -> ProcessGroup | None:
    if isinstance(group, ProcessGroup):
        return group
    if isinstance(group, str):
        return _resolve_process_group(group)
    return GroupMember.WORLD


def _resolve_process_group(name: str) -> ProcessGroup:
    """The group of a name.

    Raises:
        RuntimeError: if there is none.
    """
    for found in STATE.groups:
        if found.group_name == name:
            return found
    raise RuntimeError(f"Could not resolve the process group registered under the name {name}")


def _get_default_group() -> ProcessGroup:
    """The default group.

    Raises:
        ValueError: if there is none.
    """
    return world()


def _rank_not_in_group(group: object) -> bool:
    """Whether a group is none of this process."""
    return (
        group is not None
        and not isinstance(group, ProcessGroup)
        and group == GroupMember.NON_GROUP_MEMBER
    )


def new_group(
    ranks: Any = None,
    timeout: Any = None,
    backend: str | None = None,
    pg_options: object = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of some ranks. All processes call this with the same ranks, also those that will not
    be in it.

    With ``use_local_synchronization`` only those call it that will. They are connected by their
    first collective.

    Returns:
        The group, or ``GroupMember.NON_GROUP_MEMBER``.

    Raises:
        ValueError: if there is no default group, or a rank is not in it.
    """
    default = world()
    del pg_options  # of no effect here
    bound = _bound(device_id)
    given = list(range(STATE.size)) if ranks is None else list(ranks)
    for rank in given:
        if not 0 <= rank < STATE.size:
            raise ValueError(
                f"Rank {rank} is out of range. Valid ranks are 0 to {STATE.size - 1} "
                f"(world_size={STATE.size})"
            )
    if len(set(given)) != len(given):
        raise ValueError(f"ranks list must not contain duplicate entries, got {given}")
    chosen = tuple(sorted(given) if sort_ranks else given)
    if use_local_synchronization:
        # also those that have ended, whose keys the store may still have
        same = STATE.made_of.get(chosen, 0)
        STATE.made_of[chosen] = same + 1
        name = f"{'_'.join(map(str, chosen))}_{same}"
    else:
        name = str(STATE.count)
        STATE.count += 1
    if STATE.rank not in chosen:
        return GroupMember.NON_GROUP_MEMBER
    kind = Backend(backend or default.backend).checked()
    made = ProcessGroup(
        chosen,
        name,
        kind,
        PrefixStore(name, STATE.store),
        timeout or default_pg_timeout,
        group_desc or "undefined",
    )
    made.bound_device_id = bound
    STATE.groups.append(made)
    return made


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """The backend of each device's tensors in a group, as ``cpu:gloo,cuda:gloo``.

    Args:
        group: the group that is asked about; all processes if it is None.

    Raises:
        ValueError: outside of the group, or if there is none.
    """
    if _rank_not_in_group(group):
        raise ValueError("Invalid process group specified")
    return str(BackendConfig(world(group).backend))


def get_rank(group: ProcessGroup | None = None) -> int:
    """This process's rank in a group; -1 outside of it.

    Args:
        group: the group that is asked about; all processes if it is None.

    Raises:
        ValueError: for a group that has been destroyed, and for what is none.
    """
    if _rank_not_in_group(group):
        return -1
    if (
        group is not None
        and group is not GroupMember.WORLD
        and not any(group is known for known in STATE.groups)
    ):
        raise ValueError(
            f"Group {group} is not registered, please create group with "
            "torch.distributed.new_group API"
        )
    return world(group).rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """How many processes a group has; -1 outside of it.

    Args:
        group: the group that is asked about; all processes if it is None.
    """
    return -1 if _rank_not_in_group(group) else world(group).size()


def get_backend(group: ProcessGroup | None = None) -> Backend:
    """The name of the group's backend.

    Raises:
        ValueError: outside of the group.
    """
    if _rank_not_in_group(group):
        raise ValueError("Invalid process group specified")
    return Backend(world(group).backend.of_cpu())


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The ranks in a group."""
    return list(world(group).ranks)


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank in the default group of a rank in ``group``.

    Raises:
        ValueError: if it has no such rank.
    """
    ranks = world(group).ranks
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def _get_global_rank(group: ProcessGroup, rank: int) -> int:
    """``get_global_rank`` under its older name."""
    place = "torch.distributed.distributed_c10d"
    warnings.warn(
        f"`{place}._get_global_rank` is deprecated, please use `{place}.get_global_rank` instead",
        FutureWarning,
        stacklevel=2,
    )
    return get_global_rank(group, rank)


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank in ``group`` of a rank in the default group.

    Raises:
        ValueError: if the group has not that rank.
    """
    ranks = world(group).ranks
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def get_pg_count() -> int:
    """How many groups have been made."""
    return STATE.count


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The rank on this machine: ``LOCAL_RANK`` of the environment, or ``fallback_rank``.

    Raises:
        RuntimeError: if there is neither.
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
        "`get_node_local_rank` to work."
    )


__all__ = [
    "Disagreement", "GroupMember", "ProcessGroup", "STATE", "destroy_process_group", "get_backend",
    "get_backend_config", "get_global_rank", "get_group_rank", "get_node_local_rank",
    "get_pg_count", "get_process_group_ranks", "get_rank", "get_world_size", "group",
    "init_process_group", "is_initialized", "new_group", "world",
]  # fmt: skip
