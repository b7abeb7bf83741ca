"""The process group: one process, rank 0."""

from __future__ import annotations

import datetime
import os
from typing import Any, ClassVar, NoReturn

from ..errors import not_offered

WHY = "a process group has one process here; one process drives all devices of a machine, and jax.distributed joins machines"


class DistError(RuntimeError):
    """Something went wrong in a process group."""


class DistBackendError(DistError):
    """The backend failed."""


class DistNetworkError(DistError):
    """The network failed."""


class DistStoreError(DistError):
    """The store failed."""


class ReduceOp:
    """How ``all_reduce`` and ``reduce`` combine the processes' tensors."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)
    RedOpType = int


class Backend(str):
    """The name of a backend, in lower case.

    Raises:
        ValueError: if the name is no string.
    """

    UNDEFINED = "undefined"
    GLOO, NCCL, UCC, MPI, XCCL, FAKE = "gloo", "nccl", "ucc", "mpi", "xccl", "fake"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map: ClassVar[dict[str, str]] = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}

    def __new__(cls, name: str) -> Backend:
        """The name in lower case."""
        """The name in small letters."""
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish: {name}")
        return super().__new__(cls, name.lower())


class Store:
    """Keys and values that the processes of a group share: with one process, a dictionary."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._values: dict[str, bytes] = {}

    def set(self, key: str, value: Any) -> None:
        """Stores a value."""
        self._values[key] = value.encode() if isinstance(value, str) else bytes(value)

    def get(self, key: str) -> bytes:
        """The value of a key.

        Raises:
            DistStoreError: if there is none: nobody else could set it.
        """
        if key not in self._values:
            raise DistStoreError(f"wait timeout: key {key} is not set")
        return self._values[key]

    def add(self, key: str, amount: int) -> int:
        """Adds to a counter and returns it."""
        found = int(self._values.get(key, b"0")) + amount
        self._values[key] = str(found).encode()
        return found

    def delete_key(self, key: str) -> bool:
        """Forgets a key; whether it was there."""
        return self._values.pop(key, None) is not None

    def num_keys(self) -> int:
        """How many keys there are."""
        return len(self._values)


class HashStore(Store):
    """A store in memory."""


class FileStore(Store):
    """A store in a file; with one process the file is not needed."""


class TCPStore(Store):
    """A store over the network; with one process no network is needed."""


class Work:
    """What an asynchronous collective returns: it is done already."""

    def __init__(self, result: Any = None) -> None:
        self._result = result

    def wait(self, timeout: Any = None) -> bool:
        """Returns True at once."""
        return True

    def is_completed(self) -> bool:
        """True."""
        return True

    def is_success(self) -> bool:
        """True."""
        return True

    def result(self) -> Any:
        """The collective's result."""
        return self._result

    def get_future(self) -> Any:
        """Not offered."""
        raise not_offered("Work.get_future", WHY)


class ProcessGroup:
    """A group with this process alone."""

    def __init__(self, backend: str, store: Store) -> None:
        self.backend, self.store = backend, store

    def rank(self) -> int:
        """0."""
        return 0

    def size(self) -> int:
        """1."""
        return 1

    def name(self) -> str:
        """The backend's name."""
        return self.backend


class GroupMember:
    """The default group, and the mark of a process that is not in a group."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = object()


class group:
    """The default group as ``dist.group.WORLD``."""

    WORLD: ProcessGroup | None = None


def is_available() -> bool:
    """True: groups of one process work."""
    return True


def is_initialized() -> bool:
    """Whether ``init_process_group`` was called."""
    return GroupMember.WORLD is not None


def is_gloo_available() -> bool:
    """True: the name is accepted."""
    return True


def is_nccl_available() -> bool:
    """False."""
    return False


def is_mpi_available() -> bool:
    """False."""
    return False


def is_ucc_available() -> bool:
    """False."""
    return False


def is_xccl_available() -> bool:
    """False."""
    return False


def is_backend_available(backend: str) -> bool:
    """Whether a backend's name is accepted."""
    return backend.lower() == "gloo"


