"""The module where torch keeps groups and collectives; programs import from it."""

from __future__ import annotations

from typing import Any, NewType

from .._src.refusals import stand_ins as _refusals
from ._backends import Backend as Backend
from ._backends import BackendConfig as BackendConfig
from ._backends import ReduceOp as ReduceOp
from ._backends import get_default_backend_for_device as get_default_backend_for_device
from ._backends import is_available as is_available
from ._backends import is_backend_available as is_backend_available
from ._backends import is_gloo_available as is_gloo_available
from ._backends import is_mpi_available as is_mpi_available
from ._backends import is_nccl_available as is_nccl_available
from ._backends import is_torchelastic_launched as is_torchelastic_launched
from ._backends import is_ucc_available as is_ucc_available
from ._backends import is_xccl_available as is_xccl_available
from ._backends import supports_complex as supports_complex
from ._group_methods import AllgatherOptions as AllgatherOptions
from ._group_methods import AllreduceCoalescedOptions as AllreduceCoalescedOptions
from ._group_methods import AllreduceOptions as AllreduceOptions
from ._group_methods import AllToAllOptions as AllToAllOptions
from ._group_methods import BarrierOptions as BarrierOptions
from ._group_methods import BroadcastOptions as BroadcastOptions
from ._group_methods import GatherOptions as GatherOptions
from ._group_methods import ReduceOptions as ReduceOptions
from ._group_methods import ReduceScatterOptions as ReduceScatterOptions
from ._group_methods import ScatterOptions as ScatterOptions
from .barriers import barrier as barrier
from .barriers import monitored_barrier as monitored_barrier
from .coalescing import _coalescing_manager as _coalescing_manager
from .collectives import *
from .constants import default_pg_nccl_timeout as default_pg_nccl_timeout
from .constants import default_pg_timeout as default_pg_timeout
from .debugging import DebugLevel as DebugLevel
from .debugging import get_debug_level as get_debug_level
from .errors import *
from .group import *
from .group import STATE, GroupMember, ProcessGroup, world
from .group import _get_default_group as _get_default_group
from .group import _get_global_rank as _get_global_rank
from .group import _rank_not_in_group as _rank_not_in_group
from .group import _resolve_process_group as _resolve_process_group
from .objects import *
from .objects import _object_to_tensor as _object_to_tensor
from .objects import _tensor_to_object as _tensor_to_object
from .point_to_point import *
from .rendezvous import register_rendezvous_handler as register_rendezvous_handler
from .rendezvous import rendezvous as rendezvous
from .stores import *
from .subgroups import *
from .works import Work as Work

reduce_op = ReduceOp

#: Names of groups.
GroupName = NewType("GroupName", str)


def _get_default_store() -> object:
    """The store of the default group."""
    return world().store


def _get_process_group_name(pg: ProcessGroup) -> str:
    """The name of a group."""
    return pg.group_name


def _get_group_size_by_name(name: str) -> int:
    """How many processes the group of a name has."""
    return _resolve_process_group(name).size()


class _World:
    """What is known of the groups."""

    @property
    def default_pg(self) -> ProcessGroup | None:
        """The default group, or None."""
        return GroupMember.WORLD

    _default_pg = default_pg

    @property
    def pg_map(self) -> dict[object, object]:
        """Group -> its backend and store."""
        return {found: (found.backend, found.store) for found in STATE.groups}

    @property
    def pg_names(self) -> dict[object, str]:
        """Group -> its name."""
        return {found: found.group_name for found in STATE.groups}

    @property
    def pg_group_ranks(self) -> dict[ProcessGroup, dict[int, int]]:
        """Group -> rank in it by rank in the default group."""
        return {found: {rank: i for i, rank in enumerate(found.ranks)} for found in STATE.groups}

    @property
    def group_count(self) -> int:
        """How many groups there are."""
        return STATE.count


def _get_object_coll_device(group: ProcessGroup | None = None) -> str:
    """Where the objects of object collectives are."""
    del group
    return "cpu"


_world = _World()
_listed = _refusals.missing(__name__)


def __getattr__(name: str) -> Any:
    if name in ("_pg_map", "_pg_names", "_pg_group_ranks"):
        return getattr(_world, name[1:])
    return _listed(name)
