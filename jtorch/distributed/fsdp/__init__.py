"""Modules whose parameters are sharded over processes: ``fully_shard``, and the older
``FullyShardedDataParallel`` as a front of it."""

from __future__ import annotations

from ..._src.refusals import stand_ins as _refusals
from ._sharding import FSDPModule as FSDPModule
from ._sharding import UnshardHandle as UnshardHandle
from ._sharding import fully_shard as fully_shard
from ._sharding import register_fsdp_forward_method as register_fsdp_forward_method
from ._sharding import share_comm_ctx as share_comm_ctx
from ._wrapper import FullyShardedDataParallel as FullyShardedDataParallel
from .api import BackwardPrefetch as BackwardPrefetch
from .api import CPUOffload as CPUOffload
from .api import CPUOffloadPolicy as CPUOffloadPolicy
from .api import FullOptimStateDictConfig as FullOptimStateDictConfig
from .api import FullStateDictConfig as FullStateDictConfig
from .api import LocalOptimStateDictConfig as LocalOptimStateDictConfig
from .api import LocalStateDictConfig as LocalStateDictConfig
from .api import MixedPrecision as MixedPrecision
from .api import MixedPrecisionPolicy as MixedPrecisionPolicy
from .api import OffloadPolicy as OffloadPolicy
from .api import OptimStateDictConfig as OptimStateDictConfig
from .api import OptimStateKeyType as OptimStateKeyType
from .api import ShardedOptimStateDictConfig as ShardedOptimStateDictConfig
from .api import ShardedStateDictConfig as ShardedStateDictConfig
from .api import ShardingStrategy as ShardingStrategy
from .api import StateDictConfig as StateDictConfig
from .api import StateDictSettings as StateDictSettings
from .api import StateDictType as StateDictType

__getattr__ = _refusals.missing(__name__)
