"""Process groups, as far as a group of one process goes: there every collective leaves what it is given as it is.

Programs written for several processes run unchanged with one. More processes, and any number of devices, are JAX's business: one process
drives all its devices, and arrays are sharded over them.
"""

from __future__ import annotations

from typing import Any

from .. import _refusals
from .collectives import P2POp as P2POp
from .collectives import all_gather as all_gather
from .collectives import all_gather_into_tensor as all_gather_into_tensor
from .collectives import all_gather_object as all_gather_object
from .collectives import all_reduce as all_reduce
from .collectives import all_to_all as all_to_all
from .collectives import all_to_all_single as all_to_all_single
from .collectives import barrier as barrier
from .collectives import batch_isend_irecv as batch_isend_irecv
from .collectives import broadcast as broadcast
from .collectives import broadcast_object_list as broadcast_object_list
from .collectives import gather as gather
from .collectives import gather_object as gather_object
from .collectives import irecv as irecv
from .collectives import isend as isend
from .collectives import monitored_barrier as monitored_barrier
from .collectives import recv as recv
from .collectives import recv_object_list as recv_object_list
from .collectives import reduce as reduce
from .collectives import reduce_scatter as reduce_scatter
from .collectives import reduce_scatter_tensor as reduce_scatter_tensor
from .collectives import scatter as scatter
from .collectives import scatter_object_list as scatter_object_list
from .collectives import send as send
from .collectives import send_object_list as send_object_list
from .constants import default_pg_timeout as default_pg_timeout
from .debugging import DebugLevel as DebugLevel
from .debugging import get_debug_level as get_debug_level
from .debugging import set_debug_level as set_debug_level
from .debugging import set_debug_level_from_env as set_debug_level_from_env
from .group import Backend as Backend
from .group import DistBackendError as DistBackendError
from .group import DistError as DistError
from .group import DistNetworkError as DistNetworkError
from .group import DistStoreError as DistStoreError
from .group import FileStore as FileStore
from .group import GroupMember as GroupMember
from .group import HashStore as HashStore
from .group import ProcessGroup as ProcessGroup
from .group import ReduceOp as ReduceOp
from .group import Store as Store
from .group import TCPStore as TCPStore
from .group import Work as Work
from .group import _rank_not_in_group as _rank_not_in_group
from .group import destroy_process_group as destroy_process_group
from .group import get_backend as get_backend
from .group import get_global_rank as get_global_rank
from .group import get_group_rank as get_group_rank
from .group import get_node_local_rank as get_node_local_rank
from .group import get_process_group_ranks as get_process_group_ranks
from .group import get_rank as get_rank
from .group import get_world_size as get_world_size
from .group import group as group
from .group import init_process_group as init_process_group
from .group import is_available as is_available
from .group import is_backend_available as is_backend_available
from .group import is_gloo_available as is_gloo_available
from .group import is_initialized as is_initialized
from .group import is_mpi_available as is_mpi_available
from .group import is_nccl_available as is_nccl_available
from .group import is_torchelastic_launched as is_torchelastic_launched
from .group import is_ucc_available as is_ucc_available
from .group import is_xccl_available as is_xccl_available
from .group import new_group as new_group

#: The older name of ``ReduceOp``.
reduce_op = ReduceOp

_listed = _refusals.missing(__name__)


def __getattr__(name: str) -> Any:
    if name in ("DeviceMesh", "init_device_mesh"):  # written on the whole namespace, hence loaded when they are touched
        from . import device_mesh

        return getattr(device_mesh, name)
    return _listed(name)
