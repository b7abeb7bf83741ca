"""Process groups and collectives: several processes that work on one program, each with its own
tensors.

``init_process_group`` makes the world, as the launcher or the environment describes it; collectives
run on XLA's, over gloo. A world of one process uses none of it.
"""

from __future__ import annotations

from typing import Any

from .._src.facts.size import SymInt as _SymInt
from .._src.refusals import stand_ins as _refusals
from ..nn.parallel._reducer import BuiltinCommHookType as BuiltinCommHookType
from ..nn.parallel._reducer import GradBucket as GradBucket
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
from .breakpoints import breakpoint as breakpoint  # noqa: A004
from .coalescing import _coalescing_manager as _coalescing_manager
from .collectives import _all_gather_base as _all_gather_base
from .collectives import _reduce_scatter_base as _reduce_scatter_base
from .collectives import all_gather as all_gather
from .collectives import all_gather_coalesced as all_gather_coalesced
from .collectives import all_gather_into_tensor as all_gather_into_tensor
from .collectives import all_gather_single as all_gather_single
from .collectives import all_reduce as all_reduce
from .collectives import all_reduce_coalesced as all_reduce_coalesced
from .collectives import all_to_all as all_to_all
from .collectives import all_to_all_single as all_to_all_single
from .collectives import broadcast as broadcast
from .collectives import gather as gather
from .collectives import reduce as reduce
from .collectives import reduce_scatter as reduce_scatter
from .collectives import reduce_scatter_single as reduce_scatter_single
from .collectives import reduce_scatter_tensor as reduce_scatter_tensor
from .collectives import scatter as scatter
from .constants import default_pg_timeout as default_pg_timeout
from .debugging import DebugLevel as DebugLevel
from .debugging import get_debug_level as get_debug_level
from .debugging import set_debug_level as set_debug_level
from .debugging import set_debug_level_from_env as set_debug_level_from_env
from .distributed_c10d import GroupName as GroupName
from .errors import DistBackendError as DistBackendError
from .errors import DistError as DistError
from .errors import DistNetworkError as DistNetworkError
from .errors import DistStoreError as DistStoreError
from .errors import QueueEmptyError as QueueEmptyError
from .group import GroupMember as GroupMember
from .group import ProcessGroup as ProcessGroup
from .group import _rank_not_in_group as _rank_not_in_group
from .group import destroy_process_group as destroy_process_group
from .group import get_backend as get_backend
from .group import get_backend_config as get_backend_config
from .group import get_global_rank as get_global_rank
from .group import get_group_rank as get_group_rank
from .group import get_node_local_rank as get_node_local_rank
from .group import get_pg_count as get_pg_count
from .group import get_process_group_ranks as get_process_group_ranks
from .group import get_rank as get_rank
from .group import get_world_size as get_world_size
from .group import group as group
from .group import init_process_group as init_process_group
from .group import is_initialized as is_initialized
from .group import new_group as new_group
from .objects import all_gather_object as all_gather_object
from .objects import broadcast_object_list as broadcast_object_list
from .objects import gather_object as gather_object
from .objects import scatter_object_list as scatter_object_list
from .point_to_point import P2POp as P2POp
from .point_to_point import batch_isend_irecv as batch_isend_irecv
from .point_to_point import irecv as irecv
from .point_to_point import isend as isend
from .point_to_point import recv as recv
from .point_to_point import recv_object_list as recv_object_list
from .point_to_point import send as send
from .point_to_point import send_object_list as send_object_list
from .rendezvous import register_rendezvous_handler as register_rendezvous_handler
from .rendezvous import rendezvous as rendezvous
from .stores import FileStore as FileStore
from .stores import HashStore as HashStore
from .stores import PrefixStore as PrefixStore
from .stores import Store as Store
from .stores import TCPStore as TCPStore
from .subgroups import new_subgroups as new_subgroups
from .subgroups import new_subgroups_by_enumeration as new_subgroups_by_enumeration
from .subgroups import split_group as split_group
from .works import Work as Work
from .works import Work as _Work  # noqa: F401

#: The older name of ``ReduceOp``.
reduce_op = ReduceOp
#: What ranks may be given as.
RankType = int | _SymInt

_listed = _refusals.missing(__name__)


def __getattr__(name: str) -> Any:
    # written on the whole namespace, hence loaded when they are touched
    if name in ("DeviceMesh", "init_device_mesh"):
        from . import device_mesh

        return getattr(device_mesh, name)
    return _listed(name)
