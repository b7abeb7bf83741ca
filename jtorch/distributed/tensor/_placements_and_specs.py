"""What ``torch.distributed._tensor.placement_types`` has: placements, and how a tensor lies."""

from __future__ import annotations

from ._dtensor_spec import DTensorSpec as DTensorSpec
from ._dtensor_spec import TensorMeta as TensorMeta
from .placement_types import Partial as Partial
from .placement_types import Placement as Placement
from .placement_types import Replicate as Replicate
from .placement_types import Shard as Shard
from .placement_types import _StridedShard as _StridedShard