def is_torchelastic_launched() -> bool:
    """Whether ``torchrun`` started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def _in_environment(name: str) -> str:
    if name not in os.environ:
        raise ValueError(f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, but not set")
    return os.environ[name]


def _from_environment(name: str) -> int:
    return int(_in_environment(name))


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: datetime.timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any | None = None,
    device_id: Any = None,
    _ranks: list[int] | None = None,
) -> None:
    """Makes the default group, of this process alone; how the processes would meet is checked, then not needed.

    Raises:
        ValueError: if there is a group already, or ``env://`` misses a variable.
        NotImplementedError: for more than one process.
    """
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if store is None and (init_method is None or init_method.startswith("env://")):
        rank = _from_environment("RANK") if rank < 0 else rank
        world_size = _from_environment("WORLD_SIZE") if world_size < 0 else world_size
        _in_environment("MASTER_ADDR")
        _from_environment("MASTER_PORT")
    if world_size < 1 or rank < 0:
        raise ValueError(f"rank and world_size must be given: got rank {rank} and world_size {world_size}")
    if world_size > 1:
        raise not_offered(f"torch.distributed.init_process_group with world_size={world_size}", WHY)
    if rank != 0:
        raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, 0]")
    del timeout, group_name, pg_options, device_id, _ranks  # of no effect with one process
    GroupMember.WORLD = group.WORLD = ProcessGroup(Backend(backend or "gloo"), store or HashStore())


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Forgets a group, by default the default one."""
    found = world(group)
    if found is GroupMember.WORLD:
        _forget()


def _forget() -> None:
    GroupMember.WORLD = group.WORLD = None


def world(group: Any = None) -> ProcessGroup:
    """The group that is meant.

    Raises:
        ValueError: if there is none.
    """
    if isinstance(group, ProcessGroup):
        return group
    if GroupMember.WORLD is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return GroupMember.WORLD


def _get_default_group() -> ProcessGroup:
    """The default group.

    Raises:
        ValueError: if there is none.
    """
    return world()


def _rank_not_in_group(group: Any) -> bool:
    """Whether a group is none of this process."""
    return group is GroupMember.NON_GROUP_MEMBER


def new_group(
    ranks: Any = None,
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
    sort_ranks: bool = True,
) -> Any:
    """A group of some ranks: with one process, of rank 0 or of nobody.

    Raises:
        ValueError: if there is no default group, or a rank is not in it.
    """
    default = world()
    del timeout, pg_options, use_local_synchronization, group_desc, device_id, sort_ranks  # of no effect with one process
    if ranks is not None and any(r != 0 for r in ranks):
        raise ValueError("the new group's rank should be within the world_size set by init_process_group")
    if ranks is not None and not list(ranks):
        return GroupMember.NON_GROUP_MEMBER
    return ProcessGroup(Backend(backend or default.backend), default.store)


def get_rank(group: ProcessGroup | None = None) -> int:
    """0; -1 outside of the group."""
    return -1 if group is GroupMember.NON_GROUP_MEMBER else world(group).rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """1; -1 outside of the group."""
    return -1 if group is GroupMember.NON_GROUP_MEMBER else world(group).size()


def get_backend(group: ProcessGroup | None = None) -> Backend:
    """The name of the group's backend."""
    return Backend(world(group).backend)


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The ranks in a group."""
    world(group)
    return [0]


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The rank in the default group of a rank in ``group``."""
    world(group)
    return _zero(group_rank)


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The rank in ``group`` of a rank in the default group."""
    world(group)
    return _zero(global_rank)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The rank on this machine: ``LOCAL_RANK`` of the environment, or ``fallback_rank``."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work.")


def _zero(rank: int) -> int:
    if rank != 0:
        raise ValueError(f"Global rank {rank} is not part of group")
    return 0


def no_peer(name: str) -> NoReturn:
    """Raises the error of functions that need another process."""
    raise not_offered(f"torch.distributed.{name}", WHY)
