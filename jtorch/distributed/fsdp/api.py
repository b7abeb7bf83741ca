"""How modules are to be sharded, as PyTorch's programs write it down. Sharding by it is not
offered."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jtorch import dtype, nn

__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig",
    "LocalOptimStateDictConfig", "LocalStateDictConfig", "MixedPrecision", "OptimStateDictConfig",
    "OptimStateKeyType", "ShardedOptimStateDictConfig", "ShardedStateDictConfig",
    "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType",
]  # fmt: skip


class ShardingStrategy(enum.Enum):
    """What is sharded."""

    FULL_SHARD = 1
    SHARD_GRAD_OP = 2
    NO_SHARD = 3
    HYBRID_SHARD = 4
    _HYBRID_SHARD_ZERO2 = 5


class BackwardPrefetch(enum.Enum):
    """When the next parameters are fetched in a backward pass."""

    BACKWARD_PRE = 1
    BACKWARD_POST = 2


class StateDictType(enum.Enum):
    """What a state_dict holds."""

    FULL_STATE_DICT = 1
    LOCAL_STATE_DICT = 2
    SHARDED_STATE_DICT = 3


class OptimStateKeyType(enum.Enum):
    """What an optimiser's state is keyed by."""

    PARAM_NAME = 1
    PARAM_ID = 2


@dataclass
class MixedPrecision:
    """The dtypes of a sharded module."""

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    buffer_dtype: dtype | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type[nn.Module]] = (nn.modules.batchnorm._BatchNorm,)


@dataclass
class CPUOffload:
    """Whether parameters wait in the host's memory."""

    offload_params: bool = False


@dataclass
class StateDictConfig:
    """How a state_dict is made."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """How a state_dict of whole tensors is made."""

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """How a state_dict of flat local tensors is made."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """How a state_dict of shards is made."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """How an optimiser's state_dict is made."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """How an optimiser's state_dict of whole tensors is made."""

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """How an optimiser's state_dict of flat local tensors is made."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """How an optimiser's state_dict of shards is made."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """What the state_dicts of a module and of its optimiser hold, and how they are made."""

    state_dict_type: StateDictType
    state_dict_config: Any
    optim_state_dict_config: Any


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of a module that ``fully_shard`` would shard."""

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    output_dtype: dtype | None = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Parameters stay on their device."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parameters wait in the host's memory."""

    pin_memory: bool = True
